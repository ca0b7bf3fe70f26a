//===- Losses.cpp - How many positions one micro-batch of a loss has ------===//
#include "dialects/NN/NNOps.h"

using namespace mlir;
using namespace zero::nn;

int64_t CrossEntropyOp::getPositions() { return getLabels().getType().getNumElements(); }

int64_t MseLossOp::getPositions() { return getPrediction().getType().getNumElements(); }

int64_t OutputLossOp::getPositions() { return 1; }

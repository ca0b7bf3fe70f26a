//===- TrainingRules.cpp - Losses and optimizers by definition ------------===//
#include "Rules.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zero;
using namespace zero::reference;

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

LogicalResult zero::reference::apply(nn::CrossEntropyOp op, Operands operands, Results results) {
  const HostTensor &logits = operands[0], &labels = operands[1];
  int64_t classes = logits.getShape().back(), counted = 0, ignored = op.getIgnoreIndex();
  double total = 0;
  for (int64_t row = 0; row < labels.getNumElements(); ++row) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      largest = maximum(largest, logits.getFloat(row * classes + c));
    for (int64_t c = 0; c < classes; ++c)
      sum += std::exp(logits.getFloat(row * classes + c) - largest);
    double logSumExp = largest + std::log(sum);
    results[2].setFloat(row, logSumExp);
    int64_t label = labels.getInt(row);
    if (label == ignored)
      continue;
    if (label < 0 || label >= classes)
      return op.emitOpError() << "label " << row << " is " << label << ", neither " << ignored
                              << " (ignored) nor inside [0, " << classes << ")";
    total += logSumExp - logits.getFloat(row * classes + label);
    ++counted;
  }
  results[0].setFloat(0, total);
  results[1].setInt(0, counted);
  return success();
}

LogicalResult zero::reference::apply(nn::MseLossOp, Operands operands, Results results) {
  double total = 0;
  for (int64_t i = 0; i < operands[0].getNumElements(); ++i) {
    double distance = operands[0].getFloat(i) - operands[1].getFloat(i);
    total += distance * distance;
  }
  results[0].setFloat(0, total);
  results[1].setInt(0, operands[0].getNumElements());
  return success();
}

LogicalResult zero::reference::apply(nn::OutputLossOp, Operands operands, Results results) {
  results[0].setFloat(0, operands[0].getFloat(0));
  results[1].setInt(0, 1);
  return success();
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

LogicalResult zero::reference::apply(nn::GlobalNormOp, Operands operands, Results results) {
  double squares = 0;
  for (const HostTensor &operand : operands)
    for (int64_t i = 0; i < operand.getNumElements(); ++i)
      squares += operand.getFloat(i) * operand.getFloat(i);
  results[0].setFloat(0, std::sqrt(squares));
  return success();
}

/// The states as they were, where the update is held back.
static bool keepStates(Value skip, Operands operands, Results results, ArrayRef<unsigned> states) {
  if (!skip || operands.back().getFloat(0) == 0.0)
    return false;
  for (auto [result, operand] : llvm::enumerate(states))
    results[result] = operands[operand];
  return true;
}

LogicalResult zero::reference::apply(nn::AdamOp op, Operands operands, Results results) {
  if (keepStates(op.getSkip(), operands, results, {0, 2, 3}))
    return success();
  double gradientScale = operands[4].getFloat(0), learningRate = operands[5].getFloat(0);
  double correction1 = operands[6].getFloat(0), correction2 = operands[7].getFloat(0);
  double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  double epsilon = op.getEpsilon().convertToDouble(), weightDecay = op.getWeightDecay().convertToDouble();
  for (int64_t i = 0; i < results[0].getNumElements(); ++i) {
    double parameter = operands[0].getFloat(i), gradient = operands[1].getFloat(i) * gradientScale;
    if (op.getDecoupled())
      parameter *= 1.0 - learningRate * weightDecay;
    else
      gradient += weightDecay * parameter;
    double average = beta1 * operands[2].getFloat(i) + (1.0 - beta1) * gradient;
    double square = beta2 * operands[3].getFloat(i) + (1.0 - beta2) * gradient * gradient;
    double denominator = std::sqrt(square) / std::sqrt(correction2) + epsilon;
    results[0].setFloat(i, parameter - learningRate / correction1 * average / denominator);
    results[1].setFloat(i, average);
    results[2].setFloat(i, square);
  }
  return success();
}

LogicalResult zero::reference::apply(nn::SgdOp op, Operands operands, Results results) {
  bool hasMomentum = static_cast<bool>(op.getMomentumBuffer());
  if (keepStates(op.getSkip(), operands, results, hasMomentum ? ArrayRef<unsigned>{0, 2} : ArrayRef<unsigned>{0}))
    return success();
  const HostTensor &scale = operands[hasMomentum ? 3 : 2], &learningRate = operands[hasMomentum ? 4 : 3];
  double momentum = op.getMomentum().convertToDouble(), weightDecay = op.getWeightDecay().convertToDouble();
  for (int64_t i = 0; i < results[0].getNumElements(); ++i) {
    double parameter = operands[0].getFloat(i);
    double direction = operands[1].getFloat(i) * scale.getFloat(0) + weightDecay * parameter;
    if (hasMomentum) {
      double buffer = momentum * operands[2].getFloat(i) + direction;
      results[1].setFloat(i, buffer);
      direction = op.getNesterov() ? direction + momentum * buffer : buffer;
    }
    results[0].setFloat(i, parameter - learningRate.getFloat(0) * direction);
  }
  return success();
}

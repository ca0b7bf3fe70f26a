//===- Rules.h - One rule per nn op: operands to results ------------------===//
//
// `results` come in with the types of the op's results and zeros. A rule that has no value to give emits an
// error.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_REFERENCE_RULES_H
#define ZERO_LIB_REFERENCE_RULES_H

#include "dialects/NN/NNOps.h"
#include "zero/Reference/HostTensor.h"

namespace zero::reference {

using Operands = llvm::ArrayRef<HostTensor>;
using Results = llvm::MutableArrayRef<HostTensor>;

// ElementwiseRules.cpp: every op with the trait ElementwiseOp.
llvm::LogicalResult applyElementwise(mlir::Operation *op, Operands operands, Results results);

// ShapeRules.cpp
llvm::LogicalResult apply(nn::ConstantOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::IotaOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::BroadcastOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::BroadcastToOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::ReshapeOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::ShapeOfOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::TransposeOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::SliceOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::PadOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::ConcatOp op, Operands operands, Results results);

// IndexingRules.cpp
llvm::LogicalResult apply(nn::GatherOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::ScatterAddOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::GatherNDOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::ScatterOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::TopKOp op, Operands operands, Results results);

// ReductionRules.cpp
llvm::LogicalResult apply(nn::ReduceOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::CumSumOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::MatmulOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::SoftmaxOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::LayerNormOp op, Operands operands, Results results);

// WindowRules.cpp: convolutions and pooling.
llvm::LogicalResult apply(nn::ConvOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::ConvTransposeOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::ConvWeightGradOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::MaxPoolOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::SumPoolOp op, Operands operands, Results results);

// AttentionRules.cpp
llvm::LogicalResult apply(nn::AttentionOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::AttentionGradOp op, Operands operands, Results results);

// TrainingRules.cpp: losses and optimizers.
llvm::LogicalResult apply(nn::CrossEntropyOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::MseLossOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::OutputLossOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::GlobalNormOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::AdamOp op, Operands operands, Results results);
llvm::LogicalResult apply(nn::SgdOp op, Operands operands, Results results);

/// The larger or smaller of two floats: NaN if one is, and +0 above -0.
double maximum(double a, double b);
double minimum(double a, double b);

} // namespace zero::reference

#endif

//===- RowOrder.cpp - Whether the rows of a flattened tensor go sample by sample ---===//
#include "RowOrder.h"
#include "dialects/NN/NNOps.h"

using namespace mlir;
using namespace zero;

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// The operand whose rows are those of the op's result; null if it has none.
static Value rowsBefore(Operation *op) {
  if (isa<nn::MatmulOp>(op) && cast<nn::MatmulOp>(op).getTransposeLhs())
    return nullptr;
  bool keepsRows = op->hasTrait<nn::ElementwiseOp>() || isa<nn::MatmulOp, nn::SoftmaxOp, nn::LayerNormOp>(op);
  if (!keepsRows || op->getNumOperands() == 0)
    return nullptr;
  // Of several, what is not repeated (a bias) or constant.
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (source && !isa<nn::BroadcastOp, nn::BroadcastToOp, nn::ConstantOp>(source) &&
        !shapeOf(operand).empty() && shapeOf(operand)[0] == shapeOf(op->getResult(0))[0])
      return operand;
  }
  return nullptr;
}

bool zero::onnx_import::rowsFollowSamples(Value rows, int64_t batch, int64_t perSample) {
  while (Operation *op = rows.getDefiningOp()) {
    auto reshape = dyn_cast<nn::ReshapeOp>(op);
    if (!reshape) {
      rows = rowsBefore(op);
      if (!rows)
        return false;
      continue;
    }
    rows = reshape.getOperand();
    ArrayRef<int64_t> from = shapeOf(rows);
    if (from.empty())
      return false;
    if (from[0] == batch) {
      int64_t joined = 1;
      for (int64_t size : from.drop_front()) {
        if (ShapedType::isDynamic(size))
          return false;
        joined *= size;
        if (joined == perSample)
          return true;
      }
    }
    // Other reshapes keep the order of rows as long as these stay in front.
    if (from[0] != shapeOf(reshape.getResult())[0])
      return false;
  }
  return false;
}

//===- ConstantEvaluator.cpp - Values that are known while importing ------===//
#include "ConstantEvaluator.h"

#include "dialects/NN/NNOps.h"
#include "mlir/IR/Diagnostics.h"
#include "zero/Reference/Interpreter.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

/// Elements of a static tensor of at most `most`; -1 for others. Does not overflow.
static int64_t elementsWithin(Type type, int64_t most) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return -1;
  int64_t count = 1;
  for (int64_t size : tensor.getShape()) {
    if (size > most)
      return -1;
    count *= size;
    if (count > most)
      return -1;
  }
  return count;
}

/// Ops whose work is in proportion to what they read and write.
static bool isLinear(Operation *op) {
  return op->hasTrait<nn::ElementwiseOp>() ||
         isa<nn::ConstantOp, nn::IotaOp, nn::BroadcastOp, nn::BroadcastToOp, nn::ReshapeOp, nn::ShapeOfOp,
             nn::TransposeOp, nn::SliceOp, nn::PadOp, nn::ConcatOp, nn::GatherOp, nn::ReduceOp, nn::CumSumOp>(
             op);
}

bool ConstantEvaluator::mayEvaluate(Operation *op) {
  if (!isa_and_nonnull<nn::NNDialect>(op->getDialect()) || op->getNumRegions() != 0)
    return false;
  int64_t read = 0, written = 0, product = 1;
  for (Type type : op->getOperandTypes()) {
    // The shape of a tensor does not need its elements.
    int64_t count = isa<nn::ShapeOfOp>(op) ? (cast<ShapedType>(type).hasStaticShape() ? 1 : -1)
                                           : elementsWithin(type, kMaxElements);
    if (count < 0)
      return false;
    read += count;
    product = std::max<int64_t>(product, count);
  }
  for (Type type : op->getResultTypes()) {
    int64_t count = elementsWithin(type, kMaxElements);
    if (count < 0)
      return false;
    written += count;
  }
  // Of a contraction, every result may read every operand.
  int64_t cost = 16 + (isLinear(op) ? read + written : std::max<int64_t>(written, 1) * product);
  if (cost > kMaxWork - work)
    return false;
  work += cost;
  return true;
}

std::optional<reference::HostTensor> ConstantEvaluator::evaluate(Operation *op) {
  if (auto shapeOf = dyn_cast<nn::ShapeOfOp>(op))
    return reference::HostTensor::get<int64_t>(shapeOf.getType(), shapeOf.getOperand().getType().getShape());
  SmallVector<reference::HostTensor> operands;
  for (Value operand : op->getOperands())
    operands.push_back(*values.find(operand)->second);
  // What has no value (an index out of range, say) is not constant; who needs it says so.
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  FailureOr<SmallVector<reference::HostTensor>> results = reference::evaluate(op, operands, kMaxElements);
  if (failed(results))
    return std::nullopt;
  for (auto [result, tensor] : llvm::zip_equal(op->getResults().drop_front(), llvm::drop_begin(*results)))
    remember(result, tensor);
  return std::move(results->front());
}

void ConstantEvaluator::remember(Value value, std::optional<reference::HostTensor> tensor) {
  if (!tensor) {
    values[value] = nullptr;
    return;
  }
  bytes += tensor->getBytes().size();
  values[value] = std::make_shared<const reference::HostTensor>(std::move(*tensor));
}

const reference::HostTensor *ConstantEvaluator::elements(Value value) {
  if (bytes > kMaxBytes) { // they can be had again, while the work lasts
    values.clear();
    bytes = 0;
  }
  // Depth first, without recursion: chains are as long as models.
  SmallVector<Value> stack{value};
  while (!stack.empty()) {
    Value top = stack.back();
    if (values.count(top)) {
      stack.pop_back();
      continue;
    }
    if (auto blockArgument = dyn_cast<BlockArgument>(top)) {
      bool small = elementsWithin(top.getType(), kMaxElements) >= 0;
      remember(top, small ? argument(blockArgument) : std::nullopt);
      continue;
    }
    Operation *op = top.getDefiningOp();
    bool waits = false, unknown = false;
    if (!isa<nn::ShapeOfOp>(op))
      for (Value operand : op->getOperands()) {
        auto found = values.find(operand);
        if (found == values.end()) {
          if (!waits)
            stack.push_back(operand);
          waits = true;
          break;
        }
        unknown |= !found->second;
      }
    if (waits)
      continue;
    if (unknown || !mayEvaluate(op)) {
      for (Value result : op->getResults())
        remember(result, std::nullopt);
      continue;
    }
    std::optional<reference::HostTensor> tensor = evaluate(op);
    if (!tensor) {
      for (Value result : op->getResults())
        remember(result, std::nullopt);
      continue;
    }
    remember(op->getResult(0), std::move(*tensor));
  }
  return values.find(value)->second.get();
}

Value ConstantEvaluator::obstacle(Value value) const {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> stack{value};
  while (!stack.empty()) {
    Value top = stack.pop_back_val();
    if (auto found = values.find(top); found != values.end() && found->second)
      continue;
    Operation *op = top.getDefiningOp();
    if (!op)
      return top;
    if (isa<nn::ShapeOfOp>(op) || !seen.insert(op).second)
      continue;
    llvm::append_range(stack, op->getOperands());
  }
  return nullptr;
}

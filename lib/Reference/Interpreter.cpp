//===- Interpreter.cpp - Evaluates nn ops and functions of them -----------===//
#include "zero/Reference/Interpreter.h"
#include "Rules.h"

using namespace mlir;
using namespace zero;
using namespace zero::reference;

static bool isWithin(Type type, int64_t maxElements) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() <= maxElements;
}

bool zero::reference::isEvaluable(Operation *op, int64_t maxElements) {
  auto fits = [&](Type type) { return isWithin(type, maxElements); };
  return isa_and_nonnull<nn::NNDialect>(op->getDialect()) && !isa<nn::YieldOp>(op) &&
         llvm::all_of(op->getOperandTypes(), fits) && llvm::all_of(op->getResultTypes(), fits);
}

static FailureOr<SmallVector<HostTensor>> evaluateBlock(Block &block, ArrayRef<HostTensor> arguments,
                                                        int64_t maxElements);

/// Error unless the tensor may be made.
static LogicalResult checkType(Operation *op, const Twine &what, Type type, int64_t maxElements) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return op->emitOpError() << what << " has type " << type << "; only static tensors are evaluated";
  if (tensor.getNumElements() > maxElements)
    return op->emitOpError() << what << " has " << tensor.getNumElements() << " elements but at most "
                             << maxElements << " are evaluated";
  return success();
}

FailureOr<SmallVector<HostTensor>> zero::reference::evaluate(Operation *op, ArrayRef<HostTensor> operands,
                                                             int64_t maxElements) {
  if (op->getNumOperands() != operands.size())
    return op->emitOpError() << "takes " << op->getNumOperands() << " operands but " << operands.size()
                             << " are given";
  for (auto [i, type, operand] : llvm::enumerate(op->getOperandTypes(), operands))
    if (type != operand.getType() && !(succeeded(verifyCompatibleShape(type, operand.getType())) &&
                                       getElementTypeOrSelf(type) == operand.getElementType()))
      return op->emitOpError() << "operand #" << i << " has type " << type << " but is given "
                               << operand.getType();
  SmallVector<HostTensor> results;
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    if (failed(checkType(op, "result #" + Twine(i), type, maxElements)))
      return failure();
    results.emplace_back(cast<RankedTensorType>(type));
  }
  if (auto group = dyn_cast<nn::GroupOp>(op))
    return evaluateBlock(group.getBody().front(), operands, maxElements);
  LogicalResult status =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case<nn::ConstantOp, nn::IotaOp, nn::BroadcastOp, nn::BroadcastToOp, nn::ReshapeOp, nn::ShapeOfOp,
                nn::TransposeOp, nn::SliceOp, nn::PadOp, nn::ConcatOp, nn::GatherOp, nn::ScatterAddOp,
                nn::GatherNDOp, nn::ScatterOp, nn::TopKOp, nn::ReduceOp, nn::CumSumOp, nn::MatmulOp, nn::SoftmaxOp, nn::LayerNormOp,
                nn::AttentionOp, nn::AttentionGradOp, nn::ConvOp, nn::ConvTransposeOp, nn::ConvWeightGradOp,
                nn::MaxPoolOp, nn::SumPoolOp, nn::CrossEntropyOp, nn::MseLossOp, nn::OutputLossOp,
                nn::GlobalNormOp, nn::AdamOp, nn::SgdOp>(
              [&](auto typed) { return apply(typed, operands, results); })
          .Default([&](Operation *other) -> LogicalResult {
            if (other->hasTrait<nn::ElementwiseOp>())
              return applyElementwise(other, operands, results);
            return other->emitOpError("has no meaning to the reference interpreter");
          });
  if (failed(status))
    return failure();
  return results;
}

static FailureOr<SmallVector<HostTensor>> evaluateBlock(Block &block, ArrayRef<HostTensor> arguments,
                                                        int64_t maxElements) {
  DenseMap<Value, HostTensor> values;
  for (auto [argument, tensor] : llvm::zip_equal(block.getArguments(), arguments))
    values.try_emplace(argument, tensor);
  for (Operation &op : block) {
    SmallVector<HostTensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.find(operand)->second);
    if (op.hasTrait<OpTrait::ReturnLike>())
      return operands;
    FailureOr<SmallVector<HostTensor>> results = evaluate(&op, operands, maxElements);
    if (failed(results))
      return failure();
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results))
      values.try_emplace(value, std::move(tensor));
  }
  llvm_unreachable("a verified block ends in a terminator");
}

FailureOr<SmallVector<HostTensor>> zero::reference::evaluateFunction(func::FuncOp function,
                                                                     ArrayRef<HostTensor> arguments,
                                                                     int64_t maxElements) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError("has no body of one block to evaluate");
  if (function.getNumArguments() != arguments.size())
    return function.emitOpError() << "takes " << function.getNumArguments() << " arguments but "
                                  << arguments.size() << " are given";
  for (auto [i, type, tensor] : llvm::enumerate(function.getArgumentTypes(), arguments)) {
    if (failed(checkType(function, "argument #" + Twine(i), type, maxElements)))
      return failure();
    if (type != tensor.getType())
      return function.emitOpError() << "argument #" << i << " has type " << type << " but is given "
                                    << tensor.getType();
  }
  return evaluateBlock(function.getBody().front(), arguments, maxElements);
}

//===- BindBatch.cpp - nn-bind-batch --------------------------------------===//
//
//   func.func @forward(%x: tensor<?x64xf32> {nn.role = #nn.role<input "x">}, %b: tensor<96xf32> {...}) {
//     %s = nn.shape_of %x : tensor<?x64xf32> -> tensor<2xi64>
//     %0 = nn.broadcast_to %b shape %s : tensor<2xi64>, : tensor<64xf32> to tensor<?x64xf32>
// becomes, with micro-batch=8,
//   func.func @forward(%x: tensor<8x64xf32> {nn.role = #nn.role<input "x">}, %b: tensor<96xf32> {...}) {
//     %0 = nn.broadcast %b dims [1] : tensor<64xf32> to tensor<8x64xf32>
// Test: test/Transforms/NN/bind-batch.mlir
//
// Types are inferred op by op in order. A shape operand is evaluated when it is met: by then every type that
// it depends on is static.
//
//===----------------------------------------------------------------------===//
#include "ShapeInference.h"
#include "zero/Reference/Interpreter.h"
#include "zero/Transforms/NN/Passes.h"

#include "dialects/NN/Shapes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNBINDBATCH
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

/// Elements of the largest tensor that the arithmetic of shapes may need.
constexpr int64_t kMaxShapeElements = 4096;

/// Evaluates integer tensors that depend on shapes and constants alone.
class ShapeEvaluator {
public:
  FailureOr<SmallVector<int64_t>> elements(Value value, Operation *user) {
    FailureOr<reference::HostTensor> tensor = evaluate(value, user);
    if (failed(tensor))
      return failure();
    SmallVector<int64_t> result;
    for (int64_t i = 0; i < tensor->getNumElements(); ++i)
      result.push_back(tensor->getInt(i));
    return result;
  }

private:
  FailureOr<reference::HostTensor> evaluate(Value value, Operation *user) {
    auto known = values.find(value);
    if (known != values.end())
      return known->second;
    Operation *op = value.getDefiningOp();
    if (!op) {
      InFlightDiagnostic error = user->emitOpError("has a shape that depends on data");
      error.attachNote(value.getLoc()) << "it is computed from this argument";
      return failure();
    }
    if (!isa<ShapeOfOp>(op) && !reference::isEvaluable(op, kMaxShapeElements))
      return user->emitOpError() << "has a shape that depends on '" << op->getName()
                                 << "', which is not arithmetic of small constants";
    SmallVector<reference::HostTensor> operands;
    if (!isa<ShapeOfOp>(op)) { // a shape is in the type: what has it is not computed
      for (Value operand : op->getOperands()) {
        FailureOr<reference::HostTensor> tensor = evaluate(operand, user);
        if (failed(tensor))
          return failure();
        operands.push_back(std::move(*tensor));
      }
    }
    FailureOr<SmallVector<reference::HostTensor>> results =
        isa<ShapeOfOp>(op) ? shapeOf(cast<ShapeOfOp>(op))
                           : reference::evaluate(op, operands, kMaxShapeElements);
    if (failed(results))
      return failure();
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *results))
      values.try_emplace(result, tensor);
    return (*results)[cast<OpResult>(value).getResultNumber()];
  }

  static FailureOr<SmallVector<reference::HostTensor>> shapeOf(ShapeOfOp op) {
    return SmallVector<reference::HostTensor>{
        reference::HostTensor::get<int64_t>(op.getType(), op.getOperand().getType().getShape())};
  }

  DenseMap<Value, reference::HostTensor> values;
};

class NNBindBatch : public impl::NNBindBatchBase<NNBindBatch> {
public:
  using NNBindBatchBase::NNBindBatchBase;

  void runOnOperation() override {
    if (microBatch < 1) {
      getOperation().emitError() << "micro-batch is " << int64_t(microBatch) << ", not 1 or more";
      return signalPassFailure();
    }
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (failed(bindArguments(function)) || failed(bindBody(function)))
        return signalPassFailure();
  }

private:
  LogicalResult bindArguments(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      auto role = function.getArgAttrOfType<RoleAttr>(argument.getArgNumber(), kRoleAttrName);
      if (!type || !role)
        continue;
      StringRef kind = stringifyRoleKind(role.getKind());
      SmallVector<int64_t> shape(type.getShape());
      if (role.getKind() == RoleKind::Input || role.getKind() == RoleKind::Label) {
        if (shape.empty())
          return emitError(argument.getLoc())
                 << kind << " '" << role.getName() << "' has no first dimension to be the batch";
        if (ShapedType::isDynamic(shape.front()))
          shape.front() = microBatch;
        if (shape.front() != microBatch)
          return emitError(argument.getLoc())
                 << kind << " '" << role.getName() << "' has the fixed first dimension " << shape.front()
                 << " but the micro-batch is " << int64_t(microBatch);
      }
      for (auto [index, size] : llvm::enumerate(shape))
        if (ShapedType::isDynamic(size))
          return emitError(argument.getLoc()) << "dimension " << index << " of " << kind << " '"
                                              << role.getName() << "' is an unbound symbol";
      argument.setType(type.clone(shape));
    }
    return success();
  }

  LogicalResult bindBody(func::FuncOp function) {
    if (function.isExternal())
      return success();
    Block &body = function.getBody().front();
    ShapeEvaluator shapes;
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      if (auto shapeOf = dyn_cast<ShapeOfOp>(op)) {
        shapeOf.getResult().setType(RankedTensorType::get({shapeOf.getOperand().getType().getRank()},
                                                          IntegerType::get(&getContext(), 64)));
      } else if (auto reshape = dyn_cast<ReshapeOp>(op); reshape && reshape.getShape()) {
        if (failed(bindReshape(reshape, shapes)))
          return failure();
      } else if (auto broadcast = dyn_cast<BroadcastToOp>(op)) {
        if (failed(bindBroadcast(broadcast, shapes)))
          return failure();
      } else if (failed(inferResultTypes(&op))) {
        return failure();
      }
    }
    // What shapes were computed from is unused now, or a constant.
    for (Operation *op = body.getTerminator()->getPrevNode(); op;) {
      Operation *before = op->getPrevNode();
      if (isOpTriviallyDead(op)) {
        op->erase();
      } else if (auto shapeOf = dyn_cast<ShapeOfOp>(op)) {
        OpBuilder builder(op);
        auto value = DenseElementsAttr::get(shapeOf.getType(), shapeOf.getOperand().getType().getShape());
        shapeOf.replaceAllUsesWith(
            ConstantOp::create(builder, op->getLoc(), shapeOf.getType(), value).getResult());
        op->erase();
      }
      op = before;
    }
    function.setType(
        FunctionType::get(&getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
    return success();
  }

  LogicalResult bindReshape(ReshapeOp op, ShapeEvaluator &shapes) {
    FailureOr<SmallVector<int64_t>> shape = shapes.elements(op.getShape(), op);
    if (failed(shape))
      return failure();
    ArrayRef<int64_t> operand = op.getOperand().getType().getShape();
    for (auto [index, size] : llvm::enumerate(*shape)) {
      if (size == 0 && !op.getAllowZero()) {
        if (index >= operand.size())
          return op.emitOpError() << "copies dimension " << index << " of an operand of shape "
                                  << formatShape(operand);
        size = operand[index];
      } else if (size == -1) {
        size = ShapedType::kDynamic;
      } else if (size < 0) {
        return op.emitOpError() << "has the size " << size << " in its shape";
      }
    }
    op.getResult().setType(op.getType().clone(*shape));
    op.getShapeMutable().clear();
    op.setAllowZero(false);
    return inferResultTypes(op);
  }

  /// Broadcasts both ways: where the shape operand says 1, the operand's size stands.
  LogicalResult bindBroadcast(BroadcastToOp op, ShapeEvaluator &shapes) {
    FailureOr<SmallVector<int64_t>> shape = shapes.elements(op.getShape(), op);
    if (failed(shape))
      return failure();
    ArrayRef<int64_t> operand = op.getOperand().getType().getShape();
    SmallVector<int64_t> result(*shape), dims;
    if (result.size() < operand.size())
      result.insert(result.begin(), operand.size() - result.size(), 1);
    for (auto [index, size] : llvm::enumerate(operand)) {
      dims.push_back(static_cast<int64_t>(result.size() - operand.size() + index));
      int64_t &target = result[dims.back()];
      if (target == 1)
        target = size;
      else if (size != 1 && size != target)
        return op.emitOpError() << "cannot broadcast an operand of shape " << formatShape(operand)
                                << " to the shape " << formatShape(*shape);
    }
    OpBuilder builder(op);
    Value value = op.getOperand();
    if (ArrayRef(result) != operand)
      value = BroadcastOp::create(builder, op.getLoc(), op.getType().clone(result), value, dims);
    op.replaceAllUsesWith(value);
    op.erase();
    return success();
  }
};

} // namespace
} // namespace zero

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
// In a function without a loss an input is batched only where its first dimension is symbolic; it gets
// nn.batched, and other inputs keep their shapes. In one with a loss, an output whose shapes cannot be bound and
// that the loss does not need is left out with a remark.
//
//===----------------------------------------------------------------------===//
#include "ShapeInference.h"
#include "zero/Reference/Interpreter.h"
#include "zero/Transforms/NN/Passes.h"

#include "dialects/NN/Batched.h"
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
  /// The result of that role; none where there is none.
  static std::optional<unsigned> findResult(func::FuncOp function, RoleKind kind) {
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (auto role = function.getResultAttrOfType<RoleAttr>(index, kRoleAttrName); role && role.getKind() == kind)
        return index;
    return std::nullopt;
  }

  LogicalResult bindArguments(func::FuncOp function) {
    const bool predictsOnly = findResult(function, RoleKind::Output) && !findResult(function, RoleKind::LossSum);
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      auto role = function.getArgAttrOfType<RoleAttr>(argument.getArgNumber(), kRoleAttrName);
      if (!type || !role)
        continue;
      StringRef kind = stringifyRoleKind(role.getKind());
      SmallVector<int64_t> shape(type.getShape());
      if (predictsOnly && role.getKind() == RoleKind::Input) {
        if (!shape.empty() && ShapedType::isDynamic(shape.front())) {
          shape.front() = microBatch;
          function.setArgAttr(argument.getArgNumber(), kBatchedAttrName, UnitAttr::get(&getContext()));
        }
      } else if (role.getKind() == RoleKind::Input || role.getKind() == RoleKind::Label) {
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
    llvm::DenseSet<Operation *> optional = findOptional(function);
    DenseMap<Value, std::string> missing; // values that only outputs need and that cannot be had, with the reason
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      if (!optional.contains(&op)) {
        if (failed(bindOp(&op, shapes)))
          return failure();
        continue;
      }
      std::string reason;
      for (Value operand : op.getOperands())
        if (auto found = missing.find(operand); found != missing.end() && reason.empty())
          reason = found->second;
      if (reason.empty()) {
        ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          if (reason.empty())
            reason = describeNode(diagnostic.getLocation()) + diagnostic.str();
          return success();
        });
        if (succeeded(bindOp(&op, shapes)))
          continue;
      }
      for (Value result : op.getResults())
        missing[result] = reason;
    }
    leaveOut(function, missing);
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

  LogicalResult bindOp(Operation *op, ShapeEvaluator &shapes) {
    if (auto shapeOf = dyn_cast<ShapeOfOp>(op)) {
      shapeOf.getResult().setType(
          RankedTensorType::get({shapeOf.getOperand().getType().getRank()}, IntegerType::get(&getContext(), 64)));
      return success();
    }
    if (auto reshape = dyn_cast<ReshapeOp>(op); reshape && reshape.getShape())
      return bindReshape(reshape, shapes);
    if (auto broadcast = dyn_cast<BroadcastToOp>(op))
      return bindBroadcast(broadcast, shapes);
    return inferResultTypes(op);
  }

  static std::string describeNode(Location loc) {
    auto name = dyn_cast<NameLoc>(loc);
    return name ? "node '" + name.getName().str() + "': " : "";
  }

  /// The ops that the loss does not need, in a function with a loss and outputs.
  static llvm::DenseSet<Operation *> findOptional(func::FuncOp function) {
    llvm::DenseSet<Operation *> optional;
    std::optional<unsigned> loss = findResult(function, RoleKind::LossSum);
    if (!loss || !findResult(function, RoleKind::Output))
      return optional;
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator())
      optional.insert(&op);
    SmallVector<Operation *> work;
    auto need = [&](Value value) {
      if (Operation *op = value.getDefiningOp(); op && optional.erase(op))
        work.push_back(op);
    };
    need(body.getTerminator()->getOperand(*loss));
    while (!work.empty())
      llvm::for_each(work.pop_back_val()->getOperands(), need);
    return optional;
  }

  /// Returns no output whose value is missing.
  static void leaveOut(func::FuncOp function, const DenseMap<Value, std::string> &missing) {
    if (missing.empty())
      return;
    Operation *end = function.getBody().front().getTerminator();
    llvm::BitVector left(end->getNumOperands());
    for (auto [index, value] : llvm::enumerate(end->getOperands())) {
      auto found = missing.find(value);
      if (found == missing.end())
        continue;
      auto role = function.getResultAttrOfType<RoleAttr>(index, kRoleAttrName);
      emitRemark(value.getLoc()) << "output '" << role.getName()
                                 << "' is left out of predictions: " << found->second;
      left.set(index);
    }
    end->eraseOperands(left);
    SmallVector<DictionaryAttr> attributes;
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (!left[index])
        attributes.push_back(function.getResultAttrDict(index));
    function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(), end->getOperandTypes()));
    function.setAllResultAttrs(attributes);
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

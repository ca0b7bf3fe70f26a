//===- KernelBodies.cpp - Functions that generated kernels compute --------===//
#include "KernelBodies.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace zero::conversion {

static func::FuncOp createFunction(Location loc, TypeRange operands, TypeRange results) {
  auto function = func::FuncOp::create(loc, "body", FunctionType::get(loc.getContext(), operands, results));
  function.setPrivate();
  function.addEntryBlock();
  return function;
}

func::FuncOp outlineGroup(nn::GroupOp group) {
  func::FuncOp function = createFunction(group.getLoc(), group.getOperandTypes(), group.getResultTypes());
  Block &source = group.getBody().front();
  IRMapping mapping;
  mapping.map(source.getArguments(), function.getArguments());
  OpBuilder builder = OpBuilder::atBlockEnd(&function.front());
  for (Operation &op : source.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value value : source.getTerminator()->getOperands())
    results.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, group.getLoc(), results);
  return function;
}

func::FuncOp outlineOp(Operation *op) {
  func::FuncOp function = createFunction(op->getLoc(), op->getOperandTypes(), op->getResultTypes());
  OpBuilder builder = OpBuilder::atBlockEnd(&function.front());
  Operation *copy = builder.clone(*op);
  copy->setOperands(function.getArguments());
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
  return function;
}

func::FuncOp outlineConvert(Location loc, RankedTensorType from, RankedTensorType to) {
  func::FuncOp function = createFunction(loc, {from}, {to});
  OpBuilder builder = OpBuilder::atBlockEnd(&function.front());
  func::ReturnOp::create(builder, loc, nn::CastOp::create(builder, loc, to, function.getArgument(0)).getResult());
  return function;
}

func::FuncOp outlineAccumulate(Location loc, RankedTensorType sum, RankedTensorType value) {
  func::FuncOp function = createFunction(loc, {sum, value}, {sum});
  OpBuilder builder = OpBuilder::atBlockEnd(&function.front());
  Value added = function.getArgument(1);
  if (value != sum)
    added = nn::CastOp::create(builder, loc, sum, added);
  func::ReturnOp::create(builder, loc, nn::AddOp::create(builder, loc, sum, function.getArgument(0), added).getResult());
  return function;
}

namespace {
/// Clones an elementwise body on 0-d tensors as one on 1-d tensors. What depends on scalars alone stays 0-d
/// and is broadcast where a whole tensor is needed.
class UpdateOutliner {
public:
  UpdateOutliner(func::FuncOp function, int64_t elements)
      : function(function), builder(OpBuilder::atBlockEnd(&function.front())), elements(elements) {}

  void run(sharding::UpdateOp update) {
    Block &source = update.getBody().front();
    mapping.map(source.getArguments(), function.getArguments());
    for (Operation &op : source.without_terminator())
      clone(op);
    SmallVector<Value> results;
    for (Value value : source.getTerminator()->getOperands())
      results.push_back(whole(value));
    func::ReturnOp::create(builder, update.getLoc(), results);
  }

private:
  bool isScalar(Value value) {
    return cast<RankedTensorType>(mapping.lookup(value).getType()).getRank() == 0;
  }
  RankedTensorType wholeType(Type type) {
    return RankedTensorType::get({elements}, cast<RankedTensorType>(type).getElementType());
  }
  Value whole(Value value) {
    Value mapped = mapping.lookup(value);
    if (!isScalar(value))
      return mapped;
    return nn::BroadcastOp::create(builder, value.getLoc(), wholeType(value.getType()), mapped,
                                   ArrayRef<int64_t>());
  }
  /// Operands that the op defines as 0-d whatever the shape of the others.
  static bool takesScalar(Operation &op, unsigned operand) {
    if (auto adam = dyn_cast<nn::AdamOp>(op))
      return operand >= adam.getGradientScaleMutable().getOperandNumber(); // scale, lr, both corrections, skip
    if (auto sgd = dyn_cast<nn::SgdOp>(op))
      return operand >= sgd.getGradientScaleMutable().getOperandNumber(); // scale, lr, skip
    return false;
  }
  void clone(Operation &op) {
    if (llvm::all_of(op.getOperands(), [&](Value value) { return isScalar(value); })) {
      builder.clone(op, mapping);
      return;
    }
    SmallVector<Value> operands;
    for (auto [i, value] : llvm::enumerate(op.getOperands()))
      operands.push_back(takesScalar(op, i) ? mapping.lookup(value) : whole(value));
    Operation *copy = builder.clone(op, mapping);
    copy->setOperands(operands);
    for (Value result : copy->getResults())
      result.setType(wholeType(result.getType()));
  }

  func::FuncOp function;
  OpBuilder builder;
  int64_t elements;
  IRMapping mapping;
};
} // namespace

func::FuncOp outlineUpdate(sharding::UpdateOp update, int64_t elements) {
  Block &source = update.getBody().front();
  SmallVector<Type> operands, results;
  for (auto [i, argument] : llvm::enumerate(source.getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    operands.push_back(
        i < update.getStates().size() ? RankedTensorType::get({elements}, type.getElementType()) : type);
  }
  for (Value value : source.getTerminator()->getOperands())
    results.push_back(
        RankedTensorType::get({elements}, cast<RankedTensorType>(value.getType()).getElementType()));
  func::FuncOp function = createFunction(update.getLoc(), operands, results);
  UpdateOutliner(function, elements).run(update);
  return function;
}

} // namespace zero::conversion

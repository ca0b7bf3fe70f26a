//===- BuildBackward.cpp - nn-build-backward ------------------------------===//
//
// Reverse-mode differentiation of @forward by the gradient rules that stand with the ops.
//
//   func.func @forward(%x {input "x"}, %y {label "y"}, %w {parameter "w"})
//       -> (f32 {loss_sum}, i64 {label_count}) {
//     %z = nn.matmul %x, %w
//     %sum, %count, %lse = nn.cross_entropy %z, %y
//     return %sum, %count
//   }
// becomes
//   func.func @micro(%x, %y, %w)
//       -> (f32 {loss_sum}, i64 {label_count}, w's type {gradient "w"}) {
//     %z = nn.matmul %x, %w
//     %sum, %count, %lse = nn.cross_entropy %z, %y
//     %seed = nn.constant dense<1 / (loss-divisor x positions)>
//     %loss = nn.mul %sum, %seed
//     ... %dz from %seed, %z, %lse, %y
//     %dw = nn.matmul %x, %dz transpose_lhs
//     return %loss, %count, %dw
//   }
// With scale-loss @micro takes %scale {loss_scale} as well, and what flows back starts as %seed x %scale.
// What nn.stop_gradient gives is its operand then.
// Outputs of @forward become results of a function @predict, which holds their part of the forward pass. A
// @forward that has outputs alone becomes @predict.
// Test: test/Transforms/NN/build-backward.mlir
//
//===----------------------------------------------------------------------===//
#include "PredictFunction.h"
#include "dialects/NN/TensorBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "zero/Transforms/NN/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNBUILDBACKWARD
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

/// One training function on its way from @forward to @micro.
class Differentiation {
public:
  Differentiation(func::FuncOp function, int64_t lossDivisor, bool scaleLoss, bool saveRounded)
      : function(function), lossDivisor(lossDivisor), scaleLoss(scaleLoss), saveRounded(saveRounded),
        end(cast<func::ReturnOp>(function.front().getTerminator())) {}

  LogicalResult run() {
    if (failed(findParameters()) || failed(findLoss()) || failed(checkPath()))
      return failure();
    for (Operation &op : function.front().without_terminator())
      forwardOps.push_back(&op);
    OpBuilder builder(end);
    TensorBuilder b(builder, loss.getLoc());
    Value lossSum = end.getOperand(lossResult);
    Value seed = b.splat(TensorBuilder::typeOf(lossSum), 1.0 / (double(lossDivisor) * double(positions)));
    Value scaledLoss = b.mul(lossSum, seed);
    gradients[lossSum] = scaleLoss ? b.mul(seed, addLossScale(lossSum.getType())) : seed;
    for (Operation *op : llvm::reverse(forwardOps))
      if (failed(differentiate(op, builder)))
        return failure();
    if (saveRounded)
      readRounded(builder);
    return finish(builder, scaledLoss);
  }

private:
  /// Replaces f32 values of the forward pass by their rounded ones where gradients read them.
  void readRounded(OpBuilder &builder) {
    DenseSet<Operation *> forward(forwardOps.begin(), forwardOps.end());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(forwardOps.back());
    for (Operation *op : forwardOps)
      for (Value result : op->getResults()) {
        auto isRounding = [&](Operation *user) {
          auto cast = dyn_cast<CastOp>(user);
          return cast && forward.contains(cast) && TensorBuilder::elementOf(cast).getIntOrFloatBitWidth() == 16;
        };
        auto isGradients = [&](OpOperand &use) {
          return !forward.contains(use.getOwner()) && use.getOwner() != end.getOperation();
        };
        auto rounding = llvm::find_if(result.getUsers(), isRounding);
        if (!isFloat(result) || !TensorBuilder::elementOf(result).isF32() || rounding == result.user_end() ||
            llvm::none_of(result.getUses(), isGradients))
          continue;
        Value rounded = TensorBuilder(builder, result.getLoc()).cast(rounding->getResult(0), builder.getF32Type());
        result.replaceUsesWithIf(rounded, isGradients);
      }
  }

  /// The state that the loss is multiplied by for its gradients; nn-append-optimizer says where it starts.
  Value addLossScale(Type type) {
    unsigned index = function.getNumArguments();
    NamedAttrList attrs;
    attrs.set(kRoleAttrName, RoleAttr::get(function.getContext(), RoleKind::LossScale, ""));
    (void)function.insertArgument(index, type, attrs.getDictionary(function.getContext()), loss.getLoc());
    return function.getArgument(index);
  }

  RoleAttr argumentRole(unsigned i) { return function.getArgAttrOfType<RoleAttr>(i, kRoleAttrName); }

  LogicalResult findParameters() {
    for (BlockArgument argument : function.getArguments()) {
      RoleAttr role = argumentRole(argument.getArgNumber());
      if (!role || role.getKind() != RoleKind::Parameter)
        continue;
      if (!isFloat(argument))
        return emitError(argument.getLoc())
               << "parameter '" << role.getName() << "' has type " << argument.getType()
               << ", which has no gradient; expected a tensor of floats";
      parameters.push_back(argument);
      source[argument] = role.getName();
    }
    if (parameters.empty())
      return function.emitError("@forward has no parameter: nothing to differentiate by");
    return success();
  }

  LogicalResult findLoss() {
    std::optional<unsigned> sum, count;
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
      auto role = function.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
      if (role && role.getKind() == RoleKind::LossSum)
        sum = i;
      else if (role && role.getKind() == RoleKind::LabelCount)
        count = i;
      else
        return function.emitError() << "result #" << i
                                    << " of @forward is neither loss_sum nor label_count nor an output";
    }
    if (!sum || !count)
      return function.emitError() << "@forward has no result with the role "
                                  << (sum ? "label_count" : "loss_sum");
    lossResult = *sum;
    countResult = *count;
    auto sumValue = dyn_cast<OpResult>(end.getOperand(*sum)),
         countValue = dyn_cast<OpResult>(end.getOperand(*count));
    loss = sumValue ? dyn_cast<LossOpInterface>(sumValue.getOwner()) : LossOpInterface();
    if (!loss || sumValue.getResultNumber() != 0 || !countValue || countValue.getOwner() != loss ||
        countValue.getResultNumber() != 1)
      return end.emitError("loss_sum and label_count are not the results 0 and 1 of one loss op");
    for (Type type : loss->getOperandTypes())
      if (!cast<ShapedType>(type).hasStaticShape())
        return dynamicShape(loss, type);
    positions = loss.getPositions();
    if (positions == 0)
      return loss.emitError("loss has 0 positions: there is no mean over them");
    return success();
  }

  LogicalResult dynamicShape(Operation *op, Type type) {
    return op->emitError() << "has the type " << type
                           << " whose shape is not static; run nn-bind-batch first";
  }

  /// What a parameter reaches, what reaches the loss, and where a gradient can go.
  LogicalResult checkPath() {
    DenseMap<Value, StringRef> depends(source); // with or without a gradient
    auto propagate = [](Operation &op, DenseMap<Value, StringRef> &from, bool floatsOnly) {
      for (Value operand : op.getOperands())
        if (auto found = from.find(operand); found != from.end()) {
          StringRef name = found->second;
          for (Value result : op.getResults())
            if (!floatsOnly || isFloat(result))
              from[result] = name;
          return;
        }
    };
    for (Operation &op : function.front().without_terminator()) {
      propagate(op, depends, /*floatsOnly=*/false);
      if (!isFlat(&op))
        propagate(op, source, /*floatsOnly=*/true);
    }
    DenseSet<Value> reaching{end.getOperand(lossResult)}; // the loss, with or without a gradient, but not by way of one that was stopped
    for (Operation &op : llvm::reverse(function.front().without_terminator()))
      if (!isa<StopGradientOp>(op) && llvm::any_of(op.getResults(), [&](Value result) { return reaching.contains(result); }))
        reaching.insert_range(op.getOperands());
    if (failed(checkRules()))
      return failure();
    warnOfFlatNodes(depends, reaching);
    return success();
  }

  /// Reports all ops between a parameter and the loss that cannot be differentiated, at once.
  LogicalResult checkRules() {
    DenseSet<Value> reaching{end.getOperand(lossResult)};
    SmallVector<Operation *> path, blocked;
    for (Operation &op : llvm::reverse(function.front().without_terminator())) {
      if (!llvm::any_of(op.getResults(),
                        [&](Value result) { return reaching.contains(result) && source.contains(result); }))
        continue;
      path.push_back(&op);
      if (!isa<DifferentiableOpInterface>(op))
        blocked.push_back(&op);
      reaching.insert_range(op.getOperands());
    }
    if (!blocked.empty()) {
      InFlightDiagnostic error = function.emitError()
                                 << blocked.size() << (blocked.size() == 1 ? " op" : " ops")
                                 << " between the parameters and the loss cannot be differentiated";
      for (Operation *op : llvm::reverse(blocked))
        error.attachNote(op->getLoc())
            << describe(op) << " stands between parameter '" << sourceOf(op) << "' and the loss";
      return error;
    }
    for (Operation *op : llvm::reverse(path))
      for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
        if (!cast<ShapedType>(type).hasStaticShape())
          return dynamicShape(op, type);
    return success();
  }

  /// The gradient is zero wherever there is one, or is not asked for: nothing flows back, and no rule is needed.
  static bool isFlat(Operation *op) {
    return isa<FloorOp, CeilOp, RoundOp, SignOp, CompareOp, TopKOp, StopGradientOp>(op) ||
           (isa<CastOp>(op) && !isFloat(op->getResult(0)));
  }

  StringRef sourceOf(Operation *op) const {
    for (Value operand : op->getOperands())
      if (auto found = source.find(operand); found != source.end())
        return found->second;
    return {};
  }

  /// The op with the names of the nodes that it comes from.
  static std::string describe(Operation *op) {
    std::string text = ("'" + op->getName().getStringRef() + "'").str();
    llvm::SetVector<StringRef> names;
    op->getLoc()->walk([&](Location location) {
      if (auto name = dyn_cast<NameLoc>(location))
        names.insert(name.getName());
      return WalkResult::advance();
    });
    for (StringRef name : names)
      text += (name == names.front() ? " of node '" : ", '") + name.str() + "'";
    return text;
  }

  /// One warning for all nodes that end a gradient's way. Inside a node a comparison may choose between
  /// values that have gradients: what counts is what leaves it.
  void warnOfFlatNodes(const DenseMap<Value, StringRef> &depends, const DenseSet<Value> &reaching) {
    DenseMap<Value, Operation *> ended; // by which flat op of the same node
    llvm::MapVector<Location, Operation *> nodes;
    for (Operation &op : function.front().without_terminator()) {
      Operation *flat = nullptr;
      if (isFlat(&op) && !isa<StopGradientOp>(op) && !sourceOf(&op).empty())
        flat = &op;
      for (Value operand : op.getOperands())
        if (Operation *before = ended.lookup(operand); before && before->getLoc() == op.getLoc())
          flat = flat ? flat : before;
      if (!flat)
        continue;
      for (Value result : op.getResults()) {
        if (source.contains(result) || !depends.contains(result) || !reaching.contains(result))
          continue;
        ended[result] = flat;
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return user->getLoc() != op.getLoc() &&
                     llvm::any_of(user->getResults(), [&](Value value) { return reaching.contains(value); });
            }))
          nodes.insert({op.getLoc(), flat});
      }
    }
    if (nodes.empty())
      return;
    InFlightDiagnostic warning =
        function.emitWarning("no gradient passes, as it is zero almost everywhere: ");
    llvm::interleaveComma(nodes, warning, [&](auto &node) { warning << describe(node.second); });
  }

  LogicalResult differentiate(Operation *op, OpBuilder &builder) {
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults())
      resultGradients.push_back(gradients.lookup(result));
    if (llvm::none_of(resultGradients, [](Value gradient) { return bool(gradient); }))
      return success();
    SmallVector<bool> needed;
    for (Value operand : op->getOperands())
      needed.push_back(source.contains(operand));
    if (!llvm::is_contained(needed, true))
      return success();
    SmallVector<Value> operandGradients =
        cast<DifferentiableOpInterface>(op).buildGradient(builder, resultGradients, needed);
    for (auto [i, operand, gradient] : llvm::enumerate(op->getOperands(), operandGradients)) {
      if (!needed[i])
        continue;
      if (!gradient)
        return op->emitOpError() << "has no gradient for its operand #" << i
                                 << ", which depends on parameter '" << source[operand] << "'";
      // An absent gradient, so that what depends on nothing else is found to have none.
      if (isZero(gradient))
        continue;
      Value &sum = gradients[operand];
      sum = sum ? TensorBuilder(builder, op->getLoc()).add(sum, gradient) : gradient;
    }
    return success();
  }

  /// Both functions take the weight.
  void freeze(StringRef name) {
    auto predict = function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>("predict");
    for (func::FuncOp taker : {function, predict})
      for (unsigned i = 0, e = taker ? taker.getNumArguments() : 0; i < e; ++i) {
        auto role = taker.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
        if (role && role.getKind() == RoleKind::Parameter && role.getName() == name)
          taker.setArgAttr(i, kRoleAttrName, RoleAttr::get(role.getContext(), RoleKind::Frozen, name));
      }
  }

  static bool isZero(Value gradient) {
    DenseElementsAttr value;
    return matchPattern(gradient, m_Constant(&value)) && isa<FloatType>(value.getElementType()) && value.isSplat() &&
           value.getSplatValue<APFloat>().isZero();
  }

  LogicalResult finish(OpBuilder &builder, Value scaledLoss) {
    SmallVector<Value> results{scaledLoss, end.getOperand(countResult)};
    SmallVector<RoleKind> kinds{RoleKind::LossSum, RoleKind::LabelCount};
    SmallVector<StringRef> names{"", ""};
    SmallVector<StringRef> unreached;
    for (BlockArgument parameter : parameters) {
      StringRef name = source[parameter];
      Value gradient = gradients.lookup(parameter);
      if (!gradient) {
        // An update would let weight decay shrink what the loss says nothing about.
        unreached.push_back(name);
        freeze(name);
        continue;
      }
      results.push_back(gradient);
      kinds.push_back(RoleKind::Gradient);
      names.push_back(name);
    }
    if (!unreached.empty()) {
      bool all = unreached.size() == parameters.size();
      InFlightDiagnostic diagnostic =
          all ? function.emitError("no gradient reaches any parameter, so there is nothing to train: ")
              : function.emitWarning("no gradient reaches, so these weights are not trained: ");
      llvm::interleaveComma(unreached, diagnostic, [&](StringRef name) { diagnostic << "'" << name << "'"; });
      if (all)
        return diagnostic;
    }
    func::ReturnOp::create(builder, end.getLoc(), results);
    end.erase();
    function.setName("micro");
    function.setType(builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(results))));
    function.setResAttrsAttr(nullptr);
    for (auto [i, kind, name] : llvm::enumerate(kinds, names))
      function.setResultAttr(i, kRoleAttrName, RoleAttr::get(builder.getContext(), kind, name));
    recordLabelLimits(builder);
    return success();
  }

  /// The loss is decomposed later; the reader of labels checks then what the loss defines.
  void recordLabelLimits(OpBuilder &builder) {
    auto crossEntropy = dyn_cast<CrossEntropyOp>(loss.getOperation());
    if (!crossEntropy)
      return;
    Value labels = crossEntropy.getLabels();
    while (Operation *op = labels.getDefiningOp()) {
      if (!isa<ReshapeOp, CastOp>(op))
        return;
      labels = op->getOperand(0);
    }
    unsigned index = cast<BlockArgument>(labels).getArgNumber();
    int64_t classes = crossEntropy.getLogits().getType().getShape().back();
    function.setArgAttr(index, kLimitAttrName, builder.getI64IntegerAttr(classes));
    function.setArgAttr(index, kIgnoreIndexAttrName,
                        builder.getI64IntegerAttr(crossEntropy.getIgnoreIndex()));
  }

  func::FuncOp function;
  int64_t lossDivisor;
  bool scaleLoss, saveRounded;
  func::ReturnOp end;
  SmallVector<BlockArgument> parameters;
  /// Values that depend differentiably on a parameter, with the name of the first such parameter.
  DenseMap<Value, StringRef> source;
  LossOpInterface loss;
  unsigned lossResult = 0, countResult = 0;
  int64_t positions = 0;
  SmallVector<Operation *> forwardOps;
  DenseMap<Value, Value> gradients;
};

class NNBuildBackward : public impl::NNBuildBackwardBase<NNBuildBackward> {
public:
  using NNBuildBackwardBase::NNBuildBackwardBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto function = module.lookupSymbol<func::FuncOp>("forward");
    if (failed(check(module, function)))
      return signalPassFailure();
    if (splitPredict(function) && failed(Differentiation(function, lossDivisor, scaleLoss, saveRounded).run()))
      return signalPassFailure();
    // They have done their work; no kernel computes them.
    module.walk([](StopGradientOp stop) {
      stop.getResult().replaceAllUsesWith(stop.getOperand());
      stop.erase();
    });
  }

private:
  LogicalResult check(ModuleOp module, func::FuncOp function) {
    if (!function)
      return module.emitError("module has no function @forward to differentiate");
    for (StringRef made : {"micro", "predict"}) {
      Operation *there = module.lookupSymbol(made);
      if (!there)
        continue;
      InFlightDiagnostic error = function.emitError()
                                 << "module has @forward and @" << made << "; it is differentiated already";
      error.attachNote(there->getLoc()) << "@" << made << " is here";
      return error;
    }
    if (!function.getBody().hasOneBlock())
      return function.emitError() << "@forward has " << function.getBody().getBlocks().size()
                                  << " blocks, expected 1";
    if (lossDivisor < 1)
      return function.emitError() << "loss-divisor is " << lossDivisor.getValue() << ", expected at least 1";
    return success();
  }
};

} // namespace
} // namespace zero

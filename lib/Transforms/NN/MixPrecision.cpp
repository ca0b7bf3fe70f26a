//===- MixPrecision.cpp - nn-mix-precision --------------------------------===//
//
//   func.func @forward(%x: f32 {input "x"}, %w: f32 {parameter "w"}, ..) {
//     %y = nn.matmul %x, %w                      ->   %w: bf16 {parameter "w"}
//     %z = nn.gelu none %y                            %0 = nn.cast %x to bf16
//     %s, %n, %l = nn.cross_entropy %z, %t            %y = nn.matmul %0, %w : bf16
//                                                     %1 = nn.cast %y to f32; %2 = nn.gelu none %1
//                                                     %z = nn.cast %2 to bf16
//                                                     %3 = nn.cast %z to f32
//                                                     %s, %n, %l = nn.cross_entropy %3, %t : f32
//
// Tensors between ops are 16-bit, arithmetic is float32, each op rounds once; what one operator of the model was imported as rounds
// once, too, at its end. A model of these 16 bits is mixed as one of f32. Runs before differentiation, so that the gradient rules see
// the casts. Parameters keep the nn.data of their file.
// Test: test/Transforms/NN/mix-precision.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/TensorBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "zero/Transforms/NN/Passes.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNMIXPRECISION
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

bool isWide(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

/// What only moves elements: it takes and gives 16 bits.
bool isMovement(Operation *op) {
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return scatter.getKind() == ScatterKind::assign;
  return isa<ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatOp, GatherOp, GatherNDOp, BroadcastOp, SelectOp, StopGradientOp>(op);
}

/// Products of 16 bits whose sums are float32 inside the kernel.
bool isProduct(Operation *op) { return isa<MatmulOp, ConvOp, ConvTransposeOp, AttentionOp>(op); }

bool takesNarrow(Operation *op) { return isMovement(op) || isProduct(op); }

/// One number, as a loss that the model computes itself: it takes no memory, so it is not rounded.
bool isOneNumber(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements() == 1; }

/// One function on its way to mixed precision.
class Mixing {
public:
  Mixing(func::FuncOp function, FloatType element)
      : function(function), block(function.front()), element(element), builder(function.getContext()),
        largest(APFloat::getLargest(element.getFloatSemantics())) {}

  LogicalResult run() {
    if (llvm::any_of(block.getArguments(), [&](BlockArgument argument) { return isTrained(argument) && isNarrow(argument); }))
      widenModel();
    findMixed();
    if (failed(narrowArguments()))
      return failure();
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (mixed.contains(op))
        mix(op);
    // The model's outputs and the loss keep their types.
    for (OpOperand &result : block.getTerminator()->getOpOperands())
      result.set(widen(result.get()));
    return success();
  }

private:
  RoleAttr getRole(BlockArgument argument) {
    return function.getArgAttrOfType<RoleAttr>(argument.getArgNumber(), kRoleAttrName);
  }

  bool isTrained(BlockArgument argument) {
    RoleAttr role = getRole(argument);
    return role && role.getKind() == RoleKind::Parameter;
  }

  bool isNarrow(Value value) const {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getElementType() == element;
  }

  // ---- A model of 16 bits ------------------------------------------------------------------------

  /// It is mixed as one of f32 whose weights were rounded: so its statistics are f32, which the model's own types would round.
  /// Parameters become 16-bit again, from what their file holds; other arguments and outputs keep their types.
  void widenModel() {
    Type wide = builder.getF32Type();
    builder.setInsertionPointToStart(&block);
    for (BlockArgument argument : block.getArguments()) {
      if (!isNarrow(argument))
        continue;
      if (isTrained(argument)) {
        argument.setType(wideType(argument));
        continue;
      }
      Value widened = TensorBuilder(builder, argument.getLoc()).cast(argument, wide);
      argument.replaceAllUsesExcept(widened, widened.getDefiningOp());
    }
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      if (auto constant = dyn_cast<ConstantOp>(op); constant && isNarrow(constant))
        constant.setValueAttr(convertElements(cast<DenseElementsAttr>(constant.getValue()), Float32Type::get(function.getContext())));
      for (Value result : op.getResults())
        if (isNarrow(result))
          result.setType(wideType(result));
      if (auto cast = dyn_cast<CastOp>(op); cast && cast.getOperand().getType() == cast.getType()) {
        cast.getResult().replaceAllUsesWith(cast.getOperand());
        cast.erase();
      }
    }
    Operation *end = block.getTerminator();
    builder.setInsertionPoint(end);
    for (auto [result, type] : llvm::zip(end->getOpOperands(), function.getResultTypes()))
      if (result.get().getType() != type)
        result.set(TensorBuilder(builder, result.get().getLoc()).cast(result.get(), element));
  }

  static RankedTensorType wideType(Value value) {
    return cast<RankedTensorType>(value.getType()).clone(Float32Type::get(value.getContext()));
  }

  // ---- What is mixed -----------------------------------------------------------------------------

  /// Whether a float of this op depends on a parameter or a float input, or is looked up in a weight for an input.
  /// Positions, tables and masks do not: they stay f32 until they meet what does.
  void findMixed() {
    DenseSet<Value> fromInput, fromWeight; // any value that depends on an input or label; floats of frozen weights alone
    for (BlockArgument argument : block.getArguments()) {
      RoleAttr role = getRole(argument);
      RoleKind kind = role ? role.getKind() : RoleKind::Input;
      bool isInput = kind == RoleKind::Input || kind == RoleKind::Label;
      if (isInput)
        fromInput.insert(argument);
      if (kind == RoleKind::Frozen)
        fromWeight.insert(argument);
      if (isWide(argument) && (kind == RoleKind::Parameter || kind == RoleKind::Input))
        mixedValues.insert(argument);
    }
    for (Operation &op : block.without_terminator()) {
      auto any = [&](const DenseSet<Value> &values) {
        return llvm::any_of(op.getOperands(), [&](Value value) { return values.contains(value); });
      };
      if (any(fromInput))
        fromInput.insert_range(op.getResults());
      if (isMovement(&op) && fromWeight.contains(op.getOperand(0)))
        fromWeight.insert_range(op.getResults());
      bool isLookedUp = isa<GatherOp, GatherNDOp>(op) && fromWeight.contains(op.getOperand(0)) &&
                        fromInput.contains(op.getOperand(1));
      if (!isLookedUp && !any(mixedValues))
        continue;
      mixed.insert(&op);
      for (Value result : op.getResults())
        if (isWide(result))
          mixedValues.insert(result);
    }
  }

  /// Parameters become 16-bit; frozen weights where nothing reads them in f32.
  LogicalResult narrowArguments() {
    for (BlockArgument argument : block.getArguments()) {
      RoleAttr role = getRole(argument);
      if (!role || (role.getKind() != RoleKind::Parameter && role.getKind() != RoleKind::Frozen))
        continue;
      const bool trains = isTrained(argument);
      if (trains && !isWide(argument))
        return emitError(argument.getLoc())
               << "parameter '" << role.getName() << "' has type " << argument.getType()
               << "; mixed precision takes parameters of f32 or " << (element.isBF16() ? "bf16" : "f16") << ", to which it keeps masters of f32; without '"
               << (element.isBF16() ? "bf16" : "fp16") << ".enabled' it is trained in the type that it has";
      if (!isWide(argument) || (!trains && !llvm::all_of(argument.getUsers(), [&](Operation *user) {
            return mixed.contains(user) && takesNarrow(user);
          })))
        continue;
      argument.setType(narrowType(argument));
      narrowed.insert(argument);
    }
    function.setType(
        FunctionType::get(function.getContext(), block.getArgumentTypes(), function.getResultTypes()));
    return success();
  }

  // ---- One op ------------------------------------------------------------------------------------

  void mix(Operation *op) {
    if (takesNarrow(op)) {
      Value result = op->getResult(0); // of attention not log_sum_exp: statistics are f32
      bool isNumber = isMovement(op) && isOneNumber(result) &&
                      llvm::none_of(op->getOperands(), [&](Value operand) { return narrowed.contains(operand); });
      bool mayStay = isa<ReshapeOp, BroadcastOp>(op);
      bool isOfStatistic = mayStay && statistics.contains(op->getOperand(0));
      bool isInside = mayStay && inside.contains(op->getOperand(0)) && isInsideOperator(op);
      if (isOfStatistic && isa<ReshapeOp>(op))
        statistics.insert(result);
      if (isInside)
        inside.insert(result);
      if (!isWide(result) || isNumber || isOfStatistic || isInside)
        return;
      for (OpOperand &operand : op->getOpOperands())
        operand.set(narrow(operand.get()));
      if (auto pad = dyn_cast<PadOp>(op); pad && isLarge(pad.getValue()))
        pad.setValue(APFloat(std::copysign(largest.convertToDouble(), pad.getValue().convertToDouble())));
      result.setType(narrowType(result));
      narrowed.insert(result);
      return;
    }
    for (OpOperand &operand : op->getOpOperands())
      operand.set(isa<AddOp>(op) ? limit(widen(operand.get())) : widen(operand.get()));
    if (isa<LossOpInterface>(op))
      return;
    for (Value result : op->getResults()) {
      if (!isWide(result) || result.use_empty())
        continue;
      if (isStatistic(result))
        statistics.insert(result);
      else if (isInsideOperator(op))
        inside.insert(result);
      else if (!isOneNumber(result) && !isTermOfSum(result))
        roundResult(result);
    }
  }

  /// Whether only ops in f32 read the results, all of which one operator of the model was imported as (they have its name): a
  /// normalization spelled out, say. Such an operator rounds at its end.
  static bool isInsideOperator(Operation *op) {
    auto name = dyn_cast<NameLoc>(op->getLoc());
    return name && !name.getName().empty() && !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
             return user->getLoc() == op->getLoc() && (!takesNarrow(user) || isa<ReshapeOp, BroadcastOp>(user));
           });
  }

  /// What norms are made of, which are sensitive and small: sums over at least eight elements each, mean and rstd of a layer norm,
  /// and what is computed of such alone.
  bool isStatistic(Value result) {
    Operation *op = result.getDefiningOp();
    if (auto norm = dyn_cast<LayerNormOp>(op))
      return result != norm.getResult();
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return reduce.getKind() == ReduceKind::sum &&
             8 * reduce.getType().getNumElements() <= reduce.getOperand().getType().getNumElements();
    bool isOfStatistics = op->hasTrait<ElementwiseOp>();
    unsigned count = 0;
    for (Value operand : op->getOperands()) {
      auto widened = operand.getDefiningOp<CastOp>();
      bool isMixed = mixedValues.contains(operand) || (widened && narrowed.contains(widened.getOperand()));
      isOfStatistics &= statistics.contains(operand) || !isMixed;
      count += statistics.contains(operand);
    }
    return isOfStatistics && count != 0;
  }

  /// A square, say, that a sum reads and nothing else, not even a gradient.
  static bool isTermOfSum(Value result) {
    return isa<AddOp, SubOp, MulOp, PowOp, AbsOp, NegOp>(result.getDefiningOp()) &&
           llvm::all_of(result.getUsers(), [](Operation *user) {
             auto reduce = dyn_cast<ReduceOp>(user);
             return reduce && reduce.getKind() == ReduceKind::sum;
           });
  }

  RankedTensorType narrowType(Value value) { return cast<RankedTensorType>(value.getType()).clone(element); }

  /// Every reader gets the 16-bit value instead.
  void roundResult(Value result) {
    builder.setInsertionPointAfterValue(result);
    Value rounded = TensorBuilder(builder, result.getLoc()).cast(result, element);
    result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    narrowed.insert(rounded);
  }

  /// The f32 value of what this pass has made 16-bit; anything else as it is.
  Value widen(Value value) {
    if (!narrowed.contains(value))
      return value;
    Value &wide = widenings[value];
    if (!wide) {
      builder.setInsertionPointAfterValue(value);
      wide = TensorBuilder(builder, value.getLoc()).cast(value, builder.getF32Type());
    }
    return wide;
  }

  /// The 16-bit value of an f32 one.
  Value narrow(Value value) {
    if (!isWide(value))
      return value;
    Value &rounded = roundings[value];
    if (rounded)
      return rounded;
    Value limited = limit(value);
    builder.setInsertionPointAfterValue(limited);
    DenseElementsAttr constant;
    if (matchPattern(limited, m_Constant(&constant)))
      rounded = ConstantOp::create(builder, value.getLoc(), narrowType(value), convertElements(constant, element));
    else
      rounded = TensorBuilder(builder, value.getLoc()).cast(limited, element);
    return rounded;
  }

  // ---- Numbers beyond the 16-bit range -----------------------------------------------------------

  /// `value`, which depends on no parameter and no float input, where a finite number beyond the range of 16 bits goes into it: such
  /// numbers become the largest finite one, as masks are made of them; infinities stay.
  Value limit(Value value) {
    if (!isWide(value) || mixedValues.contains(value) || narrowed.contains(value) || !readsLargeConstant(value))
      return value;
    Value &limited = limits[value];
    if (limited)
      return limited;
    builder.setInsertionPointAfterValue(value);
    TensorBuilder b(builder, value.getLoc());
    DenseElementsAttr constant;
    if (matchPattern(value, m_Constant(&constant)))
      return limited = ConstantOp::create(builder, value.getLoc(), value.getType(), limitElements(constant));
    double bound = largest.convertToDouble();
    Value inside = b.binary<MinOp>(b.binary<MaxOp>(value, b.splatLike(value, -bound)), b.splatLike(value, bound));
    Value isInfinite = b.compare(ComparePredicate::eq, b.unary<AbsOp>(value), std::numeric_limits<double>::infinity());
    return limited = b.select(isInfinite, value, inside);
  }

  bool isLarge(const APFloat &number) const {
    return number.isFinite() && std::abs(number.convertToDouble()) > largest.convertToDouble();
  }

  bool readsLargeConstant(Value value) {
    auto [known, isNew] = large.try_emplace(value, false);
    if (!isNew)
      return known->second;
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    bool found = false;
    if (DenseElementsAttr constant; isWide(value) && matchPattern(value, m_Constant(&constant)))
      found = constant.isSplat() ? isLarge(constant.getSplatValue<APFloat>())
                                 : llvm::any_of(constant.getValues<APFloat>(),
                                                [&](const APFloat &number) { return isLarge(number); });
    else
      for (Value operand : op->getOperands())
        found |= readsLargeConstant(operand);
    return large[value] = found;
  }

  DenseElementsAttr limitElements(DenseElementsAttr constant) {
    return constant.mapValues(Float32Type::get(function.getContext()), [&](const APFloat &number) {
      APFloat limited = number;
      if (isLarge(number))
        limited = APFloat(static_cast<float>(std::copysign(largest.convertToDouble(), number.convertToDouble())));
      return limited.bitcastToAPInt();
    });
  }

  static DenseElementsAttr convertElements(DenseElementsAttr constant, FloatType to) {
    return constant.mapValues(to, [&](const APFloat &number) {
      APFloat converted = number;
      bool losesInformation;
      converted.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInformation);
      return converted.bitcastToAPInt();
    });
  }

  func::FuncOp function;
  Block &block;
  FloatType element;
  OpBuilder builder;
  APFloat largest;
  DenseSet<Operation *> mixed;
  DenseSet<Value> mixedValues;                      // f32 values of mixed ops and of arguments, before the change
  DenseSet<Value> narrowed;                         // 16-bit values that were f32
  DenseSet<Value> statistics;                       // f32 values that stay f32
  DenseSet<Value> inside;                           // f32 values that stay f32 between the ops of one operator
  DenseMap<Value, Value> widenings, roundings, limits; // casts made, by what they are of
  DenseMap<Value, bool> large;
};

class NNMixPrecision : public impl::NNMixPrecisionBase<NNMixPrecision> {
public:
  using NNMixPrecisionBase::NNMixPrecisionBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FloatType type;
    if (element == "bf16")
      type = BFloat16Type::get(&getContext());
    else if (element == "f16")
      type = Float16Type::get(&getContext());
    if (!type) {
      module.emitError() << "element is '" << element.getValue() << "', expected bf16 or f16";
      return signalPassFailure();
    }
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward) {
      module.emitError("module has no function @forward; mixed precision comes before nn-build-backward");
      return signalPassFailure();
    }
    if (failed(Mixing(forward, type).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace zero

//===- AppendOptimizer.cpp - nn-append-optimizer --------------------------===//
//
//   func.func @micro(.., %w {parameter "w"}) -> (f32 {loss_sum}, i64 {label_count}, w's type {gradient "w"})
// gains
//   func.func @update(%w {parameter "w"}, %g {gradient "w"}, %m {exp_avg "w"}, %v {exp_avg_sq "w"},
//                     %sum {loss_sum}, %count {label_count}, %lr {learning_rate}, %c1 {bias_correction1},
//                     %c2 {bias_correction2}, %on {skip_non_finite})
//       -> (parameter "w", exp_avg "w", exp_avg_sq "w", loss, grad_norm, skipped) {
//     %factor = (loss-divisor x positions) / float(%count)   // to the mean over counted labels
//     %norm = nn.mul (nn.global_norm %g), %factor
//     %loss = nn.mul %sum, %factor
//     %scale = nn.mul %factor, min(1, gradient-clipping / (%norm + 1e-6))
//     %skip = select(%loss and %norm are finite, 0, %on)
//     %p, %m1, %v1 = nn.adam %w, %g, %m, %v scale %scale lr %lr correction %c1, %c2 skip %skip
//     return %p, %m1, %v1, %loss, %norm, %skip
//   }
// Where @micro takes a loss scale, %norm and %scale are divided by it, and with loss-scale-window
//     %overflow .. -> the new loss_scale, scale_window_steps, scale_hysteresis (LossScale.h)
// With masters, the parameters of 16 bits have f32 masters, whose update it is: {master "w"} and the moments are f32.
// A module with @predict alone trains nothing and stays as it is.
// Test: test/Transforms/NN/append-optimizer.mlir
//
//===----------------------------------------------------------------------===//
#include "LossScale.h"
#include "dialects/NN/TensorBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Runtime/Base/NumberText.h"
#include "zero/Transforms/NN/Passes.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNAPPENDOPTIMIZER
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

/// The signature of @update while it grows: arguments of the entry block with their roles.
class UpdateFunction {
public:
  UpdateFunction(func::FuncOp micro)
      : function(func::FuncOp::create(micro.getLoc(), "update", emptyType(micro))) {
    body = function.addEntryBlock();
  }

  Value argument(RoleKind kind, StringRef name, Type type, Location loc, Attribute data = {}) {
    NamedAttrList attrs;
    attrs.set(kRoleAttrName, RoleAttr::get(function.getContext(), kind, name));
    if (data)
      attrs.set(kDataAttrName, data);
    argumentAttrs.push_back(attrs.getDictionary(function.getContext()));
    return body->addArgument(type, loc);
  }
  void result(RoleKind kind, StringRef name, Value value) {
    NamedAttrList attrs;
    attrs.set(kRoleAttrName, RoleAttr::get(function.getContext(), kind, name));
    resultAttrs.push_back(attrs.getDictionary(function.getContext()));
    results.push_back(value);
  }
  void finish(OpBuilder &builder) {
    func::ReturnOp::create(builder, function.getLoc(), results);
    function.setType(builder.getFunctionType(body->getArgumentTypes(), TypeRange(ValueRange(results))));
    function.setAllArgAttrs(argumentAttrs);
    function.setAllResultAttrs(resultAttrs);
  }

  func::FuncOp function;
  Block *body;

private:
  static FunctionType emptyType(Operation *op) { return FunctionType::get(op->getContext(), {}, {}); }
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  SmallVector<Value> results;
};

struct TrainedParameter {
  StringRef name;
  BlockArgument value;
  Type gradientType;
};

/// What @micro says about the step: its parameters and its loss.
struct MicroSignature {
  SmallVector<TrainedParameter> parameters;
  Type lossType, countType;
  int64_t positions = 0;
  Type lossScaleType; ///< null where there is no loss scale
};

class NNAppendOptimizer : public impl::NNAppendOptimizerBase<NNAppendOptimizer> {
public:
  using NNAppendOptimizerBase::NNAppendOptimizerBase;
  void runOnOperation() override {
    if (isForwardOnly(getOperation()))
      return;
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    MicroSignature signature;
    if (failed(checkOptions()) || failed(readMicro(micro, signature)))
      return signalPassFailure();
    warnOfLostSquares(signature);
    appendUpdate(micro, signature);
  }

private:
  LogicalResult checkOptions() {
    ModuleOp module = getOperation();
    if (optimizer != "adamw" && optimizer != "adam" && optimizer != "sgd")
      return module.emitError() << "unknown optimizer '" << optimizer.getValue()
                                << "'; expected adamw, adam or sgd";
    if (nesterov && (optimizer != "sgd" || momentum == 0.0))
      return module.emitError() << "nesterov needs the optimizer sgd with momentum; got " << optimizer
                                << " with momentum " << shortestText(momentum);
    if (gradientClipping < 0.0)
      return module.emitError() << "gradient-clipping is "
                                << shortestText(gradientClipping)
                                << ", expected 0 (off) or more";
    if (lossDivisor < 1)
      return module.emitError() << "loss-divisor is " << lossDivisor.getValue() << ", expected at least 1";
    if (!gradientElement.empty() && !getGradientElement())
      return module.emitError() << "gradient-element is '" << gradientElement.getValue()
                                << "', expected f32, f16 or bf16";
    if (lossScale < 0.0 || lossScaleWindow < 0 || hysteresis < 1 || minLossScale <= 0.0)
      return module.emitError() << "loss-scale is " << shortestText(lossScale)
                                << ", loss-scale-window " << lossScaleWindow.getValue() << ", hysteresis "
                                << hysteresis.getValue() << ", min-loss-scale "
                                << shortestText(minLossScale)
                                << "; expected 0 or more, 0 or more, at least 1, more than 0";
    return success();
  }

  /// Null where gradients have the type of their parameters.
  Type getGradientElement() {
    return llvm::StringSwitch<Type>(gradientElement.getValue())
        .Case("f32", Float32Type::get(&getContext()))
        .Case("f16", Float16Type::get(&getContext()))
        .Case("bf16", BFloat16Type::get(&getContext()))
        .Default(Type());
  }

  bool hasMaster(Type parameter) {
    return masters && cast<RankedTensorType>(parameter).getElementTypeBitWidth() == 16;
  }

  LogicalResult readMicro(func::FuncOp micro, MicroSignature &signature) {
    if (!micro)
      return getOperation().emitError("module has no function @micro; run nn-build-backward first");
    if (Operation *update = getOperation().lookupSymbol("update"))
      return update->emitError("module has a function @update already");
    llvm::StringMap<Type> gradientTypes;
    auto end = cast<func::ReturnOp>(micro.front().getTerminator());
    for (auto [i, value] : llvm::enumerate(end.getOperands())) {
      auto role = micro.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
      if (!role)
        return micro.emitError() << "result #" << i << " of @micro has no role";
      if (role.getKind() == RoleKind::Gradient) {
        gradientTypes[role.getName()] = value.getType();
      } else if (role.getKind() == RoleKind::LossSum) {
        signature.lossType = value.getType();
      } else if (role.getKind() == RoleKind::LabelCount) {
        signature.countType = value.getType();
        if (auto loss = value.getDefiningOp<LossOpInterface>())
          signature.positions = loss.getPositions();
      }
    }
    if (!signature.lossType || !signature.countType)
      return micro.emitError() << "@micro has no result with the role "
                               << (signature.lossType ? "label_count" : "loss_sum");
    if (signature.positions < 1)
      return micro.emitError(
          "label_count of @micro is not the result of a loss op with positions; run this pass before "
          "nn-decompose-composites");
    for (BlockArgument argument : micro.getArguments()) {
      auto role = micro.getArgAttrOfType<RoleAttr>(argument.getArgNumber(), kRoleAttrName);
      if (role && role.getKind() == RoleKind::LossScale)
        signature.lossScaleType = argument.getType();
      if (!role || role.getKind() != RoleKind::Parameter)
        continue;
      Type gradientType = gradientTypes.lookup(role.getName());
      if (gradientType != argument.getType()) {
        InFlightDiagnostic error = emitError(argument.getLoc());
        error << "parameter '" << role.getName() << "' has type " << argument.getType() << " but ";
        if (gradientType)
          return error << "its gradient has type " << gradientType;
        return error << "@micro returns no gradient for it";
      }
      signature.parameters.push_back({role.getName(), argument, gradientType});
    }
    if (signature.parameters.empty())
      return micro.emitError("@micro has no parameter to train");
    if (static_cast<bool>(signature.lossScaleType) != (lossScale != 0.0))
      return micro.emitError() << "loss-scale is " << shortestText(lossScale) << " but @micro takes "
                               << (signature.lossScaleType ? "one" : "none")
                               << "; nn-build-backward has scale-loss";
    return success();
  }

  /// exp_avg_sq has the type of its parameter. What is too small for that type is 0 there, and leaves epsilon alone in the denominator:
  /// where epsilon is below the root of the least square, the step is then larger than any other, and soon not finite.
  void warnOfLostSquares(const MicroSignature &signature) {
    if (optimizer == "sgd")
      return;
    auto leastSquare = [&](const TrainedParameter &parameter) {
      const llvm::fltSemantics &floats = cast<FloatType>(cast<RankedTensorType>(parameter.value.getType()).getElementType()).getFloatSemantics();
      return hasMaster(parameter.value.getType()) ? 0.0 : APFloat::getSmallest(floats).convertToDouble();
    };
    auto loses = [&](const TrainedParameter &parameter) { return epsilon < std::sqrt(leastSquare(parameter)); };
    const TrainedParameter *first = llvm::find_if(signature.parameters, loses);
    if (first == signature.parameters.end())
      return;
    const int64_t others = llvm::count_if(signature.parameters, loses) - 1;
    const double least = leastSquare(*first);
    InFlightDiagnostic warning = emitWarning(first->value.getLoc());
    warning << "parameter '" << first->name << "'";
    if (others)
      warning << " and " << others << " more have";
    else
      warning << " has";
    warning << " type " << cast<RankedTensorType>(first->value.getType()).getElementType()
            << llvm::formatv(", and so has exp_avg_sq, which is 0 below {0:e2}: there 'optimizer.params.eps' {1:e2} alone divides, and the parameters are "
                             "soon not finite; take an eps of at least {2:e2}, SGD, or a model of f32 with 'fp16.enabled'",
                             least, double(epsilon), std::sqrt(least))
                   .str();
  }

  void appendUpdate(func::FuncOp micro, const MicroSignature &signature) {
    UpdateFunction update(micro);
    // What belongs to no parameter: norm, scale, loss.
    Location loc = NameLoc::get(StringAttr::get(&getContext(), "optimizer:" + optimizer));
    const bool isAdam = optimizer != "sgd", hasMomentum = !isAdam && momentum != 0.0;
    Type gradientElement = getGradientElement(), wide = Float32Type::get(&getContext());
    auto typeOf = [&](const TrainedParameter &parameter, RoleKind kind) -> Type {
      auto type = cast<RankedTensorType>(parameter.value.getType());
      if (kind == RoleKind::Gradient)
        return gradientElement ? type.clone(gradientElement) : type;
      return kind != RoleKind::Parameter && hasMaster(type) ? type.clone(wide) : type;
    };
    auto stateArguments = [&](RoleKind kind) {
      SmallVector<Value> values;
      for (const TrainedParameter &parameter : signature.parameters)
        values.push_back(kind == RoleKind::Master && !hasMaster(parameter.value.getType())
                             ? Value()
                             : update.argument(kind, parameter.name, typeOf(parameter, kind), parameter.value.getLoc()));
      return values;
    };
    OpBuilder builder = OpBuilder::atBlockEnd(update.body);
    SmallVector<Value> parameters = stateArguments(RoleKind::Parameter),
                       gradients = stateArguments(RoleKind::Gradient),
                       oldMasters = stateArguments(RoleKind::Master);
    SmallVector<Value> first, second;
    if (isAdam) {
      first = stateArguments(RoleKind::ExpAvg);
      second = stateArguments(RoleKind::ExpAvgSq);
    } else if (hasMomentum) {
      first = stateArguments(RoleKind::Momentum);
    }
    Type scalar = signature.lossType;
    Value lossSum = update.argument(RoleKind::LossSum, "", scalar, loc);
    Value count = update.argument(RoleKind::LabelCount, "", signature.countType, loc);
    Value rate =
        update.argument(RoleKind::LearningRate, "", scalar, loc, builder.getF64FloatAttr(learningRate));
    Value correction1, correction2;
    if (isAdam) {
      correction1 =
          update.argument(RoleKind::BiasCorrection1, "", scalar, loc, builder.getF64FloatAttr(beta1));
      correction2 =
          update.argument(RoleKind::BiasCorrection2, "", scalar, loc, builder.getF64FloatAttr(beta2));
    }

    // What `--on-nan` sets; held back unless it is told otherwise.
    Value skipNonFinite = update.argument(RoleKind::SkipNonFinite, "", scalar, loc, builder.getF64FloatAttr(1.0));

    LossScaleStates scaling;
    const bool isDynamic = signature.lossScaleType && lossScaleWindow != 0;
    if (signature.lossScaleType)
      scaling.scale = update.argument(RoleKind::LossScale, "", signature.lossScaleType, loc, f64(lossScale));
    if (isDynamic) {
      auto counter = RankedTensorType::get({}, builder.getI64Type());
      scaling.windowSteps =
          update.argument(RoleKind::ScaleWindowSteps, "", counter, loc, builder.getI64IntegerAttr(0));
      scaling.hysteresis =
          update.argument(RoleKind::ScaleHysteresis, "", counter, loc, builder.getI64IntegerAttr(hysteresis));
    }

    TensorBuilder b(builder, loc);
    auto scalarType = cast<RankedTensorType>(scalar);
    double divisor = double(lossDivisor) * double(signature.positions);
    Value factor = b.div(b.splat(scalarType, divisor), b.cast(count, scalarType.getElementType()));
    // Gradients carry the loss scale, the sum of losses does not.
    Value unscaled = scaling.scale ? b.div(factor, scaling.scale) : factor;
    Value norm = b.mul(GlobalNormOp::create(builder, loc, scalar, gradients).getResult(), unscaled);
    Value loss = b.mul(lossSum, factor);
    Value scale = unscaled;
    if (gradientClipping > 0.0) {
      Value ratio = b.div(b.splat(scalarType, gradientClipping), b.add(norm, 1e-6));
      scale = b.mul(unscaled, b.binary<MinOp>(ratio, b.splat(scalarType, 1.0)));
    }

    // |x| < infinity is false for NaN as well. Both numbers are the same on all ranks, and so is the flag.
    auto isFinite = [&](Value x) {
      return b.compare(ComparePredicate::lt, b.unary<AbsOp>(x), std::numeric_limits<double>::infinity());
    };
    Value finite = b.binary<AndOp>(isFinite(loss), isFinite(norm));
    Value skip = b.select(finite, b.zerosLike(skipNonFinite), skipNonFinite);

    SmallVector<Value> newParameters, newMasters, newFirst, newSecond;
    for (auto [i, parameter] : llvm::enumerate(signature.parameters)) {
      Type type = parameter.value.getType(), stateType = typeOf(parameter, RoleKind::ExpAvg);
      Type masterType = oldMasters[i] ? stateType : Type();
      Location at = parameter.value.getLoc();
      if (isAdam) {
        auto op = AdamOp::create(builder, at, type, masterType, stateType, stateType, parameters[i], gradients[i],
                                 oldMasters[i], first[i], second[i], scale, rate, correction1, correction2, skip, f64(beta1),
                                 f64(beta2), f64(epsilon), f64(weightDecay), unit(optimizer == "adamw"));
        newFirst.push_back(op.getNewExpAvg());
        newSecond.push_back(op.getNewExpAvgSq());
        newParameters.push_back(op.getNewParameter());
        newMasters.push_back(op.getNewMaster());
      } else {
        auto op = SgdOp::create(builder, at, type, masterType, hasMomentum ? stateType : Type(), parameters[i],
                                gradients[i], oldMasters[i], hasMomentum ? first[i] : Value(), scale, rate, skip, f64(momentum),
                                f64(weightDecay), unit(nesterov));
        newParameters.push_back(op.getNewParameter());
        newMasters.push_back(op.getNewMaster());
        if (hasMomentum)
          newFirst.push_back(op.getNewMomentumBuffer());
      }
    }
    auto stateResults = [&](RoleKind kind, ArrayRef<Value> values) {
      for (auto [parameter, value] : llvm::zip(signature.parameters, values))
        if (value)
          update.result(kind, parameter.name, value);
    };
    stateResults(RoleKind::Parameter, newParameters);
    stateResults(RoleKind::Master, newMasters);
    stateResults(isAdam ? RoleKind::ExpAvg : RoleKind::Momentum, newFirst);
    stateResults(RoleKind::ExpAvgSq, newSecond);
    update.result(RoleKind::Loss, "", loss);
    update.result(RoleKind::GradNorm, "", norm);
    update.result(RoleKind::Skipped, "", skip);
    if (isDynamic) {
      LossScaleRule rule{lossScaleWindow, hysteresis, consecutiveHysteresis, minLossScale};
      LossScaleStates next = updateLossScale(b, rule, scaling, finite);
      update.result(RoleKind::LossScale, "", next.scale);
      update.result(RoleKind::ScaleWindowSteps, "", next.windowSteps);
      update.result(RoleKind::ScaleHysteresis, "", next.hysteresis);
    }
    update.finish(builder);
    getOperation().insert(std::next(Block::iterator(micro)), update.function);
  }

  FloatAttr f64(double value) { return FloatAttr::get(Float64Type::get(&getContext()), value); }
  UnitAttr unit(bool set) { return set ? UnitAttr::get(&getContext()) : UnitAttr(); }
};

} // namespace
} // namespace zero

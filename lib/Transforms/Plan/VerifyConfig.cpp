//===- VerifyConfig.cpp - The part of plan-verify about the configuration ---===//
#include "VerifyConfig.h"
#include "dialects/Plan/PlanOps.h"
#include "zero/Analysis/PlanMemory.h"
#include "zero/Runtime/Base/NumberText.h"

using namespace mlir;

namespace zero {
namespace {

/// A number, whether it is written as an integer or not.
std::optional<double> getNumber(Attribute attribute) {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute))
    return static_cast<double>(integer.getInt());
  if (auto real = dyn_cast_or_null<FloatAttr>(attribute))
    return real.getValueAsDouble();
  return std::nullopt;
}

class ConfigVerifier {
public:
  ConfigVerifier(ModuleOp module, DictionaryAttr config) : module(module), config(config) {}

  LogicalResult run() {
    const int64_t ranks = getWorldSize(module);
    if (auto recorded = config.getAs<IntegerAttr>("world_size"); recorded && recorded.getInt() != ranks)
      return module.emitError() << "the plan is for " << ranks << " ranks, its configuration for world_size " << recorded.getInt();
    return success(succeeded(checkTarget()) && succeeded(checkMicroBatches()) && succeeded(checkInputs()) && succeeded(checkScalars()));
  }

private:
  LogicalResult checkTarget() {
    auto allowed = config.getAs<BoolAttr>("allow_tf32");
    const bool isAllowed = allowed && allowed.getValue(), has = module->hasAttr(plan::kTf32AttrName);
    if (isAllowed == has)
      return success();
    return module.emitError() << "the plan " << (has ? "has" : "has no") << " '" << plan::kTf32AttrName << "', but its configuration says allow_tf32 "
                              << (isAllowed ? "true" : "false");
  }

  /// How many there are is said by the configuration alone, but whether there are several by the sections, too.
  LogicalResult checkMicroBatches() {
    auto steps = config.getAs<IntegerAttr>("gradient_accumulation_steps");
    auto first = module.lookupSymbol<plan::SectionOp>("micro_first"), next = module.lookupSymbol<plan::SectionOp>("micro_next");
    if (!steps || !first || (steps.getInt() > 1) == bool(next))
      return success();
    if (next)
      return next.emitError() << "section @micro_next runs for the micro-batches after the first, but the configuration says "
                                 "gradient_accumulation_steps "
                              << steps.getInt();
    return first.emitError() << "no section @micro_next follows, but the configuration says gradient_accumulation_steps " << steps.getInt()
                             << "; zero-to-plan makes one where a step has several micro-batches";
  }

  LogicalResult checkInputs() {
    auto batch = config.getAs<IntegerAttr>("train_micro_batch_size_per_gpu");
    for (auto input : module.getOps<plan::InputOp>()) {
      auto type = dyn_cast<RankedTensorType>(input.getType());
      if (!batch || !type || input.getUnbatched())
        continue;
      if (type.getRank() == 0 || type.getDimSize(0) != batch.getInt())
        return input.emitError() << "input '" << input.getName() << "' is " << type
                                 << ", but the configuration says train_micro_batch_size_per_gpu " << batch.getInt();
    }
    return success();
  }

  LogicalResult checkScalars() {
    auto optimizer = config.getAs<DictionaryAttr>("optimizer");
    auto params = optimizer ? optimizer.getAs<DictionaryAttr>("params") : DictionaryAttr();
    if (!params)
      return success();
    auto betas = params.getAs<ArrayAttr>("betas");
    auto getBeta = [&](size_t index) { return betas && betas.size() > index ? betas[index] : Attribute(); };
    for (auto scalar : module.getOps<plan::StepScalarOp>()) {
      auto [key, attribute] = llvm::StringSwitch<std::pair<StringRef, Attribute>>(scalar.getKind())
                                  .Case("learning_rate", {"lr", params.get("lr")})
                                  .Case("bias_correction1", {"betas[0]", getBeta(0)})
                                  .Case("bias_correction2", {"betas[1]", getBeta(1)})
                                  .Default({"", Attribute()});
      std::optional<double> number = getNumber(attribute);
      if (number && *number != scalar.getValue().convertToDouble())
        return scalar.emitError() << "step scalar '" << scalar.getKind() << "' is made of " << shortestText(scalar.getValue().convertToDouble())
                                  << ", but the configuration says optimizer.params." << key << " " << shortestText(*number);
    }
    return success();
  }

  ModuleOp module;
  DictionaryAttr config;
};

} // namespace

LogicalResult verifyConfig(ModuleOp module) {
  auto config = module->getAttrOfType<DictionaryAttr>("zero.config");
  return config ? ConfigVerifier(module, config).run() : success();
}

} // namespace zero

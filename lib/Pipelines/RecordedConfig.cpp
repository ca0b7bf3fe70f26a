//===- RecordedConfig.cpp - The configuration as a module attribute -------===//
#include "zero/Pipelines/Pipelines.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Analysis/ConfigAttribute.h"
#include "zero/Analysis/ForwardOnly.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace zero {

static Attribute toAttribute(Builder &builder, const llvm::json::Value &value) {
  if (const llvm::json::Object *object = value.getAsObject()) {
    SmallVector<NamedAttribute> entries;
    for (const auto &entry : *object)
      entries.push_back(builder.getNamedAttr(entry.first.str(), toAttribute(builder, entry.second)));
    return builder.getDictionaryAttr(entries);
  }
  if (const llvm::json::Array *array = value.getAsArray()) {
    SmallVector<Attribute> elements;
    for (const llvm::json::Value &element : *array)
      elements.push_back(toAttribute(builder, element));
    return builder.getArrayAttr(elements);
  }
  if (std::optional<bool> flag = value.getAsBoolean())
    return builder.getBoolAttr(*flag);
  if (std::optional<int64_t> integer = value.getAsInteger())
    return builder.getI64IntegerAttr(*integer);
  if (std::optional<double> number = value.getAsNumber())
    return builder.getF64FloatAttr(*number);
  return builder.getStringAttr(value.getAsString().value_or(""));
}

void recordConfig(ModuleOp module, const TrainingConfig &config) {
  Builder builder(module.getContext());
  module->setAttr(kConfigAttrName, toAttribute(builder, config.toJSON()));
}

/// The configuration recorded in `module`, if there is one.
static FailureOr<std::optional<TrainingConfig>> readRecorded(ModuleOp module) {
  auto recorded = module->getAttrOfType<DictionaryAttr>(kConfigAttrName);
  if (!recorded)
    return std::optional<TrainingConfig>();
  llvm::json::Value json = convertToJSON(recorded);
  std::optional<int64_t> worldSize = json.getAsObject()->getInteger("world_size");
  json.getAsObject()->erase("world_size");
  std::string text;
  llvm::raw_string_ostream(text) << json;
  llvm::Expected<TrainingConfig> config = TrainingConfig::parse(text);
  if (!config)
    return module.emitError("'zero.config' is not a configuration: ") << llvm::toString(config.takeError());
  if (!worldSize)
    return module.emitError("'zero.config' has no 'world_size'");
  config->worldSize = *worldSize;
  return std::optional<TrainingConfig>(*config);
}

/// An error where a key that the request gives differs from the recorded one.
static LogicalResult checkAgainstRecorded(ModuleOp module, const PipelineRequest &request, const TrainingConfig &recorded) {
  auto contradiction = [&](const Twine &what, const Twine &asked, const Twine &has) {
    return module.emitError() << what << " is " << asked << " but the module was compiled with " << has << " (its 'zero.config')";
  };
  if (request.stage && *request.stage != recorded.stage)
    return contradiction("--zero-stage", Twine(*request.stage), Twine(recorded.stage));
  if (request.worldSize && *request.worldSize != recorded.worldSize)
    return contradiction("--world-size", Twine(*request.worldSize), Twine(recorded.worldSize));
  if (request.prefetch && recorded.prefetchElements == 0)
    return contradiction("--prefetch", "given", "'stage3_prefetch_bucket_size' 0");
  llvm::json::Object recordedJSON = recorded.toJSON(), askedJSON = request.config.toJSON();
  for (const auto &entry : request.config.given) {
    SmallVector<StringRef> path;
    entry.getKey().split(path, '.');
    const llvm::json::Object *asked = &askedJSON, *has = &recordedJSON;
    for (StringRef part : ArrayRef(path).drop_back()) {
      asked = asked->getObject(part);
      has = has->getObject(part);
    }
    const llvm::json::Value *askedValue = asked->get(path.back()), *hasValue = has->get(path.back());
    std::string askedText, hasText = "nothing";
    if (askedValue)
      llvm::raw_string_ostream(askedText) << *askedValue;
    if (hasValue) {
      hasText.clear();
      llvm::raw_string_ostream(hasText) << *hasValue;
    }
    if (askedText != hasText)
      return contradiction("'" + entry.getKey() + "'", askedText, hasText);
  }
  return success();
}

/// What zero-opt plans for where nothing says how many ranks there are; zero-compile asks instead.
static constexpr int64_t kAssumedWorldSize = 8;

/// Whether an input of @forward is as long as the micro-batch says.
static bool hasBatch(ModuleOp module) {
  auto forward = module.lookupSymbol<mlir::func::FuncOp>("forward");
  return !forward || llvm::any_of(forward.getArgumentTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() > 0 && tensor.isDynamicDim(0);
  });
}

FailureOr<TrainingConfig> resolveConfig(ModuleOp module, const PipelineRequest &request) {
  FailureOr<std::optional<TrainingConfig>> recorded = readRecorded(module);
  if (failed(recorded))
    return failure();
  if (*recorded) {
    if (failed(checkAgainstRecorded(module, request, **recorded)))
      return failure();
    return **recorded;
  }

  TrainingConfig config = request.config;
  // What is for training alone has no say where nothing is trained: no need to speak of it.
  const bool trains = !isForwardOnly(module);
  auto report = [&](llvm::Error error) -> LogicalResult {
    if (!error)
      return success();
    // What keys of the file contradict stands there, not in the model.
    Location place = module.getLoc();
    std::string text;
    llvm::handleAllErrors(
        std::move(error),
        [&](const ConfigError &found) {
          text = found.message();
          if (std::optional<KeyPlace> key = config.find(found); key && !config.file.empty())
            place = FileLineColLoc::get(module.getContext(), config.file, key->line, key->column);
        },
        [&](const llvm::ErrorInfoBase &found) { text = found.message(); });
    return mlir::emitError(place) << text;
  };
  auto assume = [&](const Twine &what) {
    mlir::emitRemark(module.getLoc()) << "assuming " << what;
  };
  if (request.target.tf32)
    config.allowTf32 = true;
  if (config.allowTf32 && request.target.target != Target::Cuda)
    return report(llvm::make_error<ConfigError>(std::vector<std::string>{"allow_tf32"}, "'allow_tf32' is true, which is of target cuda, but the program is for cpu"));
  if (request.stage)
    config.stage = *request.stage;
  else if (!config.isGiven("zero_optimization.stage") && trains)
    assume("zero_optimization.stage " + Twine(config.stage));

  std::optional<int64_t> meshSize;
  for (auto mesh : module.getOps<sharding::MeshOp>())
    meshSize = mesh.getSize();
  if (request.worldSize) {
    if (meshSize && *meshSize != *request.worldSize)
      return module.emitError() << "--world-size is " << *request.worldSize << " but the module's mesh has " << *meshSize << " ranks";
    config.worldSize = *request.worldSize;
  } else if (meshSize) {
    config.worldSize = *meshSize;
  } else if (!trains) {
    config.worldSize = 1;
  } else {
    config.worldSize = kAssumedWorldSize;
    assume("a world size of " + Twine(config.worldSize));
  }

  bool batchGiven = config.trainBatch != 0;
  bool microGiven = config.microBatch != 0, accumulationGiven = config.accumulationSteps != 0;
  if (request.prefetch && failed(report(config.enablePrefetch())))
    return failure();
  if (failed(report(config.resolve())))
    return failure();
  if (!microGiven && !batchGiven && (trains || hasBatch(module)))
    assume("train_micro_batch_size_per_gpu " + Twine(config.microBatch));
  if (!trains)
    return config;
  if (!accumulationGiven && !(batchGiven && microGiven))
    assume("gradient_accumulation_steps " + Twine(config.accumulationSteps));
  std::string rate;
  llvm::raw_string_ostream(rate) << llvm::json::Value(config.learningRate);
  if (!config.isGiven("optimizer.type"))
    assume("optimizer AdamW with lr " + rate);
  else if (!config.isGiven("optimizer.params.lr"))
    assume("optimizer.params.lr " + rate);
  return config;
}

} // namespace zero

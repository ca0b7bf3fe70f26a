//===- ResolveConfig.cpp - What follows from several keys together --------===//
#include "ConfigKeys.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cmath>
#include <limits>

using llvm::Error;

namespace zero {

template <typename... Args> static Error fail(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), llvm::formatv(format, std::forward<Args>(args)...).str());
}

int64_t TrainingConfig::bucketElements() const { return std::min(reduceBucketElements, allgatherBucketElements); }

std::string TrainingConfig::optimizerName() const {
  if (optimizerType == "SGD")
    return "sgd";
  // adam_w_mode is a parameter of DeepSpeed's Adam; torch's AdamW has none.
  return optimizerType == "Adam" && !adamWMode ? "adam" : "adamw";
}

std::string TrainingConfig::mixedElement() const { return bf16 ? "bf16" : fp16 ? "f16" : ""; }

/// DeepSpeed's name of a type as MLIR spells it.
static std::string toElement(llvm::StringRef name) { return name == "fp32" ? "f32" : name == "fp16" ? "f16" : name.str(); }

std::string TrainingConfig::wireElement() const { return toElement(communicationType); }
std::string TrainingConfig::gradientElement() const { return toElement(gradientAccumulationType); }

double TrainingConfig::initialLossScale() const { return lossScale != 0 ? lossScale : std::ldexp(1.0, initialScalePower); }

/// Types that follow from each other.
static Error checkPrecision(const TrainingConfig &c) {
  if (c.bf16 && c.fp16)
    return failAt({"bf16.enabled"}, "'bf16.enabled' and 'fp16.enabled' are both true; parameters have one type");
  if (c.autoCast)
    return failAt({"fp16.auto_cast"}, "'fp16.auto_cast' is true, but inputs are always cast where they are used");
  llvm::StringRef parameters = c.bf16 ? "bf16" : c.fp16 ? "fp16" : "fp32", gradients = c.gradientAccumulationType;
  if (!gradients.empty() && gradients != parameters && gradients != "fp32")
    return failAt({"data_types.grad_accum_dtype"},
                  "'data_types.grad_accum_dtype' is {0} but parameters are {1}; expected {1}{2}", gradients, parameters,
                  parameters == "fp32" ? "" : " or fp32");
  return Error::success();
}

/// The loss is multiplied by the scale and gradients by its inverse, both of float32: a subnormal scale has none, and a dynamic scale that
/// starts below its least would grow where gradients overflow.
static Error checkLossScale(const TrainingConfig &c) {
  if (!c.fp16)
    return Error::success();
  using llvm::json::Value;
  constexpr double smallest = std::numeric_limits<float>::min();
  if (c.lossScale != 0 && c.lossScale < smallest)
    return failAt({"fp16.loss_scale"},
                  "'fp16.loss_scale' is {0} but must be 0, a dynamic scale, or at least {1}", Value(c.lossScale), Value(smallest));
  if (c.lossScale == 0 && c.initialLossScale() < c.minLossScale)
    return failAt({"fp16.initial_scale_power", "fp16.min_loss_scale"},
                  "'fp16.initial_scale_power' is {0} but 'fp16.min_loss_scale' is {1}: the loss scale would start at {2}, below its least",
                  c.initialScalePower, Value(c.minLossScale), Value(c.initialLossScale()));
  return Error::success();
}

static constexpr int64_t kMaxWorldSize = 65536;
static std::vector<std::string> batchKeys() { return {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"}; }

/// trainBatch = microBatch x accumulationSteps x worldSize: two given keys fix the third, one alone takes 1 for the other.
static Error resolveBatch(TrainingConfig &c) {
  bool train = c.trainBatch != 0, micro = c.microBatch != 0, accumulation = c.accumulationSteps != 0;
  auto divide = [&](int64_t divisor, const char *divisorName, int64_t &target) -> Error {
    if (c.trainBatch % divisor != 0)
      return failAt(batchKeys(), "train_batch_size {0} is not divisible by {1} = {2}", c.trainBatch, divisorName, divisor);
    target = c.trainBatch / divisor;
    return Error::success();
  };
  if (train && micro && !accumulation) {
    if (Error error = divide(c.microBatch * c.worldSize, "train_micro_batch_size_per_gpu x world size", c.accumulationSteps))
      return error;
  } else if (train && !micro && accumulation) {
    if (Error error = divide(c.accumulationSteps * c.worldSize, "gradient_accumulation_steps x world size", c.microBatch))
      return error;
  } else if (train && !micro) {
    c.accumulationSteps = 1;
    if (Error error = divide(c.worldSize, "world size", c.microBatch))
      return error;
  }
  if (!c.microBatch)
    c.microBatch = 1;
  if (!c.accumulationSteps)
    c.accumulationSteps = 1;
  int64_t product = 0;
  if (__builtin_mul_overflow(c.microBatch, c.accumulationSteps, &product) || __builtin_mul_overflow(product, c.worldSize, &product))
    return failAt({"train_micro_batch_size_per_gpu", "gradient_accumulation_steps"},
                  "train_micro_batch_size_per_gpu {0} x gradient_accumulation_steps {1} x world size {2} exceeds 64 bits", c.microBatch,
                  c.accumulationSteps, c.worldSize);
  if (train && c.trainBatch != product)
    return failAt(batchKeys(),
                  "train_batch_size {0} is not train_micro_batch_size_per_gpu {1} x gradient_accumulation_steps {2} x world size {3} = {4}",
                  c.trainBatch, c.microBatch, c.accumulationSteps, c.worldSize, product);
  c.trainBatch = product;
  return Error::success();
}

Error TrainingConfig::resolve() {
  if (worldSize < 1)
    return fail("the world size is {0} but must be at least 1", worldSize);
  // Weights are laid out for each rank while compiling: a slip of the finger must not fill the disk.
  if (worldSize > kMaxWorldSize)
    return fail("the world size is {0} but must be at most {1}", worldSize, kMaxWorldSize);
  if (Error error = resolveBatch(*this))
    return error;
  if (Error error = checkPrecision(*this))
    return error;
  if (Error error = checkLossScale(*this))
    return error;
  if (!contiguousGradients)
    return failAt({"zero_optimization.contiguous_gradients"},
                  "'zero_optimization.contiguous_gradients' is false, but gradients always lie in flat buckets");
  if (reduceAt == "step" && stage >= 2)
    return failAt({"zero_optimization.reduce_at"},
                  "'zero_optimization.reduce_at' is \"step\" but stage {0} keeps only the owned range of gradients: it reduces each micro_batch",
                  stage);
  if (prefetchElements > 0 && !overlapComm)
    return failAt({"zero_optimization.stage3_prefetch_bucket_size", "zero_optimization.overlap_comm"},
                  "'zero_optimization.stage3_prefetch_bucket_size' is {0} but 'zero_optimization.overlap_comm' is false: nothing can be "
                  "gathered ahead",
                  prefetchElements);
  bool isSGD = optimizerType == "SGD";
  for (const char *name : {"betas", "eps", "adam_w_mode"})
    if (isSGD && isGiven((llvm::Twine("optimizer.params.") + name).str()))
      return failAt({std::string("optimizer.params.") + name}, "'optimizer.params.{0}' is given but the optimizer is SGD", name);
  for (const char *name : {"momentum", "nesterov"})
    if (!isSGD && isGiven((llvm::Twine("optimizer.params.") + name).str()))
      return failAt({std::string("optimizer.params.") + name}, "'optimizer.params.{0}' is given but the optimizer is {1}", name, optimizerType);
  if (optimizerType == "AdamW" && isGiven("optimizer.params.adam_w_mode") && !adamWMode)
    return failAt({"optimizer.params.adam_w_mode"}, "'optimizer.params.adam_w_mode' is false but the optimizer is AdamW; use type Adam");
  if (nesterov && momentum == 0)
    return failAt({"optimizer.params.nesterov"}, "'optimizer.params.nesterov' is true but 'optimizer.params.momentum' is 0");
  return Error::success();
}

Error TrainingConfig::enablePrefetch() {
  if (!overlapComm)
    return failAt({"zero_optimization.overlap_comm"},
                  "--prefetch is given but 'zero_optimization.overlap_comm' is false: nothing can be gathered ahead");
  if (!isGiven("zero_optimization.stage3_prefetch_bucket_size"))
    prefetchElements = 50000000;
  return Error::success();
}

llvm::json::Object TrainingConfig::toJSON() const {
  llvm::json::Object root;
  for (const ConfigKey &key : getConfigKeys()) {
    llvm::json::Object *section = &root;
    llvm::StringRef rest = key.path;
    while (rest.contains('.')) {
      auto [head, tail] = rest.split('.');
      llvm::json::Value &child = (*section)[head];
      if (!child.getAsObject())
        child = llvm::json::Object();
      section = child.getAsObject();
      rest = tail;
    }
    std::visit(
        [&](auto member) {
          if constexpr (std::is_same_v<decltype(member), ConfigKey::PairMember>)
            (*section)[rest] = llvm::json::Array{this->*member.first, this->*member.second};
          else if constexpr (std::is_same_v<decltype(member), ConfigKey::StringMember>) {
            if (!(this->*member).empty())
              (*section)[rest] = this->*member;
          } else
            (*section)[rest] = this->*member;
        },
        key.member);
  }
  root["world_size"] = worldSize;
  return root;
}

} // namespace zero

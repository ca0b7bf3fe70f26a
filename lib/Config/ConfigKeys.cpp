//===- ConfigKeys.cpp - Every configuration key, in one table -------------===//
#include "ConfigKeys.h"

namespace zero {

using C = TrainingConfig;

static constexpr llvm::StringRef kAsParameters = "the parameters' type";
static constexpr double kLargestScale = 1.7014118346046923e38;  // 2^127, the largest power of 2 in float32
static constexpr double kSmallestScale = 1.1754943508222875e-38;  // 2^-126, the smallest with an inverse there
static constexpr llvm::StringRef kFromBatchKeys = "from the other batch keys, else 1";

static const ConfigKey keys[] = {
    {"train_batch_size", &C::trainBatch, 1, 9e15, "",
     "samples of one step over all ranks: micro-batch x accumulation steps x world size", kFromBatchKeys},
    {"train_micro_batch_size_per_gpu", &C::microBatch, 1, 2147483647, "", "samples that one rank computes at once", kFromBatchKeys},
    {"gradient_accumulation_steps", &C::accumulationSteps, 1, 2147483647, "", "micro-batches of one step and rank", kFromBatchKeys},
    {"gradient_clipping", &C::gradientClipping, 0, 1e300, "",
     "largest global gradient norm; 0 is off (DeepSpeed 0.19's own default is 1.0)"},
    {"steps_per_print", &C::stepsPerPrint, 1, 9e15, "", "a line of progress in a log each so many steps"},
    {"optimizer.type", &C::optimizerType, 0, 0, "AdamW|Adam|SGD", "the optimizer"},
    {"optimizer.params.lr", &C::learningRate, 0, 1e300, "", "learning rate"},
    {"optimizer.params.betas", ConfigKey::PairMember{&C::beta1, &C::beta2}, 0, 0.9999999999, "",
     "decay of Adam's first and second moment"},
    {"optimizer.params.eps", &C::epsilon, 0, 1e300, "", "added to the root of Adam's second moment"},
    {"optimizer.params.weight_decay", &C::weightDecay, 0, 1e300, "", "weight decay"},
    {"optimizer.params.momentum", &C::momentum, 0, 1e300, "", "momentum of SGD"},
    {"optimizer.params.nesterov", &C::nesterov, 0, 1, "", "Nesterov momentum of SGD"},
    {"optimizer.params.adam_w_mode", &C::adamWMode, 0, 1, "",
     "decoupled weight decay for type Adam (true, as in DeepSpeed: Adam then is AdamW)"},
    {"zero_optimization.stage", &C::stage, 0, 3, "",
     "what is sharded: 0 nothing, 1 optimizer state, 2 and gradients, 3 and parameters"},
    {"zero_optimization.overlap_comm", &C::overlapComm, 0, 1, "",
     "let collectives run beside compute; false waits directly after each start"},
    {"zero_optimization.reduce_bucket_size", &C::reduceBucketElements, 1, 9e15, "",
     "elements of a bucket at most (the smaller of the two bucket sizes counts)"},
    {"zero_optimization.allgather_bucket_size", &C::allgatherBucketElements, 1, 9e15, "",
     "elements of a bucket at most (the smaller of the two bucket sizes counts)"},
    {"zero_optimization.stage3_prefetch_bucket_size", &C::prefetchElements, 0, 9e15, "",
     "elements of parameters that may be gathered ahead of their use; 0 is off, --prefetch sets 5e7"},
    {"zero_optimization.stage3_param_persistence_threshold", &C::persistenceThreshold, 0, 9e15, "",
     "parameters of fewer elements stay whole at stage 3 (DeepSpeed's default 1e5 would keep small models unsharded)"},
    {"zero_optimization.stage3_max_live_parameters", &C::maxLiveElements, 0, 9e15, "",
     "elements of gathered parameters that may be alive at once"},
    {"zero_optimization.contiguous_gradients", &C::contiguousGradients, 0, 1, "",
     "gradients lie in flat buckets; they always do here, false is an error"},
    {"zero_optimization.reduce_at", &C::reduceAt, 0, 0, "step|micro_batch",
     "when gradients are reduced over ranks; default micro_batch at stages 2 and 3, else step", "by stage"},
    {"bf16.enabled", &C::bf16, 0, 1, "",
     "mixed precision: parameters, activations and collectives of bfloat16; masters, optimizer state and sums of float32"},
    {"fp16.enabled", &C::fp16, 0, 1, "",
     "mixed precision of float16, with a loss scale; the other keys of fp16 count only with it"},
    {"fp16.loss_scale", &C::lossScale, 0, kLargestScale, "", "what the loss is multiplied by; 0 is a dynamic scale"},
    {"fp16.initial_scale_power", &C::initialScalePower, 0, 127, "", "a dynamic loss scale starts at 2 to the power of this"},
    {"fp16.loss_scale_window", &C::lossScaleWindow, 1, 9e15, "",
     "steps without overflow, the first after one left out, after which a dynamic loss scale doubles"},
    {"fp16.hysteresis", &C::hysteresis, 1, 9e15, "",
     "overflows until a dynamic loss scale halves; refilled when it doubles"},
    {"fp16.consecutive_hysteresis", &C::consecutiveHysteresis, 0, 1, "", "refill hysteresis after each step without overflow instead"},
    {"fp16.min_loss_scale", &C::minLossScale, kSmallestScale, kLargestScale, "", "a dynamic loss scale does not fall below this; an overflow there ends the job with --on-nan=stop"},
    {"fp16.auto_cast", &C::autoCast, 0, 1, "", "inputs are always cast where they are used; true is an error"},
    {"allow_tf32", &C::allowTf32, 0, 1, "",
     "with --target=cuda: products and convolutions of float32 may round their operands to TF32, 10 bits behind the first, as PyTorch's torch.backends.cuda.matmul.allow_tf32; --tf32 sets it"},
    {"communication_data_type", &C::communicationType, 0, 0, "fp32|fp16|bf16", "type in which gradients are sent", kAsParameters},
    {"data_types.grad_accum_dtype", &C::gradientAccumulationType, 0, 0,
     "fp32=torch.float32=float32=float|fp16=torch.float16=float16=half|bf16=torch.bfloat16=bfloat16",
     "type of reduced and of accumulated gradients: the parameters' or fp32", kAsParameters},
};

char ConfigError::ID;

llvm::ArrayRef<ConfigKey> getConfigKeys() { return keys; }

void printConfigKeys(llvm::raw_ostream &os) {
  const TrainingConfig defaults;
  os << "Keys of the configuration file (JSON, as DeepSpeed's); any other key is an error.\n\n";
  for (const ConfigKey &key : keys) {
    os << "  " << key.path << "\n      " << key.doc << "\n      default: ";
    std::visit(
        [&](auto member) {
          using Member = decltype(member);
          if (!key.defaultDoc.empty())
            os << key.defaultDoc;
          else if constexpr (std::is_same_v<Member, ConfigKey::PairMember>)
            os << "[" << llvm::json::Value(defaults.*member.first) << ", " << llvm::json::Value(defaults.*member.second) << "]";
          else if constexpr (std::is_same_v<Member, ConfigKey::StringMember>)
            os << defaults.*member;
          else if constexpr (std::is_same_v<Member, ConfigKey::IntegerMember>)
            os << std::to_string(defaults.*member);
          else
            os << llvm::json::Value(defaults.*member);
        },
        key.member);
    if (!key.choices.empty())
      os << "; one of " << key.choices;
    os << "\n";
  }
}

} // namespace zero

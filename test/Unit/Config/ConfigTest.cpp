//===- ConfigTest.cpp - Every key, every error of the configuration -------===//
#include "zero/Config/TrainingConfig.h"
#include "gtest/gtest.h"

using namespace zero;

static std::string parseError(llvm::StringRef json) {
  llvm::Expected<TrainingConfig> config = TrainingConfig::parse(json);
  return config ? "" : llvm::toString(config.takeError());
}

static std::string resolveError(llvm::StringRef json, int64_t worldSize) {
  llvm::Expected<TrainingConfig> config = TrainingConfig::parse(json);
  if (!config)
    return llvm::toString(config.takeError());
  config->worldSize = worldSize;
  llvm::Error error = config->resolve();
  return error ? llvm::toString(std::move(error)) : "";
}

static TrainingConfig resolved(llvm::StringRef json, int64_t worldSize) {
  TrainingConfig config = llvm::cantFail(TrainingConfig::parse(json));
  config.worldSize = worldSize;
  llvm::cantFail(config.resolve());
  return config;
}

TEST(Config, ReadsEveryKey) {
  TrainingConfig c = llvm::cantFail(TrainingConfig::parse(R"({
    "train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
    "gradient_clipping": 0.5, "steps_per_print": 100,
    "optimizer": {"type": "adam", "params": {"lr": 3e-4, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1, "momentum": 0.9,
                  "nesterov": true, "adam_w_mode": false}},
    "zero_optimization": {"stage": 3, "overlap_comm": false, "reduce_bucket_size": 1e8, "allgather_bucket_size": 2e8,
                  "stage3_prefetch_bucket_size": 5e7, "stage3_param_persistence_threshold": 1e5, "stage3_max_live_parameters": 1e9,
                  "contiguous_gradients": false, "reduce_at": "micro_batch"},
    "bf16": {"enabled": true},
    "fp16": {"enabled": true, "loss_scale": 1024, "initial_scale_power": 12, "loss_scale_window": 500, "hysteresis": 3,
             "consecutive_hysteresis": true, "min_loss_scale": 4, "auto_cast": true},
    "allow_tf32": true, "communication_data_type": "fp16", "data_types": {"grad_accum_dtype": "bf16"}})"));
  EXPECT_TRUE(c.allowTf32);
  EXPECT_EQ(c.trainBatch, 32);
  EXPECT_EQ(c.microBatch, 4);
  EXPECT_EQ(c.accumulationSteps, 2);
  EXPECT_EQ(c.gradientClipping, 0.5);
  EXPECT_EQ(c.stepsPerPrint, 100);
  EXPECT_EQ(c.optimizerType, "Adam");
  EXPECT_EQ(c.learningRate, 3e-4);
  EXPECT_EQ(c.beta1, 0.8);
  EXPECT_EQ(c.beta2, 0.95);
  EXPECT_EQ(c.epsilon, 1e-6);
  EXPECT_EQ(c.weightDecay, 0.1);
  EXPECT_EQ(c.momentum, 0.9);
  EXPECT_TRUE(c.nesterov);
  EXPECT_FALSE(c.adamWMode);
  EXPECT_EQ(c.stage, 3);
  EXPECT_FALSE(c.overlapComm);
  EXPECT_EQ(c.reduceBucketElements, 100000000);
  EXPECT_EQ(c.allgatherBucketElements, 200000000);
  EXPECT_EQ(c.bucketElements(), 100000000);
  EXPECT_EQ(c.prefetchElements, 50000000);
  EXPECT_EQ(c.persistenceThreshold, 100000);
  EXPECT_EQ(c.maxLiveElements, 1000000000);
  EXPECT_FALSE(c.contiguousGradients);
  EXPECT_EQ(c.reduceAt, "micro_batch");
  EXPECT_TRUE(c.bf16);
  EXPECT_TRUE(c.fp16);
  EXPECT_EQ(c.lossScale, 1024);
  EXPECT_EQ(c.initialScalePower, 12);
  EXPECT_EQ(c.lossScaleWindow, 500);
  EXPECT_EQ(c.hysteresis, 3);
  EXPECT_TRUE(c.consecutiveHysteresis);
  EXPECT_EQ(c.minLossScale, 4);
  EXPECT_TRUE(c.autoCast);
  EXPECT_EQ(c.wireElement(), "f16");
  EXPECT_EQ(c.gradientElement(), "bf16");
}

TEST(Config, Defaults) {
  TrainingConfig c = resolved("{}", 8);
  EXPECT_EQ(c.microBatch, 1);
  EXPECT_EQ(c.accumulationSteps, 1);
  EXPECT_EQ(c.trainBatch, 8);
  EXPECT_EQ(c.optimizerName(), "adamw");
  EXPECT_EQ(c.learningRate, 1e-3);
  EXPECT_EQ(c.beta1, 0.9);
  EXPECT_EQ(c.beta2, 0.999);
  EXPECT_EQ(c.epsilon, 1e-8);
  EXPECT_EQ(c.weightDecay, 0.0);
  EXPECT_EQ(c.momentum, 0.0);
  EXPECT_EQ(c.gradientClipping, 0.0);
  EXPECT_EQ(c.stage, 0);
  EXPECT_TRUE(c.overlapComm);
  EXPECT_EQ(c.prefetchElements, 0);
  EXPECT_EQ(c.persistenceThreshold, 0);
  EXPECT_EQ(c.bucketElements(), 500000000);
  EXPECT_FALSE(c.allowTf32);
  EXPECT_FALSE(c.bf16);
  EXPECT_FALSE(c.fp16);
  EXPECT_EQ(c.lossScale, 0);
  EXPECT_EQ(c.initialScalePower, 16);
  EXPECT_EQ(c.lossScaleWindow, 1000);
  EXPECT_EQ(c.hysteresis, 2);
  EXPECT_FALSE(c.consecutiveHysteresis);
  EXPECT_EQ(c.minLossScale, 1);
  EXPECT_EQ(c.mixedElement(), "");
  EXPECT_EQ(c.wireElement(), "");
  EXPECT_EQ(c.gradientElement(), "");
}

TEST(Config, Precision) {
  EXPECT_EQ(resolved(R"({"bf16": {"enabled": true}})", 1).mixedElement(), "bf16");
  TrainingConfig dynamic = resolved(R"({"fp16": {"enabled": true, "initial_scale_power": 8}})", 1);
  EXPECT_EQ(dynamic.mixedElement(), "f16");
  EXPECT_EQ(dynamic.initialLossScale(), 256);
  EXPECT_EQ(resolved(R"({"fp16": {"enabled": true, "loss_scale": 12.5}})", 1).initialLossScale(), 12.5);
  // As in DeepSpeed: without `enabled` the other keys have no effect.
  EXPECT_EQ(resolved(R"({"fp16": {"loss_scale": 8}})", 1).mixedElement(), "");
  for (const char *name : {"torch.float32", "float32", "FLOAT", "fp32"})
    EXPECT_EQ(resolved(std::string(R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": ")") + name + "\"}}", 1).gradientElement(), "f32");
  EXPECT_EQ(resolved(R"({"fp16": {"enabled": true}, "data_types": {"grad_accum_dtype": "half"}})", 1).gradientElement(), "f16");
  EXPECT_EQ(resolved(R"({"communication_data_type": "BF16"})", 1).wireElement(), "bf16");
}

TEST(Config, BatchKeysFixEachOther) {
  EXPECT_EQ(resolved(R"({"train_batch_size": 24, "train_micro_batch_size_per_gpu": 3})", 4).accumulationSteps, 2);
  EXPECT_EQ(resolved(R"({"train_batch_size": 24, "gradient_accumulation_steps": 2})", 4).microBatch, 3);
  EXPECT_EQ(resolved(R"({"train_batch_size": 24})", 4).microBatch, 6);
  EXPECT_EQ(resolved(R"({"train_micro_batch_size_per_gpu": 3})", 4).trainBatch, 12);
  EXPECT_EQ(resolveError(R"({"train_batch_size": 10})", 4), "train_batch_size 10 is not divisible by world size = 4");
  EXPECT_EQ(resolveError(R"({"train_batch_size": 10, "train_micro_batch_size_per_gpu": 3})", 2),
            "train_batch_size 10 is not divisible by train_micro_batch_size_per_gpu x world size = 6");
  EXPECT_EQ(resolveError(R"({"train_batch_size": 10, "gradient_accumulation_steps": 3})", 2),
            "train_batch_size 10 is not divisible by gradient_accumulation_steps x world size = 6");
  EXPECT_EQ(resolveError(R"({"train_batch_size": 24, "train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 1})", 4),
            "train_batch_size 24 is not train_micro_batch_size_per_gpu 3 x gradient_accumulation_steps 1 x world size 4 = 12");
  EXPECT_EQ(resolveError(R"({"train_micro_batch_size_per_gpu": 2e9, "gradient_accumulation_steps": 2e9})", 4),
            "train_micro_batch_size_per_gpu 2000000000 x gradient_accumulation_steps 2000000000 x world size 4 exceeds 64 bits");
  EXPECT_EQ(parseError(R"({"train_micro_batch_size_per_gpu": 9e15})"),
            "'train_micro_batch_size_per_gpu' is 9000000000000000 but must lie in [1, 2147483647]");
}

TEST(Config, UnknownKeysNameTheNearest) {
  EXPECT_EQ(parseError(R"({"train_batch": 1})"), "unknown key 'train_batch'; the nearest known one is 'train_batch_size'");
  EXPECT_EQ(parseError(R"({"zero_optimisation": {}})"), "unknown key 'zero_optimisation'; the nearest known one is 'zero_optimization'");
  EXPECT_EQ(parseError(R"({"zero_optimization": {"stge": 1}})"),
            "unknown key 'zero_optimization.stge'; the nearest known one is 'zero_optimization.stage'");
  EXPECT_EQ(parseError(R"({"stage": 1})"), "unknown key 'stage'; the nearest known one is 'zero_optimization.stage'");
  EXPECT_EQ(parseError(R"({"optimizer": {"params": {"learning_rate": 1}}})").substr(0, 44), "unknown key 'optimizer.params.learning_rate'");
  // Keys of DeepSpeed that mean nothing here are not taken for others.
  for (const char *key : {"scheduler", "wall_clock_breakdown", "zero_optimization.offload_optimizer", "zero_optimization.stage3_gather_16bit_weights_on_model_save"}) {
    auto [section, name] = llvm::StringRef(key).contains('.') ? llvm::StringRef(key).split('.') : std::pair<llvm::StringRef, llvm::StringRef>("", key);
    std::string text = "{\"" + name.str() + "\": {}}";
    EXPECT_EQ(parseError(section.empty() ? text : "{\"" + section.str() + "\": " + text + "}"),
              "unknown key '" + std::string(key) + "', and no known one is like it; zero-compile --help-config lists them");
  }
  // In a section that is not its own.
  auto nearest = [](std::string json) {
    std::string error = parseError(json);
    return error.substr(error.find("one is ") + 7);
  };
  EXPECT_EQ(nearest(R"({"zero_optimization": {"gradient_clipping": 1}})"), "'gradient_clipping'");
  EXPECT_EQ(nearest(R"({"zero_optimization": {"train_batch_size": 1}})"), "'train_batch_size'");
  EXPECT_EQ(nearest(R"({"zero_optimization": {"bf16": {"enabled": true}}})"), "'bf16'");
  EXPECT_EQ(nearest(R"({"zero_optimization": {"lr": 1}})"), "'optimizer.params.lr'");
  EXPECT_EQ(nearest(R"({"bf16": {"loss_scale": 1}})"), "'fp16.loss_scale'");
  EXPECT_EQ(nearest(R"({"bf16": {"hysteresis": 1}})"), "'fp16.hysteresis'");
  EXPECT_EQ(nearest(R"({"bf16": {"initial_scale_powr": 1}})"), "'fp16.initial_scale_power'");
  EXPECT_EQ(nearest(R"({"optimizer": {"lr": 1}})"), "'optimizer.params.lr'");
  EXPECT_EQ(nearest(R"({"optimizer": {"params": {"type": "SGD"}}})"), "'optimizer.type'");
  EXPECT_EQ(nearest(R"({"fp16": {"communication_data_type": "fp16"}})"), "'communication_data_type'");
}

TEST(Config, KeysStandOnce) {
  EXPECT_EQ(parseError(R"({"zero_optimization": {"stage": 3}, "zero_optimization": {"stage": 1}})"),
            "key 'zero_optimization' stands twice");
  EXPECT_EQ(parseError(R"({"optimizer": {"type": "SGD", "params": {"lr": 0.1, "lr": 0.2}}})"),
            "key 'optimizer.params.lr' stands twice");
  EXPECT_EQ(parseError(R"({"optimizer": {"type": "a\"}:{\"type"}})").find("stands twice"), std::string::npos);
}

TEST(Config, IsNotNestedWithoutEnd) {
  const std::string message = "objects and arrays lie in each other more than 256 deep";
  for (const char *level : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 100000; ++i)
      text += level;
    EXPECT_EQ(parseError(text), message);
  }
  EXPECT_EQ(parseError(std::string(256, '[') + std::string(256, ']')), "the configuration must be an object, is an array");
  // Brackets in names lie in nothing.
  EXPECT_NE(parseError("{\"" + std::string(300, '[') + "\\\"[\": 1}"), message);
}

TEST(Config, WrongTypesAndRanges) {
  EXPECT_EQ(parseError("[]"), "the configuration must be an object, is an array");
  EXPECT_EQ(parseError(R"({"optimizer": 1})"), "'optimizer' must be an object, is a number");
  EXPECT_EQ(parseError(R"({"steps_per_print": "x"})"), "'steps_per_print' must be an integer, is a string");
  EXPECT_EQ(parseError(R"({"steps_per_print": 1.5})"), "'steps_per_print' must be an integer, is 1.5");
  EXPECT_EQ(parseError(R"({"zero_optimization": {"stage": 4}})"), "'zero_optimization.stage' is 4 but must lie in [0, 3]");
  EXPECT_EQ(parseError(R"({"gradient_clipping": null})"), "'gradient_clipping' must be a number, is null");
  EXPECT_EQ(parseError(R"({"zero_optimization": {"overlap_comm": 1}})"), "'zero_optimization.overlap_comm' must be true or false, is a number");
  EXPECT_EQ(parseError(R"({"optimizer": {"params": {"betas": [0.9]}}})"), "'optimizer.params.betas' must be an array of 2 numbers, is one of 1");
  EXPECT_EQ(parseError(R"({"optimizer": {"type": 3}})"), "'optimizer.type' must be a string, is a number");
  EXPECT_EQ(parseError(R"({"optimizer": {"type": "Lion"}})"), "'optimizer.type' is \"Lion\" but must be one of AdamW|Adam|SGD");
  EXPECT_EQ(parseError(R"({"bf16": true})"), "'bf16' must be an object, is a boolean");
  EXPECT_EQ(parseError(R"({"fp16": {"enabled": "auto"}})"), "'fp16.enabled' must be true or false, is a string");
  EXPECT_EQ(parseError(R"({"fp16": {"loss_scale": -1}})"), "'fp16.loss_scale' is -1 but must lie in [0, 1.7014118346046923e+38]");
  EXPECT_EQ(parseError(R"({"fp16": {"hysteresis": 0}})"), "'fp16.hysteresis' is 0 but must lie in [1, 9000000000000000]");
  EXPECT_EQ(parseError(R"({"fp16": {"loss_scale_window": 0}})"), "'fp16.loss_scale_window' is 0 but must lie in [1, 9000000000000000]");
  EXPECT_EQ(parseError(R"({"fp16": {"initial_scale_power": 128}})"), "'fp16.initial_scale_power' is 128 but must lie in [0, 127]");
  EXPECT_EQ(parseError(R"({"fp16": {"min_loss_scale": 0}})"),
            "'fp16.min_loss_scale' is 0 but must lie in [1.1754943508222875e-38, 1.7014118346046923e+38]");
  EXPECT_EQ(parseError(R"({"communication_data_type": "float16"})"),
            "'communication_data_type' is \"float16\" but must be one of fp32|fp16|bf16");
  EXPECT_EQ(parseError(R"({"data_types": {"grad_accum_dtype": "int8"}})"),
            "'data_types.grad_accum_dtype' is \"int8\" but must be one of "
            "fp32=torch.float32=float32=float|fp16=torch.float16=float16=half|bf16=torch.bfloat16=bfloat16");
  EXPECT_EQ(parseError(R"({"bfp16": {"enabled": true}})"), "unknown key 'bfp16'; the nearest known one is 'bf16'");
  EXPECT_EQ(parseError(R"({"fp16": {"fp16_master_weights_and_grads": true}})").substr(0, 48),
            "unknown key 'fp16.fp16_master_weights_and_grads'");
  EXPECT_NE(parseError("{"), "");
  EXPECT_NE(llvm::toString(TrainingConfig::parseFile("/nonexistent.json").takeError()).find("cannot read '/nonexistent.json'"), std::string::npos);
}

TEST(Config, Contradictions) {
  EXPECT_EQ(resolveError(R"({"bf16": {"enabled": true}, "fp16": {"enabled": true}})", 1),
            "'bf16.enabled' and 'fp16.enabled' are both true; parameters have one type");
  EXPECT_EQ(resolveError(R"({"fp16": {"auto_cast": true}})", 1),
            "'fp16.auto_cast' is true, but inputs are always cast where they are used");
  EXPECT_EQ(resolveError(R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp16"}})", 1),
            "'data_types.grad_accum_dtype' is fp16 but parameters are bf16; expected bf16 or fp32");
  EXPECT_EQ(resolveError(R"({"data_types": {"grad_accum_dtype": "bf16"}})", 1),
            "'data_types.grad_accum_dtype' is bf16 but parameters are fp32; expected fp32");
  EXPECT_EQ(resolveError(R"({"fp16": {"enabled": true, "loss_scale": 7.3468396926392969e-40}})", 1),
            "'fp16.loss_scale' is 7.3468396926392969e-40 but must be 0, a dynamic scale, or at least 1.1754943508222875e-38");
  EXPECT_EQ(resolveError(R"({"fp16": {"enabled": true, "initial_scale_power": 3, "min_loss_scale": 9}})", 1),
            "'fp16.initial_scale_power' is 3 but 'fp16.min_loss_scale' is 9: the loss scale would start at 8, below its least");
  // A scale that starts at its least, and keys without effect.
  EXPECT_EQ(resolved(R"({"fp16": {"enabled": true, "initial_scale_power": 3, "min_loss_scale": 8}})", 1).initialLossScale(), 8);
  EXPECT_EQ(resolved(R"({"fp16": {"enabled": true, "loss_scale": 4, "min_loss_scale": 9}})", 1).initialLossScale(), 4);
  // As DeepSpeed takes it: any float.
  EXPECT_EQ(resolved(R"({"fp16": {"enabled": true, "min_loss_scale": 0.25}})", 1).minLossScale, 0.25);
  EXPECT_EQ(resolveError(R"({"fp16": {"enabled": true, "initial_scale_power": 0, "min_loss_scale": 1.5}})", 1),
            "'fp16.initial_scale_power' is 0 but 'fp16.min_loss_scale' is 1.5: the loss scale would start at 1, below its least");
  EXPECT_EQ(resolved(R"({"fp16": {"loss_scale": 1e-40, "min_loss_scale": 1000000}})", 1).mixedElement(), "");
  EXPECT_EQ(resolveError("{}", 0), "the world size is 0 but must be at least 1");
  EXPECT_EQ(resolveError("{}", 99999999999), "the world size is 99999999999 but must be at most 65536");
  EXPECT_EQ(resolveError(R"({"zero_optimization": {"contiguous_gradients": false}})", 1),
            "'zero_optimization.contiguous_gradients' is false, but gradients always lie in flat buckets");
  EXPECT_EQ(resolveError(R"({"zero_optimization": {"stage": 2, "reduce_at": "step"}})", 1),
            "'zero_optimization.reduce_at' is \"step\" but stage 2 keeps only the owned range of gradients: it reduces each micro_batch");
  EXPECT_EQ(resolveError(R"({"zero_optimization": {"stage3_prefetch_bucket_size": 9, "overlap_comm": false}})", 1),
            "'zero_optimization.stage3_prefetch_bucket_size' is 9 but 'zero_optimization.overlap_comm' is false: nothing can be gathered ahead");
  EXPECT_EQ(resolveError(R"({"optimizer": {"type": "SGD", "params": {"eps": 1e-8}}})", 1),
            "'optimizer.params.eps' is given but the optimizer is SGD");
  EXPECT_EQ(resolveError(R"({"optimizer": {"type": "AdamW", "params": {"momentum": 0.9}}})", 1),
            "'optimizer.params.momentum' is given but the optimizer is AdamW");
  EXPECT_EQ(resolveError(R"({"optimizer": {"type": "AdamW", "params": {"adam_w_mode": false}}})", 1),
            "'optimizer.params.adam_w_mode' is false but the optimizer is AdamW; use type Adam");
  EXPECT_EQ(resolveError(R"({"optimizer": {"type": "SGD", "params": {"nesterov": true}}})", 1),
            "'optimizer.params.nesterov' is true but 'optimizer.params.momentum' is 0");
  TrainingConfig c = llvm::cantFail(TrainingConfig::parse(R"({"zero_optimization": {"overlap_comm": false}})"));
  EXPECT_EQ(llvm::toString(c.enablePrefetch()),
            "--prefetch is given but 'zero_optimization.overlap_comm' is false: nothing can be gathered ahead");
}

TEST(Config, ErrorsKnowWhereTheirKeysStand) {
  TrainingConfig c = llvm::cantFail(TrainingConfig::parse("{\n  \"fp16\": {\"enabled\": true,\n    \"min_loss_scale\": 1e9}\n}"));
  c.worldSize = 1;
  llvm::handleAllErrors(c.resolve(), [&](const ConfigError &error) {
    // Of the two keys the one that is given.
    std::optional<KeyPlace> place = c.find(error);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->line, 3u);
    EXPECT_EQ(place->column, 5u);
  });
  // What no key says stands nowhere.
  c.worldSize = 0;
  llvm::Error ofFlag = c.resolve();
  EXPECT_FALSE(ofFlag.isA<ConfigError>());
  llvm::consumeError(std::move(ofFlag));
}

TEST(Config, Prefetch) {
  TrainingConfig c;
  llvm::cantFail(c.enablePrefetch());
  EXPECT_EQ(c.prefetchElements, 50000000);
  TrainingConfig own = llvm::cantFail(TrainingConfig::parse(R"({"zero_optimization": {"stage3_prefetch_bucket_size": 7}})"));
  llvm::cantFail(own.enablePrefetch());
  EXPECT_EQ(own.prefetchElements, 7);
}

TEST(Config, OptimizerNames) {
  EXPECT_EQ(resolved(R"({"optimizer": {"type": "Adam"}})", 1).optimizerName(), "adamw");
  EXPECT_EQ(resolved(R"({"optimizer": {"type": "Adam", "params": {"adam_w_mode": false}}})", 1).optimizerName(), "adam");
  EXPECT_EQ(resolved(R"({"optimizer": {"type": "SGD"}})", 1).optimizerName(), "sgd");
}

TEST(Config, EffectiveConfigurationReadsBack) {
  TrainingConfig c = resolved(R"({"train_batch_size": 32, "zero_optimization": {"stage": 3}})", 4);
  llvm::json::Object object = c.toJSON();
  EXPECT_EQ(object.getInteger("world_size"), 4);
  object.erase("world_size");
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  TrainingConfig back = llvm::cantFail(TrainingConfig::parse(text));
  EXPECT_EQ(back.microBatch, 8);
  EXPECT_EQ(back.stage, 3);
}

TEST(Config, EveryKeyIsDocumented) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printConfigKeys(os);
  for (const char *key : {"train_batch_size", "gradient_clipping", "zero_optimization.reduce_at", "optimizer.params.betas"})
    EXPECT_NE(text.find(key), std::string::npos) << key;
  EXPECT_NE(text.find("DeepSpeed 0.19's own default is 1.0"), std::string::npos);
}

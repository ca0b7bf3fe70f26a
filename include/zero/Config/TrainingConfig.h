//===- TrainingConfig.h - The DeepSpeed-shaped configuration of a job -----===//
//
// One table (lib/Config/ConfigKeys.cpp) holds every key with its type, default and documentation; the parser, the effective
// configuration, `zero-compile --help-config` and the tests all read that table.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_CONFIG_TRAININGCONFIG_H
#define ZERO_CONFIG_TRAININGCONFIG_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zero {

/// Where a key stands in its file, from 1.
struct KeyPlace {
  unsigned line = 0, column = 0;
};

/// What is wrong with a configuration, and the keys that it is about (dotted paths), the first of them first.
class ConfigError : public llvm::ErrorInfo<ConfigError> {
public:
  static char ID;
  ConfigError(std::vector<std::string> keys, std::string text) : keys(std::move(keys)), text(std::move(text)) {}
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  const std::vector<std::string> &getKeys() const { return keys; }

private:
  std::vector<std::string> keys;
  std::string text;
};

/// What one training job does. Sizes named *Elements count elements, as in DeepSpeed.
struct TrainingConfig {
  // Batch: trainBatch = microBatch x accumulationSteps x worldSize. 0 = not given, until `resolve`.
  int64_t trainBatch = 0;
  int64_t microBatch = 0;
  int64_t accumulationSteps = 0;
  int64_t worldSize = 0;

  double gradientClipping = 0.0;  ///< 0 is off
  int64_t stepsPerPrint = 10;

  std::string optimizerType = "AdamW";
  double learningRate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weightDecay = 0.0;
  double momentum = 0.0;
  bool nesterov = false;
  bool adamWMode = true;  ///< DeepSpeed's "Adam" is AdamW unless this is false

  int64_t stage = 0;
  bool overlapComm = true;
  int64_t reduceBucketElements = 500000000;
  int64_t allgatherBucketElements = 500000000;
  int64_t prefetchElements = 0;
  int64_t persistenceThreshold = 0;
  int64_t maxLiveElements = 1000000000;
  bool contiguousGradients = true;
  std::string reduceAt;  ///< "step", "micro_batch", or empty: as the stage says

  // Mixed precision: parameters of 16 bits beside float32 masters.
  bool bf16 = false, fp16 = false;
  double lossScale = 0.0;  ///< fp16; 0: dynamic, from 2^initialScalePower on
  int64_t initialScalePower = 16;
  int64_t lossScaleWindow = 1000;
  int64_t hysteresis = 2;
  bool consecutiveHysteresis = false;
  double minLossScale = 1.0;
  bool autoCast = false;
  std::string communicationType;       ///< "fp32", "fp16", "bf16", or empty: the parameters'
  std::string gradientAccumulationType;  ///< likewise

  bool allowTf32 = false;  ///< on GPUs: products and convolutions of float32 may round their operands to TF32

  /// The keys (dotted paths) that a file or a flag gave; everything else is assumed.
  llvm::StringSet<> given;
  /// The file that it was read from, and where its keys stand there; empty where it was read from none.
  std::string file;
  llvm::StringMap<KeyPlace> places;

  bool isGiven(llvm::StringRef path) const { return given.contains(path); }
  /// Elements of a bucket at most: the smaller of the two bucket sizes.
  int64_t bucketElements() const;
  /// adamw, adam or sgd: the optimizer after `adam_w_mode`.
  std::string optimizerName() const;
  /// The 16-bit element of mixed precision as MLIR spells it, "bf16" or "f16"; empty where parameters stay as they are.
  std::string mixedElement() const;
  /// Elements of gradients on the wire and in memory, likewise; empty: the parameters'.
  std::string wireElement() const;
  std::string gradientElement() const;
  /// What the loss scale of fp16 starts with.
  double initialLossScale() const;

  /// Reads a configuration; unknown keys (with the nearest known one), wrong types and values out of range are errors.
  static llvm::Expected<TrainingConfig> parse(llvm::StringRef json);
  static llvm::Expected<TrainingConfig> parseFile(llvm::StringRef path);
  /// Fixes what depends on several keys (batch sizes with `worldSize`, reduce_at, prefetch with overlap_comm, types). Contradictions are
  /// errors with all numbers: a ConfigError where keys contradict one another.
  llvm::Error resolve();
  /// Where in `file` the first of the error's keys stands that is there.
  std::optional<KeyPlace> find(const ConfigError &error) const;
  /// `--prefetch`: stage3_prefetch_bucket_size becomes 5e7 where it was not given. An error with overlap_comm: false.
  llvm::Error enablePrefetch();

  /// The effective configuration: every key of the table, and `world_size`.
  llvm::json::Object toJSON() const;
};

/// Prints every key with type, default and documentation.
void printConfigKeys(llvm::raw_ostream &os);

} // namespace zero

#endif

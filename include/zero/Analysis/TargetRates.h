//===- TargetRates.h - How fast a rank of a target is ---------------------===//
//
// Rates of one rank (on CPUs: of one core), from the table in lib/Analysis/TargetRates.inc or, calibrated, from a file that
// `zero-compile --calibrate` measured on a machine (Calibration.h).
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_TARGETRATES_H
#define ZERO_ANALYSIS_TARGETRATES_H

#include "zero/Analysis/CommandCost.h"
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace zero {

/// What a product of that shape was measured to reach.
struct ProductRate {
  ProductShape shape;
  double flopsPerSecond;
};

/// What another kernel was measured to reach: one rate is set, the other 0.
struct KernelRate {
  std::string kind;   ///< CommandCosts::getKind
  int64_t element = 0, length = 0; ///< of attention: its ElementType, its keys
  double flopsPerSecond = 0, bytesPerSecond = 0;
};

struct TargetRates {
  std::string target;
  /// The machine whose rates these are; empty: uncalibrated.
  std::string machine;
  double productFlopsPerSecond = 0, attentionFlopsPerSecond = 0, otherFlopsPerSecond = 0, memoryBytesPerSecond = 0;
  /// What a rank sends in a second to another one of the same machine, and what a command and a collective take at least.
  double wireBytesPerSecond = 0, commandSeconds = 0, collectiveSeconds = 0;
  bool computeBlocksSubmission = false;
  /// The link between ranks of different machines; 0: all are on one.
  double linkBytesPerSecond = 0;

  // Of a calibration, empty or 0 without one.
  std::vector<ProductRate> products;
  std::vector<KernelRate> kernels;
  /// One element of generated code, where it comes from the cache, by kind of arithmetic.
  std::array<double, kArithmeticKinds> elementSeconds = {};
  /// What a rank's collectives compute and copy is done by the core that computes.
  bool collectivesUseCore = false;

  bool isCalibrated() const { return !machine.empty(); }
  /// The rate of a product of that shape: that of the measured shapes, the nearer the more.
  double getProductRate(const ProductShape &shape) const;
  /// None where that kind was not measured. Of attention, the rate for that number of keys.
  std::optional<KernelRate> getKernelRate(llvm::StringRef kind, int64_t element, int64_t length) const;
};

/// The rates of a target ("cpu", "cuda"), uncalibrated.
const TargetRates &getTargetRates(llvm::StringRef target = "cpu");

} // namespace zero

#endif

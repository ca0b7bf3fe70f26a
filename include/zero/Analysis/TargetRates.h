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
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zero {

/// What a product of that shape was measured to reach.
struct ProductRate {
  ProductShape shape;
  double flopsPerSecond;
};

/// What another kernel or a collective was measured to reach: one rate is set, the other 0. Of collectives bytes are those sent.
struct KernelRate {
  /// CommandCosts::getKind, or kRowReductions, or kMessages.
  std::string kind;
  int64_t element = 0, length = 0; ///< as CommandCost has them
  double flopsPerSecond = 0, bytesPerSecond = 0;
  double seconds = 0; ///< what one takes at least, besides
};

/// Generated kernels that reduce over rows, by the bytes of a row.
inline constexpr llvm::StringLiteral kRowReductions = "row_reductions";
/// What a core has to do with messages of other machines, in bytes sent.
inline constexpr llvm::StringLiteral kMessages = "messages";

struct TargetRates {
  std::string target;
  /// The machine whose rates these are; empty: uncalibrated.
  std::string machine;
  double productFlopsPerSecond = 0, attentionFlopsPerSecond = 0, otherFlopsPerSecond = 0, memoryBytesPerSecond = 0;
  /// What a rank sends in a second to another one of the same machine, and what a command and a collective take at least.
  double wireBytesPerSecond = 0, commandSeconds = 0, collectiveSeconds = 0;
  bool computeBlocksSubmission = false;
  /// The link between ranks of different machines, with frames and headers; 0: all are on one.
  double linkBytesPerSecond = 0;

  // Of a calibration, empty or 0 without one.
  std::vector<ProductRate> products;
  std::vector<KernelRate> kernels;
  /// One element of generated code, where it comes from the cache, by kind of arithmetic.
  std::array<double, kArithmeticKinds> elementSeconds = {};
  /// What a rank's collectives compute and copy is done by the core that computes.
  bool collectivesUseCore = false;
  /// How much longer commands of a kind take where `sharedRanks` ranks of a machine compute at once.
  std::map<std::string, double> slowdowns;
  int64_t sharedRanks = 1;

  bool isCalibrated() const { return !machine.empty(); }
  /// The rate of a product of that shape: that of the measured shapes, the nearer the more.
  double getProductRate(const ProductShape &shape) const;
  /// None where that kind was not measured. Between two lengths that were, what lies between.
  std::optional<KernelRate> getKernelRate(llvm::StringRef kind, int64_t element, int64_t length) const;
  /// How much longer a command of that kind takes where `ranks` ranks compute: those of one machine share its memory. What computes is
  /// slowed down as products are, anything else that was not measured as an optimizer's step.
  double getSlowdown(llvm::StringRef kind, int64_t ranks) const;
};

/// The rates of a target ("cpu", "cuda"), uncalibrated.
const TargetRates &getTargetRates(llvm::StringRef target = "cpu");

} // namespace zero

#endif

//===- Calibration.h - Rates of a machine, measured -----------------------===//
//
// `zero-compile --calibrate` runs programs and gives what their commands cost and took to `fitRates`; what comes out is kept as JSON:
//
//   format "zero-calibration", format_version 2, target, machine
//   product_flops_per_second, attention_flops_per_second (medians), memory_bytes_per_second, wire_bytes_per_second, command_ns,
//   collective_ns, collectives_use_core, shared_ranks
//   products   element, m, n, k, transpose_lhs, transpose_rhs, flops_per_second
//   kernels    kind, element, length, flops_per_second or bytes_per_second, ns
//   elements_per_second   by kind of arithmetic
//   slowdowns  by kind of command, where shared_ranks ranks compute at once
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_CALIBRATION_H
#define ZERO_ANALYSIS_CALIBRATION_H

#include "zero/Analysis/TargetRates.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace zero {

/// A command, what it costs, and how long it took.
struct CommandSample {
  std::string kind;
  CommandCost cost;
  double seconds = 0;
  double sharedSeconds = 0; ///< beside ranks on all other cores; 0: not measured
};

/// The rates that samples of one machine show. Kernels of the library have a rate each; generated code one for each kind of
/// arithmetic (samples in which one kind besides `plain` is most of the work), one for what it streams (kind `update`) and, where it
/// reduces over rows, one by the bytes of a row; collectives a line over their bytes, each kind and type of its own; what messages take
/// of a core likewise (kind kMessages, `seconds` on the core). `sharedRanks` ranks computed at once for `sharedSeconds`. What no sample
/// shows stays as in the table.
TargetRates fitRates(llvm::ArrayRef<CommandSample> samples, llvm::StringRef machine, int64_t sharedRanks = 1);

void writeRates(const TargetRates &rates, llvm::raw_ostream &os);
/// The error says what is missing or no number; it does not name the file.
llvm::Expected<TargetRates> parseRates(llvm::StringRef json);

/// This machine, as its calibration is named: "AMD EPYC 9R14, x86-64-v4".
std::string describeMachine();
/// Where its calibration is kept: $XDG_CACHE_HOME/zero (or ~/.cache/zero)/calibration-MACHINE.json. Empty where there is no home.
std::string getCalibrationPath();

} // namespace zero

#endif

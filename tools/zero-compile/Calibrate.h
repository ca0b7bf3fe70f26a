//===- Calibrate.h - Measures this machine for the predicted times --------===//
//
// Compiles programs in this process and lets zero-run, which alone holds kernels and channels, run and trace them: what is measured is
// what every program does, and zero-compile stays free of the runtime.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TOOLS_ZERO_COMPILE_CALIBRATE_H
#define ZERO_TOOLS_ZERO_COMPILE_CALIBRATE_H

#include "zero/Analysis/TargetRates.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace zero {

/// Some seconds of one core, and of two ranks. `zeroRun`: the runtime's executable. What is measured is said on `os`.
llvm::Expected<TargetRates> calibrate(llvm::StringRef zeroRun, llvm::raw_ostream &os);

} // namespace zero

#endif

//===- CompileText.h - Kernels for a test, from their text ----------------===//
#ifndef ZERO_TEST_CUDA_SUPPORT_COMPILETEXT_H
#define ZERO_TEST_CUDA_SUPPORT_COMPILETEXT_H

#include "zero/Runtime/HAL/Stream.h"

namespace zero::test {

/// Compiles the prelude of generated sources, the files `texts` (paths from the root of the sources) and `lines` behind them by NVRTC, for
/// `device`, and loads that. Equivalent to: what zero-compile and zero-run do with a program's kernels.
Expected<std::unique_ptr<DeviceModule>> compileText(StreamDevice &device, const std::vector<std::string> &texts, const std::vector<std::string> &lines);

} // namespace zero::test

#endif

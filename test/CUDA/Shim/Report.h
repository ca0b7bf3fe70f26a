//===- Report.h - Settings and reports of the simulated driver ------------===//
#ifndef ZERO_TEST_CUDA_SHIM_REPORT_H
#define ZERO_TEST_CUDA_SHIM_REPORT_H

#include "test/CUDA/Shim/Streams.h"
#include <sstream>

namespace zero::shim {

/// Exit code of a process that a misuse ends.
inline constexpr int kMisuseExitCode = 86;

/// The value of an environment variable, empty where it is not set.
std::string setting(const char *name);
uint64_t numberSetting(const char *name, uint64_t absent);

/// Whether misuses end the process (ZERO_SHIM_ON_ERROR=exit, the default) or are returned as errors.
bool exitsOnMisuse();

/// Writes "simulated CUDA: CALL: TEXT" to stderr, in one piece.
void say(std::string_view call, std::string_view text);
/// As misuse, for what is found where nothing can be returned.
[[noreturn]] void endProcess(std::string_view call, std::string_view text);

template <typename... Parts> std::string text(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}
std::string hex(uint64_t number);
inline std::string hex(const void *address) { return hex(reinterpret_cast<uint64_t>(address)); }

} // namespace zero::shim

#endif

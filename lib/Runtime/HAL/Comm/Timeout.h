//===- Timeout.h - What is said when a peer does not come -----------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_TIMEOUT_H
#define ZERO_LIB_RUNTIME_HAL_COMM_TIMEOUT_H

#include <cstdio>
#include <string>

namespace zero {

/// "timed out after 60 s, still waiting for ", to be followed by the ranks.
inline std::string timeoutMessage(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "timed out after %g s, still waiting for ", seconds);
  return text;
}

} // namespace zero

#endif

//===- ProcessMemory.cpp - What the system holds in memory for this process ===//
#include "zero/Runtime/Base/ProcessMemory.h"
#include <fstream>
#include <string>

namespace zero {

uint64_t processBytes() {
  uint64_t bytes = 0;
  std::ifstream status("/proc/self/status");
  for (std::string key, rest; status >> key; std::getline(status, rest))
    if (uint64_t kibibytes; (key == "RssAnon:" || key == "RssShmem:") && status >> kibibytes)
      bytes += kibibytes * 1024;
  return bytes;
}

} // namespace zero

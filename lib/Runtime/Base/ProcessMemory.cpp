//===- ProcessMemory.cpp - What the system holds in memory for this process ===//
#include "zero/Runtime/Base/ProcessMemory.h"
#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unistd.h>

namespace zero {

/// Sum of those lines of /proc/self/status.
static uint64_t sumOf(std::initializer_list<std::string_view> lines) {
  uint64_t bytes = 0;
  std::ifstream status("/proc/self/status");
  for (std::string key, rest; status >> key; std::getline(status, rest))
    if (uint64_t kibibytes; std::find(lines.begin(), lines.end(), key) != lines.end() && status >> kibibytes)
      bytes += kibibytes * 1024;
  return bytes;
}

uint64_t processBytes() { return sumOf({"RssAnon:", "RssShmem:"}); }
uint64_t peakResidentBytes() { return sumOf({"VmHWM:"}); }

uint64_t residentBytes(const void *address, uint64_t size) {
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr uint64_t kPresent = uint64_t(1) << 63;
  std::array<uint64_t, 4096> entries; // one word for each page
  std::ifstream map("/proc/self/pagemap", std::ios::binary);
  map.seekg(static_cast<std::streamoff>(reinterpret_cast<uintptr_t>(address) / page * sizeof(uint64_t)));
  uint64_t bytes = 0;
  for (uint64_t left = size / page; left && map;) {
    uint64_t count = std::min<uint64_t>(left, entries.size());
    if (!map.read(reinterpret_cast<char *>(entries.data()), static_cast<std::streamsize>(count * sizeof(uint64_t))))
      break;
    bytes += page * static_cast<uint64_t>(std::count_if(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count),
                                                        [](uint64_t entry) { return (entry & kPresent) != 0; }));
    left -= count;
  }
  return bytes;
}

} // namespace zero

//===- SharedCheck.cpp - Finds unsynchronized accesses to shared memory ---===//
#include "test/CUDA/Shim/SharedCheck.h"
#include <algorithm>

namespace zero::shim {

void SharedCheck::beginBlock(unsigned threads) {
  ++interval;
  warps.assign((threads + 31) / 32, {});
}

void SharedCheck::meet(unsigned warp, unsigned mask) {
  Warp &lanes = warps[warp];
  std::array<uint64_t, 32> all = {};
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) {
      for (unsigned of = 0; of < 32; ++of)
        all[of] = std::max(all[of], lanes.known[lane][of]);
      // What it does from now on is later than what the others now know.
      all[lane] = ++lanes.clock[lane];
    }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      lanes.known[lane] = all;
}

bool SharedCheck::isOrdered(const Touch &before, unsigned thread) const {
  if (before.thread == thread)
    return true;
  if (before.thread / 32 != thread / 32)
    return false;
  return warps[thread / 32].known[thread % 32][before.thread % 32] > before.time;
}

bool SharedCheck::access(uint64_t byte, unsigned thread, bool isWrite, Race &race) {
  if (byte >= bytes.size())
    bytes.resize(byte + 1);
  Byte &at = bytes[byte];
  if (at.interval != interval) {
    at.interval = interval;
    at.written = false;
    at.readers.clear();
  }
  if (at.written && !isOrdered(at.writer, thread)) {
    race = {at.writer.thread, true};
    return true;
  }
  Touch touch{thread, warps[thread / 32].clock[thread % 32]};
  if (!isWrite) {
    if (at.readers.empty() || at.readers.back().thread != thread)
      at.readers.push_back(touch);
    else
      at.readers.back() = touch;
    return false;
  }
  for (const Touch &reader : at.readers)
    if (!isOrdered(reader, thread)) {
      race = {reader.thread, false};
      return true;
    }
  at.readers.clear();
  at.written = true;
  at.writer = touch;
  return false;
}

} // namespace zero::shim

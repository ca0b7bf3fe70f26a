//===- LinkRate.h - A link of a given rate that is only pretended ---------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_LINKRATE_H
#define ZERO_LIB_RUNTIME_HAL_COMM_LINKRATE_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace zero {

/// A token bucket: one direction of one rank's link. Equivalent to: tc's tbf with a burst of kBurstBytes.
class LinkRate {
public:
  using Clock = std::chrono::steady_clock;
  /// What goes through at once after a rest.
  static constexpr double kBurstBytes = 256 * 1024;

  explicit LinkRate(uint64_t bytesPerSecond) : bytesPerSecond(static_cast<double>(bytesPerSecond)) {}

  /// Takes `bytes`, behind all that were taken before; gives when they are through.
  Clock::time_point take(uint64_t bytes) {
    std::lock_guard lock(mutex);
    through = std::max(through, Clock::now() - seconds(kBurstBytes / bytesPerSecond)) + seconds(static_cast<double>(bytes) / bytesPerSecond);
    return through;
  }

private:
  static Clock::duration seconds(double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  }
  const double bytesPerSecond;
  std::mutex mutex;
  Clock::time_point through;
};

} // namespace zero

#endif

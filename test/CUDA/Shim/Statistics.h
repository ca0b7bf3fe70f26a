//===- Statistics.h - How a process used the simulated devices ------------===//
#ifndef ZERO_TEST_CUDA_SHIM_STATISTICS_H
#define ZERO_TEST_CUDA_SHIM_STATISTICS_H

#include <atomic>
#include <cstdint>

namespace zero::shim {

/// Counted for tests of what the host does to a device, which times cannot show here.
struct Statistics {
  std::atomic<uint64_t> graphLaunches = 0, graphLaunchesBehindWork = 0; ///< the latter while their stream had something to do
  std::atomic<uint64_t> hostFunctions = 0;   ///< that streams came to
  std::atomic<uint64_t> pageableUploads = 0, pageableDownloads = 0; ///< which the host waits for on a real device

  static Statistics &get();
  /// Appends a line of JSON to the file that ZERO_SHIM_STATISTICS names, where it names one.
  void write() const;
};

} // namespace zero::shim

#endif

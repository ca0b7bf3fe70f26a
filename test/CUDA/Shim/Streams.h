//===- Streams.h - How other simulated libraries put work on streams ------===//
//
// The simulated cuBLASLt and NCCL link libcuda.so.1 and enqueue their calls here: in stream order, captured and replayed as a kernel is,
// with device addresses checked and translated when the work runs.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_STREAMS_H
#define ZERO_TEST_CUDA_SHIM_STREAMS_H

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero::shim {

enum class Access { Read, Write };

/// Bytes of device memory that a call reads or writes. Where `bytes` is 0, `address` may be anything.
struct DeviceRange {
  const void *address = nullptr;
  uint64_t bytes = 0;
  Access access = Access::Read;
};

/// One call of a library.
struct StreamWork {
  /// For messages: "ncclAllGather".
  std::string name;
  /// Checked when the work is submitted and each time it runs: each must lie in live memory of the stream's device, whole.
  std::vector<DeviceRange> ranges;
  /// Runs on a thread of the stream. `memory`: of each range the same bytes as the host can address them, good until this returns
  /// (null where a range has no bytes). It may block until other ranks come, and must not call the driver. An error makes the context
  /// useless, as a failed kernel does. Called once for each replay of a graph.
  std::function<CUresult(std::span<std::byte *const> memory)> run;
};

/// cuLaunchKernel's errors: a stream that is none, was destroyed or belongs to another device; a range that is no device memory.
CUresult enqueue(CUstream stream, StreamWork work);

/// What submitting would say of one range of the calling thread's device: for calls that only register or look.
CUresult checkDeviceRange(const char *call, const DeviceRange &range);

/// Number of the device whose context is current on the calling thread; -1 where none is.
int currentDevice();
/// The number among all devices of the machine of what the process calls `device`.
int physicalDevice(int device);
/// Number of the device of a live stream; -1 for anything else.
int deviceOf(CUstream stream);

/// Memory that a library takes beside what its callers allocate: cuMemGetInfo's free bytes shrink by `bytes` (grow, where negative).
/// CUDA_ERROR_OUT_OF_MEMORY where there are fewer.
CUresult takeDeviceMemory(int device, int64_t bytes);

/// Memory that a library has been told of must not go before it is told that, too: `by` names who holds it, for messages.
void holdMemory(const void *address, uint64_t bytes, const std::string &by);
void releaseMemory(const void *address, uint64_t bytes);

/// A misuse of a simulated library, found: prints "simulated CUDA: CALL: TEXT" and ends the process with code 86; where
/// ZERO_SHIM_ON_ERROR=return, gives `code` back instead, for the call to return.
CUresult misuse(CUresult code, std::string_view call, const std::string &text);

/// Whether ZERO_SHIM_FAIL=CALL:NTH asks this call, the NTH one of the process by that name, to fail. `call` without the suffixes of
/// versions: "cuMemCreate". Asked once for each call.
bool injectedFailure(std::string_view call);

} // namespace zero::shim

#endif

//===- Stream.h - Devices that run what is put on their streams -----------===//
//
// What a device beyond the host's reach can do besides Device: load code, launch it, move bytes, replay what was captured. A stream is
// the device's own handle (CUDA: a CUstream), given by Queue::stream. Calls that take one return when the work is enqueued; errors of
// work itself come out of a later call. Equivalent to: the CUDA driver API.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_STREAM_H
#define ZERO_RUNTIME_HAL_STREAM_H

#include "zero/Runtime/HAL/Device.h"
#include <array>

namespace zero {

/// A function of a module. Equivalent to: a CUfunction.
class DeviceFunction {
public:
  virtual ~DeviceFunction() = default;
};

/// Code that was loaded. Equivalent to: a CUmodule.
class DeviceModule {
public:
  virtual ~DeviceModule() = default;
  /// Lives as long as the module. BadInput naming the symbol where there is none.
  virtual Expected<DeviceFunction *> find(const std::string &symbol) = 0;
};

struct LaunchShape {
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t sharedBytes = 0; ///< dynamic ones
};

/// Memory of the host that the device can copy from and to without waiting. Equivalent to: cuMemHostAlloc.
class PinnedMemory {
public:
  virtual ~PinnedMemory() = default;
  virtual std::byte *data() const = 0;
  virtual uint64_t size() const = 0;
};

/// What was captured from a stream, to be run again. Equivalent to: a CUgraphExec.
class StreamGraph {
public:
  virtual ~StreamGraph() = default;
  virtual Status launch(void *stream) = 0;
};

/// A point of time on a stream. Equivalent to: a CUDA event that keeps its time.
class TimeMark {
public:
  virtual ~TimeMark() = default;
  virtual Status record(void *stream) = 0;
  /// Seconds from `earlier`, a mark of the same device, to this one; both have been passed.
  virtual Expected<double> secondsSince(const TimeMark &earlier) const = 0;
};

/// Code of a program for one kind of device: "sm_90" that very one (and later ones of its generation), "compute_100" text that the
/// device's driver compiles.
struct CodeLabel {
  std::string label;
  bool isText = false;
};

class StreamDevice : public Device {
public:
  StreamDevice *streams() final { return this; }

  /// "NVIDIA H200", "sm_90", and the number under which this process knows it.
  virtual std::string name() const = 0;
  virtual std::string architecture() const = 0;
  virtual unsigned index() const = 0;
  /// Whether other processes can map its arenas: only where that was asked for (CudaDeviceOptions) and the system allows it.
  virtual bool isMappedByProcesses() const = 0;

  /// Which of `codes` suits this device best; BadInput that names both sides where none does.
  virtual Expected<size_t> choose(const std::vector<CodeLabel> &codes) const = 0;
  virtual Expected<std::unique_ptr<DeviceModule>> loadModule(const std::string &code) = 0;

  /// `arguments`: the address of each argument's value.
  virtual Status launch(DeviceFunction &function, const LaunchShape &shape, void *const *arguments, void *stream) = 0;
  /// Bytes of this device that do not overlap.
  virtual Status copyAsync(void *target, const void *source, uint64_t size, void *stream) = 0;
  virtual Status fillAsync(void *target, uint8_t value, uint64_t size, void *stream) = 0;
  /// The host's side lies in PinnedMemory and lives until the stream is through.
  virtual Status uploadAsync(void *target, const void *source, uint64_t size, void *stream) = 0;
  virtual Status downloadAsync(void *target, const void *source, uint64_t size, void *stream) = 0;

  /// Calls `function` on a thread of the device when `stream` comes to it. It must neither use the device nor wait for its work.
  virtual Status callHost(void *stream, void (*function)(void *argument), void *argument) = 0;

  virtual Expected<std::unique_ptr<PinnedMemory>> allocatePinned(uint64_t size) = 0;
  virtual std::unique_ptr<TimeMark> createTimeMark() = 0;

  /// Blocks until everything that was put on `stream` has run (true) or `failure` was raised (false). An error of that work is raised
  /// as `failure`.
  virtual bool synchronize(void *stream, Failure &failure) = 0;

  /// What is put on `stream`, and on streams that wait for its events, becomes a graph and does not run. In between, the calling thread
  /// submits to these streams alone.
  virtual Status beginCapture(void *stream) = 0;
  /// All streams have come together in `stream` again.
  virtual Expected<std::unique_ptr<StreamGraph>> endCapture(void *stream) = 0;
  /// While `stream` is captured: its graph waits for what `event` has recorded outside of graphs when that is launched, or records it for
  /// whoever waits outside of graphs, behind the launch. `recordedByGraph` says that it was launched, for the `value`th time.
  virtual Status waitFromGraph(Event &event, void *stream) = 0;
  virtual Status recordFromGraph(Event &event, void *stream) = 0;
  virtual void recordedByGraph(Event &event, uint64_t value) = 0;

  /// Lets the calling thread use the device: each thread calls it once before anything else.
  virtual Status bindThread() = 0;
  /// Somebody may use the device for longer than anyone waits: nothing that was made of it is given back any more, which the driver would
  /// wait with, until the process ends.
  virtual void abandon() = 0;

  /// Bytes of the device's memory that are in use: by arenas (in whole granules), the driver, libraries, other processes.
  virtual Expected<uint64_t> usedBytes() const = 0;
};

struct CudaDeviceOptions {
  /// Other GPUs and network cards map its arenas, where they can: NCCL sends from no other memory in place.
  bool mappedByPeers = false;
};

/// The UUIDs of the GPUs that this process sees for CUDA, by their numbers: "GPU-5a65726f-...". BadInput where there is no driver or no GPU,
/// or this build has no CUDA.
Expected<std::vector<std::string>> findCudaDevices();

/// GPU number `index` of those.
Expected<std::unique_ptr<StreamDevice>> createCudaDevice(unsigned index, const CudaDeviceOptions &options = {});

} // namespace zero

#endif

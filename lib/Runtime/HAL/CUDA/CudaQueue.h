//===- CudaQueue.h - Streams and events of a GPU --------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CUDA_CUDAQUEUE_H
#define ZERO_LIB_RUNTIME_HAL_CUDA_CUDAQUEUE_H

#include "lib/Runtime/HAL/CUDA/CudaContext.h"
#include "zero/Runtime/HAL/Stream.h"
#include <atomic>
#include <chrono>

namespace zero {

/// Waits on the host until what was put on the stream (or recorded in the event) has run (success), or for `failure` (its status).
Status waitForStream(const Driver &driver, CUstream stream, const Failure &failure);
Status waitForEvent(const Driver &driver, CUevent event, const Failure &failure);

/// A CUDA event with the value that was recorded last. A stream that waits for an event nobody has recorded yet would not wait at all: so
/// a queue that waits first lets the host wait until the record is on its stream.
class CudaEvent final : public Event {
public:
  explicit CudaEvent(std::shared_ptr<const CudaContext> context);
  ~CudaEvent() override;

  /// By the host: nothing of the device is waited for.
  void record(uint64_t value) override;
  bool wait(uint64_t value, const Failure &failure) override;

  Status recordOn(CUstream stream, uint64_t value);
  Status waitOn(CUstream stream, uint64_t value, const Failure &failure);
  /// As StreamDevice says.
  Status waitFromGraph(CUstream stream);
  Status recordFromGraph(CUstream stream);
  void recordedByGraph(uint64_t value) { submitted.store(value, std::memory_order_release); }

private:
  bool waitUntilSubmitted(uint64_t value, const Failure &failure) const;

  std::shared_ptr<const CudaContext> context;
  CUevent event = nullptr;
  Status created;
  std::atomic<uint64_t> submitted = 0; ///< recorded on a stream, or by the host
  std::atomic<uint64_t> passed = 0;    ///< recorded by the host
};

/// A stream: what is submitted is put on it by the thread that submits.
class CudaQueue final : public Queue {
public:
  CudaQueue(std::shared_ptr<const CudaContext> context, int priority, Failure &failure);
  ~CudaQueue() override;
  void wait(Event &event, uint64_t value) override;
  void submit(Work &work) override;
  void record(Event &event, uint64_t value) override;
  void *stream() const override { return handle; }
  void finish() override;

private:
  static constexpr auto kPatienceAfterFailure = std::chrono::seconds(5);
  bool comesToItsEnd() const;
  void note(const Status &status) {
    if (!status.ok())
      failure.raise(status);
  }

  std::shared_ptr<const CudaContext> context;
  Failure &failure;
  CUstream handle = nullptr;
};

class CudaTimeMark final : public TimeMark {
public:
  explicit CudaTimeMark(std::shared_ptr<const CudaContext> context);
  ~CudaTimeMark() override;
  Status record(void *stream) override;
  Expected<double> secondsSince(const TimeMark &earlier) const override;

private:
  std::shared_ptr<const CudaContext> context;
  CUevent event = nullptr;
  Status created;
};

} // namespace zero

#endif

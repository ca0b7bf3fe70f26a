//===- CudaQueue.cpp - Streams and events of a GPU ------------------------===//
#include "lib/Runtime/HAL/CUDA/CudaQueue.h"
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

namespace zero {
namespace {

/// Looks often at first, as most waits are short, then sleeps between looks. A wait of the driver's own would be a little faster and
/// would not end where a peer is lost.
class Pace {
public:
  void pause() {
    if (++looks < kBusyLooks)
      return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(looks < 2 * kBusyLooks ? 20 : 200));
  }

private:
  static constexpr unsigned kBusyLooks = 2000;
  unsigned looks = 0;
};

template <typename Query> Status poll(const Driver &driver, const char *name, Query query, const Failure &failure) {
  for (Pace pace;; pace.pause()) {
    CUresult result = query();
    if (result == CUDA_SUCCESS)
      return {};
    if (result != CUDA_ERROR_NOT_READY)
      return driver.check(result, name);
    if (failure.raised())
      return failure.status();
  }
}

} // namespace

Status waitForStream(const Driver &driver, CUstream stream, const Failure &failure) {
  return poll(driver, "cuStreamQuery", [&] { return driver.cuStreamQuery(stream); }, failure);
}

Status waitForEvent(const Driver &driver, CUevent event, const Failure &failure) {
  return poll(driver, "cuEventQuery", [&] { return driver.cuEventQuery(event); }, failure);
}

CudaEvent::CudaEvent(std::shared_ptr<const CudaContext> given) : context(std::move(given)) {
  const Driver &driver = context->driver;
  created = driver.check(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

CudaEvent::~CudaEvent() {
  if (event && !context->isAbandoned())
    context->driver.cuEventDestroy(event);
}

void CudaEvent::record(uint64_t value) {
  passed.store(value, std::memory_order_release);
  submitted.store(value, std::memory_order_release);
}

bool CudaEvent::waitUntilSubmitted(uint64_t value, const Failure &failure) const {
  for (Pace pace; submitted.load(std::memory_order_acquire) < value; pace.pause())
    if (failure.raised())
      return false;
  return true;
}

bool CudaEvent::wait(uint64_t value, const Failure &failure) {
  if (!waitUntilSubmitted(value, failure))
    return false;
  return passed.load(std::memory_order_acquire) >= value || waitForEvent(context->driver, event, failure).ok();
}

Status CudaEvent::recordOn(CUstream stream, uint64_t value) {
  ZERO_RETURN_IF_ERROR(created);
  ZERO_CUDA(context->driver, cuEventRecord(event, stream));
  submitted.store(value, std::memory_order_release);
  return {};
}

Status CudaEvent::waitOn(CUstream stream, uint64_t value, const Failure &failure) {
  ZERO_RETURN_IF_ERROR(created);
  if (!waitUntilSubmitted(value, failure))
    return failure.status();
  if (passed.load(std::memory_order_acquire) >= value)
    return {};
  ZERO_CUDA(context->driver, cuStreamWaitEvent(stream, event, 0));
  return {};
}

Status CudaEvent::waitFromGraph(CUstream stream) {
  ZERO_RETURN_IF_ERROR(created);
  ZERO_CUDA(context->driver, cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
  return {};
}

Status CudaEvent::recordFromGraph(CUstream stream) {
  ZERO_RETURN_IF_ERROR(created);
  ZERO_CUDA(context->driver, cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
  return {};
}

CudaQueue::CudaQueue(std::shared_ptr<const CudaContext> given, int priority, Failure &failure) : context(std::move(given)), failure(failure) {
  const Driver &driver = context->driver;
  int least = 0, greatest = 0; // smaller numbers go first
  note(driver.check(driver.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange"));
  note(driver.check(driver.cuStreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, std::clamp(priority, greatest, least)),
                    "cuStreamCreateWithPriority"));
}

CudaQueue::~CudaQueue() {
  if (!handle || context->isAbandoned())
    return;
  // What is on the stream uses things that are about to end.
  if (comesToItsEnd())
    context->driver.cuStreamDestroy(handle);
  else
    context->abandon();
}

bool CudaQueue::comesToItsEnd() const {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> deadline;
  for (Pace pace;; pace.pause()) {
    if (context->driver.cuStreamQuery(handle) != CUDA_ERROR_NOT_READY)
      return true; // an error of the context's, too: nothing runs any more
    // After a failure collectives are given up: what was behind them runs, unless the GPU or a library is stuck.
    if (failure.raised() && !deadline)
      deadline = Clock::now() + kPatienceAfterFailure;
    if (deadline && Clock::now() >= *deadline)
      return false;
  }
}

void CudaQueue::wait(Event &event, uint64_t value) {
  if (!failure.raised())
    note(static_cast<CudaEvent &>(event).waitOn(handle, value, failure));
}

void CudaQueue::submit(Work &work) {
  if (!failure.raised())
    note(work.run());
}

void CudaQueue::record(Event &event, uint64_t value) {
  if (!failure.raised())
    note(static_cast<CudaEvent &>(event).recordOn(handle, value));
}

void CudaQueue::finish() {
  if (!failure.raised())
    note(waitForStream(context->driver, handle, failure));
}

CudaTimeMark::CudaTimeMark(std::shared_ptr<const CudaContext> given) : context(std::move(given)) {
  const Driver &driver = context->driver;
  created = driver.check(driver.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
}

CudaTimeMark::~CudaTimeMark() {
  if (event && !context->isAbandoned())
    context->driver.cuEventDestroy(event);
}

Status CudaTimeMark::record(void *stream) {
  ZERO_RETURN_IF_ERROR(created);
  ZERO_CUDA(context->driver, cuEventRecord(event, static_cast<CUstream>(stream)));
  return {};
}

Expected<double> CudaTimeMark::secondsSince(const TimeMark &earlier) const {
  float milliseconds = 0;
  ZERO_CUDA(context->driver, cuEventElapsedTime(&milliseconds, static_cast<const CudaTimeMark &>(earlier).event, event));
  return static_cast<double>(milliseconds) * 1e-3;
}

} // namespace zero

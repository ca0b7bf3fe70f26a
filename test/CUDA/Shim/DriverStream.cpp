//===- DriverStream.cpp - Streams, events and host functions --------------===//
#include "test/CUDA/Shim/Context.h"
#include "test/CUDA/Shim/Statistics.h"
#include <algorithm>

using namespace zero::shim;

namespace {

/// What a capture cannot take: it is spoiled by it.
CUresult spoil(Stream &stream, CUresult code, const char *call, const std::string &what) {
  if (stream.capture)
    stream.capture->invalidatedBy = call;
  return misuse(code, call, what);
}

CUresult waitFor(Context &context, const std::shared_ptr<Completion> &done) {
  done->wait();
  return context.failure();
}

} // namespace

CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
  constexpr const char *kCall = "cuStreamCreateWithPriority";
  if (CUresult error = enter(kCall, Needs::CurrentContext))
    return error;
  if (flags & ~CU_STREAM_NON_BLOCKING)
    return misuse(CUDA_ERROR_INVALID_VALUE, kCall, text("flags ", flags, " are not known"));
  // Priorities beyond the range are taken as its ends.
  auto stream = std::make_shared<Stream>(*currentContext(), priority);
  uint64_t number = streams().add(stream);
  stream->name = streams().name(number);
  *handle = handleOf<CUstream>(number);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *handle, unsigned flags) { return cuStreamCreateWithPriority(handle, flags, 0); }

CUresult cuStreamDestroy(CUstream handle) {
  constexpr const char *kCall = "cuStreamDestroy";
  if (CUresult error = enter(kCall, Needs::Driver))
    return error;
  std::shared_ptr<Stream> stream = streams().find(numberOf(handle));
  if (!stream)
    return misuse(CUDA_ERROR_INVALID_HANDLE, kCall, streams().describe(numberOf(handle)));
  {
    std::lock_guard lock(stream->context.mutex);
    if (stream->capture)
      return spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, kCall, text(stream->name, " is being captured"));
  }
  // What it holds still runs.
  streams().remove(numberOf(handle));
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  constexpr const char *kCall = "cuStreamSynchronize";
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, handle, stream))
    return error;
  auto done = std::make_shared<Completion>();
  {
    std::lock_guard lock(stream->context.mutex);
    if (stream->capture)
      return spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, kCall, text(stream->name, " is being captured"));
    stream->mark(done);
  }
  return waitFor(stream->context, done);
}

CUresult cuStreamQuery(CUstream handle) {
  constexpr const char *kCall = "cuStreamQuery";
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, handle, stream))
    return error;
  std::lock_guard lock(stream->context.mutex);
  if (stream->capture)
    return spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, kCall, text(stream->name, " is being captured"));
  if (!stream->isIdle())
    return CUDA_ERROR_NOT_READY;
  return stream->context.failure();
}

CUresult cuCtxSynchronize() {
  constexpr const char *kCall = "cuCtxSynchronize";
  if (CUresult error = enter(kCall, Needs::CurrentContext))
    return error;
  std::vector<std::shared_ptr<Completion>> all;
  for (const std::shared_ptr<Stream> &stream : streams().all()) {
    if (&stream->context != currentContext())
      continue;
    std::lock_guard lock(stream->context.mutex);
    if (stream->capture)
      return spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, kCall, text(stream->name, " is being captured"));
    all.push_back(std::make_shared<Completion>());
    stream->mark(all.back());
  }
  for (const std::shared_ptr<Completion> &done : all)
    done->wait();
  return currentContext()->failure();
}

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream("cuStreamGetPriority", handle, stream))
    return error;
  *priority = std::clamp(stream->priority, -5, 0);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
  if (CUresult error = enter("cuStreamGetCtx", Needs::Driver))
    return error;
  std::shared_ptr<Stream> stream = streams().find(numberOf(handle));
  if (!stream)
    return misuse(CUDA_ERROR_INVALID_HANDLE, "cuStreamGetCtx", streams().describe(numberOf(handle)));
  *context = handleOf(stream->context);
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *argument) {
  constexpr const char *kCall = "cuLaunchHostFunc";
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, handle, stream))
    return error;
  if (!function)
    return misuse(CUDA_ERROR_INVALID_VALUE, kCall, "there is no function");
  std::lock_guard lock(stream->context.mutex);
  stream->submit(kCall, [=] {
    ++Statistics::get().hostFunctions;
    // Whatever it calls is called without a context, as CUDA's own thread would.
    function(argument);
    return CUDA_SUCCESS;
  });
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  constexpr const char *kCall = "cuEventCreate";
  if (CUresult error = enter(kCall, Needs::CurrentContext))
    return error;
  if (flags & ~(CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC))
    return misuse(CUDA_ERROR_INVALID_VALUE, kCall, text("flags ", flags, " are not simulated"));
  auto event = std::make_shared<Event>(*currentContext(), flags);
  uint64_t number = events().add(event);
  event->name = events().name(number);
  *handle = handleOf<CUevent>(number);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent handle) {
  if (CUresult error = enter("cuEventDestroy", Needs::Driver))
    return error;
  return events().remove(numberOf(handle)) ? CUDA_SUCCESS
                                           : misuse(CUDA_ERROR_INVALID_HANDLE, "cuEventDestroy", events().describe(numberOf(handle)));
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream streamHandle, unsigned flags) {
  constexpr const char *kCall = "cuEventRecord";
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, streamHandle, stream))
    return error;
  std::shared_ptr<Event> event;
  if (CUresult error = findEvent(kCall, handle, event))
    return error;
  if (&event->context != &stream->context)
    return misuse(CUDA_ERROR_INVALID_HANDLE, kCall, text(event->name, " and ", stream->name, " are of different devices"));
  std::lock_guard lock(stream->context.mutex);
  if (stream->capture) {
    if (flags & CU_EVENT_RECORD_EXTERNAL) {
      stream->capture->add(*stream, {"cuEventRecord", nullptr, 0, {}, event, nullptr});
      return CUDA_SUCCESS;
    }
    event->capture = stream->capture;
    event->frontier = stream->frontier;
    return CUDA_SUCCESS;
  }
  auto done = std::make_shared<Completion>();
  event->recorded = done;
  event->capture = nullptr;
  stream->mark(done);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) { return cuEventRecordWithFlags(event, stream, 0); }

CUresult cuStreamWaitEvent(CUstream streamHandle, CUevent handle, unsigned flags) {
  constexpr const char *kCall = "cuStreamWaitEvent";
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, streamHandle, stream))
    return error;
  std::shared_ptr<Event> event;
  if (CUresult error = findEvent(kCall, handle, event))
    return error;

  std::shared_ptr<Completion> recorded;
  std::shared_ptr<Capture> capture;
  std::vector<unsigned> frontier;
  {
    std::lock_guard lock(event->context.mutex);
    recorded = event->recorded;
    capture = event->capture;
    frontier = event->frontier;
  }
  std::lock_guard lock(stream->context.mutex);
  if (stream->capture && (flags & CU_EVENT_WAIT_EXTERNAL)) {
    stream->capture->add(*stream, {"cuStreamWaitEvent", nullptr, 0, {}, nullptr, event});
    return CUDA_SUCCESS;
  }
  if (capture) {
    if (capture->ended)
      return misuse(CUDA_ERROR_INVALID_VALUE, kCall, text(event->name, " was last recorded in a capture that has ended: outside of the graph it never happens"));
    if (&event->context != &stream->context)
      return misuse(CUDA_ERROR_NOT_SUPPORTED, kCall, "captures over several devices are not simulated");
    if (stream->capture && stream->capture != capture)
      return spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, kCall, text(event->name, " and ", stream->name, " belong to different captures"));
    if (!stream->capture) {
      stream->capture = capture;
      stream->frontier.clear();
    }
    capture->join(*stream, frontier);
    return CUDA_SUCCESS;
  }
  if (!recorded)
    return misuse(CUDA_ERROR_INVALID_VALUE, kCall, text(event->name, " was never recorded: ", stream->name, " would wait for nothing"));
  if (stream->capture)
    return spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, kCall, text(event->name, " was recorded outside of the capture of ", stream->name));
  stream->push([recorded] { recorded->wait(); });
  return CUDA_SUCCESS;
}

/// The last record of an event outside of captures.
static CUresult findRecord(const char *call, CUevent handle, std::shared_ptr<Event> &event, std::shared_ptr<Completion> &recorded) {
  if (CUresult error = enter(call, Needs::CurrentContext))
    return error;
  if (CUresult error = findEvent(call, handle, event))
    return error;
  std::lock_guard lock(event->context.mutex);
  if (event->capture)
    return misuse(CUDA_ERROR_CAPTURED_EVENT, call, text(event->name, " was last recorded in a capture"));
  recorded = event->recorded;
  return recorded ? CUDA_SUCCESS : misuse(CUDA_ERROR_INVALID_HANDLE, call, text(event->name, " was never recorded"));
}

CUresult cuEventQuery(CUevent handle) {
  std::shared_ptr<Event> event;
  std::shared_ptr<Completion> recorded;
  if (CUresult error = findRecord("cuEventQuery", handle, event, recorded))
    return error;
  return recorded->isComplete() ? event->context.failure() : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle) {
  std::shared_ptr<Event> event;
  std::shared_ptr<Completion> recorded;
  if (CUresult error = findRecord("cuEventSynchronize", handle, event, recorded))
    return error;
  return waitFor(event->context, recorded);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent beginHandle, CUevent endHandle) {
  constexpr const char *kCall = "cuEventElapsedTime";
  std::shared_ptr<Event> begin, end;
  std::shared_ptr<Completion> beginRecord, endRecord;
  if (CUresult error = findRecord(kCall, beginHandle, begin, beginRecord))
    return error;
  if (CUresult error = findRecord(kCall, endHandle, end, endRecord))
    return error;
  for (const auto &event : {begin, end})
    if (event->flags & CU_EVENT_DISABLE_TIMING)
      return misuse(CUDA_ERROR_INVALID_HANDLE, kCall, text(event->name, " was created without timing"));
  if (!beginRecord->isComplete() || !endRecord->isComplete())
    return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(endRecord->time() - beginRecord->time()).count();
  return CUDA_SUCCESS;
}

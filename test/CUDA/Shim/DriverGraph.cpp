//===- DriverGraph.cpp - Captures and graphs ------------------------------===//
#include "test/CUDA/Shim/Context.h"
#include "test/CUDA/Shim/Statistics.h"

using namespace zero::shim;

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  constexpr const char *kCall = "cuStreamBeginCapture";
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, handle, stream))
    return error;
  std::lock_guard lock(stream->context.mutex);
  if (stream->capture)
    return misuse(CUDA_ERROR_ILLEGAL_STATE, kCall, text(stream->name, " is being captured already"));
  auto capture = std::make_shared<Capture>();
  capture->graph.context = &stream->context;
  capture->origin = stream.get();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  stream->capture = capture;
  stream->frontier.clear();
  capture->join(*stream, {});
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  constexpr const char *kCall = "cuStreamEndCapture";
  *graph = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, handle, stream))
    return error;
  std::lock_guard lock(stream->context.mutex);
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture || capture->origin != stream.get())
    return misuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, kCall, text("no capture began in ", stream->name));
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
    return misuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, kCall, "the capture began in another thread");
  std::string unjoined = capture->unjoined(stream->frontier);
  capture->ended = true;
  for (const auto &[member, lane] : capture->lanes) {
    member->capture = nullptr;
    member->frontier.clear();
  }
  if (!capture->invalidatedBy.empty())
    return misuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, kCall, text("the capture was spoiled by ", capture->invalidatedBy));
  if (!unjoined.empty())
    return misuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, kCall, text(stream->name, " does not wait for all of what was captured: not for ", unjoined));
  *graph = handleOf<CUgraph>(graphs().add(std::make_shared<Graph>(std::move(capture->graph))));
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  constexpr const char *kCall = "cuStreamIsCapturing";
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, handle, stream))
    return error;
  std::lock_guard lock(stream->context.mutex);
  *status = !stream->capture                         ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->invalidatedBy.empty() ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                     : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  if (CUresult error = enter("cuThreadExchangeStreamCaptureMode", Needs::Driver))
    return error;
  static thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(current, *mode);
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  constexpr const char *kCall = "cuGraphGetNodes";
  if (CUresult error = enter(kCall, Needs::Driver))
    return error;
  std::shared_ptr<Graph> graph = graphs().find(numberOf(handle));
  if (!graph)
    return misuse(CUDA_ERROR_INVALID_VALUE, kCall, graphs().describe(numberOf(handle)));
  if (nodes)
    return misuse(CUDA_ERROR_NOT_SUPPORTED, kCall, "nodes are counted only");
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph handle, unsigned long long) {
  constexpr const char *kCall = "cuGraphInstantiateWithFlags";
  if (CUresult error = enter(kCall, Needs::CurrentContext))
    return error;
  std::shared_ptr<Graph> graph = graphs().find(numberOf(handle));
  if (!graph)
    return misuse(CUDA_ERROR_INVALID_VALUE, kCall, graphs().describe(numberOf(handle)));
  *exec = handleOf<CUgraphExec>(graphExecs().add(std::make_shared<GraphExec>(graph)));
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  constexpr const char *kCall = "cuGraphLaunch";
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(kCall, streamHandle, stream))
    return error;
  std::shared_ptr<GraphExec> exec = graphExecs().find(numberOf(handle));
  if (!exec)
    return misuse(CUDA_ERROR_INVALID_VALUE, kCall, graphExecs().describe(numberOf(handle)));
  if (exec->graph->context != &stream->context)
    return misuse(CUDA_ERROR_INVALID_CONTEXT, kCall, text("the graph is of device ", exec->graph->context->device, ", ", stream->name, " of device ", stream->context.device));
  std::lock_guard lock(stream->context.mutex);
  if (stream->capture)
    return misuse(CUDA_ERROR_NOT_SUPPORTED, kCall, "graphs inside of graphs are not simulated");
  ++Statistics::get().graphLaunches;
  if (!stream->isIdle())
    ++Statistics::get().graphLaunchesBehindWork;
  // Not as one piece of work: when something has failed, its nodes still tell each other that they are done.
  stream->push([run = exec->launch()] { run(); });
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  if (CUresult error = enter("cuGraphDestroy", Needs::Driver))
    return error;
  return graphs().remove(numberOf(handle)) ? CUDA_SUCCESS
                                           : misuse(CUDA_ERROR_INVALID_VALUE, "cuGraphDestroy", graphs().describe(numberOf(handle)));
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  if (CUresult error = enter("cuGraphExecDestroy", Needs::Driver))
    return error;
  return graphExecs().remove(numberOf(handle)) ? CUDA_SUCCESS
                                               : misuse(CUDA_ERROR_INVALID_VALUE, "cuGraphExecDestroy", graphExecs().describe(numberOf(handle)));
}

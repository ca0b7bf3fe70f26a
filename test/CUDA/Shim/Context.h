//===- Context.h - Contexts, streams and events of the simulated driver ---===//
#ifndef ZERO_TEST_CUDA_SHIM_CONTEXT_H
#define ZERO_TEST_CUDA_SHIM_CONTEXT_H

#include "test/CUDA/Shim/Graph.h"
#include "test/CUDA/Shim/Handles.h"
#include "test/CUDA/Shim/Worker.h"
#include <atomic>

namespace zero::shim {

inline constexpr int kMostDevices = 64;

/// The primary context of a device.
class Context {
public:
  explicit Context(int device) : device(device) {}
  const int device;

  /// Guards what the host's calls change: streams and events, never what runs on them.
  std::mutex mutex;
  unsigned retained = 0;
  /// Runs all streams where timing is serial.
  std::weak_ptr<Worker> serial;

  /// Runs a piece of work on the calling thread; nothing after one has failed.
  void perform(const Run &run);
  /// What every call returns after work has failed.
  CUresult failure() const { return failed.load(std::memory_order_relaxed); }
  void fail(CUresult error);
  void forgetFailure() { failed = CUDA_SUCCESS; }

private:
  std::atomic<CUresult> failed = CUDA_SUCCESS;
};

class Stream {
public:
  Stream(Context &context, int priority);
  Context &context;
  const int priority;
  std::string name;
  const std::shared_ptr<Worker> worker;

  // Under the context's mutex:
  std::shared_ptr<Capture> capture;
  std::vector<unsigned> frontier; ///< nodes that what is captured next depends on

  /// Puts work on the stream or, while it is captured, into the graph.
  void submit(std::string name, Run run);
  /// Work that the graph of a capture cannot hold.
  void push(std::function<void()> task);
  /// `done` when everything so far has run, after an error too: whoever waits is not to wait for ever.
  void mark(std::shared_ptr<Completion> done);
  bool isIdle() const { return finished->load(std::memory_order_acquire) == submitted; }

private:
  uint64_t submitted = 0;
  /// Outlives a stream that is destroyed before its work is done.
  std::shared_ptr<std::atomic<uint64_t>> finished = std::make_shared<std::atomic<uint64_t>>(0);
};

class Event {
public:
  Event(Context &context, unsigned flags) : context(context), flags(flags) {}
  Context &context;
  const unsigned flags;
  std::string name;

  // Under the context's mutex:
  std::shared_ptr<Completion> recorded; ///< the last record outside of captures; null before the first
  std::shared_ptr<Capture> capture;     ///< where its last record is part of one
  std::vector<unsigned> frontier;
};

Handles<Stream> &streams();
Handles<Event> &events();

Context &contextOf(int device);
/// The calling thread's; null: none.
Context *&currentContext();
CUcontext handleOf(const Context &context);
/// Null where the handle is none of a context.
Context *contextOf(CUcontext handle);

/// Devices that the process sees: of ZERO_SHIM_DEVICES those of CUDA_VISIBLE_DEVICES, in its order; all where that is not set.
int deviceCount();
/// "GPU-...", of the device behind a number of the process.
std::string uuidText(int physical);

/// What every entry point begins with: the simulated failure, the driver not initialized, no context, an error that sticks.
enum class Needs { Nothing, Driver, CurrentContext };
CUresult enter(const char *call, Needs needs);

/// What entry points that take a stream begin with: `enter`, and a live stream of the current context.
CUresult enterStream(const char *call, CUstream handle, std::shared_ptr<Stream> &stream);

/// A live stream of the current context, or the error that `call` gives.
CUresult findStream(const char *call, CUstream handle, std::shared_ptr<Stream> &stream);
CUresult findEvent(const char *call, CUevent handle, std::shared_ptr<Event> &event);

} // namespace zero::shim

#endif

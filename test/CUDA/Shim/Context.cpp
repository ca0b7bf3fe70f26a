//===- Context.cpp - Contexts, streams and events -------------------------===//
#include "test/CUDA/Shim/Context.h"
#include "test/CUDA/Shim/Memory.h"
#include <array>

namespace zero::shim {
namespace {

constexpr uint64_t kContextHandles = 0xC0DA'0100'0000'0000;

std::atomic<bool> driverIsInitialized = false;

/// What a call that is asked to fail returns.
CUresult failureOf(std::string_view call) {
  if (call == "cuInit")
    return CUDA_ERROR_NO_DEVICE;
  for (std::string_view takesMemory : {"cuMemCreate", "cuMemAlloc", "cuMemHostAlloc", "cuMemAddressReserve", "cuMemMap", "cuModuleLoadData",
                                       "cuDevicePrimaryCtxRetain", "cuStreamCreateWithPriority", "cuEventCreate", "cuGraphInstantiateWithFlags"})
    if (call == takesMemory)
      return CUDA_ERROR_OUT_OF_MEMORY;
  return CUDA_ERROR_UNKNOWN;
}

} // namespace

void Context::perform(const Run &run) {
  if (failure() != CUDA_SUCCESS)
    return;
  if (CUresult error = run())
    fail(error);
}

void Context::fail(CUresult error) {
  CUresult none = CUDA_SUCCESS;
  failed.compare_exchange_strong(none, error, std::memory_order_relaxed);
}

Stream::Stream(Context &context, int priority)
    : context(context), priority(priority), worker([&] {
        if (Timing::fromSettings().mode != Timing::Mode::Serial)
          return std::make_shared<Worker>();
        std::lock_guard lock(context.mutex);
        std::shared_ptr<Worker> shared = context.serial.lock();
        if (!shared)
          context.serial = shared = std::make_shared<Worker>();
        return shared;
      }()) {}

void Stream::submit(std::string name, Run run) {
  if (capture)
    return capture->add(*this, {std::move(name), std::move(run), 0, {}, nullptr, nullptr});
  push([&context = context, run = std::move(run)] { context.perform(run); });
}

void Stream::push(std::function<void()> task) {
  ++submitted;
  worker->push([finished = finished, task = std::move(task)] {
    task();
    finished->fetch_add(1, std::memory_order_release);
  });
}

void Stream::mark(std::shared_ptr<Completion> done) {
  ++submitted;
  worker->push([finished = finished, done = std::move(done)] {
    // First: who has waited finds the stream idle.
    finished->fetch_add(1, std::memory_order_release);
    done->complete();
  });
}

Handles<Stream> &streams() {
  static auto *all = new Handles<Stream>("stream", 1);
  return *all;
}

Handles<Event> &events() {
  static auto *all = new Handles<Event>("event", 2);
  return *all;
}

std::string uuidText(int physical) {
  char text[48];
  std::snprintf(text, sizeof text, "GPU-5a65726f-7368-696d-0000-%012x", static_cast<unsigned>(physical));
  return text;
}

/// By the process's numbers.
static std::vector<int> visibleDevices() {
  std::vector<int> visible;
  const int all = static_cast<int>(std::min<uint64_t>(numberSetting("ZERO_SHIM_DEVICES", 8), kMostDevices));
  const char *wish = std::getenv("CUDA_VISIBLE_DEVICES");
  for (int device = 0; !wish && device < all; ++device)
    visible.push_back(device);
  std::istringstream list(wish ? wish : "");
  for (std::string one; std::getline(list, one, ',');) {
    int device = 0;
    while (device < all && one != std::to_string(device) && one != uuidText(device))
      ++device;
    if (device == all)
      break; // CUDA reads up to the first that there is not
    visible.push_back(device);
  }
  return visible;
}

int deviceCount() { return static_cast<int>(visibleDevices().size()); }

int physicalDevice(int device) { return visibleDevices()[static_cast<size_t>(device)]; }

Context &contextOf(int device) {
  static auto *all = [] {
    auto *made = new std::array<Context *, kMostDevices>;
    for (int number = 0; number < kMostDevices; ++number)
      (*made)[number] = new Context(number);
    return made;
  }();
  return *(*all)[device];
}

Context *&currentContext() {
  static thread_local Context *current = nullptr;
  return current;
}

CUcontext handleOf(const Context &context) { return handleOf<CUcontext>(kContextHandles + 16 * (context.device + 1)); }

Context *contextOf(CUcontext handle) {
  uint64_t number = (numberOf(handle) - kContextHandles) / 16;
  bool is = numberOf(handle) > kContextHandles && number <= static_cast<uint64_t>(deviceCount()) && numberOf(handle) % 16 == 0;
  return is ? &contextOf(static_cast<int>(number) - 1) : nullptr;
}

CUresult enter(const char *call, Needs needs) {
  if (injectedFailure(call))
    return failureOf(call);
  if (std::string_view(call) == "cuInit")
    driverIsInitialized = true;
  if (needs == Needs::Nothing)
    return CUDA_SUCCESS;
  if (!driverIsInitialized)
    return misuse(CUDA_ERROR_NOT_INITIALIZED, call, "cuInit was not called");
  if (needs == Needs::Driver)
    return CUDA_SUCCESS;
  Context *context = currentContext();
  if (!context)
    return misuse(CUDA_ERROR_INVALID_CONTEXT, call, "the calling thread has no current context");
  return context->failure();
}

CUresult enterStream(const char *call, CUstream handle, std::shared_ptr<Stream> &stream) {
  CUresult error = enter(call, Needs::CurrentContext);
  return error ? error : findStream(call, handle, stream);
}

CUresult findStream(const char *call, CUstream handle, std::shared_ptr<Stream> &stream) {
  stream = streams().find(numberOf(handle));
  if (!stream)
    return misuse(CUDA_ERROR_INVALID_HANDLE, call,
                  numberOf(handle) <= 2 ? "the null stream is not simulated: create a stream" : streams().describe(numberOf(handle)));
  if (&stream->context != currentContext())
    return misuse(CUDA_ERROR_INVALID_CONTEXT, call,
                  text(stream->name, " is of device ", stream->context.device, ", the calling thread's context of device ",
                       currentContext() ? currentContext()->device : -1));
  return CUDA_SUCCESS;
}

CUresult findEvent(const char *call, CUevent handle, std::shared_ptr<Event> &event) {
  event = events().find(numberOf(handle));
  return event ? CUDA_SUCCESS : misuse(CUDA_ERROR_INVALID_HANDLE, call, events().describe(numberOf(handle)));
}

int currentDevice() { return currentContext() ? currentContext()->device : -1; }

int deviceOf(CUstream handle) {
  std::shared_ptr<Stream> stream = streams().find(numberOf(handle));
  return stream ? stream->context.device : -1;
}

CUresult takeDeviceMemory(int device, int64_t bytes) {
  return DeviceBytes::get().take(device, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void holdMemory(const void *address, uint64_t bytes, const std::string &by) { HeldMemory::get().hold(address, bytes, by); }
void releaseMemory(const void *address, uint64_t bytes) { HeldMemory::get().release(address, bytes); }

CUresult checkDeviceRange(const char *call, const DeviceRange &range) {
  Place place = DeviceMemory::get().find(range.address, range.bytes, currentDevice(), range.access);
  return place.fault.empty() ? CUDA_SUCCESS : misuse(CUDA_ERROR_INVALID_VALUE, call, place.fault);
}

CUresult enqueue(CUstream handle, StreamWork work) {
  std::shared_ptr<Stream> stream;
  if (CUresult error = currentContext() ? currentContext()->failure() : CUDA_ERROR_INVALID_CONTEXT)
    return error;
  if (CUresult error = findStream(work.name.c_str(), handle, stream))
    return error;
  for (const DeviceRange &range : work.ranges)
    if (CUresult error = checkDeviceRange(work.name.c_str(), range))
      return error;
  Run run = [work, device = stream->context.device] {
    std::vector<std::byte *> memory;
    for (const DeviceRange &range : work.ranges) {
      Place place = DeviceMemory::get().find(range.address, range.bytes, device, range.access);
      if (!place.fault.empty())
        return misuse(CUDA_ERROR_ILLEGAL_ADDRESS, work.name, place.fault);
      memory.push_back(place.alias);
    }
    return work.run(memory);
  };
  std::lock_guard lock(stream->context.mutex);
  stream->submit(work.name, std::move(run));
  return CUDA_SUCCESS;
}

} // namespace zero::shim

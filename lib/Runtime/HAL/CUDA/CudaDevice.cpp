//===- CudaDevice.cpp - A GPU through the driver of CUDA ------------------===//
#include "lib/Runtime/HAL/CPU/ThreadQueue.h"
#include "lib/Runtime/HAL/CUDA/CudaArena.h"
#include "lib/Runtime/HAL/CUDA/CudaModule.h"
#include "lib/Runtime/HAL/CUDA/CudaQueue.h"
#include <cstdio>

namespace zero {
namespace {

CUdeviceptr address(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

class CudaGraph final : public StreamGraph {
public:
  CudaGraph(std::shared_ptr<const CudaContext> context, CUgraphExec handle) : context(std::move(context)), handle(handle) {}
  ~CudaGraph() override {
    if (!context->isAbandoned())
      context->driver.cuGraphExecDestroy(handle);
  }
  Status launch(void *stream) override {
    ZERO_CUDA(context->driver, cuGraphLaunch(handle, static_cast<CUstream>(stream)));
    return {};
  }

private:
  std::shared_ptr<const CudaContext> context;
  CUgraphExec handle;
};

class CudaDevice final : public StreamDevice {
public:
  explicit CudaDevice(std::shared_ptr<const CudaContext> context) : context(std::move(context)), driver(this->context->driver) {}
  ~CudaDevice() override {
    if (copies && !context->isAbandoned())
      driver.cuStreamDestroy(copies);
  }
  Status start() {
    ZERO_CUDA(driver, cuStreamCreateWithPriority(&copies, CU_STREAM_NON_BLOCKING, 0));
    return {};
  }

  Expected<std::unique_ptr<Arena>> allocate(const std::string &arenaName, uint64_t size, const std::vector<ByteRange> &) override {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<CudaArena> arena, CudaArena::allocate(context, arenaName, size));
    if (size) {
      ZERO_CUDA(driver, cuMemsetD8Async(address(arena->data()), 0, size, copies));
      ZERO_RETURN_IF_ERROR(waitForStream(driver, copies, none));
    }
    return std::unique_ptr<Arena>(std::move(arena));
  }

  std::unique_ptr<Queue> createQueue(const QueueOptions &options, Failure &failure) override {
    auto queue = std::make_unique<CudaQueue>(context, options.priority, failure);
    if (options.onCallingThread)
      return queue;
    // An error here comes back from whatever the thread does first.
    return std::make_unique<ThreadQueue>(options, std::move(queue), [context = context] { (void)context->makeCurrent(); });
  }
  std::unique_ptr<Event> createEvent(const std::string &) override { return std::make_unique<CudaEvent>(context); }

  Status upload(std::byte *target, const void *source, uint64_t size) override {
    ZERO_RETURN_IF_ERROR(uploadAsync(target, source, size, copies));
    return waitForStream(driver, copies, none);
  }
  Status download(void *target, const std::byte *source, uint64_t size) override {
    ZERO_RETURN_IF_ERROR(downloadAsync(target, source, size, copies));
    return waitForStream(driver, copies, none);
  }

  std::string name() const override { return context->name; }
  std::string architecture() const override { return "sm_" + std::to_string(10 * context->major + context->minor); }
  unsigned index() const override { return context->index; }
  bool isMappedByProcesses() const override { return context->isMappedByProcesses; }

  Expected<size_t> choose(const std::vector<CodeLabel> &codes) const override {
    if (std::optional<size_t> best = chooseCode(codes, context->major, context->minor))
      return *best;
    std::string there;
    for (const CodeLabel &code : codes)
      there += (there.empty() ? "" : ", ") + code.label;
    return Status::badInput("code for " + (there.empty() ? "no GPU" : there) + ", and GPU " + std::to_string(context->index) + " (" +
                            context->name + ") is of " + architecture());
  }
  Expected<std::unique_ptr<DeviceModule>> loadModule(const std::string &code) override {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<CudaModule> module, CudaModule::load(context, code));
    return std::unique_ptr<DeviceModule>(std::move(module));
  }

  Status launch(DeviceFunction &function, const LaunchShape &shape, void *const *arguments, void *stream) override {
    return static_cast<CudaFunction &>(function).launch(driver, shape, arguments, static_cast<CUstream>(stream));
  }
  Status copyAsync(void *target, const void *source, uint64_t size, void *stream) override {
    if (size)
      ZERO_CUDA(driver, cuMemcpyDtoDAsync(address(target), address(source), size, static_cast<CUstream>(stream)));
    return {};
  }
  Status fillAsync(void *target, uint8_t value, uint64_t size, void *stream) override {
    if (size)
      ZERO_CUDA(driver, cuMemsetD8Async(address(target), value, size, static_cast<CUstream>(stream)));
    return {};
  }
  Status uploadAsync(void *target, const void *source, uint64_t size, void *stream) override {
    if (size)
      ZERO_CUDA(driver, cuMemcpyHtoDAsync(address(target), source, size, static_cast<CUstream>(stream)));
    return {};
  }
  Status downloadAsync(void *target, const void *source, uint64_t size, void *stream) override {
    if (size)
      ZERO_CUDA(driver, cuMemcpyDtoHAsync(target, address(source), size, static_cast<CUstream>(stream)));
    return {};
  }
  Status callHost(void *stream, void (*function)(void *), void *argument) override {
    ZERO_CUDA(driver, cuLaunchHostFunc(static_cast<CUstream>(stream), function, argument));
    return {};
  }

  Expected<std::unique_ptr<PinnedMemory>> allocatePinned(uint64_t size) override {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<CudaPinnedMemory> memory, CudaPinnedMemory::allocate(context, size));
    return std::unique_ptr<PinnedMemory>(std::move(memory));
  }
  std::unique_ptr<TimeMark> createTimeMark() override { return std::make_unique<CudaTimeMark>(context); }

  bool synchronize(void *stream, Failure &failure) override {
    if (Status status = waitForStream(driver, static_cast<CUstream>(stream), failure); !status.ok())
      failure.raise(status);
    return !failure.raised();
  }

  Status beginCapture(void *stream) override {
    ZERO_CUDA(driver, cuStreamBeginCapture(static_cast<CUstream>(stream), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    return {};
  }
  Expected<std::unique_ptr<StreamGraph>> endCapture(void *stream) override {
    CUgraph captured = nullptr;
    CUgraphExec graph = nullptr;
    ZERO_CUDA(driver, cuStreamEndCapture(static_cast<CUstream>(stream), &captured));
    // Without the flag a graph's nodes all run at the priority of the stream that it is launched in.
    Status made = driver.check(driver.cuGraphInstantiateWithFlags(&graph, captured, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY),
                               "cuGraphInstantiateWithFlags");
    driver.cuGraphDestroy(captured);
    ZERO_RETURN_IF_ERROR(made);
    return std::unique_ptr<StreamGraph>(std::make_unique<CudaGraph>(context, graph));
  }

  Status waitFromGraph(Event &event, void *stream) override {
    return static_cast<CudaEvent &>(event).waitFromGraph(static_cast<CUstream>(stream));
  }
  Status recordFromGraph(Event &event, void *stream) override {
    return static_cast<CudaEvent &>(event).recordFromGraph(static_cast<CUstream>(stream));
  }
  void recordedByGraph(Event &event, uint64_t value) override { static_cast<CudaEvent &>(event).recordedByGraph(value); }

  Status bindThread() override { return context->makeCurrent(); }
  void abandon() override { context->abandon(); }

  Expected<uint64_t> usedBytes() const override {
    size_t free = 0, total = 0;
    ZERO_CUDA(driver, cuMemGetInfo(&free, &total));
    return total - free;
  }

private:
  std::shared_ptr<const CudaContext> context;
  const Driver &driver;
  CUstream copies = nullptr; ///< for what the host waits for at once
  Failure none;
};

/// As nvidia-smi writes it.
std::string uuidText(const CUuuid &uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
  }
  return text;
}

} // namespace

Expected<std::vector<std::string>> findCudaDevices() {
  ZERO_ASSIGN_OR_RETURN(const Driver *driver, Driver::get());
  int count = 0;
  if (Status status = driver->check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount"); !status.ok() || count == 0)
    return Status::badInput("the driver of CUDA shows no GPU" + (status.ok() ? "" : ": " + status.message()));
  std::vector<std::string> uuids;
  for (int index = 0; index < count; ++index) {
    CUdevice device = 0;
    CUuuid uuid = {};
    ZERO_CUDA(*driver, cuDeviceGet(&device, index));
    ZERO_CUDA(*driver, cuDeviceGetUuid(&uuid, device)); // of a part of a GPU, where that is the device
    uuids.push_back(uuidText(uuid));
  }
  return uuids;
}

Expected<std::unique_ptr<StreamDevice>> createCudaDevice(unsigned index, const CudaDeviceOptions &options) {
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> all, findCudaDevices());
  if (index >= all.size())
    return Status::badInput("there is no GPU " + std::to_string(index) + " among the " + std::to_string(all.size()) + " that the driver of CUDA shows");
  ZERO_ASSIGN_OR_RETURN(const Driver *driver, Driver::get());
  ZERO_ASSIGN_OR_RETURN(std::shared_ptr<const CudaContext> context, CudaContext::retain(*driver, index, options.mappedByPeers));
  auto device = std::make_unique<CudaDevice>(std::move(context));
  ZERO_RETURN_IF_ERROR(device->start());
  return std::unique_ptr<StreamDevice>(std::move(device));
}

} // namespace zero

//===- Module.cpp - Kernels that were loaded ------------------------------===//
#include "test/CUDA/Shim/Module.h"
#include "test/CUDA/Shim/Memory.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace zero::shim {
namespace {

constexpr const char *kLaunch = "cuLaunchKernel";
/// Limits of every GPU that is simulated.
constexpr unsigned kMostThreads = 1024, kMostBlocksYZ = 65535, kMostBlockZ = 64;
constexpr uint64_t kMostBlocksX = (uint64_t(1) << 31) - 1;

uint64_t objectSize(const void *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize;
}

/// 90 of "sm_90", 1000 of none.
int numberIn(std::string_view architecture) {
  size_t underscore = architecture.find('_');
  return underscore == std::string_view::npos ? 1000 : std::atoi(std::string(architecture.substr(underscore + 1)).c_str());
}

/// Code for one architecture runs on later ones of its generation, text on all later ones.
bool runsOn(std::string_view architecture, const Capability &device) {
  int number = numberIn(architecture), own = device.major * 10 + device.minor;
  return architecture.starts_with("compute_") ? number <= own : number / 10 == device.major && number <= own;
}

/// The value of one argument, copied when the kernel is submitted.
struct Argument {
  alignas(16) std::byte value[64];
};

CUresult checkShape(const LaunchRequest &request, const Function &function) {
  const auto &[grid, block] = std::pair(request.grid, request.block);
  auto refuse = [&](const std::string &what) {
    return misuse(CUDA_ERROR_INVALID_VALUE, kLaunch, text("kernel ", function.kernel->name, ": ", what));
  };
  if (!grid.x || !grid.y || !grid.z || grid.x > kMostBlocksX || grid.y > kMostBlocksYZ || grid.z > kMostBlocksYZ)
    return refuse(text("a grid of ", grid.x, " x ", grid.y, " x ", grid.z, " blocks is not possible"));
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!threads || threads > kMostThreads || block.z > kMostBlockZ)
    return refuse(text("a block of ", block.x, " x ", block.y, " x ", block.z, " threads is not possible"));
  if (unsigned most = function.kernel->mostThreads; most && threads > most)
    return refuse(text(threads, " threads of a block are more than the ", most, " of its __launch_bounds__"));
  if (request.sharedBytes > static_cast<unsigned>(function.mostDynamicShared.load()))
    return refuse(text(request.sharedBytes, " bytes of dynamic shared memory are more than the ", function.mostDynamicShared.load(), " that it was allowed"));
  return CUDA_SUCCESS;
}

/// Where the kernel finds what a pointer of the device points to.
CUresult translate(const zero_shim::Kernel &kernel, unsigned number, int device, CUresult code, Argument &argument) {
  void *pointer;
  std::memcpy(&pointer, argument.value, sizeof pointer);
  if (!pointer || HostMemory::get().kindOf(pointer, 1) == HostMemory::Kind::Pinned)
    return CUDA_SUCCESS;
  Place place = DeviceMemory::get().findPointer(pointer, device);
  if (!place.fault.empty())
    return misuse(code, kLaunch, text("kernel ", kernel.name, ", parameter ", number, ": ", place.fault));
  std::memcpy(argument.value, &place.alias, sizeof place.alias);
  return CUDA_SUCCESS;
}

} // namespace

Handles<Module> &modules() {
  static auto *all = new Handles<Module>("module", 5);
  return *all;
}

Handles<Function> &functions() {
  static auto *all = new Handles<Function>("function", 6);
  return *all;
}

Capability deviceCapability() {
  std::string architecture = setting("ZERO_SHIM_ARCHITECTURE");
  int number = architecture.empty() ? 90 : numberIn(architecture);
  return {number / 10, number % 10};
}

Module::~Module() {
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}

CUresult Module::load(const void *image) {
  // A file that holds no code is bad input, not a misuse.
  if (!image || std::memcmp(image, ELFMAG, SELFMAG) != 0)
    return CUDA_ERROR_INVALID_IMAGE;
  // The loader knows libraries by their name: that of the file stays taken as long as the module lives.
  file = memfd_create("simulated module", MFD_CLOEXEC);
  uint64_t size = objectSize(image);
  if (file < 0 || write(file, image, size) != static_cast<ssize_t>(size))
    return CUDA_ERROR_OUT_OF_MEMORY;
  library = dlopen(text("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return misuse(CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadData", dlerror());
  object = static_cast<const zero_shim::Object *>(dlsym(library, "zero_shim_object"));
  if (!object)
    return CUDA_ERROR_INVALID_IMAGE;
  return runsOn(object->architecture, deviceCapability()) ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

const zero_shim::Kernel *Module::find(const char *name) const {
  for (unsigned i = 0; i < object->kernelCount; ++i)
    if (std::strcmp(object->kernels[i].name, name) == 0)
      return &object->kernels[i];
  return nullptr;
}

CUresult launchKernel(const LaunchRequest &request) {
  std::shared_ptr<Stream> stream;
  if (CUresult error = findStream(kLaunch, request.stream, stream))
    return error;
  std::shared_ptr<Function> function = functions().find(numberOf(request.function));
  if (!function)
    return misuse(CUDA_ERROR_INVALID_HANDLE, kLaunch, functions().describe(numberOf(request.function)));
  const zero_shim::Kernel &kernel = *function->kernel;
  if (&function->module->context != &stream->context)
    return misuse(CUDA_ERROR_INVALID_HANDLE, kLaunch, text("kernel ", kernel.name, " was loaded for device ", function->module->context.device, ", not ", stream->context.device));
  if (CUresult error = checkShape(request, *function))
    return error;
  if (kernel.parameterCount && !request.parameters)
    return misuse(CUDA_ERROR_INVALID_VALUE, kLaunch, text("kernel ", kernel.name, " has ", kernel.parameterCount, " parameters, and is given none"));

  const int device = stream->context.device;
  std::vector<Argument> arguments(kernel.parameterCount);
  for (unsigned i = 0; i < kernel.parameterCount; ++i) {
    const zero_shim::Parameter &parameter = kernel.parameters[i];
    if (!request.parameters[i] || parameter.size > sizeof(Argument::value))
      return misuse(CUDA_ERROR_INVALID_VALUE, kLaunch, text("kernel ", kernel.name, ", parameter ", i, ": there is no value, or one of more than ", sizeof(Argument::value), " bytes"));
    std::memcpy(arguments[i].value, request.parameters[i], parameter.size);
    Argument copy = arguments[i];
    if (parameter.isPointer)
      if (CUresult error = translate(kernel, i, device, CUDA_ERROR_INVALID_VALUE, copy))
        return error;
  }

  KernelLaunch launch{function->module->object, &kernel, request.grid, request.block, request.sharedBytes};
  Timing timing = Timing::fromSettings();
  // The module is kept by the function. What was freed since then is found when the kernel runs.
  Run run = [function, launch, arguments = std::move(arguments), device, timing]() mutable {
    std::vector<Argument> values = arguments;
    std::vector<void *> pointers;
    for (unsigned i = 0; i < values.size(); ++i) {
      if (launch.kernel->parameters[i].isPointer)
        if (CUresult error = translate(*launch.kernel, i, device, CUDA_ERROR_ILLEGAL_ADDRESS, values[i]))
          return error;
      pointers.push_back(values[i].value);
    }
    return runKernel(launch, pointers.data(), timing);
  };
  std::lock_guard lock(stream->context.mutex);
  stream->submit(kernel.name, std::move(run));
  return CUDA_SUCCESS;
}

} // namespace zero::shim

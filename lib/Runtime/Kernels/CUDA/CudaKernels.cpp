//===- CudaKernels.cpp - Library kernels with their parameters bound ------===//
#include "zero/Runtime/Kernels/CudaKernels.h"
#include "lib/Runtime/Kernels/CUDA/CublasLtMatmul.h"
#include "lib/Runtime/Kernels/CUDA/CudnnConvolution.h"
#include "zero/Runtime/HAL/Stream.h"
#include <algorithm>

using namespace zero;

namespace {

/// Launches of kernels of our own, one behind the other.
class LaunchedKernel final : public CudaKernel {
public:
  /// `instead`: why no library computes it.
  LaunchedKernel(StreamDevice &device, void *status, uint32_t command, std::string instead)
      : device(device), status(status), command(command), instead(std::move(instead)) {}

  Status add(const CudaLaunch &launch, DeviceModule &module) {
    ZERO_ASSIGN_OR_RETURN(DeviceFunction * function, module.find(launch.symbol));
    bound.push_back({function, {launch.grid, launch.block, launch.sharedBytes}, launch.arguments});
    addresses.resize(std::max(addresses.size(), launch.arguments.size()));
    return {};
  }

  Status enqueue(void *stream, void *const *pointers) override {
    for (const Bound &launch : bound) {
      for (size_t i = 0; i < launch.arguments.size(); ++i)
        addresses[i] = addressOf(launch.arguments[i], pointers);
      ZERO_RETURN_IF_ERROR(device.launch(*launch.function, launch.shape, addresses.data(), stream));
    }
    return {};
  }

  std::string algorithmText() const override { return instead.empty() ? "" : "generated: " + instead; }
  std::string insteadOfLibrary() const override { return instead; }

private:
  struct Bound {
    DeviceFunction *function;
    LaunchShape shape;
    std::vector<CudaArgument> arguments;
  };

  void *addressOf(const CudaArgument &argument, void *const *pointers) {
    switch (argument.kind) {
    case CudaArgument::Kind::Pointer:
      return const_cast<void **>(pointers + argument.index);
    case CudaArgument::Kind::Status:
      return &status;
    case CudaArgument::Kind::Command:
      break;
    }
    return &command;
  }

  StreamDevice &device;
  void *status;
  uint32_t command;
  const std::string instead;
  std::vector<Bound> bound;
  std::vector<void *> addresses; ///< of one launch's arguments
};

} // namespace

Expected<std::unique_ptr<CudaKernel>> zero::prepareCudaKernel(std::string_view name, std::span<const int64_t> integers,
                                                              std::span<const double> reals, std::span<void *const> pointers,
                                                              const CudaOptions &options, const CudaKernelPlace &place) {
  ZERO_ASSIGN_OR_RETURN(std::vector<CudaLaunch> launches, planCudaLaunches(name, integers, reals, options));
  if (isCudaLibraryProduct(name, integers))
    return kernels::prepareCublasLtMatmul(integers, pointers, options, place.device);
  std::string instead;
  if (isCudaLibraryConvolution(name, integers, options)) {
    instead = place.withoutCudnn;
    if (instead.empty()) {
      ZERO_ASSIGN_OR_RETURN(kernels::CudnnKernel prepared, kernels::prepareCudnnConvolution(name, integers, pointers, options, place.device));
      if (prepared.kernel)
        return std::move(prepared.kernel);
      instead = "cuDNN has no engine: " + prepared.refusal;
    }
  }
  auto kernel = std::make_unique<LaunchedKernel>(place.device, place.status, place.command, std::move(instead));
  for (const CudaLaunch &launch : launches)
    ZERO_RETURN_IF_ERROR(kernel->add(launch, place.module));
  return std::unique_ptr<CudaKernel>(std::move(kernel));
}

//===- CudnnConvolution.cpp - Convolutions by cuDNN -----------------------===//
//
// An operation graph of one convolution for each dispatch, an engine chosen once, and a variant pack of the dispatch's pointers: a launch
// names the stream and executes. Tensors are as the plan has them, channels before places; engines that want another order make copies in
// their workspace.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/CUDA/CudnnConvolution.h"
#include "lib/Runtime/Kernels/CUDA/CudnnEngines.h"
#include "lib/Runtime/Kernels/CUDA/CudnnGraph.h"
#include "lib/Runtime/Kernels/CUDA/LibraryHandle.h"
#include "lib/Runtime/Kernels/Element.h"
#include <algorithm>

using namespace zero;
using namespace zero::kernels;

namespace {

/// One handle for all convolutions of a device; those that use it do so one after the other.
class Handle final : public LibraryHandle<Handle, CudnnTable, cudnnHandle_t> {
public:
  using LibraryHandle::LibraryHandle;

  Status execute(void *wanted, const CudnnDescriptor &plan, const CudnnDescriptor &pack) {
    std::lock_guard lock(mutex);
    if (wanted != stream) {
      ZERO_RETURN_IF_ERROR(table.check("SetStream", table.SetStream(get(), static_cast<cudaStream_t>(wanted))));
      stream = wanted;
    }
    return table.check("BackendExecute", table.BackendExecute(get(), plan.get(), pack.get()));
  }

private:
  std::mutex mutex;
  void *stream = nullptr; ///< that it was given last
};

/// Which of a dispatch's pointers, reads before writes, is data, kernel and out.
std::array<size_t, 3> pointersOf(ConvolutionResult result) {
  switch (result) {
  case ConvolutionResult::Data: // reads out, kernel
    return {2, 1, 0};
  case ConvolutionResult::Kernel: // reads data, out
    return {0, 2, 1};
  case ConvolutionResult::Out:
    break;
  }
  return {0, 1, 2};
}

/// Beyond this many bytes alignment changes nothing.
constexpr int64_t kMostAlignment = 16;

int64_t alignmentOf(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  int64_t alignment = kMostAlignment;
  while (address % static_cast<uintptr_t>(alignment))
    alignment /= 2;
  return alignment;
}

class CudnnConvolution final : public CudaKernel {
public:
  /// `graph`: what the choice was made for.
  CudnnConvolution(const CudnnTable &table, std::shared_ptr<Handle> handle, std::unique_ptr<CudnnGraph> graph, CudnnChoice choice, ConvolutionResult result)
      : table(table), handle(std::move(handle)), graph(std::move(graph)), choice(std::move(choice)), places(pointersOf(result)) {}

  /// Binds the pointers of later launches.
  Status bind(void *const *pointers) {
    CudnnDescriptor made(table, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    std::vector<void *> tensors;
    for (size_t place : places)
      tensors.push_back(pointers[place]);
    void *workspace = choice.workspaceBytes ? pointers[kWorkspace] : nullptr;
    made.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::vector<int64_t>(kCudnnTensors.begin(), kCudnnTensors.end()))
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, tensors)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace)
        .finalize();
    ZERO_RETURN_IF_ERROR(made.status());
    pack.emplace(std::move(made));
    std::copy_n(pointers, kWorkspace, bound.begin());
    bound[kWorkspace] = workspace;
    return {};
  }

  Status enqueue(void *stream, void *const *pointers) override {
    const bool isBound = std::equal(bound.begin(), bound.begin() + kWorkspace, pointers) && (!choice.workspaceBytes || bound[kWorkspace] == pointers[kWorkspace]);
    if (!isBound)
      ZERO_RETURN_IF_ERROR(bind(pointers));
    return handle->execute(stream, *choice.plan, *pack);
  }

  std::string algorithmText() const override { return choice.text(); }
  uint64_t wantedWorkspaceBytes() const override { return choice.beforeBytes; }

private:
  static constexpr size_t kWorkspace = 3; ///< number of its pointer

  const CudnnTable &table;
  // Kept in the order in which they were made of each other.
  const std::shared_ptr<Handle> handle;
  const std::unique_ptr<CudnnGraph> graph;
  const CudnnChoice choice;
  const std::array<size_t, 3> places;
  std::array<void *, kWorkspace + 1> bound = {};
  std::optional<CudnnDescriptor> pack;
};

} // namespace

Expected<CudnnKernel> kernels::prepareCudnnConvolution(std::string_view name, std::span<const int64_t> integers, std::span<void *const> pointers,
                                                       const CudaOptions &options, StreamDevice &device) {
  const uint64_t workspaceBytes = cudaWorkspaceBytes(name, integers, options);
  const size_t needed = workspaceBytes ? 4 : 3;
  if (pointers.size() != needed)
    return Status::badInput("kernel '" + std::string(name) + "': takes " + std::to_string(needed) + " pointers, got " + std::to_string(pointers.size()));
  const ConvolutionResult result = name == "conv"             ? ConvolutionResult::Out
                                   : name == "conv_transpose" ? ConvolutionResult::Data
                                                              : ConvolutionResult::Kernel;
  const ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
  ZERO_ASSIGN_OR_RETURN(const CudnnTable *table, CudnnTable::get());
  ZERO_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Handle::of(*table, device));
  std::array<int64_t, 3> alignments;
  std::array<size_t, 3> places = pointersOf(result);
  for (size_t i = 0; i < places.size(); ++i)
    alignments[i] = alignmentOf(pointers[places[i]]);
  auto graph = std::make_unique<CudnnGraph>(*table, shape, result, alignments, handle->get());
  if (!graph->ok())
    return graph->refusal().empty() ? Expected<CudnnKernel>(graph->status()) : Expected<CudnnKernel>(CudnnKernel{nullptr, graph->refusal()});
  const CudnnPermissions permissions = {workspaceBytes, shape.element == static_cast<int64_t>(Element::F32), options.tf32, options.fast};
  ZERO_ASSIGN_OR_RETURN(CudnnChoice choice, chooseCudnnEngine(*table, graph->get(), {handle->get()}, permissions));
  if (!choice.plan)
    return CudnnKernel{nullptr, choice.refusal};
  auto made = std::make_unique<CudnnConvolution>(*table, std::move(handle), std::move(graph), std::move(choice), result);
  ZERO_RETURN_IF_ERROR(made->bind(pointers.data()));
  return CudnnKernel{std::move(made), ""};
}

//===- LibraryBytes.cpp - How far kernels of the library reach ------------===//
#include "LibraryBytes.h"
#include "zero/Analysis/CudaOptions.h"
#include "zero/Runtime/Kernels/SliceBytes.h"

using namespace mlir;

namespace zero {

std::optional<LibraryBytes> getLibraryBytes(plan::DispatchOp dispatch) {
  auto module = dispatch->getParentOfType<ModuleOp>();
  const std::string_view name(dispatch.getKernel().data(), dispatch.getKernel().size());
  ArrayRef<int64_t> integers = dispatch.getIntegers();
  std::optional<std::vector<uint64_t>> operands = kernelOperandBytes(name, integers);
  if (!operands)
    return std::nullopt;
  const uint64_t workspace = plan::isForCuda(module) ? cudaWorkspaceBytes(name, integers, getCudaOptions(module)) : kernelScratchBytes(name, integers, *operands);
  return LibraryBytes{std::move(*operands), workspace};
}

} // namespace zero

//===- CudaSource.cpp - The whole CUDA C++ of a plan ----------------------===//
#include "../EmitCudaKernels.h"
#include "dialects/Plan/PlanOps.h"
#include "zero/Analysis/CudaOptions.h"
#include "zero/Codegen/CudaCodegen.h"
#include "zero/Runtime/HAL/MarkKernel.h"
#include "zero/Runtime/HAL/NonFiniteKernel.h"
#include "zero/Runtime/HAL/OrderedSumKernel.h"
#include "llvm/ADT/StringSet.h"
#include <set>

using namespace mlir;

namespace zero {

namespace {

/// The library's part of a program: texts, then what is made of them, each once.
class LibrarySource {
public:
  Status add(plan::DispatchOp dispatch, const CudaOptions &options) {
    StringRef name = dispatch.getKernel();
    ZERO_ASSIGN_OR_RETURN(std::vector<CudaLaunch> launches, planCudaLaunches(std::string_view(name.data(), name.size()), dispatch.getIntegers(),
                                                                             dispatch.getReals(), options));
    for (const CudaLaunch &launch : launches) {
      for (std::string_view file : launch.sources)
        ZERO_RETURN_IF_ERROR(addText(file));
      if (symbols.insert(launch.symbol).second)
        instantiations += launch.instantiation + "\n";
    }
    return {};
  }

  /// Marks around collectives, and sums over ranks that are not NCCL's own: in rank order, or kept in another type than they are sent in.
  Status add(plan::CollectiveOp collective) {
    ZERO_RETURN_IF_ERROR(addText(kMarkText));
    auto number = [](Type type) { return type.isF16() ? FloatType::F16 : type.isBF16() ? FloatType::BF16 : FloatType::F32; };
    if (collective.getKind() == plan::CollectiveKind::all_gather || !isa<mlir::FloatType>(collective.getElement()))
      return {};
    ZERO_RETURN_IF_ERROR(addText("OrderedSum.cuh"));
    const FloatType element = number(collective.getElement()), target = number(collective.getResultElement());
    if (symbols.insert(orderedSumSymbol(element, target)).second)
      instantiations += orderedSumInstantiation(element, target) + "\n";
    return {};
  }

  /// What finds gradients that are not finite.
  Status add(plan::StepResultOp) { return addText(kNonFiniteText); }

  std::string texts, instantiations;

private:
  Status addText(std::string_view file) {
    if (!files.insert(std::string(file)).second)
      return {};
    std::string_view text = cudaLibrarySource(file);
    if (text.empty())
      return Status::programFailed("the library of CUDA kernels has no text '" + std::string(file) + "'");
    texts += text;
    texts += "\n";
    return {};
  }

  llvm::StringSet<> symbols;
  std::set<std::string> files;
};

} // namespace

Expected<std::string> makeCudaSource(ModuleOp plan) {
  const CudaOptions options = getCudaOptions(plan);
  llvm::StringSet<> generated;
  for (auto kernel : plan.getOps<plan::KernelOp>())
    generated.insert(kernel.getSymName());
  LibrarySource library;
  for (auto section : plan.getOps<plan::SectionOp>())
    for (Operation &op : section.getBody().front()) {
      auto dispatch = dyn_cast<plan::DispatchOp>(op);
      if (dispatch && !generated.contains(dispatch.getKernel()))
        ZERO_RETURN_IF_ERROR(library.add(dispatch, options));
      if (auto collective = dyn_cast<plan::CollectiveOp>(op))
        ZERO_RETURN_IF_ERROR(library.add(collective));
    }
  for (auto result : plan.getOps<plan::StepResultOp>())
    ZERO_RETURN_IF_ERROR(library.add(result));
  ZERO_ASSIGN_OR_RETURN(std::string kernels, emitCudaKernels(plan));
  std::string source = getCudaPrelude().str() + "\n" + library.texts;
  for (StringRef part : {StringRef(library.instantiations), StringRef(kernels)})
    source += part.empty() ? "" : part.str() + "\n";
  return source;
}

} // namespace zero

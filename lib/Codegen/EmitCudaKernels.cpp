//===- EmitCudaKernels.cpp - plan-emit-cuda-kernels -----------------------===//
//
//   plan.kernel @k {body_function = @body, launch = #plan.launch<1, 32, 0>}   ->
//
//   extern "C" __global__ void __launch_bounds__(32) k(const float *__restrict__ p0, float *__restrict__ p1) { ... }
//
//===----------------------------------------------------------------------===//
#include "EmitCudaKernels.h"
#include "CUDA/CudaEmitter.h"
#include "dialects/Plan/PlanOps.h"
#include "zero/Codegen/Passes.h"
#include "llvm/ADT/StringMap.h"
#include <numeric>

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_PLANEMITCUDAKERNELS
#include "zero/Codegen/Passes.h.inc"

namespace {

/// What the plan says of the pointers of its kernels.
class KernelPointers {
public:
  explicit KernelPointers(ModuleOp plan) {
    if (auto config = plan->getAttrOfType<DictionaryAttr>("zero.config"))
      if (auto ranks = config.getAs<IntegerAttr>("world_size"))
        worldSize = ranks.getInt();
    for (auto kernel : plan.getOps<plan::KernelOp>())
      kernels[kernel.getSymName()];
    plan.walk([&](plan::DispatchOp dispatch) {
      if (auto kernel = kernels.find(dispatch.getKernel()); kernel != kernels.end())
        add(dispatch, kernel->second);
    });
  }

  /// Of a kernel that nothing dispatches, what its function allows.
  SmallVector<CudaPointer> get(plan::KernelOp kernel, func::FuncOp function) const {
    const SmallVector<CudaPointer> &known = kernels.find(kernel.getSymName())->second;
    const unsigned operands = function.getNumArguments(), results = function.getNumResults();
    if (known.size() == operands + results)
      return known;
    SmallVector<CudaPointer> pointers(operands + results);
    for (unsigned operand = 0; operand < operands; ++operand)
      for (unsigned result = 0; result < results; ++result)
        if (canComputeInPlace(function, operand, result))
          pointers[operand].overlaps = pointers[operands + result].overlaps = true;
    return pointers;
  }

private:
  bool overlaps(plan::SliceAttr a, plan::SliceAttr b) const {
    auto end = [&](plan::SliceAttr slice) { return slice.getOffset() + slice.getSize() + slice.getRankStride() * (worldSize - 1); };
    return a.getBuffer() == b.getBuffer() && a.getOffset() < end(b) && b.getOffset() < end(a);
  }

  void add(plan::DispatchOp dispatch, SmallVector<CudaPointer> &pointers) {
    auto reads = llvm::to_vector(dispatch.getReads().getAsRange<plan::SliceAttr>()),
         writes = llvm::to_vector(dispatch.getWrites().getAsRange<plan::SliceAttr>());
    pointers.resize(reads.size() + writes.size());
    // Buffers begin at multiples of more.
    auto align = [](CudaPointer &pointer, plan::SliceAttr slice) {
      pointer.alignment = std::gcd(pointer.alignment, std::gcd(slice.getOffset(), slice.getRankStride()));
    };
    for (auto [i, read] : llvm::enumerate(reads))
      align(pointers[i], read);
    for (auto [i, write] : llvm::enumerate(writes)) {
      CudaPointer &pointer = pointers[reads.size() + i];
      align(pointer, write);
      for (auto [j, read] : llvm::enumerate(reads))
        if (overlaps(read, write))
          pointer.overlaps = pointers[j].overlaps = true;
    }
  }

  int64_t worldSize = 1;
  llvm::StringMap<SmallVector<CudaPointer>> kernels;
};

Expected<std::string> emitKernel(plan::KernelOp kernel, const KernelPointers &pointers) {
  std::string name = kernel.getSymName().str();
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(kernel, kernel.getBodyFunctionAttr());
  if (!function || function.isExternal())
    return Status::programFailed("kernel " + name + ": there is no body function " + kernel.getBodyFunction().str());
  std::string why;
  FailureOr<OwningOpRef<func::FuncOp>> flat = flattenKernel(function, &why);
  if (failed(flat) || !isCodegenSupported(flat->get(), &why))
    return Status::programFailed("kernel " + name + ": " + why);
  KernelShape shape = *computeKernelShape(flat->get());
  CudaSchedule schedule = computeCudaSchedule(flat->get(), shape);
  if (kernel.getLaunch() && *kernel.getLaunch() != schedule.getLaunch(kernel.getContext()))
    return Status::programFailed("kernel " + name + ": it is not launched as its code is written; zero-to-plan and the code follow CudaSchedule");
  return CudaEmitter(flat->get(), shape, schedule, pointers.get(kernel, function)).emit(name);
}

} // namespace

Expected<std::string> emitCudaKernels(ModuleOp plan) {
  KernelPointers pointers(plan);
  std::string text;
  for (auto kernel : plan.getOps<plan::KernelOp>()) {
    ZERO_ASSIGN_OR_RETURN(std::string one, emitKernel(kernel, pointers));
    text += (text.empty() ? "" : "\n") + one;
  }
  return text;
}

namespace {
class PlanEmitCudaKernels : public impl::PlanEmitCudaKernelsBase<PlanEmitCudaKernels> {
public:
  using PlanEmitCudaKernelsBase::PlanEmitCudaKernelsBase;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    Expected<std::string> text = emitCudaKernels(getOperation());
    if (text.ok()) {
      llvm::outs() << *text;
      return;
    }
    getOperation().emitError(text.status().message());
    signalPassFailure();
  }
};
} // namespace
} // namespace zero

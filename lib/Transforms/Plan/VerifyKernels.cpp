//===- VerifyKernels.cpp - plan-verify-kernels ----------------------------===//
//
// Changes nothing. What it refuses, for example:
//
//   plan.dispatch "matmull" on compute reads [..] writes [..] waits [] {integers = .., reals = ..}
//   error: there is no kernel 'matmull'; the nearest known one is 'matmul'
//
// Test: test/Transforms/Plan/verify-kernels.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/CudaOptions.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include "zero/Transforms/Plan/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_PLANVERIFYKERNELS
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {

constexpr StringLiteral kLibrary[] = {
#define ZERO_KERNEL(name, factory, reads, writes) #name,
#include "zero/Runtime/Kernels/KernelTable.inc"
};

class PlanVerifyKernels : public impl::PlanVerifyKernelsBase<PlanVerifyKernels> {
public:
  using PlanVerifyKernelsBase::PlanVerifyKernelsBase;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto kernel : getOperation().getOps<plan::KernelOp>())
      generated.insert(kernel.getSymName());
    for (auto section : getOperation().getOps<plan::SectionOp>())
      for (auto dispatch : section.getBody().front().getOps<plan::DispatchOp>())
        if (failed(check(dispatch)))
          return signalPassFailure();
  }

private:
  LogicalResult check(plan::DispatchOp dispatch) {
    StringRef name = dispatch.getKernel();
    if (generated.contains(name)) {
      if (dispatch.getIntegers().empty() && dispatch.getReals().empty())
        return success();
      return dispatch.emitError() << "gives generated kernel '" << name << "' parameters, of which it takes none";
    }
    if (!llvm::is_contained(kLibrary, name))
      return dispatch.emitError() << "there is no kernel '" << name << "'; the nearest known one is '" << findNearest(name) << "'";
    std::string key = (name + StringRef("\0", 1)).str();
    key.append(reinterpret_cast<const char *>(dispatch.getIntegers().data()), dispatch.getIntegers().size() * sizeof(int64_t));
    key.append(reinterpret_cast<const char *>(dispatch.getReals().data()), dispatch.getReals().size() * sizeof(double));
    if (!prepared.insert(key).second)
      return success();
    // The library itself says what it takes, as it will when the program starts.
    Status status = ask(std::string_view(name.data(), name.size()), dispatch);
    if (status.ok())
      return success();
    return dispatch.emitError() << status.message();
  }

  Status ask(std::string_view name, plan::DispatchOp dispatch) {
    if (!plan::isForCuda(getOperation()))
      return prepareKernel(name, dispatch.getIntegers(), dispatch.getReals(), KernelOptions()).status();
    return planCudaLaunches(name, dispatch.getIntegers(), dispatch.getReals(), getCudaOptions(getOperation())).status();
  }

  StringRef findNearest(StringRef name) const {
    StringRef nearest;
    unsigned fewest = ~0u;
    auto consider = [&](StringRef known) {
      if (unsigned edits = name.edit_distance(known); edits < fewest) {
        fewest = edits;
        nearest = known;
      }
    };
    for (StringRef known : kLibrary)
      consider(known);
    for (auto kernel : const_cast<PlanVerifyKernels *>(this)->getOperation().getOps<plan::KernelOp>())
      consider(kernel.getSymName());
    return nearest;
  }

  llvm::StringSet<> generated, prepared;
};

} // namespace
} // namespace zero

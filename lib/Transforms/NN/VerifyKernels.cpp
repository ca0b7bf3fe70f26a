//===- VerifyKernels.cpp - nn-verify-kernels ------------------------------===//
//
// Every op that stands outside groups has a kernel of the library for its element types. Edits nothing.
// Test: test/Transforms/NN/verify-kernels.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/LibraryKernels.h"
#include "zero/Transforms/NN/Passes.h"

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_NNVERIFYKERNELS
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNVerifyKernels : public impl::NNVerifyKernelsBase<NNVerifyKernels> {
public:
  using NNVerifyKernelsBase::NNVerifyKernelsBase;
  void runOnOperation() override {
    bool ok = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        for (Operation &op : block)
          if (std::string why = whyNoLibraryKernel(&op); !why.empty()) {
            op.emitError() << why;
            ok = false;
          }
    if (!ok)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace zero

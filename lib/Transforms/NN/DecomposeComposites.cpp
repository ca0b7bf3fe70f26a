//===- DecomposeComposites.cpp - nn-decompose-composites ------------------===//
//
//   %y = nn.softmax %x axis 1 : tensor<8x10xf32>
// becomes
//   %m = nn.reduce max %x axes [1] : tensor<8x10xf32> to tensor<8xf32>
//   %e = nn.exp (nn.sub %x, (nn.broadcast %m dims [0]))
//   %s = nn.reduce sum %e axes [1]
//   %y = nn.div %e, (nn.broadcast %s dims [0])
// Test: test/Transforms/NN/decompose-composites.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/LibraryKernels.h"
#include "zero/Transforms/NN/Passes.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNDECOMPOSECOMPOSITES
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNDecomposeComposites : public impl::NNDecomposeCompositesBase<NNDecomposeComposites> {
public:
  using NNDecomposeCompositesBase::NNDecomposeCompositesBase;
  void runOnOperation() override {
    if (failed(checkKeep()))
      return signalPassFailure();
    SmallVector<DecomposableOpInterface> composites;
    getOperation().walk([&](DecomposableOpInterface op) {
      if (!llvm::is_contained(keep, op->getName().getStringRef()) || !whyNoLibraryKernel(op).empty())
        composites.push_back(op);
    });
    for (DecomposableOpInterface op : composites)
      if (failed(decompose(op)))
        return signalPassFailure();
  }

private:
  LogicalResult checkKeep() {
    for (const std::string &name : keep) {
      std::optional<RegisteredOperationName> op = RegisteredOperationName::lookup(name, &getContext());
      if (!op || !op->hasInterface<DecomposableOpInterface>())
        return getOperation().emitError() << "keep names '" << name << "', which is not a composite op";
    }
    return success();
  }

  LogicalResult decompose(DecomposableOpInterface op) {
    for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
      if (!cast<ShapedType>(type).hasStaticShape())
        return op->emitError() << "has the type " << type
                               << " whose shape is not static; run nn-bind-batch first";
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> values = op.decompose(builder);
    if (failed(values))
      return failure();
    op->replaceAllUsesWith(*values);
    // A result that nobody reads leaves its formula behind: erase it from the last op to the first.
    Operation *made = op->getPrevNode();
    op->erase();
    while (made != before) {
      Operation *previous = made->getPrevNode();
      if (isOpTriviallyDead(made))
        made->erase();
      made = previous;
    }
    return success();
  }
};
} // namespace
} // namespace zero

//===- WidenFloats.cpp - nn-widen-floats ----------------------------------===//
//
//   %y = nn.cumsum %a axis 1 : tensor<8x4xbf16>   ->   %0 = nn.cast %a to f32
//                                                      %1 = nn.cumsum %0 axis 1 : tensor<8x4xf32>
//                                                      %y = nn.cast %1 to bf16
//
// Generated kernels compute f16 and bf16 themselves, in f32 and op by op, and so do the library's products, attention
// and scatter_add; some others have wider floats only, convolutions oneDNN for f32 alone, and sums of a reduction are not rounded before their end. What
// only moves elements (gather, transpose, scatter assign, ...) stays. Test:
// test/Transforms/NN/widen-floats.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/TensorBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Transforms/NN/Passes.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNWIDENFLOATS
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

bool isNarrow(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && (type.getElementType().isF16() || type.getElementType().isBF16());
}

/// Computes with floats, in a kernel that the library has for wider ones only or that is far faster for them.
bool isWideArithmetic(Operation *op) {
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return scatter.getKind() != ScatterKind::assign;
  // Generated code sums lanes, tiles and runs of axes one after the other: their sums are not rounded in between.
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::sum || reduce.getKind() == ReduceKind::prod;
  return isa<ConvOp, ConvTransposeOp, ConvWeightGradOp, MaxPoolOp, SumPoolOp, CumSumOp>(op);
}

class NNWidenFloats : public impl::NNWidenFloatsBase<NNWidenFloats> {
public:
  using NNWidenFloatsBase::NNWidenFloatsBase;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isWideArithmetic(op) &&
          (llvm::any_of(op->getOperands(), isNarrow) || llvm::any_of(op->getResults(), isNarrow)))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      widen(op);
  }

private:
  static void widen(Operation *op) {
    OpBuilder builder(op);
    TensorBuilder b(builder, op->getLoc());
    for (OpOperand &operand : op->getOpOperands())
      if (isNarrow(operand.get()))
        operand.set(b.cast(operand.get(), builder.getF32Type()));
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      if (!isNarrow(result))
        continue;
      Type element = TensorBuilder::elementOf(result);
      result.setType(cast<RankedTensorType>(result.getType()).clone(builder.getF32Type()));
      Value narrow = b.cast(result, element);
      result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
    }
  }
};

} // namespace
} // namespace zero

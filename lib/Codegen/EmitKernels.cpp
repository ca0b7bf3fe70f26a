//===- EmitKernels.cpp - plan-emit-kernels --------------------------------===//
//
//   plan.kernel @k {body_function = @body}   ->   func.func @k(%pointers: !llvm.ptr, %begin: i64, %end: i64)
//   {
//                                                   scf.for %i = %begin to %end step %c1 : i64 { ... }
//                                                 }
//                                                 llvm.mlir.global external constant @k_takes(dense<[items, slices, bytes of each ..]>)
//
//===----------------------------------------------------------------------===//
#include "EmitKernels.h"
#include "KernelEmitter.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Codegen/Passes.h"

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_PLANEMITKERNELS
#include "zero/Codegen/Passes.h.inc"

/// What the kernel takes, in the object itself (GeneratedKernels.h): whoever loads it compares the plan with that.
static void emitTakes(OpBuilder &builder, plan::KernelOp kernel, FunctionType type) {
  SmallVector<int64_t> numbers = {static_cast<int64_t>(kernel.getItems()), type.getNumInputs() + type.getNumResults()};
  for (Type one : llvm::concat<const Type>(type.getInputs(), type.getResults())) {
    auto tensor = cast<RankedTensorType>(one);
    numbers.push_back(tensor.getNumElements() * getElementBytes(tensor.getElementType()));
  }
  auto count = static_cast<int64_t>(numbers.size());
  LLVM::GlobalOp::create(builder, kernel.getLoc(), LLVM::LLVMArrayType::get(builder.getI64Type(), numbers.size()), /*isConstant=*/true,
                         LLVM::Linkage::External, (kernel.getSymName() + "_takes").str(),
                         DenseElementsAttr::get(RankedTensorType::get({count}, builder.getI64Type()), ArrayRef(numbers)));
}

static Status emitKernel(OpBuilder &builder, plan::KernelOp kernel) {
  std::string name = kernel.getSymName().str();
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(kernel, kernel.getBodyFunctionAttr());
  if (!function || function.isExternal())
    return Status::programFailed("kernel " + name + ": there is no body function " +
                                 kernel.getBodyFunction().str());
  std::string why;
  FailureOr<OwningOpRef<func::FuncOp>> flat = flattenKernel(function, &why);
  if (failed(flat) || !isCodegenSupported(flat->get(), &why))
    return Status::programFailed("kernel " + name + ": " + why);
  KernelEmitter(builder, flat->get(), *computeKernelShape(flat->get())).emit(name);
  emitTakes(builder, kernel, function.getFunctionType());
  return {};
}

Status emitKernels(ModuleOp plan, OpBuilder &builder) {
  for (auto kernel : plan.getOps<plan::KernelOp>())
    ZERO_RETURN_IF_ERROR(emitKernel(builder, kernel));
  return {};
}

namespace {
class PlanEmitKernels : public impl::PlanEmitKernelsBase<PlanEmitKernels> {
public:
  using PlanEmitKernelsBase::PlanEmitKernelsBase;
  void runOnOperation() override {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto generated = ModuleOp::create(builder, getOperation().getLoc(), "generated");
    builder.setInsertionPointToEnd(generated.getBody());
    if (Status status = emitKernels(getOperation(), builder); !status.ok()) {
      getOperation().emitError(status.message());
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace zero

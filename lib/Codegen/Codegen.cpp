//===- Codegen.cpp - The kernels of a plan --------------------------------===//
#include "zero/Codegen/Codegen.h"
#include "KernelEmitter.h"
#include "ObjectCode.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace zero {

static Status emitKernel(OpBuilder &builder, plan::KernelOp kernel) {
  std::string name = kernel.getSymName().str();
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(kernel, kernel.getBodyFunctionAttr());
  if (!function || function.isExternal())
    return Status::programFailed("kernel " + name + ": there is no body function " +
                                 kernel.getBodyFunction().str());
  std::string why;
  if (!isCodegenSupported(function, &why))
    return Status::programFailed("kernel " + name + ": " + why);
  FailureOr<OwningOpRef<func::FuncOp>> flat = flattenKernel(function, &why);
  if (failed(flat))
    return Status::programFailed("kernel " + name + ": " + why);
  FailureOr<KernelShape> shape = computeKernelShape(flat->get(), &why);
  if (failed(shape))
    return Status::programFailed("kernel " + name + ": " + why);
  KernelEmitter(builder, flat->get(), *shape).emit(name);
  return {};
}

static Expected<OwningOpRef<ModuleOp>> emitKernels(ModuleOp module) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                    math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> kernels(ModuleOp::create(module.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  for (auto kernel : module.getOps<plan::KernelOp>())
    ZERO_RETURN_IF_ERROR(emitKernel(builder, kernel));
  return kernels;
}

Expected<std::string> compileKernels(ModuleOp module, CpuVariant variant) {
  ZERO_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> kernels, emitKernels(module));
  ZERO_ASSIGN_OR_RETURN(std::string object, compileObject(*kernels, variant));
  return linkSharedObject(object);
}

Expected<std::string> printKernels(ModuleOp module) {
  ZERO_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> kernels, emitKernels(module));
  std::string text;
  llvm::raw_string_ostream os(text);
  kernels->print(os);
  return text;
}

} // namespace zero

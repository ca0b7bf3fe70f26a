//===- Codegen.cpp - The kernels of a plan as a shared object -------------===//
#include "zero/Codegen/Codegen.h"
#include "EmitKernels.h"
#include "ObjectCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace zero {

Expected<std::string> compileKernels(ModuleOp module, CpuVariant variant) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                    math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> kernels(ModuleOp::create(module.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  ZERO_RETURN_IF_ERROR(emitKernels(module, builder));
  ZERO_ASSIGN_OR_RETURN(std::string object, compileObject(*kernels, variant));
  return linkSharedObject(object);
}

} // namespace zero

//===- PlanOps.h - The plan dialect ---------------------------------------===//
#ifndef ZERO_DIALECTS_PLAN_PLANOPS_H
#define ZERO_DIALECTS_PLAN_PLANOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Plan/PlanEnums.h.inc"

#include "dialects/Plan/PlanDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.h.inc"

namespace zero::plan {
/// Buffers start at multiples of this many bytes: a cache line on CPUs, what cuBLASLt wants of its workspaces on GPUs.
inline constexpr uint64_t kBufferAlignment = 64, kCudaBufferAlignment = 256;

// Attributes of the module: what its kernels are for, and how those of target cuda compute.
inline constexpr llvm::StringLiteral kTargetAttrName = "plan.target";
inline constexpr llvm::StringLiteral kDeterministicAttrName = "plan.deterministic";
inline constexpr llvm::StringLiteral kFastAttrName = "plan.fast";
inline constexpr llvm::StringLiteral kTf32AttrName = "plan.tf32";
inline constexpr llvm::StringLiteral kPlainProductsAttrName = "plan.plain_products";
inline constexpr llvm::StringLiteral kCudnnConvolutionsAttrName = "plan.cudnn_convolutions";
inline constexpr llvm::StringLiteral kCudaWorkspaceAttrName = "plan.cuda_workspace_bytes";
/// Whether the kernels of `module` are for GPUs.
bool isForCuda(mlir::Operation *module);
/// The alignment of that target's buffers.
uint64_t getBufferAlignment(mlir::Operation *module);
/// Scratch that each product and convolution of a library gets there; 0 where nothing says how much.
uint64_t getCudaWorkspaceBytes(mlir::Operation *module);
} // namespace zero::plan

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

#endif

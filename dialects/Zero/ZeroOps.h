//===- ZeroOps.h - The zero dialect ---------------------------------------===//
#ifndef ZERO_DIALECTS_ZERO_ZEROOPS_H
#define ZERO_DIALECTS_ZERO_ZEROOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Zero/ZeroDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Zero/ZeroAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Zero/ZeroTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Zero/ZeroOps.h.inc"

namespace zero::sharding {
/// Elements a parameter starts at a multiple of, and that a bucket is padded to (times the mesh size).
inline constexpr int64_t kCellElements = 64;
/// Integers of an exact sum of squares (zero.sum_squares): the layout is that of
/// zero/Runtime/Kernels/ExactSum.h.
inline constexpr int64_t kExactSumWords = 24;
/// On a result of `@micro` of role gradient and type shard: the state keeps the whole local bucket, of which
/// the value is this rank's range.
inline constexpr llvm::StringLiteral kWholeBufferAttrName = "zero.whole_buffer";
/// On a bucket: backward passes over its block that read nothing of it, so that their gather is dead (i64).
inline constexpr llvm::StringLiteral kDeadGathersAttrName = "zero.dead_gathers";
/// The bucket symbol of a shard, full or partial type (or of a future of one); null for other types.
mlir::FlatSymbolRefAttr getBucketSymbol(mlir::Type type);
/// The bucket op that `type` names, looked up from `from`; null where there is none.
BucketOp getBucket(mlir::Operation *from, mlir::Type type);
/// The element of a shard, full or partial type (or of a future of one) of `bucket`.
mlir::Type getElement(BucketOp bucket, mlir::Type type);
/// A shard, full or partial type with another element: without one where it is `bucket`'s own.
mlir::Type withElement(BucketOp bucket, mlir::Type type, mlir::Type element);
/// The state of a zero.update that its result is the new value of: states are the parameter, its gradient, which gets no
/// new value, and the optimizer's.
inline unsigned getUpdatedState(unsigned resultNumber) { return resultNumber == 0 ? 0 : resultNumber + 1; }
/// The size of the mesh that `bucket` is on.
int64_t getMeshSize(BucketOp bucket);
} // namespace zero::sharding

#endif

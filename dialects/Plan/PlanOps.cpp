//===- PlanOps.cpp - Verifiers of the plan's records ----------------------===//
//
// What one record can get wrong on its own. What records say about one another (slices in buffers, buffers in
// arenas, events, sequence numbers, races) is checked by plan-verify.
//
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanOps.h"

using namespace mlir;
using namespace zero::plan;

LogicalResult BufferOp::verify() {
  if (static_cast<int64_t>(getSizeBytes()) < 0)
    return emitOpError("has a negative size of ") << static_cast<int64_t>(getSizeBytes()) << " bytes";
  if (getPaddingBytes() > getSizeBytes())
    return emitOpError("has ") << getPaddingBytes() << " padding bytes of " << getSizeBytes();
  if (std::optional<uint64_t> offset = getOffset(); offset && *offset % kBufferAlignment != 0)
    return emitOpError("starts at ") << *offset << ", which is not a multiple of " << kBufferAlignment;
  return success();
}

LogicalResult CollectiveOp::verify() {
  std::optional<Type> target = getTargetElement();
  if (!target)
    return success();
  if (getKind() != CollectiveKind::reduce_scatter)
    return emitOpError() << "has target element " << *target << ", but only a reduce_scatter changes elements";
  if (*target == getElement())
    return emitOpError() << "has target element " << *target << ", which is that of what is sent";
  return success();
}

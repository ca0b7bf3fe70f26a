//===- BufferAddresses.h - Buffers in one space of addresses --------------===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_BUFFERADDRESSES_H
#define ZERO_LIB_TRANSFORMS_PLAN_BUFFERADDRESSES_H

#include "zero/Analysis/PlanMemory.h"

namespace zero {

/// The address of the first byte of each buffer, in the order of `memory`, where the arenas lie one behind the other. Each buffer has an offset.
llvm::SmallVector<int64_t> getBufferAddresses(mlir::ModuleOp module, const PlanMemory &memory);

} // namespace zero

#endif

//===- StateFlow.h - Which state a value is, and what a scalar is made of --===//
#ifndef ZERO_LIB_TRANSFORMS_ZERO_STATEFLOW_H
#define ZERO_LIB_TRANSFORMS_ZERO_STATEFLOW_H

#include "mlir/IR/BuiltinOps.h"

namespace zero::sharding {

/// Shards of one bucket have one type, whatever state they are of. So: every update takes the states of its bucket, each in
/// its own place, and they come back as what they are; gathers are of parameters; micro-batches add up, each once; a norm
/// counts every bucket; loss, norm and scale come from what they are named after. Part of zero-verify-schedule.
mlir::LogicalResult verifyStateFlow(mlir::ModuleOp module);

} // namespace zero::sharding

#endif

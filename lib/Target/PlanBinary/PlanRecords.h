//===- PlanRecords.h - Plan ops as records of the container ---------------===//
#ifndef ZERO_LIB_TARGET_PLANBINARY_PLANRECORDS_H
#define ZERO_LIB_TARGET_PLANBINARY_PLANRECORDS_H

#include "Weights.h"
#include "mlir/IR/BuiltinOps.h"
#include "zero/Analysis/TargetRates.h"
#include "zero/Runtime/Base/Status.h"
#include <string>

namespace zero::planbinary {

/// The Plan section: one record for each op, mechanically.
Expected<std::string> makePlanRecords(mlir::ModuleOp module, const WeightsLayout &weights,
                                      llvm::StringRef command, const TargetRates &rates);

} // namespace zero::planbinary

#endif

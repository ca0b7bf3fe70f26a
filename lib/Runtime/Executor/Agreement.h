//===- Agreement.h - Ranks that were started alike ------------------------===//
//
// A rank with another program, other flags or other data would go unnoticed until the numbers are wrong, or wait for a collective
// that no peer starts. Every rank calls these; all get the same outcome: BadInput that names what differs, where and how.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_AGREEMENT_H
#define ZERO_LIB_RUNTIME_EXECUTOR_AGREEMENT_H

#include "zero/Container/Container.h"
#include "zero/Runtime/Executor/Training.h"

namespace zero {

/// The flags that decide what a rank does and when: before anything else is exchanged.
Status agreeOnFlags(const TrainingOptions &options, Bootstrap &bootstrap);
/// The fingerprint of plan, configuration, kernels and weights: before anything is allocated.
Status agreeOnProgram(const Container &container, Bootstrap &bootstrap);
/// How much data there are and, by their checksum (fingerprintData), which.
Status agreeOnData(const DataOptions &options, const DataSet &data, uint64_t fingerprint, Bootstrap &bootstrap);

} // namespace zero

#endif

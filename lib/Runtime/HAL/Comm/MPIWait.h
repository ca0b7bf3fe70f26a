//===- MPIWait.h - Waits for MPI requests without taking the core ---------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_MPIWAIT_H
#define ZERO_LIB_RUNTIME_HAL_COMM_MPIWAIT_H

#include "lib/Runtime/HAL/Comm/MPIStatus.h"
#include "zero/Runtime/HAL/Failure.h"

namespace zero {

/// Tests `requests` until all are complete, sleeping in between: OpenMPI's own waits spin, which takes the core from the
/// computation. Fails after `timeoutSeconds` or when `failure` is raised; `unfinished` is then the index of the first request
/// that is not complete.
Status waitForRequests(MPI_Request *requests, int count, double timeoutSeconds, const Failure &failure, int &unfinished);

} // namespace zero

#endif

//===- MPIWait.h - Waits for MPI requests without taking the core ---------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_MPIWAIT_H
#define ZERO_LIB_RUNTIME_HAL_COMM_MPIWAIT_H

#include "lib/Runtime/HAL/Comm/MPIStatus.h"
#include "zero/Runtime/HAL/Failure.h"

namespace zero {

/// Who waits, and knows for whom.
class MpiWaiter {
public:
  virtual ~MpiWaiter() = default;
  /// Whether a rank that is waited for has ended; asked from time to time.
  virtual Status findEnded() = 0;
  /// The error of a wait that took `seconds`.
  virtual Status describeTimeout(double seconds) = 0;
};

/// How long a thread sleeps between two looks at its requests. What comes at a steady rate teaches it to find one message or two with each
/// look, not to look several times for one: each look takes the core from the computation.
struct MpiPace {
  static constexpr int64_t kShortestNs = 20'000, kLongestNs = 1'000'000;
  static constexpr int kMostAtOnce = 2;
  int64_t intervalNs = kShortestNs;
  int found = 0; ///< waits in a row that were over with their first look
};

/// Tests `requests` until all are complete, sleeping in between: OpenMPI's own waits spin, which takes the core from the
/// computation. `statuses`: one for each, or MPI_STATUSES_IGNORE. Fails after `timeoutSeconds`, when a rank that is waited for has ended, or when `failure` is raised.
Status waitForRequests(MPI_Request *requests, int count, MPI_Status *statuses, double timeoutSeconds, const Failure &failure, MpiWaiter &waiter, MpiPace &pace);

} // namespace zero

#endif

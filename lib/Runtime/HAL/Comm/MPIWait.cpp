//===- MPIWait.cpp - Waits for MPI requests without taking the core -------===//
#include "lib/Runtime/HAL/Comm/MPIWait.h"
#include <chrono>
#include <sched.h>
#include <sys/prctl.h>
#include <thread>

namespace zero {

/// Sleeps end when they should, not up to 50 microseconds later.
static void sharpenSleeps() {
  thread_local bool done = false;
  if (!done)
    ::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  done = true;
}

Status waitForRequests(MPI_Request *requests, int count, double timeoutSeconds, const Failure &failure, MpiWaiter &waiter) {
  using Clock = std::chrono::steady_clock;
  constexpr int kYields = 16, kShortSleeps = 64, kRoundsPerLook = 4096; // 0.4 s
  Clock::time_point deadline;
  for (int round = 0;; ++round) {
    int complete = 0;
    ZERO_MPI(MPI_Testall(count, requests, &complete, MPI_STATUSES_IGNORE));
    if (complete)
      return {};
    if (round == 0) {
      sharpenSleeps();
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeoutSeconds));
    }
    if (round < kYields) {
      ::sched_yield();
      continue;
    }
    if (failure.raised())
      return Status::communication("given up after another failure");
    if (Clock::now() >= deadline)
      return waiter.describeTimeout(timeoutSeconds);
    if (round % kRoundsPerLook == 0)
      ZERO_RETURN_IF_ERROR(waiter.findEnded());
    std::this_thread::sleep_for(std::chrono::microseconds(round < kYields + kShortSleeps ? 20 : 100));
  }
}

} // namespace zero

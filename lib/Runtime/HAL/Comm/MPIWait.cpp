//===- MPIWait.cpp - Waits for MPI requests without taking the core -------===//
#include "lib/Runtime/HAL/Comm/MPIWait.h"
#include "lib/Runtime/HAL/Comm/Timeout.h"
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

Status waitForRequests(MPI_Request *requests, int count, double timeoutSeconds, const Failure &failure, int &unfinished) {
  using Clock = std::chrono::steady_clock;
  constexpr int kYields = 16, kShortSleeps = 64;
  unfinished = -1;
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
    Status problem;
    if (failure.raised())
      problem = Status::communication("given up after another failure");
    else if (Clock::now() >= deadline)
      problem = Status::communication(timeoutMessage(timeoutSeconds));
    if (!problem.ok()) {
      for (int i = 0; i < count && unfinished < 0; ++i) {
        int done = 0;
        ZERO_MPI(MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE));
        if (!done)
          unfinished = i;
      }
      return problem;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(round < kYields + kShortSleeps ? 20 : 100));
  }
}

} // namespace zero

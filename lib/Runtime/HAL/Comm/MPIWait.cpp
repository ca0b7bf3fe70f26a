//===- MPIWait.cpp - Waits for MPI requests without taking the core -------===//
#include "lib/Runtime/HAL/Comm/MPIWait.h"
#include <algorithm>
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

Status waitForRequests(MPI_Request *requests, int count, MPI_Status *statuses, double timeoutSeconds, const Failure &failure, MpiWaiter &waiter,
                       MpiPace &pace) {
  using Clock = std::chrono::steady_clock;
  constexpr int kYields = 4;
  constexpr Clock::duration kLook = std::chrono::milliseconds(400);
  Clock::time_point deadline, look;
  for (int round = 0;; ++round) {
    int complete = 0;
    ZERO_MPI(MPI_Testall(count, requests, &complete, statuses));
    if (complete) {
      pace.found = round == 0 ? pace.found + 1 : 0;
      if (pace.found > MpiPace::kMostAtOnce) { // they came earlier than expected
        pace.intervalNs = std::max(pace.intervalNs * 3 / 4, MpiPace::kShortestNs);
        pace.found = 0;
      }
      return {};
    }
    Clock::time_point now = Clock::now();
    if (round == 0) {
      sharpenSleeps();
      deadline = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeoutSeconds));
      look = now + kLook;
    }
    if (failure.raised())
      return Status::communication("given up after another failure");
    if (now >= deadline)
      return waiter.describeTimeout(timeoutSeconds);
    if (now >= look) {
      ZERO_RETURN_IF_ERROR(waiter.findEnded());
      look = now + kLook;
    }
    const bool shortest = pace.intervalNs == MpiPace::kShortestNs;
    if (shortest && round < kYields) {
      ::sched_yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(pace.intervalNs));
    if (round > (shortest ? kYields : 0)) // not once, but again
      pace.intervalNs = std::min(pace.intervalNs * 5 / 4, MpiPace::kLongestNs);
  }
}

} // namespace zero

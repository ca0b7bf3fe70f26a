//===- Worker.cpp - Threads that streams run on ---------------------------===//
#include "test/CUDA/Shim/Worker.h"
#include "test/CUDA/Shim/Faults.h"
#include "test/CUDA/Shim/Report.h"
#include <atomic>
#include <deque>
#include <thread>

namespace zero::shim {
namespace {

/// Holds a stream back: each has a habit of its own, which changes now and then.
class Delays {
public:
  Delays(const Timing &timing, uint64_t worker)
      : active(timing.mode == Timing::Mode::Adversarial), numbers(timing.seed * 0x100000001B3 + worker) {}
  void before() {
    if (!active)
      return;
    if (left-- == 0) {
      left = 1 + numbers.next() % 40;
      habit = numbers.next() % 4;
    }
    // Never, seldom and long, often and short, always a little.
    uint64_t draw = numbers.next();
    uint64_t microseconds = habit == 1   ? draw % 16 ? 0 : 2000
                            : habit == 2 ? draw % 3 ? 0 : 50 + draw % 200
                            : habit == 3 ? draw % 60
                                         : 0;
    if (microseconds)
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  }

private:
  const bool active;
  RandomNumbers numbers;
  unsigned left = 0, habit = 0;
};

} // namespace

Timing Timing::fromSettings() {
  std::string value = setting("ZERO_SHIM_TIMING");
  if (value.empty() || value == "concurrent")
    return {};
  if (value == "serial")
    return {Mode::Serial, 0};
  constexpr std::string_view kAdversarial = "adversarial:";
  char *end = nullptr;
  uint64_t seed = value.starts_with(kAdversarial) ? std::strtoull(value.c_str() + kAdversarial.size(), &end, 10) : 0;
  if (!end || *end || value.size() == kAdversarial.size())
    endProcess("ZERO_SHIM_TIMING", text("'", value, "' is neither concurrent, serial nor adversarial:SEED"));
  return {Mode::Adversarial, seed};
}

void Completion::complete() {
  {
    std::lock_guard lock(mutex);
    done = true;
    at = std::chrono::steady_clock::now();
  }
  changed.notify_all();
}

bool Completion::isComplete() const {
  std::lock_guard lock(mutex);
  return done;
}

void Completion::wait() const {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
}

std::chrono::steady_clock::time_point Completion::time() const {
  std::lock_guard lock(mutex);
  return at;
}

struct Worker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool closing = false;

  void run(Delays delays) {
    prepareThreadForFaults();
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return closing || !tasks.empty(); });
        if (tasks.empty())
          return;
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      delays.before();
      task();
    }
  }
};

Worker::Worker() : state(std::make_shared<State>()) {
  static std::atomic<uint64_t> count = 0;
  Delays delays(Timing::fromSettings(), count.fetch_add(1, std::memory_order_relaxed));
  // Detached: a stream that was destroyed finishes its work, and a process may end while one is stuck.
  std::thread([state = state, delays] { state->run(delays); }).detach();
}

Worker::~Worker() {
  {
    std::lock_guard lock(state->mutex);
    state->closing = true;
  }
  state->changed.notify_all();
}

void Worker::push(std::function<void()> task) {
  {
    std::lock_guard lock(state->mutex);
    state->tasks.push_back(std::move(task));
  }
  state->changed.notify_all();
}

} // namespace zero::shim

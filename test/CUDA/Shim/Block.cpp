//===- Block.cpp - Runs the blocks of a kernel ----------------------------===//
#include "test/CUDA/Shim/Block.h"
#include "test/CUDA/Shim/Fiber.h"
#include "test/CUDA/Shim/Memory.h"
#include "test/CUDA/Shim/SharedCheck.h"
#include <algorithm>
#include <cstring>
#include <link.h>
#include <numeric>
#include <sys/mman.h>

extern "C" __attribute__((visibility("default"))) __thread zero_shim::Thread zero_shim_thread = {};

namespace zero::shim {
namespace {

using zero_shim::Coordinates;

constexpr uint64_t kMostDynamicShared = 256 << 10, kSharedAlignment = 128;

/// What a thread of the block is at.
struct BlockThread {
  Coordinates index = {};
  Fiber *fiber = nullptr; ///< kept while it waits
  const char *operation = nullptr; ///< it waits in; null: it does not wait
  int line = 0;
  unsigned mask = 0;
  bool finished = false;
  // What it brings to its warp, and takes from it.
  unsigned long long bits = 0;
  unsigned source = 0;
  bool predicate = false;
};

/// Shared memory that is declared with a size, of all kernels of an object.
struct SharedBytes {
  std::byte *begin = nullptr;
  uint64_t size = 0;
  bool holds(const void *address) const {
    auto *at = static_cast<const std::byte *>(address);
    return at >= begin && at < begin + size;
  }
};

/// Lanes of a warp that wait for each other.
struct Meeting {
  unsigned mask = 0, arrived = 0;
  const char *operation = nullptr;
  int line = 0;
};

class BlockRunner {
public:
  static BlockRunner &get() { return own ? *own : create(); }

  CUresult run(const KernelLaunch &launch, void *const *arguments, const Timing &timing);

  // Called by the threads of the block.
  bool next();
  __attribute__((always_inline)) unsigned barrier(int predicate, const char *operation, int line);
  __attribute__((always_inline)) unsigned long long exchange(unsigned mask, unsigned long long bits, unsigned source, const char *operation, int line);
  __attribute__((always_inline)) unsigned vote(unsigned mask, int predicate, const char *operation, int line);
  void access(const void *address, unsigned size, bool isWrite);
  [[noreturn]] void abandon(CUresult code);
  void misuse(CUresult code, const std::string &text);

  std::string threadText(unsigned number) const;
  unsigned current = 0;
  CUresult abandonedWith = CUDA_SUCCESS;
  bool guards(const void *address) const { return running && running->guards(address); }
  bool overruns(const void *address) const {
    return dynamicEnd && address >= dynamicEnd && address < dynamicEnd + kPage;
  }

private:
  /// Asked for by every thread of every block: a plain pointer of the host's thread.
  static __thread BlockRunner *own __attribute__((tls_model("initial-exec")));
  static BlockRunner &create() {
    static thread_local BlockRunner runner;
    own = &runner;
    return runner;
  }
  void orderThreads(const Timing &timing);
  void prepareShared(const KernelLaunch &launch);
  CUresult runBlock();
  void begin(unsigned number);
  __attribute__((always_inline)) void suspend(const char *operation, int line);
  Fiber *takeFiber();
  /// What runs next: a thread that may go on, one that was not begun, or null.
  Fiber *choose();
  [[noreturn]] void leave();
  static void fiberMain();
  void checkMask(unsigned mask, const char *operation, int line);
  Meeting *arrive(unsigned mask, const char *operation, int line);
  void release(const Meeting &meeting);
  void reportDeadlock();
  Coordinates indexOf(unsigned number) const;

  const KernelLaunch *launch = nullptr;
  void *const *arguments = nullptr;
  unsigned threadCount = 0;
  std::vector<BlockThread> threads;
  std::vector<unsigned> order;
  std::vector<unsigned> ready; ///< a queue: what lies before `readyHead` has run
  size_t readyHead = 0;
  unsigned begun = 0, finished = 0;
  unsigned arrivedAtBarrier = 0, barrierCount = 0, barrierResult = 0, firstAtBarrier = 0;
  std::vector<std::vector<Meeting>> meetings; ///< by warp

  Fiber *main = nullptr, *running = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber *> freeFibers;

  std::byte *dynamicEnd = nullptr;
  SharedBytes staticShared;
  SharedCheck check;
};

__thread BlockRunner *BlockRunner::own = nullptr;

std::string coordinatesText(const Coordinates &at) { return text("(", at.x, ", ", at.y, ", ", at.z, ")"); }

/// Where the thread-local memory of the object that holds `address` lies for the calling thread.
SharedBytes threadLocalMemoryAround(const void *address) {
  struct Search {
    const std::byte *address;
    SharedBytes found;
  } search{static_cast<const std::byte *>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        auto *begin = static_cast<std::byte *>(info->dlpi_tls_data);
        for (int i = 0; begin && i < info->dlpi_phnum; ++i)
          if (const auto &header = info->dlpi_phdr[i]; header.p_type == PT_TLS && search.address >= begin && search.address < begin + header.p_memsz) {
            search.found = {begin, header.p_memsz};
            return 1;
          }
        return 0;
      },
      &search);
  return search.found;
}

Coordinates BlockRunner::indexOf(unsigned number) const {
  const Coordinates &size = launch->block;
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

std::string BlockRunner::threadText(unsigned number) const { return "thread " + coordinatesText(indexOf(number)); }

void BlockRunner::orderThreads(const Timing &timing) {
  order.resize(threadCount);
  std::iota(order.begin(), order.end(), 0);
  if (timing.mode != Timing::Mode::Adversarial)
    return;
  RandomNumbers numbers(timing.seed);
  if (numbers.next() % 2)
    return std::reverse(order.begin(), order.end());
  for (unsigned left = threadCount; left > 1; --left)
    std::swap(order[left - 1], order[numbers.next() % left]);
}

void BlockRunner::prepareShared(const KernelLaunch &launch) {
  if (!dynamicEnd) {
    void *at = mmap(nullptr, kMostDynamicShared + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || mprotect(static_cast<char *>(at) + kMostDynamicShared, kPage, PROT_NONE) != 0)
      endProcess("kernel", "there is no memory for dynamic shared memory");
    dynamicEnd = static_cast<std::byte *>(at) + kMostDynamicShared;
  }
  uint64_t begin = reinterpret_cast<uint64_t>(dynamicEnd - launch.sharedBytes) & ~(kSharedAlignment - 1);
  zero_shim_thread.dynamicShared = reinterpret_cast<void *>(begin);
  std::memset(zero_shim_thread.dynamicShared, kPoison, launch.sharedBytes);
  staticShared = threadLocalMemoryAround(launch.object->touchShared());
  std::memset(staticShared.begin, kPoison, staticShared.size);
}

CUresult BlockRunner::run(const KernelLaunch &toRun, void *const *values, const Timing &timing) {
  static thread_local Fiber threadItself;
  main = &threadItself;
  launch = &toRun;
  arguments = values;
  const Coordinates grid = toRun.grid, block = toRun.block;
  threadCount = block.x * block.y * block.z;
  threads.assign(threadCount, {});
  for (unsigned number = 0; number < threadCount; ++number)
    threads[number].index = indexOf(number);
  meetings.assign((threadCount + 31) / 32, {});
  orderThreads(timing);
  prepareShared(toRun);
  zero_shim_thread.blockDim = block;
  zero_shim_thread.gridDim = grid;
  zero_shim_thread.kernel = toRun.kernel->name;

  const uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
  RandomNumbers numbers(timing.seed + 1);
  const bool adversarial = timing.mode == Timing::Mode::Adversarial, backwards = adversarial && numbers.next() % 2;
  const uint64_t first = adversarial ? numbers.next() % blocks : 0;
  CUresult result = CUDA_SUCCESS;
  for (uint64_t step = 0; step < blocks && !result; ++step) {
    uint64_t number = (first + (backwards ? blocks - step : step)) % blocks;
    zero_shim_thread.blockIdx = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                                 static_cast<unsigned>(number / grid.x / grid.y)};
    result = runBlock();
  }
  zero_shim_thread.kernel = nullptr;
  return result;
}

CUresult BlockRunner::runBlock() {
  begun = finished = 0;
  arrivedAtBarrier = barrierCount = 0;
  ready.clear();
  readyHead = 0;
  for (BlockThread &thread : threads)
    thread.finished = false;
  abandonedWith = CUDA_SUCCESS;
  if (launch->object->checksShared)
    check.beginBlock(threadCount);
  running = takeFiber();
  Fiber::change(*main, *running);
  running = nullptr;
  if (!abandonedWith && finished == threadCount)
    return CUDA_SUCCESS;
  if (!abandonedWith)
    reportDeadlock();
  // The stacks of threads that did not end are taken up anew.
  freeFibers.clear();
  for (const std::unique_ptr<Fiber> &fiber : fibers) {
    fiber->restart();
    freeFibers.push_back(fiber.get());
  }
  for (std::vector<Meeting> &warp : meetings)
    warp.clear();
  return abandonedWith;
}

Fiber *BlockRunner::takeFiber() {
  if (freeFibers.empty()) {
    fibers.push_back(std::make_unique<Fiber>(&BlockRunner::fiberMain, static_cast<unsigned>(fibers.size())));
    return fibers.back().get();
  }
  Fiber *fiber = freeFibers.back();
  freeFibers.pop_back();
  return fiber;
}

void BlockRunner::fiberMain() {
  BlockRunner &runner = get();
  while (true) {
    // Whoever switched here saw a thread that was not begun.
    runner.begin(runner.order[runner.begun++]);
    runner.launch->kernel->run(runner.arguments);
    // No thread is left to begin.
    runner.freeFibers.push_back(runner.running);
    Fiber *self = runner.running, *next = runner.choose();
    runner.running = next;
    Fiber::change(*self, next ? *next : *runner.main);
  }
}

void BlockRunner::begin(unsigned number) {
  current = number;
  zero_shim_thread.threadIdx = threads[number].index;
}

bool BlockRunner::next() {
  threads[current].finished = true;
  ++finished;
  if (begun == threadCount)
    return false;
  begin(order[begun++]);
  return true;
}

Fiber *BlockRunner::choose() {
  if (readyHead < ready.size()) {
    unsigned thread = ready[readyHead++];
    if (readyHead == ready.size()) {
      ready.clear();
      readyHead = 0;
    }
    begin(thread);
    return threads[thread].fiber;
  }
  return begun < threadCount ? takeFiber() : nullptr;
}

void BlockRunner::suspend(const char *operation, int line) {
  BlockThread &self = threads[current];
  self.operation = operation;
  self.line = line;
  self.fiber = running;
  Fiber *next = choose();
  running = next;
  Fiber::change(*self.fiber, next ? *next : *main);
  // choose() has made this thread the current one again.
  running = self.fiber;
  self.operation = nullptr;
}

unsigned BlockRunner::barrier(int predicate, const char *operation, int line) {
  if (arrivedAtBarrier == 0)
    firstAtBarrier = current;
  else if (const BlockThread &first = threads[firstAtBarrier]; first.line != line || std::strcmp(first.operation, operation) != 0)
    misuse(CUDA_ERROR_LAUNCH_FAILED, text("it waits in ", operation, " of line ", line, ", but ", threadText(firstAtBarrier), " in ",
                                          first.operation, " of line ", first.line));
  barrierCount += predicate != 0;
  if (++arrivedAtBarrier < threadCount) {
    suspend(operation, line);
    return barrierResult;
  }
  barrierResult = barrierCount;
  arrivedAtBarrier = barrierCount = 0;
  if (launch->object->checksShared)
    check.barrier();
  for (unsigned number : order)
    if (number != current)
      ready.push_back(number);
  return barrierResult;
}

void BlockRunner::checkMask(unsigned mask, const char *operation, int line) {
  unsigned lane = current % 32, warp = current / 32;
  if (!(mask >> lane & 1))
    misuse(CUDA_ERROR_LAUNCH_FAILED, text(operation, " of line ", line, ": its mask ", hex(mask), " leaves out the calling lane ", lane));
  if (unsigned lanes = std::min(32u, threadCount - warp * 32); lanes < 32 && mask >> lanes)
    misuse(CUDA_ERROR_LAUNCH_FAILED, text(operation, " of line ", line, ": its mask ", hex(mask), " names lanes beyond the ", lanes, " of the warp"));
}

Meeting *BlockRunner::arrive(unsigned mask, const char *operation, int line) {
  unsigned lane = current % 32, warp = current / 32;
  for (Meeting &meeting : meetings[warp])
    if (meeting.mask == mask && meeting.line == line && meeting.operation == operation) {
      meeting.arrived |= 1u << lane;
      return &meeting;
    }
  meetings[warp].push_back({mask, 1u << lane, operation, line});
  return &meetings[warp].back();
}

void BlockRunner::release(const Meeting &meeting) {
  unsigned warp = current / 32;
  if (launch->object->checksShared)
    check.meet(warp, meeting.mask);
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((meeting.mask >> lane & 1) && warp * 32 + lane != current)
      ready.push_back(warp * 32 + lane);
  std::erase_if(meetings[warp], [&](const Meeting &other) { return &other == &meeting; });
}

unsigned long long BlockRunner::exchange(unsigned mask, unsigned long long bits, unsigned source, const char *operation, int line) {
  BlockThread &self = threads[current];
  checkMask(mask, operation, line);
  if (source >= 32 || !(mask >> source & 1))
    misuse(CUDA_ERROR_LAUNCH_FAILED, text(operation, " of line ", line, ": reads lane ", source, ", which its mask ", hex(mask), " leaves out"));
  Meeting *meeting = arrive(mask, operation, line);
  self.bits = bits;
  self.source = source;
  self.mask = mask;
  if (meeting->arrived != mask) {
    suspend(operation, line);
    return self.bits;
  }
  BlockThread *warp = &threads[current / 32 * 32];
  unsigned long long values[32];
  for (unsigned left = mask; left; left &= left - 1)
    values[__builtin_ctz(left)] = warp[__builtin_ctz(left)].bits;
  for (unsigned left = mask; left; left &= left - 1)
    warp[__builtin_ctz(left)].bits = values[warp[__builtin_ctz(left)].source];
  release(*meeting);
  return self.bits;
}

unsigned BlockRunner::vote(unsigned mask, int predicate, const char *operation, int line) {
  BlockThread &self = threads[current];
  checkMask(mask, operation, line);
  Meeting *meeting = arrive(mask, operation, line);
  self.predicate = predicate != 0;
  self.mask = mask;
  if (meeting->arrived != mask) {
    suspend(operation, line);
    return static_cast<unsigned>(self.bits);
  }
  BlockThread *warp = &threads[current / 32 * 32];
  unsigned ballot = 0;
  for (unsigned left = mask; left; left &= left - 1)
    ballot |= static_cast<unsigned>(warp[__builtin_ctz(left)].predicate) << __builtin_ctz(left);
  for (unsigned left = mask; left; left &= left - 1)
    warp[__builtin_ctz(left)].bits = ballot;
  release(*meeting);
  return ballot;
}

void BlockRunner::access(const void *address, unsigned size, bool isWrite) {
  auto *dynamicBegin = static_cast<const std::byte *>(zero_shim_thread.dynamicShared);
  auto *at = static_cast<const std::byte *>(address);
  uint64_t first;
  if (staticShared.holds(address))
    first = kMostDynamicShared + static_cast<uint64_t>(at - staticShared.begin);
  else if (dynamicBegin && at >= dynamicBegin && at < dynamicEnd)
    first = static_cast<uint64_t>(at - dynamicBegin);
  else
    return;
  SharedCheck::Race race;
  for (unsigned byte = 0; byte < size; ++byte)
    if (check.access(first + byte, current, isWrite, race))
      misuse(CUDA_ERROR_LAUNCH_FAILED,
             text(isWrite ? "it writes" : "it reads", " shared memory that ", threadText(race.thread), race.wroteBefore ? " has written" : " has read",
                  " without a barrier in between"));
}

void BlockRunner::reportDeadlock() {
  for (unsigned number = 0; number < threadCount; ++number) {
    const BlockThread &waiting = threads[number];
    if (!waiting.operation)
      continue;
    // Whom does it wait for?
    const bool isBarrier = std::strncmp(waiting.operation, "__syncthreads", 13) == 0;
    for (unsigned other = 0; other < threadCount; ++other) {
      const BlockThread &missing = threads[other];
      bool meets = isBarrier ? missing.operation && std::strncmp(missing.operation, "__syncthreads", 13) == 0
                             : other / 32 != number / 32 || !(waiting.mask >> other % 32 & 1) ||
                                   (missing.operation == waiting.operation && missing.line == waiting.line && missing.mask == waiting.mask);
      if (meets)
        continue;
      current = number;
      misuse(CUDA_ERROR_LAUNCH_TIMEOUT,
             text("it waits in ", waiting.operation, " of line ", waiting.line, " for ", threadText(other),
                  missing.finished ? std::string(", which has returned") : text(", which waits in ", missing.operation, " of line ", missing.line)));
      return;
    }
  }
  misuse(CUDA_ERROR_LAUNCH_TIMEOUT, "its threads wait for each other");
}

void BlockRunner::misuse(CUresult code, const std::string &what) {
  std::string where = text("kernel ", launch->kernel->name, ", ", threadText(current), " of block ", coordinatesText(zero_shim_thread.blockIdx));
  if (exitsOnMisuse())
    endProcess(where, what);
  say(where, what);
  abandonedWith = code;
  // On the thread's own stack there is nothing to leave.
  if (running)
    leave();
}

void BlockRunner::leave() {
  Fiber::change(*running, *main);
  __builtin_unreachable();
}

void BlockRunner::abandon(CUresult code) {
  abandonedWith = code;
  leave();
}

} // namespace

CUresult runKernel(const KernelLaunch &launch, void *const *arguments, const Timing &timing) {
  return BlockRunner::get().run(launch, arguments, timing);
}

std::string currentThreadText() {
  return BlockRunner::get().threadText(BlockRunner::get().current) + " of block " + coordinatesText(zero_shim_thread.blockIdx);
}

bool isKernelStackOverflow(const void *address) { return BlockRunner::get().guards(address); }
bool isDynamicSharedOverrun(const void *address) { return BlockRunner::get().overruns(address); }

void abandonKernel(CUresult error) { BlockRunner::get().abandon(error); }

} // namespace zero::shim

extern "C" {
#define ZERO_SHIM_EXPORT __attribute__((visibility("default")))
ZERO_SHIM_EXPORT bool zero_shim_next() { return zero::shim::BlockRunner::get().next(); }
ZERO_SHIM_EXPORT unsigned zero_shim_barrier(int predicate, const char *operation, int line) {
  return zero::shim::BlockRunner::get().barrier(predicate, operation, line);
}
ZERO_SHIM_EXPORT unsigned long long zero_shim_exchange(unsigned mask, unsigned long long bits, unsigned source, const char *operation, int line) {
  return zero::shim::BlockRunner::get().exchange(mask, bits, source, operation, line);
}
ZERO_SHIM_EXPORT unsigned zero_shim_vote(unsigned mask, int predicate, const char *operation, int line) {
  return zero::shim::BlockRunner::get().vote(mask, predicate, operation, line);
}
ZERO_SHIM_EXPORT unsigned long long zero_shim_nanoseconds() {
  constexpr unsigned long long kAhead = 86'400'000'000'000; // a day
  return static_cast<unsigned long long>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()) + kAhead;
}
ZERO_SHIM_EXPORT void zero_shim_trap(const char *what, int line) {
  zero::shim::BlockRunner::get().misuse(CUDA_ERROR_LAUNCH_FAILED, zero::shim::text(what, " of line ", line));
}
ZERO_SHIM_EXPORT void zero_shim_access(const void *address, unsigned size, bool isWrite) {
  zero::shim::BlockRunner::get().access(address, size, isWrite);
}
}

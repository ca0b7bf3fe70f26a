//===- SharedPeers.cpp - Memory of the other ranks of this machine --------===//
#include "lib/Runtime/HAL/Comm/SharedPeers.h"
#include "lib/Runtime/HAL/CPU/LargePages.h"
#include "lib/Runtime/HAL/Comm/Machine.h"
#include "zero/Runtime/Base/ProcessMemory.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <linux/futex.h>
#include <new>
#include <sstream>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zero {
namespace {

void *mapShared(int file, uint64_t size) {
  void *base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return base == MAP_FAILED ? nullptr : base;
}

/// The same, to be read, at a multiple of a large page's: elsewhere the system would map the file's large pages as small ones.
char *mapSharedAtLargePage(int file, uint64_t size) {
  void *place = mapAtLargePage(size);
  if (place && ::mmap(place, size, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED)
    return static_cast<char *>(place);
  if (place)
    ::munmap(place, size);
  return nullptr;
}

/// Sleeps while `number` is `seen`, at most for the interval in which failures are looked for.
void sleepOn(std::atomic<uint32_t> &number, uint32_t seen) {
  timespec interval = {0, 50'000'000};
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&number), FUTEX_WAIT, seen, &interval, nullptr, 0);
}

void advance(std::atomic<uint32_t> &number, uint32_t value) {
  number.store(value, std::memory_order_release);
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&number), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace

Expected<std::unique_ptr<SharedPeers>> SharedPeers::create(unsigned rank, std::vector<SharedMemory> memory) {
  int file = ::memfd_create("zero-meeting", MFD_CLOEXEC);
  void *own = file >= 0 && ::ftruncate(file, sizeof(Places)) == 0 ? mapShared(file, sizeof(Places)) : nullptr;
  if (!own)
    return Status::programFailed(std::string("cannot make memory for meetings of ranks: ") + std::strerror(errno));
  return std::unique_ptr<SharedPeers>(new SharedPeers(rank, std::move(memory), file, new (own) Places));
}

SharedPeers::~SharedPeers() {
  for (Peer &peer : ranks) {
    if (peer.places && peer.places != own)
      ::munmap(peer.places, sizeof(Places));
    for (Mapping &mapping : peer.memory)
      ::munmap(mapping.base, mapping.size);
  }
  ::munmap(own, sizeof(Places));
  ::close(file);
}

std::string SharedPeers::introduction() const {
  std::string text = std::to_string(file) + " " + std::to_string(memory.size());
  for (const SharedMemory &one : memory) {
    text += " " + std::to_string(one.file) + " " + std::to_string(one.size) + " " + std::to_string(one.inLargePages) + " " +
            std::to_string(one.ranges.size());
    for (auto [begin, end] : one.ranges)
      text += " " + std::to_string(begin) + " " + std::to_string(end);
  }
  return text;
}

Status SharedPeers::meet(const std::vector<std::string> &introductions, const SharedJobView &view) {
  ranks.resize(introductions.size());
  ranks[self].places = own;
  for (unsigned rank = 0; rank < introductions.size(); ++rank) {
    int id = view.processOf(rank);
    if (id == 0)
      continue;
    auto cannot = [&](const std::string &what) {
      return Status::programFailed("cannot map the " + what + " of rank " + std::to_string(rank) + " (process " + std::to_string(id) +
                                   "): " + std::strerror(errno) + "; --shared-memory=off exchanges messages instead");
    };
    auto map = [&](int theirs, auto mapOpened) -> void * {
      int opened = openFileOf(id, theirs);
      void *base = opened < 0 ? nullptr : mapOpened(opened);
      int error = errno;
      if (opened >= 0)
        ::close(opened);
      errno = error;
      return base;
    };
    std::istringstream words(introductions[rank]);
    int theirs = -1;
    size_t count = 0;
    words >> theirs >> count;
    ranks[rank].places = static_cast<Places *>(map(theirs, [](int opened) { return mapShared(opened, sizeof(Places)); }));
    if (!ranks[rank].places)
      return cannot("meeting points");
    for (size_t i = 0; i < count; ++i) {
      Mapping mapping = {};
      size_t ranges = 0;
      words >> theirs >> mapping.size >> mapping.inLargePages >> ranges;
      mapping.ranges.resize(ranges);
      for (ByteRange &range : mapping.ranges)
        words >> range.begin >> range.end;
      if (ranges) {
        mapping.base = static_cast<char *>(map(theirs, [&](int opened) { return mapSharedAtLargePage(opened, mapping.size); }));
        if (!mapping.base)
          return cannot("memory");
      }
      ranks[rank].memory.push_back(std::move(mapping));
    }
    others.push_back(rank);
  }
  return {};
}

uint64_t SharedPeers::bytesOfPeers() const {
  uint64_t bytes = 0;
  for (const Peer &peer : ranks)
    for (const Mapping &mapping : peer.memory)
      for (auto [begin, end] : mapping.ranges)
        bytes += residentBytes(mapping.base + begin, end - begin);
  return bytes;
}

Expected<bool> SharedMeeting::enter(const void *source) {
  SharedPeers::Place &mine = place(peers.self);
  uint32_t index = 0;
  uint64_t offset = 0;
  for (size_t i = 0; i < peers.memory.size() && !index; ++i) {
    const SharedMemory &memory = peers.memory[i];
    uint64_t at = reinterpret_cast<uintptr_t>(source) - reinterpret_cast<uintptr_t>(memory.base);
    if (std::any_of(memory.ranges.begin(), memory.ranges.end(), [&](ByteRange range) { return at >= range.begin && at < range.end; }))
      index = static_cast<uint32_t>(i) + 1, offset = at;
  }
  mine.memory.store(index, std::memory_order_relaxed);
  mine.offset.store(offset, std::memory_order_relaxed);
  advance(mine.arrived, ++sequence);
  bool inPlace = index != 0;
  for (unsigned rank : ranks()) {
    ZERO_RETURN_IF_ERROR(waitFor(place(rank).arrived));
    inPlace &= place(rank).memory.load(std::memory_order_relaxed) != 0;
  }
  return inPlace;
}

const void *SharedMeeting::sourceOf(unsigned rank) const {
  uint32_t index = place(rank).memory.load(std::memory_order_relaxed);
  return peers.ranks[rank].memory[index - 1].base + place(rank).offset.load(std::memory_order_relaxed);
}

void SharedMeeting::letGo(unsigned rank, uint64_t offset, uint64_t bytes) {
  const SharedPeers::Mapping &mapping = peers.ranks[rank].memory[place(rank).memory.load(std::memory_order_relaxed) - 1];
  if (!mapping.inLargePages)
    return;
  const uint64_t at = place(rank).offset.load(std::memory_order_relaxed) + offset;
  uint64_t begin = at / kLargePage * kLargePage, end = (at + bytes + kLargePage - 1) / kLargePage * kLargePage;
  ::madvise(mapping.base + begin, std::min(end, mapping.size) - begin, MADV_DONTNEED);
}

Status SharedMeeting::leave() {
  advance(place(peers.self).read, sequence);
  for (unsigned rank : ranks())
    ZERO_RETURN_IF_ERROR(waitFor(place(rank).read));
  return {};
}

/// Waits until the number of a peer has come to this collective's.
Status SharedMeeting::waitFor(std::atomic<uint32_t> &number) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLooks = 64; // a peer that is about to come costs no sleep; more would take the core from the computation
  Clock::time_point deadline = {};
  for (int look = 0;; ++look) {
    uint32_t seen = number.load(std::memory_order_acquire);
    if (static_cast<int32_t>(seen - sequence) >= 0)
      return {};
    if (look < kLooks)
      continue;
    if (look == kLooks)
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeoutSeconds));
    if (failure.raised())
      return Status::communication("given up after another failure");
    if (Clock::now() >= deadline)
      return view.timedOut(timeoutSeconds, channel);
    ZERO_RETURN_IF_ERROR(view.endedRank(channel));
    sleepOn(number, seen);
  }
}

} // namespace zero

//===- StreamMarks.cpp - What a stream has come to, read while it goes on -===//
#include "zero/Runtime/HAL/StreamMarks.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace zero {

static int64_t steadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Expected<std::unique_ptr<StreamMarks>> StreamMarks::create(StreamDevice &device, DeviceModule &program) {
  std::unique_ptr<StreamMarks> marks(new StreamMarks(device));
  auto kernel = program.find(kMarkSymbol);
  if (!kernel.ok())
    return kernel.status().annotate("the program does not say what streams have come to; compile it again");
  marks->kernel = *kernel;
  ZERO_ASSIGN_OR_RETURN(marks->last, device.allocate("number of the last mark", sizeof(uint64_t)));
  ZERO_ASSIGN_OR_RETURN(marks->slots, device.allocatePinned(kMarkSlots * sizeof(MarkSlot)));
  std::memset(marks->slots->data(), 0, kMarkSlots * sizeof(MarkSlot));
  ZERO_RETURN_IF_ERROR(marks->compareClocks());
  return marks;
}

Status StreamMarks::put(uint64_t what, void *stream) {
  std::byte *number = last->data(), *first = slots->data();
  uint64_t count = kMarkSlots;
  void *arguments[] = {&number, &first, &count, &what};
  return device.launch(*kernel, LaunchShape(), arguments, stream);
}

/// A mark is seen by the host a little after it was passed: of several the least distance is the truest.
Status StreamMarks::compareClocks() {
  constexpr int kRounds = 5;
  Failure failure;
  std::unique_ptr<Queue> queue = device.createQueue({"marks", 0, /*onCallingThread=*/true}, failure);
  gap = std::numeric_limits<int64_t>::max();
  offset = std::numeric_limits<int64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 2; ++i)
      ZERO_RETURN_IF_ERROR(put(0, queue->stream()));
    if (!device.synchronize(queue->stream(), failure))
      return failure.status();
    compared = steadyNanoseconds();
    MarkSlot first = {}, second = {};
    if (!read(taken + 1, first) || !read(taken + 2, second))
      return Status::programFailed("the device's marks do not come to the host");
    taken += 2;
    gap = std::min(gap, static_cast<int64_t>(second.nanoseconds - first.nanoseconds));
    offset = std::min(offset, compared - static_cast<int64_t>(second.nanoseconds));
  }
  return {};
}

bool StreamMarks::read(uint64_t number, MarkSlot &slot) const {
  auto *words = reinterpret_cast<uint64_t *>(slots->data()) + (number % kMarkSlots) * (sizeof(MarkSlot) / sizeof(uint64_t));
  auto load = [&](int word) { return std::atomic_ref(words[word]).load(std::memory_order_acquire); };
  slot.number = load(0);
  slot.what = load(1);
  slot.nanoseconds = load(2);
  return slot.number == number && load(0) == number;
}

void StreamMarks::take(const std::function<void(const Passed &)> &visit) {
  const int64_t now = steadyNanoseconds();
  // The clocks run a little differently. Nothing is passed after it was seen; and the other way the distance may grow by this much.
  constexpr int64_t kDrift = 10000;
  offset += (now - compared) / kDrift;
  compared = now;
  MarkSlot slot = {};
  while (true) {
    if (!read(taken + 1, slot)) {
      // Either it has not been passed yet, or its slot holds a later one by now, and so do those behind it up to that one.
      if (slot.number <= taken + 1)
        return;
      taken = slot.number - kMarkSlots;
      continue;
    }
    ++taken;
    offset = std::min(offset, steadyNanoseconds() - static_cast<int64_t>(slot.nanoseconds));
    lastTime = std::max(lastTime, static_cast<int64_t>(slot.nanoseconds) + offset);
    visit({slot.what, lastTime});
  }
}

} // namespace zero

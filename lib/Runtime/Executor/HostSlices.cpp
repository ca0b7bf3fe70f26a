//===- HostSlices.cpp - What the host gives to sections and takes from them ===//
#include "lib/Runtime/Executor/HostSlices.h"

namespace zero {

/// Ranges start at whole lines, so that copies are aligned as in the arena.
static constexpr uint64_t kLine = 256;

Expected<HostSlices> HostSlices::create(Device &device, std::vector<ArenaBytes> given, unsigned copies) {
  HostSlices slices;
  slices.ranges = std::move(given);
  slices.device = device.streams();
  if (!slices.device || slices.ranges.empty())
    return slices;
  for (const ArenaBytes &range : slices.ranges) {
    slices.offsets.push_back(slices.stride);
    slices.stride += (range.size + kLine - 1) / kLine * kLine;
  }
  ZERO_ASSIGN_OR_RETURN(slices.pinned, slices.device->allocatePinned(copies * std::max(slices.stride, kLine)));
  for (unsigned copy = 0; copy < copies; ++copy)
    slices.copied.push_back(device.createEvent("copied"));
  slices.times.resize(copies);
  return slices;
}

Status HostSlices::send(Queue &queue, const std::vector<bool> &takes, Failure &failure) {
  if (!pinned)
    return {};
  for (size_t i = 0; i < ranges.size(); ++i)
    if (takes.empty() || takes[i])
      ZERO_RETURN_IF_ERROR(device->uploadAsync(ranges[i].address, at(i), ranges[i].size, queue.stream()));
  stream = queue.stream();
  queue.record(*copied[current], ++times[current]);
  current = (current + 1) % copied.size();
  return wait(failure);
}

Status HostSlices::fetch(Queue &queue) {
  if (!pinned)
    return {};
  for (size_t i = 0; i < ranges.size(); ++i)
    ZERO_RETURN_IF_ERROR(device->downloadAsync(at(i), ranges[i].address, ranges[i].size, queue.stream()));
  stream = queue.stream();
  queue.record(*copied[current], ++times[current]);
  return {};
}

Status HostSlices::wait(Failure &failure) {
  if (!pinned || copied[current]->wait(times[current], failure))
    return {};
  // The event says that something is wrong, the stream what.
  (void)device->synchronize(stream, failure);
  return failure.raised() ? failure.status() : Status::programFailed("a copy from or to the device fails");
}

} // namespace zero

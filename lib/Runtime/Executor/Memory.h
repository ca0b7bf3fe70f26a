//===- Memory.h - The arenas of a rank and what lies in them --------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_MEMORY_H
#define ZERO_LIB_RUNTIME_EXECUTOR_MEMORY_H

#include "lib/Runtime/Executor/ArenaBytes.h"
#include "lib/Runtime/Executor/PinnedDownload.h"
#include "lib/Runtime/Executor/PinnedUpload.h"
#include "zero/Container/Container.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/HAL/Device.h"
#include <vector>

namespace zero {

class Memory {
public:
  /// Allocates every arena of the plan; `share`: so that peers can read the sources of its collectives in place. `device` outlives it.
  static Expected<Memory> allocate(const schema::Plan &plan, Device &device, unsigned rank, bool share);
  /// Fills parameters, masters and frozen tensors with the container's weights, each in its own type: this rank's part, or all
  /// where it holds all. No byte of them is read twice.
  Status loadWeights(const Container &container);

  /// Where the arena of a slice begins.
  std::byte *arenaOf(const schema::Slice &slice) const;
  /// An address of the device's; the host may use it where the device has no streams.
  std::byte *at(const schema::Slice &slice) const;
  /// `size` bytes (at most Executor::kReadBytes) from `offset` of a slice for the host to read, until the next call: where they are if it can,
  /// else in pinned memory. There the `following` bytes are on their way to, which are read next, before any queue writes them.
  Expected<const std::byte *> read(const schema::Slice &slice, uint64_t offset, uint64_t size, uint64_t following = 0);
  /// Reads something else than was to follow.
  void readAnew();
  uint64_t deviceBytes() const;
  /// The arenas whole.
  std::vector<ArenaBytes> ranges() const;
  ArenaBytes bytes(const schema::Slice &slice) const { return {at(slice), slice.size()}; }
  /// What peers can read, an entry for each arena.
  std::vector<SharedMemory> shared() const;

private:
  /// Elements of a state, from some place on.
  struct Target {
    std::byte *data;
    schema::ElementType element;
  };
  Status loadStates(const Container &container);
  Status loadBucket(const Container &container, uint32_t index);
  Status loadLone(const Container &container, const schema::State &state);
  Status load(const Container &container, const Container::Section &section, uint64_t offset, schema::ElementType from,
              const std::vector<Target> &targets, uint64_t elements);

  const schema::Plan *plan = nullptr;
  Device *device = nullptr;
  unsigned rank = 0;
  std::vector<std::unique_ptr<Arena>> arenas;
  std::unique_ptr<PinnedDownload> download; ///< there from the start: what was trained is not to be lost for want of it
  std::unique_ptr<PinnedUpload> upload; ///< of weights, while they are loaded to a device with streams
};

} // namespace zero

#endif

//===- GatheredElements.h - How many gathered parameters are held at once -===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_GATHEREDELEMENTS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_GATHEREDELEMENTS_H

#include "zero/Container/PlanView.h"
#include <vector>

namespace zero {

/// What a command changes in the number of elements of gathered buckets that are held.
struct GatherChange {
  uint64_t acquired = 0; ///< by this gather, from when it is handed to its queue
  uint64_t released = 0; ///< of buckets that no later command touches
};

/// One for each command of the section. Buckets that are gathered into a state, as updated parameters are, stay and do not
/// count.
std::vector<GatherChange> findGatherChanges(const schema::Plan &plan, const schema::Section &section);

/// Counts while sections run.
class GatheredElements {
public:
  void acquire(const GatherChange &change) {
    held += change.acquired;
    most = held > most ? held : most;
  }
  void release(const GatherChange &change) { held -= change.released; }
  /// Nobody will use what was acquired.
  void drop(const GatherChange &change) { held -= change.acquired; }
  /// The most that was held at once so far.
  uint64_t peak() const { return most; }

private:
  uint64_t held = 0, most = 0;
};

} // namespace zero

#endif

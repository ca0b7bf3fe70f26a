//===- JobView.h - What every rank does and did, for all ranks to see -----===//
//
// Each rank writes where it is and its last collectives into a state of fixed layout that the other ranks of its machine can
// read at any time, also when it is stopped or gone: so a message about a wait that took too long can say who came, who did
// not, and where those are. What cannot be seen (another machine) is called unknown. Equivalent to: PyTorch's NCCL flight
// recorder, with a heartbeat that needs no thread.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_JOBVIEW_H
#define ZERO_RUNTIME_HAL_JOBVIEW_H

#include "zero/Runtime/Base/Status.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zero {

/// Channels of a job: number 0 is the bootstrap's own, the others in the order of their creation.
inline constexpr unsigned kMaxChannels = 8;
/// Collectives that a rank remembers.
inline constexpr unsigned kFlightRecords = 64;

/// One collective as a rank saw it. Numbers of names are those of JobView::addName, the same on all ranks.
struct FlightRecord {
  std::atomic<uint64_t> number = 0; ///< of this rank's collectives, from 1; 0: none yet
  std::atomic<uint32_t> channel = 0, name = 0, place = 0;
  std::atomic<uint64_t> sequence = 0; ///< of its channel, from 1
  std::atomic<uint64_t> step = 0, bytes = 0;
  std::atomic<int64_t> begin = 0, end = 0; ///< nanoseconds since 1970; `end` 0: not completed
};

/// Lies in memory that several processes share: lock-free atomics only.
struct RankState {
  std::atomic<uint64_t> step = 0;  ///< from 1; 0 before the first
  std::atomic<uint32_t> place = 0; ///< number of the name of what the rank does
  std::atomic<uint64_t> collectives = 0;
  std::atomic<uint32_t> speaker = 0; ///< of the lowest rank that is seen: some rank says why the job ends
  std::array<std::atomic<uint64_t>, kMaxChannels> entered = {}, left = {};
  /// Of the channel's last collective: number of its name, and of which step and place it is.
  std::array<std::atomic<uint32_t>, kMaxChannels> current = {}, currentPlace = {};
  std::array<std::atomic<uint64_t>, kMaxChannels> currentStep = {};
  std::array<FlightRecord, kFlightRecords> records;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// Where in a job something is done.
struct JobPlace {
  uint64_t step = 0;  ///< from 1; 0 before the first
  uint32_t place = 0; ///< number of its name
};

/// A collective that is about to run.
struct CollectiveCall {
  CollectiveCall(uint32_t name = 0, std::optional<JobPlace> at = std::nullopt) : name(name), at(at) {}
  uint32_t name; ///< number of its name
  /// None: where the rank is. A device that works ahead of the host, or behind it, is elsewhere.
  std::optional<JobPlace> at;
};

class JobView {
public:
  /// What a collective or a place in a step is called.
  struct Name {
    std::string kind;  ///< "all_gather"; empty for a place ("micro_first", "reading data")
    std::string label; ///< the bucket, or what a control sum is of
    std::string parameter; ///< the bucket's first
    std::string text;  ///< "all_gather b2 (h.0.q ...)"
  };
  /// Places that every job knows.
  static constexpr uint32_t kStarting = 0, kReadingData = 1, kExporting = 2, kPredicting = 3, kFinished = 4;

  /// `states`: of all ranks, by rank; null where one cannot be seen.
  JobView(unsigned rank, std::vector<RankState *> states);
  virtual ~JobView() = default;

  /// Every rank adds the same names in the same order, before the first step.
  uint32_t addName(Name name);
  uint32_t addPlace(std::string text) { return addName({"", text, "", text}); }
  const Name &name(uint32_t number) const;

  /// Says where this rank is now.
  void moveTo(uint64_t step, uint32_t place) {
    own().step.store(step, std::memory_order_relaxed);
    own().place.store(place, std::memory_order_relaxed);
  }
  void moveToStep(uint64_t step) { own().step.store(step, std::memory_order_relaxed); }
  void moveTo(uint32_t place) { own().place.store(place, std::memory_order_relaxed); }

  /// Around each collective of a channel, by the channel. `call`: what was announced for it.
  FlightRecord &enter(unsigned channel, const CollectiveCall &call, uint64_t bytes) { return enter(channel, call, bytes, unixNanoseconds()); }
  void leave(unsigned channel, FlightRecord &record) { leave(channel, record, unixNanoseconds()); }
  /// The same of what has happened before, at that time.
  FlightRecord &enter(unsigned channel, const CollectiveCall &call, uint64_t bytes, int64_t time);
  void leave(unsigned channel, FlightRecord &record, int64_t time);
  /// Nanoseconds since 1970.
  static int64_t unixNanoseconds();

  unsigned rank() const { return self; }
  unsigned size() const { return static_cast<unsigned>(states.size()); }
  /// Whether this rank is the one, of those that see each other, that says why the job ends: true once.
  bool claimReport();
  std::vector<unsigned> visibleRanks() const;
  /// Null where the rank cannot be seen.
  const RankState *state(unsigned rank) const { return states[rank]; }
  RankState &own() { return *states[self]; }

  /// Whether the rank came to the collective that this one waits in; nothing where that cannot be known.
  std::optional<bool> hasArrived(unsigned rank, unsigned channel) const;
  /// The rank came to an end, it will not come to any collective.
  virtual bool hasEnded(unsigned rank) const;
  /// "in step 7, micro_first, all_gather b2 (h.0.q ...)", or "where it is, is unknown".
  std::string whereabouts(unsigned rank) const;

  /// "timed out after 60 s, still waiting for rank 1 (in step 7, reading data; process 4711 is stopped); ranks 0, 2 arrived".
  /// `seen`: ranks whose part of the collective has come, which is known beyond what the states say; may be empty.
  Status timedOut(double seconds, unsigned channel, const std::vector<bool> &seen = {}) const;
  /// "waited in vain for rank 1 (in step 7, micro_first; process 4711 has ended); ranks 0, 2 arrived" where a rank ended before it
  /// completed this collective; success where none did.
  Status endedRank(unsigned channel, const std::vector<bool> &seen = {}) const;

protected:
  /// "process 4711 is stopped", or nothing.
  virtual std::string processText(unsigned) const { return ""; }

  const unsigned self;
  std::vector<RankState *> states;

private:
  bool hasCompleted(unsigned rank, unsigned channel) const;
  Status describeWait(const std::string &what, unsigned channel, const std::vector<bool> &seen) const;
  std::string describe(unsigned rank) const;
  std::vector<Name> names;
};

} // namespace zero

#endif

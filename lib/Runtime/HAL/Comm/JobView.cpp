//===- JobView.cpp - What every rank does and did -------------------------===//
#include "zero/Runtime/HAL/JobView.h"
#include "lib/Runtime/HAL/Comm/Timeout.h"
#include <algorithm>
#include <ctime>

namespace zero {
namespace {

/// "rank 1", "ranks 0, 2".
std::string ranksText(const std::vector<unsigned> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

} // namespace

int64_t JobView::unixNanoseconds() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t(1000000000) + now.tv_nsec;
}

JobView::JobView(unsigned rank, std::vector<RankState *> states) : self(rank), states(std::move(states)) {
  for (const char *place : {"starting", "reading data", "exporting", "predicting", "finished"})
    addPlace(place);
}

uint32_t JobView::addName(Name name) {
  names.push_back(std::move(name));
  return static_cast<uint32_t>(names.size() - 1);
}

const JobView::Name &JobView::name(uint32_t number) const {
  static const Name unknown = {"", "unknown", "", "unknown"};
  return number < names.size() ? names[number] : unknown;
}

FlightRecord &JobView::enter(unsigned channel, const CollectiveCall &call, uint64_t bytes, int64_t time) {
  RankState &state = own();
  const JobPlace at = call.at.value_or(JobPlace{state.step.load(std::memory_order_relaxed), state.place.load(std::memory_order_relaxed)});
  uint64_t number = state.collectives.fetch_add(1, std::memory_order_relaxed);
  uint64_t sequence = state.entered[channel].load(std::memory_order_relaxed) + 1; // one thread uses a channel
  FlightRecord &record = state.records[number % kFlightRecords];
  record.number.store(number + 1, std::memory_order_relaxed);
  record.channel.store(channel, std::memory_order_relaxed);
  record.name.store(call.name, std::memory_order_relaxed);
  record.place.store(at.place, std::memory_order_relaxed);
  record.sequence.store(sequence, std::memory_order_relaxed);
  record.step.store(at.step, std::memory_order_relaxed);
  record.bytes.store(bytes, std::memory_order_relaxed);
  record.begin.store(time, std::memory_order_relaxed);
  record.end.store(0, std::memory_order_relaxed);
  state.current[channel].store(call.name, std::memory_order_relaxed);
  state.currentPlace[channel].store(at.place, std::memory_order_relaxed);
  state.currentStep[channel].store(at.step, std::memory_order_relaxed);
  state.entered[channel].store(sequence, std::memory_order_release);
  return record;
}

void JobView::leave(unsigned channel, FlightRecord &record, int64_t time) {
  record.end.store(time, std::memory_order_relaxed);
  own().left[channel].store(own().entered[channel].load(std::memory_order_relaxed), std::memory_order_release);
}

std::vector<unsigned> JobView::visibleRanks() const {
  std::vector<unsigned> visible;
  for (unsigned rank = 0; rank < size(); ++rank)
    if (states[rank])
      visible.push_back(rank);
  return visible;
}

bool JobView::claimReport() { return states[visibleRanks().front()]->speaker.exchange(1) == 0; }

std::optional<bool> JobView::hasArrived(unsigned rank, unsigned channel) const {
  if (!states[rank])
    return std::nullopt;
  return states[rank]->entered[channel].load(std::memory_order_acquire) >=
         states[self]->entered[channel].load(std::memory_order_acquire);
}

bool JobView::hasEnded(unsigned rank) const {
  return states[rank] && states[rank]->place.load(std::memory_order_relaxed) == kFinished;
}

std::string JobView::whereabouts(unsigned rank) const {
  const RankState *state = states[rank];
  if (!state)
    return "where it is, is unknown";
  JobPlace at = {state->step.load(std::memory_order_relaxed), state->place.load(std::memory_order_relaxed)};
  std::string collectives;
  for (unsigned channel = 0; channel < kMaxChannels; ++channel)
    if (state->entered[channel].load(std::memory_order_relaxed) != state->left[channel].load(std::memory_order_relaxed))
      if (const Name &inside = name(state->current[channel].load(std::memory_order_relaxed)); !inside.kind.empty()) {
        // Where the collective is says more than where the host is meanwhile; the first is the one that others wait for.
        if (collectives.empty())
          at = {state->currentStep[channel].load(std::memory_order_relaxed), state->currentPlace[channel].load(std::memory_order_relaxed)};
        collectives += ", " + inside.text;
      }
  return (at.step ? "in step " + std::to_string(at.step) + ", " : "") + name(at.place).text + collectives;
}

std::string JobView::describe(unsigned rank) const {
  std::string process = processText(rank);
  return "rank " + std::to_string(rank) + " (" + whereabouts(rank) + (process.empty() ? "" : "; " + process) + ")";
}

bool JobView::hasCompleted(unsigned rank, unsigned channel) const {
  return states[rank] && states[rank]->left[channel].load(std::memory_order_acquire) >=
                             states[self]->entered[channel].load(std::memory_order_acquire);
}

Status JobView::describeWait(const std::string &what, unsigned channel, const std::vector<bool> &seen) const {
  std::vector<unsigned> arrived, unknown, missing, inside;
  for (unsigned rank = 0; rank < size(); ++rank) {
    // What came says more than what a rank wrote before it was to send it.
    std::optional<bool> came = rank == self ? true : rank < seen.size() ? seen[rank] : hasArrived(rank, channel);
    (!came ? unknown : *came ? arrived : missing).push_back(rank);
    if (rank != self && came && *came && seen.empty() && !hasCompleted(rank, channel))
      inside.push_back(rank);
  }
  std::string text = what, names;
  for (unsigned rank : missing.empty() ? inside : missing)
    names += (names.empty() ? "" : ", ") + describe(rank);
  text += (names.empty() ? "another rank" : names) + "; " + ranksText(arrived) + " arrived";
  if (!unknown.empty())
    text += "; whether " + ranksText(unknown) + " did is unknown";
  return Status::communication(text);
}

Status JobView::timedOut(double seconds, unsigned channel, const std::vector<bool> &seen) const {
  return describeWait(timeoutMessage(seconds), channel, seen);
}

Status JobView::endedRank(unsigned channel, const std::vector<bool> &seen) const {
  for (unsigned rank = 0; rank < size(); ++rank)
    if (rank != self && !(rank < seen.size() && seen[rank]) && !hasCompleted(rank, channel) && hasEnded(rank))
      return describeWait("waited in vain for ", channel, seen);
  return {};
}

} // namespace zero

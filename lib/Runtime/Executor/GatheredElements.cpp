//===- GatheredElements.cpp - How many gathered parameters are held at once ===//
#include "lib/Runtime/Executor/GatheredElements.h"
#include <map>

namespace zero {

template <typename Visit> static void forEachBuffer(const schema::Command &command, Visit visit) {
  auto visitAll = [&](const auto *slices) {
    for (const schema::Slice *slice : records(slices))
      visit(slice->buffer());
  };
  if (const auto *dispatch = command.action_as_Dispatch()) {
    visitAll(dispatch->reads());
    visitAll(dispatch->writes());
  } else if (const auto *collective = command.action_as_Collective()) {
    visit(collective->source()->buffer());
    visit(collective->target()->buffer());
  } else if (const auto *copy = command.action_as_Copy()) {
    visit(copy->source()->buffer());
    visit(copy->target()->buffer());
  } else if (const auto *zero = command.action_as_Zero()) {
    visitAll(zero->targets());
  }
}

std::vector<GatherChange> findGatherChanges(const schema::Plan &plan, const schema::Section &section) {
  struct Held {
    uint64_t elements;
    uint32_t last; // the command that last touches it
  };
  std::vector<GatherChange> changes(records(section.commands()).size());
  std::map<uint32_t, Held> heldIn; // by buffer
  auto end = [&](const Held &held) { changes[held.last].released += held.elements; };
  for (uint32_t i = 0; i < changes.size(); ++i) {
    const schema::Command &command = *records(section.commands())[i];
    const schema::Collective *gather = command.action_as_Collective();
    if (gather && gather->kind() == schema::CollectiveKind::all_gather &&
        !records(plan.buffers())[gather->target()->buffer()]->state()) {
      uint32_t buffer = gather->target()->buffer();
      if (auto before = heldIn.find(buffer); before != heldIn.end())
        end(before->second);
      changes[i].acquired = gather->target()->size() / elementBytes(gather->element());
      heldIn[buffer] = {changes[i].acquired, i};
    }
    forEachBuffer(command, [&](uint32_t buffer) {
      if (auto held = heldIn.find(buffer); held != heldIn.end())
        held->second.last = i;
    });
  }
  for (const auto &[buffer, held] : heldIn)
    end(held);
  return changes;
}

} // namespace zero

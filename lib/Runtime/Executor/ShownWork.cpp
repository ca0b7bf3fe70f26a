//===- ShownWork.cpp - A command that is shown, not run -------------------===//
#include "lib/Runtime/Executor/ShownWork.h"
#include "zero/Container/CommandText.h"

namespace zero {

WorkDescription ShownWork::describe() const {
  WorkDescription work;
  work.place = place;
  work.title = commandTitle(plan, command);
  auto add = [&](const schema::Slice *slice, bool write) {
    const schema::Buffer *buffer = records(plan.buffers())[slice->buffer()];
    work.ranges.push_back({memory.at(*slice), slice->size(), std::string(text(buffer->name())), write});
  };
  if (const schema::Dispatch *dispatch = command.action_as_Dispatch()) {
    for (const schema::Slice *slice : records(dispatch->reads()))
      add(slice, /*write=*/false);
    for (const schema::Slice *slice : records(dispatch->writes()))
      add(slice, /*write=*/true);
  } else if (const schema::Collective *collective = command.action_as_Collective()) {
    add(collective->source(), /*write=*/false);
    add(collective->target(), /*write=*/true);
    if (collective->staging())
      add(collective->staging(), /*write=*/true);
    work.wireBytes = collective->wire_bytes();
  } else if (const schema::Copy *copy = command.action_as_Copy()) {
    add(copy->source(), /*write=*/false);
    add(copy->target(), /*write=*/true);
  } else if (const schema::Zero *zeroed = command.action_as_Zero()) {
    for (const schema::Slice *slice : records(zeroed->targets()))
      add(slice, /*write=*/true);
  }
  return work;
}

} // namespace zero

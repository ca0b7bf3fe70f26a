//===- Memory.cpp - The arenas of a rank and what lies in them ------------===//
#include "lib/Runtime/Executor/Memory.h"

namespace zero {

Expected<Memory> Memory::allocate(const schema::Plan &plan, Device &device, unsigned rank) {
  Memory memory;
  memory.plan = &plan;
  memory.rank = rank;
  for (const schema::Arena *arena : records(plan.arenas())) {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> allocated,
                          device.allocate(std::string(text(arena->name())), arena->size_bytes()));
    memory.arenas.push_back(std::move(allocated));
  }
  return memory;
}

std::byte *Memory::at(const schema::Slice &slice) const {
  const schema::Buffer *buffer = records(plan->buffers())[slice.buffer()];
  return arenas[buffer->arena()]->data() + buffer->offset() + slice.offset() + rank * slice.rank_stride();
}

uint64_t Memory::deviceBytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < arenas.size(); ++i)
    if (records(plan->arenas())[static_cast<uint32_t>(i)]->kind() == schema::MemoryKind::device)
      bytes += arenas[i]->size();
  return bytes;
}

Status Memory::loadWeights(const Container &container) {
  for (const schema::State *state : records(plan->states())) {
    std::string name = std::string(text(state->role())) + " '" + std::string(text(state->name())) + "'";
    if (text(state->role()) == "parameter") {
      if (Status status = loadParameter(container, *state); !status.ok())
        return status.annotate(name);
    } else if (text(state->role()) == "frozen" && state->slice()->size()) {
      Status status = container.read(*container.find(SectionKind::Frozen), state->frozen_offset(), at(*state->slice()),
                                     state->slice()->size());
      if (!status.ok())
        return status.annotate(name);
    }
  }
  return {};
}

Status Memory::loadParameter(const Container &container, const schema::State &state) {
  const schema::Bucket *bucket = records(plan->buckets())[static_cast<uint32_t>(state.bucket())];
  uint64_t chunk = bucket->elements() / plan->world_size() * elementBytes(bucket->element());
  const Container::Section *weights = container.find(SectionKind::Weights);
  if (chunk == 0)
    return {};
  std::byte *target = at(*state.slice());
  for (unsigned owner = 0; owner < plan->world_size(); ++owner) {
    if (state.sharded() && owner != rank)
      continue;
    ZERO_RETURN_IF_ERROR(
        container.read(*weights, owner * plan->rank_part_bytes() + bucket->chunk_offset(), target, chunk));
    target += chunk;
  }
  return {};
}

} // namespace zero

//===- Memory.cpp - The arenas of a rank and what lies in them ------------===//
#include "lib/Runtime/Executor/Memory.h"

namespace zero {

/// Where this rank's sources of all collectives lie, for each arena.
static std::vector<std::vector<ByteRange>> findSources(const schema::Plan &plan, unsigned rank) {
  std::vector<std::vector<ByteRange>> ranges(records(plan.arenas()).size());
  for (const schema::Section *section : records(plan.sections()))
    for (const schema::Command *command : records(section->commands()))
      if (const schema::Collective *collective = command->action_as_Collective()) {
        const schema::Slice &source = *collective->source();
        const schema::Buffer *buffer = records(plan.buffers())[source.buffer()];
        uint64_t begin = buffer->offset() + source.offset() + rank * source.rank_stride();
        ranges[buffer->arena()].push_back({begin, begin + source.size()});
      }
  return ranges;
}

Expected<Memory> Memory::allocate(const schema::Plan &plan, Device &device, unsigned rank, bool share) {
  Memory memory;
  memory.plan = &plan;
  memory.rank = rank;
  std::vector<std::vector<ByteRange>> sources(records(plan.arenas()).size());
  if (share)
    sources = findSources(plan, rank);
  for (const schema::Arena *arena : records(plan.arenas())) {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> allocated,
                          device.allocate(std::string(text(arena->name())), arena->size_bytes(), sources[memory.arenas.size()]));
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

std::vector<SharedMemory> Memory::shared() const {
  std::vector<SharedMemory> memory;
  for (const std::unique_ptr<Arena> &arena : arenas)
    memory.push_back(arena->shared());
  return memory;
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

//===- Memory.cpp - The arenas of a rank and what lies in them ------------===//
#include "lib/Runtime/Executor/Memory.h"
#include "lib/Runtime/Executor/ConvertElements.h"
#include <algorithm>

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
  memory.device = &device;
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

Expected<const std::byte *> Memory::read(const schema::Slice &slice, uint64_t offset, uint64_t size, std::vector<std::byte> &scratch) const {
  const std::byte *place = at(slice) + offset;
  if (!device->streams())
    return place;
  scratch.resize(size);
  ZERO_RETURN_IF_ERROR(device->download(scratch.data(), place, size));
  return scratch.data();
}

uint64_t Memory::deviceBytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < arenas.size(); ++i)
    if (records(plan->arenas())[static_cast<uint32_t>(i)]->kind() == schema::MemoryKind::device)
      bytes += arenas[i]->size();
  return bytes;
}

std::vector<ArenaBytes> Memory::ranges() const {
  std::vector<ArenaBytes> all;
  for (const std::unique_ptr<Arena> &arena : arenas)
    all.push_back({arena->data(), arena->size()});
  return all;
}

std::vector<SharedMemory> Memory::shared() const {
  std::vector<SharedMemory> memory;
  for (const std::unique_ptr<Arena> &arena : arenas)
    memory.push_back(arena->shared());
  return memory;
}

Status Memory::loadWeights(const Container &container) {
  for (const schema::State *state : records(plan->states())) {
    std::string role(text(state->role()));
    std::string name = text(state->name()).empty() ? role : role + " '" + std::string(text(state->name())) + "'";
    Status status;
    if (role == "parameter" || role == "master")
      status = loadBucket(container, *state);
    else if (state->bucket() < 0)
      status = loadLone(container, *state);
    if (!status.ok())
      return status.annotate(name);
  }
  return {};
}

/// This rank's range of the bucket's weights, or all of them, in the state's own type.
Status Memory::loadBucket(const Container &container, const schema::State &state) {
  const schema::Bucket *bucket = records(plan->buckets())[static_cast<uint32_t>(state.bucket())];
  const uint64_t elements = bucket->elements() / plan->world_size();
  const Container::Section *weights = container.find(SectionKind::Weights);
  std::byte *target = at(*state.slice());
  for (unsigned owner = 0; owner < plan->world_size(); ++owner) {
    if (state.sharded() && owner != rank)
      continue;
    ZERO_RETURN_IF_ERROR(load(container, *weights, owner * plan->rank_part_bytes() + bucket->chunk_offset(), weightsElement(*bucket),
                              target, stateElement(state, *bucket), elements));
    target += elements * elementBytes(stateElement(state, *bucket));
  }
  return {};
}

/// A frozen tensor, or a number that steps leave to one another.
Status Memory::loadLone(const Container &container, const schema::State &state) {
  const uint64_t bytes = state.slice()->size();
  const Container::Section *frozen = container.find(SectionKind::Frozen);
  if (state.weights_element())
    return load(container, *frozen, state.frozen_offset(), *state.weights_element(), at(*state.slice()), *state.element(),
                bytes / elementBytes(*state.element()));
  // As bytes, whatever its type.
  return bytes ? load(container, *frozen, state.frozen_offset(), schema::ElementType::u8, at(*state.slice()), schema::ElementType::u8, bytes)
               : Status();
}

/// Through blocks of bounded size where the types differ or the host cannot address the target.
Status Memory::load(const Container &container, const Container::Section &section, uint64_t offset, schema::ElementType from,
                    std::byte *target, schema::ElementType to, uint64_t elements) {
  if (elements == 0)
    return {};
  const bool addressable = !device->streams();
  if (from == to && addressable)
    return container.read(section, offset, target, elements * elementBytes(to));
  constexpr uint64_t kBlock = 1 << 18; // elements
  std::vector<std::byte> block(std::min(elements, kBlock) * elementBytes(from)),
      converted(from == to || addressable ? 0 : std::min(elements, kBlock) * elementBytes(to));
  for (uint64_t done = 0; done < elements; done += kBlock) {
    const uint64_t count = std::min(kBlock, elements - done);
    ZERO_RETURN_IF_ERROR(container.read(section, offset + done * elementBytes(from), block.data(), count * elementBytes(from)));
    std::byte *place = target + done * elementBytes(to);
    if (addressable) {
      convertElements(block.data(), from, place, to, count);
      continue;
    }
    if (from != to)
      convertElements(block.data(), from, converted.data(), to, count);
    ZERO_RETURN_IF_ERROR(device->upload(place, from == to ? block.data() : converted.data(), count * elementBytes(to)));
  }
  return {};
}

} // namespace zero

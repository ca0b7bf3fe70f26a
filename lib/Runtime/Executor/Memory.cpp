//===- Memory.cpp - The arenas of a rank and what lies in them ------------===//
#include "lib/Runtime/Executor/Memory.h"
#include "lib/Runtime/Executor/ConvertElements.h"
#include "zero/Runtime/Executor/Executor.h"
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
    if (device.streams() && arena->kind() != schema::MemoryKind::device)
      return Status::badInput("arena '" + std::string(text(arena->name())) + "' is of " + schema::EnumNameMemoryKind(arena->kind()) +
                              " memory, and programs for GPUs have all of theirs on the device");
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> allocated,
                          device.allocate(std::string(text(arena->name())), arena->size_bytes(), sources[memory.arenas.size()]));
    memory.arenas.push_back(std::move(allocated));
  }
  if (StreamDevice *streams = device.streams(); streams && device.runs()) {
    ZERO_ASSIGN_OR_RETURN(memory.download, PinnedDownload::create(*streams, Executor::kReadBytes));
  }
  return memory;
}

std::byte *Memory::arenaOf(const schema::Slice &slice) const {
  return arenas[records(plan->buffers())[slice.buffer()]->arena()]->data();
}

std::byte *Memory::at(const schema::Slice &slice) const {
  const schema::Buffer *buffer = records(plan->buffers())[slice.buffer()];
  return arenas[buffer->arena()]->data() + buffer->offset() + slice.offset() + rank * slice.rank_stride();
}

Expected<const std::byte *> Memory::read(const schema::Slice &slice, uint64_t offset, uint64_t size, uint64_t following) {
  const std::byte *place = at(slice) + offset;
  return download ? download->read(place, size, following) : Expected<const std::byte *>(place);
}

void Memory::readAnew() {
  if (download)
    download->forget();
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
  constexpr uint64_t kWidest = 4; // from 16 bits to 64
  if (StreamDevice *streams = device->streams()) {
    ZERO_ASSIGN_OR_RETURN(upload, PinnedUpload::create(*streams, kWidest * kChecksumBlock));
  }
  ZERO_RETURN_IF_ERROR(loadStates(container));
  Status status = upload ? upload->finish() : Status();
  upload.reset();
  return status;
}

Status Memory::loadStates(const Container &container) {
  for (uint32_t bucket = 0; bucket < records(plan->buckets()).size(); ++bucket)
    ZERO_RETURN_IF_ERROR(loadBucket(container, bucket));
  for (const schema::State *state : records(plan->states())) {
    if (state->bucket() >= 0)
      continue;
    if (Status status = loadLone(container, *state); !status.ok()) {
      std::string role(text(state->role()));
      return status.annotate(text(state->name()).empty() ? role : role + " '" + std::string(text(state->name())) + "'");
    }
  }
  return {};
}

/// The states that start from the bucket's weights, each in its own type: this rank's range, or all of them. What several hold is read once.
Status Memory::loadBucket(const Container &container, uint32_t index) {
  const schema::Bucket *bucket = records(plan->buckets())[index];
  const uint64_t elements = bucket->elements() / plan->world_size();
  const Container::Section *weights = container.find(SectionKind::Weights);
  std::vector<const schema::State *> states;
  for (const schema::State *state : records(plan->states()))
    if (state->bucket() == static_cast<int32_t>(index) && (text(state->role()) == "parameter" || text(state->role()) == "master"))
      states.push_back(state);
  for (unsigned owner = 0; owner < plan->world_size(); ++owner) {
    std::vector<Target> targets;
    for (const schema::State *state : states) {
      const schema::ElementType element = stateElement(*state, *bucket);
      if (!state->sharded())
        targets.push_back({at(*state->slice()) + owner * elements * elementBytes(element), element});
      else if (owner == rank)
        targets.push_back({at(*state->slice()), element});
    }
    Status status = load(container, *weights, owner * plan->rank_part_bytes() + bucket->chunk_offset(), weightsElement(*bucket), targets, elements);
    if (!status.ok())
      return status.annotate("parameters of bucket " + std::string(text(bucket->name())));
  }
  return {};
}

/// A frozen tensor, or a number that steps leave to one another.
Status Memory::loadLone(const Container &container, const schema::State &state) {
  const uint64_t bytes = state.slice()->size();
  const Container::Section *frozen = container.find(SectionKind::Frozen);
  if (state.weights_element())
    return load(container, *frozen, state.frozen_offset(), *state.weights_element(), {{at(*state.slice()), *state.element()}},
                bytes / elementBytes(*state.element()));
  // As bytes, whatever its type.
  return bytes ? load(container, *frozen, state.frozen_offset(), schema::ElementType::u8, {{at(*state.slice()), schema::ElementType::u8}}, bytes)
               : Status();
}

/// Straight into a target of the file's type that the host can address, from which the others are converted; else through a block of bounded
/// size. In pieces that end where a block of the section with a checksum of its own does: of one that ends within, the rest would be
/// read again.
Status Memory::load(const Container &container, const Container::Section &section, uint64_t offset, schema::ElementType from,
                    const std::vector<Target> &targets, uint64_t elements) {
  if (elements == 0 || targets.empty())
    return {};
  const bool addressable = !device->streams();
  const uint64_t width = elementBytes(from);
  auto same = std::find_if(targets.begin(), targets.end(), [&](const Target &target) { return addressable && target.element == from; });
  if (same != targets.end() && targets.size() == 1)
    return container.read(section, offset, same->data, elements * width);
  // To a device a lone target of the file's type is read into pinned memory at once.
  const bool isRead = !addressable && targets.size() == 1 && targets.front().element == from;
  std::vector<std::byte> block(same != targets.end() || isRead ? 0 : std::min(elements * width, kChecksumBlock));
  for (uint64_t done = 0, count; done < elements; done += count) {
    const uint64_t place = offset + done * width;
    count = std::min(std::max<uint64_t>((kChecksumBlock - place % kChecksumBlock) / width, 1), elements - done);
    std::byte *read = same != targets.end() ? same->data + done * width : block.data();
    if (isRead) {
      ZERO_ASSIGN_OR_RETURN(read, upload->next());
    }
    ZERO_RETURN_IF_ERROR(container.read(section, place, read, count * width));
    for (auto target = targets.begin(); target != targets.end(); ++target) {
      std::byte *goal = target->data + done * elementBytes(target->element);
      if (target == same)
        continue;
      if (addressable) {
        convertElements(read, from, goal, target->element, count);
        continue;
      }
      if (!isRead) {
        ZERO_ASSIGN_OR_RETURN(std::byte *piece, upload->next());
        convertElements(read, from, piece, target->element, count);
      }
      ZERO_RETURN_IF_ERROR(upload->send(goal, count * elementBytes(target->element)));
    }
  }
  return {};
}

} // namespace zero

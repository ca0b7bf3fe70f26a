//===- Verifier.cpp - Checks a plan once, so that the executor trusts it --===//
#include "lib/Container/Verifier.h"
#include "lib/Container/OperandVerifier.h"
#include "zero/Container/Container.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/HAL/Staging.h"
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace zero {
namespace {

constexpr uint64_t kBufferAlignment = 64, kCudaBufferAlignment = 256;

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }
std::string number(uint64_t value) { return std::to_string(value); }

/// a + b and a * b, or the largest number where they do not fit.
uint64_t sum(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<uint64_t>::max() : result;
}
uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<uint64_t>::max() : result;
}

class PlanVerifier {
public:
  PlanVerifier(const schema::Plan &plan, const ContainerSizes &sizes) : plan(plan), sizes(sizes) {}

  Status run() {
    ZERO_RETURN_IF_ERROR(checkAlignment());
    ZERO_RETURN_IF_ERROR(checkNumbers());
    ZERO_RETURN_IF_ERROR(checkTarget());
    ZERO_RETURN_IF_ERROR(checkMemory());
    ZERO_RETURN_IF_ERROR(checkKernels());
    ZERO_RETURN_IF_ERROR(checkSections());
    ZERO_RETURN_IF_ERROR(verifyOperands(plan));
    ZERO_RETURN_IF_ERROR(checkBuckets());
    ZERO_RETURN_IF_ERROR(checkInputs());
    ZERO_RETURN_IF_ERROR(checkOutputs());
    ZERO_RETURN_IF_ERROR(checkStates());
    return checkStepValues();
  }

private:
  Status wrong(const std::string &what) const { return Status::badInput(what); }
  uint64_t world() const { return plan.world_size(); }

  template <typename T> Status checkAligned(const flatbuffers::Vector<T> *vector, const char *what, std::string_view of) const {
    const auto bytes = reinterpret_cast<uintptr_t>(vector ? vector->Data() : nullptr);
    if (bytes % alignof(uint64_t) == 0)
      return {};
    return wrong("its records are malformed: the " + std::string(what) + " of " + quoted(of) + " are not aligned");
  }

  /// FlatBuffers' own verifier checks where numbers and structures lie, but not the elements of a vector.
  Status checkAlignment() const {
    for (const schema::Kernel *kernel : records(plan.kernels()))
      ZERO_RETURN_IF_ERROR(checkAligned(kernel->slice_bytes(), "slices", text(kernel->name())));
    for (const schema::Bucket *bucket : records(plan.buckets()))
      for (const schema::Slot *slot : records(bucket->slots()))
        ZERO_RETURN_IF_ERROR(checkAligned(slot->shape(), "dimensions", text(slot->name())));
    for (const schema::Input *input : records(plan.inputs()))
      ZERO_RETURN_IF_ERROR(checkAligned(input->shape(), "dimensions", text(input->name())));
    for (const schema::Output *output : records(plan.outputs()))
      ZERO_RETURN_IF_ERROR(checkAligned(output->shape(), "dimensions", text(output->name())));
    ZERO_RETURN_IF_ERROR(checkAligned(plan.peak_bytes_by_class(), "classes", text(plan.model())));
    for (const schema::Section *section : records(plan.sections()))
      for (const schema::Command *command : records(section->commands())) {
        const std::string_view at = text(command->location());
        if (const schema::Zero *zero = command->action_as_Zero())
          ZERO_RETURN_IF_ERROR(checkAligned(zero->targets(), "slices", at));
        const schema::Dispatch *dispatch = command->action_as_Dispatch();
        if (!dispatch)
          continue;
        ZERO_RETURN_IF_ERROR(checkAligned(dispatch->reads(), "slices", at));
        ZERO_RETURN_IF_ERROR(checkAligned(dispatch->writes(), "slices", at));
        ZERO_RETURN_IF_ERROR(checkAligned(dispatch->integers(), "integers", at));
        ZERO_RETURN_IF_ERROR(checkAligned(dispatch->reals(), "reals", at));
      }
    return {};
  }

  Status checkNumbers() const {
    if (plan.world_size() == 0 || plan.world_size() > (1u << 20))
      return wrong("world size " + number(plan.world_size()) + " is not between 1 and 1048576");
    if (plan.micro_batch() == 0 || plan.accumulation_steps() == 0)
      return wrong("micro-batch " + number(plan.micro_batch()) + " and accumulation " +
                   number(plan.accumulation_steps()) + " must not be 0");
    uint64_t weights = product(plan.rank_part_bytes(), world());
    if (weights != sizes.weights)
      return wrong("the weights of " + number(world()) + " ranks are " + number(weights) +
                   " bytes, the section holds " + number(sizes.weights));
    return {};
  }

  Status checkMemory() const {
    auto arenas = records(plan.arenas());
    uint64_t device = 0;
    for (const schema::Arena *arena : arenas) {
      if (arena->kind() > schema::MemoryKind::MAX)
        return wrong("arena " + quoted(text(arena->name())) + " has an unknown memory kind");
      if (arena->size_bytes() > (uint64_t(1) << 47))
        return wrong("arena " + quoted(text(arena->name())) + " has " + number(arena->size_bytes()) +
                     " bytes, more than an address space");
      if (arena->kind() == schema::MemoryKind::device)
        device = sum(device, arena->size_bytes());
    }
    const uint64_t alignment = isForCuda(plan) ? kCudaBufferAlignment : kBufferAlignment;
    for (const schema::Buffer *buffer : records(plan.buffers())) {
      std::string name = "buffer " + quoted(text(buffer->name()));
      if (buffer->arena() >= arenas.size())
        return wrong(name + " is in arena " + number(buffer->arena()) + " of " + number(arenas.size()));
      if (buffer->content() > schema::ContentClass::MAX)
        return wrong(name + " has an unknown content class");
      if (buffer->offset() % alignment != 0)
        return wrong(name + " starts at " + number(buffer->offset()) + ", not a multiple of " + number(alignment) + " as on target " +
                     std::string(planTarget(plan)));
      if (sum(buffer->offset(), buffer->size_bytes()) > arenas[buffer->arena()]->size_bytes())
        return wrong(name + " ends at " + number(sum(buffer->offset(), buffer->size_bytes())) + ", its arena at " +
                     number(arenas[buffer->arena()]->size_bytes()));
      if (buffer->padding_bytes() > buffer->size_bytes())
        return wrong(name + " has more padding than bytes");
    }
    if (auto classes = records(plan.peak_bytes_by_class()); classes.size()) {
      uint64_t total = 0;
      for (uint64_t bytes : classes)
        total = sum(total, bytes);
      if (total != device)
        return wrong("the classes at the peak sum to " + number(total) + " bytes, the device arenas have " +
                     number(device));
    }
    return {};
  }

  Status checkTarget() const {
    const std::string_view target = planTarget(plan);
    if (target != "cpu" && target != "cuda")
      return wrong("it is for target " + quoted(target) + ", which is neither cpu nor cuda");
    if (plan.deterministic() && plan.fast())
      return wrong("it is both deterministic and fast");
    if (target == "cpu" && (plan.deterministic() || plan.fast() || plan.tf32() || plan.cudnn_convolutions() || plan.cuda_workspace_bytes()))
      return wrong("it is for target cpu and says how cuda kernels compute");
    return {};
  }

  Status checkKernels() const {
    for (const schema::Kernel *kernel : records(plan.kernels())) {
      if (text(kernel->name()).empty())
        return wrong("a kernel has no name");
      if (kernel->items() > uint64_t(std::numeric_limits<int64_t>::max()))
        return wrong("kernel " + quoted(text(kernel->name())) + " has " + number(kernel->items()) + " items");
      ZERO_RETURN_IF_ERROR(checkLaunch(*kernel));
    }
    return {};
  }

  /// What every device of the target can launch: the driver says no more than "invalid value".
  Status checkLaunch(const schema::Kernel &kernel) const {
    const std::string launch = "kernel " + quoted(text(kernel.name())) + " is launched as " + number(kernel.grid_blocks()) + " blocks of " +
                               number(kernel.block_threads()) + " threads with " + number(kernel.shared_bytes()) + " shared bytes";
    if (!isForCuda(plan) || !kernel.generated()) {
      if (kernel.grid_blocks() || kernel.block_threads() || kernel.shared_bytes())
        return wrong(launch + ", which only generated kernels of target cuda are");
      return {};
    }
    constexpr uint64_t kMostBlocks = (uint64_t(1) << 31) - 1, kMostThreads = 1024, kMostShared = 48 * 1024;
    if (kernel.grid_blocks() < 1 || kernel.grid_blocks() > kMostBlocks || kernel.block_threads() < 1 || kernel.block_threads() > kMostThreads ||
        kernel.shared_bytes() > kMostShared)
      return wrong(launch + ", which no device can");
    return {};
  }

  /// The slice lies in its buffer, for every rank.
  Status checkSlice(const schema::Slice *slice, const std::string &where) const {
    auto buffers = records(plan.buffers());
    if (!slice)
      return wrong(where + " has no slice");
    if (slice->buffer() >= buffers.size())
      return wrong(where + " is in buffer " + number(slice->buffer()) + " of " + number(buffers.size()));
    const schema::Buffer *buffer = buffers[slice->buffer()];
    uint64_t end = sum(sum(slice->offset(), slice->size()), product(slice->rank_stride(), world() - 1));
    if (end > buffer->size_bytes())
      return wrong(where + " ends at " + number(end) + " of buffer " + quoted(text(buffer->name())) + " with " +
                   number(buffer->size_bytes()) + " bytes");
    return {};
  }

  Status checkSlices(const flatbuffers::Vector<const schema::Slice *> *slices, const std::string &where) const {
    for (const schema::Slice *slice : records(slices))
      ZERO_RETURN_IF_ERROR(checkSlice(slice, where));
    return {};
  }

  Status checkSections() const {
    auto sections = records(plan.sections());
    const bool predicts = findSection(plan, "predict") != nullptr;
    std::vector<std::string_view> expected;
    if (!predicts || sections.size() != 1) {
      expected = {"micro_first", "update"};
      if (plan.accumulation_steps() > 1)
        expected.insert(expected.begin() + 1, "micro_next");
    }
    if (predicts)
      expected.push_back("predict");
    if (sections.size() != expected.size())
      return wrong("it has " + number(sections.size()) + " sections, accumulation " +
                   number(plan.accumulation_steps()) + (predicts ? " with predictions" : "") + " needs " +
                   number(expected.size()));
    for (uint32_t i = 0; i < sections.size(); ++i) {
      if (text(sections[i]->name()) != expected[i])
        return wrong("section " + number(i) + " is " + quoted(text(sections[i]->name())) + ", not " +
                     quoted(expected[i]));
      ZERO_RETURN_IF_ERROR(checkSection(*sections[i]));
    }
    return {};
  }

  Status checkSection(const schema::Section &section) const {
    std::string name = "section " + quoted(text(section.name()));
    auto commands = records(section.commands());
    if (section.events() > commands.size())
      return wrong(name + " has " + number(section.events()) + " events, more than its " + number(commands.size()) +
                   " commands can record");
    constexpr int kNotRecorded = -1;
    std::vector<int> recordedOn(section.events(), kNotRecorded);
    constexpr size_t kQueues = static_cast<size_t>(schema::QueueKind::MAX) + 1;
    uint32_t sequences[kQueues] = {};
    std::map<int, const schema::Command *> firstOf; // each queue
    for (uint32_t i = 0; i < commands.size(); ++i) {
      const schema::Command *command = commands[i];
      std::string where = name + " command " + number(i);
      if (command->queue() > schema::QueueKind::MAX)
        return wrong(where + " is on an unknown queue");
      int queue = static_cast<int>(command->queue());
      for (uint32_t event : records(command->waits())) {
        if (event >= section.events())
          return wrong(where + " waits for event " + number(event) + " of " + number(section.events()));
        if (recordedOn[event] == kNotRecorded)
          return wrong(where + " waits for event " + number(event) + ", which no earlier command records");
        if (recordedOn[event] == queue)
          return wrong(where + " waits for event " + number(event) + " of its own queue");
      }
      ZERO_RETURN_IF_ERROR(checkCarried(*command, section, where));
      ZERO_RETURN_IF_ERROR(checkEarly(section, i, where));
      if (outlasts(*command))
        ZERO_RETURN_IF_ERROR(checkOutlasting(*command, section, where));
      if (outlasts(*command) != outlasts(*firstOf.try_emplace(queue, command).first->second))
        return wrong(where + " is on one queue with another, and one of the two outlasts the section");
      ZERO_RETURN_IF_ERROR(checkAction(*command, where, sequences[queue]));
      if (int32_t event = command->record(); event != -1) {
        if (event < 0 || static_cast<uint32_t>(event) >= section.events())
          return wrong(where + " records event " + std::to_string(event) + " of " + number(section.events()));
        if (recordedOn[event] != kNotRecorded)
          return wrong(where + " records event " + std::to_string(event) + " again");
        recordedOn[event] = queue;
      }
    }
    return {};
  }

  static bool outlasts(const schema::Command &command) {
    const schema::Collective *collective = command.action_as_Collective();
    return collective && collective->outlasts();
  }

  /// Only micro_first waits for commands of another section: for those of update that outlast it.
  Status checkCarried(const schema::Command &command, const schema::Section &section, const std::string &where) const {
    const schema::Section *update = findSection(plan, "update");
    for (uint32_t event : records(command.carried())) {
      bool recorded = false;
      if (update && text(section.name()) == "micro_first")
        for (const schema::Command *earlier : records(update->commands()))
          recorded |= outlasts(*earlier) && earlier->record() >= 0 && static_cast<uint32_t>(earlier->record()) == event &&
                      earlier->queue() != command.queue();
      if (!recorded)
        return wrong(where + " waits for event " + number(event) + " of 'update', which no command of another queue that outlasts it records");
    }
    return {};
  }

  /// What runs in update already comes first in micro_first and on its queue, and waits for commands of update alone.
  Status checkEarly(const schema::Section &section, uint32_t index, const std::string &where) const {
    auto commands = records(section.commands());
    const schema::Command &command = *commands[index];
    if (records(command.early()).size() == 0)
      return {};
    const schema::Section *update = findSection(plan, "update");
    const schema::Collective *gather = command.action_as_Collective();
    if (!update || text(section.name()) != "micro_first" || !gather || gather->kind() != schema::CollectiveKind::all_gather ||
        command.queue() != schema::QueueKind::gather || records(command.waits()).size() || records(command.carried()).size() ||
        (index > 0 && records(commands[index - 1]->early()).size() == 0))
      return wrong(where + " is early, and is no gather at the start of 'micro_first' on queue gather that waits for nothing in it");
    std::vector<bool> recorded(update->events());
    for (const schema::Command *other : records(update->commands())) {
      if (other->queue() == command.queue())
        return wrong(where + " is early, and 'update' uses its queue");
      if (other->record() >= 0 && static_cast<uint32_t>(other->record()) < recorded.size())
        recorded[static_cast<size_t>(other->record())] = true;
    }
    for (uint32_t event : records(command.early()))
      if (event >= recorded.size() || !recorded[event])
        return wrong(where + " is early and waits for event " + number(event) + " of 'update', which no command records");
    return {};
  }

  /// Bytes of parameters' states are nobody's but commands' while a step begins.
  Status checkOutlasting(const schema::Command &command, const schema::Section &section, const std::string &where) const {
    const schema::Collective &collective = *command.action_as_Collective();
    auto isParameter = [&](const schema::Slice *slice) {
      for (const schema::State *state : records(plan.states()))
        if (slice && text(state->role()) == "parameter" && state->slice() && state->slice()->buffer() == slice->buffer())
          return true;
      return false;
    };
    if (text(section.name()) != "update" || command.queue() != schema::QueueKind::gather ||
        collective.kind() != schema::CollectiveKind::all_gather || !isParameter(collective.source()) || !isParameter(collective.target()))
      return wrong(where + " outlasts its section, and is no gather of a parameter's state in 'update' on queue gather");
    return {};
  }

  Status checkAction(const schema::Command &command, const std::string &where, uint32_t &sequence) const {
    if (command.action_type() == schema::Action::NONE || !command.action())
      return wrong(where + " has no action");
    switch (command.action_type()) {
    case schema::Action::Dispatch: {
      const schema::Dispatch &dispatch = *command.action_as_Dispatch();
      if (dispatch.kernel() >= records(plan.kernels()).size())
        return wrong(where + " runs kernel " + number(dispatch.kernel()) + " of " +
                     number(records(plan.kernels()).size()));
      ZERO_RETURN_IF_ERROR(checkSlices(dispatch.reads(), where + " read"));
      ZERO_RETURN_IF_ERROR(checkSlices(dispatch.writes(), where + " write"));
      return checkSliceBytes(dispatch, where);
    }
    case schema::Action::Collective:
      return checkCollective(*command.action_as_Collective(), where, sequence);
    case schema::Action::Copy: {
      const schema::Copy &copy = *command.action_as_Copy();
      ZERO_RETURN_IF_ERROR(checkSlice(copy.source(), where + " source"));
      ZERO_RETURN_IF_ERROR(checkSlice(copy.target(), where + " target"));
      if (copy.source()->size() != copy.target()->size())
        return wrong(where + " copies " + number(copy.source()->size()) + " bytes to " +
                     number(copy.target()->size()));
      return {};
    }
    case schema::Action::Zero:
      return checkSlices(command.action_as_Zero()->targets(), where + " target");
    default:
      return wrong(where + " has an unknown action");
    }
  }

  /// A generated kernel gets all the bytes that it touches. How far one of the library reaches the executor asks the library.
  Status checkSliceBytes(const schema::Dispatch &dispatch, const std::string &where) const {
    const schema::Kernel &kernel = *records(plan.kernels())[dispatch.kernel()];
    if (!kernel.generated())
      return {};
    std::string name = where + " gives kernel " + quoted(text(kernel.name())) + " ";
    auto bytes = records(kernel.slice_bytes());
    uint32_t given = records(dispatch.reads()).size() + records(dispatch.writes()).size(), index = 0;
    if (given != bytes.size())
      return wrong(name + number(given) + " slices, and it takes " + number(bytes.size()));
    for (const auto *slices : {dispatch.reads(), dispatch.writes()})
      for (const schema::Slice *slice : records(slices)) {
        if (slice->size() < bytes[index])
          return wrong(name + "slice " + number(index) + " of " + number(slice->size()) + " bytes, and it takes " +
                       number(bytes[index]));
        ++index;
      }
    return {};
  }

  Status checkCollective(const schema::Collective &collective, const std::string &command, uint32_t &sequence) const {
    std::string where = command + " collective " + quoted(text(collective.label()));
    if (collective.kind() > schema::CollectiveKind::MAX || collective.element() > schema::ElementType::MAX ||
        targetElement(collective) > schema::ElementType::MAX)
      return wrong(where + " has an unknown kind or element type");
    if (targetElement(collective) != collective.element() && collective.kind() != schema::CollectiveKind::reduce_scatter)
      return wrong(where + " changes elements, which a sum alone does");
    ZERO_RETURN_IF_ERROR(checkSlice(collective.source(), where + " source"));
    ZERO_RETURN_IF_ERROR(checkSlice(collective.target(), where + " target"));
    if (collective.staging())
      ZERO_RETURN_IF_ERROR(checkSlice(collective.staging(), where + " staging"));
    if (collective.sequence() != sequence)
      return wrong(where + " has sequence number " + number(collective.sequence()) + ", its channel is at " +
                   number(sequence));
    ++sequence;

    uint64_t source = collective.source()->size(), target = collective.target()->size();
    uint64_t expectedSource = source, expectedTarget = target, staging = 0, wire = 0;
    switch (collective.kind()) {
    case schema::CollectiveKind::all_gather:
      expectedTarget = product(source, world());
      wire = product(source, world() - 1);
      break;
    case schema::CollectiveKind::reduce_scatter: {
      for (schema::ElementType element : {collective.element(), targetElement(collective)})
        if (element != schema::ElementType::f32 && element != schema::ElementType::f16 && element != schema::ElementType::bf16)
          return wrong(where + " reduces elements that are none of f32, f16, bf16");
      const uint64_t sent = product(target / elementBytes(targetElement(collective)), elementBytes(collective.element()));
      expectedSource = product(sent, world());
      staging = plannedReduceScatterStagingBytes(sent, world(), isForCuda(plan), plan.deterministic(),
                                                 targetElement(collective) != collective.element());
      wire = product(sent, world() - 1);
      break;
    }
    case schema::CollectiveKind::control_sum:
      expectedTarget = source;
      staging = controlSumStagingBytes(source, world());
      wire = product(source, world() - 1);
      if (collective.element() != schema::ElementType::f32 && collective.element() != schema::ElementType::i64)
        return wrong(where + " sums elements that are neither f32 nor i64");
      break;
    }
    if (source != expectedSource || target != expectedTarget)
      return wrong(where + " goes from " + number(source) + " to " + number(target) + " bytes on " + number(world()) +
                   " ranks");
    if (source % elementBytes(collective.element()) != 0 || target % elementBytes(targetElement(collective)) != 0)
      return wrong(where + " moves a part of an element");
    uint64_t given = collective.staging() ? collective.staging()->size() : 0;
    if (given < staging)
      return wrong(where + " has " + number(given) + " bytes of staging and needs " + number(staging));
    if (collective.wire_bytes() != wire)
      return wrong(where + " says that it sends " + number(collective.wire_bytes()) + " bytes and sends " +
                   number(wire));
    return {};
  }

  /// Elements of a shape, or the largest number where a dimension is negative or the product does not fit.
  static uint64_t elementsOf(const flatbuffers::Vector<int64_t> *shape) {
    uint64_t elements = 1;
    for (int64_t dimension : records(shape))
      elements = product(elements, dimension < 0 ? std::numeric_limits<uint64_t>::max() : uint64_t(dimension));
    return elements;
  }

  Status checkBuckets() const {
    for (const schema::Bucket *bucket : records(plan.buckets())) {
      std::string name = "bucket " + quoted(text(bucket->name()));
      if (bucket->element() > schema::ElementType::MAX || weightsElement(*bucket) > schema::ElementType::MAX)
        return wrong(name + " has an unknown element type");
      if (!canConvert(weightsElement(*bucket), bucket->element()))
        return wrong(name + " of " + schema::EnumNameElementType(bucket->element()) + " starts from weights of " +
                     schema::EnumNameElementType(weightsElement(*bucket)) + ", which cannot be rounded to it");
      if (bucket->elements() % world() != 0)
        return wrong(name + " has " + number(bucket->elements()) + " elements, not a multiple of " +
                     number(world()) + " ranks");
      uint64_t chunk = product(bucket->elements() / world(), elementBytes(weightsElement(*bucket)));
      if (sum(bucket->chunk_offset(), chunk) > plan.rank_part_bytes())
        return wrong(name + " ends at " + number(sum(bucket->chunk_offset(), chunk)) + " of a rank's " +
                     number(plan.rank_part_bytes()) + " bytes of weights");
      for (const schema::Slot *slot : records(bucket->slots()))
        if (sum(slot->offset(), elementsOf(slot->shape())) > bucket->elements())
          return wrong(name + " is too small for parameter " + quoted(text(slot->name())));
    }
    return {};
  }

  Status checkInputs() const {
    for (const schema::Input *input : records(plan.inputs())) {
      std::string name = "input " + quoted(text(input->name()));
      if (input->element() > schema::ElementType::MAX)
        return wrong(name + " has an unknown element type");
      ZERO_RETURN_IF_ERROR(checkSlice(input->slice(), name));
      auto shape = records(input->shape());
      if (input->unbatched() && (trains(plan) || input->label()))
        return wrong(name + " of a training program must be batched");
      if (!input->predict() && !trains(plan))
        return wrong(name + " is read by no section");
      if (!input->unbatched() && (shape.size() == 0 || shape[0] != plan.micro_batch()))
        return wrong(name + " does not have the micro-batch " + number(plan.micro_batch()) + " as its first dimension");
      uint64_t bytes = product(elementsOf(input->shape()), elementBytes(input->element()));
      if (bytes != input->slice()->size())
        return wrong(name + " has " + number(bytes) + " bytes, its slice " + number(input->slice()->size()));
    }
    return {};
  }

  Status checkOutputs() const {
    if (records(plan.outputs()).size() != 0 && !findSection(plan, "predict"))
      return wrong("it has outputs and no section 'predict'");
    for (const schema::Output *output : records(plan.outputs())) {
      std::string name = "output " + quoted(text(output->name()));
      if (output->element() > schema::ElementType::MAX)
        return wrong(name + " has an unknown element type");
      ZERO_RETURN_IF_ERROR(checkSlice(output->slice(), name));
      auto shape = records(output->shape());
      if (output->batched() && (shape.size() == 0 || shape[0] % plan.micro_batch() != 0))
        return wrong(name + " does not have a multiple of the micro-batch " + number(plan.micro_batch()) +
                     " as its first dimension");
      uint64_t bytes = product(elementsOf(output->shape()), elementBytes(output->element()));
      if (bytes != output->slice()->size())
        return wrong(name + " has " + number(bytes) + " bytes, its slice " + number(output->slice()->size()));
    }
    return {};
  }

  Status checkStates() const {
    auto buckets = records(plan.buckets());
    for (const schema::State *state : records(plan.states())) {
      std::string name = "state " + std::string(text(state->role())) + " " + quoted(text(state->name()));
      ZERO_RETURN_IF_ERROR(checkSlice(state->slice(), name));
      if (state->bucket() < -1 || state->bucket() >= static_cast<int64_t>(buckets.size()))
        return wrong(name + " is of bucket " + std::to_string(state->bucket()) + " of " + number(buckets.size()));
      if ((state->element() && *state->element() > schema::ElementType::MAX) ||
          (state->weights_element() && *state->weights_element() > schema::ElementType::MAX))
        return wrong(name + " has an unknown element type");
      ZERO_RETURN_IF_ERROR(state->bucket() < 0 ? checkLoneState(*state, name) : checkBucketState(*state, name));
    }
    if (trains(plan))
      for (uint32_t bucket = 0; bucket < buckets.size(); ++bucket)
        if (findState(plan, "parameter", bucket) && !findExported(plan, bucket))
          return wrong("bucket " + quoted(text(buckets[bucket]->name())) + " has no state in the type of its weights, " +
                       schema::EnumNameElementType(weightsElement(*buckets[bucket])) + ", to export");
    return {};
  }

  /// A state of a bucket holds all of its elements, or one rank's.
  Status checkBucketState(const schema::State &state, const std::string &name) const {
    const schema::Bucket &bucket = *records(plan.buckets())[static_cast<uint32_t>(state.bucket())];
    uint64_t elements = bucket.elements() / (state.sharded() ? world() : 1);
    uint64_t bytes = product(elements, elementBytes(stateElement(state, bucket)));
    if (state.slice()->size() != bytes)
      return wrong(name + " has " + number(state.slice()->size()) + " bytes, its bucket's elements need " + number(bytes));
    if (text(state.role()) == "frozen" || isLoneNumber(state))
      return wrong(name + " is of a bucket");
    if (text(state.role()) == "master" && !canConvert(weightsElement(bucket), stateElement(state, bucket)))
      return wrong(name + " of " + schema::EnumNameElementType(stateElement(state, bucket)) + " starts from weights of " +
                   schema::EnumNameElementType(weightsElement(bucket)) + ", which cannot be converted to it");
    return {};
  }

  static bool isLoneNumber(const schema::State &state) {
    return text(state.role()) == "loss_scale" || text(state.role()) == "scale_window_steps" || text(state.role()) == "scale_hysteresis";
  }

  /// A frozen tensor, or a number that steps leave to one another.
  Status checkLoneState(const schema::State &state, const std::string &name) const {
    if (text(state.role()) != "frozen" && !isLoneNumber(state))
      return wrong(name + " has no bucket");
    uint64_t bytes = state.slice()->size();
    if (isLoneNumber(state)) {
      const uint64_t expected = text(state.role()) == "loss_scale" ? sizeof(float) : sizeof(int64_t);
      if (bytes != expected)
        return wrong(name + " has " + number(bytes) + " bytes, not " + number(expected));
    }
    if (state.weights_element()) {
      if (!state.element() || !canConvert(*state.weights_element(), *state.element()))
        return wrong(name + " starts from " + schema::EnumNameElementType(*state.weights_element()) + ", which cannot be rounded to " +
                     (state.element() ? schema::EnumNameElementType(*state.element()) : "an unknown type"));
      if (bytes % elementBytes(*state.element()) != 0)
        return wrong(name + " has " + number(bytes) + " bytes, no whole number of elements");
      bytes = product(bytes / elementBytes(*state.element()), elementBytes(*state.weights_element()));
    }
    if (sum(state.frozen_offset(), bytes) > sizes.frozen)
      return wrong(name + " ends at " + number(sum(state.frozen_offset(), bytes)) + " of the frozen section with " +
                   number(sizes.frozen) + " bytes");
    return {};
  }

  Status checkStepValues() const {
    for (const schema::StepScalar *scalar : records(plan.step_scalars())) {
      std::string name = "step scalar " + quoted(text(scalar->kind()));
      if (text(scalar->kind()) != "learning_rate" && text(scalar->kind()) != "bias_correction1" &&
          text(scalar->kind()) != "bias_correction2" && text(scalar->kind()) != "skip_non_finite")
        return wrong(name + " is unknown");
      ZERO_RETURN_IF_ERROR(checkSlice(scalar->slice(), name));
      if (scalar->slice()->size() != sizeof(float))
        return wrong(name + " has " + number(scalar->slice()->size()) + " bytes, not 4");
    }
    bool loss = false;
    for (const schema::StepResult *result : records(plan.step_results())) {
      loss |= text(result->kind()) == "loss";
      std::string name = "step result " + quoted(text(result->kind()));
      bool count = text(result->kind()) == "label_count";
      if (!count && text(result->kind()) != "loss" && text(result->kind()) != "grad_norm" &&
          text(result->kind()) != "skipped" && text(result->kind()) != "loss_sum" && text(result->kind()) != "loss_scale")
        return wrong(name + " is unknown");
      if (result->element() != (count ? schema::ElementType::i64 : schema::ElementType::f32))
        return wrong(name + " has the wrong element type");
      ZERO_RETURN_IF_ERROR(checkSlice(result->slice(), name));
      if (result->slice()->size() != elementBytes(result->element()))
        return wrong(name + " has " + number(result->slice()->size()) + " bytes, not " +
                     number(elementBytes(result->element())));
    }
    if (!loss && findSection(plan, "update"))
      return wrong("it trains and has no step result 'loss'");
    return {};
  }

  const schema::Plan &plan;
  const ContainerSizes &sizes;
};

} // namespace

Status verifyPlanRecords(std::string_view records, uint64_t weightsBytes, uint64_t frozenBytes) {
  ContainerSizes sizes;
  sizes.weights = weightsBytes;
  sizes.frozen = frozenBytes;
  return verifyPlan(records, sizes);
}

Status verifyPlan(std::string_view bytes, const ContainerSizes &sizes) {
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return Status::badInput("its records have " + number(bytes.size()) + " bytes, at most " +
                            number(FLATBUFFERS_MAX_BUFFER_SIZE) + " are possible");
  // The number of tables is bounded by the bytes: a table has at least a vtable offset.
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), /*max_depth=*/64,
                                 /*max_tables=*/static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1));
  if (!schema::VerifyPlanBuffer(verifier))
    return Status::badInput("its records are malformed");
  return PlanVerifier(*schema::GetPlan(bytes.data()), sizes).run();
}

} // namespace zero

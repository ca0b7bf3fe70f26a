//===- Dump.cpp - A container as text -------------------------------------===//
#include "zero/Container/Dump.h"
#include "zero/Container/CommandText.h"
#include "zero/Runtime/Base/NumberText.h"
#include <cstdio>
#include <map>

namespace zero {
namespace {

class Dumper {
public:
  explicit Dumper(const Container &container) : container(container), plan(container.plan()) {}

  std::string summary() {
    dumpFile();
    dumpMemory();
    dumpBuckets(/*slots=*/false);
    dumpKernels();
    dumpPrediction();
    dumpDoors();
    for (const schema::Section *section : records(plan.sections()))
      countCommands(*section);
    return std::move(out);
  }
  std::string commands() {
    for (const schema::Section *section : records(plan.sections()))
      dumpSection(*section);
    return std::move(out);
  }
  std::string buffers() {
    dumpMemory();
    for (const schema::Buffer *buffer : records(plan.buffers()))
      line("buffer %" + name(buffer->name()) + " at " + number(buffer->offset()) + ", " + number(buffer->size_bytes()) +
           " bytes, " + schema::EnumNameContentClass(buffer->content()) + (buffer->state() ? ", state" : "") +
           (text(buffer->label()).empty() ? "" : ": " + name(buffer->label())));
    dumpBuckets(/*slots=*/true);
    for (const schema::State *state : records(plan.states()))
      line("state " + name(state->role()) + (text(state->name()).empty() ? "" : " " + name(state->name())) +
           (state->element() ? std::string(", ") + schema::EnumNameElementType(*state->element()) : "") + (state->sharded() ? ", sharded" : "") +
           " at " + sliceText(state->slice()));
    return std::move(out);
  }
  std::string collectives() {
    std::map<schema::CollectiveKind, uint64_t> sums;
    for (const schema::Section *section : records(plan.sections())) {
      line(name(section->name()) + ", " + number(runsPerStep(*section)) + " times a step:");
      uint32_t index = 0;
      for (const schema::Command *command : records(section->commands())) {
        if (const schema::Collective *collective = command->action_as_Collective()) {
          line("  " + number(index) + " [" + schema::EnumNameQueueKind(command->queue()) + " #" + number(collective->sequence()) + "] " +
               commandTitle(plan, *command) + ": " + schema::EnumNameElementType(collective->element()) +
               (targetElement(*collective) == collective->element() ? "" : std::string(" to ") + schema::EnumNameElementType(targetElement(*collective))) + " " +
               sliceText(collective->source()) + " -> " + sliceText(collective->target()) + ", sends " + number(collective->wire_bytes()) + " bytes");
          sums[collective->kind()] += runsPerStep(*section) * collective->wire_bytes();
        }
        ++index;
      }
    }
    uint64_t total = 0;
    for (auto [kind, bytes] : sums) {
      line("sent by each rank in a step, " + std::string(schema::EnumNameCollectiveKind(kind)) + ": " + number(bytes) + " bytes");
      total += bytes;
    }
    line("sent by each rank in a step: " + number(total) + " bytes");
    return std::move(out);
  }

private:
  void line(const std::string &text) { out += text + "\n"; }
  static std::string number(uint64_t value) { return std::to_string(value); }
  static std::string name(const flatbuffers::String *string) { return std::string(text(string)); }

  static const char *kindName(SectionKind kind) {
    switch (kind) {
    case SectionKind::Plan:
      return "plan";
    case SectionKind::Weights:
      return "weights";
    case SectionKind::Frozen:
      return "frozen";
    case SectionKind::KernelObject:
      return "kernels";
    case SectionKind::Config:
      return "config";
    case SectionKind::Model:
      return "model";
    case SectionKind::CudaBinary:
      return "cuda binary";
    case SectionKind::CudaPtx:
      return "cuda ptx";
    case SectionKind::CudaSource:
      return "cuda source";
    }
    return "unknown";
  }

  template <typename Shape> static std::string shapeText(const flatbuffers::Vector<Shape> *shape) {
    std::string result;
    for (Shape dimension : records(shape))
      result += std::to_string(dimension) + "x";
    return result;
  }

  std::string sliceText(const schema::Slice *slice) const { return zero::sliceText(plan, *slice); }

  std::string slicesText(const flatbuffers::Vector<const schema::Slice *> *slices) const {
    std::string result;
    for (const schema::Slice *slice : records(slices))
      result += (result.empty() ? "" : ", ") + sliceText(slice);
    return "(" + result + ")";
  }

  void dumpFile() {
    line("model " + name(plan.model()) + ", world size " + number(plan.world_size()) + ", stage " +
         number(plan.zero_stage()) + ", micro-batch " + number(plan.micro_batch()) + ", accumulation " +
         number(plan.accumulation_steps()));
    if (isForCuda(plan))
      line("target cuda" + std::string(plan.deterministic() ? ", deterministic" : plan.fast() ? ", fast (sums in any order: runs differ in their last bits)" : "") + (plan.tf32() ? ", tf32" : "") + ", products take up to " +
           number(plan.cuda_workspace_bytes()) + " bytes of workspace, convolutions are " + (plan.cudnn_convolutions() ? "cuDNN's" : "generated"));
    for (const Container::Section &section : container.sections())
      line("section " + std::string(kindName(section.kind)) + (section.label.empty() ? "" : " " + section.label) + ": " +
           number(section.size) + " bytes at " + number(section.offset));
  }

  void dumpMemory() {
    for (const schema::Arena *arena : records(plan.arenas()))
      line("arena " + name(arena->name()) + " (" + schema::EnumNameMemoryKind(arena->kind()) + "): " +
           number(arena->size_bytes()) + " bytes");
    auto classes = records(plan.peak_bytes_by_class());
    for (uint32_t i = 0; i < classes.size() && i <= static_cast<uint32_t>(schema::ContentClass::MAX); ++i)
      line("  at the peak, " + std::string(schema::EnumNameContentClass(static_cast<schema::ContentClass>(i))) + ": " +
           number(classes[i]) + " bytes");
  }

  void dumpBuckets(bool slots) {
    for (const schema::Bucket *bucket : records(plan.buckets())) {
      line("bucket " + name(bucket->name()) + ": " + number(bucket->elements()) + " x " + schema::EnumNameElementType(bucket->element()) +
           (weightsElement(*bucket) == bucket->element() ? "" : std::string(" from ") + schema::EnumNameElementType(weightsElement(*bucket))) + ", " +
           number(records(bucket->slots()).size()) + (records(bucket->slots()).size() == 1 ? " parameter" : " parameters") +
           (text(bucket->block()).empty() ? "" : " of " + name(bucket->block())));
      if (!slots)
        continue;
      for (const schema::Slot *slot : records(bucket->slots()))
        line("  " + name(slot->name()) + " at " + number(slot->offset()) + ": " + shapeText(slot->shape()) +
             schema::EnumNameElementType(bucket->element()));
    }
  }

  void dumpPrediction() {
    if (!plan.predicted_step_ns())
      return;
    auto milliseconds = [](uint64_t ns) {
      char number[40];
      std::snprintf(number, sizeof number, "%.3f ms", static_cast<double>(ns) * 1e-6);
      return std::string(number);
    };
    std::string machine = name(plan.calibration());
    line("predicted step: " + milliseconds(plan.predicted_step_ns()) + ", of which " + milliseconds(plan.predicted_exposed_ns()) +
         " wait for communication, " + (machine.empty() ? "uncalibrated" : "calibrated on " + machine));
  }

  /// Of a cuda plan: how its generated kernels are launched.
  void dumpKernels() {
    if (!isForCuda(plan))
      return;
    for (const schema::Kernel *kernel : records(plan.kernels()))
      if (kernel->generated())
        line("kernel " + name(kernel->name()) + ": " + number(kernel->grid_blocks()) + " blocks of " + number(kernel->block_threads()) + " threads" +
             (kernel->shared_bytes() ? ", " + number(kernel->shared_bytes()) + " shared bytes" : ""));
  }

  void dumpDoors() {
    for (const schema::Input *input : records(plan.inputs()))
      line(std::string(input->label() ? "labels " : "input ") + name(input->name()) + ": " + shapeText(input->shape()) +
           schema::EnumNameElementType(input->element()) + (input->unbatched() ? ", unbatched" : "") +
           (input->predict() ? ", to predict" : "") + " at " + sliceText(input->slice()));
    for (const schema::Output *output : records(plan.outputs()))
      line("output " + name(output->name()) + ": " + shapeText(output->shape()) +
           schema::EnumNameElementType(output->element()) + (output->batched() ? ", batched" : "") + " at " +
           sliceText(output->slice()));
    for (const schema::StepScalar *scalar : records(plan.step_scalars()))
      line("step scalar " + name(scalar->kind()) + " = " + shortestText(scalar->value()) + " at " +
           sliceText(scalar->slice()));
    if (plan.least_loss_scale() > 0)
      line("least loss scale " + shortestText(plan.least_loss_scale()));
    for (const schema::StepResult *result : records(plan.step_results()))
      line("step result " + name(result->kind()) + ": " + schema::EnumNameElementType(result->element()) + " at " +
           sliceText(result->slice()));
  }

  uint64_t runsPerStep(const schema::Section &section) const {
    return text(section.name()) == "predict" ? 0 : text(section.name()) == "micro_next" ? plan.accumulation_steps() - 1 : 1;
  }

  /// What a command reads and writes, without what it is called.
  std::string operandText(const schema::Command &command) const {
    switch (command.action_type()) {
    case schema::Action::Dispatch: {
      const schema::Dispatch &dispatch = *command.action_as_Dispatch();
      std::string parameters;
      for (int64_t value : records(dispatch.integers()))
        parameters += " " + std::to_string(value);
      for (double value : records(dispatch.reals()))
        parameters += " " + shortestText(value);
      return slicesText(dispatch.reads()) + " -> " + slicesText(dispatch.writes()) + (parameters.empty() ? "" : " {" + parameters.substr(1) + "}");
    }
    case schema::Action::Collective: {
      const schema::Collective &collective = *command.action_as_Collective();
      return "#" + number(collective.sequence()) + " " + sliceText(collective.source()) + " -> " + sliceText(collective.target()) + ", sends " +
             number(collective.wire_bytes()) + " bytes";
    }
    case schema::Action::Copy:
      return sliceText(command.action_as_Copy()->source()) + " -> " + sliceText(command.action_as_Copy()->target());
    case schema::Action::Zero:
      return slicesText(command.action_as_Zero()->targets());
    case schema::Action::NONE:
      break;
    }
    return "";
  }

  void dumpSection(const schema::Section &section) {
    line(name(section.name()) + ":");
    uint32_t index = 0;
    for (const schema::Command *command : records(section.commands())) {
      std::string waits, record;
      for (uint32_t event : records(command->waits()))
        waits += " after e" + number(event);
      for (uint32_t event : records(command->carried()))
        waits += " after e" + number(event) + " of update";
      for (uint32_t event : records(command->early()))
        waits += " early, after e" + number(event) + " of update";
      if (const schema::Collective *collective = command->action_as_Collective(); collective && collective->outlasts())
        record = " outlasts the section";
      if (command->record() >= 0)
        record = " records e" + std::to_string(command->record()) + record;
      line("  " + number(index++) + " [" + schema::EnumNameQueueKind(command->queue()) + "] " + commandTitle(plan, *command) + ": " +
           operandText(*command) + waits + record);
    }
  }

  void countCommands(const schema::Section &section) {
    std::map<schema::QueueKind, uint64_t> queues;
    for (const schema::Command *command : records(section.commands()))
      ++queues[command->queue()];
    std::string text = "commands of " + name(section.name()) + ": " + number(records(section.commands()).size());
    for (auto [queue, count] : queues)
      text += ", " + number(count) + " on " + schema::EnumNameQueueKind(queue);
    line(text + ", " + number(section.events()) + " events");
  }

  const Container &container;
  const schema::Plan &plan;
  std::string out;
};

} // namespace

std::string dumpSummary(const Container &container) { return Dumper(container).summary(); }
std::string dumpCommands(const Container &container) { return Dumper(container).commands(); }
std::string dumpBuffers(const Container &container) { return Dumper(container).buffers(); }
std::string dumpCollectives(const Container &container) { return Dumper(container).collectives(); }

Expected<std::string> dumpConfig(const Container &container) {
  const Container::Section *section = container.find(SectionKind::Config);
  if (!section)
    return Status::badInput("'" + container.path() + "' holds no configuration");
  ZERO_ASSIGN_OR_RETURN(std::string config, container.read(*section));
  return config + "\n";
}

} // namespace zero

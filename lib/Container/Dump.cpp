//===- Dump.cpp - A container as text -------------------------------------===//
#include "zero/Container/Dump.h"
#include "zero/Container/PlanView.h"

namespace zero {
namespace {

class Dumper {
public:
  explicit Dumper(const Container &container) : container(container), plan(container.plan()) {}

  std::string run() {
    dumpFile();
    dumpMemory();
    dumpBuckets();
    dumpDoors();
    for (const schema::Section *section : records(plan.sections()))
      dumpSection(*section);
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
    }
    return "unknown";
  }

  template <typename Shape> static std::string shapeText(const flatbuffers::Vector<Shape> *shape) {
    std::string result;
    for (Shape dimension : records(shape))
      result += std::to_string(dimension) + "x";
    return result;
  }

  std::string sliceText(const schema::Slice *slice) const {
    std::string result = "%" + name(records(plan.buffers())[slice->buffer()]->name());
    result += "[" + number(slice->offset());
    if (slice->rank_stride())
      result += " + rank * " + number(slice->rank_stride());
    return result + ", " + number(slice->size()) + "]";
  }

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
    for (const schema::Buffer *buffer : records(plan.buffers()))
      line("buffer %" + name(buffer->name()) + " at " + number(buffer->offset()) + ", " + number(buffer->size_bytes()) +
           " bytes, " + schema::EnumNameContentClass(buffer->content()) + (buffer->state() ? ", state" : "") +
           (text(buffer->label()).empty() ? "" : ": " + name(buffer->label())));
  }

  void dumpBuckets() {
    for (const schema::Bucket *bucket : records(plan.buckets())) {
      line("bucket " + name(bucket->name()) + ": " + number(bucket->elements()) + " x " +
           schema::EnumNameElementType(bucket->element()));
      for (const schema::Slot *slot : records(bucket->slots()))
        line("  " + name(slot->name()) + " at " + number(slot->offset()) + ": " + shapeText(slot->shape()) +
             schema::EnumNameElementType(bucket->element()));
    }
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
    for (const schema::State *state : records(plan.states()))
      line("state " + name(state->role()) + " " + name(state->name()) + (state->sharded() ? ", sharded" : "") + " at " +
           sliceText(state->slice()));
    for (const schema::StepScalar *scalar : records(plan.step_scalars()))
      line("step scalar " + name(scalar->kind()) + " = " + std::to_string(scalar->value()) + " at " +
           sliceText(scalar->slice()));
    for (const schema::StepResult *result : records(plan.step_results()))
      line("step result " + name(result->kind()) + ": " + schema::EnumNameElementType(result->element()) + " at " +
           sliceText(result->slice()));
  }

  std::string actionText(const schema::Command &command) const {
    switch (command.action_type()) {
    case schema::Action::Dispatch: {
      const schema::Dispatch &dispatch = *command.action_as_Dispatch();
      std::string parameters;
      for (int64_t value : records(dispatch.integers()))
        parameters += " " + std::to_string(value);
      for (double value : records(dispatch.reals()))
        parameters += " " + std::to_string(value);
      return name(records(plan.kernels())[dispatch.kernel()]->name()) + " " + slicesText(dispatch.reads()) + " -> " +
             slicesText(dispatch.writes()) + (parameters.empty() ? "" : " {" + parameters.substr(1) + "}");
    }
    case schema::Action::Collective: {
      const schema::Collective &collective = *command.action_as_Collective();
      return std::string(schema::EnumNameCollectiveKind(collective.kind())) + " " + name(collective.label()) + " #" +
             number(collective.sequence()) + " " + sliceText(collective.source()) + " -> " +
             sliceText(collective.target()) + ", sends " + number(collective.wire_bytes()) + " bytes";
    }
    case schema::Action::Copy: {
      const schema::Copy &copy = *command.action_as_Copy();
      return "copy " + sliceText(copy.source()) + " -> " + sliceText(copy.target()) + ": " + name(copy.reason());
    }
    case schema::Action::Zero:
      return "zero " + slicesText(command.action_as_Zero()->targets());
    case schema::Action::NONE:
      break;
    }
    return "nothing";
  }

  void dumpSection(const schema::Section &section) {
    line(name(section.name()) + ":");
    for (const schema::Command *command : records(section.commands())) {
      std::string waits, record;
      for (uint32_t event : records(command->waits()))
        waits += " after e" + number(event);
      if (command->record() >= 0)
        record = " records e" + std::to_string(command->record());
      line("  [" + std::string(schema::EnumNameQueueKind(command->queue())) + "] " + actionText(*command) + waits + record);
    }
  }

  const Container &container;
  const schema::Plan &plan;
  std::string out;
};

} // namespace

std::string dumpContainer(const Container &container) { return Dumper(container).run(); }

} // namespace zero

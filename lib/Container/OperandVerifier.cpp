//===- OperandVerifier.cpp - Slices of one command that share bytes -------===//
#include "lib/Container/OperandVerifier.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/HAL/RankRange.h"
#include <string>
#include <vector>

namespace zero {
namespace {

struct Operand : RankAccess {
  const schema::Slice *slice;
};

class OperandVerifier {
public:
  explicit OperandVerifier(const schema::Plan &plan) : plan(plan), ranks(plan.world_size()) {}

  Status run() const {
    for (const schema::Section *section : records(plan.sections())) {
      uint32_t index = 0;
      for (const schema::Command *command : records(section->commands()))
        ZERO_RETURN_IF_ERROR(check(*command, "section '" + std::string(text(section->name())) + "' command " + std::to_string(index++)));
    }
    return {};
  }

private:
  void add(const schema::Slice *slice, bool write, std::vector<Operand> &operands) const {
    if (!slice || slice->size() == 0)
      return;
    const schema::Buffer *buffer = records(plan.buffers())[slice->buffer()];
    const RankRange range{static_cast<int64_t>(buffer->offset() + slice->offset()), static_cast<int64_t>(slice->size()), static_cast<int64_t>(slice->rank_stride())};
    operands.push_back({{range, buffer->arena(), write, static_cast<unsigned>(operands.size())}, slice});
  }

  /// In place only what is exactly that: whether a kernel can, the compiler has proved.
  Status check(const schema::Command &command, const std::string &where) const {
    std::vector<Operand> operands;
    const schema::Collective *collective = command.action_as_Collective();
    if (const schema::Dispatch *dispatch = command.action_as_Dispatch()) {
      for (const schema::Slice *slice : records(dispatch->reads()))
        add(slice, false, operands);
      for (const schema::Slice *slice : records(dispatch->writes()))
        add(slice, true, operands);
    } else if (const schema::Copy *copy = command.action_as_Copy()) {
      add(copy->source(), false, operands);
      add(copy->target(), true, operands);
    } else if (collective) {
      add(collective->source(), false, operands);
      add(collective->target(), true, operands);
      add(collective->staging(), true, operands);
    }
    Status status;
    forEachOverlap(std::move(operands), ranks, [&](const Operand &a, const Operand &b) {
      if (!mayOverlap(command, a, b))
        status = refuse(where, b, a);
      return status.ok();
    });
    return status;
  }

  bool mayOverlap(const schema::Command &command, const Operand &a, const Operand &b) const {
    if (a.slice->buffer() != b.slice->buffer())
      return false;
    const schema::Collective *collective = command.action_as_Collective();
    if (!collective)
      return command.action_type() == schema::Action::Dispatch; // library kernels go through one buffer in strides; the executor knows their scratch
    if (a.write == b.write || a.slice == collective->staging() || b.slice == collective->staging())
      return false;
    const RankRange &source = a.write ? b.range : a.range, &target = a.write ? a.range : b.range;
    switch (collective->kind()) {
    case schema::CollectiveKind::all_gather:
      return source.isOwnPart(target, ranks);
    case schema::CollectiveKind::reduce_scatter:
      return target.isOwnPart(source, ranks);
    case schema::CollectiveKind::control_sum:
      return source == target;
    }
    return false;
  }

  std::string describe(const Operand &operand) const {
    const uint64_t begin = operand.slice->offset();
    return "bytes " + std::to_string(begin) + ".." + std::to_string(begin + operand.slice->size()) + " of buffer '" +
           std::string(text(records(plan.buffers())[operand.slice->buffer()]->name())) + "'";
  }

  Status refuse(const std::string &where, const Operand &a, const Operand &b) const {
    const Operand &write = b.write ? b : a, &other = b.write ? a : b; // where both are written, the first by address is named first
    return Status::badInput(where + " writes " + describe(write) + " and " + (other.write ? "writes " : "reads ") + describe(other) + ", which overlap");
  }

  const schema::Plan &plan;
  int64_t ranks;
};

} // namespace

Status verifyOperands(const schema::Plan &plan) { return OperandVerifier(plan).run(); }

} // namespace zero

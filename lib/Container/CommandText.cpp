//===- CommandText.cpp - What a command of a plan is called ---------------===//
#include "zero/Container/CommandText.h"

namespace zero {

/// A bucket's name with its parameters; anything else as it is.
static std::string labelText(const schema::Plan &plan, std::string_view label) {
  std::string result(label);
  for (const schema::Bucket *bucket : records(plan.buckets())) {
    auto slots = records(bucket->slots());
    if (text(bucket->name()) != label || slots.size() == 0)
      continue;
    result += " (" + std::string(text(slots[0]->name()));
    return result + (slots.size() > 1 ? " and " + std::to_string(slots.size() - 1) + " more)" : ")");
  }
  return result;
}

std::string commandKind(const schema::Plan &plan, const schema::Command &command) {
  switch (command.action_type()) {
  case schema::Action::Dispatch:
    return std::string(text(records(plan.kernels())[command.action_as_Dispatch()->kernel()]->name()));
  case schema::Action::Collective:
    return schema::EnumNameCollectiveKind(command.action_as_Collective()->kind());
  case schema::Action::Copy:
    return "copy";
  case schema::Action::Zero:
    return "zero";
  case schema::Action::NONE:
    break;
  }
  return "nothing";
}

std::string commandTitle(const schema::Plan &plan, const schema::Command &command) {
  std::string title = commandKind(plan, command), location(text(command.location()));
  if (const schema::Collective *collective = command.action_as_Collective())
    return title + " " + labelText(plan, text(collective->label()));
  if (const schema::Copy *copy = command.action_as_Copy())
    title += ": " + std::string(text(copy->reason()));
  return location.empty() ? title : title + " " + location;
}

std::string sliceText(const schema::Plan &plan, const schema::Slice &slice) {
  std::string result = "%" + std::string(text(records(plan.buffers())[slice.buffer()]->name())) + "[" + std::to_string(slice.offset());
  if (slice.rank_stride())
    result += " + rank * " + std::to_string(slice.rank_stride());
  return result + ", " + std::to_string(slice.size()) + "]";
}

} // namespace zero

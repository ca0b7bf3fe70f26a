//===- ShownWork.h - A command that is shown, not run ---------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_SHOWNWORK_H
#define ZERO_LIB_RUNTIME_EXECUTOR_SHOWNWORK_H

#include "lib/Runtime/Executor/Memory.h"
#include "zero/Runtime/HAL/Queue.h"

namespace zero {

/// For devices whose `runs` is false.
class ShownWork final : public Work {
public:
  ShownWork(const schema::Plan &plan, const schema::Command &command, std::string place, const Memory &memory)
      : plan(plan), command(command), place(std::move(place)), memory(memory) {}
  Status run() override { return {}; }
  WorkDescription describe() const override;

private:
  const schema::Plan &plan;
  const schema::Command &command;
  std::string place;
  const Memory &memory;
};

} // namespace zero

#endif

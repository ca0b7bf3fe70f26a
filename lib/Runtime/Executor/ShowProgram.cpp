//===- ShowProgram.cpp - The stream of commands of a program, as text -----===//
#include "zero/Runtime/Executor/ShowProgram.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/Executor/Executor.h"
#include "zero/Runtime/HAL/Device.h"
#include <ostream>

namespace zero {

Status showProgram(const std::string &path, uint64_t steps, std::ostream &out) {
  ZERO_ASSIGN_OR_RETURN(Container container, Container::open(path));
  const schema::Plan &plan = container.plan();
  std::unique_ptr<Bootstrap> bootstrap = createTraceBootstrap(/*rank=*/0, plan.world_size());
  ExecutorOptions options;
  options.createDevice = [&]() -> Expected<std::unique_ptr<Device>> { return createTraceDevice(out); };
  out << "rank 0 of " << plan.world_size() << "\n";
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(container, *bootstrap, options));
  for (uint64_t step = 1; step <= steps; ++step) {
    out << "step " << step << "\n";
    if (!trains(plan)) {
      ZERO_RETURN_IF_ERROR(executor->runPredict());
      continue;
    }
    for (unsigned micro = 0; micro < plan.accumulation_steps(); ++micro)
      ZERO_RETURN_IF_ERROR(executor->runMicroBatch(micro));
    ZERO_RETURN_IF_ERROR(executor->runUpdate(step, /*followed=*/step < steps));
  }
  return executor->finish();
}

} // namespace zero

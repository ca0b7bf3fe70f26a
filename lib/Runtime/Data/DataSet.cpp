//===- DataSet.cpp - Which format, and how long the data last -------------===//
#include "zero/Runtime/Data/DataSet.h"
#include "lib/Runtime/Data/Openers.h"

namespace zero {

Expected<std::unique_ptr<DataSet>> openDataSet(const DataOptions &options, const schema::Plan &plan) {
  if (options.format != DataFormat::Npz)
    return openTokens(options, plan);
  auto opened = openNpz(options, plan);
  if (!opened.ok() && !options.path.ends_with(".npz"))
    return Status(opened.status().code(),
                  opened.status().message() + " (a file of tokens needs --data-format=bytes or --data-format=u16)");
  return opened;
}

Expected<Schedule> planSteps(const DataSet &data, const DataOptions &options, uint64_t samplesPerStep, uint64_t steps,
                             uint64_t epochs) {
  uint64_t perEpoch = data.samples() / samplesPerStep, possible;
  std::string amount = "'" + options.path + "' has " + std::to_string(data.samples()) + " samples";
  if (perEpoch == 0)
    return Status::badInput(amount + ", one step takes " + std::to_string(samplesPerStep));
  if (__builtin_mul_overflow(perEpoch, epochs ? epochs : 1, &possible))
    possible = UINT64_MAX;
  if (steps > possible)
    return Status::badInput(amount + ", enough for " + std::to_string(possible) + " steps of " +
                            std::to_string(samplesPerStep) + (epochs ? " in " + std::to_string(epochs) + " epochs" : "") +
                            ", not for --steps=" + std::to_string(steps) + "; --epochs=" +
                            std::to_string((steps + perEpoch - 1) / perEpoch) + " would be");
  if (uint64_t needed = (steps + perEpoch - 1) / perEpoch; steps && epochs > needed)
    return Status::badInput("--epochs=" + std::to_string(epochs) + " contradicts --steps=" + std::to_string(steps) + ": " + amount + ", and the last step is in epoch " +
                            std::to_string(needed) + "; give one of the two");
  return Schedule{steps ? steps : possible, perEpoch};
}

} // namespace zero

//===- Training.cpp - Runs a compiled program over data -------------------===//
#include "zero/Runtime/Executor/Training.h"
#include "lib/Runtime/Executor/Agreement.h"
#include "lib/Runtime/Executor/Export.h"
#include "lib/Runtime/Executor/NonFinite.h"
#include "lib/Runtime/Executor/Predict.h"
#include "lib/Runtime/Executor/Report.h"
#include "lib/Runtime/Executor/Trace.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/Base/Env.h"
#include "zero/Runtime/Base/OutputFile.h"
#include "zero/Runtime/Base/ProcessMemory.h"
#include "zero/Runtime/HAL/Stream.h"
#include <charconv>
#include <chrono>
#include <cmath>
#include <sched.h>
#include <sstream>
#include <unistd.h>
#include <utility>

namespace zero {
namespace {

using Clock = std::chrono::steady_clock;

/// One rank's run of a training job.
class Run {
public:
  Run(const TrainingOptions &options, const Container &container, const DataSet &data, const Schedule &schedule,
      OnNan onNan, Executor &executor, Bootstrap &bootstrap)
      : options(options), plan(container.plan()), data(data), schedule(schedule), onNan(onNan), executor(executor), bootstrap(bootstrap) {}

  Status train() {
    Status opened;
    if (speaks() && !options.metricsPath.empty())
      opened = metrics.open(options.metricsPath);
    ZERO_RETURN_IF_ERROR(bootstrap.agree(opened));
    Progress progress(schedule.steps, stepsPerLine);
    for (uint64_t step = 0; step < schedule.steps; ++step) {
      StepReport report = {};
      Status status = runStep(step, report);
      bool complete = report.step != 0;
      if (complete && speaks()) {
        Status written = options.metricsPath.empty() ? Status() : metrics.write(report);
        if (status.ok()) {
          progress.show(report);
          status = written;
        }
      }
      if (!status.ok()) {
        if (speaks())
          progress.finish();
        return status.annotate("step " + std::to_string(step + 1));
      }
    }
    Status finished = executor.finish();
    if (speaks())
      progress.finish();
    if (!finished.ok())
      return finished.annotate("step " + std::to_string(schedule.steps));
    // Whoever reads the exit status alone must not take weights as they were for trained ones.
    if (schedule.steps && skipped == schedule.steps)
      return bootstrap.agree(Status::programFailed(nothingTrained()));
    if (speaks() && skipped)
      std::printf("note: %llu of %llu steps were skipped, the first was %s\n", static_cast<unsigned long long>(skipped),
                  static_cast<unsigned long long>(schedule.steps), firstSkipped.c_str());
    return {};
  }

  uint64_t stepsPerLine = 1;

private:
  bool speaks() const { return bootstrap.rank() == 0; }

  /// Of the processes of all ranks the one that grew most; the communication of the rank that waited longest for it.
  Status measureRanks(StepReport &report) {
    // What is mapped of other ranks' memory is counted there.
    uint64_t now = processBytes() - bootstrap.bytesOfPeers(), peak = peakResidentBytes();
    std::ostringstream mine;
    mine.precision(17);
    mine << now - std::min(now, options.processBytesAtStart) << " " << peak - std::min(peak, options.peakResidentBytesAtStart) << " " << peak
         << " " << report.communication.exposed.value_or(-1) << " " << report.communication.total << " " << report.otherDeviceBytes.value_or(0);
    ZERO_ASSIGN_OR_RETURN(std::vector<std::string> all, bootstrap.allGather(mine.str()));
    report.communication = {0, std::nullopt};
    for (const std::string &one : all) {
      std::istringstream words(one);
      uint64_t bytes = 0, beyondStart = 0, resident = 0, otherDeviceBytes = 0;
      double exposed = 0;
      CommunicationTimes times;
      words >> bytes >> beyondStart >> resident >> exposed >> times.total >> otherDeviceBytes;
      times.exposed = exposed < 0 ? std::nullopt : std::optional(exposed);
      report.processBytes = std::max(report.processBytes, bytes);
      report.peakProcessBytes = std::max(report.peakProcessBytes, beyondStart);
      report.peakResidentBytes = std::max(report.peakResidentBytes, resident);
      if (report.otherDeviceBytes)
        report.otherDeviceBytes = std::max(*report.otherDeviceBytes, otherDeviceBytes);
      if (std::pair(times.exposed, times.total) >= std::pair(report.communication.exposed, report.communication.total))
        report.communication = times;
    }
    return {};
  }

  Status readInputs(uint64_t step, uint64_t micro) {
    const uint64_t epoch = step / schedule.stepsPerEpoch, inEpoch = step % schedule.stepsPerEpoch, batch = plan.micro_batch();
    const uint64_t first = ((inEpoch * plan.accumulation_steps() + micro) * bootstrap.size() + bootstrap.rank()) * batch;
    for (uint32_t i = 0; i < records(plan.inputs()).size(); ++i)
      ZERO_RETURN_IF_ERROR(data.read(i, epoch, first, batch, executor.input(i)));
    return {};
  }

  Status runMicroBatch(uint64_t step, uint64_t micro) {
    bootstrap.view().moveTo(step + 1, JobView::kReadingData);
    ZERO_RETURN_IF_ERROR(readInputs(step, micro));
    return executor.runMicroBatch(static_cast<unsigned>(micro));
  }

  Status runStep(uint64_t step, StepReport &report) {
    if (!executor.runsAhead() || step == 0) {
      begin = Clock::now();
      timesBefore = executor.communicationTimes();
      omittedBefore = executor.bytesOmitted();
    }
    const Traffic before = started ? startedAt : executor.traffic();
    uint64_t batch = plan.micro_batch(), microBatches = plan.accumulation_steps(), ranks = bootstrap.size();
    Status first = started ? *started : runMicroBatch(step, 0);
    started.reset();
    ZERO_RETURN_IF_ERROR(first);
    bootstrap.view().moveToStep(step + 1);
    for (uint64_t micro = 1; micro < microBatches; ++micro)
      ZERO_RETURN_IF_ERROR(runMicroBatch(step, micro));
    ZERO_RETURN_IF_ERROR(executor.runUpdate(step + 1 - skipped, /*followed=*/step + 1 < schedule.steps));
    const Traffic after = executor.traffic();
    // While the device computes it is given the next step's first micro-batch, which changes no state: so it has something to do when the
    // host hears of this step. What goes wrong with it, with its data for example, is that step's error.
    if (executor.runsAhead() && step + 1 < schedule.steps) {
      startedAt = after;
      started = runMicroBatch(step + 1, 0);
      bootstrap.view().moveToStep(step + 1);
    }
    ZERO_RETURN_IF_ERROR(executor.awaitUpdate());
    report.results = executor.results();
    if (report.results.labelCount == 0) // the same on all ranks: the count is a sum over them
      return bootstrap.agree(Status::programFailed("no label of this step counts: all of them are the ignored value"));
    report.learningRate = executor.learningRate();
    const Clock::time_point end = Clock::now();
    report.seconds = std::chrono::duration<double>(end - begin).count();
    begin = end; // of the next step, where that is under way
    report.samplesPerSecond = static_cast<double>(batch * microBatches * ranks) / report.seconds;
    report.traffic = {after.allGather - before.allGather, after.reduceScatter - before.reduceScatter,
                      after.control - before.control};
    const uint64_t omitted = executor.bytesOmitted();
    report.bytesOmitted = omitted - std::exchange(omittedBefore, omitted);
    CommunicationTimes times = executor.communicationTimes();
    report.communication.total = times.total - timesBefore.total;
    report.communication.exposed = times.exposed ? std::optional(*times.exposed - *timesBefore.exposed) : std::nullopt;
    timesBefore = times;
    report.device = executor.deviceDescription();
    report.deviceBytes = executor.deviceBytes();
    report.peakGatheredElements = executor.peakGatheredElements();
    report.predictedSeconds = static_cast<double>(plan.predicted_step_ns()) * 1e-9;
    if (!options.metricsPath.empty()) {
      ZERO_ASSIGN_OR_RETURN(report.otherDeviceBytes, executor.otherDeviceBytes());
      ZERO_RETURN_IF_ERROR(measureRanks(report));
    }
    bool finite = std::isfinite(report.results.loss) && std::isfinite(report.results.gradNorm);
    Status status = finite || onNan == OnNan::Ignore ? Status() : stopOrSkip(step + 1);
    report.step = step + 1;
    report.skippedSteps = skipped;
    return status;
  }

  std::string nothingTrained() const {
    std::string all = schedule.steps == 1 ? "the only step was skipped" : "all " + std::to_string(schedule.steps) + " steps were skipped";
    all += ", and nothing was trained; the first was " + firstSkipped;
    const float scale = executor.results().lossScale;
    if (scale > plan.least_loss_scale())
      all += "; the loss scale of the last one was " + lossScaleText(scale) + ", and it can fall to " + lossScaleText(plan.least_loss_scale()) +
             ": take more steps, or a smaller 'fp16.initial_scale_power'";
    return all;
  }

  /// A step whose loss or norm is not finite, on all ranks; its update changed nothing.
  Status stopOrSkip(uint64_t step) {
    skipped += executor.results().skipped;
    // A smaller loss scale may help.
    const bool stops = onNan == OnNan::Stop && executor.results().lossScale <= plan.least_loss_scale();
    if (!stops && skipped > 1)
      return {};
    ZERO_ASSIGN_OR_RETURN(std::string what, describeNonFinite(plan, executor, bootstrap));
    if (stops && plan.least_loss_scale() > 0)
      what += ", at the least loss scale, " + lossScaleText(plan.least_loss_scale());
    if (stops)
      return bootstrap.agree(Status::programFailed(
          what + (executor.results().skipped ? "; nothing was updated (--on-nan=skip goes on without such steps)"
                                             : "; the update has run: an earlier compiler made this program")));
    firstSkipped = "step " + std::to_string(step) + ": " + what;
    return {};
  }

  const TrainingOptions &options;
  const schema::Plan &plan;
  const DataSet &data;
  const Schedule &schedule;
  const OnNan onNan;
  Executor &executor;
  Bootstrap &bootstrap;
  MetricsFile metrics;
  std::optional<Status> started; ///< what came of the next step's first micro-batch, where that was run already
  Traffic startedAt;             ///< before it
  Clock::time_point begin;       ///< of what the step's seconds count, and the communication before it
  CommunicationTimes timesBefore;
  uint64_t omittedBefore = 0;
  uint64_t skipped = 0; ///< steps whose update was held back: the same on all ranks
  std::string firstSkipped;
};

/// Whether the program leaves its states alone where a step is not finite; one of an earlier compiler does not.
bool holdsBack(const schema::Plan &plan) {
  for (const schema::StepResult *result : records(plan.step_results()))
    if (text(result->kind()) == "skipped")
      return true;
  return false;
}

/// The value of `steps_per_print` in the effective configuration, or DeepSpeed's default.
Expected<uint64_t> stepsPerPrint(const Container &container) {
  uint64_t steps = 10;
  const Container::Section *section = container.find(SectionKind::Config);
  if (!section)
    return steps;
  ZERO_ASSIGN_OR_RETURN(std::string config, container.read(*section));
  constexpr std::string_view kKey = "\"steps_per_print\":";
  if (size_t at = config.find(kKey); at != std::string::npos) {
    at = config.find_first_not_of(' ', at + kKey.size());
    if (at != std::string::npos)
      std::from_chars(config.data() + at, config.data() + config.size(), steps);
  }
  return std::max<uint64_t>(steps, 1);
}

void printProgram(const Container &container, const Executor &executor, unsigned ranks) {
  const schema::Plan &plan = container.plan();
  std::string how = trains(plan) ? "ZeRO stage " + std::to_string(plan.zero_stage()) : "forward pass only";
  std::printf("%s: %s, %s, %u %s, %llu bytes each, %s\n", container.path().c_str(),
              std::string(text(plan.model())).c_str(), how.c_str(), ranks, ranks == 1 ? "rank" : "ranks",
              static_cast<unsigned long long>(executor.deviceBytes()), executor.deviceDescription().c_str());
  for (const std::string &note : executor.notes())
    std::printf("note: %s\n", note.c_str());
}

/// Whether a launcher has left this process one core of several, as mpirun by itself does for two ranks.
bool isBoundToOneCore() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1 && sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

void printStart(const Container &container, const DataSet &data, const Schedule &schedule, const TrainingOptions &options,
                unsigned ranks) {
  const schema::Plan &plan = container.plan();
  uint64_t perStep = uint64_t(plan.micro_batch()) * plan.accumulation_steps() * ranks;
  if (uint64_t rest = data.samples() - schedule.stepsPerEpoch * perStep)
    std::printf("note: the last %llu of %llu samples do not fill a step of %llu and are not used\n",
                static_cast<unsigned long long>(rest), static_cast<unsigned long long>(data.samples()),
                static_cast<unsigned long long>(perStep));
  if (plan.fast())
    std::printf("note: %s is compiled with --fast: sums are added in any order, and runs differ in their last bits\n", container.path().c_str());
  if (isForCuda(plan) && ranks > 1 && !options.stagedChannels && isBoundToOneCore())
    std::printf("note: this rank is bound to one core, which NCCL's threads share with it: mpirun --bind-to none leaves them all\n");
  for (const std::string &note : data.notes)
    std::printf("note: %s\n", note.c_str());
  if (options.seedGiven && options.data.format == DataFormat::Npz)
    std::printf("note: --seed changes nothing: the samples of an .npz are used in its own order\n");
  std::fflush(stdout);
}

} // namespace

Expected<std::shared_ptr<const DataSet>> Training::openData(const schema::Plan &plan) {
  std::lock_guard lock(mutex);
  if (!data) {
    ZERO_ASSIGN_OR_RETURN(std::shared_ptr<const DataSet> opened, openDataSet(options.data, plan));
    ZERO_ASSIGN_OR_RETURN(dataFingerprint, fingerprintData(options.data.path));
    data = std::move(opened);
  }
  return data;
}

Expected<std::shared_ptr<const Container>> Training::openProgram() {
  std::lock_guard lock(mutex);
  if (!program) {
    ZERO_ASSIGN_OR_RETURN(Container opened, Container::open(options.program));
    program = std::make_shared<const Container>(std::move(opened));
  }
  return program;
}

OnNan Training::getOnNan(const schema::Plan &plan) const {
  bool narrow = false;
  for (const schema::Bucket *bucket : records(plan.buckets()))
    narrow |= elementBytes(bucket->element()) == 2;
  return options.onNan.value_or(narrow ? OnNan::Skip : OnNan::Stop);
}

/// A program runs on what it was compiled for.
Status Training::checkDevice(const Container &container) const {
  const schema::Plan &plan = container.plan();
  std::string program = "'" + container.path() + "'", recompile = "; recompile with: " + recompileCommand(container, plan.world_size());
  const bool isCuda = isForCuda(plan);
  if (!isCuda && options.device == DeviceKind::Cuda)
    return Status::badInput("--device=cuda, but " + program + " is compiled for CPUs" + recompile + " --target=cuda");
  if (isCuda && options.device == DeviceKind::Cpu)
    return Status::badInput("--device=cpu, but " + program + " is compiled with --target=cuda; recompile it without");
  if (isCuda && options.threads != 1)
    return Status::badInput("--threads=" + std::to_string(options.threads) + " share the kernels of a CPU, and " + program +
                            " is compiled with --target=cuda");
  if (isCuda && options.instructionSet)
    return Status::badInput("--isa=" + instructionSetName(*options.instructionSet) + " is of a CPU, and " + program +
                            " is compiled with --target=cuda");
  if (isCuda && options.sharedMemoryGiven)
    return Status::badInput("--shared-memory is for ranks that compute on CPUs, and " + program + " is compiled with --target=cuda");
  return {};
}

/// What the flags ask of the program, it must be able to do.
Status Training::check(const Container &container) const {
  ZERO_RETURN_IF_ERROR(checkDevice(container));
  const schema::Plan &plan = container.plan();
  std::string program = "'" + container.path() + "'";
  if (options.nccl && !isForCuda(plan))
    return Status::badInput("--comm=nccl is between GPUs, and " + program + " is compiled for " + std::string(planTarget(plan)) +
                            ": leave it out, or recompile with --target=cuda");
  if (!trains(plan)) {
    std::string asked = options.steps         ? "--steps"
                        : options.epochs      ? "--epochs"
                        : options.predictPath.empty() ? "--predict=OUT.npz is not given"
                        : !options.exportPath.empty() ? "--export"
                                                      : "";
    if (!asked.empty())
      return Status::badInput(program + " is compiled with --loss=none: it predicts and cannot train" +
                              (asked.starts_with("--predict") ? ", and " + asked : "; " + asked + " is for training"));
  }
  if (options.trains() && options.onNan == OnNan::Ignore && plan.least_loss_scale() > 0)
    return Status::badInput("--on-nan=ignore would update with gradients that overflowed: " + program +
                            " trains in fp16, where the loss scale falls until they fit; take skip, or stop");
  if (options.trains() && getOnNan(plan) == OnNan::Skip && !holdsBack(plan))
    return Status::badInput(program + " cannot hold an update back, which --on-nan=skip asks for; recompile with: " +
                            recompileCommand(container, plan.world_size()));
  if (options.predictPath.empty())
    return {};
  if (!findSection(plan, "predict"))
    return Status::badInput(program + " has no section to predict with: it was compiled without outputs");
  if (options.data.path.empty() && readsData(plan))
    return Status::badInput("--predict needs --data: " + program + " reads inputs");
  return {};
}

Status Training::run(Bootstrap &bootstrap) {
  ZERO_RETURN_IF_ERROR(agreeOnFlags(options, bootstrap));
  auto opened = openProgram();
  ZERO_RETURN_IF_ERROR(bootstrap.agree(opened.status()));
  const Container &container = **opened;
  const schema::Plan &plan = container.plan();
  ZERO_RETURN_IF_ERROR(agreeOnProgram(container, bootstrap));
  ZERO_RETURN_IF_ERROR(bootstrap.agree(check(container)));
  uint64_t samplesPerStep = uint64_t(plan.micro_batch()) * plan.accumulation_steps() * plan.world_size();

  // What is written after the last step must not be found out to be unwritable only then.
  Status writable;
  for (const std::string &path : {options.exportPath, options.tracePath, options.predictPath})
    if (bootstrap.rank() == 0 && !path.empty() && writable.ok())
      writable = checkWritable(path);
  ZERO_RETURN_IF_ERROR(bootstrap.agree(writable));

  if (!options.exportPath.empty())
    ZERO_RETURN_IF_ERROR(bootstrap.agree(checkExport(options.exportPath, container)));

  Trace trace;
  trace.calibration = text(plan.calibration());
  ExecutorOptions executorOptions;
  executorOptions.threads = options.threads;
  executorOptions.instructionSet = options.instructionSet;
  executorOptions.delaySeed = env::testDelaySeed();
  executorOptions.trace = options.tracePath.empty() ? nullptr : &trace;
  executorOptions.measuresWaits = !options.metricsPath.empty();
  executorOptions.skipNonFinite = getOnNan(plan) != OnNan::Ignore;
  if (isForCuda(plan)) {
    executorOptions.comm = options.stagedChannels ? StreamComm::Staged : StreamComm::Nccl;
    const bool staged = executorOptions.comm == StreamComm::Staged;
    ZERO_ASSIGN_OR_RETURN(unsigned index, chooseDevice(bootstrap, findCudaDevices(), /*shared=*/staged));
    const CudaDeviceOptions deviceOptions = {/*mappedByPeers=*/!staged && bootstrap.size() > 1};
    executorOptions.createDevice = [index, deviceOptions]() -> Expected<std::unique_ptr<Device>> {
      ZERO_ASSIGN_OR_RETURN(std::unique_ptr<StreamDevice> device, createCudaDevice(index, deviceOptions));
      return std::unique_ptr<Device>(std::move(device));
    };
  }
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(container, bootstrap, executorOptions));

  Schedule schedule = {};
  std::shared_ptr<const DataSet> samples;
  ZERO_RETURN_IF_ERROR(bootstrap.agree([&]() -> Status {
    if (!options.data.path.empty()) {
      ZERO_ASSIGN_OR_RETURN(samples, openData(plan));
    }
    if (!options.trains())
      return {};
    ZERO_ASSIGN_OR_RETURN(schedule, planSteps(*samples, options.data, samplesPerStep, options.steps, options.epochs));
    return {};
  }()));
  if (samples)
    ZERO_RETURN_IF_ERROR(agreeOnData(options.data, *samples, dataFingerprint, bootstrap));
  if (bootstrap.rank() == 0)
    printProgram(container, *executor, bootstrap.size());

  Status status;
  if (options.trains()) {
    if (bootstrap.rank() == 0)
      printStart(container, *samples, schedule, options, bootstrap.size());
    Run run(options, container, *samples, schedule, getOnNan(plan), *executor, bootstrap);
    ZERO_ASSIGN_OR_RETURN(run.stepsPerLine, stepsPerPrint(container));
    status = run.train();
  }
  // Of what is written after training one that fails, on all ranks alike, does not take the others with it: the weights may be the
  // work of days. A rank that is lost does. The first failure is the job's.
  auto write = [&](const std::string &path, auto action) {
    if (path.empty() || !(status.ok() || bootstrap.agreedOnError()))
      return;
    Status outcome = action();
    if (status.ok() || (!outcome.ok() && !bootstrap.agreedOnError()))
      status = outcome;
    else
      status = bootstrap.agree(status);
  };
  if (status.ok()) {
    write(options.predictPath, [&] { return predict(options.predictPath, container, samples.get(), *executor, bootstrap); });
    bootstrap.view().moveTo(JobView::kExporting);
    write(options.exportPath, [&] { return exportParameters(options.exportPath, container, *executor, bootstrap); });
    write(options.tracePath, [&] { return trace.write(options.tracePath, bootstrap); });
  }
  if (status.ok())
    status = executor->close();
  // While this rank's buffers live: peers may still be reading them.
  if (!status.ok() && !bootstrap.agreedOnError())
    bootstrap.abort(status);
  return status;
}

} // namespace zero

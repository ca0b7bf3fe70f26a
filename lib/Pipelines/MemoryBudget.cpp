//===- MemoryBudget.cpp - Whether a plan fits, and what would -------------===//
#include "zero/Pipelines/MemoryBudget.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Analysis/ModelStates.h"
#include "zero/Analysis/PlanReport.h"
#include "mlir/IR/Diagnostics.h"
#include <numeric>

using namespace mlir;

namespace zero {

int64_t getDeviceBytes(ModuleOp plan) {
  int64_t bytes = 0;
  for (auto arena : plan.getOps<plan::ArenaOp>())
    if (arena.getKind() == plan::MemoryKind::device)
      bytes += arena.getSizeBytes();
  return bytes;
}

namespace {

/// What may differ from the configuration that did not fit.
struct Change {
  int64_t stage, microBatch, accumulationSteps, worldSize, prefetchElements;
  bool bf16;
  bool operator==(const Change &) const = default;

  /// `divisor` times smaller micro-batches and as many more of them: the same step.
  Change withSmallerMicroBatch(int64_t divisor) const {
    Change change = *this;
    change.microBatch /= divisor;
    change.accumulationSteps *= divisor;
    return change;
  }
  /// The same step over more ranks, where it has micro-batches to give to them; a larger step else.
  Change withRanks(int64_t factor) const {
    Change change = *this;
    change.worldSize *= factor;
    change.accumulationSteps /= std::gcd(accumulationSteps, factor);
    return change;
  }
};

class Trials {
public:
  Trials(ModuleOp source, const PipelineRequest &request, const TrainingConfig &config, bool trains, int64_t budgetBytes)
      : source(source), request(request), config(config), trains(trains), budget(budgetBytes),
        base{config.stage, config.microBatch, config.accumulationSteps, config.worldSize, config.prefetchElements,
             config.bf16} {}

  std::vector<BudgetTrial> run() {
    done.push_back(base);
    constexpr int64_t kDivisors[] = {2, 4}, kFactors[] = {2, 4, 8};
    if (trains && base.worldSize > 1)
      for (int64_t stage = base.stage + 1; stage < int64_t(std::size(kShardedKindsOfStage)); ++stage) {
        Change change = base;
        change.stage = stage;
        attempt(change);
      }
    for (int64_t divisor : kDivisors)
      if (base.microBatch % divisor == 0)
        attempt(base.withSmallerMicroBatch(divisor));
    bool shards = kShardedKindsOfStage[base.stage].optimizer;
    if (trains && shards)
      for (int64_t factor : kFactors)
        attempt(base.withRanks(factor));
    if (base.prefetchElements > 0 && kShardedKindsOfStage[base.stage].parameter) {
      Change change = base;
      change.prefetchElements = 0;
      attempt(change);
    }
    // 16 bits where nothing has them yet: other numbers, and fewer bytes.
    Change narrow = base;
    narrow.bf16 = true;
    if (config.mixedElement().empty())
      attempt(narrow);
    if (anyFits || !trains)
      return std::move(trials);
    // No single change is enough: all states sharded, nothing ahead of its use, the smallest micro-batch, more ranks.
    Change all = base;
    all.stage = std::size(kShardedKindsOfStage) - 1;
    all.prefetchElements = 0;
    Change small = all.withSmallerMicroBatch(base.microBatch);
    if (base.worldSize > 1)
      attempt(small);
    if (canNarrow) {
      Change both = base.worldSize > 1 ? small : base.withSmallerMicroBatch(base.microBatch);
      both.bf16 = true;
      attempt(both);
    }
    for (int64_t factor : kFactors)
      attempt(all.withRanks(factor));
    for (int64_t factor : kFactors)
      attempt(small.withRanks(factor));
    return std::move(trials);
  }

private:
  std::string describe(const Change &change) const {
    std::string text;
    auto add = [&](StringRef name, int64_t value, int64_t before) {
      if (value != before)
        text += (text.empty() ? "" : ", ") + name.str() + " " + std::to_string(value);
    };
    add("zero_optimization.stage", change.stage, base.stage);
    add("world size", change.worldSize, base.worldSize);
    add("train_micro_batch_size_per_gpu", change.microBatch, base.microBatch);
    if (trains)
      add("gradient_accumulation_steps", change.accumulationSteps, base.accumulationSteps);
    add("zero_optimization.stage3_prefetch_bucket_size", change.prefetchElements, base.prefetchElements);
    if (change.bf16 != base.bf16)
      text += std::string(text.empty() ? "" : ", ") + "bf16.enabled true";
    int64_t samples = change.microBatch * change.accumulationSteps * change.worldSize, before = base.microBatch * base.accumulationSteps * base.worldSize;
    if (trains && samples != before)
      text += " (a step of " + std::to_string(samples) + " samples, not " + std::to_string(before) + ")";
    return text;
  }

  void attempt(const Change &change) {
    if (llvm::is_contained(done, change))
      return;
    done.push_back(change);
    BudgetTrial trial{describe(change), std::nullopt, ""};
    ScopedDiagnosticHandler quiet(source.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && trial.whyNot.empty())
        trial.whyNot = diagnostic.str();
      return success();
    });
    PipelineRequest tried = request;
    tried.config = config;
    tried.config.given.clear(); // what is recorded counts as given, defaults too
    tried.config.trainBatch = 0;
    tried.config.microBatch = change.microBatch;
    tried.config.accumulationSteps = change.accumulationSteps;
    tried.config.prefetchElements = change.prefetchElements;
    tried.config.bf16 = change.bf16;
    tried.stage = change.stage;
    tried.worldSize = change.worldSize;
    tried.prefetch = tried.remarks = false;
    tried.dumpDirectory.clear();
    tried.failureExitCode = nullptr;
    OwningOpRef<ModuleOp> module = source.clone();
    PassManager passes(source.getContext());
    passes.addPass(createRunPhasesPass(tried));
    if (succeeded(passes.run(*module))) {
      trial.bytes = getDeviceBytes(*module);
      anyFits |= *trial.bytes <= budget;
      canNarrow |= change.bf16 && !base.bf16;
    }
    trials.push_back(std::move(trial));
  }

  ModuleOp source;
  const PipelineRequest &request;
  const TrainingConfig &config;
  bool trains;
  int64_t budget;
  Change base;
  bool anyFits = false, canNarrow = false;
  SmallVector<Change> done;
  std::vector<BudgetTrial> trials;
};

/// Buffers of one name and class are one.
void printContributors(ModuleOp plan, raw_ostream &os) {
  constexpr size_t kMost = 8;
  PlanReport report(plan);
  for (const ArenaDetail &arena : report.arenas) {
    if (arena.report.kind != plan::MemoryKind::device)
      continue;
    llvm::MapVector<std::pair<plan::ContentClass, StringRef>, int64_t> held;
    for (const LiveBuffer &buffer : arena.liveAtPeak)
      held[{buffer.content, buffer.title}] += buffer.bytes;
    auto largest = held.takeVector();
    llvm::sort(largest, [](const auto &a, const auto &b) { return std::tuple(-a.second, a.first) < std::tuple(-b.second, b.first); });
    os << "largest at the peak";
    if (!arena.report.section.empty())
      os << " (section " << arena.report.section << ", command " << arena.report.command << ": " << arena.peakTitle << ")";
    os << "\n";
    int64_t rest = arena.report.arenaBytes;
    for (const auto &[key, bytes] : ArrayRef(largest).take_front(kMost)) {
      os << llvm::right_justify(std::to_string(bytes), 16) << "  " << plan::stringifyContentClass(key.first) << " of " << key.second << "\n";
      rest -= bytes;
    }
    if (rest > 0)
      os << llvm::right_justify(std::to_string(rest), 16) << "  others, padding and gaps\n";
  }
}

} // namespace

std::vector<BudgetTrial> tryToFit(ModuleOp plan, ModuleOp source, const PipelineRequest &request, int64_t budgetBytes) {
  FailureOr<TrainingConfig> config = resolveConfig(plan, PipelineRequest());
  if (failed(config))
    return {};
  return Trials(source, request, *config, !isForwardOnly(plan), budgetBytes).run();
}

LogicalResult checkMemoryBudget(ModuleOp plan, ModuleOp source, const PipelineRequest &request, int64_t budgetBytes, raw_ostream &os) {
  int64_t bytes = getDeviceBytes(plan);
  if (bytes <= budgetBytes)
    return success();
  plan.emitError() << "the program takes " << bytes << " device bytes per rank, " << bytes - budgetBytes << " more than --memory-budget-bytes="
                   << budgetBytes;
  printContributors(plan, os);
  if (!source) {
    os << "no other setting was tried: the module has completed its first phase, which fixes them\n";
    return failure();
  }
  std::vector<BudgetTrial> trials = tryToFit(plan, source, request, budgetBytes);
  bool fits = llvm::any_of(trials, [&](const BudgetTrial &trial) { return trial.bytes && *trial.bytes <= budgetBytes; });
  if (trials.empty())
    os << "no other setting was tried: there is no higher stage, smaller micro-batch, larger world size or narrower type to try\n";
  else
    os << (fits ? "tried instead, device bytes per rank\n" : "tried instead, device bytes per rank: none of these fits\n");
  for (const BudgetTrial &trial : trials) {
    if (!trial.bytes) {
      os << "                  cannot: " << trial.setting << ": " << trial.whyNot << "\n";
      continue;
    }
    os << llvm::right_justify(std::to_string(*trial.bytes), 16) << (*trial.bytes <= budgetBytes ? "  fits: " : "  too large: ") << trial.setting << "\n";
  }
  if (!isForwardOnly(plan))
    os << "recomputation of activations was not tried: this version has none\n";
  return failure();
}

} // namespace zero

//===- zero-plan.cpp - What the states of a model take on each rank -------===//
#include "zero/Analysis/ModelStates.h"
#include "zero/Import/Diagnostics.h"
#include "zero/Import/ImportFlags.h"
#include "zero/Pipelines/Pipelines.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include <cmath>

using namespace mlir;
namespace cl = llvm::cl;

namespace {
constexpr int kUsage = 2, kBadInput = 3;
/// Beyond it what a step of the most micro-batches sends is no 64-bit number.
constexpr double kMostElements = 1e15;

int fail(int code, const Twine &message) {
  llvm::errs() << "zero-plan: error: " << message << "\n";
  return code;
}

struct Flags {
  cl::OptionCategory category{"Plan"}, importing{"Parameters of an .onnx file"};
  cl::opt<std::string> model{"model", cl::value_desc("psi:NUMBER|FILE.onnx|FILE.mlir"), cl::cat(category),
                             cl::desc("The model: its number of parameter elements, as in psi:7.5e9, or a file whose trained parameters are counted (required)")};
  cl::list<int64_t> stages{"zero-stage", cl::value_desc("N,..."), cl::CommaSeparated, cl::cat(category),
                           cl::desc("ZeRO stages (default 0,1,2,3)")};
  cl::list<int64_t> worldSizes{"world-size", cl::value_desc("N,..."), cl::CommaSeparated, cl::cat(category),
                               cl::desc("Ranks (default 1,4,16,64,256,1024)")};
  cl::opt<std::string> precision{"precision", cl::value_desc("NAME"), cl::init("mixed"), cl::cat(category),
                                 cl::desc("Types of states: float32 throughout, mixed (16-bit parameters and gradients, float32 optimizer states and "
                                          "master weights) or bf16-grad32 (mixed with float32 gradients) (default mixed)")};
  cl::opt<int64_t> optimizerBytes{"optimizer-bytes", cl::value_desc("K"), cl::cat(category),
                                  cl::desc("Bytes of optimizer states for each parameter element (default Adam's: 8 for float32, else 12)")};
  cl::opt<int64_t> microBatches{"gradient-accumulation-steps", cl::value_desc("A"), cl::init(1), cl::cat(category),
                                cl::desc("Micro-batches of a step, for what it sends (default 1); gradients are reduced where zero-compile reduces "
                                         "them: in each at stages 2 and 3, else once")};
  zero::ImportFlags import{importing};
};

/// The elements that `psi:NUMBER` says, or what is wrong with it.
std::optional<int64_t> parsePsi(StringRef number, std::string &problem) {
  double elements = 0;
  if (number.getAsDouble(elements) || !std::isfinite(elements) || elements != std::floor(elements))
    problem = "--model=psi:" + number.str() + " is not a whole number of elements, as in psi:7.5e9";
  else if (elements < 1 || elements > kMostElements)
    problem = llvm::formatv("--model=psi:{0} must lie in [1, {1:e0}]", number, kMostElements);
  else
    return static_cast<int64_t>(elements);
  return std::nullopt;
}

/// The trained elements of a file; null, after a diagnostic, where it has none.
std::optional<int64_t> countElements(const Flags &flags, std::optional<zero::ImportOptions> &options, MLIRContext &context) {
  int64_t elements = 0;
  if (options) {
    FailureOr<int64_t> trained = zero::countTrainedElements(flags.model, *options, &context);
    if (failed(trained))
      return std::nullopt;
    elements = *trained;
  } else {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(flags.model, &context);
    if (!module)
      return std::nullopt;
    elements = zero::countParameterElements(*module).value_or(0);
  }
  if (elements > 0 && elements <= kMostElements)
    return elements;
  if (elements <= 0)
    fail(kBadInput, "'" + flags.model + "' has no trained parameter");
  else
    fail(kBadInput, llvm::formatv("'{0}' has {1}{2} trained elements, but at most {3:e0} are planned", flags.model.getValue(),
                                  elements == std::numeric_limits<int64_t>::max() ? "more than " : "", elements, kMostElements).str());
  return std::nullopt;
}

void printTable(const Flags &flags, int64_t elements, zero::ElementStates states) {
  llvm::outs() << "model: " << flags.model << ", " << elements << " parameter elements\n"
               << "states: " << flags.precision << ", " << states.parameter << " + " << states.gradient << " + " << states.optimizer
               << " bytes for each (parameters + gradients + optimizer)\n\n"
               << "bytes per rank; sent in a step of " << flags.microBatches
               << (flags.microBatches == 1 ? " micro-batch\n" : " micro-batches\n")
               << "stage   ranks        parameters         gradients         optimizer             total              sent\n";
  for (int64_t stage : flags.stages) {
    const bool shardsGradients = zero::kShardedKindsOfStage[stage].gradient;
    for (int64_t ranks : flags.worldSizes) {
      zero::ModelStates bytes = zero::computeModelStates(elements, states, stage, ranks);
      uint64_t sent = zero::computeModelTraffic(elements, states, stage, ranks, flags.microBatches,
                                               shardsGradients ? zero::ReduceAt::MicroBatch : zero::ReduceAt::Step);
      // Blanks of their own keep the longest numbers apart.
      llvm::outs() << llvm::formatv("{0,5} {1,7} {2,17} {3,17} {4,17} {5,17} {6,17}\n", stage, ranks, bytes.parameters,
                                    bytes.gradients, bytes.optimizer, bytes.total(), sent);
    }
  }
}
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Flags flags;
  cl::HideUnrelatedOptions({&flags.category, &flags.importing});
  if (!cl::ParseCommandLineOptions(argc, argv, "zero-plan: what the parameters, gradients and optimizer states of a model take on each rank\n",
                                   &llvm::errs()))
    return kUsage;
  if (flags.model.empty())
    return fail(kUsage, "no model given; usage: zero-plan --model=psi:7.5e9|FILE.onnx|FILE.mlir");
  if (flags.stages.empty())
    for (int64_t stage : {0, 1, 2, 3})
      flags.stages.push_back(stage);
  if (flags.worldSizes.empty())
    for (int64_t ranks : {1, 4, 16, 64, 256, 1024})
      flags.worldSizes.push_back(ranks);
  for (int64_t stage : flags.stages)
    if (!zero::isStage(stage))
      return fail(kUsage, "--zero-stage is " + Twine(stage) + " but must lie in [0, 3]");
  for (int64_t ranks : flags.worldSizes)
    if (ranks < 1 || ranks > 1 << 24)
      return fail(kUsage, "--world-size is " + Twine(ranks) + " but must lie in [1, " + Twine(1 << 24) + "]");
  if (flags.microBatches < 1 || flags.microBatches > 1000)
    return fail(kUsage, "--gradient-accumulation-steps is " + Twine(flags.microBatches.getValue()) + " but must lie in [1, 1000]");
  std::optional<zero::Precision> precision = zero::parsePrecision(flags.precision);
  if (!precision) {
    std::string names;
    for (zero::Precision each : zero::kPrecisions)
      names += (names.empty() ? "" : ", ") + zero::getPrecisionName(each).str();
    return fail(kUsage, "--precision is '" + flags.precision + "' but must be one of " + names);
  }
  zero::ElementStates states = zero::getAdamStates(*precision);
  if (flags.optimizerBytes.getNumOccurrences()) {
    if (flags.optimizerBytes < 0 || flags.optimizerBytes > 1000)
      return fail(kUsage, "--optimizer-bytes is " + Twine(flags.optimizerBytes.getValue()) + " but must lie in [0, 1000]");
    states.optimizer = flags.optimizerBytes;
  }

  StringRef model = flags.model, psi = model;
  const bool isNumber = psi.consume_front("psi:"), isONNX = !isNumber && model.ends_with(".onnx");
  if (!isNumber && !isONNX && !model.ends_with(".mlir"))
    return fail(kUsage, "--model=" + flags.model + " is neither psi:NUMBER nor a file that ends in .onnx or .mlir");
  if (StringRef given = flags.import.firstGiven(); !isONNX && !given.empty())
    return fail(kUsage, "--" + given + " is about the parameters of an .onnx file, but --model is '" + flags.model + "'");
  std::optional<zero::ImportOptions> options;
  if (isONNX && !(options = flags.import.parse("zero-plan", /*countsOnly=*/true)))
    return kUsage;

  std::optional<int64_t> elements;
  if (isNumber) {
    std::string problem;
    if (!(elements = parsePsi(psi, problem)))
      return fail(kUsage, problem);
  } else {
    DialectRegistry registry;
    zero::registerDialects(registry);
    MLIRContext context(registry);
    context.loadAllAvailableDialects();
    zero::printDiagnosticsAs("zero-plan", context);
    if (flags.import.listsParameters())
      return succeeded(zero::listParameters(flags.model, *options, &context, llvm::outs())) ? 0 : kBadInput;
    if (!(elements = countElements(flags, options, context)))
      return kBadInput;
  }
  printTable(flags, *elements, states);
  return 0;
}

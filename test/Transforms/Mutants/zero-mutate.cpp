//===- zero-mutate.cpp - Breaks programs and counts who notices -----------===//
//
// A test tool: `zero-mutate FILE.mlir [--sample=N] [--seed=S] [--shuffle=OUT.mlir]`. FILE is a dump of phase schedule or plan. It
// takes each wait, release, collective, event and record out in turn, changes numbers, exchanges commands and waits, and runs zero-verify-schedule or
// plan-verify; prints one line for each kind of fault. Exit status 1 where a mutant got the wrong verdict, or none was made.
// --sample: at most N of each kind (default: all). --shuffle: writes the plan with its commands exchanged as often as is allowed.
//
//===----------------------------------------------------------------------===//
#include "Mutants.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Transforms/Plan/Passes.h"
#include "zero/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"
#include <numeric>

using namespace mlir;

namespace zero::test {

Trial::Trial(MLIRContext *context, std::unique_ptr<Pass> verifier, size_t sample, unsigned seed)
    : random(seed), passes(context), sample(sample) {
  passes.enableVerifier(false); // `refuses` asks it, too
  passes.addPass(std::move(verifier));
}

std::vector<size_t> Trial::choose(size_t count) {
  std::vector<size_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  if (count > sample) {
    std::shuffle(indices.begin(), indices.end(), random);
    indices.resize(sample);
  }
  return indices;
}

bool Trial::refuses(ModuleOp module) {
  message.clear();
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  return failed(mlir::verify(module)) || failed(passes.run(module));
}

void Trial::expectRefusal(const std::string &kind, ModuleOp module, Operation *at) {
  Count &count = counts[kind];
  ++count.all;
  if (refuses(module)) {
    ++count.refused;
    return;
  }
  ++count.wrong;
  llvm::errs() << "accepted without its " << kind << ": " << *at << "\n";
}

void Trial::count(const std::string &kind, ModuleOp module) {
  Count &count = counts[kind];
  ++count.all;
  count.refused += refuses(module);
}

bool Trial::expectVerdict(const std::string &kind, ModuleOp module, const std::string &disorder, Operation *at) {
  Count &count = counts[kind];
  ++count.all;
  const bool refused = refuses(module);
  count.refused += refused;
  if (refused != disorder.empty())
    return !refused;
  ++count.wrong;
  llvm::errs() << kind << ": " << (refused ? "refused, for '" + message + "', but in order" : "accepted, but disordered: " + disorder)
               << ": " << *at << "\n";
  return false;
}

bool Trial::report() const {
  size_t all = 0, wrong = 0;
  for (const auto &[kind, count] : counts) {
    llvm::outs() << llvm::formatv("{0,-52} {1,5} mutants {2,5} refused {3,3} judged wrong\n", kind, count.all, count.refused, count.wrong);
    all += count.all;
    wrong += count.wrong;
  }
  return all != 0 && wrong == 0;
}

} // namespace zero::test

int main(int argc, char **argv) {
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::Required, llvm::cl::desc("FILE.mlir"));
  llvm::cl::opt<size_t> sample("sample", llvm::cl::desc("Mutants of each kind (default all)"), llvm::cl::init(SIZE_MAX));
  llvm::cl::opt<unsigned> seed("seed", llvm::cl::desc("Which are sampled (default 1)"), llvm::cl::init(1));
  llvm::cl::opt<std::string> shuffled("shuffle", llvm::cl::desc("Write the plan with commands exchanged here, and mutate nothing"));
  llvm::cl::ParseCommandLineOptions(argc, argv);

  DialectRegistry registry;
  registry.insert<func::FuncDialect, zero::nn::NNDialect, zero::sharding::ZeroDialect, zero::plan::PlanDialect>();
  MLIRContext context(registry);
  auto module = parseSourceFile<ModuleOp>(input, &context);
  if (!module)
    return 1;
  const bool isPlan = !module->getOps<zero::plan::SectionOp>().empty();
  zero::test::Trial trial(&context, isPlan ? zero::createPlanVerify() : zero::createZeroVerifySchedule(), sample, seed);
  if (trial.refuses(*module)) {
    llvm::errs() << input << " is refused as it is\n";
    return 1;
  }
  if (!shuffled.empty()) {
    size_t exchanged = zero::test::shufflePlan(*module, trial, 5);
    std::error_code error;
    llvm::ToolOutputFile file(shuffled, error, llvm::sys::fs::OF_Text);
    if (error)
      return 1;
    module->print(file.os(), OpPrintingFlags().enableDebugInfo());
    file.keep();
    llvm::outs() << exchanged << " exchanges\n";
    return exchanged ? 0 : 1;
  }
  if (isPlan) {
    zero::test::mutateRecords(*module, trial);
    zero::test::mutatePlan(*module, trial);
  } else {
    zero::test::mutateSchedule(*module, trial);
  }
  return trial.report() ? 0 : 1;
}

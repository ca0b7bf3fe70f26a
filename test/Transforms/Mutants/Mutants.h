//===- Mutants.h - Programs with one fault, and what is said of them ------===//
#ifndef ZERO_TEST_TRANSFORMS_MUTANTS_MUTANTS_H
#define ZERO_TEST_TRANSFORMS_MUTANTS_MUTANTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <map>
#include <random>
#include <string>

namespace zero::test {

/// Runs a verifier over mutants and counts the verdicts by kind of fault.
class Trial {
public:
  Trial(mlir::MLIRContext *context, std::unique_ptr<mlir::Pass> verifier, size_t sample, unsigned seed);

  /// The mutants of one kind: all of them, or as many as the sample allows, in the order of `indices`.
  std::vector<size_t> choose(size_t count);
  /// Whether the module is refused: by the types and op verifiers, or by the pass.
  bool refuses(mlir::ModuleOp module);
  /// Counts a mutant that must be refused; prints it where it is not.
  void expectRefusal(const std::string &kind, mlir::ModuleOp module, mlir::Operation *at);
  /// Counts a mutant that may be right or not beyond what a verifier can know.
  void count(const std::string &kind, mlir::ModuleOp module);
  /// Counts a mutant of which another checker says whether it is right; prints it where the verdicts differ. True where both
  /// accept it.
  bool expectVerdict(const std::string &kind, mlir::ModuleOp module, const std::string &disorder, mlir::Operation *at);

  /// Prints a line for each kind; whether all mutants were judged right.
  bool report() const;

  std::mt19937 random;

private:
  struct Count {
    size_t all = 0, refused = 0, wrong = 0;
  };
  mlir::PassManager passes;
  size_t sample;
  std::map<std::string, Count> counts;
  std::string message; // of the last refusal
};

void mutateSchedule(mlir::ModuleOp module, Trial &trial);
void mutatePlan(mlir::ModuleOp module, Trial &trial);
void mutateRecords(mlir::ModuleOp module, Trial &trial);
/// Exchanges adjacent commands of different queues `rounds` times over, where the plan allows; gives how many.
size_t shufflePlan(mlir::ModuleOp module, Trial &trial, size_t rounds);

} // namespace zero::test

#endif

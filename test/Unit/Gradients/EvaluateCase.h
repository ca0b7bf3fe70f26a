//===- EvaluateCase.h - One piece of nn IR, its data, its values ----------===//
#ifndef ZERO_TEST_UNIT_GRADIENTS_EVALUATECASE_H
#define ZERO_TEST_UNIT_GRADIENTS_EVALUATECASE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "zero/Reference/Interpreter.h"
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace zero::test {

/// An argument of the IR: a float tensor gets random values in [low, high), an integer tensor `integers`.
struct Argument {
  std::string name, type;
  std::vector<int64_t> integers = {};
};

/// A value that the body computes.
struct Result {
  std::string name, type;
};

struct Case {
  std::string name;
  std::vector<Argument> parameters, inputs;
  std::string body;
  std::vector<Result> results;
  double low = -1.0, high = 1.0;
};

inline void PrintTo(const Case &test, std::ostream *out) { *out << test.name << ": " << test.body; }

/// "tensor<2x3xf64>" of {2, 3}.
std::string f64(std::vector<int64_t> shape);

/// The ops of the nn dialect with `Interface` that no case has in its body.
template <typename Interface>
std::string missingOps(mlir::MLIRContext &context, const std::vector<std::vector<Case>> &suites) {
  std::string missing;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations()) {
    if (!op.hasInterface<Interface>())
      continue;
    std::string name = op.getStringRef().str() + " ";
    bool found = false;
    for (const std::vector<Case> &cases : suites)
      for (const Case &test : cases)
        found |= test.body.find(name) != std::string::npos;
    if (!found)
      missing += name;
  }
  return missing;
}

class Evaluator {
public:
  Evaluator();

  mlir::MLIRContext &getContext() { return *context; }
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  /// Runs a pass pipeline such as "nn-build-backward"; false if it fails.
  bool run(mlir::ModuleOp module, const std::string &pipeline);
  /// The arguments of a function of the module, by the case's description of them.
  std::vector<reference::HostTensor> makeArguments(mlir::func::FuncOp function, const Case &test);
  std::vector<reference::HostTensor> evaluate(mlir::func::FuncOp function,
                                              const std::vector<reference::HostTensor> &arguments);

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::mt19937_64 random{20240607};
};

} // namespace zero::test

#endif

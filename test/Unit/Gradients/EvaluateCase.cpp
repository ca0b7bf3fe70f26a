//===- EvaluateCase.cpp - One piece of nn IR, its data, its values --------===//
#include "EvaluateCase.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "zero/Transforms/NN/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace zero::test;
using zero::reference::HostTensor;

std::string zero::test::f64(std::vector<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f64>";
}

Evaluator::Evaluator() : context(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED)) {
  context->loadDialect<func::FuncDialect, nn::NNDialect>();
  static bool registered = (registerNNPasses(), true);
  (void)registered;
}

OwningOpRef<ModuleOp> Evaluator::parse(const std::string &text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  EXPECT_TRUE(module) << text;
  return module;
}

bool Evaluator::run(ModuleOp module, const std::string &pipeline) {
  PassManager passes(context.get());
  return succeeded(parsePassPipeline(pipeline, passes)) && succeeded(passes.run(module));
}

std::vector<HostTensor> Evaluator::makeArguments(func::FuncOp function, const Case &test) {
  std::vector<Argument> described = test.parameters;
  described.insert(described.end(), test.inputs.begin(), test.inputs.end());
  std::vector<HostTensor> tensors;
  std::uniform_real_distribution<double> uniform(test.low, test.high);
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    HostTensor tensor(cast<RankedTensorType>(type));
    for (int64_t k = 0; k < tensor.getNumElements(); ++k) {
      if (tensor.isFloat())
        tensor.setFloat(k, uniform(random));
      else
        tensor.setInt(k, described[i].integers[k]);
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<HostTensor> Evaluator::evaluate(func::FuncOp function, const std::vector<HostTensor> &arguments) {
  FailureOr<SmallVector<HostTensor>> results = reference::evaluateFunction(function, arguments);
  EXPECT_TRUE(succeeded(results));
  if (failed(results))
    return {};
  return std::vector<HostTensor>(results->begin(), results->end());
}

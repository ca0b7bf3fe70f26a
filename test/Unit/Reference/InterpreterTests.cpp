//===- InterpreterTests.cpp - Arguments, limits, bits ---------------------===//
#include "dialects/NN/NNOps.h"
#include "zero/Reference/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace zero::reference;

namespace {

class InterpreterTest : public ::testing::Test {
protected:
  InterpreterTest() : handler(&context, [this](Diagnostic &diagnostic) { message = diagnostic.str(); }) {
    context.loadDialect<func::FuncDialect, zero::nn::NNDialect>();
  }
  func::FuncOp parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return module ? *module->getOps<func::FuncOp>().begin() : nullptr;
  }
  RankedTensorType floats(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }

  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

TEST_F(InterpreterTest, RunsAFunctionWithArguments) {
  func::FuncOp function = parse(R"mlir(
    func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %0 = nn.sub %x, %y : tensor<2xf32>
      return %0, %x : tensor<2xf32>, tensor<2xf32>
    })mlir");
  auto x = HostTensor::get<float>(floats({2}), {5, 7}), y = HostTensor::get<float>(floats({2}), {1, 10});
  auto results = evaluateFunction(function, {x, y});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].getValues<float>(), ArrayRef<float>({4, -3}));
  EXPECT_EQ((*results)[1].getValues<float>(), ArrayRef<float>({5, 7}));

  EXPECT_TRUE(failed(evaluateFunction(function, {x, HostTensor(floats({3}))})));
  EXPECT_EQ(message, "'func.func' op argument #1 has type 'tensor<2xf32>' but is given 'tensor<3xf32>'");
  EXPECT_TRUE(failed(evaluateFunction(function, {x, y}, /*maxElements=*/1)));
  EXPECT_EQ(message, "'func.func' op argument #0 has 2 elements but at most 1 are evaluated");
}

TEST_F(InterpreterTest, RunsOneOp) {
  func::FuncOp function = parse(R"mlir(
    func.func @f(%x: tensor<2xf32>) -> tensor<2x2xf32> {
      %0 = nn.broadcast %x dims [1] : tensor<2xf32> to tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    })mlir");
  Operation *op = &function.getBody().front().front();
  auto results = evaluate(op, HostTensor::get<float>(floats({2}), {1, 2}));
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].getValues<float>(), ArrayRef<float>({1, 2, 1, 2}));

  EXPECT_TRUE(isEvaluable(op));
  EXPECT_FALSE(isEvaluable(op, /*maxElements=*/3));
  EXPECT_FALSE(isEvaluable(function.getBody().front().getTerminator()));
  EXPECT_TRUE(failed(evaluate(op, {})));
  EXPECT_EQ(message, "'nn.broadcast' op takes 1 operands but 0 are given");
  EXPECT_TRUE(failed(evaluate(op, HostTensor(floats({3})))));
  EXPECT_EQ(message, "'nn.broadcast' op operand #0 has type 'tensor<2xf32>' but is given 'tensor<3xf32>'");
}

TEST_F(InterpreterTest, CastsOfIntegersRoundOnce) {
  func::FuncOp function = parse(R"mlir(
    func.func @f(%x: tensor<2xi64>) -> tensor<2xf32> {
      %0 = nn.cast %x : tensor<2xi64> to tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir");
  // 2^54 + 2^30 + 1 lies above the middle of two floats; as a double it would be the middle and go down.
  int64_t base = int64_t(1) << 54, middle = int64_t(1) << 30;
  auto type = RankedTensorType::get({2}, IntegerType::get(&context, 64));
  auto results =
      evaluateFunction(function, HostTensor::get<int64_t>(type, {base + middle + 1, base + middle}));
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].getFloat(0), std::ldexp(1.0, 54) + std::ldexp(1.0, 31));
  EXPECT_EQ((*results)[0].getFloat(1), std::ldexp(1.0, 54));
}

TEST_F(InterpreterTest, ElementwiseFloatsAreCorrectlyRounded) {
  func::FuncOp function = parse(R"mlir(
    func.func @f(%x: tensor<1xf32>, %y: tensor<1xf32>)
        -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
      %0 = nn.add %x, %y : tensor<1xf32>
      %1 = nn.mul %x, %y : tensor<1xf32>
      %2 = nn.div %x, %y : tensor<1xf32>
      %3 = nn.sqrt %x : tensor<1xf32>
      return %0, %1, %2, %3 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
    })mlir");
  uint32_t state = 1;
  auto next = [&] {
    return std::ldexp(static_cast<float>((state = state * 1664525u + 1013904223u) >> 8), -12);
  };
  for (int i = 0; i < 1000; ++i) {
    float x = next(), y = next() + 1.0f;
    auto results = evaluateFunction(
        function, {HostTensor::get<float>(floats({1}), x), HostTensor::get<float>(floats({1}), y)});
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ((*results)[0].getValues<float>()[0], x + y);
    EXPECT_EQ((*results)[1].getValues<float>()[0], x * y);
    EXPECT_EQ((*results)[2].getValues<float>()[0], x / y);
    EXPECT_EQ((*results)[3].getValues<float>()[0], std::sqrt(x));
  }
}

} // namespace

//===- DecompositionTests.cpp - decomposition(op) == reference(op) --------===//
//
// Both sides in float64: the interpreter's own rule of the composite, and of the primitives that
// nn-decompose-composites writes it in.
//
//===----------------------------------------------------------------------===//
#include "EvaluateCase.h"
#include "dialects/NN/NNOps.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace zero;
using namespace zero::test;
using zero::reference::HostTensor;

namespace {

std::string functionText(const Case &test) {
  std::string arguments, names, types;
  for (const auto &list : {test.parameters, test.inputs})
    for (const Argument &argument : list)
      arguments += (arguments.empty() ? "%" : ", %") + argument.name + ": " + argument.type;
  for (const Result &result : test.results) {
    names += (names.empty() ? "%" : ", %") + result.name;
    types += (types.empty() ? "" : ", ") + result.type;
  }
  return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + test.body + "\nreturn " + names + " : " +
         types + "\n}\n";
}

class Decomposition : public testing::TestWithParam<Case> {};

TEST_P(Decomposition, AgreesWithTheReference) {
  const Case &test = GetParam();
  Evaluator evaluator;
  OwningOpRef<ModuleOp> whole = evaluator.parse(functionText(test)),
                        parts = evaluator.parse(functionText(test));
  ASSERT_TRUE(whole && parts);
  ASSERT_TRUE(evaluator.run(*parts, "nn-decompose-composites"));
  auto function = whole->lookupSymbol<func::FuncOp>("f"), decomposed = parts->lookupSymbol<func::FuncOp>("f");
  bool anyComposite = false;
  decomposed.walk([&](nn::DecomposableOpInterface) { anyComposite = true; });
  EXPECT_FALSE(anyComposite);
  std::vector<HostTensor> arguments = evaluator.makeArguments(function, test);
  std::vector<HostTensor> expected = evaluator.evaluate(function, arguments);
  std::vector<HostTensor> actual = evaluator.evaluate(decomposed, arguments);
  ASSERT_EQ(actual.size(), test.results.size());
  ASSERT_EQ(expected.size(), test.results.size());
  for (auto [r, result] : llvm::enumerate(test.results))
    for (int64_t i = 0; i < expected[r].getNumElements(); ++i) {
      if (!expected[r].isFloat()) {
        EXPECT_EQ(actual[r].getInt(i), expected[r].getInt(i)) << result.name << " element " << i;
        continue;
      }
      double want = expected[r].getFloat(i), have = actual[r].getFloat(i);
      if (std::isnan(want) || std::isinf(want))
        EXPECT_TRUE(std::isnan(want) ? std::isnan(have) : have == want)
            << result.name << " element " << i << ": " << have;
      else
        EXPECT_NEAR(have, want, 1e-12 * std::max(1.0, std::abs(want))) << result.name << " element " << i;
    }
}

std::vector<Case> activationCases() {
  std::vector<Case> cases;
  for (std::string op : {"gelu none", "gelu tanh", "softmax"})
    for (std::vector<int64_t> shape : {std::vector<int64_t>{3, 5}, {1, 1}, {0, 3}, {2, 3, 2}})
      for (size_t axis = 0; axis < (op == "softmax" ? shape.size() : 1); ++axis)
        if (shape[axis] != 0 || op != "softmax")
          cases.push_back({op.substr(0, 4) + "_" + std::to_string(cases.size()),
                           {{"x", f64(shape)}},
                           {},
                           "%y = nn." + op + " %x" +
                               (op == "softmax" ? " axis " + std::to_string(axis) : "") + " : " + f64(shape),
                           {{"y", f64(shape)}},
                           -4,
                           4});
  // A row of -inf only gives NaN, as in PyTorch; elsewhere -inf is a probability of 0.
  std::string rows = f64({2, 2});
  cases.push_back({"softmax_infinite",
                   {{"x", rows}},
                   {{"hide", "tensor<2x2xi1>", {1, 1, 1, 0}}},
                   "%inf = nn.constant dense<0xFFF0000000000000> : " + rows +
                       "\n%z = nn.select %hide, %inf, %x : tensor<2x2xi1>, " + rows +
                       "\n%y = nn.softmax %z axis 1 : " + rows,
                   {{"y", rows}}});
  for (bool bias : {false, true})
    for (std::vector<int64_t> row : {std::vector<int64_t>{4}, {2, 3}, {1}}) {
      std::vector<int64_t> whole{2, 3};
      whole.insert(whole.end(), row.begin(), row.end());
      std::string x = f64(whole), s = f64(row), m = f64({2, 3});
      Case test{"layer_norm_" + std::to_string(cases.size()),
                {{"x", x}, {"s", s}},
                {},
                "%y, %mean, %rstd = nn.layer_norm %x scale %s " + std::string(bias ? "bias %b " : "") +
                    "epsilon 1.0e-5 : " + x + ", " + s + (bias ? ", " + s : "") + " -> " + x + ", " + m +
                    ", " + m,
                {{"y", x}, {"mean", m}, {"rstd", m}},
                -3,
                5};
      if (bias)
        test.parameters.push_back({"b", s});
      cases.push_back(test);
    }
  return cases;
}

std::vector<Case> attentionCases() {
  std::vector<Case> cases;
  struct Heads {
    int64_t b, t, s, h, g, d;
    bool causal;
    std::vector<int64_t> mask;
  };
  for (const Heads &n : {Heads{2, 3, 3, 2, 2, 4, false, {}}, Heads{1, 5, 5, 4, 2, 3, true, {}},
                         Heads{1, 2, 5, 4, 1, 2, true, {}}, Heads{2, 2, 3, 2, 1, 2, false, {1, 2, 2, 3}},
                         Heads{2, 2, 3, 2, 2, 2, true, {2, 1, 2, 3}}, Heads{1, 1, 1, 1, 1, 1, true, {}},
                         Heads{0, 2, 2, 1, 1, 2, false, {}}, Heads{1, 3, 1, 1, 1, 2, true, {}}}) {
    std::string q = f64({n.b, n.t, n.h, n.d}), k = f64({n.b, n.s, n.g, n.d}), lse = f64({n.b, n.h, n.t});
    std::string mask = n.mask.empty() ? "" : f64(n.mask), flags = n.causal ? " causal" : "";
    std::string name = "attention_" + std::to_string(cases.size());
    std::string maskName = n.mask.empty() ? "" : "mask %m ", maskType = n.mask.empty() ? "" : ", " + mask;
    Case forward{name,
                 {{"q", q}, {"k", k}, {"v", k}},
                 {},
                 "%y, %lse = nn.attention %q, %k, %v " + maskName + "scale 6.0e-1" + flags + " : " + q +
                     ", " + k + ", " + k + maskType + " -> " + q + ", " + lse,
                 {{"y", q}, {"lse", lse}}};
    if (!n.mask.empty())
      forward.inputs.push_back({"m", mask});
    Case backward = forward;
    backward.name += "_grad";
    backward.inputs.push_back({"g", q});
    backward.body += "\n%dq, %dk, %dv = nn.attention_grad %q, %k, %v " + maskName +
                     "result %y, %lse gradient %g scale 6.0e-1" + flags + " : " + q + ", " + k + ", " + lse +
                     maskType;
    backward.results = {{"dq", q}, {"dk", k}, {"dv", k}};
    cases.push_back(forward);
    cases.push_back(backward);
  }
  return cases;
}

std::vector<Case> lossCases() {
  std::vector<Case> cases;
  auto crossEntropy = [&](std::vector<int64_t> positions, int64_t classes, std::string label,
                          std::vector<int64_t> labels, std::string attributes) {
    std::vector<int64_t> whole = positions;
    whole.push_back(classes);
    std::string labelType = "tensor<";
    for (int64_t size : positions)
      labelType += std::to_string(size) + "x";
    labelType += label + ">";
    cases.push_back({"cross_entropy_" + std::to_string(cases.size()),
                     {{"x", f64(whole)}},
                     {{"l", labelType, labels}},
                     "%sum, %count, %lse = nn.cross_entropy %x, %l" + attributes + " : " + f64(whole) + ", " +
                         labelType + " -> tensor<f64>, tensor<i64>, " + f64(positions),
                     {{"sum", "tensor<f64>"}, {"count", "tensor<i64>"}, {"lse", f64(positions)}},
                     -5,
                     5});
  };
  crossEntropy({4}, 5, "i64", {0, 4, 2, 2}, "");
  crossEntropy({2, 2}, 3, "i32", {-100, 1, -100, 0}, "");
  crossEntropy({3}, 3, "i8", {2, 1, 0}, " {ignore_index = 1}");
  crossEntropy({2}, 3, "ui8", {2, 0}, "");
  crossEntropy({2}, 3, "i64", {-100, -100}, "");
  crossEntropy({0}, 3, "i64", {}, "");
  for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3}, {}, {0}}) {
    std::string type = f64(shape);
    cases.push_back(
        {"mse_loss_" + std::to_string(cases.size()),
         {{"x", type}, {"t", type}},
         {},
         "%sum, %count = nn.mse_loss %x, %t : " + type + ", " + type + " -> tensor<f64>, tensor<i64>",
         {{"sum", "tensor<f64>"}, {"count", "tensor<i64>"}}});
  }
  cases.push_back({"output_loss",
                   {{"x", f64({1})}},
                   {},
                   "%sum, %count = nn.output_loss %x : " + f64({1}) + " -> tensor<f64>, tensor<i64>",
                   {{"sum", "tensor<f64>"}, {"count", "tensor<i64>"}}});
  return cases;
}

std::vector<Case> optimizerCases() {
  std::vector<Case> cases;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3}, {}, {0}}) {
    std::string t = f64(shape), s = "tensor<f64>";
    for (std::string decay : {"0.0", "1.0e-1"}) {
      for (std::string decoupled : {"", ", decoupled"})
        cases.push_back({"adam_" + std::to_string(cases.size()),
                         {{"p", t}, {"g", t}, {"m", t}, {"v", t}},
                         {{"s", s}, {"lr", s}, {"c1", s}, {"c2", s}},
                         "%np, %nm, %nv = nn.adam %p, %g, %m, %v scale %s lr %lr correction %c1, %c2 {beta1 "
                         "= 9.0e-1, beta2 = "
                         "9.5e-1, epsilon = 1.0e-8, weight_decay = " +
                             decay + decoupled + "} : " + t + ", " + s,
                         {{"np", t}, {"nm", t}, {"nv", t}},
                         0.1,
                         1});
      cases.push_back({"sgd_" + std::to_string(cases.size()),
                       {{"p", t}, {"g", t}},
                       {{"s", s}, {"lr", s}},
                       "%np = nn.sgd %p, %g scale %s lr %lr {momentum = 0.0, weight_decay = " + decay +
                           "} : " + t + ", " + s,
                       {{"np", t}}});
      for (std::string nesterov : {"", ", nesterov"})
        cases.push_back(
            {"sgd_momentum_" + std::to_string(cases.size()),
             {{"p", t}, {"g", t}, {"b", t}},
             {{"s", s}, {"lr", s}},
             "%np, %nb = nn.sgd %p, %g momentum %b scale %s lr %lr {momentum = 9.0e-1, weight_decay = " +
                 decay + nesterov + "} : " + t + ", " + s + ", " + t + " -> " + t,
             {{"np", t}, {"nb", t}}});
    }
    // The parameter is the new master, rounded.
    std::string narrow = t.substr(0, t.size() - 4) + "f32>";
    cases.push_back({"adam_master_" + std::to_string(cases.size()),
                     {{"p", narrow}, {"g", narrow}, {"w", t}, {"m", t}, {"v", t}},
                     {{"s", s}, {"lr", s}, {"c1", s}, {"c2", s}},
                     "%np, %nw, %nm, %nv = nn.adam %p, %g master %w, %m, %v scale %s lr %lr correction %c1, %c2 {beta1 = "
                     "9.0e-1, beta2 = 9.5e-1, epsilon = 1.0e-8, weight_decay = 1.0e-1, decoupled} : " +
                         narrow + " master " + t + ", " + s,
                     {{"np", narrow}, {"nw", t}, {"nm", t}, {"nv", t}},
                     0.1,
                     1});
    cases.push_back({"sgd_master_" + std::to_string(cases.size()),
                     {{"p", narrow}, {"g", t}, {"w", t}, {"b", t}},
                     {{"s", s}, {"lr", s}},
                     "%np, %nw, %nb = nn.sgd %p, %g master %w momentum %b scale %s lr %lr {momentum = 9.0e-1, weight_decay = "
                     "1.0e-1} : " + narrow + " gradient " + t + " master " + t + ", " + s + ", " + t + " -> " + t,
                     {{"np", narrow}, {"nw", t}, {"nb", t}}});
  }
  return cases;
}

TEST(DecompositionCases, HaveEveryComposite) {
  EXPECT_EQ(
      missingOps<nn::DecomposableOpInterface>(
          Evaluator().getContext(), {activationCases(), attentionCases(), lossCases(), optimizerCases()}),
      "");
}

auto withName = [](const testing::TestParamInfo<Case> &info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Activation, Decomposition, testing::ValuesIn(activationCases()), withName);
INSTANTIATE_TEST_SUITE_P(Attention, Decomposition, testing::ValuesIn(attentionCases()), withName);
INSTANTIATE_TEST_SUITE_P(Loss, Decomposition, testing::ValuesIn(lossCases()), withName);
INSTANTIATE_TEST_SUITE_P(Optimizer, Decomposition, testing::ValuesIn(optimizerCases()), withName);

} // namespace

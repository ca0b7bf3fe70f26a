//===- GradientTests.cpp - Every gradient against finite differences ------===//
//
// loss = sum over the case's results of their elements times fixed random weights; nn-build-backward
// differentiates it and the reference interpreter evaluates both. Central differences in float64, step 1e-5.
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

std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// @forward of a case: its results weighted by more inputs and summed.
std::string forwardText(const Case &test) {
  std::vector<std::string> arguments;
  auto addArgument = [&](const std::string &name, const std::string &type, const char *role) {
    arguments.push_back("%" + name + ": " + type + " {nn.role = #nn.role<" + role + " \"" + name + "\">}");
  };
  for (const Argument &argument : test.parameters)
    addArgument(argument.name, argument.type, "parameter");
  for (const Argument &argument : test.inputs)
    addArgument(argument.name, argument.type, "input");
  std::string body = test.body + "\n%total0 = nn.constant dense<0.0> : tensor<f64>\n";
  for (auto [i, result] : llvm::enumerate(test.results)) {
    std::string k = std::to_string(i), next = std::to_string(i + 1);
    addArgument("weight" + k, result.type, "input");
    body += "%weighted" + k + " = nn.mul %" + result.name + ", %weight" + k + " : " + result.type + "\n";
    std::vector<std::string> axes;
    int64_t rank = std::count(result.type.begin(), result.type.end(), 'x');
    for (int64_t axis = 0; axis < rank; ++axis)
      axes.push_back(std::to_string(axis));
    std::string sum = "%weighted" + k;
    if (rank != 0) {
      body += "%sum" + k + " = nn.reduce sum %weighted" + k + " axes [" + joined(axes) +
              "] : " + result.type + " to tensor<f64>\n";
      sum = "%sum" + k;
    }
    body += "%total" + next + " = nn.add %total" + k + ", " + sum + " : tensor<f64>\n";
  }
  return "func.func @forward(" + joined(arguments) +
         ") -> (tensor<f64> {nn.role = #nn.role<loss_sum \"\">}, tensor<i64> {nn.role = #nn.role<label_count "
         "\"\">}) {\n" +
         body + "%loss, %positions = nn.output_loss %total" + std::to_string(test.results.size()) +
         " : tensor<f64> -> tensor<f64>, tensor<i64>\nreturn %loss, %positions : tensor<f64>, "
         "tensor<i64>\n}\n";
}

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, AgreesWithFiniteDifferences) {
  const Case &test = GetParam();
  Evaluator evaluator;
  std::string text = forwardText(test);
  OwningOpRef<ModuleOp> forwardModule = evaluator.parse(text), microModule = evaluator.parse(text);
  ASSERT_TRUE(forwardModule && microModule);
  ASSERT_TRUE(evaluator.run(*microModule, "nn-build-backward")) << text;
  auto forward = forwardModule->lookupSymbol<func::FuncOp>("forward");
  auto micro = microModule->lookupSymbol<func::FuncOp>("micro");
  std::vector<HostTensor> arguments = evaluator.makeArguments(forward, test);
  std::vector<HostTensor> results = evaluator.evaluate(micro, arguments);
  ASSERT_EQ(results.size(), 2 + test.parameters.size());
  const double step = 1e-5;
  for (auto [p, parameter] : llvm::enumerate(test.parameters)) {
    const HostTensor &gradient = results[2 + p];
    ASSERT_EQ(gradient.getType(), arguments[p].getType());
    for (int64_t i = 0; i < gradient.getNumElements(); ++i) {
      double value = arguments[p].getFloat(i), losses[2];
      for (int side : {0, 1}) {
        arguments[p].setFloat(i, value + (side ? step : -step));
        losses[side] = evaluator.evaluate(forward, arguments)[0].getFloat(0);
      }
      arguments[p].setFloat(i, value);
      double expected = (losses[1] - losses[0]) / (2 * step), actual = gradient.getFloat(i);
      EXPECT_NEAR(actual, expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << "parameter " << parameter.name << " element " << i;
    }
  }
}

const std::string kMatrix = f64({2, 3});

/// y = op x for one, some and no elements, and a 0-d tensor.
std::vector<Case> unaryCases() {
  struct Op {
    const char *name;
    double low, high;
  };
  std::vector<Case> cases;
  for (Op op : {Op{"neg", -1, 1}, Op{"abs", -1, 1}, Op{"exp", -1, 1}, Op{"log", 0.5, 2}, Op{"sqrt", 0.5, 2},
                Op{"rsqrt", 0.5, 2}, Op{"reciprocal", 0.5, 2}, Op{"tanh", -2, 2}, Op{"sigmoid", -3, 3},
                Op{"erf", -2, 2}, Op{"sin", -3, 3}, Op{"cos", -3, 3}, Op{"relu", -1, 1},
                Op{"log1p", -0.5, 2}, Op{"expm1", -1, 1}, Op{"atan", -3, 3},
                Op{"gelu none", -3, 3}, Op{"gelu tanh", -3, 3}})
    for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3}, {1}, {0, 4}, {}}) {
      std::string name = op.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      for (int64_t size : shape)
        name += "_" + std::to_string(size);
      cases.push_back({name,
                       {{"x", f64(shape)}},
                       {},
                       "%y = nn." + std::string(op.name) + " %x : " + f64(shape),
                       {{"y", f64(shape)}},
                       op.low,
                       op.high});
    }
  return cases;
}

std::vector<Case> binaryCases() {
  std::vector<Case> cases;
  for (std::string op : {"add", "sub", "mul", "div", "max", "min", "pow", "rem"})
    for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3}, {}, {3, 0}}) {
      std::string type = f64(shape), name = op + "_" +
                                            (shape.empty() ? "scalar"
                                             : shape[1]    ? "matrix"
                                                           : "empty");
      cases.push_back({name,
                       {{"x", type}, {"y", type}},
                       {},
                       "%z = nn." + op + " %x, %y : " + type,
                       {{"z", type}},
                       0.5,
                       2});
      cases.push_back(
          {name + "_same", {{"x", type}}, {}, "%z = nn." + op + " %x, %x : " + type, {{"z", type}}, 0.5, 2});
      cases.push_back({name + "_left",
                       {{"x", type}},
                       {{"y", type}},
                       "%z = nn." + op + " %x, %y : " + type,
                       {{"z", type}},
                       0.5,
                       2});
      cases.push_back({name + "_right",
                       {{"y", type}},
                       {{"x", type}},
                       "%z = nn." + op + " %x, %y : " + type,
                       {{"z", type}},
                       0.5,
                       2});
    }
  for (std::string negated : {"x", "y"})
    cases.push_back({"rem_negative_" + negated,
                     {{"x", kMatrix}, {"y", kMatrix}},
                     {},
                     "%n = nn.neg %" + negated + " : " + kMatrix + "\n%z = nn.rem " +
                         (negated == "x" ? "%n, %y : " : "%x, %n : ") + kMatrix,
                     {{"z", kMatrix}},
                     0.3,
                     2});
  for (std::string exponent : {"2.0", "3.0", "0.5", "-1.5", "1.0"})
    cases.push_back(
        {"pow_constant_" + std::to_string(cases.size()),
         {{"x", kMatrix}},
         {},
         "%c = nn.constant dense<" + exponent + "> : " + kMatrix + "\n%z = nn.pow %x, %c : " + kMatrix,
         {{"z", kMatrix}},
         0.5,
         2});
  cases.push_back(
      {"cast", {{"x", kMatrix}}, {}, "%z = nn.cast %x : " + kMatrix + " to " + kMatrix, {{"z", kMatrix}}});
  cases.push_back({"select",
                   {{"x", kMatrix}, {"y", kMatrix}},
                   {{"c", "tensor<2x3xi1>", {1, 0, 0, 1, 1, 0}}},
                   "%z = nn.select %c, %x, %y : tensor<2x3xi1>, " + kMatrix,
                   {{"z", kMatrix}}});
  cases.push_back({"select_compare",
                   {{"x", kMatrix}},
                   {},
                   "%zero = nn.constant dense<0.0> : " + kMatrix + "\n%c = nn.compare gt %x, %zero : " +
                       kMatrix + " -> tensor<2x3xi1>\n%s = nn.mul %x, %x : " + kMatrix +
                       "\n%z = nn.select %c, %x, %s : tensor<2x3xi1>, " + kMatrix,
                   {{"z", kMatrix}}});
  return cases;
}

std::vector<Case> shapeCases() {
  auto one = [](std::string name, std::string from, std::string to, std::string text) {
    return Case{name, {{"x", from}}, {}, "%y = nn." + text + " : " + from + " to " + to, {{"y", to}}};
  };
  std::vector<Case> cases{
      one("broadcast_new", f64({3}), f64({2, 3}), "broadcast %x dims [1]"),
      one("broadcast_scalar", f64({}), f64({2, 3}), "broadcast %x dims []"),
      one("broadcast_one", f64({2, 1}), f64({2, 3}), "broadcast %x dims [0, 1]"),
      one("broadcast_both", f64({1, 3}), f64({2, 4, 3}), "broadcast %x dims [1, 2]"),
      one("broadcast_ones", f64({1, 1}), f64({1, 2, 1}), "broadcast %x dims [0, 2]"),
      one("broadcast_to_none", f64({1, 3}), f64({0, 3}), "broadcast %x dims [0, 1]"),
      one("broadcast_of_none", f64({0}), f64({2, 0}), "broadcast %x dims [1]"),
      one("reshape", f64({2, 6}), f64({3, 4}), "reshape %x"),
      one("reshape_scalar", f64({1, 1}), f64({}), "reshape %x"),
      one("reshape_none", f64({2, 0}), f64({0, 5}), "reshape %x"),
      one("transpose", f64({2, 3, 4}), f64({3, 4, 2}), "transpose %x [1, 2, 0]"),
      one("transpose_swap", f64({2, 3, 4}), f64({4, 3, 2}), "transpose %x [2, 1, 0]"),
      one("transpose_none", f64({2, 0}), f64({0, 2}), "transpose %x [1, 0]"),
      one("slice", f64({5, 4}), f64({2, 3}), "slice %x starts [1, 1] strides [1, 1]"),
      one("slice_strided", f64({9}), f64({3}), "slice %x starts [1] strides [3]"),
      one("slice_to_the_end", f64({8}), f64({3}), "slice %x starts [1] strides [3]"),
      one("slice_reverse", f64({4}), f64({4}), "slice %x starts [3] strides [-1]"),
      one("slice_backwards", f64({8, 3}), f64({3, 2}), "slice %x starts [6, 2] strides [-2, -2]"),
      one("slice_one", f64({8}), f64({1}), "slice %x starts [7] strides [-5]"),
      one("pad", f64({2, 3}), f64({5, 4}), "pad %x low [1, 0] high [2, 1] interior [0, 0]"),
      one("pad_interior", f64({3}), f64({10}), "pad %x low [1] high [2] interior [2] {value = 3.0}"),
      one("pad_one", f64({1}), f64({3}), "pad %x low [1] high [1] interior [4]"),
      one("pad_none", f64({0, 2}), f64({3, 2}), "pad %x low [1, 0] high [2, 0] interior [1, 0]"),
  };
  std::string a = f64({2, 3}), b = f64({2, 4}), none = f64({2, 0});
  cases.push_back({"concat",
                   {{"a", a}, {"b", b}},
                   {},
                   "%y = nn.concat %a, %b axis 1 : " + a + ", " + b + " -> " + f64({2, 7}),
                   {{"y", f64({2, 7})}}});
  cases.push_back({"concat_same",
                   {{"a", a}},
                   {},
                   "%y = nn.concat %a, %a axis 0 : " + a + ", " + a + " -> " + f64({4, 3}),
                   {{"y", f64({4, 3})}}});
  cases.push_back({"concat_none",
                   {{"a", a}, {"b", none}, {"c", a}},
                   {},
                   "%y = nn.concat %a, %b, %c axis 1 : " + a + ", " + none + ", " + a + " -> " + f64({2, 6}),
                   {{"y", f64({2, 6})}}});
  return cases;
}

std::vector<Case> indexingCases() {
  auto gather = [](std::string name, std::string data, std::string indices, std::vector<int64_t> values,
                   std::string axis, std::string to) {
    return Case{name,
                {{"x", data}},
                {{"i", indices, values}},
                "%y = nn.gather %x[%i] axis " + axis + " : " + data + ", " + indices + " -> " + to,
                {{"y", to}}};
  };
  auto scatter = [](std::string name, std::string updates, std::string indices, std::vector<int64_t> values,
                    std::string axis, std::string to) {
    return Case{name,
                {{"x", updates}},
                {{"i", indices, values}},
                "%y = nn.scatter_add %x[%i] axis " + axis + " : " + updates + ", " + indices + " -> " + to,
                {{"y", to}}};
  };
  std::vector<Case> cases{
      gather("gather", f64({5, 2}), "tensor<2x2xi64>", {4, 0, 4, 4}, "0", f64({2, 2, 2})),
      gather("gather_axis", f64({2, 5, 2}), "tensor<3xi32>", {1, 1, 2}, "1", f64({2, 3, 2})),
      gather("gather_scalar", f64({3, 2}), "tensor<i64>", {2}, "0", f64({2})),
      gather("gather_none", f64({3, 2}), "tensor<0xi64>", {}, "0", f64({0, 2})),
      scatter("scatter_add", f64({4, 2}), "tensor<4xi64>", {1, 1, 0, 2}, "0", f64({5, 2})),
      scatter("scatter_add_axis", f64({2, 3}), "tensor<3xi64>", {1, 0, 1}, "1", f64({2, 4})),
      scatter("scatter_add_none", f64({0, 2}), "tensor<0xi64>", {}, "0", f64({3, 2})),
  };
  struct Update {
    const char *name;
    std::vector<int64_t> data, updates, indices;
    std::string type, axis;
  };
  for (std::string kind : {"assign", "add", "mul", "max", "min"}) {
    for (const Update &n : {Update{"rows", {4, 2}, {2, 2}, {3, 1}, "tensor<2xi64>", "0"},
                            Update{"repeated", {3, 2}, {4, 2}, {2, 0, 2, 2}, "tensor<4xi32>", "0"},
                            Update{"axis", {2, 3, 2}, {2, 2, 2, 2}, {1, 1, 0, 1}, "tensor<2x2xi64>", "1"},
                            Update{"scalar", {3}, {}, {1}, "tensor<i8>", "0"},
                            Update{"none", {3, 2}, {0, 2}, {}, "tensor<0xi64>", "0"},
                            Update{"no_columns", {3, 0}, {1, 0}, {2}, "tensor<1xi64>", "0"}})
      for (std::string which : {"both", "data", "updates"}) {
        Argument data{"x", f64(n.data)}, updates{"u", f64(n.updates)}, indices{"i", n.type, n.indices};
        Case test{"scatter_" + kind + "_" + n.name + "_" + which,
                  {},
                  {},
                  "%y = nn.scatter " + kind + " %x, %u[%i] axis " + n.axis + " : " + data.type + ", " +
                      updates.type + ", " + n.type,
                  {{"y", data.type}}};
        (which == "updates" ? test.inputs : test.parameters).push_back(data);
        (which == "data" ? test.inputs : test.parameters).push_back(updates);
        test.inputs.push_back(indices);
        cases.push_back(test);
      }
    // Equals: the same value is the data at index 0 and twice an update there.
    std::string one = f64({1}), two = f64({2});
    cases.push_back({"scatter_" + kind + "_equal",
                     {{"x", two}},
                     {{"i", "tensor<2xi64>", {0, 0}}},
                     "%a = nn.slice %x starts [0] strides [1] : " + two + " to " + one +
                         "\n%u = nn.broadcast %a dims [0] : " + one + " to " + two + "\n%y = nn.scatter " +
                         kind + " %x, %u[%i] axis 0 : " + two + ", " + two + ", tensor<2xi64>",
                     {{"y", two}}});
  }
  // Products with none, one and more zeros at an index: all parameters are 1, and integers taken from them.
  std::string six = f64({6}), three = f64({3});
  cases.push_back({"scatter_mul_zeros",
                   {{"x", three}, {"u", six}},
                   {{"i", "tensor<6xi64>", {0, 1, 1, 2, 2, 0}},
                    {"iu", "tensor<6xi64>", {0, 1, 3, 1, 1, 3}},
                    {"ix", "tensor<3xi64>", {-1, 0, 1}}},
                   "%fu = nn.cast %iu : tensor<6xi64> to " + six + "\n%fx = nn.cast %ix : tensor<3xi64> to " +
                       three + "\n%du = nn.sub %u, %fu : " + six + "\n%dx = nn.sub %x, %fx : " + three +
                       "\n%y = nn.scatter mul %dx, %du[%i] axis 0 : " + three + ", " + six +
                       ", tensor<6xi64>",
                   {{"y", three}},
                   1,
                   1});
  return cases;
}

std::vector<Case> contractionCases() {
  std::vector<Case> cases;
  struct Axes {
    const char *name, *axes;
    std::vector<int64_t> from, to;
  };
  for (std::string kind : {"sum", "max", "min", "prod"})
    for (const Axes &axes : {Axes{"last", "[1]", {2, 3}, {2}}, Axes{"first", "[0]", {2, 3}, {3}},
                             Axes{"all", "[0, 1]", {2, 3}, {}}, Axes{"outer", "[0, 2]", {2, 3, 2}, {3}},
                             Axes{"one", "[1]", {2, 1}, {2}}, Axes{"no_rows", "[1]", {0, 3}, {0}}})
      cases.push_back({"reduce_" + kind + "_" + axes.name,
                       {{"x", f64(axes.from)}},
                       {},
                       "%y = nn.reduce " + kind + " %x axes " + axes.axes + " : " + f64(axes.from) + " to " +
                           f64(axes.to),
                       {{"y", f64(axes.to)}}});
  cases.push_back({"reduce_sum_of_nothing",
                   {{"x", f64({2, 0})}},
                   {},
                   "%y = nn.reduce sum %x axes [1] : " + f64({2, 0}) + " to " + f64({2}),
                   {{"y", f64({2})}}});
  // Products with one, two and no zeros in a row.
  std::string rows = f64({3, 3});
  cases.push_back({"reduce_prod_zeros",
                   {{"x", rows}},
                   {{"keep", "tensor<3x3xi1>", {1, 0, 1, 0, 0, 1, 1, 1, 1}}},
                   "%zero = nn.constant dense<0.0> : " + rows +
                       "\n%z = nn.select %keep, %x, %zero : tensor<3x3xi1>, " + rows +
                       "\n%s = nn.add %z, %x : " + rows + "\n%d = nn.sub %s, %x : " + rows +
                       "\n%y = nn.reduce prod %d axes [1] : " + rows + " to " + f64({3}),
                   {{"y", f64({3})}}});
  // Two equal extremes share: x and x side by side.
  std::string two = f64({2, 2}), column = f64({2, 1});
  for (std::string kind : {"max", "min"})
    cases.push_back({"reduce_" + kind + "_equal",
                     {{"x", column}},
                     {},
                     "%b = nn.broadcast %x dims [0, 1] : " + column + " to " + two + "\n%y = nn.reduce " +
                         kind + " %b axes [1] : " + two + " to " + f64({2}),
                     {{"y", f64({2})}}});
  for (std::string flags : {"", " {exclusive}", " {reverse}", " {exclusive, reverse}"})
    for (std::string axis : {"0", "1"})
      cases.push_back({"cumsum_" + std::to_string(cases.size()),
                       {{"x", kMatrix}},
                       {},
                       "%y = nn.cumsum %x axis " + axis + flags + " : " + kMatrix,
                       {{"y", kMatrix}}});
  for (int lhs : {0, 1})
    for (int rhs : {0, 1}) {
      std::string flags = std::string(lhs ? " transpose_lhs" : "") + (rhs ? " transpose_rhs" : "");
      auto matmul = [&](std::string name, std::vector<int64_t> batch, int64_t m, int64_t k, int64_t n) {
        auto with = [&](int64_t rows, int64_t columns) {
          std::vector<int64_t> shape = batch;
          shape.push_back(rows);
          shape.push_back(columns);
          return f64(shape);
        };
        std::string a = lhs ? with(k, m) : with(m, k), b = rhs ? with(n, k) : with(k, n), y = with(m, n);
        cases.push_back({"matmul_" + name + "_" + std::to_string(lhs) + std::to_string(rhs),
                         {{"a", a}, {"b", b}},
                         {},
                         "%y = nn.matmul %a, %b" + flags + " : " + a + ", " + b + " -> " + y,
                         {{"y", y}}});
      };
      matmul("plain", {}, 2, 3, 4);
      matmul("batched", {2, 2}, 2, 3, 1);
      matmul("one", {}, 1, 1, 1);
      matmul("no_inner", {}, 2, 0, 3);
      matmul("no_rows", {}, 0, 2, 3);
    }
  std::string square = f64({3, 3});
  cases.push_back({"matmul_same",
                   {{"a", square}},
                   {},
                   "%y = nn.matmul %a, %a transpose_rhs : " + square + ", " + square + " -> " + square,
                   {{"y", square}}});
  return cases;
}

/// A convolution and its two transposes, each in both operands; `spatial` is the data's.
std::vector<Case> windowCases() {
  std::vector<Case> cases;
  struct Sliding {
    const char *name;
    std::vector<int64_t> window, strides, low, high, dilations;

    std::string text() const {
      std::string text;
      for (auto [name, list] : {std::pair(" strides ", &strides), std::pair(" low ", &low),
                                std::pair(" high ", &high), std::pair(" dilations ", &dilations)})
        text += name + format(*list);
      return text;
    }
    static std::string format(const std::vector<int64_t> &list) {
      std::vector<std::string> parts;
      for (int64_t value : list)
        parts.push_back(std::to_string(value));
      return "[" + joined(parts) + "]";
    }
    std::vector<int64_t> over(std::vector<int64_t> leading, const std::vector<int64_t> &spatial) const {
      for (size_t i = 0; i < spatial.size(); ++i) {
        int64_t room = low[i] + spatial[i] + high[i] - dilations[i] * (window[i] - 1);
        leading.push_back(room < 1 ? 0 : (room - 1) / strides[i] + 1);
      }
      return leading;
    }
  };
  auto joinShapes = [](std::vector<int64_t> a, const std::vector<int64_t> &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  auto conv = [&](const Sliding &n, int64_t batch, int64_t channels, int64_t filters, int64_t groups,
                  std::vector<int64_t> spatial) {
    std::string x = f64(joinShapes({batch, channels}, spatial)), y = f64(n.over({batch, filters}, spatial)),
                w = f64(joinShapes({filters, groups ? channels / groups : 0}, n.window)), text = n.text();
    if (groups != 1)
      text += " groups " + std::to_string(groups);
    auto add = [&](std::string op, std::string lhs, std::string rhs, std::string result) {
      cases.push_back({op + "_" + n.name,
                       {{"a", lhs}, {"b", rhs}},
                       {},
                       "%y = nn." + op + " %a, %b" + text + " : " + lhs + ", " + rhs + " -> " + result,
                       {{"y", result}}});
    };
    add("conv", x, w, y);
    add("conv_transpose", y, w, x);
    add("conv_weight_grad", x, y, w);
  };
  conv({"line", {3}, {1}, {0}, {0}, {1}}, 2, 2, 3, 1, {5});
  conv({"plane", {2, 3}, {1, 2}, {1, 0}, {0, 2}, {1, 1}}, 2, 2, 2, 1, {3, 4});
  conv({"volume", {2, 1, 2}, {1, 2, 1}, {1, 0, 0}, {0, 1, 1}, {1, 1, 2}}, 1, 1, 2, 1, {2, 3, 3});
  conv({"groups", {2, 2}, {1, 1}, {0, 1}, {0, 0}, {1, 1}}, 2, 4, 6, 2, {3, 2});
  conv({"depthwise", {3}, {2}, {1}, {1}, {1}}, 2, 3, 3, 3, {4});
  conv({"depthwise_twice", {2}, {1}, {0}, {1}, {1}}, 1, 2, 4, 2, {3});
  conv({"dilated", {2, 2}, {1, 1}, {0, 0}, {0, 0}, {2, 3}}, 1, 2, 1, 1, {4, 5});
  // The last rows are read by no window.
  conv({"remainder", {2, 2}, {3, 3}, {0, 0}, {0, 0}, {1, 1}}, 1, 1, 2, 1, {4, 7});
  conv({"one", {1}, {1}, {0}, {0}, {1}}, 1, 1, 1, 1, {1});
  // Windows that read nothing but padding.
  conv({"padding_alone", {2}, {1}, {3}, {2}, {1}}, 1, 1, 1, 1, {1});
  conv({"no_batch", {2}, {1}, {0}, {0}, {1}}, 0, 2, 2, 1, {3});
  conv({"no_channels", {2}, {1}, {0}, {0}, {1}}, 2, 0, 2, 1, {3});
  conv({"no_filters", {2}, {1}, {0}, {0}, {1}}, 2, 2, 0, 1, {3});
  conv({"no_window", {4}, {1}, {0}, {0}, {1}}, 2, 2, 2, 1, {3});
  conv({"no_positions", {2}, {1}, {1}, {1}, {1}}, 2, 2, 2, 1, {0});
  std::string square = f64({2, 2, 2});
  cases.push_back({"conv_same",
                   {{"x", square}},
                   {},
                   "%y = nn.conv %x, %x strides [1] low [1] high [0] dilations [1] : " + square + ", " +
                       square + " -> " + square,
                   {{"y", square}}});

  auto pool = [&](std::string op, const Sliding &n, std::vector<int64_t> leading,
                  std::vector<int64_t> spatial) {
    std::string x = f64(joinShapes(leading, spatial)), y = f64(n.over(leading, spatial));
    std::string indices = y;
    indices.replace(indices.find("f64"), 3, "i64");
    bool hasIndices = op == "max_pool";
    cases.push_back({op + "_" + n.name,
                     {{"x", x}},
                     {},
                     std::string(hasIndices ? "%y, %i" : "%y") + " = nn." + op + " %x window " +
                         Sliding::format(n.window) + n.text() + " : " + x +
                         (hasIndices ? " -> " + y + ", " + indices : " to " + y),
                     {{"y", y}}});
  };
  for (std::string op : {"max_pool", "sum_pool"}) {
    pool(op, {"line", {2}, {2}, {0}, {0}, {1}}, {2, 2}, {5});
    pool(op, {"plane", {2, 3}, {1, 2}, {1, 0}, {0, 2}, {1, 1}}, {2, 2}, {3, 4});
    pool(op, {"volume", {2, 1, 2}, {1, 2, 1}, {1, 0, 0}, {0, 0, 1}, {1, 1, 2}}, {1, 2}, {2, 3, 3});
    pool(op, {"dilated", {2, 2}, {1, 2}, {1, 0}, {1, 0}, {2, 3}}, {1, 2}, {4, 6});
    pool(op, {"whole", {3, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, {2, 1}, {3, 2});
    pool(op, {"tiles", {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}}, {2, 3}, {4, 6});
    pool(op, {"remainder", {2}, {3}, {0}, {0}, {1}}, {1, 2}, {7});
    pool(op, {"one", {1}, {1}, {0}, {0}, {1}}, {1, 1}, {1});
    pool(op, {"no_batch", {2}, {1}, {0}, {0}, {1}}, {0, 2}, {3});
    pool(op, {"no_channels", {2}, {1}, {0}, {0}, {1}}, {2, 0}, {3});
  }
  pool("max_pool", {"no_window", {4}, {1}, {0}, {0}, {1}}, {2, 2}, {3});
  pool("sum_pool", {"left_out", {2}, {2}, {-1}, {-2}, {1}}, {2, 2}, {8});
  pool("sum_pool", {"padding_alone", {2}, {1}, {3}, {2}, {1}}, {1, 1}, {1});
  pool("sum_pool", {"no_positions", {2}, {1}, {1}, {1}, {1}}, {2, 2}, {0});
  return cases;
}

std::vector<Case> compositeCases() {
  std::vector<Case> cases;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3}, {2, 1, 3}, {1, 1}, {0, 3}})
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] != 0)
        cases.push_back({"softmax_" + std::to_string(cases.size()),
                         {{"x", f64(shape)}},
                         {},
                         "%y = nn.softmax %x axis " + std::to_string(axis) + " : " + f64(shape),
                         {{"y", f64(shape)}},
                         -2,
                         2});
  auto layerNorm = [&](std::string name, std::vector<int64_t> rows, std::vector<int64_t> row, bool bias,
                       std::vector<std::string> used) {
    std::vector<int64_t> whole = rows;
    whole.insert(whole.end(), row.begin(), row.end());
    std::string x = f64(whole), s = f64(row), m = f64(rows);
    Case test{"layer_norm_" + name,
              {{"x", x}, {"s", s}},
              {},
              "%y, %mean, %rstd = nn.layer_norm %x scale %s " + std::string(bias ? "bias %b " : "") +
                  "epsilon 1.0e-2 : " + x + ", " + s + (bias ? ", " + s : "") + " -> " + x + ", " + m + ", " +
                  m,
              {},
              0.5,
              2};
    if (bias)
      test.parameters.push_back({"b", s});
    for (const std::string &value : used)
      test.results.push_back({value, value == "y" ? x : m});
    cases.push_back(test);
  };
  layerNorm("rows", {2, 3}, {4}, true, {"y"});
  layerNorm("no_bias", {3}, {4}, false, {"y"});
  layerNorm("two_axes", {2}, {2, 3}, true, {"y"});
  layerNorm("no_leading", {}, {4}, true, {"y"});
  layerNorm("all_results", {3}, {4}, true, {"y", "mean", "rstd"});
  layerNorm("statistics", {3}, {4}, false, {"mean", "rstd"});
  cases.back().parameters.pop_back(); // the scale is no part of the statistics: an input here
  cases.back().inputs.push_back({"s", f64({4})});
  layerNorm("one", {2}, {1}, true, {"y"});
  layerNorm("no_rows", {0}, {3}, true, {"y"});
  struct Heads {
    const char *name;
    int64_t b, t, s, h, g, d;
    bool causal, mask;
    std::vector<int64_t> maskShape;
    bool logSumExp;
  };
  for (const Heads &n : {Heads{"plain", 1, 2, 3, 2, 2, 2, false, false, {}, false},
                         Heads{"causal", 2, 3, 3, 1, 1, 2, true, false, {}, false},
                         Heads{"causal_longer", 1, 2, 4, 1, 1, 2, true, false, {}, false},
                         Heads{"groups", 1, 2, 2, 4, 2, 2, true, false, {}, false},
                         Heads{"mask", 2, 2, 3, 2, 1, 2, false, true, {1, 2, 2, 3}, false},
                         Heads{"mask_causal", 2, 2, 2, 2, 1, 1, true, true, {2, 1, 2, 2}, false},
                         Heads{"log_sum_exp", 1, 3, 3, 4, 2, 2, true, false, {}, true},
                         Heads{"one", 1, 1, 1, 1, 1, 1, false, false, {}, false},
                         Heads{"no_batch", 0, 2, 2, 1, 1, 2, false, false, {}, false}}) {
    std::string q = f64({n.b, n.t, n.h, n.d}), k = f64({n.b, n.s, n.g, n.d}), lse = f64({n.b, n.h, n.t});
    std::string mask = n.mask ? f64(n.maskShape) : "";
    Case test{std::string("attention_") + n.name,
              {{"q", q}, {"k", k}, {"v", k}},
              {},
              "%y, %lse = nn.attention %q, %k, %v " + std::string(n.mask ? "mask %m " : "") + "scale 7.0e-1" +
                  (n.causal ? " causal" : "") + " : " + q + ", " + k + ", " + k +
                  (n.mask ? ", " + mask : "") + " -> " + q + ", " + lse,
              {{"y", q}}};
    if (n.mask)
      test.inputs.push_back({"m", mask});
    if (n.logSumExp)
      test.results.push_back({"lse", lse});
    cases.push_back(test);
  }
  std::string q = f64({1, 2, 2, 2}), lse = f64({1, 2, 2});
  cases.push_back({"attention_self",
                   {{"x", q}},
                   {},
                   "%y, %lse = nn.attention %x, %x, %x scale 1.0 causal : " + q + ", " + q + ", " + q +
                       " -> " + q + ", " + lse,
                   {{"y", q}}});
  return cases;
}

std::vector<Case> lossCases() {
  std::vector<Case> cases;
  auto crossEntropy = [&](std::string name, std::vector<int64_t> positions, int64_t classes,
                          std::string label, std::vector<int64_t> labels, std::string attributes,
                          std::vector<std::string> used) {
    std::vector<int64_t> whole = positions;
    whole.push_back(classes);
    std::string labelType = "tensor<";
    for (int64_t size : positions)
      labelType += std::to_string(size) + "x";
    labelType += label + ">";
    Case test{"cross_entropy_" + name,
              {{"x", f64(whole)}},
              {{"l", labelType, labels}},
              "%loss_sum, %count, %lse = nn.cross_entropy %x, %l" + attributes + " : " + f64(whole) + ", " +
                  labelType + " -> tensor<f64>, tensor<i64>, " + f64(positions),
              {},
              -2,
              2};
    for (const std::string &value : used)
      test.results.push_back({value, value == "lse" ? f64(positions) : "tensor<f64>"});
    cases.push_back(test);
  };
  crossEntropy("plain", {3}, 4, "i64", {0, 3, 2}, "", {"loss_sum"});
  crossEntropy("ignored", {2, 2}, 3, "i32", {0, -100, 2, -100}, "", {"loss_sum"});
  crossEntropy("ignore_index", {3}, 3, "i64", {0, 1, 2}, " {ignore_index = 1}", {"loss_sum"});
  crossEntropy("narrow_labels", {3}, 3, "i8", {0, 1, 2}, "", {"loss_sum"});
  crossEntropy("both", {3}, 3, "ui8", {2, 1, 2}, "", {"loss_sum", "lse"});
  crossEntropy("log_sum_exp", {3}, 3, "i64", {2, 1, 2}, "", {"lse"});
  crossEntropy("one_class", {2}, 1, "i64", {0, 0}, "", {"loss_sum"});
  crossEntropy("no_positions", {0}, 3, "i64", {}, "", {"loss_sum"});
  for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3}, {}, {0, 2}}) {
    std::string type = f64(shape), name = "mse_loss_" + std::to_string(cases.size());
    std::string body =
        "%loss_sum, %count = nn.mse_loss %x, %t : " + type + ", " + type + " -> tensor<f64>, tensor<i64>";
    cases.push_back({name, {{"x", type}, {"t", type}}, {}, body, {{"loss_sum", "tensor<f64>"}}});
    cases.push_back({name + "_target", {{"t", type}}, {{"x", type}}, body, {{"loss_sum", "tensor<f64>"}}});
  }
  cases.push_back({"output_loss",
                   {{"x", f64({1, 1})}},
                   {},
                   "%l, %n = nn.output_loss %x : " + f64({1, 1}) + " -> tensor<f64>, tensor<i64>",
                   {{"l", "tensor<f64>"}}});
  return cases;
}

TEST(GradientCases, HaveEveryDifferentiableOp) {
  EXPECT_EQ(missingOps<nn::DifferentiableOpInterface>(
                Evaluator().getContext(), {unaryCases(), binaryCases(), shapeCases(), indexingCases(),
                                           contractionCases(), windowCases(), compositeCases(), lossCases()}),
            "");
}

auto withName = [](const testing::TestParamInfo<Case> &info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Unary, Gradient, testing::ValuesIn(unaryCases()), withName);
INSTANTIATE_TEST_SUITE_P(Binary, Gradient, testing::ValuesIn(binaryCases()), withName);
INSTANTIATE_TEST_SUITE_P(Shape, Gradient, testing::ValuesIn(shapeCases()), withName);
INSTANTIATE_TEST_SUITE_P(Indexing, Gradient, testing::ValuesIn(indexingCases()), withName);
INSTANTIATE_TEST_SUITE_P(Contraction, Gradient, testing::ValuesIn(contractionCases()), withName);
INSTANTIATE_TEST_SUITE_P(Window, Gradient, testing::ValuesIn(windowCases()), withName);
INSTANTIATE_TEST_SUITE_P(Composite, Gradient, testing::ValuesIn(compositeCases()), withName);
INSTANTIATE_TEST_SUITE_P(Loss, Gradient, testing::ValuesIn(lossCases()), withName);

} // namespace

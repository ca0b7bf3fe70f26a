//===- RandomProgramTest.cpp - Random graphs of nn ops --------------------===//
//
// What groups are formed is not asked here: whatever they are, kernels compute what the reference does.
// Values stay near 1, so that rounding does not grow.
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace zero::test;

namespace {

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {
    const int64_t sizes[] = {1, 2, 3, 5, 16, 17, 20, 64, 70};
    for (int64_t &size : dims)
      size = sizes[pick(std::size(sizes))];
  }

  std::string build() {
    std::string arguments;
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{dims[0], dims[1], dims[2]},
                                              {dims[0], dims[1], dims[2]},
                                              {dims[1], dims[2]},
                                              {dims[2]},
                                              {dims[0], dims[1]},
                                              {dims[0]},
                                              {}}) {
      std::string name = "%a" + std::to_string(values.size());
      arguments += (values.empty() ? "" : ", ") + name + ": " + typeOf(shape);
      values.push_back({name, shape});
    }
    for (int i = 0; i < 24; ++i)
      addOp();
    std::string names, types;
    for (size_t i = 0; i < values.size(); ++i)
      if (i + 3 >= values.size() || pick(8) == 0) {
        names += (names.empty() ? "" : ", ") + values[i].name;
        types += (types.empty() ? "" : ", ") + typeOf(values[i].shape);
      }
    return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + body + "  return " + names + " : " +
           types + "\n}";
  }

private:
  struct Value {
    std::string name;
    std::vector<int64_t> shape;
  };

  size_t pick(size_t count) { return random() % count; }
  static std::string typeOf(const std::vector<int64_t> &shape, const char *element = "f32") {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element + ">";
  }
  static std::string listOf(const std::vector<int64_t> &list) {
    std::string text;
    for (int64_t item : list)
      text += (text.empty() ? "" : ", ") + std::to_string(item);
    return "[" + text + "]";
  }
  std::string define(const std::string &op) {
    std::string name = "%v" + std::to_string(count++);
    body += "  " + name + " = " + op + "\n";
    return name;
  }
  void add(const std::string &op, const std::vector<int64_t> &shape) {
    values.push_back({define(op), shape});
  }

  void addOp() {
    Value x = values[pick(values.size())];
    std::string type = typeOf(x.shape);
    switch (pick(8)) {
    case 0: {
      const char *names[] = {"tanh", "neg", "abs", "sigmoid", "erf", "relu"};
      return add("nn." + std::string(names[pick(std::size(names))]) + " " + x.name + " : " + type, x.shape);
    }
    case 1:
    case 2: {
      std::vector<Value> partners;
      std::copy_if(values.begin(), values.end(), std::back_inserter(partners),
                   [&](const Value &v) { return v.shape == x.shape; });
      const char *names[] = {"add", "sub", "mul", "max", "min"};
      std::string sum = define("nn." + std::string(names[pick(std::size(names))]) + " " + x.name + ", " +
                               partners[pick(partners.size())].name + " : " + type);
      return add("nn.tanh " + sum + " : " + type, x.shape);
    }
    case 3: {
      // Repeated along new dimensions.
      std::vector<int64_t> target = {dims[0], dims[1], dims[2]};
      std::vector<int64_t> kept;
      for (size_t i = 0, dim = 0; i < x.shape.size(); ++i, ++dim) {
        while (dim < target.size() &&
               (target[dim] != x.shape[i] || (pick(3) == 0 && dim + x.shape.size() - i < target.size())))
          ++dim;
        if (dim >= target.size())
          return;
        kept.push_back(dim);
      }
      return add("nn.broadcast " + x.name + " dims " + listOf(kept) + " : " + type + " to " + typeOf(target),
                 target);
    }
    case 4:
    case 5: {
      std::vector<int64_t> axes, rest;
      int64_t reduced = 1;
      for (size_t i = 0; i < x.shape.size(); ++i) {
        if (pick(2)) {
          axes.push_back(i);
          reduced *= x.shape[i];
        } else {
          rest.push_back(x.shape[i]);
        }
      }
      if (axes.empty())
        return;
      if (pick(3) == 0)
        return add("nn.reduce max " + x.name + " axes " + listOf(axes) + " : " + type + " to " + typeOf(rest),
                   rest);
      std::string sum =
          define("nn.reduce sum " + x.name + " axes " + listOf(axes) + " : " + type + " to " + typeOf(rest));
      std::string size = define("nn.constant dense<" + std::to_string(reduced) + ".0> : " + typeOf(rest));
      return add("nn.div " + sum + ", " + size + " : " + typeOf(rest), rest);
    }
    case 6: {
      std::vector<int64_t> shape = x.shape;
      if (shape.size() > 1 && pick(2)) {
        shape[0] *= shape[1];
        shape.erase(shape.begin() + 1);
      } else {
        shape.insert(shape.begin() + pick(shape.size() + 1), 1);
      }
      if (shape.size() > 4)
        return;
      return add("nn.reshape " + x.name + " : " + type + " to " + typeOf(shape), shape);
    }
    default: {
      if (x.shape.empty())
        return;
      std::string axis = std::to_string(pick(x.shape.size())), index = typeOf(x.shape, "i64");
      std::string iota = define("nn.iota axis " + axis + " : " + index);
      std::string limit = define("nn.constant dense<" + std::to_string(pick(20)) + "> : " + index);
      std::string mask =
          define("nn.compare lt " + iota + ", " + limit + " : " + index + " -> " + typeOf(x.shape, "i1"));
      std::string half = define("nn.constant dense<0.5> : " + type);
      return add("nn.select " + mask + ", " + x.name + ", " + half + " : " + typeOf(x.shape, "i1") + ", " +
                     type,
                 x.shape);
    }
    }
  }

  std::mt19937 random;
  int64_t dims[3];
  int count = 0;
  std::vector<Value> values;
  std::string body;
};

TEST(RandomPrograms, AgreeWithTheReference) {
  for (unsigned seed = 0; seed < 30 && !HasFailure(); ++seed) {
    std::string text = Generator(seed).build();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    Program program(text);
    program.check({.low = -1.0, .high = 1.0, .relative = 1e-4, .absolute = 1e-4});
  }
}

} // namespace

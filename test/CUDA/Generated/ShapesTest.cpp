//===- ShapesTest.cpp - Lengths around those where kernels change form ----===//
//
// Many kernels in one program: rows that a lane, part of a warp, a warp or a block has, with and without tails, in registers and streamed;
// columns in narrow and wide tiles; flat kernels that loop and that do not.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Codegen/KernelHarness.h"
#include "gtest/gtest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace zero::test;
using llvm::formatv;

namespace {

/// A function of one operand for each shape, which `body` turns into a result: {0} its number, {1} rows, {2} columns, {3} the element.
class Shapes {
public:
  explicit Shapes(std::string element) : element(std::move(element)) {}

  void add(const char *body, int64_t rows, int64_t columns, bool sums) {
    std::string number = std::to_string(count++), whole = formatv("tensor<{0}x{1}x{2}>", rows, columns, element),
                result = sums ? formatv("tensor<{0}x{1}>", columns, element).str() : whole;
    arguments += (arguments.empty() ? "%x" : ", %x") + number + ": " + whole;
    types += (types.empty() ? "" : ", ") + result;
    names += (names.empty() ? "%r" : ", %r") + number;
    text += formatv(body, number, rows, columns, element).str();
  }
  std::string build() const {
    return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + text + "  return " + names + " : " + types + "\n}";
  }

private:
  std::string element, arguments, types, names, text;
  int count = 0;
};

constexpr const char *kNormalize = R"(
  %s{0} = nn.reduce sum %x{0} axes [1] : tensor<{1}x{2}x{3}> to tensor<{1}x{3}>
  %b{0} = nn.broadcast %s{0} dims [0] : tensor<{1}x{3}> to tensor<{1}x{2}x{3}>
  %q{0} = nn.div %x{0}, %b{0} : tensor<{1}x{2}x{3}>
  %m{0} = nn.reduce max %q{0} axes [1] : tensor<{1}x{2}x{3}> to tensor<{1}x{3}>
  %w{0} = nn.broadcast %m{0} dims [0] : tensor<{1}x{3}> to tensor<{1}x{2}x{3}>
  %r{0} = nn.sub %q{0}, %w{0} : tensor<{1}x{2}x{3}>
)";
constexpr const char *kSum = R"(
  %r{0} = nn.reduce sum %x{0} axes [0] : tensor<{1}x{2}x{3}> to tensor<{2}x{3}>
)";
constexpr const char *kFlat = R"(
  %t{0} = nn.mul %x{0}, %x{0} : tensor<{1}x{2}x{3}>
  %r{0} = nn.add %t{0}, %x{0} : tensor<{1}x{2}x{3}>
)";

class OnShapes : public testing::TestWithParam<const char *> {
protected:
  /// Of positive numbers, whose sums lose little.
  void check(const Shapes &shapes) {
    Options options{.low = 0.5, .high = 1.5};
    if (std::string(GetParam()) != "f32")
      options.relative = 0.02, options.absolute = 1e-4; // two roundings to 8 bits in another order
    Program(shapes.build()).check(options);
  }
};

TEST_P(OnShapes, Rows) {
  Shapes shapes(GetParam());
  for (int64_t length : {2, 3, 4, 7, 8, 12, 31, 32, 33, 64, 100, 127, 128, 129, 256, 513, 768, 1000, 1024, 1026, 2048, 4100, 5000, 16384, 16390, 20002})
    shapes.add(kNormalize, length < 40 ? 70 : 3, length, /*sums=*/false);
  shapes.add(kNormalize, 5000, 6, /*sums=*/false);
  check(shapes);
}

TEST_P(OnShapes, Columns) {
  Shapes shapes(GetParam());
  for (int64_t rows : {2, 3, 5, 17, 64, 1000, 5000})
    for (int64_t columns : {2, 3, 16, 33, 100})
      shapes.add(kSum, rows, columns, /*sums=*/true);
  shapes.add(kSum, 3, 20000, /*sums=*/true);
  check(shapes);
}

TEST_P(OnShapes, Flat) {
  Shapes shapes(GetParam());
  for (int64_t length : {1, 2, 3, 5, 8, 31, 33, 1023, 1024, 1025, 5000})
    shapes.add(kFlat, 1, length, /*sums=*/false);
  check(shapes);
}

INSTANTIATE_TEST_SUITE_P(Elements, OnShapes, testing::Values("f32", "bf16", "f16"), [](const auto &info) { return std::string(info.param); });

} // namespace

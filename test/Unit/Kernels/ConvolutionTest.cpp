//===- ConvolutionTest.cpp - conv, conv_transpose, conv_weight_grad -------===//
#include "KernelHarness.h"
#include <cmath>
#include <random>

using namespace zero;
using namespace zero::test;

namespace {

struct Conv {
  int64_t batch, channels, filters, groups;
  std::vector<int64_t> spatial, window, strides, low, high, dilations;

  std::vector<int64_t> integers(int64_t element = 0) const {
    std::vector<int64_t> all{element, batch, channels, filters, groups, static_cast<int64_t>(spatial.size())};
    for (const auto *list : {&spatial, &window, &strides, &low, &high, &dilations})
      all.insert(all.end(), list->begin(), list->end());
    return all;
  }
  ConvolutionShape shape() const { return ConvolutionShape::fromIntegers(integers()); }
};

/// Calls visit(data, kernel, out) with the elements of every product.
template <typename Visit> void forEachProduct(const ConvolutionShape &n, Visit visit) {
  int64_t depth = n.channels / n.groups, taps = ConvolutionShape::product(n.window),
          places = ConvolutionShape::product(n.spatial), positions = ConvolutionShape::product(n.positions);
  for (int64_t image = 0; image < n.batch; ++image)
    for (int64_t filter = 0; filter < n.filters; ++filter)
      for (int64_t o = 0; o < positions; ++o)
        for (int64_t tap = 0; tap < taps; ++tap) {
          int64_t place = 0, restO = o, restTap = tap, scale = 1;
          bool inside = true;
          for (size_t i = n.spatial.size(); i-- > 0;) {
            int64_t at = restO % n.positions[i] * n.strides[i] - n.low[i] +
                         restTap % n.window[i] * n.dilations[i];
            inside &= at >= 0 && at < n.spatial[i];
            place += at * scale;
            scale *= n.spatial[i];
            restO /= n.positions[i];
            restTap /= n.window[i];
          }
          if (!inside)
            continue;
          int64_t first = filter / (n.filters / n.groups) * depth;
          for (int64_t c = 0; c < depth; ++c)
            visit((image * n.channels + first + c) * places + place, (filter * depth + c) * taps + tap,
                  (image * n.filters + filter) * positions + o);
        }
}

template <typename T> std::vector<T> run(const char *kernel, const std::vector<int64_t> &integers,
                                         const std::vector<T> &lhs, const std::vector<T> &rhs, size_t size,
                                         ParallelFor &&parallel = Serial(), size_t offset = 0) {
  Aligned<T> a(lhs, offset), b(rhs, 3 * offset), out(size, offset, T(7));
  EXPECT_OK(runKernel(kernel, integers, {}, {a.data(), b.data(), out.data()}, std::move(parallel)));
  return out.values();
}

template <typename T>
void compare(const char *kernel, const Conv &conv, int64_t element, const std::vector<T> &lhs,
             const std::vector<T> &rhs, const std::vector<double> &expected, double terms) {
  SCOPED_TRACE(kernel);
  std::vector<int64_t> integers = conv.integers(element);
  std::vector<T> out = run(kernel, integers, lhs, rhs, expected.size());
  double worst = 0;
  for (size_t i = 0; i < out.size(); ++i)
    worst = std::max(worst, std::isfinite(out[i]) ? std::fabs(expected[i] - out[i]) : INFINITY);
  EXPECT_LE(worst, (sizeof(T) == 8 ? 1e-13 : 1e-5) * (std::sqrt(terms) + 1));
  EXPECT_TRUE(sameBits(out, run(kernel, integers, lhs, rhs, out.size(), Backwards())));
  EXPECT_TRUE(sameBits(out, run(kernel, integers, lhs, rhs, out.size(), Threads(3))));
  EXPECT_TRUE(sameBits(out, run(kernel, integers, lhs, rhs, out.size(), Serial(), 64)));
}

template <typename T> void checkAs(const Conv &conv, int64_t element) {
  ConvolutionShape n = conv.shape();
  auto random = [](int64_t count, unsigned seed) {
    std::vector<float> floats = randomFloats(count, seed);
    return std::vector<T>(floats.begin(), floats.end());
  };
  std::vector<T> data = random(n.dataElements(), 1), kernel = random(n.kernelElements(), 2),
                 out = random(n.outElements(), 3);
  std::vector<double> forward(out.size()), transposed(data.size()), gradient(kernel.size());
  forEachProduct(n, [&](int64_t x, int64_t w, int64_t y) {
    forward[y] += double(data[x]) * kernel[w];
    transposed[x] += double(out[y]) * kernel[w];
    gradient[w] += double(data[x]) * out[y];
  });
  double taps = ConvolutionShape::product(n.window);
  compare("conv", conv, element, data, kernel, forward, taps * n.channels / n.groups);
  compare("conv_transpose", conv, element, out, kernel, transposed, taps * n.filters / n.groups);
  compare("conv_weight_grad", conv, element, data, out, gradient,
          double(n.batch) * ConvolutionShape::product(n.positions));
  // An image has the same bits alone.
  if (n.batch < 2)
    return;
  Conv one = conv;
  one.batch = 1;
  int64_t last = n.batch - 1;
  auto compareLast = [&](const char *name, const std::vector<T> &given, size_t size) {
    std::vector<T> image(given.begin() + last * (given.size() / n.batch), given.end());
    std::vector<T> whole = run(name, conv.integers(element), given, kernel, size);
    std::vector<T> alone = run(name, one.integers(element), image, kernel, size / n.batch);
    EXPECT_TRUE(sameBits(alone, std::vector<T>(whole.begin() + last * alone.size(), whole.end()))) << name;
  };
  compareLast("conv", data, out.size());
  compareLast("conv_transpose", out, data.size());
}

void check(const Conv &conv) {
  SCOPED_TRACE(testing::PrintToString(conv.integers()));
  checkAs<float>(conv, 0);
  checkAs<double>(conv, 1);
}

TEST(Convolution, Planes) {
  check({2, 3, 16, 1, {12, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  check({2, 1, 8, 1, {9, 8}, {5, 5}, {2, 2}, {2, 2}, {2, 2}, {1, 1}});
  check({3, 16, 32, 1, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}});
  check({2, 17, 5, 1, {6, 9}, {3, 2}, {2, 1}, {0, 1}, {1, 0}, {1, 2}});
  check({2, 32, 48, 1, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
  check({1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}});
  check({2, 4, 4, 1, {5, 5}, {5, 5}, {1, 1}, {0, 0}, {0, 0}, {1, 1}});
  check({2, 8, 6, 1, {11, 10}, {2, 2}, {3, 3}, {0, 0}, {0, 0}, {2, 2}});
  check({1, 3, 70, 1, {3, 150}, {1, 7}, {1, 2}, {0, 3}, {0, 3}, {1, 1}});
}

TEST(Convolution, Groups) {
  check({2, 8, 16, 2, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  check({2, 32, 32, 32, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  check({2, 12, 12, 12, {9, 7}, {7, 7}, {1, 1}, {3, 3}, {3, 3}, {1, 1}});
  check({3, 5, 5, 5, {6, 21}, {9, 11}, {2, 1}, {4, 2}, {4, 13}, {1, 2}});
  check({2, 6, 12, 6, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
  check({1, 48, 32, 2, {4, 4}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}});
}

TEST(Convolution, LinesAndVolumes) {
  check({2, 4, 6, 1, {20}, {3}, {1}, {1}, {1}, {1}});
  check({2, 16, 16, 1, {33}, {5}, {2}, {0}, {3}, {1}});
  check({2, 5, 5, 5, {20}, {3}, {1}, {2}, {0}, {2}});
  check({2, 2, 16, 1, {5, 6, 7}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 0, 1}, {1, 1, 1}});
  check({1, 16, 3, 1, {4, 4, 4}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}});
}

TEST(Convolution, UnusualPadding) {
  check({2, 2, 3, 1, {4, 4}, {2, 2}, {1, 1}, {3, 2}, {0, 4}, {1, 1}});
  check({1, 2, 2, 1, {1, 1}, {2, 3}, {2, 2}, {5, 6}, {4, 3}, {2, 1}});
  check({2, 3, 4, 1, {7}, {3}, {4}, {0}, {0}, {1}}); // the last elements are read by no window
}

TEST(Convolution, ManyBlocks) {
  check({50, 16, 16, 1, {20, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  check({37, 1, 32, 1, {20, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
}

TEST(Convolution, OneDnnStaysWithinThePlannedWorkspace) {
  // Shapes at random; a kernel whose workspace is too small is refused.
  std::mt19937 random(1);
  auto upTo = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  for (int round = 0; round < 150; ++round) {
    size_t rank = static_cast<size_t>(upTo(3));
    int64_t groups = random() % 4 ? 1 : upTo(8), grain = random() % 2 ? 8 : 1;
    Conv conv{upTo(5), groups * grain * upTo(5), groups * grain * upTo(5), groups, {}, {}, {}, {}, {}, {}};
    int64_t window = upTo(7), stride = random() % 3 ? 1 : upTo(3), dilation = random() % 4 ? 1 : upTo(3);
    bool isEven = random() % 2;
    for (size_t i = 0; i < rank; ++i) {
      conv.window.push_back(isEven ? window : upTo(7));
      conv.strides.push_back(stride);
      conv.dilations.push_back(dilation);
      int64_t reach = dilation * (conv.window.back() - 1);
      conv.low.push_back(isEven ? reach / 2 : static_cast<int64_t>(random() % (reach + 2)));
      conv.high.push_back(random() % 4 ? conv.low.back() : reach / 2);
      conv.spatial.push_back(std::max<int64_t>(reach + 1 - conv.low.back() - conv.high.back(), 0) + upTo(rank == 1 ? 500 : rank == 2 ? 40 : 12));
    }
    for (const char *kernel : {"conv", "conv_transpose", "conv_weight_grad"})
      EXPECT_EQ(messageOf(prepareKernel(kernel, conv.integers(), {}, testOptions()).status()), "") << kernel << " " << testing::PrintToString(conv.integers());
  }
}

TEST(Convolution, WindowsThatNoInstructionSetUnfoldsTakeLittle) {
  auto scratch = [](const Conv &conv, ConvolutionResult result) { return convolutionScratchBytes(conv.shape(), result); };
  using enum ConvolutionResult;
  const int64_t kMost = 10 << 10;
  for (ConvolutionResult result : {Out, Data, Kernel}) {
    EXPECT_LT(scratch({32, 64, 128, 1, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, result), kMost);
    EXPECT_LT(scratch({32, 64, 128, 1, {3000}, {3}, {1}, {1}, {1}, {1}}, result), kMost);
    EXPECT_GT(scratch({32, 64, 128, 32, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, result), 4 * 2 * 9 * 56 * 56);
  }
  EXPECT_LT(scratch({32, 3, 64, 1, {224, 224}, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}}, Kernel), kMost);
  // AVX2 unfolds the gradient of data for some strides.
  EXPECT_GT(scratch({32, 64, 128, 1, {56, 56}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}, Data), 4 * 64 * 9 * 28 * 28);
  // Volumes are unfolded plane by plane.
  EXPECT_LT(scratch({1, 64, 64, 1, {64, 64, 64}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, Data), int64_t{4} * 64 * 27 * 64 * 64 + kMost);
}

TEST(Convolution, NoElements) {
  check({0, 2, 3, 1, {4}, {2}, {1}, {0}, {0}, {1}});
  check({2, 0, 3, 1, {4}, {2}, {1}, {0}, {0}, {1}});
  check({2, 2, 0, 1, {4}, {2}, {1}, {0}, {0}, {1}});
  check({2, 2, 3, 1, {1}, {2}, {1}, {0}, {0}, {1}});
  check({2, 2, 3, 1, {0}, {2}, {1}, {1}, {1}, {1}});
}

/// Small whole numbers, whose products and sums 16 bits hold exactly.
template <typename T> std::vector<T> halves(int64_t count, T (*convert)(int)) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(convert(static_cast<int>(i * i % 5) - 2));
  return values;
}

TEST(Convolution, SixteenBits) {
  Conv conv{2, 2, 3, 1, {5, 4}, {2, 2}, {1, 2}, {1, 0}, {0, 1}, {1, 1}};
  ConvolutionShape n = conv.shape();
  auto bf16 = [](int value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(float(value)) >> 16); };
  auto f16 = [](int value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); };
  for (auto [element, convert] : {std::pair<int64_t, uint16_t (*)(int)>{3, bf16}, {2, f16}}) {
    std::vector<uint16_t> data = halves<uint16_t>(n.dataElements(), convert),
                          kernel = halves<uint16_t>(n.kernelElements(), convert);
    std::vector<int> sums(n.outElements());
    forEachProduct(n, [&](int64_t x, int64_t w, int64_t y) {
      sums[y] += (static_cast<int>(x * x % 5) - 2) * (static_cast<int>(w * w % 5) - 2);
    });
    std::vector<uint16_t> out = run("conv", conv.integers(element), data, kernel, sums.size());
    for (size_t i = 0; i < sums.size(); ++i)
      EXPECT_EQ(out[i], convert(sums[i])) << i;
  }
}

TEST(Convolution, Refuses) {
  auto message = [](const char *kernel, std::vector<int64_t> integers) {
    return runKernel(kernel, integers, {}, {}).message();
  };
  EXPECT_EQ(message("conv", {5, 1, 2, 3, 1, 1, 4, 2, 1, 0, 0, 1}),
            "kernel 'conv': element type i32 is not supported, must be a float");
  EXPECT_EQ(message("conv", {0, 1, 2, 3, 0, 1, 4, 2, 1, 0, 0, 1}),
            "kernel 'conv': groups is 0, must be at least 1");
  EXPECT_EQ(message("conv_transpose", {0, 1, 2, 3, 1, 4, 4, 2, 1, 0, 0, 1}),
            "kernel 'conv_transpose': rank is 4, outside [1, 3]");
  EXPECT_EQ(message("conv_weight_grad", {0, 1, 2, 3, 1, 1, 4, 2, 0, 0, 0, 1}),
            "kernel 'conv_weight_grad': stride is 0, must be at least 1");
  EXPECT_EQ(message("conv", {0, 1, 2, 3, 1, 1, 4, 2, 1, -1, 0, 1}),
            "kernel 'conv': low is -1, must not be negative");
  EXPECT_EQ(message("conv", {0, 1, 3, 4, 2, 1, 4, 2, 1, 0, 0, 1}),
            "kernel 'conv': 3 channels and 4 filters do not divide into 2 groups");
  EXPECT_EQ(message("conv", {0, 1, 2, 3, 1, 1, 4, 2, 1, 0, 0, 1, 1}),
            "kernel 'conv': takes 12 integers, got 13");
}

} // namespace

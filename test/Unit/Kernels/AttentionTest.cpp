//===- AttentionTest.cpp - attention, attention_grad ----------------------===//
#include "KernelHarness.h"
#include "lib/Runtime/Kernels/Narrow.h"
#include <array>
#include <cmath>
#include <limits>

using namespace zero;
using namespace zero::test;
using kernels::BFloat16;
using kernels::Float16;

namespace {

struct Case {
  int64_t B, T, S, H, G, D;
  bool causal = false;
  int64_t maskB = 0, maskH = 0; // 0: no mask
  bool hidesRows = false;
  bool fused = false; // query, key and value are views of one tensor, heads lie before positions in out
  double scale() const { return 1 / std::sqrt(double(D)); }
  bool mask() const { return maskB > 0; }
};

struct View {
  size_t offset;
  int64_t batch, position, head;
  size_t at(int64_t b, int64_t p, int64_t h) const { return offset + b * batch + p * position + h * head; }
};

/// Where the tensors of a case lie.
struct Layout {
  View query, key, value, out;
  size_t inputSize, outSize;

  explicit Layout(const Case &c) {
    int64_t row = (c.H + 2 * c.G) * c.D;
    if (c.fused) {
      query = {0, c.T * row, row, c.D};
      key = {size_t(c.H * c.D), c.T * row, row, c.D};
      value = {size_t((c.H + c.G) * c.D), c.T * row, row, c.D};
      out = {0, c.H * c.T * c.D, c.D, c.T * c.D};
      inputSize = c.B * c.T * row;
    } else {
      size_t q = c.B * c.T * c.H * c.D, k = c.B * c.S * c.G * c.D;
      query = {0, c.T * c.H * c.D, c.H * c.D, c.D};
      key = {q, c.S * c.G * c.D, c.G * c.D, c.D};
      value = {q + k, c.S * c.G * c.D, c.G * c.D, c.D};
      out = query;
      inputSize = q + 2 * k;
    }
    outSize = c.B * c.T * c.H * c.D;
  }
};

void append(std::vector<int64_t> &integers, const View &v) {
  integers.insert(integers.end(), {v.batch, v.position, v.head});
}

template <typename T> constexpr int64_t kElement = 0;
template <> constexpr int64_t kElement<Float16> = 2;
template <> constexpr int64_t kElement<BFloat16> = 3;

/// What rounding to a type may change, relative.
template <typename T> constexpr double kLastBit = 0;
template <> constexpr double kLastBit<Float16> = 0x1p-11;
template <> constexpr double kLastBit<BFloat16> = 0x1p-8;

/// The lowest finite number, or near it.
template <typename T> constexpr float kLowest = std::numeric_limits<float>::lowest();
template <> constexpr float kLowest<Float16> = -65504;
template <> constexpr float kLowest<BFloat16> = -3.3e38f;

std::vector<int64_t> integersOf(const Case &c, bool gradient, int64_t element = 0) {
  Layout l(c);
  std::vector<int64_t> integers{element, c.B, c.T, c.S, c.H, c.G, c.D, c.causal, c.mask(), c.maskB, c.maskH};
  for (const View &view : {l.query, l.key, l.value, l.out})
    append(integers, view);
  if (gradient)
    for (const View &view : {l.out, l.query, l.key, l.value})
      append(integers, view);
  return integers;
}

struct Tensors {
  std::vector<float> inputs, mask, out, logSumExp, outGradient, gradients;
};

/// By the definition, in float64; the gradient reads the result as a T.
template <typename T> Tensors reference(const Case &c, const Tensors &t) {
  Layout l(c);
  Tensors r = t;
  std::vector<double> gradients(l.inputSize, 0.0);
  for (int64_t b = 0; b < c.B; ++b)
    for (int64_t h = 0; h < c.H; ++h)
      for (int64_t i = 0; i < c.T; ++i) {
        int64_t g = h / (c.H / c.G);
        std::vector<double> p(c.S);
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        double largestMask = c.mask() ? most : 0;
        for (int64_t j = 0; j < c.S; ++j) {
          double score = 0;
          for (int64_t d = 0; d < c.D; ++d)
            score += double(t.inputs[l.query.at(b, i, h) + d]) * t.inputs[l.key.at(b, j, g) + d];
          p[j] = score * c.scale();
          if (c.mask()) {
            double mask = t.mask[(((c.maskB > 1 ? b : 0) * c.maskH + (c.maskH > 1 ? h : 0)) * c.T + i) * c.S + j];
            p[j] += mask;
            if (!c.causal || j <= i + c.S - c.T)
              largestMask = std::max(largestMask, mask);
          }
          if (c.causal && j > i + c.S - c.T)
            p[j] = -std::numeric_limits<double>::infinity();
          most = std::max(most, p[j]);
        }
        for (double &x : p)
          sum += x = std::exp(x - most);
        r.logSumExp[(b * c.H + h) * c.T + i] = (most - largestMask) + std::log(sum);
        std::vector<double> out(c.D, 0.0);
        double delta = 0;
        for (int64_t d = 0; d < c.D; ++d) {
          for (int64_t j = 0; j < c.S; ++j)
            out[d] += p[j] / sum * t.inputs[l.value.at(b, j, g) + d];
          r.out[l.out.at(b, i, h) + d] = out[d];
          delta += double(T(float(out[d]))) * t.outGradient[l.out.at(b, i, h) + d];
        }
        for (int64_t j = 0; j < c.S; ++j) {
          double dp = 0;
          for (int64_t d = 0; d < c.D; ++d)
            dp += double(t.outGradient[l.out.at(b, i, h) + d]) * t.inputs[l.value.at(b, j, g) + d];
          double ds = p[j] / sum * (dp - delta) * c.scale();
          for (int64_t d = 0; d < c.D; ++d) {
            gradients[l.query.at(b, i, h) + d] += ds * t.inputs[l.key.at(b, j, g) + d];
            gradients[l.key.at(b, j, g) + d] += ds * t.inputs[l.query.at(b, i, h) + d];
            gradients[l.value.at(b, j, g) + d] += p[j] / sum * t.outGradient[l.out.at(b, i, h) + d];
          }
        }
      }
  r.gradients.assign(gradients.begin(), gradients.end());
  return r;
}

/// Runs both kernels; every buffer starts `offset` bytes after a page, floats at their alignment.
template <typename T, typename Parallel>
Tensors run(const Case &c, const Tensors &t, Parallel parallel, size_t offset = 0) {
  Layout l(c);
  auto narrow = [](const std::vector<float> &values) { return std::vector<T>(values.begin(), values.end()); };
  auto wide = [](const Aligned<T> &values) { return std::vector<float>(values.data(), values.data() + values.size()); };
  Aligned<T> inputs(narrow(t.inputs), offset), mask(narrow(t.mask), offset), outGradient(narrow(t.outGradient), offset);
  Aligned<T> out(l.outSize, offset, T(7.0f)), gradients(l.inputSize, offset, T(7.0f));
  Aligned<float> logSumExp(c.B * c.H * c.T, (offset + 3) / 4 * 4, 7);
  std::vector<int64_t> integers = integersOf(c, false, kElement<T>), gradIntegers = integersOf(c, true, kElement<T>);
  T *x = inputs.data();
  std::vector<const void *> pointers{x + l.query.offset, x + l.key.offset, x + l.value.offset};
  if (c.mask())
    pointers.push_back(mask.data());
  pointers.insert(pointers.end(), {out.data(), logSumExp.data()});
  EXPECT_OK(runKernel("attention", integers, {c.scale()}, pointers, Parallel(parallel)));
  T *g = gradients.data();
  pointers.insert(pointers.end(), {outGradient.data(), g + l.query.offset, g + l.key.offset, g + l.value.offset});
  EXPECT_OK(runKernel("attention_grad", gradIntegers, {c.scale()}, pointers, Parallel(parallel)));
  return {{}, {}, wide(out), logSumExp.values(), {}, wide(gradients)};
}

/// Beyond `relative` of the expected number.
double distance(const std::vector<float> &a, const std::vector<float> &expected, double relative = 0) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    worst = std::isfinite(a[i]) ? std::max(worst, std::fabs(a[i] - expected[i]) - relative * std::fabs(expected[i])) : 1e30;
  return worst;
}

void expectSameBits(const Tensors &a, const Tensors &b) {
  EXPECT_TRUE(sameBits(a.out, b.out));
  EXPECT_TRUE(sameBits(a.logSumExp, b.logSumExp));
  EXPECT_TRUE(sameBits(a.gradients, b.gradients));
}

template <typename T> void checkType(const Case &c) {
  SCOPED_TRACE(testing::PrintToString(integersOf(c, false)));
  Layout l(c);
  Tensors t;
  t.inputs = randomFloats(l.inputSize, 1);
  t.outGradient = randomFloats(l.outSize, 2);
  t.out.resize(l.outSize);
  t.logSumExp.resize(c.B * c.H * c.T);
  if (c.mask()) {
    t.mask = randomFloats(c.maskB * c.maskH * c.T * c.S, 3);
    for (size_t i = 0; i < t.mask.size(); i += 3) // hidden, but for the first key
      if (i % c.S)
        t.mask[i] = -std::numeric_limits<float>::infinity();
    for (int64_t row = 0; c.hidesRows && row < c.maskB * c.maskH * c.T; row += 5) // whole, by numbers
      std::fill_n(t.mask.begin() + row * c.S, c.S, std::numeric_limits<float>::lowest());
  }
  for (std::vector<float> *values : {&t.inputs, &t.outGradient, &t.mask})
    for (float &value : *values)
      value = T(std::isfinite(value) ? std::max(value, kLowest<T>) : value);
  // Half's largest number leaves scores beside it few digits.
  double hidden = c.hidesRows && kElement<T> == 2 ? 5e-3 : 0;
  Tensors expected = reference<T>(c, t), got = run<T>(c, t, Serial());
  // Where the CPU multiplies bf16, probabilities and what goes back through them are rounded for their products.
  bool rounds = kElement<T> == 3 && testOptions().bf16Products;
  EXPECT_LE(distance(got.out, expected.out, kLastBit<T>), (rounds ? 0.01 : 5e-6) + hidden);
  EXPECT_LE(distance(got.logSumExp, expected.logSumExp), 5e-6 + hidden);
  // Where the result was just between two numbers, gradients feel its last bit.
  EXPECT_LE(distance(got.gradients, expected.gradients, kLastBit<T>), (rounds ? 0.03 : 5e-5 + 0.01 * kLastBit<T>) + hidden);
  expectSameBits(got, run<T>(c, t, Backwards()));
  expectSameBits(got, run<T>(c, t, Threads(3)));
  expectSameBits(got, run<T>(c, t, Serial(), 64));
  expectSameBits(got, run<T>(c, t, Serial(), sizeof(T))); // no alignment beyond elements is needed
}

void check(const Case &c) {
  checkType<float>(c);
  checkType<Float16>(c);
  checkType<BFloat16>(c);
}

TEST(Attention, Shapes) {
  check({2, 64, 64, 2, 2, 64});
  check({1, 1, 1, 1, 1, 1});
  check({2, 5, 7, 3, 3, 3});
  check({1, 70, 130, 2, 2, 16});
  check({1, 300, 65, 1, 1, 20});
  check({3, 17, 33, 4, 4, 80});
}

TEST(Attention, Causal) {
  check({2, 64, 64, 2, 2, 16, true});
  check({1, 300, 300, 2, 2, 24, true});
  check({2, 37, 37, 4, 4, 8, true});
  check({1, 20, 150, 2, 2, 32, true}); // keys before the first query
  check({1, 1, 90, 2, 2, 32, true});
}

TEST(Attention, GroupedQueries) {
  check({2, 33, 33, 6, 2, 16, true});
  check({1, 65, 65, 8, 1, 12});
}

TEST(Attention, Mask) {
  check({2, 33, 70, 3, 3, 16, false, 1, 1});
  check({2, 33, 70, 3, 3, 16, false, 2, 1});
  check({2, 70, 70, 4, 2, 16, true, 1, 4});
  check({2, 20, 20, 4, 2, 16, true, 2, 4});
  check({2, 33, 70, 3, 3, 16, false, 2, 1, true}); // such rows keep the digits of their sums
  check({1, 70, 70, 4, 2, 16, true, 1, 1, true});
}

TEST(Attention, ViewsOfOneTensor) {
  check({2, 66, 66, 3, 3, 32, true, 0, 0, false, true});
  check({2, 66, 66, 4, 2, 10, true, 0, 0, false, true});
}

TEST(Attention, LargeScores) { // softmax against the running maximum neither overflows nor loses the row
  Case c{1, 130, 130, 1, 1, 16, true};
  Layout l(c);
  Tensors t;
  t.inputs = randomFloats(l.inputSize, 1);
  for (size_t i = 0; i < l.value.offset; ++i)
    t.inputs[i] *= 40;
  t.outGradient = randomFloats(l.outSize, 2);
  t.out.resize(l.outSize);
  t.logSumExp.resize(130);
  Tensors expected = reference<float>(c, t), got = run<float>(c, t, Serial());
  EXPECT_LE(distance(got.out, expected.out), 5e-3); // scores near 10^4 carry errors near 10^-3
  EXPECT_LE(distance(got.logSumExp, expected.logSumExp), 5e-3);
}

TEST(Attention, NoElements) {
  for (Case c : {Case{0, 4, 4, 2, 2, 8}, Case{2, 0, 4, 2, 2, 8}, Case{2, 4, 4, 0, 0, 8}})
    run<float>(c, {std::vector<float>(Layout(c).inputSize), {}, {}, {}, std::vector<float>(Layout(c).outSize), {}},
               Serial());
}

TEST(Attention, Refuses) {
  auto message = [](Case c, std::vector<double> reals = {1}, int64_t element = 0) {
    std::vector<int64_t> integers = integersOf(c, false);
    integers[0] = element;
    return runKernel("attention", integers, reals, {}).message();
  };
  EXPECT_EQ(message({1, 4, 4, 3, 2, 8}), "kernel 'attention': H = 3 is not a multiple of G = 2");
  EXPECT_EQ(message({4, 4, 4, 2, 2, 8, false, 2, 1}),
            "kernel 'attention': mask of 2 x 1 matrices does not fit 4 x 2");
  EXPECT_EQ(message({4, 4, 4, 2, 2, 8}, {}), "kernel 'attention': takes 1 real, got 0");
  EXPECT_EQ(message({4, 4, 4, 2, 2, 8}, {1}, 1),
            "kernel 'attention': element type f64 is not supported, must be f32, f16 or bf16");
  EXPECT_EQ(runKernel("attention_grad", integersOf({1, 4, 4, 2, 2, 8}, false), {1}, {}).message(),
            "kernel 'attention_grad': takes 35 integers, got 23");
}

} // namespace

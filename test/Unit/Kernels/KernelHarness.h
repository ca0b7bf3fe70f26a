//===- KernelHarness.h - Runs kernels of the library in tests -------------===//
#ifndef ZERO_TEST_UNIT_KERNELS_KERNELHARNESS_H
#define ZERO_TEST_UNIT_KERNELS_KERNELHARNESS_H

#include "zero/Runtime/Kernels/Kernel.h"
#include "zero/Runtime/Kernels/Workspace.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace zero::test {

/// The variant that ctest asked for; x86-64-v3 without a word.
inline CpuVariant testVariant() {
  const char *name = std::getenv("ZERO_TEST_VARIANT");
  return name && std::string_view(name).starts_with("x86-64-v4") ? CpuVariant::X86_64_V4 : CpuVariant::X86_64_V3;
}

/// Also whether it multiplies bf16: x86-64-v4-bf16.
inline KernelOptions testOptions() {
  const char *name = std::getenv("ZERO_TEST_VARIANT");
  return {testVariant(), name && std::string_view(name) == "x86-64-v4-bf16"};
}

/// One thread, the whole range at once.
class Serial : public ParallelFor {
public:
  void run(int64_t items, void (*body)(void *, int64_t, int64_t), void *context) override {
    body(context, 0, items);
  }
};

/// Items one by one, from the last to the first: every range ends where another began.
class Backwards : public ParallelFor {
public:
  void run(int64_t items, void (*body)(void *, int64_t, int64_t), void *context) override {
    while (items-- > 0)
      body(context, items, items + 1);
  }
};

/// Real threads over contiguous ranges.
class Threads : public ParallelFor {
public:
  explicit Threads(int64_t count) : count(count) {}
  void run(int64_t items, void (*body)(void *, int64_t, int64_t), void *context) override {
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < count; ++i)
      if (int64_t begin = items * i / count, end = items * (i + 1) / count; begin < end)
        threads.emplace_back([=] { body(context, begin, end); });
    for (std::thread &thread : threads)
      thread.join();
  }

private:
  int64_t count;
};

/// A buffer at a multiple of 4096 bytes plus `offset` bytes, filled with `value`.
template <typename T> class Aligned {
public:
  explicit Aligned(size_t size, size_t offset = 0, T value = T())
      : base(static_cast<char *>(operator new(size * sizeof(T) + offset + 4096, std::align_val_t(4096)))),
        start(reinterpret_cast<T *>(base + offset)), count(size) {
    std::fill(start, start + size, value);
  }
  Aligned(const std::vector<T> &values, size_t offset = 0) : Aligned(values.size(), offset) {
    std::copy(values.begin(), values.end(), start);
  }
  Aligned(Aligned &&other) noexcept
      : base(std::exchange(other.base, nullptr)), start(other.start), count(other.count) {}
  ~Aligned() { operator delete(base, std::align_val_t(4096)); }
  T *data() const { return start; }
  size_t size() const { return count; }
  T &operator[](size_t i) const { return start[i]; }
  std::vector<T> values() const { return {start, start + count}; }

private:
  char *base;
  T *start;
  size_t count;
};

inline std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

/// Prepares and runs a kernel; the Status of whatever failed. It gets its workspace, which holds NaN before, behind `pointers`.
inline Status runKernel(const char *name, const std::vector<int64_t> &integers,
                        const std::vector<double> &reals, std::vector<const void *> pointers,
                        ParallelFor &&parallel = Serial()) {
  auto kernel = prepareKernel(name, integers, reals, testOptions());
  if (!kernel.ok())
    return kernel.status();
  constexpr size_t kGuard = 64;
  size_t bytes = static_cast<size_t>(kernelWorkspaceBytes(name, integers));
  Aligned<char> workspace(bytes + kGuard, 64, 0x7f);
  std::fill_n(workspace.data() + bytes, kGuard, char(3));
  if (bytes)
    pointers.push_back(workspace.data());
  Status status = (*kernel)->run(const_cast<void *const *>(reinterpret_cast<const void *const *>(pointers.data())), parallel);
  for (size_t i = bytes; i < workspace.size(); ++i)
    EXPECT_EQ(workspace[i], char(3)) << "wrote past the workspace";
  return status;
}

inline std::string messageOf(const Status &status) { return status.ok() ? "" : status.message(); }

#define EXPECT_OK(expression) EXPECT_EQ(::zero::test::messageOf(expression), "")

template <typename T> bool sameBits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

} // namespace zero::test

#endif

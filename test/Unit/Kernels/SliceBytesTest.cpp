//===- SliceBytesTest.cpp - Kernels reach as far as is said, no further ---===//
//
// Each slice has exactly the bytes of kernelSliceBytes and ends where memory does: a kernel that goes further does not return.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Kernels/KernelHarness.h"
#include "zero/Runtime/Kernels/SliceBytes.h"
#include <sys/mman.h>

namespace zero::test {
namespace {

/// Bytes that end at a page nobody may touch.
class Guarded {
public:
  Guarded(uint64_t bytes, unsigned char fill) : bytes(bytes) {
    constexpr uint64_t kPage = 4096;
    mapped = (bytes + kPage - 1) / kPage * kPage + kPage;
    base = static_cast<char *>(::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base + mapped - kPage, kPage, PROT_NONE);
    start = base + mapped - kPage - bytes;
    std::memset(start, fill, bytes);
  }
  Guarded(Guarded &&other) noexcept
      : base(std::exchange(other.base, nullptr)), start(other.start), bytes(other.bytes), mapped(other.mapped) {}
  ~Guarded() {
    if (base)
      ::munmap(base, mapped);
  }
  char *base, *start;
  uint64_t bytes, mapped;
};

struct Case {
  const char *name;
  std::vector<int64_t> integers;
  std::vector<double> reals = {};
};

const Case cases[] = {
    {"matmul", {0, 1, 5, 7, 3, 0, 0, 0, 3, 0, 7, 0, 7}},
    {"matmul", {0, 3, 4, 6, 5, 1, 1, 24, 4, 31, 5, 24, 6}},
    {"matmul", {0, 2, 1, 33, 17, 0, 1, 40, 19, 700, 21, 33, 33}},
    {"matmul", {1, 2, 3, 5, 4, 0, 0, 12, 4, 20, 5, 15, 5}},
    {"matmul", {0, 1, 4, 3, 0, 0, 0, 0, 0, 0, 3, 0, 3}},
    {"matmul", {2, 3, 4, 6, 5, 1, 1, 24, 4, 31, 5, 24, 6}},
    {"matmul", {3, 2, 1, 33, 17, 0, 1, 40, 19, 700, 21, 33, 33}},
    {"matmul", {3, 1, 5, 7, 3, 1, 0, 0, 6, 0, 7, 0, 9}},
    {"strided_copy", {4, 2, 3, 5, 2, 7, 1, 4, 5, 1}},
    {"strided_copy", {2, 2, 3, 5, 14, -5, -1, 0, 1, 3}},
    {"strided_copy", {8, 3, 2, 3, 4, 0, 0, 1, 0, 0, 12, 4, 1}},
    {"strided_copy", {4, 0, 3, 1}},
    {"fill", {8, 9, 1}},
    {"gather", {4, 4, 2, 5, 3, 6}},
    {"gather", {2, 7, 1, 1, 7, 11}},
    {"scatter_add", {0, 4, 2, 5, 3, 6}},
    {"scatter_add", {3, 4, 2, 5, 3, 6}},
    {"scatter", {1, 0, 5, 2, 4, 3, 5}},
    {"top_k", {0, 2, 9, 3, 4, 0}},
    {"cumsum", {0, 2, 9, 3, 0, 1}},
    {"max_pool", {0, 3, 2, 5, 7, 2, 3, 2, 2, 0, 1, 1, 0, 1, 1}},
    {"sum_pool", {0, 3, 1, 9, 3, 2, 0, 1, 1}},
    {"conv", {0, 2, 6, 4, 2, 2, 5, 7, 3, 2, 1, 2, 1, 0, 0, 1, 1, 1}},
    {"conv_transpose", {0, 2, 6, 4, 2, 2, 5, 7, 3, 2, 1, 2, 1, 0, 0, 1, 1, 1}},
    {"conv_weight_grad", {0, 2, 6, 4, 2, 2, 5, 7, 3, 2, 1, 2, 1, 0, 0, 1, 1, 1}},
    {"conv", {0, 1, 3, 3, 3, 1, 20, 3, 1, 1, 1, 1}},
    {"sum_squares", {0, 64, 7, 200}},
    {"sum_squares", {3, 64, 7, 200}},
    {"norm", {}},
};

void check(const Case &one) {
  SCOPED_TRACE(std::string(one.name) + " " + testing::PrintToString(one.integers));
  auto bytes = kernelSliceBytes(one.name, one.integers);
  ASSERT_TRUE(bytes.has_value());
  std::vector<std::vector<char>> results;
  // What is there before changes nothing but what is not written.
  for (unsigned char fill : {0x00, 0x7f}) {
    std::vector<Guarded> slices;
    std::vector<const void *> pointers;
    // Reads are zeros: numbers, and indices that lie inside.
    auto kernel = prepareKernel(one.name, one.integers, one.reals, testOptions());
    ASSERT_EQ(messageOf(kernel.status()), "");
    static constexpr struct {
      std::string_view name;
      int reads, writes;
    } kTable[] = {
#define ZERO_KERNEL(name, factory, reads, writes) {#name, reads, writes},
#include "zero/Runtime/Kernels/KernelTable.inc"
    };
    size_t writes = 0, scratch = 0;
    for (const auto &entry : kTable)
      if (entry.name == one.name) {
        writes = static_cast<size_t>(entry.writes);
        scratch = kernelWorkspaceBytes(one.name, one.integers) != 0;
        writes += scratch;
        if (entry.reads >= 0) {
          ASSERT_EQ(bytes->size(), static_cast<size_t>(entry.reads) + writes);
        }
      }
    for (size_t i = 0; i < bytes->size(); ++i)
      slices.emplace_back((*bytes)[i], i + writes < bytes->size() ? 0 : fill);
    for (const Guarded &slice : slices)
      pointers.push_back(slice.start);
    Serial serial;
    EXPECT_OK((*kernel)->run(const_cast<void *const *>(reinterpret_cast<const void *const *>(pointers.data())), serial));
    std::vector<char> ends; // the last byte of each result (not of the workspace) was written: the number is the least
    for (size_t i = bytes->size() - writes; i + scratch < bytes->size(); ++i)
      if (slices[i].bytes)
        ends.push_back(slices[i].start[slices[i].bytes - 1]);
    results.push_back(ends);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(SliceBytes, KernelsStayInside) {
  for (const Case &one : cases)
    check(one);
}

TEST(SliceBytes, AttentionStaysInside) {
  // B T S H G D causal mask mask_B mask_H; heads side by side in a position, with a gap between positions.
  for (auto [element, mask] : {std::pair<int64_t, int64_t>{0, 0}, {0, 1}, {2, 1}, {3, 0}, {3, 1}}) {
    int64_t B = 2, T = 5, S = 7, H = 4, G = 2, D = element == 3 ? 7 : 6;
    std::vector<int64_t> integers{element, B, T, S, H, G, D, 0, mask, 1, H};
    auto view = [&](int64_t positions, int64_t heads) {
      int64_t position = heads * D + 3;
      integers.insert(integers.end(), {positions * position, position, D});
    };
    for (int64_t heads : {H, G, G, H})
      view(heads == H ? T : S, heads);
    check({"attention", integers, {0.5}});
    for (int64_t heads : {H, H, G, G})
      view(heads == H ? T : S, heads);
    check({"attention_grad", integers, {0.5}});
  }
}

/// There is no such kernel on CPUs: reads lhs, rhs, addend, bias, before, then writes.
TEST(SliceBytes, FusedProducts) {
  using Bytes = std::vector<uint64_t>;
  auto bytes = [](std::vector<int64_t> epilogue) {
    std::vector<int64_t> integers = {3, 1, 5, 8, 3, 0, 0, 0, 3, 0, 8, 0, 9};
    integers.insert(integers.end(), epilogue.begin(), epilogue.end());
    return kernelSliceBytes("fused_matmul", integers);
  };
  const uint64_t lhs = 30, rhs = 48, out = 2 * (4 * 9 + 8), dense = 80, row = 16;
  EXPECT_EQ(*bytes({10, 1, 0, 0, 0}), (Bytes{lhs, rhs, 2 * (4 * 10 + 8), row, out}));
  EXPECT_EQ(*bytes({0, 1, 1, 16, 0}), (Bytes{lhs, rhs, row, out, 2 * (4 * 16 + 8)}));
  EXPECT_EQ(*bytes({0, 0, 1, 0, 0}), (Bytes{lhs, rhs, out}));
  EXPECT_EQ(*bytes({0, 0, 2, 8, 3}), (Bytes{lhs, rhs, dense, out, row}));
  EXPECT_EQ(*bytes({0, 0, 0, 0, 1}), (Bytes{lhs, rhs, out, row}));
  EXPECT_EQ(*bytes({0, 0, 0, 0, 2}), (Bytes{lhs, rhs, out, 10}));
  EXPECT_FALSE(bytes({0, 0, 0, 0}).has_value());
}

TEST(SliceBytes, NumbersThatFitNowhereAreTooMany) {
  constexpr int64_t kHuge = int64_t(1) << 62;
  constexpr uint64_t kTooMany = UINT64_MAX;
  EXPECT_EQ(kernelSliceBytes("fill", std::vector<int64_t>{8, kHuge, 0})->at(0), kTooMany);
  EXPECT_EQ(kernelSliceBytes("fill", std::vector<int64_t>{8, -1, 0})->at(0), kTooMany);
  EXPECT_EQ(kernelSliceBytes("matmul", std::vector<int64_t>{0, 1, 5, 7, 3, 0, 0, 0, kHuge, 0, 7, 0, 7})->at(0), kTooMany);
  EXPECT_EQ(kernelSliceBytes("strided_copy", std::vector<int64_t>{4, 1, 3, 1, -1, 0, 1})->at(0), kTooMany); // before the pointer
  EXPECT_EQ(kernelSliceBytes("top_k", std::vector<int64_t>{99, 2, 9, 3, 4, 0})->at(0), kTooMany);           // no such element
  EXPECT_EQ(kernelSliceBytes("conv", std::vector<int64_t>{0, kHuge, 3, 3, 3, 1, 20, 3, 1, 1, 1, 1})->at(3), kTooMany);
  EXPECT_EQ(kernelSliceBytes("max_pool", std::vector<int64_t>{0, kHuge, 1, kHuge, 1, 1, 0, 0, 1})->at(0), kTooMany);
  EXPECT_FALSE(kernelSliceBytes("matmul", std::vector<int64_t>{0, 1, 5}).has_value());
  EXPECT_FALSE(kernelSliceBytes("strided_copy", std::vector<int64_t>{4, 1000, 3}).has_value());
  EXPECT_FALSE(kernelSliceBytes("no_such_kernel", std::vector<int64_t>{}).has_value());
}

} // namespace
} // namespace zero::test

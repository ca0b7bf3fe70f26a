//===- KernelCases.cpp - Kernels of a CUDA device beside those of the CPU -===//
#include "test/CUDA/Kernels/KernelCases.h"
#include "test/CUDA/Support/CompileText.h"
#include "test/Unit/Kernels/KernelHarness.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include "zero/Runtime/Kernels/Workspace.h"
#include <cmath>
#include <set>

namespace zero::test {
namespace {

constexpr std::byte kUntouched{0xa7};
constexpr uint64_t kGap = 256; ///< between operands, and before the first

/// Operands of one case, one behind the other with gaps between.
struct Placed {
  std::vector<uint64_t> offsets;
  uint64_t size = kGap;

  void add(uint64_t bytes, uint64_t misaligned) {
    size = (size + kGap - 1) / kGap * kGap + misaligned;
    offsets.push_back(size);
    size += bytes + kGap;
  }
};

template <typename T> T valueAt(const Bytes &bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

double numberAt(int64_t element, const Bytes &bytes, size_t i) {
  switch (element) {
  case F32:
    return valueAt<float>(bytes, i);
  case F64:
    return valueAt<double>(bytes, i);
  case F16:
    return widenFloat16(valueAt<uint16_t>(bytes, i));
  case BF16:
    return widenBFloat16(valueAt<uint16_t>(bytes, i));
  case I64:
    return static_cast<double>(valueAt<int64_t>(bytes, i));
  case I32:
    return valueAt<int32_t>(bytes, i);
  case I16:
    return valueAt<int16_t>(bytes, i);
  case I8:
    return valueAt<int8_t>(bytes, i);
  case U16:
    return valueAt<uint16_t>(bytes, i);
  case U32:
    return valueAt<uint32_t>(bytes, i);
  case U64:
    return static_cast<double>(valueAt<uint64_t>(bytes, i));
  default:
    return valueAt<uint8_t>(bytes, i);
  }
}

void compare(const Write &write, const Bytes &got, const Bytes &expected) {
  if (write.tolerance == 0) {
    size_t differing = 0, first = 0;
    for (size_t i = got.size(); i-- > 0;)
      if (got[i] != expected[i])
        ++differing, first = i / bytesOf(write.element);
    EXPECT_EQ(differing, 0u) << "first at element " << first << ": " << (differing ? numberAt(write.element, got, first) : 0) << " and not "
                             << (differing ? numberAt(write.element, expected, first) : 0);
    return;
  }
  double largest = 0, worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < write.count; ++i)
    if (double number = numberAt(write.element, expected, i); std::isfinite(number))
      largest = std::max(largest, std::fabs(number));
  for (size_t i = 0; i < write.count; ++i) {
    double a = numberAt(write.element, got, i), b = numberAt(write.element, expected, i);
    bool areSame = a == b || (std::isnan(a) && std::isnan(b));
    double difference = areSame ? 0 : std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY;
    if (difference > worst)
      worst = difference, at = i;
  }
  EXPECT_LE(worst, write.tolerance * largest) << "at element " << at << ": " << numberAt(write.element, got, at) << " and not "
                                              << numberAt(write.element, expected, at);
}

} // namespace

uint64_t bytesOf(int64_t element) {
  constexpr uint64_t bytes[] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1, 2, 4, 8};
  return bytes[element];
}

Bytes Numbers::elements(int64_t element, uint64_t count) {
  Bytes bytes(count * bytesOf(element));
  for (uint64_t i = 0; i < count; ++i) {
    auto number = std::uniform_real_distribution<double>(-2, 2)(generator);
    std::byte *at = bytes.data() + i * bytesOf(element);
    auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    switch (element) {
    case F32:
      put(static_cast<float>(number));
      break;
    case F64:
      put(number);
      break;
    case F16:
      put(roundToFloat16(static_cast<float>(number)));
      break;
    case BF16:
      put(roundToBFloat16(static_cast<float>(number)));
      break;
    case I1:
      put(static_cast<uint8_t>(coin()));
      break;
    default:
      for (uint64_t byte = 0; byte < bytesOf(element); ++byte)
        at[byte] = static_cast<std::byte>(generator());
    }
  }
  return bytes;
}

Bytes Numbers::indices(int64_t element, uint64_t count, int64_t end) {
  Bytes bytes(count * bytesOf(element));
  for (uint64_t i = 0; i < count; ++i) {
    int64_t index = between(0, end - 1); // little-endian: the low bytes are the number
    std::memcpy(bytes.data() + i * bytesOf(element), &index, bytesOf(element));
  }
  return bytes;
}

std::vector<double> numbersOf(int64_t element, const Bytes &bytes) {
  std::vector<double> numbers;
  for (size_t i = 0; i < bytes.size() / bytesOf(element); ++i)
    numbers.push_back(numberAt(element, bytes, i));
  return numbers;
}

std::vector<Bytes> runOnHost(const Case &one) {
  std::vector<Bytes> writes;
  std::vector<void *> pointers;
  std::byte nothing; // a tensor of no elements has a place too, as in an arena
  for (const Bytes &read : one.reads)
    pointers.push_back(read.empty() ? &nothing : const_cast<std::byte *>(read.data()));
  for (const Write &write : one.writes)
    writes.emplace_back(bytesOf(write.element) * write.count, kUntouched);
  for (Bytes &write : writes)
    pointers.push_back(write.empty() ? &nothing : write.data());
  Aligned<char> workspace(static_cast<size_t>(kernelWorkspaceBytes(one.kernel, one.integers)));
  pointers.push_back(workspace.data());
  KernelOptions options;
  auto kernel = prepareKernel(one.kernel, one.integers, one.reals, options);
  EXPECT_EQ(messageOf(kernel.status()), "");
  Serial serial;
  if (kernel.ok())
    EXPECT_EQ(messageOf((*kernel)->run(pointers.data(), serial)), "");
  return writes;
}

StreamDevice *device() {
  static Expected<std::unique_ptr<StreamDevice>> made = createCudaDevice(0);
  if (!made.ok())
    return nullptr;
  EXPECT_EQ(messageOf((*made)->bindThread()), "");
  return made->get();
}

bool isSimulated() { return device() && device()->name() == "Zero shim"; }

std::vector<DeviceResult> runOnDevice(const std::vector<Case> &cases, const CudaOptions &options) {
  StreamDevice &gpu = *device();
  std::vector<DeviceResult> results;
  std::vector<std::string> texts, lines;
  std::set<std::string> known;
  for (const Case &one : cases) {
    auto launches = planCudaLaunches(one.kernel, one.integers, one.reals, options);
    EXPECT_EQ(messageOf(launches.status()), "") << one.kernel << " " << testing::PrintToString(one.integers);
    if (!launches.ok())
      return results;
    for (const CudaLaunch &launch : *launches) {
      for (std::string_view source : launch.sources)
        if (known.insert(std::string(source)).second)
          texts.push_back("lib/Runtime/Kernels/CUDA/" + std::string(source));
      if (known.insert(launch.symbol).second)
        lines.push_back(launch.instantiation);
    }
  }
  auto module = compileText(gpu, texts, lines);
  EXPECT_EQ(messageOf(module.status()), "");
  if (!module.ok())
    return results;
  Failure failure;
  std::unique_ptr<Queue> queue = gpu.createQueue({"compute", 64, true, 0}, failure);
  for (const Case &one : cases) {
    Placed placed;
    for (const Bytes &read : one.reads)
      placed.add(read.size(), one.misaligned);
    for (const Write &write : one.writes)
      placed.add(bytesOf(write.element) * write.count, one.misaligned);
    uint64_t workspace = cudaWorkspaceBytes(one.kernel, one.integers, options);
    if (workspace)
      placed.add(workspace, 0);
    placed.add(sizeof(CudaStatus), 0);
    auto arena = gpu.allocate("test", placed.size);
    EXPECT_EQ(messageOf(arena.status()), "");
    if (!arena.ok())
      return results;
    Bytes image(placed.size, kUntouched);
    std::vector<void *> pointers;
    for (uint64_t offset : placed.offsets)
      pointers.push_back((*arena)->data() + offset);
    for (size_t i = 0; i < one.reads.size(); ++i)
      std::copy(one.reads[i].begin(), one.reads[i].end(), image.begin() + static_cast<ptrdiff_t>(placed.offsets[i]));
    std::memcpy(image.data() + placed.offsets.back(), &one.raised, sizeof(CudaStatus));
    EXPECT_EQ(messageOf(gpu.upload((*arena)->data(), image.data(), image.size())), "");
    void *status = pointers.back();
    pointers.pop_back();
    auto kernel = prepareCudaKernel(one.kernel, one.integers, one.reals, pointers, options, {gpu, **module, status, 7});
    EXPECT_EQ(messageOf(kernel.status()), "") << one.kernel << " " << testing::PrintToString(one.integers);
    if (!kernel.ok())
      return results;
    EXPECT_EQ(messageOf((*kernel)->enqueue(queue->stream(), pointers.data())), "");
    EXPECT_TRUE(gpu.synchronize(queue->stream(), failure)) << one.kernel << " " << testing::PrintToString(one.integers);
    Bytes after(placed.size);
    EXPECT_EQ(messageOf(gpu.download(after.data(), (*arena)->data(), after.size())), "");
    DeviceResult result;
    result.algorithm = (*kernel)->algorithmText();
    // Everything but what it writes is as it was.
    Bytes expected = image;
    auto take = [&](size_t operand, uint64_t bytes) {
      auto at = static_cast<ptrdiff_t>(placed.offsets[operand]);
      std::copy_n(after.begin() + at, bytes, expected.begin() + at);
      return Bytes(after.begin() + at, after.begin() + at + static_cast<ptrdiff_t>(bytes));
    };
    for (size_t i = 0; i < one.writes.size(); ++i)
      result.writes.push_back(take(one.reads.size() + i, bytesOf(one.writes[i].element) * one.writes[i].count));
    if (workspace)
      take(one.reads.size() + one.writes.size(), workspace);
    CudaStatus words;
    Bytes statusBytes = take(placed.offsets.size() - 1, sizeof words);
    std::memcpy(&words, statusBytes.data(), sizeof words);
    result.status = toStatus(words);
    if (words.kernel) {
      EXPECT_EQ(words.command, one.raised.kernel ? one.raised.command : 7u);
    }
    EXPECT_TRUE(after == expected) << one.kernel << " wrote outside of its results " << testing::PrintToString(one.integers);
    results.push_back(std::move(result));
  }
  return results;
}

void expectSameOnDevice(const std::vector<Case> &cases, const CudaOptions &options) {
  if (!device())
    GTEST_SKIP() << "no CUDA device (ZERO_CUDA_LIBRARY_PATH names a simulated one)";
  std::vector<DeviceResult> results = runOnDevice(cases, options);
  ASSERT_EQ(results.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].kernel + " " + testing::PrintToString(cases[i].integers) + " misaligned by " + std::to_string(cases[i].misaligned));
    EXPECT_EQ(messageOf(results[i].status), "");
    std::vector<Bytes> expected = runOnHost(cases[i]);
    for (size_t j = 0; j < expected.size(); ++j)
      compare(cases[i].writes[j], results[i].writes[j], expected[j]);
  }
}

} // namespace zero::test

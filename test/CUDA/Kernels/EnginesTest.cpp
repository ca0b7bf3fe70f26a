//===- EnginesTest.cpp - What the real cuDNN says of our convolutions -----===//
//
// Its heuristics need no GPU where they are told the properties of one: graphs are taken or refused, and engines named with their notes and
// workspaces, as on the GPU itself. Run without ZERO_CUDA_LIBRARY_PATH, which names a simulated one. Skipped without the library, or with
// one before 9.8.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/CUDA/CudnnEngines.h"
#include "lib/Runtime/Kernels/CUDA/CudnnGraph.h"
#include "test/CUDA/Kernels/KernelCases.h"
#include <algorithm>

using namespace zero;
using namespace zero::kernels;
using namespace zero::test;

namespace {

using enum ConvolutionResult;
constexpr ConvolutionResult kResults[] = {Out, Data, Kernel};
constexpr uint64_t kWorkspaceBytes = uint64_t{32} << 20;

const CudnnTable *table() {
  static const CudnnTable *loaded = [] {
    Expected<const CudnnTable *> found = CudnnTable::get();
    return found.ok() && (*found)->GetVersion() >= 90800 ? *found : nullptr;
  }();
  return loaded;
}

/// A100, H100 and B200, in the words of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
struct Properties {
  const char *name;
  int version, processors, sharedBytes, cacheBytes;
};
constexpr Properties kDevices[] = {
    {"NVIDIA A100", 800, 108, 166912, 41943040}, {"NVIDIA H100", 900, 132, 232448, 52428800}, {"NVIDIA B200", 1000, 148, 232448, 132644864}};

std::vector<char> jsonOf(const Properties &device) {
  std::string text = std::string("{\"deviceName\":\"") + device.name + "\",\"deviceVer\":" + std::to_string(device.version) +
                     ",\"multiProcessorCount\":" + std::to_string(device.processors) + ",\"maxSharedMemoryPerBlockOptin\":" + std::to_string(device.sharedBytes) +
                     ",\"l2CacheSize\":" + std::to_string(device.cacheBytes) +
                     ",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"cudaDeviceId\":0,\"driverVer\":13000,\"regsPerBlock\":65536"
                     ",\"smClockRateKHz\":1800000,\"memClockRateKHz\":2600000,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152"
                     ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"pciDeviceId\":0,\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024"
                     ",\"maxThreadsPerSM\":2048,\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":80000000000}";
  return {text.begin(), text.end()};
}

class CudnnEngines : public ::testing::TestWithParam<Properties> {
protected:
  void SetUp() override {
    if (!table())
      GTEST_SKIP() << "no libcudnn.so.9 of 9.8 or later";
    properties.emplace(*table(), CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    properties->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, jsonOf(GetParam())).finalize();
    ASSERT_EQ(properties->status().ok() ? "" : properties->words(), "");
  }

  CudnnChoice choose(const std::vector<int64_t> &integers, ConvolutionResult result, CudnnPermissions permissions, int64_t alignment = 16) {
    const ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
    permissions.isFloat32 = shape.element == F32;
    const CudnnGraph graph(*table(), shape, result, {alignment, alignment, alignment}, nullptr);
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    if (!graph.ok())
      return {};
    Expected<CudnnChoice> choice = chooseCudnnEngine(*table(), graph.get(), {nullptr, &*properties}, permissions);
    EXPECT_TRUE(choice.ok()) << choice.status().message();
    return choice.ok() ? std::move(*choice) : CudnnChoice();
  }
  static bool has(const CudnnChoice &choice, cudnnBackendNumericalNote_t note) {
    return std::find(choice.notes.begin(), choice.notes.end(), note) != choice.notes.end();
  }
  /// An engine that does what everybody may rely on.
  void expectExact(const std::vector<int64_t> &integers) {
    for (ConvolutionResult result : kResults) {
      SCOPED_TRACE(testing::PrintToString(integers) + " result " + std::to_string(static_cast<int>(result)));
      const CudnnChoice choice = choose(integers, result, {kWorkspaceBytes});
      EXPECT_TRUE(choice.plan) << choice.refusal;
      EXPECT_LE(choice.workspaceBytes, kWorkspaceBytes);
      for (cudnnBackendNumericalNote_t note : choice.notes)
        EXPECT_TRUE(note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP || (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && integers[0] != F32)) << note;
      EXPECT_EQ(choose(integers, result, {kWorkspaceBytes}).text(), choice.text());
    }
  }

  std::optional<CudnnDescriptor> properties;
};

/// A layer of ResNet-50.
std::vector<int64_t> layer(int64_t element) { return {element, 16, 64, 64, 1, 2, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}; }

TEST_P(CudnnEngines, EveryKindOfConvolutionHasOne) {
  for (int64_t element : {F32, F64, F16, BF16}) {
    expectExact(layer(element));
    expectExact({element, 16, 3, 64, 1, 2, 224, 224, 7, 7, 2, 2, 3, 3, 3, 3, 1, 1});
    expectExact({element, 3, 12, 12, 12, 2, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});                         // depthwise
    expectExact({element, 2, 16, 16, 2, 2, 10, 10, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});                       // groups
    expectExact({element, 2, 8, 16, 1, 1, 30, 5, 2, 2, 1, 2});                                            // a line, padded on one side more, dilated
    expectExact({element, 2, 8, 8, 1, 3, 5, 6, 7, 2, 3, 3, 1, 1, 2, 0, 1, 1, 1, 1, 0, 1, 2, 1});         // a volume
  }
}

TEST_P(CudnnEngines, RandomShapesHaveOne) {
  Numbers numbers(static_cast<unsigned>(GetParam().version));
  for (int i = 0; i < 10; ++i) {
    int64_t groups = numbers.between(1, 3), rank = numbers.between(1, 3);
    std::vector<int64_t> integers = {numbers.between(F32, BF16), numbers.between(1, 3), groups * numbers.between(1, 10), groups * numbers.between(1, 12), groups, rank};
    std::vector<int64_t> lists[6];
    for (int64_t j = 0; j < rank; ++j)
      for (int list = 0; list < 6; ++list) {
        constexpr std::pair<int64_t, int64_t> kRanges[] = {{5, 9}, {1, 3}, {1, 3}, {0, 2}, {0, 2}, {1, 2}};
        lists[list].push_back(numbers.between(kRanges[list].first, kRanges[list].second));
      }
    for (const std::vector<int64_t> &list : lists)
      integers.insert(integers.end(), list.begin(), list.end());
    expectExact(integers);
  }
}

TEST_P(CudnnEngines, PermissionsDecide) {
  for (ConvolutionResult result : kResults) {
    EXPECT_FALSE(has(choose(layer(F32), result, {kWorkspaceBytes}), CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    CudnnPermissions tf32 = {kWorkspaceBytes};
    tf32.tf32 = true;
    EXPECT_TRUE(has(choose(layer(F32), result, tf32), CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    EXPECT_TRUE(has(choose(layer(BF16), result, {kWorkspaceBytes}), CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  }
}

TEST_P(CudnnEngines, LessAlignedTensorsHaveOne) {
  for (ConvolutionResult result : kResults)
    for (int64_t element : {F32, F64, F16, BF16}) {
      const CudnnChoice choice = choose(layer(element), result, {kWorkspaceBytes}, static_cast<int64_t>(bytesOf(element)));
      EXPECT_TRUE(choice.plan) << choice.refusal;
    }
}

TEST_P(CudnnEngines, TheWorkspaceIsKept) {
  for (ConvolutionResult result : kResults)
    for (int64_t element : {F32, BF16}) {
      const CudnnChoice choice = choose(layer(element), result, {0});
      EXPECT_EQ(choice.workspaceBytes, 0u);
      if (!choice.plan) {
        EXPECT_NE(choice.refusal.find("take more than 0 bytes of workspace (at least "), std::string::npos) << choice.refusal;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, CudnnEngines, ::testing::ValuesIn(kDevices), [](const auto &info) { return "sm_" + std::to_string(info.param.version / 10); });

} // namespace

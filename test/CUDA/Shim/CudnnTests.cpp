//===- CudnnTests.cpp - The simulated cuDNN -------------------------------===//
#include "test/CUDA/Shim/DriverTest.h"
#include <array>
#include <cudnn_graph.h>

namespace zero::shim {
namespace {

using Descriptor = cudnnBackendDescriptor_t;

Descriptor create(cudnnBackendDescriptorType_t type) {
  Descriptor made = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(type, &made), CUDNN_STATUS_SUCCESS);
  return made;
}
template <typename T> cudnnStatus_t set(Descriptor descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::vector<T> values) {
  return cudnnBackendSetAttribute(descriptor, name, type, static_cast<int64_t>(values.size()), values.data());
}

/// The convolution of 1 x 2 x 3 x 3 numbers 0, 1, ... by 1 x 2 x 2 x 2 ones: out is 1 x 1 x 2 x 2.
class ShimCudnn : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnSetStream(handle, stream), CUDNN_STATUS_SUCCESS);
    x = tensor(1, {1, 2, 3, 3}), w = tensor(2, {1, 2, 2, 2}), y = tensor(3, {1, 1, 2, 2});
    convolution = describe(2, {1, 1});
    for (Descriptor part : {x, w, y, convolution})
      ASSERT_EQ(cudnnBackendFinalize(part), CUDNN_STATUS_SUCCESS);
    operation = operate({x, w, y});
    graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set<cudnnHandle_t>(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle});
    set<Descriptor>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, {operation});
    ASSERT_EQ(cudnnBackendFinalize(graph), CUDNN_STATUS_SUCCESS);
    heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set<Descriptor>(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, {graph});
    set<cudnnBackendHeurMode_t>(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_A});
    ASSERT_EQ(cudnnBackendFinalize(heuristics), CUDNN_STATUS_SUCCESS);
    for (Descriptor &configuration : configurations)
      configuration = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t count = 0;
    ASSERT_EQ(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kEngines, &count, configurations.data()),
              CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(count, kEngines);
    plan = planOf(configurations.back());
    ASSERT_EQ(cudnnBackendFinalize(plan), CUDNN_STATUS_SUCCESS);
    buffer = allocate(8192);
    std::vector<float> numbers(18);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(i);
    ASSERT_CUDA(cuMemcpyHtoD(buffer, numbers.data(), numbers.size() * 4));
    ASSERT_CUDA(cuMemcpyHtoD(buffer + 256, std::vector<float>(8, 1).data(), 32));
    pack = packOf({1, 2, 3}, {at(0), at(256), at(512)}, at(4096));
  }
  void TearDown() override {
    for (Descriptor part : made)
      EXPECT_EQ(cudnnBackendDestroyDescriptor(part), CUDNN_STATUS_SUCCESS);
    for (Descriptor part : {x, w, y, convolution, graph, heuristics})
      EXPECT_EQ(cudnnBackendDestroyDescriptor(part), CUDNN_STATUS_SUCCESS);
    for (Descriptor configuration : configurations)
      EXPECT_EQ(cudnnBackendDestroyDescriptor(configuration), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnDestroy(handle), CUDNN_STATUS_SUCCESS);
    DriverTest::TearDown();
  }

  static Descriptor tensor(int64_t name, std::vector<int64_t> sizes, int64_t alignment = 16, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    Descriptor tensor = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t i = sizes.size() - 1; i-- > 0;)
      strides[i] = strides[i + 1] * sizes[i + 1];
    set<cudnnDataType_t>(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
    set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes);
    set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    set<int64_t>(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {name});
    set<int64_t>(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {alignment});
    return tensor;
  }
  static Descriptor describe(int64_t rank, std::vector<int64_t> strides, cudnnDataType_t sums = CUDNN_DATA_FLOAT) {
    Descriptor convolution = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const std::vector<int64_t> ones(strides.size(), 1), none(strides.size(), 0);
    set<cudnnDataType_t>(convolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {sums});
    set<cudnnConvolutionMode_t>(convolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, {CUDNN_CROSS_CORRELATION});
    set<int64_t>(convolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, {rank});
    set(convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, ones);
    set(convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, strides);
    set(convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, none);
    set(convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, none);
    return convolution;
  }
  /// A forward pass of these; the descriptors are destroyed with the test.
  Descriptor operate(std::array<Descriptor, 3> tensors, float alpha = 1) {
    Descriptor operation = create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    set<Descriptor>(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, {convolution});
    set<Descriptor>(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, {tensors[0]});
    set<Descriptor>(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, {tensors[1]});
    set<Descriptor>(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, {tensors[2]});
    set<float>(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {alpha});
    set<float>(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, {0});
    made.push_back(operation);
    if (alpha == 1 && tensors[0] == x)
      EXPECT_EQ(cudnnBackendFinalize(operation), CUDNN_STATUS_SUCCESS);
    return operation;
  }
  Descriptor planOf(Descriptor configuration) {
    Descriptor plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set<cudnnHandle_t>(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle});
    set<Descriptor>(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, {configuration});
    made.push_back(plan);
    return plan;
  }
  Descriptor packOf(std::vector<int64_t> names, std::vector<void *> pointers, void *workspace) {
    Descriptor pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, names);
    set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
    set<void *>(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {workspace});
    made.push_back(pack);
    EXPECT_EQ(cudnnBackendFinalize(pack), CUDNN_STATUS_SUCCESS);
    return pack;
  }
  void *at(uint64_t offset) const { return reinterpret_cast<void *>(buffer + offset); }
  std::vector<float> result() {
    EXPECT_CUDA(cuStreamSynchronize(stream));
    return download<float>(buffer + 512, 4);
  }

  static constexpr int64_t kEngines = 9;
  const std::vector<float> kExpected = {52, 60, 76, 84};
  cudnnHandle_t handle = nullptr;
  Descriptor x, w, y, convolution, operation, graph, heuristics, plan, pack;
  std::array<Descriptor, kEngines> configurations;
  std::vector<Descriptor> made;
  CUdeviceptr buffer = 0;
};

TEST_F(ShimCudnn, Computes) {
  ASSERT_EQ(cudnnBackendExecute(handle, plan, pack), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(result(), kExpected);
}

TEST_F(ShimCudnn, IsCapturedAndReplayed) {
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_EQ(cudnnBackendExecute(handle, plan, pack), CUDNN_STATUS_SUCCESS);
  CUgraph captured = nullptr;
  ASSERT_CUDA(cuStreamEndCapture(stream, &captured));
  CUgraphExec executable = nullptr;
  ASSERT_CUDA(cuGraphInstantiateWithFlags(&executable, captured, 0));
  EXPECT_NE(result(), kExpected);
  ASSERT_CUDA(cuGraphLaunch(executable, stream));
  EXPECT_EQ(result(), kExpected);
  ASSERT_CUDA(cuGraphExecDestroy(executable));
  ASSERT_CUDA(cuGraphDestroy(captured));
}

TEST_F(ShimCudnn, NamesItsEngines) {
  int64_t count = 0;
  ASSERT_EQ(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, kEngines + 1); // of which it fills in one less
  Descriptor engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  made.push_back(engine);
  ASSERT_EQ(cudnnBackendGetAttribute(configurations[2], CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine), CUDNN_STATUS_SUCCESS);
  int64_t number = 0;
  std::array<cudnnBackendNumericalNote_t, 8> notes;
  ASSERT_EQ(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &number), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(number, 103);
  ASSERT_EQ(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 8, &count, notes.data()), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(count, 2);
  EXPECT_EQ(notes[1], CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  EXPECT_EQ(cudnnBackendFinalize(planOf(configurations[6])), CUDNN_STATUS_NOT_SUPPORTED);
  char words[64];
  cudnnGetLastErrorString(words, sizeof words);
  EXPECT_STREQ(words, "engine 108 does not build");
}

TEST_F(ShimCudnn, WrongEnginesAreSeen) {
  for (size_t engine : {2u, 3u}) { // operands of eight bits, and a transform
    Descriptor other = planOf(configurations[engine]);
    ASSERT_EQ(cudnnBackendFinalize(other), CUDNN_STATUS_SUCCESS);
    std::vector<float> odd(18, 1.00390625f);
    ASSERT_CUDA(cuMemcpyHtoD(buffer, odd.data(), odd.size() * 4));
    ASSERT_EQ(cudnnBackendExecute(handle, other, pack), CUDNN_STATUS_SUCCESS);
    EXPECT_NE(result(), std::vector<float>(4, 8 * 1.00390625f));
  }
}

TEST_F(ShimCudnn, AttributesAreChecked) {
  EXPECT_MISUSE(set<int64_t>(x, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {4}), "cudnnBackendSetAttribute: the tensor was finalized");
  Descriptor fresh = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.push_back(fresh);
  EXPECT_MISUSE(set<float>(fresh, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, {4}), "CUDNN_ATTR_TENSOR_UNIQUE_ID has type 3, not 4");
  EXPECT_MISUSE(set<int64_t>(fresh, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {4, 5}), "CUDNN_ATTR_TENSOR_UNIQUE_ID takes 1 to 1 elements, got 2");
  EXPECT_MISUSE(set<int64_t>(fresh, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, {4}), "the tensor has no attribute 106");
  EXPECT_MISUSE(set<int64_t>(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, {4}), "the execution plan was finalized");
  EXPECT_MISUSE(set<int64_t>(planOf(configurations[0]), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, {4}), "CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE is only read");
  EXPECT_MISUSE(set<Descriptor>(create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, {fresh}),
                "the tensor that CUDNN_ATTR_OPERATIONGRAPH_OPS names is not finalized");
  EXPECT_MISUSE(cudnnBackendFinalize(fresh), "cudnnBackendFinalize: the tensor has no CUDNN_ATTR_TENSOR_DATA_TYPE");
  EXPECT_MISUSE(cudnnBackendFinalize(x), "cudnnBackendFinalize: the tensor was finalized before");
  int64_t number = 0, count = 0;
  EXPECT_MISUSE(cudnnBackendGetAttribute(planOf(configurations[0]), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &number),
                "the execution plan is not finalized");
  EXPECT_MISUSE(cudnnBackendGetAttribute(x, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count, &number), "reading CUDNN_ATTR_TENSOR_UNIQUE_ID back is not simulated");
  EXPECT_MISUSE(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &x),
                "the tensor that it is to fill in is no fresh engine configuration");
  Descriptor other;
  EXPECT_MISUSE(cudnnBackendCreateDescriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR, &other), "descriptors of type 18 are not simulated");
}

TEST_F(ShimCudnn, TensorsAndConvolutionsAreChecked) {
  EXPECT_MISUSE(cudnnBackendFinalize(tensor(4, {1, 1}, 16, CUDNN_DATA_INT8)), "the tensor: data type 3 is not simulated");
  EXPECT_MISUSE(cudnnBackendFinalize(tensor(4, {1, 0})), "the tensor: dimension 1 is 0");
  EXPECT_MISUSE(cudnnBackendFinalize(tensor(4, {1, 1}, 12)), "an alignment of 12 bytes is no power of two");
  auto strided = [](std::vector<int64_t> strides) {
    Descriptor changed = tensor(4, {2, 2});
    set(changed, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    return cudnnBackendFinalize(changed);
  };
  EXPECT_MISUSE(strided({2}), "a tensor of 2 dimensions has 1 strides");
  EXPECT_MISUSE(strided({1, 2}), "stride 1 is 2: tensors that are not dense are not simulated");
  EXPECT_MISUSE(cudnnBackendFinalize(describe(2, {1, 1, 1})), "CUDNN_ATTR_CONVOLUTION_DILATIONS has 3 elements for 2 dimensions");
  EXPECT_MISUSE(cudnnBackendFinalize(describe(2, {1, 0})), "CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES has 0, less than 1");
  auto flipped = [] {
    Descriptor changed = describe(2, {1, 1});
    set<cudnnConvolutionMode_t>(changed, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, {CUDNN_CONVOLUTION});
    return cudnnBackendFinalize(changed);
  };
  EXPECT_MISUSE(flipped(), "mode CUDNN_CONVOLUTION is not simulated");
}

TEST_F(ShimCudnn, OperationsAreChecked) {
  auto finalize = [&](std::array<Descriptor, 3> tensors, float alpha = 1) {
    for (Descriptor part : tensors)
      if (part != x && part != w && part != y && part != convolution)
        EXPECT_EQ(cudnnBackendFinalize(part), CUDNN_STATUS_SUCCESS);
    Descriptor operation = operate(tensors, alpha);
    return cudnnBackendFinalize(operation);
  };
  EXPECT_MISUSE(finalize({tensor(1, {1, 2, 3}), w, y}), "a tensor of 3 dimensions for a convolution along 2");
  EXPECT_MISUSE(finalize({tensor(1, {1, 2, 3, 3}, 16, CUDNN_DATA_DOUBLE), w, y}), "tensors of two types are not simulated");
  EXPECT_MISUSE(finalize({tensor(2, {1, 2, 3, 3}), w, y}), "two tensors have the same CUDNN_ATTR_TENSOR_UNIQUE_ID");
  EXPECT_MISUSE(finalize({tensor(1, {1, 3, 3, 3}), w, y}), "3 channels and 1 filters of 2 channels do not divide into groups");
  EXPECT_MISUSE(finalize({tensor(1, {2, 2, 3, 3}), w, y}), "results are 1 x 1, not 2 x 1");
  EXPECT_MISUSE(finalize({tensor(1, {1, 2, 4, 3}), w, y}), "results have 2 places along dimension 1, not 3");
  EXPECT_MISUSE(finalize({tensor(1, {1, 2, 3, 3}), w, y}, 2), "scales other than 1 and 0 are not simulated");
  EXPECT_MISUSE(finalize({convolution, w, y}), "one of its tensors is none");
  Descriptor doubles[] = {tensor(1, {1, 2, 3, 3}, 16, CUDNN_DATA_DOUBLE), tensor(2, {1, 2, 2, 2}, 16, CUDNN_DATA_DOUBLE), tensor(3, {1, 1, 2, 2}, 16, CUDNN_DATA_DOUBLE)};
  EXPECT_MISUSE(finalize({doubles[0], doubles[1], doubles[2]}), "sums in another type than float \\(of double: double\\) are not simulated");
  for (Descriptor part : doubles)
    cudnnBackendDestroyDescriptor(part);
}

TEST_F(ShimCudnn, PartsAreOfTheirKind) {
  using T = cudnnBackendDescriptorType_t;
  auto finalized = [](T type, cudnnBackendAttributeName_t name, Descriptor part, auto... others) {
    Descriptor whole = create(type);
    set<Descriptor>(whole, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, {part});
    (others(whole), ...);
    return cudnnBackendFinalize(whole);
  };
  auto handled = [&](cudnnBackendAttributeName_t name) { return [this, name](Descriptor whole) { set<cudnnHandle_t>(whole, name, CUDNN_TYPE_HANDLE, {handle}); }; };
  EXPECT_MISUSE(finalized(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, x, handled(CUDNN_ATTR_OPERATIONGRAPH_HANDLE)), "its operation is none");
  EXPECT_MISUSE(finalized(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, x, handled(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)),
                "its engine configuration is none");
  auto changed = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, auto value) {
    Descriptor operation = operate({x, w, y}, 2);
    set<float>(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1});
    set<decltype(value)>(operation, name, type, {value});
    return cudnnBackendFinalize(operation);
  };
  EXPECT_MISUSE(changed(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, x), "the operation: its convolution is none");
  EXPECT_MISUSE(changed(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_DOUBLE, 0.0), "scales of another type than the sums");
  Descriptor line = describe(1, {1});
  made.push_back(line);
  ASSERT_EQ(cudnnBackendFinalize(line), CUDNN_STATUS_SUCCESS);
  EXPECT_MISUSE(changed(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, line), "a convolution along 1 dimensions, not 2 or 3");
  EXPECT_MISUSE(set<cudnnHandle_t>(create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {nullptr}), "null is no cuDNN handle");
}

TEST_F(ShimCudnn, WhatItIsMadeOfStays) {
  Descriptor other = planOf(configurations[0]);
  EXPECT_MISUSE({
    cudnnBackendDestroyDescriptor(configurations[0]);
    cudnnBackendFinalize(other);
  }, "the engine configuration that the execution plan is made of was destroyed");
  EXPECT_MISUSE({
    cudnnBackendDestroyDescriptor(graph);
    cudnnBackendExecute(handle, plan, pack);
  }, "the operation graph that the execution plan is made of was destroyed");
  EXPECT_MISUSE({
    cudnnBackendDestroyDescriptor(x);
    cudnnBackendExecute(handle, plan, pack);
  }, "the tensor that the execution plan is made of was destroyed");
  EXPECT_MISUSE({
    cudnnBackendDestroyDescriptor(plan);
    cudnnBackendExecute(handle, plan, pack);
  }, "descriptor [0-9]+ was destroyed");
}

TEST_F(ShimCudnn, ExecutionsAreChecked) {
  EXPECT_MISUSE(cudnnBackendExecute(handle, pack, plan), "the variant pack and the execution plan are no execution plan and variant pack");
  EXPECT_MISUSE(cudnnBackendExecute(handle, planOf(configurations[0]), pack), "the execution plan is not finalized");
  EXPECT_MISUSE(cudnnBackendExecute(handle, plan, packOf({1, 2, 3}, {at(0), at(256), at(520)}, at(4096))), "tensor 3 is not at a multiple of its 16 bytes");
  EXPECT_MISUSE(cudnnBackendExecute(handle, plan, packOf({1, 2, 4}, {at(0), at(256), at(512)}, at(4096))), "the variant pack has no tensor 3");
  EXPECT_MISUSE(cudnnBackendExecute(handle, plan, packOf({1, 2, 3, 4}, {at(0), at(256), at(512), at(768)}, at(4096))), "the variant pack has 4 tensors, the graph 3");
  EXPECT_MISUSE(cudnnBackendExecute(handle, plan, packOf({1, 2, 3}, {at(0), at(256), at(512)}, nullptr)), "engine 110 takes 512 bytes of workspace, there are none");
  EXPECT_MISUSE(cudnnBackendExecute(handle, plan, packOf({1, 2, 3}, {at(0), at(256), at(512)}, at(8192 - 256))), "cudnnBackendExecute"); // beyond its memory
  float host[32];
  EXPECT_MISUSE(cudnnBackendExecute(handle, plan, packOf({1, 2, 3}, {reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(host) + 15) & ~uintptr_t{15}), at(256), at(512)}, at(4096))),
                "cudnnBackendExecute");
  EXPECT_MISUSE(packOf({1, 2}, {at(0), at(256), at(512)}, nullptr), "2 unique ids for 3 pointers");
  EXPECT_MISUSE(packOf({1, 2, 2}, {at(0), at(256), at(512)}, nullptr), "a unique id stands there twice");
}

TEST_F(ShimCudnn, HandlesAreChecked) {
  EXPECT_MISUSE(cudnnSetStream(handle, nullptr), "the stream is not one of the handle's device");
  cudnnHandle_t other = nullptr;
  ASSERT_EQ(cudnnCreate(&other), CUDNN_STATUS_SUCCESS);
  EXPECT_MISUSE(cudnnBackendExecute(other, plan, pack), "the execution plan is that of another handle");
  EXPECT_MISUSE(
      {
        Descriptor strange = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        set<cudnnHandle_t>(strange, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {other});
        set<Descriptor>(strange, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, {configurations[0]});
        cudnnBackendFinalize(strange);
      },
      "its handle is not that of its operation graph");
  ASSERT_EQ(cudnnDestroy(other), CUDNN_STATUS_SUCCESS);
  EXPECT_MISUSE(cudnnDestroy(other), "cuDNN handle [0-9]+ was destroyed");
  EXPECT_MISUSE(cudnnDestroy(handle), "[0-9]+ descriptors are left, the first is descriptor");
  EXPECT_MISUSE(std::exit(0), "exit: (cuDNN handle [0-9]+ was never destroyed|the context of device 0 was never released)");
}

TEST_F(ShimCudnn, NoStreamIsNoneToRunOn) {
  EXPECT_MISUSE(
      {
        for (Descriptor part : made)
          cudnnBackendDestroyDescriptor(part);
        cudnnHandle_t other = nullptr;
        cudnnCreate(&other);
        graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
        set<cudnnHandle_t>(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {other});
        set<Descriptor>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, {operate({x, w, y})});
        cudnnBackendFinalize(graph);
        heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
        set<Descriptor>(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, {graph});
        set<cudnnBackendHeurMode_t>(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_FALLBACK});
        cudnnBackendFinalize(heuristics);
        Descriptor first = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        int64_t count = 0;
        cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &first);
        handle = other;
        plan = planOf(first);
        cudnnBackendFinalize(plan);
        cudnnBackendExecute(handle, plan, packOf({1, 2, 3}, {at(0), at(256), at(512)}, nullptr));
      },
      "the handle has no stream, and the null stream is not simulated");
}

TEST_F(ShimCudnn, OtherHeuristicsAreNotSimulated) {
  Descriptor other = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  made.push_back(other);
  set<Descriptor>(other, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, {graph});
  set<cudnnBackendHeurMode_t>(other, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_B});
  EXPECT_MISUSE(cudnnBackendFinalize(other), "heuristics of mode 1 are not simulated");
  Descriptor configuration = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  made.push_back(configuration);
  EXPECT_MISUSE(cudnnBackendFinalize(configuration), "engines that are not named by heuristics are not simulated");
}

TEST_F(ShimCudnn, EnginesCanBeNamed) {
  Setting one("ZERO_SHIM_CUDNN_ENGINES", "105,110");
  int64_t count = 0;
  ASSERT_EQ(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 3);
  Setting wrong("ZERO_SHIM_CUDNN_ENGINES", "105,x");
  EXPECT_MISUSE(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
                "ZERO_SHIM_CUDNN_ENGINES: 'x' is no number");
}

} // namespace
} // namespace zero::shim

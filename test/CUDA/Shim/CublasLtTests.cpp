//===- CublasLtTests.cpp - The simulated cuBLASLt -------------------------===//
#include "test/CUDA/Shim/DriverTest.h"
#include <cublasLt.h>

namespace zero::shim {
namespace {

/// out (2 x 2) = lhs (2 x 3) rhs (3 x 2) of floats, by rows: out' = rhs' lhs' by columns.
class ShimCublasLt : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatrixLayoutCreate(&rhs, CUDA_R_32F, 2, 3, 2), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatrixLayoutCreate(&lhs, CUDA_R_32F, 3, 2, 3), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatrixLayoutCreate(&out, CUDA_R_32F, 2, 2, 2), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    uint64_t bytes = kWorkspaceBytes;
    ASSERT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes), CUBLAS_STATUS_SUCCESS);
    int count = 0;
    ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, product, rhs, lhs, out, out, preference, 1, &algorithm, &count), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(count, 1);
    buffer = allocate(4096);
    float numbers[] = {1, 2, 3, 4, 5, 6};
    ASSERT_CUDA(cuMemcpyHtoD(buffer, numbers, sizeof numbers));
    ASSERT_CUDA(cuMemcpyHtoD(buffer + 256, numbers, sizeof numbers));
  }
  void TearDown() override {
    cublasLtMatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t layout : {lhs, rhs, out})
      cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(product);
    EXPECT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_SUCCESS);
    DriverTest::TearDown();
  }
  cublasStatus_t multiply(CUdeviceptr to, size_t workspaceBytes = kWorkspaceBytes, float alpha = 1) {
    float beta = 0;
    auto at = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
    return cublasLtMatmul(handle, product, &alpha, at(buffer + 256), rhs, at(buffer), lhs, &beta, at(to), out, at(to), out, &algorithm.algo,
                          at(buffer + 1024), workspaceBytes, stream);
  }

  static constexpr uint64_t kWorkspaceBytes = 1024;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t lhs = nullptr, rhs = nullptr, out = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t algorithm = {};
  CUdeviceptr buffer = 0;
};

TEST_F(ShimCublasLt, Multiplies) {
  ASSERT_EQ(multiply(buffer + 512), CUBLAS_STATUS_SUCCESS);
  ASSERT_CUDA(cuStreamSynchronize(stream));
  float numbers[4];
  ASSERT_CUDA(cuMemcpyDtoH(numbers, buffer + 512, sizeof numbers));
  EXPECT_EQ(std::vector<float>(numbers, numbers + 4), (std::vector<float>{22, 28, 49, 64}));
}

template <typename T> void set(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute, T value) {
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
}

/// Four columns by eight rows, of a 4 x 1 and a 1 x 8 matrix of ones: sums are easily told.
class ShimEpilogues : public ShimCublasLt {
protected:
  void SetUp() override {
    ShimCublasLt::SetUp();
    for (auto [layout, rows, columns] : {std::tuple(&rhs, 8, 1), {&lhs, 1, 4}, {&out, 8, 4}}) {
      cublasLtMatrixLayoutDestroy(*layout);
      ASSERT_EQ(cublasLtMatrixLayoutCreate(layout, CUDA_R_32F, rows, columns, rows), CUBLAS_STATUS_SUCCESS);
    }
    std::vector<float> ones(256, 1);
    ASSERT_CUDA(cuMemcpyHtoD(buffer, ones.data(), 1024));
  }
  /// The matrix, after the algorithm was chosen anew. `beta`: a matrix of ones is added.
  std::vector<float> run(cublasLtEpilogue_t epilogue, float beta = 0) {
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, at(kBias));
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at(kAux));
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{8});
    int count = 0;
    EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, product, rhs, lhs, out, out, preference, 1, &algorithm, &count), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(call(beta), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    return read(kOut, 32);
  }
  cublasStatus_t call(float beta = 0) {
    float alpha = 1;
    return cublasLtMatmul(handle, product, &alpha, at(0), rhs, at(256), lhs, &beta, at(kAddend), out, at(kOut), out, &algorithm.algo, at(1024), kWorkspaceBytes, stream);
  }
  std::vector<float> read(uint64_t offset, size_t count) {
    std::vector<float> numbers(count);
    EXPECT_EQ(cuMemcpyDtoH(numbers.data(), buffer + offset, count * 4), CUDA_SUCCESS);
    return numbers;
  }
  void write(uint64_t offset, float number, size_t count) {
    std::vector<float> numbers(count, number);
    ASSERT_CUDA(cuMemcpyHtoD(buffer + offset, numbers.data(), count * 4));
  }
  void *at(uint64_t offset) { return reinterpret_cast<void *>(buffer + offset); }
  static constexpr uint64_t kOut = 2048, kBias = 2560, kAux = 3072, kAddend = 3584;
};

TEST_F(ShimEpilogues, Computes) {
  write(kBias, 2, 8);
  write(kAddend, 1, 32);
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_DEFAULT, 1), std::vector<float>(32, 2));
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_BIAS), std::vector<float>(32, 3));
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_BIAS, 1), std::vector<float>(32, 4));
  EXPECT_NEAR(run(CUBLASLT_EPILOGUE_GELU)[31], 0.841192, 1e-6);
  EXPECT_NEAR(run(CUBLASLT_EPILOGUE_GELU_AUX_BIAS)[31], 2.996363, 1e-6);
  EXPECT_EQ(read(kAux, 32), std::vector<float>(32, 3));
  EXPECT_NEAR(run(CUBLASLT_EPILOGUE_DGELU)[0], 1.011584, 1e-6); // the slope at 3
  EXPECT_NEAR(run(CUBLASLT_EPILOGUE_DGELU_BGRAD)[0], 1.011584, 1e-6);
  EXPECT_NEAR(read(kBias, 8)[7], 4 * 1.011584, 1e-5);
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_BGRADA), std::vector<float>(32, 1));
  EXPECT_EQ(read(kBias, 8), std::vector<float>(8, 1));
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_BGRADB), std::vector<float>(32, 1));
  EXPECT_EQ(read(kBias, 4), std::vector<float>(4, 1));
}

TEST_F(ShimEpilogues, Misuse) {
  run(CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_MISUSE({
    set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void *>(nullptr));
    call();
  }, "epilogue 164 needs CUBLASLT_MATMUL_DESC_BIAS_POINTER");
  EXPECT_MISUSE({
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void *>(nullptr));
    call();
  }, "epilogue 164 needs CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER");
  for (int64_t ld : {4, 12})
    EXPECT_MISUSE({
      set(product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
      call();
    }, "no multiple of 8 of at least the 8 rows");
  EXPECT_MISUSE({
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{16});
    call();
  }, "the algorithm is that of another problem");
  EXPECT_MISUSE({
    set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, at(kBias + 4));
    call();
  }, "the bias is not a multiple of the 16 bytes that the heuristics saw");
  EXPECT_MISUSE({
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at(kAux + 8));
    call();
  }, "the auxiliary matrix is not a multiple of the 16 bytes that the heuristics saw");
  EXPECT_MISUSE({
    set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, at(8192));
    call();
  }, "cublasLtMatmul");
  EXPECT_MISUSE(call(1), "a matrix C beside epilogue 164 is not simulated");
  EXPECT_MISUSE({
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU);
    call();
  }, "epilogue 2 is not simulated");
}

TEST_F(ShimEpilogues, NoneOfDoubles) {
  set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, at(kBias));
  cublasLtMatmulDesc_t wide;
  ASSERT_EQ(cublasLtMatmulDescCreate(&wide, CUBLAS_COMPUTE_64F, CUDA_R_64F), CUBLAS_STATUS_SUCCESS);
  set(wide, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(wide, CUBLASLT_MATMUL_DESC_BIAS_POINTER, at(kBias));
  cublasLtMatrixLayout_t layouts[3];
  int i = 0;
  for (auto [rows, columns] : {std::pair(8, 1), {1, 4}, {8, 4}})
    ASSERT_EQ(cublasLtMatrixLayoutCreate(&layouts[i++], CUDA_R_64F, rows, columns, rows), CUBLAS_STATUS_SUCCESS);
  int count = 0;
  EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, wide, layouts[0], layouts[1], layouts[2], layouts[2], preference, 1, &algorithm, &count), CUBLAS_STATUS_NOT_SUPPORTED);
  for (cublasLtMatrixLayout_t layout : layouts)
    cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(wide);
}

/// Who lets partial sums be rounded gets them so, in an order that the timing decides.
TEST_F(ShimCublasLt, SplitsWhereItMay) {
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK, split = 0;
  auto choose = [&](uint64_t k) {
    cublasLtMatrixLayout_t left, right;
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&left, CUDA_R_32F, 2, k, 2), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&right, CUDA_R_32F, k, 2, static_cast<int64_t>(k)), CUBLAS_STATUS_SUCCESS);
    int count = 0;
    EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, product, left, right, out, out, preference, 1, &algorithm, &count), CUBLAS_STATUS_SUCCESS);
    size_t written = 0;
    EXPECT_EQ(cublasLtMatmulAlgoConfigGetAttribute(&algorithm.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split, sizeof split, &written), CUBLAS_STATUS_SUCCESS);
    cublasLtMatrixLayoutDestroy(left);
    cublasLtMatrixLayoutDestroy(right);
    return split;
  };
  EXPECT_EQ(choose(64), 4u);
  EXPECT_EQ(choose(8), 1u);
  schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  ASSERT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(choose(64), 1u);
}

TEST_F(ShimCublasLt, TakesMemoryForItsHandle) {
  size_t before = 0, after = 0, all = 0;
  ASSERT_CUDA(cuMemGetInfo(&before, &all));
  cublasLtHandle_t second;
  ASSERT_EQ(cublasLtCreate(&second), CUBLAS_STATUS_SUCCESS);
  ASSERT_CUDA(cuMemGetInfo(&after, &all));
  EXPECT_LT(after, before);
  ASSERT_EQ(cublasLtDestroy(second), CUBLAS_STATUS_SUCCESS);
  ASSERT_CUDA(cuMemGetInfo(&after, &all));
  EXPECT_EQ(after, before);
}

TEST_F(ShimCublasLt, Misuse) {
  EXPECT_MISUSE(multiply(buffer + 513), "cublasLtMatmul: matrix C is not a multiple of the 256 bytes");
  EXPECT_MISUSE(multiply(buffer + 512, 10), "the algorithm takes 1024 bytes of workspace, there are 10");
  EXPECT_MISUSE(multiply(buffer + 512, kWorkspaceBytes, 2), "scales other than 1 and 0 are not simulated");
  EXPECT_MISUSE(multiply(buffer + 8192), "cublasLtMatmul");
  EXPECT_MISUSE({
    cublasLtMatrixLayoutDestroy(lhs);
    multiply(buffer + 512);
  }, "a handle or descriptor is none");
  EXPECT_MISUSE({
    int32_t batch = 2;
    for (cublasLtMatrixLayout_t layout : {lhs, rhs, out})
      cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    multiply(buffer + 512);
  }, "the algorithm is that of another problem");
  EXPECT_MISUSE({
    int count;
    cublasLtMatmulAlgoGetHeuristic(handle, product, lhs, rhs, out, out, preference, 1, &algorithm, &count);
  }, "a product of 3 x 2 and 2 x 3 does not give 2 x 2");
  EXPECT_MISUSE({
    int64_t wrong = 2;
    cublasLtMatrixLayoutSetAttribute(lhs, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &wrong, sizeof wrong);
  }, "an attribute of 4 bytes is set from 8");
}

TEST_F(ShimCublasLt, Failures) {
  {
    Setting fail("ZERO_SHIM_FAIL", "cublasLtMatmul:1");
    EXPECT_EQ(multiply(buffer + 512), CUBLAS_STATUS_EXECUTION_FAILED);
  }
  EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_EXECUTION_FAILED), "CUBLAS_STATUS_EXECUTION_FAILED");
}

} // namespace
} // namespace zero::shim

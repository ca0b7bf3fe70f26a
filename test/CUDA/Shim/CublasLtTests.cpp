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

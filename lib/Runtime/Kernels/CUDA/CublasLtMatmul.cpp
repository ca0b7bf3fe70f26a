//===- CublasLtMatmul.cpp - Products by cuBLASLt --------------------------===//
//
// cuBLASLt counts matrices by columns: a row-major matrix is its transpose there, so out' = rhs' lhs', with the operands exchanged.
// The algorithm is chosen once, from the shape, the type, the workspace's size and how far pointers are aligned (16 bytes count as all):
// none of which depends on the stage. Sums are kept in float32 (f64: in double) and rounded once: ways to split them that round
// partial sums, or add them in the result, are not taken.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/CUDA/CublasLtMatmul.h"
#include "lib/Runtime/Kernels/CUDA/CublasLtTable.h"
#include "lib/Runtime/Kernels/Element.h"
#include <algorithm>
#include <array>
#include <map>
#include <mutex>

using namespace zero;
using namespace zero::kernels;

namespace {

/// One handle for all products of a device.
class Handle {
public:
  static Expected<std::shared_ptr<Handle>> of(const CublasLtTable &table, StreamDevice &device) {
    static std::mutex mutex;
    static std::map<StreamDevice *, std::weak_ptr<Handle>> handles;
    std::lock_guard lock(mutex);
    std::weak_ptr<Handle> &known = handles[&device];
    if (std::shared_ptr<Handle> handle = known.lock())
      return handle;
    std::shared_ptr<Handle> handle(new Handle(table));
    ZERO_RETURN_IF_ERROR(table.check("Create", table.Create(&handle->handle)));
    known = handle;
    return handle;
  }
  ~Handle() {
    if (handle)
      table.Destroy(handle);
  }
  cublasLtHandle_t get() const { return handle; }

private:
  explicit Handle(const CublasLtTable &table) : table(table) {}
  const CublasLtTable &table;
  cublasLtHandle_t handle = nullptr;
};

/// A descriptor that is destroyed with this.
template <typename Descriptor> class Owned {
public:
  explicit Owned(cublasStatus_t (*destroy)(Descriptor)) : destroy(destroy) {}
  Owned(const Owned &) = delete;
  ~Owned() {
    if (descriptor)
      destroy(descriptor);
  }
  Descriptor *address() { return &descriptor; }
  Descriptor get() const { return descriptor; }

private:
  Descriptor descriptor = nullptr;
  cublasStatus_t (*destroy)(Descriptor);
};

struct Types {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
};
Types typesOf(Element element, bool tf32) {
  switch (element) {
  case Element::F64:
    return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  case Element::F16:
    return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  case Element::BF16:
    return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  default:
    return {CUDA_R_32F, CUDA_R_32F, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
  }
}

/// A matrix as it is stored, by rows.
struct Stored {
  int64_t rows, columns, batchStride, ld;
};

uint32_t alignmentOf(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  uint32_t alignment = 16;
  while (address % alignment)
    alignment /= 2;
  return alignment;
}

class CublasLtMatmul final : public CudaKernel {
public:
  /// `workspaceBytes`: of the buffer that the plan gives as workspace; on GPUs buffers start where cuBLASLt wants it, at multiples of 256.
  CublasLtMatmul(const CublasLtTable &table, std::shared_ptr<Handle> handle, bool isDouble, uint64_t workspaceBytes)
      : table(table), handle(std::move(handle)), isDouble(isDouble), workspaceBytes(workspaceBytes), product(table.MatmulDescDestroy),
        lhs(table.MatrixLayoutDestroy), rhs(table.MatrixLayoutDestroy), out(table.MatrixLayoutDestroy) {}

  Status prepare(std::span<const int64_t> integers, std::span<void *const> pointers, bool tf32) {
    const int64_t *x = integers.data();
    int64_t batch = x[1], m = x[2], n = x[3], k = x[4];
    bool transposeLhs = x[5] != 0, transposeRhs = x[6] != 0;
    Types types = typesOf(static_cast<Element>(x[0]), tf32);
    Stored lhsStored{transposeLhs ? k : m, transposeLhs ? m : k, x[7], x[8]};
    Stored rhsStored{transposeRhs ? n : k, transposeRhs ? k : n, x[9], x[10]};
    ZERO_RETURN_IF_ERROR(table.check("MatmulDescCreate", table.MatmulDescCreate(product.address(), types.compute, types.scale)));
    ZERO_RETURN_IF_ERROR(transpose(CUBLASLT_MATMUL_DESC_TRANSA, transposeRhs));
    ZERO_RETURN_IF_ERROR(transpose(CUBLASLT_MATMUL_DESC_TRANSB, transposeLhs));
    ZERO_RETURN_IF_ERROR(layout(rhs, types.element, rhsStored, batch));
    ZERO_RETURN_IF_ERROR(layout(lhs, types.element, lhsStored, batch));
    ZERO_RETURN_IF_ERROR(layout(out, types.element, {m, n, x[11], x[12]}, batch));
    ZERO_RETURN_IF_ERROR(choose(pointers));
    if (found)
      return {};
    return Status::programFailed("matmul: cuBLASLt has no algorithm for " + std::to_string(batch) + " x (" + std::to_string(m) + " x " +
                                 std::to_string(k) + " by " + std::to_string(k) + " x " + std::to_string(n) + ") of " + elementName(x[0]) +
                                 " within " + std::to_string(workspaceBytes) + " bytes of workspace");
  }

  Status enqueue(void *stream, void *const *pointers) override {
    static constexpr float kOne = 1, kZero = 0;
    static constexpr double kOneDouble = 1, kZeroDouble = 0;
    const void *alpha = isDouble ? static_cast<const void *>(&kOneDouble) : &kOne;
    const void *beta = isDouble ? static_cast<const void *>(&kZeroDouble) : &kZero;
    return table.check("Matmul", table.Matmul(handle->get(), product.get(), alpha, pointers[1], rhs.get(), pointers[0], lhs.get(), beta,
                                              pointers[2], out.get(), pointers[2], out.get(), &algorithm.algo,
                                              workspaceBytes ? pointers[3] : nullptr, workspaceBytes, static_cast<cudaStream_t>(stream)));
  }

  std::string algorithmText() const override {
    constexpr struct {
      const char *name;
      cublasLtMatmulAlgoConfigAttributes_t attribute;
    } parts[] = {{"cublaslt", CUBLASLT_ALGO_CONFIG_ID},
                 {" tile ", CUBLASLT_ALGO_CONFIG_TILE_ID},
                 {" stages ", CUBLASLT_ALGO_CONFIG_STAGES_ID},
                 {" split_k ", CUBLASLT_ALGO_CONFIG_SPLITK_NUM}};
    std::string text;
    for (const auto &part : parts) {
      uint32_t value = 0;
      size_t written = 0;
      if (table.MatmulAlgoConfigGetAttribute(&algorithm.algo, part.attribute, &value, sizeof value, &written) == CUBLAS_STATUS_SUCCESS)
        text += part.name + std::string(text.empty() ? " " : "") + std::to_string(value);
    }
    return text;
  }

private:
  Status transpose(cublasLtMatmulDescAttributes_t attribute, bool isTransposed) {
    cublasOperation_t operation = isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return table.check("MatmulDescSetAttribute", table.MatmulDescSetAttribute(product.get(), attribute, &operation, sizeof operation));
  }

  Status layout(Owned<cublasLtMatrixLayout_t> &made, cudaDataType_t element, const Stored &stored, int64_t batch) {
    ZERO_RETURN_IF_ERROR(table.check("MatrixLayoutCreate", table.MatrixLayoutCreate(made.address(), element, static_cast<uint64_t>(stored.columns),
                                                                                    static_cast<uint64_t>(stored.rows), stored.ld)));
    if (batch == 1)
      return {};
    auto count = static_cast<int32_t>(batch);
    if (count != batch)
      return Status::badInput("matmul: a batch of " + std::to_string(batch) + " is more than cuBLASLt takes");
    ZERO_RETURN_IF_ERROR(table.check("MatrixLayoutSetAttribute",
                                     table.MatrixLayoutSetAttribute(made.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count)));
    return table.check("MatrixLayoutSetAttribute",
                       table.MatrixLayoutSetAttribute(made.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stored.batchStride,
                                                      sizeof stored.batchStride));
  }

  template <typename T>
  Status prefer(const Owned<cublasLtMatmulPreference_t> &preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    return table.check("MatmulPreferenceSetAttribute",
                       table.MatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
  }

  /// The first that heuristics rank among those that fit.
  Status choose(std::span<void *const> pointers) {
    Owned<cublasLtMatmulPreference_t> preference(table.MatmulPreferenceDestroy);
    ZERO_RETURN_IF_ERROR(table.check("MatmulPreferenceCreate", table.MatmulPreferenceCreate(preference.address())));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspaceBytes));
    ZERO_RETURN_IF_ERROR(
        prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
    uint32_t outAlignment = alignmentOf(pointers[2]);
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignmentOf(pointers[1])));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignmentOf(pointers[0])));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, outAlignment));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, outAlignment));
    std::array<cublasLtMatmulHeuristicResult_t, 8> results = {};
    int count = 0;
    cublasStatus_t status =
        table.MatmulAlgoGetHeuristic(handle->get(), product.get(), rhs.get(), lhs.get(), out.get(), out.get(), preference.get(),
                                     static_cast<int>(results.size()), results.data(), &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED)
      return {};
    ZERO_RETURN_IF_ERROR(table.check("MatmulAlgoGetHeuristic", status));
    for (int i = 0; i < count && !found; ++i)
      if (results[static_cast<size_t>(i)].state == CUBLAS_STATUS_SUCCESS && results[static_cast<size_t>(i)].workspaceSize <= workspaceBytes) {
        algorithm = results[static_cast<size_t>(i)];
        found = true;
      }
    return {};
  }

  const CublasLtTable &table;
  std::shared_ptr<Handle> handle;
  bool isDouble, found = false;
  uint64_t workspaceBytes;
  Owned<cublasLtMatmulDesc_t> product;
  Owned<cublasLtMatrixLayout_t> lhs, rhs, out;
  cublasLtMatmulHeuristicResult_t algorithm = {};
};

} // namespace

Expected<std::unique_ptr<CudaKernel>> kernels::prepareCublasLtMatmul(std::span<const int64_t> integers, std::span<void *const> pointers,
                                                                     const CudaOptions &options, StreamDevice &device) {
  size_t needed = options.matmulWorkspaceBytes ? 4 : 3;
  if (pointers.size() != needed)
    return Status::badInput("kernel 'matmul': takes " + std::to_string(needed) + " pointers, got " + std::to_string(pointers.size()));
  ZERO_ASSIGN_OR_RETURN(const CublasLtTable *table, CublasLtTable::get());
  ZERO_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Handle::of(*table, device));
  bool isDouble = integers[0] == static_cast<int64_t>(Element::F64);
  auto made = std::make_unique<CublasLtMatmul>(*table, std::move(handle), isDouble, options.matmulWorkspaceBytes);
  ZERO_RETURN_IF_ERROR(made->prepare(integers, pointers, options.tf32));
  return std::unique_ptr<CudaKernel>(std::move(made));
}

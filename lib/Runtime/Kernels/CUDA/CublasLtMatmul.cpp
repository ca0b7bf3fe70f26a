//===- CublasLtMatmul.cpp - Products by cuBLASLt --------------------------===//
//
// cuBLASLt counts matrices by columns: a row-major matrix is its transpose there, so out' = rhs' lhs', with the operands exchanged.
// The algorithm is chosen once, from the shape, the type, the workspace's size and how far pointers are aligned (16 bytes count as all):
// none of which depends on the stage. Sums are kept in float32 (f64: in double) and rounded once: ways to split them that round
// partial sums, or add them in the result, are taken with --fast alone.
//
// What fused_matmul does besides are cuBLASLt's epilogues: its column of bias is our row, its sum over k of A is that of our rhs.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/CUDA/CublasLtMatmul.h"
#include "lib/Runtime/Kernels/CUDA/CublasLtTable.h"
#include "lib/Runtime/Kernels/CUDA/LibraryHandle.h"
#include "lib/Runtime/Kernels/Element.h"
#include <algorithm>
#include <array>

using namespace zero;
using namespace zero::kernels;

namespace {

/// One handle for all products of a device.
class Handle final : public LibraryHandle<Handle, CublasLtTable, cublasLtHandle_t> {
public:
  using LibraryHandle::LibraryHandle;
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

/// Beyond this many bytes alignment changes nothing.
constexpr uint32_t kMostAlignment = 16;

uint32_t alignmentOf(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  uint32_t alignment = kMostAlignment;
  while (address % alignment)
    alignment /= 2;
  return alignment;
}

/// What fused_matmul has behind the integers of matmul (KernelTable.inc), and where its pointers stand.
struct Epilogue {
  enum : int64_t { kNone, kGelu, kGeluGradient };
  enum : int64_t { kNoSum, kOfRhs, kOfLhs, kOfOut };
  static constexpr size_t kFirst = 13, kCount = 5;

  explicit Epilogue(std::span<const int64_t> integers) {
    if (integers.size() < kFirst + kCount)
      return;
    const int64_t *x = integers.data() + kFirst;
    addendLd = x[0], activation = x[2], beforeLd = x[3], biasGradient = x[4];
    if (addendLd)
      addend = out++;
    if (x[1])
      bias = out++;
    if (activation == kGeluGradient)
      before = out++;
    size_t next = out + 1;
    if (activation == kGelu && beforeLd)
      before = next++;
    if (biasGradient)
      bias = next++;
    workspace = next;
  }

  cublasLtEpilogue_t kind() const {
    if (biasGradient == kOfRhs)
      return CUBLASLT_EPILOGUE_BGRADA;
    if (biasGradient == kOfLhs)
      return CUBLASLT_EPILOGUE_BGRADB;
    if (activation == kGeluGradient)
      return biasGradient ? CUBLASLT_EPILOGUE_DGELU_BGRAD : CUBLASLT_EPILOGUE_DGELU;
    if (activation == kGelu)
      return before ? bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX : bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
  /// For people.
  std::string text() const {
    std::string words;
    auto add = [&](bool has, const char *word) { words += has ? std::string(words.empty() ? "" : ", ") + word : ""; };
    add(addend, "addend");
    add(bias && !biasGradient, "bias");
    add(activation == kGelu, before ? "gelu and what it is applied to" : "gelu");
    add(activation == kGeluGradient, "gradient of gelu");
    add(biasGradient != kNoSum, biasGradient == kOfRhs ? "sums of rhs" : biasGradient == kOfLhs ? "sums of lhs" : "sums of its columns");
    return words;
  }

  int64_t addendLd = 0, activation = kNone, beforeLd = 0, biasGradient = kNoSum;
  /// Numbers of pointers; 0 where there is none. `bias` is also what its gradient is written to.
  size_t addend = 0, bias = 0, before = 0, out = 2, workspace = 3;
};

class CublasLtMatmul final : public CudaKernel {
public:
  /// `workspaceBytes`: of the buffer that the plan gives as workspace; on GPUs buffers start where cuBLASLt wants it, at multiples of 256.
  CublasLtMatmul(const CublasLtTable &table, std::shared_ptr<Handle> handle, std::span<const int64_t> integers, uint64_t workspaceBytes)
      : table(table), handle(std::move(handle)), isDouble(integers[0] == static_cast<int64_t>(Element::F64)), epilogue(integers), workspaceBytes(workspaceBytes),
        product(table.MatmulDescDestroy),
        lhs(table.MatrixLayoutDestroy), rhs(table.MatrixLayoutDestroy), addend(table.MatrixLayoutDestroy), out(table.MatrixLayoutDestroy) {}

  Status prepare(std::span<const int64_t> integers, std::span<void *const> pointers, const CudaOptions &options) {
    const int64_t *x = integers.data();
    int64_t batch = x[1], m = x[2], n = x[3], k = x[4];
    bool transposeLhs = x[5] != 0, transposeRhs = x[6] != 0;
    Types types = typesOf(static_cast<Element>(x[0]), options.tf32);
    Stored lhsStored{transposeLhs ? k : m, transposeLhs ? m : k, x[7], x[8]};
    Stored rhsStored{transposeRhs ? n : k, transposeRhs ? k : n, x[9], x[10]};
    ZERO_RETURN_IF_ERROR(table.check("MatmulDescCreate", table.MatmulDescCreate(product.address(), types.compute, types.scale)));
    ZERO_RETURN_IF_ERROR(transpose(CUBLASLT_MATMUL_DESC_TRANSA, transposeRhs));
    ZERO_RETURN_IF_ERROR(transpose(CUBLASLT_MATMUL_DESC_TRANSB, transposeLhs));
    ZERO_RETURN_IF_ERROR(layout(rhs, types.element, rhsStored, batch));
    ZERO_RETURN_IF_ERROR(layout(lhs, types.element, lhsStored, batch));
    ZERO_RETURN_IF_ERROR(layout(out, types.element, {m, n, x[11], x[12]}, batch));
    if (epilogue.addend)
      ZERO_RETURN_IF_ERROR(layout(addend, types.element, {m, n, 0, epilogue.addendLd}, batch));
    ZERO_RETURN_IF_ERROR(describeEpilogue(pointers));
    ZERO_RETURN_IF_ERROR(choose(pointers, options.fast));
    if (found)
      return place(pointers.data());
    if (std::string words = epilogue.text(); !words.empty())
      return Status::programFailed("fused_matmul: cuBLASLt has no algorithm for (" + std::to_string(m) + " x " + std::to_string(k) + " by " + std::to_string(k) +
                                   " x " + std::to_string(n) + ") of " + elementName(x[0]) + " with " + words + " within " + std::to_string(workspaceBytes) +
                                   " bytes of workspace; with zero-compile --cuda-epilogues=false other kernels do that");
    return Status::programFailed("matmul: cuBLASLt has no algorithm for " + std::to_string(batch) + " x (" + std::to_string(m) + " x " +
                                 std::to_string(k) + " by " + std::to_string(k) + " x " + std::to_string(n) + ") of " + elementName(x[0]) +
                                 " within " + std::to_string(workspaceBytes) + " bytes of workspace");
  }

  Status enqueue(void *stream, void *const *pointers) override {
    static constexpr float kOne = 1, kZero = 0;
    static constexpr double kOneDouble = 1, kZeroDouble = 0;
    const void *alpha = isDouble ? static_cast<const void *>(&kOneDouble) : &kOne;
    const void *beta = isDouble ? static_cast<const void *>(&kZeroDouble) : &kZero;
    ZERO_RETURN_IF_ERROR(place(pointers));
    void *result = pointers[epilogue.out];
    const bool adds = epilogue.addend != 0;
    return table.check("Matmul", table.Matmul(handle->get(), product.get(), alpha, pointers[1], rhs.get(), pointers[0], lhs.get(), adds ? alpha : beta,
                                              adds ? pointers[epilogue.addend] : result, adds ? addend.get() : out.get(), result, out.get(), &algorithm.algo,
                                              workspaceBytes ? pointers[epilogue.workspace] : nullptr, workspaceBytes,
                                              static_cast<cudaStream_t>(stream)));
  }

  std::string algorithmText() const override {
    constexpr struct {
      const char *name;
      cublasLtMatmulAlgoConfigAttributes_t attribute;
    } parts[] = {{"cublaslt", CUBLASLT_ALGO_CONFIG_ID},
                 {" tile ", CUBLASLT_ALGO_CONFIG_TILE_ID},
                 {" stages ", CUBLASLT_ALGO_CONFIG_STAGES_ID},
                 {" split_k ", CUBLASLT_ALGO_CONFIG_SPLITK_NUM},
                 {" reduction ", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME}};
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
  template <typename T> Status describe(cublasLtMatmulDescAttributes_t attribute, T value) {
    return table.check("MatmulDescSetAttribute", table.MatmulDescSetAttribute(product.get(), attribute, &value, sizeof value));
  }

  /// Heuristics look how far vectors and matrices of an epilogue are aligned; they shall not see more of where those lie.
  Status describeEpilogue(std::span<void *const> pointers) {
    cublasLtEpilogue_t kind = epilogue.kind();
    if (kind == CUBLASLT_EPILOGUE_DEFAULT)
      return {};
    auto alignedLike = [&](size_t index) { return reinterpret_cast<void *>(static_cast<uintptr_t>(alignmentOf(pointers[index]))); };
    ZERO_RETURN_IF_ERROR(describe(CUBLASLT_MATMUL_DESC_EPILOGUE, kind));
    if (epilogue.bias)
      ZERO_RETURN_IF_ERROR(describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, alignedLike(epilogue.bias)));
    if (!epilogue.before)
      return {};
    if (alignmentOf(pointers[epilogue.before]) < kMostAlignment)
      return Status::badInput("fused_matmul: what GELU is applied to does not start at a multiple of " + std::to_string(kMostAlignment) + " bytes");
    ZERO_RETURN_IF_ERROR(describe(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, epilogue.beforeLd));
    return describe(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, alignedLike(epilogue.before));
  }

  /// Gives the descriptor the addresses that the call does not take; one of them may change between calls.
  Status place(void *const *pointers) {
    if (epilogue.bias)
      ZERO_RETURN_IF_ERROR(describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers[epilogue.bias]));
    return epilogue.before ? describe(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pointers[epilogue.before]) : Status();
  }

  Status transpose(cublasLtMatmulDescAttributes_t attribute, bool isTransposed) {
    return describe(attribute, isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N);
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
  Status choose(std::span<void *const> pointers, bool fast) {
    Owned<cublasLtMatmulPreference_t> preference(table.MatmulPreferenceDestroy);
    ZERO_RETURN_IF_ERROR(table.check("MatmulPreferenceCreate", table.MatmulPreferenceCreate(preference.address())));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspaceBytes));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                static_cast<uint32_t>(fast ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
    uint32_t outAlignment = alignmentOf(pointers[epilogue.out]);
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignmentOf(pointers[1])));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignmentOf(pointers[0])));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, epilogue.addend ? alignmentOf(pointers[epilogue.addend]) : outAlignment));
    ZERO_RETURN_IF_ERROR(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, outAlignment));
    std::array<cublasLtMatmulHeuristicResult_t, 8> results = {};
    int count = 0;
    cublasStatus_t status =
        table.MatmulAlgoGetHeuristic(handle->get(), product.get(), rhs.get(), lhs.get(), epilogue.addend ? addend.get() : out.get(), out.get(), preference.get(),
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
  const Epilogue epilogue;
  uint64_t workspaceBytes;
  Owned<cublasLtMatmulDesc_t> product;
  Owned<cublasLtMatrixLayout_t> lhs, rhs, addend, out;
  cublasLtMatmulHeuristicResult_t algorithm = {};
};

} // namespace

Expected<std::unique_ptr<CudaKernel>> kernels::prepareCublasLtMatmul(std::span<const int64_t> integers, std::span<void *const> pointers,
                                                                     const CudaOptions &options, StreamDevice &device) {
  const Epilogue epilogue(integers);
  size_t needed = epilogue.workspace + (options.workspaceBytes ? 1 : 0);
  if (pointers.size() != needed)
    return Status::badInput(std::string("kernel '") + (integers.size() > Epilogue::kFirst ? "fused_matmul" : "matmul") + "': takes " + std::to_string(needed) + " pointers, got " + std::to_string(pointers.size()));
  ZERO_ASSIGN_OR_RETURN(const CublasLtTable *table, CublasLtTable::get());
  ZERO_ASSIGN_OR_RETURN(std::shared_ptr<Handle> handle, Handle::of(*table, device));
  auto made = std::make_unique<CublasLtMatmul>(*table, std::move(handle), integers, options.workspaceBytes);
  ZERO_RETURN_IF_ERROR(made->prepare(integers, pointers, options));
  return std::unique_ptr<CudaKernel>(std::move(made));
}

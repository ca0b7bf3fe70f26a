//===- CublasLt.cpp - A cuBLASLt that computes on the host ----------------===//
//
// The calls that Kernels/CUDA makes, with their documented errors. A product is plain loops in the order of k: sums in float32 (f64: in
// double), rounded once, after the epilogue. Where a caller lets partial sums be rounded, they are: four of them, added in an order that
// ZERO_SHIM_TIMING decides. Misuse that a GPU might let pass is found: descriptors that were destroyed, an algorithm of another problem,
// pointers that are less aligned than the heuristics were told, a workspace smaller than the algorithm's.
//
//===----------------------------------------------------------------------===//
#include "test/CUDA/Shim/Report.h"
#include "test/CUDA/Shim/Streams.h"
#include "test/CUDA/Shim/SumOrder.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <cublasLt.h>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

using namespace zero::shim;

namespace {

struct Layout {
  cudaDataType type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0; // by columns, as cuBLASLt counts
  int64_t ld = 0, batchStride = 0;
  int32_t batch = 1;

  uint64_t elementBytes() const { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }
  uint64_t bytes() const {
    if (!rows || !columns || batch < 1)
      return 0;
    uint64_t last = static_cast<uint64_t>(batch - 1) * static_cast<uint64_t>(batchStride) + (columns - 1) * static_cast<uint64_t>(ld) + rows;
    return last * elementBytes();
  }
};
struct Product {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  cublasOperation_t transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr; // what is read there, or written
  int64_t auxLd = 0;

  bool sumsA() const { return epilogue == CUBLASLT_EPILOGUE_BGRADA; }
  bool sumsB() const { return epilogue == CUBLASLT_EPILOGUE_BGRADB; }
  bool sumsColumns() const { return epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD; }
  bool writesBias() const { return sumsA() || sumsB() || sumsColumns(); }
  bool hasBias() const { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
  bool hasGelu() const { return (epilogue & CUBLASLT_EPILOGUE_GELU) != 0; }
  bool hasSlope() const { return (epilogue & 64) != 0; }
  bool hasAux() const { return (epilogue & 128) != 0; }
};
struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t reductionSchemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignments[4] = {256, 256, 256, 256}; // A, B, C, D
};

/// Live objects of one kind; handles are their addresses.
template <typename T, typename Opaque> class Objects {
public:
  Opaque *add(T value) {
    std::lock_guard lock(mutex);
    auto object = std::make_unique<T>(value);
    auto *handle = reinterpret_cast<Opaque *>(object.get());
    live[handle] = std::move(object);
    return handle;
  }
  /// Null where the handle is none.
  T *find(Opaque *handle) {
    std::lock_guard lock(mutex);
    auto it = live.find(handle);
    return it == live.end() ? nullptr : it->second.get();
  }
  bool remove(Opaque *handle) {
    std::lock_guard lock(mutex);
    return live.erase(handle) != 0;
  }

private:
  std::mutex mutex;
  std::map<Opaque *, std::unique_ptr<T>> live;
};
struct Context {
  int device;
};
Objects<Context, cublasLtContext> contexts;
Objects<Layout, cublasLtMatrixLayoutOpaque_t> layouts;
Objects<Product, cublasLtMatmulDescOpaque_t> products;
Objects<Preference, cublasLtMatmulPreferenceOpaque_t> preferences;

/// Memory that a handle takes of a device beside its callers'.
constexpr int64_t kHandleBytes = int64_t{8} << 20;

cublasStatus_t invalid(const char *call, const std::string &text) {
  misuse(CUDA_ERROR_INVALID_VALUE, call, text);
  return CUBLAS_STATUS_INVALID_VALUE;
}

template <typename T> cublasStatus_t read(const char *call, const void *from, size_t size, T &to) {
  if (!from || size != sizeof(T))
    return invalid(call, "an attribute of " + std::to_string(sizeof(T)) + " bytes is set from " + std::to_string(size));
  std::memcpy(&to, from, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

/// What the words of an algorithm mean here: which problem it is for, and what it was promised.
struct Algorithm {
  uint64_t problem, workspaceBytes, alignments;
  uint32_t split, scheme; ///< parts that k is split in, and how their sums are added
  uint32_t vectorAlignments; ///< of bias and aux
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

uint64_t problemOf(const Product &product, const Layout &a, const Layout &b, const Layout &c, const Layout &d) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t value : {uint64_t(product.compute), uint64_t(product.scale), uint64_t(product.transposeA), uint64_t(product.transposeB), uint64_t(product.epilogue),
                         uint64_t(product.auxLd)})
    hash = mix(hash, value);
  for (const Layout *layout : {&a, &b, &c, &d})
    for (uint64_t value : {uint64_t(layout->type), layout->rows, layout->columns, uint64_t(layout->ld), uint64_t(layout->batchStride), uint64_t(layout->batch)})
      hash = mix(hash, value);
  return hash;
}

/// How far bias and aux are aligned, each in 16 bits, up to 16.
uint32_t vectorAlignments(const Product &product) {
  auto alignment = [](const void *pointer) {
    uint32_t bytes = 16;
    while (reinterpret_cast<uintptr_t>(pointer) % bytes)
      bytes /= 2;
    return bytes;
  };
  return alignment(product.bias) | alignment(product.aux) << 16;
}

/// Empty, or what cublasLt.h asks of an epilogue and is not so.
std::string checkEpilogue(const Product &product, const Layout &d) {
  switch (product.epilogue) {
  case CUBLASLT_EPILOGUE_DEFAULT:
    return "";
  case CUBLASLT_EPILOGUE_BIAS:
  case CUBLASLT_EPILOGUE_GELU:
  case CUBLASLT_EPILOGUE_GELU_AUX:
  case CUBLASLT_EPILOGUE_GELU_BIAS:
  case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
  case CUBLASLT_EPILOGUE_DGELU:
  case CUBLASLT_EPILOGUE_DGELU_BGRAD:
  case CUBLASLT_EPILOGUE_BGRADA:
  case CUBLASLT_EPILOGUE_BGRADB:
    break;
  default:
    return "epilogue " + std::to_string(product.epilogue) + " is not simulated";
  }
  if (d.batch != 1)
    return "an epilogue of a batch is not simulated";
  if ((product.hasBias() || product.writesBias()) && !product.bias)
    return "epilogue " + std::to_string(product.epilogue) + " needs CUBLASLT_MATMUL_DESC_BIAS_POINTER";
  if (!product.hasAux())
    return "";
  if (!product.aux)
    return "epilogue " + std::to_string(product.epilogue) + " needs CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER";
  if (product.auxLd % 8 || product.auxLd < static_cast<int64_t>(d.rows))
    return "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD is " + std::to_string(product.auxLd) + ", no multiple of 8 of at least the " + std::to_string(d.rows) + " rows";
  return "";
}

/// Empty, or what does not fit together.
std::string check(const Product &product, const Layout &a, const Layout &b, const Layout &c, const Layout &d) {
  auto sizes = [](const Layout &layout, cublasOperation_t operation) {
    return operation == CUBLAS_OP_N ? std::pair(layout.rows, layout.columns) : std::pair(layout.columns, layout.rows);
  };
  auto [m, k] = sizes(a, product.transposeA);
  auto [otherK, n] = sizes(b, product.transposeB);
  auto text = [](uint64_t rows, uint64_t columns) { return std::to_string(rows) + " x " + std::to_string(columns); };
  if (k != otherK || d.rows != m || d.columns != n)
    return "a product of " + text(m, k) + " and " + text(otherK, n) + " does not give " + text(d.rows, d.columns);
  if (c.rows != d.rows || c.columns != d.columns)
    return "a matrix C of " + text(c.rows, c.columns) + " for a matrix D of " + text(d.rows, d.columns);
  for (const Layout *layout : {&a, &b, &c, &d}) {
    if (!layout->rows || !layout->columns)
      return "a matrix of " + text(layout->rows, layout->columns);
    if (layout->ld < static_cast<int64_t>(layout->rows))
      return "a leading dimension of " + std::to_string(layout->ld) + " for columns of " + std::to_string(layout->rows);
    if (layout->batch != d.batch)
      return "batches of " + std::to_string(layout->batch) + " and " + std::to_string(d.batch);
    if (layout->type != d.type)
      return "matrices of two types";
  }
  bool isDouble = d.type == CUDA_R_64F;
  if (isDouble != (product.compute == CUBLAS_COMPUTE_64F) || product.scale != (isDouble ? CUDA_R_64F : CUDA_R_32F))
    return "types of elements, sums and scales that do not go together";
  return checkEpilogue(product, d);
}

/// The elements of op(layout) of one matrix as numbers, rows by columns: of a transposed operand the rows are its columns.
template <typename Number> std::vector<Number> unpack(const Layout &layout, const std::byte *data, int64_t batch, bool byRows, bool tf32) {
  std::vector<Number> numbers(layout.rows * layout.columns);
  const std::byte *matrix = data + static_cast<uint64_t>(batch * layout.batchStride) * layout.elementBytes();
  for (uint64_t column = 0; column < layout.columns; ++column)
    for (uint64_t row = 0; row < layout.rows; ++row) {
      const std::byte *at = matrix + (column * static_cast<uint64_t>(layout.ld) + row) * layout.elementBytes();
      Number number;
      if constexpr (sizeof(Number) == 8) {
        std::memcpy(&number, at, 8);
      } else {
        uint16_t bits;
        if (layout.type == CUDA_R_32F)
          std::memcpy(&number, at, 4);
        else
          std::memcpy(&bits, at, 2), number = layout.type == CUDA_R_16F ? zero::widenFloat16(bits) : zero::widenBFloat16(bits);
        if (tf32) { // ten bits behind the first, nearest even
          auto word = std::bit_cast<uint32_t>(number);
          if ((word & 0x7f800000) != 0x7f800000)
            number = std::bit_cast<float>((word + 0xfff + (word >> 13 & 1)) & ~uint32_t{0x1fff});
        }
      }
      numbers[byRows ? row * layout.columns + column : column * layout.rows + row] = number;
    }
  return numbers;
}

void store(const Layout &layout, std::byte *at, double value) { std::memcpy(at, &value, 8); }
void store(const Layout &layout, std::byte *at, float value) {
  if (layout.type == CUDA_R_32F) {
    std::memcpy(at, &value, 4);
    return;
  }
  uint16_t bits = layout.type == CUDA_R_16F ? zero::roundToFloat16(value) : zero::roundToBFloat16(value);
  std::memcpy(at, &bits, 2);
}

float load(const Layout &layout, const std::byte *at) {
  if (layout.type == CUDA_R_32F) {
    float number;
    std::memcpy(&number, at, 4);
    return number;
  }
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return layout.type == CUDA_R_16F ? zero::widenFloat16(bits) : zero::widenBFloat16(bits);
}

/// Memory as the host sees it.
struct Operands {
  const std::byte *a, *b, *c; ///< c: null where nothing is added
  std::byte *d, *bias, *aux;
};

constexpr float kGeluRoot = 0.797884561f, kGeluCubic = 0.044715f;
float gelu(float x) { return 0.5f * x * (1 + std::tanh(kGeluRoot * (x + kGeluCubic * x * x * x))); }
float geluSlope(float x) {
  float t = std::tanh(kGeluRoot * (x + kGeluCubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kGeluRoot * (1 + 3 * kGeluCubic * x * x);
}

/// D = epilogue(op(A) op(B) + C): each column of D is a sum, in the order of k, of columns of op(A).
template <typename Number>
void multiply(const Product &product, const Layout &a, const Layout &b, const Layout &c, const Layout &d, const Operands &memory, uint32_t split) {
  bool tf32 = product.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  uint64_t k = product.transposeA == CUBLAS_OP_N ? a.columns : a.rows;
  std::vector<Number> left, right, sums(d.rows), part(d.rows);
  std::vector<float> vector(product.sumsB() ? d.columns : d.rows);
  const std::vector<uint32_t> parts = partsOf(split);
  for (int64_t batch = 0; batch < d.batch; ++batch) {
    if (batch == 0 || a.batchStride)
      left = unpack<Number>(a, memory.a, batch, product.transposeA != CUBLAS_OP_N, tf32); // [k][m]
    if (batch == 0 || b.batchStride)
      right = unpack<Number>(b, memory.b, batch, product.transposeB != CUBLAS_OP_N, tf32); // [n][k]
    auto at = [&](const Layout &layout, auto *data, uint64_t row, uint64_t column) {
      return data + (static_cast<uint64_t>(batch * layout.batchStride) + column * static_cast<uint64_t>(layout.ld) + row) * layout.elementBytes();
    };
    for (uint64_t column = 0; column < d.columns; ++column) {
      std::fill(sums.begin(), sums.end(), Number(0));
      for (uint32_t number : parts) {
        std::fill(part.begin(), part.end(), Number(0));
        for (uint64_t l = k * number / split; l < k * (number + 1) / split; ++l) {
          Number factor = right[column * k + l];
          const Number *from = left.data() + l * d.rows;
          for (uint64_t row = 0; row < d.rows; ++row)
            part[row] += from[row] * factor;
        }
        for (uint64_t row = 0; row < d.rows; ++row) {
          if constexpr (sizeof(Number) == 4)
            if (split > 1) { // each is rounded, and their sum
              std::byte bits[4];
              store(d, bits, part[row]);
              store(d, bits, sums[row] + load(d, bits));
              sums[row] = load(d, bits);
              continue;
            }
          sums[row] += part[row];
        }
      }
      for (uint64_t row = 0; row < d.rows; ++row) {
        Number &sum = sums[row];
        if constexpr (sizeof(Number) == 8) {
          if (memory.c) {
            double addend;
            std::memcpy(&addend, at(c, memory.c, row, column), 8);
            sum += addend;
          }
        } else {
          if (memory.c)
            sum += load(c, at(c, memory.c, row, column));
          if (product.hasBias())
            sum += load(d, memory.bias + row * d.elementBytes());
          std::byte *aux = product.hasAux() ? memory.aux + (column * static_cast<uint64_t>(product.auxLd) + row) * d.elementBytes() : nullptr;
          if (product.hasGelu()) {
            if (aux)
              store(d, aux, sum);
            sum = gelu(sum);
          }
          if (product.hasSlope())
            sum *= geluSlope(load(d, aux));
          if (product.sumsColumns())
            vector[row] += sum;
        }
        store(d, at(d, memory.d, row, column), sum);
      }
    }
  }
  if (!product.writesBias())
    return;
  if constexpr (sizeof(Number) == 4)
    for (uint64_t index = 0; index < vector.size(); ++index) {
      for (uint64_t l = 0; l < k && !product.sumsColumns(); ++l)
        vector[index] += product.sumsA() ? left[l * d.rows + index] : right[index * k + l];
      store(d, memory.bias + index * d.elementBytes(), vector[index]);
    }
}

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  int device = currentDevice();
  if (device < 0)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (injectedFailure("cublasLtCreate") || takeDeviceMemory(device, kHandleBytes) != CUDA_SUCCESS)
    return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = contexts.add({device});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  Context *context = contexts.find(handle);
  if (!context)
    return invalid("cublasLtDestroy", "the handle is none");
  takeDeviceMemory(context->device, -kHandleBytes);
  contexts.remove(handle);
  return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case CUBLAS_STATUS_ALLOC_FAILED:
    return "CUBLAS_STATUS_ALLOC_FAILED";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  default:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld) {
  Layout made;
  made.type = type;
  made.rows = rows;
  made.columns = columns;
  made.ld = ld;
  *layout = layouts.add(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return layouts.remove(layout) ? CUBLAS_STATUS_SUCCESS : invalid("cublasLtMatrixLayoutDestroy", "the layout is none");
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t size) {
  constexpr const char *call = "cublasLtMatrixLayoutSetAttribute";
  Layout *found = layouts.find(layout);
  if (!found)
    return invalid(call, "the layout is none");
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return read(call, value, size, found->batch);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return read(call, value, size, found->batchStride);
  default:
    return invalid(call, "attribute " + std::to_string(attribute) + " is not simulated");
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product, cublasComputeType_t compute, cudaDataType_t scale) {
  *product = products.add({compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return products.remove(product) ? CUBLAS_STATUS_SUCCESS : invalid("cublasLtMatmulDescDestroy", "the descriptor is none");
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute, const void *value,
                                              size_t size) {
  constexpr const char *call = "cublasLtMatmulDescSetAttribute";
  Product *found = products.find(product);
  if (!found)
    return invalid(call, "the descriptor is none");
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return read(call, value, size, found->transposeA);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return read(call, value, size, found->transposeB);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return read(call, value, size, found->epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return read(call, value, size, found->bias);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return read(call, value, size, found->aux);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return read(call, value, size, found->auxLd);
  default:
    return invalid(call, "attribute " + std::to_string(attribute) + " is not simulated");
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = preferences.add({});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return preferences.remove(preference) ? CUBLAS_STATUS_SUCCESS : invalid("cublasLtMatmulPreferenceDestroy", "the preference is none");
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size) {
  constexpr const char *call = "cublasLtMatmulPreferenceSetAttribute";
  Preference *found = preferences.find(preference);
  if (!found)
    return invalid(call, "the preference is none");
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return read(call, value, size, found->workspaceBytes);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    return read(call, value, size, found->reductionSchemes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return read(call, value, size, found->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES]);
  default:
    return invalid(call, "attribute " + std::to_string(attribute) + " is not simulated");
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested, cublasLtMatmulHeuristicResult_t results[],
                                              int *count) {
  constexpr const char *call = "cublasLtMatmulAlgoGetHeuristic";
  Product *what = products.find(product);
  Layout *left = layouts.find(a), *right = layouts.find(b), *added = layouts.find(c), *result = layouts.find(d);
  Preference *preferred = preferences.find(preference);
  if (!contexts.find(handle) || !what || !left || !right || !added || !result || !preferred || requested < 1)
    return invalid(call, "a handle or descriptor is none");
  if (std::string fault = check(*what, *left, *right, *added, *result); !fault.empty())
    return invalid(call, fault);
  *count = 0;
  const bool isPlain = what->epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  const std::string has = setting("ZERO_SHIM_EPILOGUES"); // "narrow": of 16-bit floats alone
  if (injectedFailure(call) || (!isPlain && (result->type == CUDA_R_64F || (has == "narrow" && result->type == CUDA_R_32F))))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const uint64_t sums = what->transposeA == CUBLAS_OP_N ? left->columns : left->rows;
  const bool splits = (preferred->reductionSchemes & CUBLASLT_REDUCTION_SCHEME_INPLACE) && sums >= 32 && result->type != CUDA_R_64F;
  // Some of what it may have, so that a workspace that is not there is seen.
  Algorithm algorithm{problemOf(*what, *left, *right, *added, *result), std::min<uint64_t>(preferred->workspaceBytes, 4096), 0, splits ? 4u : 1u,
                      splits ? static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_INPLACE) : 0u, vectorAlignments(*what)};
  for (int i = 0; i < 4; ++i)
    algorithm.alignments |= static_cast<uint64_t>(preferred->alignments[i]) << (16 * i);
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
  results[0].workspaceSize = algorithm.workspaceBytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t attribute, void *value,
                                                    size_t size, size_t *written) {
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  uint32_t number = 0; // there is one algorithm
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM)
    number = algorithm.split;
  if (attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)
    number = algorithm.scheme;
  if (size != sizeof number)
    return invalid("cublasLtMatmulAlgoConfigGetAttribute", "an attribute of 4 bytes is read into " + std::to_string(size));
  std::memcpy(value, &number, sizeof number);
  if (written)
    *written = sizeof number;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha, const void *A, cublasLtMatrixLayout_t a,
                              const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C, cublasLtMatrixLayout_t c, void *D,
                              cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceBytes,
                              cudaStream_t stream) {
  constexpr const char *call = "cublasLtMatmul";
  Context *context = contexts.find(handle);
  Product *what = products.find(product);
  Layout *left = layouts.find(a), *right = layouts.find(b), *added = layouts.find(c), *result = layouts.find(d);
  if (!context || !what || !left || !right || !added || !result || !algo)
    return invalid(call, "a handle or descriptor is none, or there is no algorithm");
  if (deviceOf(stream) != context->device)
    return invalid(call, "the stream is not one of the handle's device");
  if (std::string fault = check(*what, *left, *right, *added, *result); !fault.empty())
    return invalid(call, fault);
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  if (algorithm.problem != problemOf(*what, *left, *right, *added, *result))
    return invalid(call, "the algorithm is that of another problem");
  if (workspaceBytes < algorithm.workspaceBytes || (algorithm.workspaceBytes && !workspace))
    return invalid(call, "the algorithm takes " + std::to_string(algorithm.workspaceBytes) + " bytes of workspace, there are " +
                             std::to_string(workspace ? workspaceBytes : 0));
  if (reinterpret_cast<uintptr_t>(workspace) % 256)
    return invalid(call, "the workspace does not start at a multiple of 256");
  const void *pointers[] = {A, B, C, D};
  for (int i = 0; i < 4; ++i)
    if (uint64_t alignment = algorithm.alignments >> (16 * i) & 0xffff; reinterpret_cast<uintptr_t>(pointers[i]) % alignment)
      return invalid(call, std::string("matrix ") + "ABCD"[i] + " is not a multiple of the " + std::to_string(alignment) +
                               " bytes that the heuristics were told");
  const uint32_t alignments = vectorAlignments(*what);
  if ((what->hasBias() || what->writesBias()) && (alignments & 0xffff) < (algorithm.vectorAlignments & 0xffff))
    return invalid(call, "the bias is not a multiple of the " + std::to_string(algorithm.vectorAlignments & 0xffff) + " bytes that the heuristics saw");
  if (what->hasAux() && alignments >> 16 < algorithm.vectorAlignments >> 16)
    return invalid(call, "the auxiliary matrix is not a multiple of the " + std::to_string(algorithm.vectorAlignments >> 16) + " bytes that the heuristics saw");
  bool isDouble = result->type == CUDA_R_64F;
  auto isNumber = [&](const void *scalar, double wanted) {
    return isDouble ? *static_cast<const double *>(scalar) == wanted : *static_cast<const float *>(scalar) == static_cast<float>(wanted);
  };
  const bool adds = isNumber(beta, 1);
  if (!isNumber(alpha, 1) || !(adds || isNumber(beta, 0)))
    return invalid(call, "scales other than 1 and 0 are not simulated");
  if (adds && what->epilogue != CUBLASLT_EPILOGUE_DEFAULT && what->epilogue != CUBLASLT_EPILOGUE_BIAS)
    return invalid(call, "a matrix C beside epilogue " + std::to_string(what->epilogue) + " is not simulated");
  if (C == D && (added->ld != result->ld || added->batchStride != result->batchStride))
    return invalid(call, "matrix C lies where D does, with other strides");
  if (injectedFailure(call))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  StreamWork work;
  work.name = call;
  const uint64_t element = result->elementBytes(), biasElements = !what->hasBias() && !what->writesBias() ? 0 : what->sumsB() ? result->columns : result->rows,
                 auxElements = what->hasAux() ? (result->columns - 1) * static_cast<uint64_t>(what->auxLd) + result->rows : 0;
  work.ranges = {{A, left->bytes(), Access::Read},
                 {B, right->bytes(), Access::Read},
                 {D, result->bytes(), Access::Write},
                 {workspace, algorithm.workspaceBytes, Access::Write},
                 {C, adds ? added->bytes() : 0, Access::Read},
                 {what->bias, biasElements * element, what->writesBias() ? Access::Write : Access::Read},
                 {what->aux, auxElements * element, what->hasGelu() ? Access::Write : Access::Read}};
  work.run = [=, what = *what, left = *left, right = *right, added = *added, result = *result](std::span<std::byte *const> memory) {
    if (algorithm.workspaceBytes) // what it leaves there is nothing to read
      std::memset(memory[3], 0xa5, algorithm.workspaceBytes);
    (isDouble ? multiply<double> : multiply<float>)(what, left, right, added, result, {memory[0], memory[1], adds ? memory[4] : nullptr, memory[2], memory[5], memory[6]},
                                                    algorithm.split);
    return CUDA_SUCCESS;
  };
  return enqueue(stream, std::move(work)) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // extern "C"

//===- CudnnDescriptor.h - Descriptors of cuDNN's graph API ---------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNDESCRIPTOR_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNDESCRIPTOR_H

#include "lib/Runtime/Kernels/CUDA/CudnnTable.h"
#include <concepts>
#include <vector>

namespace zero::kernels {

/// The name that cuDNN has for the type of an attribute's elements.
template <typename T> inline constexpr cudnnBackendAttributeType_t kCudnnType = CUDNN_TYPE_INT64;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<float> = CUDNN_TYPE_FLOAT;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<double> = CUDNN_TYPE_DOUBLE;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<char> = CUDNN_TYPE_CHAR;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<void *> = CUDNN_TYPE_VOID_PTR;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <> inline constexpr cudnnBackendAttributeType_t kCudnnType<cudnnBackendBehaviorNote_t> = CUDNN_TYPE_BEHAVIOR_NOTE;

/// A descriptor that is destroyed with this. Calls end at the first that fails: what it says is kept, and those behind it do nothing.
class CudnnDescriptor {
public:
  CudnnDescriptor(const CudnnTable &table, cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor &&other) noexcept;
  ~CudnnDescriptor();

  template <typename T> CudnnDescriptor &set(cudnnBackendAttributeName_t name, const std::vector<T> &values) {
    return setRaw(name, kCudnnType<T>, static_cast<int64_t>(values.size()), values.data());
  }
  template <typename T>
    requires(!std::derived_from<T, CudnnDescriptor>)
  CudnnDescriptor &set(cudnnBackendAttributeName_t name, T value) {
    static_assert(kCudnnType<T> != CUDNN_TYPE_INT64 || std::same_as<T, int64_t>);
    return setRaw(name, kCudnnType<T>, 1, &value);
  }
  CudnnDescriptor &set(cudnnBackendAttributeName_t name, const CudnnDescriptor &value) {
    return setRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor);
  }
  /// Whether all calls so far, and this one, were well.
  bool finalize();

  /// At most `most` elements; none after an error.
  template <typename T> std::vector<T> list(cudnnBackendAttributeName_t name, int64_t most) {
    std::vector<T> values(static_cast<size_t>(most));
    values.resize(static_cast<size_t>(getRaw(name, kCudnnType<T>, most, values.data())));
    return values;
  }
  int64_t number(cudnnBackendAttributeName_t name) {
    std::vector<int64_t> values = list<int64_t>(name, 1);
    return values.empty() ? 0 : values.front();
  }
  /// Lets cuDNN make `target`, which nothing was done with yet, what this one holds under `name`.
  bool fill(cudnnBackendAttributeName_t name, CudnnDescriptor &target);
  /// Descriptors of `type` that cuDNN fills in: as many as there are.
  std::vector<CudnnDescriptor> descriptors(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return descriptor; }
  /// Whether what failed is something that cuDNN does not do, and not a fault.
  bool isUnsupported() const { return CUDNN_STATUS_CATEGORY(failed) == CUDNN_STATUS_NOT_SUPPORTED; }
  const std::string &words() const { return failure; }
  /// ProgramFailed with what the first call that failed has said.
  Status status() const;

private:
  CudnnDescriptor &setRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void *values);
  int64_t getRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, void *values);
  bool note(const char *call, cudnnStatus_t status);

  const CudnnTable &table;
  cudnnBackendDescriptor_t descriptor = nullptr;
  cudnnStatus_t failed = CUDNN_STATUS_SUCCESS;
  const char *failedCall = "";
  std::string failure;
};

} // namespace zero::kernels

#endif

//===- CudnnEngines.h - Which of cuDNN's engines runs a graph -------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNENGINES_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNENGINES_H

#include "lib/Runtime/Kernels/CUDA/CudnnDescriptor.h"
#include <optional>

namespace zero::kernels {

/// What an engine is chosen for: the device of a handle, or one of which only the properties are known.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor *properties = nullptr; ///< a CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, where there is no handle
};

/// What engines may do. Of the notes that cuDNN has on its engines, those that are not named here are never allowed to narrow numbers.
struct CudnnPermissions {
  uint64_t workspaceBytes = 0;
  bool isFloat32 = false; ///< tensor cores round its operands to TF32
  bool tf32 = false;
  bool fast = false; ///< other orders of sums, rounded partial sums, FFT and Winograd transforms
};

/// An engine that is ready to run, or why there is none.
struct CudnnChoice {
  std::optional<CudnnDescriptor> configuration, plan; ///< the one that the other was made of
  int64_t engine = 0;
  uint64_t workspaceBytes = 0;
  uint64_t beforeBytes = 0; ///< the least workspace of those that rank before it and found too little; 0 where there are none
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::string refusal; ///< "of 36 engine configurations 28 round float32 to TF32, 8 take more than 0 bytes of workspace (at least 512)"

  std::string text() const; ///< "cudnn engine 67 on tensor cores, 12918931 bytes of workspace"
};

/// The first that cuDNN's heuristics (mode A, then the fallback) rank among those that are allowed and build: a function of the graph, the
/// device and the permissions alone. In each list those that need no compiler at run time come first.
Expected<CudnnChoice> chooseCudnnEngine(const CudnnTable &table, const CudnnDescriptor &graph, const CudnnTarget &target,
                                        const CudnnPermissions &permissions);

} // namespace zero::kernels

#endif

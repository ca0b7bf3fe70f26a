//===- CudnnTable.h - The functions of cuDNN, loaded at run time ----------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNTABLE_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNTABLE_H

#include "zero/Runtime/Base/Status.h"
#include <cudnn_graph.h>

/// Every function that is called, by its name in cudnn_graph.h behind "cudnn".
#define ZERO_CUDNN_FUNCTIONS(F)                                                                                                            \
  F(Create)                                                                                                                                \
  F(Destroy)                                                                                                                               \
  F(SetStream)                                                                                                                             \
  F(GetVersion)                                                                                                                            \
  F(GetErrorString)                                                                                                                        \
  F(GetLastErrorString)                                                                                                                    \
  F(BackendCreateDescriptor)                                                                                                               \
  F(BackendDestroyDescriptor)                                                                                                              \
  F(BackendSetAttribute)                                                                                                                   \
  F(BackendGetAttribute)                                                                                                                   \
  F(BackendFinalize)                                                                                                                       \
  F(BackendExecute)

namespace zero::kernels {

struct CudnnTable {
#define ZERO_DECLARE(name) decltype(&cudnn##name) name;
  ZERO_CUDNN_FUNCTIONS(ZERO_DECLARE)
#undef ZERO_DECLARE

  /// Loads libcudnn.so.9, once for the process; an error names the library or the function that is missing.
  static Expected<const CudnnTable *> get();
  /// "9.19.0".
  std::string version() const;
  /// "CUDNN_STATUS_BAD_PARAM (the library's own words on its last error)".
  std::string describe(cudnnStatus_t status) const;
  /// ProgramFailed "CALL: " + `describe`, and what to do without, for anything but success.
  Status check(const char *call, cudnnStatus_t status) const;
};

} // namespace zero::kernels

#endif

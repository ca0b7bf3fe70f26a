//===- CublasLtTable.h - The functions of cuBLASLt, loaded at run time ----===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_CUBLASLTTABLE_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_CUBLASLTTABLE_H

#include "zero/Runtime/Base/Status.h"
#include <cublasLt.h>

/// Every function that is called, by its name in cublasLt.h behind "cublasLt".
#define ZERO_CUBLASLT_FUNCTIONS(F)                                                                                                         \
  F(Create)                                                                                                                                \
  F(Destroy)                                                                                                                               \
  F(GetStatusName)                                                                                                                         \
  F(MatrixLayoutCreate)                                                                                                                    \
  F(MatrixLayoutDestroy)                                                                                                                   \
  F(MatrixLayoutSetAttribute)                                                                                                              \
  F(MatmulDescCreate)                                                                                                                      \
  F(MatmulDescDestroy)                                                                                                                     \
  F(MatmulDescSetAttribute)                                                                                                                \
  F(MatmulPreferenceCreate)                                                                                                                \
  F(MatmulPreferenceDestroy)                                                                                                               \
  F(MatmulPreferenceSetAttribute)                                                                                                          \
  F(MatmulAlgoGetHeuristic)                                                                                                                \
  F(MatmulAlgoConfigGetAttribute)                                                                                                          \
  F(Matmul)

namespace zero::kernels {

struct CublasLtTable {
#define ZERO_DECLARE(name) decltype(&cublasLt##name) name;
  ZERO_CUBLASLT_FUNCTIONS(ZERO_DECLARE)
#undef ZERO_DECLARE

  /// Loads libcublasLt.so.13, once for the process; an error names the library or the function that is missing.
  static Expected<const CublasLtTable *> get();
  /// ProgramFailed "CALL: CUBLAS_STATUS_..." for anything but success.
  Status check(const char *call, cublasStatus_t status) const;
};

} // namespace zero::kernels

#endif

//===- NcclTable.h - The functions of NCCL, loaded at run time ------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLTABLE_H
#define ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLTABLE_H

#include "zero/Runtime/Base/Status.h"
#include <nccl.h>

namespace zero {

#define ZERO_NCCL_FUNCTIONS(X)                                                                               \
  X(ncclGetVersion)                                                                                          \
  X(ncclGetUniqueId)                                                                                         \
  X(ncclCommInitRank)                                                                                        \
  X(ncclCommDestroy)                                                                                         \
  X(ncclCommAbort)                                                                                           \
  X(ncclCommGetAsyncError)                                                                                   \
  X(ncclCommRegister)                                                                                        \
  X(ncclCommDeregister)                                                                                      \
  X(ncclGetErrorString)                                                                                      \
  X(ncclGetLastError)                                                                                        \
  X(ncclAllGather)                                                                                           \
  X(ncclReduceScatter)                                                                                       \
  X(ncclAllReduce)                                                                                           \
  X(ncclSend)                                                                                                \
  X(ncclRecv)                                                                                                \
  X(ncclGroupStart)                                                                                          \
  X(ncclGroupEnd)

struct NcclTable {
#define ZERO_NCCL_POINTER(name) decltype(&::name) name = nullptr;
  ZERO_NCCL_FUNCTIONS(ZERO_NCCL_POINTER)
#undef ZERO_NCCL_POINTER
  /// Stops a communicator's work and frees nothing; null in libraries that have no such function (those before 2.28).
  ncclResult_t (*ncclCommRevoke)(ncclComm_t communicator, int flags) = nullptr;

  /// libnccl.so.2, loaded once for the process (LoadedLibrary says from where). The error names the library, or the function that it
  /// lacks, or its version.
  static Expected<const NcclTable *> load();

  /// The error of a call: its name, NCCL's text for the code, and what NCCL says about this case. `communicator` may be null.
  Status status(ncclResult_t result, const char *call, ncclComm_t communicator) const;
};

/// Calls a function of `table`; returns its error from the enclosing function.
#define ZERO_NCCL(table, communicator, function, ...)                                                        \
  do {                                                                                                       \
    if (::ncclResult_t ncclResult = (table).function(__VA_ARGS__); ncclResult != ncclSuccess)                \
      return (table).status(ncclResult, #function, communicator);                                            \
  } while (false)

} // namespace zero

#endif

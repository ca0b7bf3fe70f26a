//===- CublasLtTable.cpp - The functions of cuBLASLt, loaded at run time --===//
#include "lib/Runtime/Kernels/CUDA/CublasLtTable.h"
#include "zero/Runtime/Base/LoadedLibrary.h"

using namespace zero;
using namespace zero::kernels;

static Expected<CublasLtTable> load() {
  ZERO_ASSIGN_OR_RETURN(LoadedLibrary library, LoadedLibrary::open("libcublasLt.so.13"));
  CublasLtTable table;
#define ZERO_FIND(name)                                                                                                                    \
  {                                                                                                                                        \
    ZERO_ASSIGN_OR_RETURN(void *function, library.find("cublasLt" #name));                                                                 \
    table.name = reinterpret_cast<decltype(table.name)>(function);                                                                         \
  }
  ZERO_CUBLASLT_FUNCTIONS(ZERO_FIND)
#undef ZERO_FIND
  return table;
}

Expected<const CublasLtTable *> CublasLtTable::get() {
  static const Expected<CublasLtTable> table = load();
  if (!table.ok())
    return table.status();
  return &*table;
}

Status CublasLtTable::check(const char *call, cublasStatus_t status) const {
  if (status == CUBLAS_STATUS_SUCCESS)
    return {};
  return Status::programFailed(std::string("cublasLt") + call + ": " + GetStatusName(status));
}

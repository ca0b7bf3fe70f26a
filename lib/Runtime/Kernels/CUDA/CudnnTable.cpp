//===- CudnnTable.cpp - The functions of cuDNN, loaded at run time --------===//
#include "lib/Runtime/Kernels/CUDA/CudnnTable.h"
#include "zero/Runtime/Base/LoadedLibrary.h"
#include "zero/Runtime/Kernels/CudaKernels.h"

using namespace zero;
using namespace zero::kernels;

static Expected<CudnnTable> load() {
  ZERO_ASSIGN_OR_RETURN(LoadedLibrary library, LoadedLibrary::open("libcudnn.so.9"));
  CudnnTable table;
#define ZERO_FIND(name)                                                                                                                    \
  {                                                                                                                                        \
    ZERO_ASSIGN_OR_RETURN(void *function, library.find("cudnn" #name));                                                                    \
    table.name = reinterpret_cast<decltype(table.name)>(function);                                                                         \
  }
  ZERO_CUDNN_FUNCTIONS(ZERO_FIND)
#undef ZERO_FIND
  return table;
}

Expected<const CudnnTable *> CudnnTable::get() {
  static const Expected<CudnnTable> table = load();
  if (!table.ok())
    return table.status();
  return &*table;
}

std::string CudnnTable::version() const {
  const size_t number = GetVersion();
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

std::string CudnnTable::describe(cudnnStatus_t status) const {
  char words[512] = "";
  GetLastErrorString(words, sizeof words);
  return std::string(GetErrorString(status)) + (*words ? " (" + std::string(words) + ")" : "");
}

Status CudnnTable::check(const char *call, cudnnStatus_t status) const {
  if (status == CUDNN_STATUS_SUCCESS)
    return {};
  return Status::programFailed(std::string("cudnn") + call + ": " + describe(status) +
                               "; with zero-compile --cuda-convolutions=generated kernels of the program compute convolutions");
}

Expected<std::string> zero::findCudnn() {
  ZERO_ASSIGN_OR_RETURN(const CudnnTable *table, CudnnTable::get());
  return table->version();
}

//===- NcclTable.cpp - The functions of NCCL, loaded at run time ----------===//
#include "lib/Runtime/HAL/Comm/NCCL/NcclTable.h"
#include "zero/Runtime/Base/LoadedLibrary.h"

namespace zero {
namespace {

/// The first whose reduce_scatter, all_gather and send take registered buffers.
constexpr int kOldest = NCCL_VERSION(2, 19, 0);

std::string versionText(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

Expected<NcclTable> loadTable() {
  ZERO_ASSIGN_OR_RETURN(LoadedLibrary library, LoadedLibrary::open("libnccl.so.2"));
  NcclTable table;
#define ZERO_NCCL_FIND(name)                                                                                 \
  {                                                                                                          \
    ZERO_ASSIGN_OR_RETURN(void *found, library.find(#name));                                                 \
    table.name = reinterpret_cast<decltype(table.name)>(found);                                              \
  }
  ZERO_NCCL_FUNCTIONS(ZERO_NCCL_FIND)
#undef ZERO_NCCL_FIND
  if (auto found = library.find("ncclCommRevoke"); found.ok())
    table.ncclCommRevoke = reinterpret_cast<decltype(table.ncclCommRevoke)>(*found);
  int version = 0;
  ZERO_NCCL(table, nullptr, ncclGetVersion, &version);
  if (version < kOldest)
    return Status::badInput("libnccl.so.2 is version " + versionText(version) + ", zero-run needs " + versionText(kOldest) + " or later");
  return table;
}

} // namespace

Expected<const NcclTable *> NcclTable::load() {
  static const Expected<NcclTable> loaded = loadTable();
  if (!loaded.ok())
    return loaded.status();
  return &*loaded;
}

Status NcclTable::status(ncclResult_t result, const char *call, ncclComm_t communicator) const {
  std::string text = std::string(call) + " failed: " + ncclGetErrorString(result);
  // What NCCL would print where NCCL_DEBUG=WARN is set.
  if (const char *last = ncclGetLastError(communicator); last && *last)
    text += ": " + std::string(last);
  while (text.ends_with('\n') || text.ends_with('.'))
    text.pop_back();
  return Status::communication(text);
}

} // namespace zero

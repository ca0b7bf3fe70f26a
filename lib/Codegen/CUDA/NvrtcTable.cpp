//===- NvrtcTable.cpp - NVRTC behind a table of functions -----------------===//
#include "NvrtcTable.h"
#include "zero/Runtime/Base/LoadedLibrary.h"

namespace zero {

static Expected<NvrtcTable> load() {
  ZERO_ASSIGN_OR_RETURN(LoadedLibrary library, LoadedLibrary::open("libnvrtc.so.13"));
  NvrtcTable table;
#define ZERO_LOAD(name)                                                                                                                                  \
  {                                                                                                                                                      \
    ZERO_ASSIGN_OR_RETURN(void *function, library.find(#name));                                                                                          \
    table.name = reinterpret_cast<decltype(table.name)>(function);                                                                                       \
  }
  ZERO_NVRTC_FUNCTIONS(ZERO_LOAD)
#undef ZERO_LOAD
  return table;
}

Expected<const NvrtcTable *> NvrtcTable::get() {
  static const Expected<NvrtcTable> table = load();
  if (!table.ok())
    return table.status();
  return &*table;
}

} // namespace zero

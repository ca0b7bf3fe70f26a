//===- LoadedLibrary.h - Libraries of CUDA, loaded at run time ------------===//
//
// Nothing of this project is linked to them: one build serves machines with and without.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_BASE_LOADEDLIBRARY_H
#define ZERO_RUNTIME_BASE_LOADEDLIBRARY_H

#include "zero/Runtime/Base/Status.h"

namespace zero {

class LoadedLibrary {
public:
  /// Loads a library by its name ("libcuda.so.1"): from the folder ZERO_CUDA_LIBRARY_PATH where that is set, else from where the
  /// system looks. It stays loaded for the rest of the process. BadInput with the system's words where that fails.
  static Expected<LoadedLibrary> open(const std::string &name);

  /// BadInput naming symbol and library where it has none of that name.
  Expected<void *> find(const std::string &symbol) const;
  /// As it was loaded.
  const std::string &path() const { return loadedFrom; }

private:
  LoadedLibrary(void *handle, std::string path) : handle(handle), loadedFrom(std::move(path)) {}
  void *handle;
  std::string loadedFrom;
};

} // namespace zero

#endif

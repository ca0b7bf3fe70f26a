//===- LoadedLibrary.cpp - Libraries of CUDA, loaded at run time ----------===//
#include "zero/Runtime/Base/LoadedLibrary.h"
#include "zero/Runtime/Base/Env.h"
#include <dlfcn.h>

namespace zero {

Expected<LoadedLibrary> LoadedLibrary::open(const std::string &name) {
  std::string folder = env::cudaLibraryPath(), path = folder.empty() ? name : folder + "/" + name;
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *words = ::dlerror();
    return Status::badInput("cannot load " + name + (folder.empty() ? "" : " from ZERO_CUDA_LIBRARY_PATH=" + folder) + ": " +
                            (words ? words : "unknown error"));
  }
  return LoadedLibrary(handle, path);
}

Expected<void *> LoadedLibrary::find(const std::string &symbol) const {
  if (void *address = ::dlsym(handle, symbol.c_str()))
    return address;
  return Status::badInput("'" + loadedFrom + "' has no '" + symbol + "': it is too old for this build");
}

} // namespace zero

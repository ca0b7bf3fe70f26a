//===- LibraryHandle.h - One handle of a library for each device ----------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_LIBRARYHANDLE_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_LIBRARYHANDLE_H

#include "zero/Runtime/Base/Status.h"
#include "zero/Runtime/HAL/Stream.h"
#include <map>
#include <memory>
#include <mutex>

namespace zero::kernels {

/// A handle of `Table`'s library (Create, Destroy), shared by all that `Derived::of` gives it to for one device and destroyed behind the last.
template <typename Derived, typename Table, typename RawHandle> class LibraryHandle {
public:
  static Expected<std::shared_ptr<Derived>> of(const Table &table, StreamDevice &device) {
    static std::mutex mutex;
    static std::map<StreamDevice *, std::weak_ptr<Derived>> handles;
    std::lock_guard lock(mutex);
    std::weak_ptr<Derived> &known = handles[&device];
    if (std::shared_ptr<Derived> handle = known.lock())
      return handle;
    auto made = std::make_shared<Derived>(table);
    ZERO_RETURN_IF_ERROR(table.check("Create", table.Create(&made->handle)));
    known = made;
    return made;
  }
  explicit LibraryHandle(const Table &table) : table(table) {}
  LibraryHandle(const LibraryHandle &) = delete;
  ~LibraryHandle() {
    if (handle)
      (void)table.Destroy(handle);
  }
  RawHandle get() const { return handle; }

protected:
  const Table &table;

private:
  RawHandle handle = nullptr;
};

} // namespace zero::kernels

#endif

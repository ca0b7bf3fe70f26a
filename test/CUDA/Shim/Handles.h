//===- Handles.h - Handles of live and of destroyed objects ---------------===//
//
// A handle is a number that is no address of a process and is never given twice: so one that is used after its object was destroyed, or
// that is none at all, is told apart and named.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_HANDLES_H
#define ZERO_TEST_CUDA_SHIM_HANDLES_H

#include "test/CUDA/Shim/Report.h"
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace zero::shim {

/// `kind`: "stream", for messages.
template <typename T> class Handles {
public:
  Handles(std::string kind, uint64_t number) : kind(std::move(kind)), base(0xC0DA'0000'0000'0000 | number << 40) {}

  uint64_t add(std::shared_ptr<T> object) {
    std::unique_lock lock(mutex);
    uint64_t handle = base | ++given << 4;
    live.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<T> find(uint64_t handle) const {
    std::shared_lock lock(mutex);
    auto found = live.find(handle);
    return found == live.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> remove(uint64_t handle) {
    std::unique_lock lock(mutex);
    auto found = live.find(handle);
    if (found == live.end())
      return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    live.erase(found);
    return object;
  }
  /// What to say of a handle that `find` does not find.
  std::string describe(uint64_t handle) const {
    std::shared_lock lock(mutex);
    uint64_t number = (handle & ~base) >> 4;
    if ((handle & base) == base && number && number <= given && !(handle & 15))
      return text(kind, " ", number, " was destroyed");
    return text(handle ? hex(handle) : std::string("null"), " is no ", kind);
  }
  std::string name(uint64_t handle) const { return text(kind, " ", (handle & ~base) >> 4); }
  /// Those that `predicate` holds for.
  template <typename Predicate> std::vector<std::string> names(Predicate predicate) const {
    std::shared_lock lock(mutex);
    std::vector<std::string> all;
    for (const auto &[handle, object] : live)
      if (predicate(*object))
        all.push_back(name(handle));
    return all;
  }

  std::vector<std::shared_ptr<T>> all() const {
    std::shared_lock lock(mutex);
    std::vector<std::shared_ptr<T>> objects;
    for (const auto &[handle, object] : live)
      objects.push_back(object);
    return objects;
  }
  template <typename Predicate> void removeIf(Predicate predicate) {
    std::unique_lock lock(mutex);
    std::erase_if(live, [&](const auto &entry) { return predicate(*entry.second); });
  }

private:
  const std::string kind;
  const uint64_t base;
  mutable std::shared_mutex mutex;
  uint64_t given = 0;
  std::map<uint64_t, std::shared_ptr<T>> live;
};

template <typename Handle> uint64_t numberOf(Handle handle) { return reinterpret_cast<uint64_t>(handle); }
template <typename Handle> Handle handleOf(uint64_t number) { return reinterpret_cast<Handle>(number); }

} // namespace zero::shim

#endif

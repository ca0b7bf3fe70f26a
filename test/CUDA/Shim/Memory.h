//===- Memory.h - Memory of the simulated devices -------------------------===//
//
// Each reservation of device addresses lies twice in the address space of the process: at the device's address nobody can touch it; at
// its alias, a fixed distance away, kernels and copies of the simulated driver work. Inaccessible gaps surround both. Fresh memory is
// filled with 0xFF bytes: a NaN in every type of float, -1 in every integer.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_MEMORY_H
#define ZERO_TEST_CUDA_SHIM_MEMORY_H

#include "test/CUDA/Shim/Handles.h"
#include <map>
#include <memory>
#include <shared_mutex>

namespace zero::shim {

inline constexpr uint64_t kPage = 4096;
inline constexpr int kPoison = 0xFF;

/// Bytes of a device, held by handles and by mappings.
struct PhysicalMemory {
  PhysicalMemory(int device, uint64_t size);
  ~PhysicalMemory();
  const int device;
  const uint64_t size;
  int file = -1;
};

Handles<PhysicalMemory> &memoryHandles();

/// Where an address was found, or why not.
struct Place {
  std::byte *alias = nullptr;
  /// "is not in device memory", "lies 8 bytes past the end of ...", ...; empty where the range is good.
  std::string fault;
};

class DeviceMemory {
public:
  static DeviceMemory &get();

  CUresult create(std::shared_ptr<PhysicalMemory> &memory, uint64_t size, int device);
  CUresult reserve(CUdeviceptr &address, uint64_t size, uint64_t alignment);
  CUresult free(CUdeviceptr address, uint64_t size);
  CUresult map(CUdeviceptr address, uint64_t size, uint64_t offset, std::shared_ptr<PhysicalMemory> memory);
  CUresult unmap(CUdeviceptr address, uint64_t size);
  CUresult setAccess(CUdeviceptr address, uint64_t size, int device, bool read, bool write);
  /// cuMemAlloc: ends where an inaccessible gap begins, up to alignment.
  CUresult allocate(CUdeviceptr &address, uint64_t size, int device);
  CUresult freeAllocation(CUdeviceptr address);
  /// All that cuMemAlloc gave of a device.
  void freeAllocations(int device);

  /// Whole range, accessible for `device`.
  Place find(const void *address, uint64_t bytes, int device, Access access) const;
  /// As a kernel's parameter: an address inside of memory, or just past its end.
  Place findPointer(const void *address, int device) const;
  /// Whether the address belongs to a reservation at all, gaps included.
  bool reserves(const void *address) const;
  /// The device that the memory at `address` is of; -1: none.
  int deviceAt(const void *address) const;

  /// Whether a fault at `address` is about device memory, and what to say of it: of an alias, or of a device's address.
  struct Fault {
    bool known = false, isAlias = false;
    std::string text;
  };
  Fault explain(const void *address) const;

  /// What of a device's memory is still there: for the report of leaks.
  std::vector<std::string> leaks(int device) const;

private:
  struct Mapping {
    uint64_t size;          ///< of pages
    uint64_t begin, length; ///< what may be touched, from the first page
    std::shared_ptr<PhysicalMemory> memory;
    uint64_t readers = 0, writers = 0; ///< bits of devices
  };
  struct Reservation {
    uint64_t base, size, gap; ///< addresses of the device, without the gaps around them
    int64_t distance;         ///< from a device's address to its alias
    bool isAllocation = false;
    std::map<uint64_t, Mapping> mappings;
  };
  const Reservation *around(uint64_t address) const;
  Reservation *around(uint64_t address);
  std::string describe(const Reservation &reservation, uint64_t address) const;

  mutable std::shared_mutex mutex;
  std::map<uint64_t, Reservation> reservations; ///< by base - gap
};

/// Device memory that libraries hold on to.
class HeldMemory {
public:
  static HeldMemory &get();
  void hold(const void *address, uint64_t bytes, const std::string &by);
  void release(const void *address, uint64_t bytes);
  /// Who holds any of these bytes; empty: nobody.
  std::string holder(uint64_t address, uint64_t bytes) const;

private:
  struct Hold {
    uint64_t address, bytes;
    std::string by;
  };
  mutable std::mutex mutex;
  std::vector<Hold> holds;
};

/// Pinned memory of the host.
class HostMemory {
public:
  static HostMemory &get();
  /// `device`: of the context that it goes with.
  CUresult allocate(void *&address, uint64_t size, int device);
  CUresult free(void *address);
  void freeAll(int device);
  enum class Kind { Pageable, Pinned, Freed, Straddling };
  Kind kindOf(const void *address, uint64_t bytes) const;
  std::vector<std::string> leaks(int device) const;

private:
  struct Pages {
    uint64_t size;
    int device;
  };
  using Ranges = std::map<uint64_t, Pages>; ///< by address
  void close(Ranges::iterator range);

  mutable std::shared_mutex mutex;
  Ranges live, freed;
};

/// Bytes of each device that are taken and that it has.
class DeviceBytes {
public:
  static DeviceBytes &get();
  bool take(int device, int64_t bytes);
  uint64_t used(int device) const;
  uint64_t total() const;

private:
  mutable std::mutex mutex;
  std::map<int, uint64_t> taken;
};

} // namespace zero::shim

#endif

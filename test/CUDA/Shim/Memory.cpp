//===- Memory.cpp - Memory of the simulated devices -----------------------===//
#include "test/CUDA/Shim/Memory.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace zero::shim {
namespace {

/// Wide enough for an index that is off by a row or more.
constexpr uint64_t kReservationGap = 64 << 20, kAllocationGap = 16 << 20, kHostGap = 1 << 20;
/// What cuMemAlloc aligns to.
constexpr uint64_t kAllocationAlignment = 256;

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// Addresses that nobody may touch.
uint64_t reserveAddresses(uint64_t size) {
  void *at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(at);
}

void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

/// Makes pages inaccessible again and gives their memory back.
void closePages(uint64_t address, uint64_t size) {
  mmap(pointer(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

} // namespace

PhysicalMemory::PhysicalMemory(int device, uint64_t size) : device(device), size(size) {
  file = memfd_create("simulated device memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0)
    return;
  void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED)
    return;
  std::memset(at, kPoison, size);
  munmap(at, size);
}

PhysicalMemory::~PhysicalMemory() {
  if (file >= 0)
    close(file);
  DeviceBytes::get().take(device, -static_cast<int64_t>(size));
}

Handles<PhysicalMemory> &memoryHandles() {
  static auto *all = new Handles<PhysicalMemory>("memory handle", 7);
  return *all;
}

HeldMemory &HeldMemory::get() {
  static auto *held = new HeldMemory;
  return *held;
}

void HeldMemory::hold(const void *address, uint64_t bytes, const std::string &by) {
  std::lock_guard lock(mutex);
  holds.push_back({reinterpret_cast<uint64_t>(address), bytes, by});
}

void HeldMemory::release(const void *address, uint64_t bytes) {
  std::lock_guard lock(mutex);
  auto found = std::find_if(holds.begin(), holds.end(), [&](const Hold &hold) { return hold.address == reinterpret_cast<uint64_t>(address) && hold.bytes == bytes; });
  if (found != holds.end())
    holds.erase(found);
}

std::string HeldMemory::holder(uint64_t address, uint64_t bytes) const {
  std::lock_guard lock(mutex);
  for (const Hold &hold : holds)
    if (hold.address < address + bytes && address < hold.address + hold.bytes)
      return hold.by;
  return "";
}

DeviceMemory &DeviceMemory::get() {
  static auto *memory = new DeviceMemory;
  return *memory;
}

CUresult DeviceMemory::create(std::shared_ptr<PhysicalMemory> &memory, uint64_t size, int device) {
  if (!DeviceBytes::get().take(device, static_cast<int64_t>(size)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  memory = std::make_shared<PhysicalMemory>(device, size);
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::reserve(CUdeviceptr &address, uint64_t size, uint64_t alignment) {
  if (!size || size % kPage)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemAddressReserve", text("size ", size, " is no multiple of ", kPage));
  if (alignment & (alignment - 1))
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemAddressReserve", text("alignment ", alignment, " is no power of two"));
  uint64_t unit = std::max(alignment, kPage), half = roundUp(size + 2 * kReservationGap, unit);
  uint64_t begin = reserveAddresses(2 * half + unit);
  if (!begin)
    return CUDA_ERROR_OUT_OF_MEMORY;
  Reservation made{roundUp(begin + kReservationGap, unit), size, kReservationGap, static_cast<int64_t>(half), false, {}};
  std::unique_lock lock(mutex);
  address = made.base;
  reservations.emplace(made.base - made.gap, std::move(made));
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::free(CUdeviceptr address, uint64_t size) {
  std::unique_lock lock(mutex);
  Reservation *found = around(address);
  if (!found || found->base != address || found->size != size || found->isAllocation)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemAddressFree", text(size, " bytes at ", hex(address), " were not reserved so"));
  if (!found->mappings.empty())
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemAddressFree", "memory is still mapped there");
  // The addresses stay taken: whoever uses them later is told so, and nothing else comes to lie there.
  reservations.erase(found->base - found->gap);
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::map(CUdeviceptr address, uint64_t size, uint64_t offset, std::shared_ptr<PhysicalMemory> memory) {
  std::unique_lock lock(mutex);
  Reservation *found = around(address);
  if (!found || found->isAllocation || address < found->base || address + size > found->base + found->size)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemMap", text(size, " bytes at ", hex(address), " are not reserved"));
  if (!size || size % kPage || offset || size != memory->size)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemMap", text("memory of ", memory->size, " bytes is mapped whole, not ", size, " from ", offset));
  for (const auto &[begin, mapping] : found->mappings)
    if (address < begin + mapping.size && begin < address + size)
      return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemMap", text("memory is mapped at ", hex(begin), " already"));
  if (mmap(pointer(address + found->distance), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory->file, 0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  found->mappings.emplace(address, Mapping{size, 0, size, std::move(memory)});
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::unmap(CUdeviceptr address, uint64_t size) {
  std::unique_lock lock(mutex);
  Reservation *found = around(address);
  auto mapping = found ? found->mappings.find(address) : std::map<uint64_t, Mapping>::iterator();
  if (!found || found->isAllocation || mapping == found->mappings.end() || mapping->second.size != size)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemUnmap", text(size, " bytes at ", hex(address), " were not mapped so"));
  if (std::string holder = HeldMemory::get().holder(address, size); !holder.empty())
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemUnmap", text(size, " bytes at ", hex(address), " are still registered by ", holder));
  closePages(address + found->distance, size);
  found->mappings.erase(mapping);
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::setAccess(CUdeviceptr address, uint64_t size, int device, bool read, bool write) {
  std::unique_lock lock(mutex);
  Reservation *found = around(address);
  uint64_t covered = 0;
  if (found && !found->isAllocation)
    for (auto &[begin, mapping] : found->mappings)
      if (address <= begin && begin + mapping.size <= address + size) {
        uint64_t bit = uint64_t(1) << device;
        mapping.readers = read ? mapping.readers | bit : mapping.readers & ~bit;
        mapping.writers = write ? mapping.writers | bit : mapping.writers & ~bit;
        covered += mapping.size;
      }
  if (!size || covered != size)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemSetAccess", text(size, " bytes at ", hex(address), " are not whole mappings"));
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::allocate(CUdeviceptr &address, uint64_t size, int device) {
  if (!size)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemAlloc", "0 bytes");
  std::shared_ptr<PhysicalMemory> memory;
  uint64_t pages = roundUp(size, kPage), begin = pages - roundUp(size, kAllocationAlignment);
  if (CUresult result = create(memory, pages, device))
    return result;
  uint64_t half = pages + 2 * kAllocationGap, base = reserveAddresses(2 * half) + kAllocationGap;
  if (base == kAllocationGap || mmap(pointer(base + half), pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory->file, 0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  Reservation made{base, pages, kAllocationGap, static_cast<int64_t>(half), true, {}};
  uint64_t bit = uint64_t(1) << device;
  made.mappings.emplace(base, Mapping{pages, begin, size, std::move(memory), bit, bit});
  address = base + begin;
  std::unique_lock lock(mutex);
  reservations.emplace(base - kAllocationGap, std::move(made));
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::freeAllocation(CUdeviceptr address) {
  std::unique_lock lock(mutex);
  Reservation *found = around(address);
  if (!found || !found->isAllocation || address != found->base + found->mappings.begin()->second.begin)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemFree", text(hex(address), " was not given by cuMemAlloc, or was freed"));
  if (std::string holder = HeldMemory::get().holder(found->base, found->size); !holder.empty())
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemFree", text("memory at ", hex(address), " is still registered by ", holder));
  closePages(found->base + found->distance, found->size);
  reservations.erase(found->base - found->gap);
  return CUDA_SUCCESS;
}

void DeviceMemory::freeAllocations(int device) {
  std::unique_lock lock(mutex);
  std::erase_if(reservations, [&](const auto &entry) {
    const Reservation &reservation = entry.second;
    if (!reservation.isAllocation || reservation.mappings.begin()->second.memory->device != device)
      return false;
    closePages(reservation.base + reservation.distance, reservation.size);
    return true;
  });
}

const DeviceMemory::Reservation *DeviceMemory::around(uint64_t address) const {
  auto after = reservations.upper_bound(address);
  if (after == reservations.begin())
    return nullptr;
  const Reservation &candidate = std::prev(after)->second;
  return address < candidate.base + candidate.size + candidate.gap ? &candidate : nullptr;
}

DeviceMemory::Reservation *DeviceMemory::around(uint64_t address) {
  return const_cast<Reservation *>(std::as_const(*this).around(address));
}

std::string DeviceMemory::describe(const Reservation &reservation, uint64_t address) const {
  for (const auto &[page, mapping] : reservation.mappings) {
    uint64_t begin = page + mapping.begin, end = begin + mapping.length;
    if (address >= begin && address < end)
      return text(address - begin, " bytes into ", mapping.length, " bytes of device ", mapping.memory->device, " at ", hex(begin));
    if (address >= end && address < reservation.base + reservation.size + reservation.gap && &mapping == &reservation.mappings.rbegin()->second)
      return text(address - end, " bytes past the end of ", mapping.length, " bytes of device ", mapping.memory->device, " at ", hex(begin));
    if (address < begin && page == reservation.mappings.begin()->first)
      return text(begin - address, " bytes before ", mapping.length, " bytes of device ", mapping.memory->device, " at ", hex(begin));
  }
  return text("in addresses that are reserved, but without memory, at ", hex(reservation.base));
}

Place DeviceMemory::find(const void *address, uint64_t bytes, int device, Access access) const {
  if (!bytes)
    return {};
  uint64_t begin = numberOf(address), end = begin + bytes;
  std::shared_lock lock(mutex);
  const Reservation *found = around(begin);
  if (!found)
    return {nullptr, text(hex(begin), " is not in live device memory")};
  for (uint64_t at = begin; at < end;) {
    auto after = found->mappings.upper_bound(at);
    const auto *mapping = after == found->mappings.begin() ? nullptr : &*std::prev(after);
    uint64_t first = mapping ? mapping->first + mapping->second.begin : 0, last = mapping ? first + mapping->second.length : 0;
    if (!mapping || at < first || at >= last)
      return {nullptr, text(bytes, " bytes at ", hex(begin), " reach to ", describe(*found, at))};
    uint64_t allowed = access == Access::Write ? mapping->second.writers : mapping->second.readers;
    if (!(allowed >> device & 1))
      return {nullptr, text(hex(begin), ", ", describe(*found, at), ", is not accessible for device ", device,
                            access == Access::Write ? " to write" : " to read")};
    at = last;
  }
  return {reinterpret_cast<std::byte *>(begin + found->distance), ""};
}

Place DeviceMemory::findPointer(const void *address, int device) const {
  Place inside = find(address, 1, device, Access::Read);
  if (inside.fault.empty())
    return inside;
  // Where nothing is to be read or written, the end of memory is an address as good as another.
  Place before = find(static_cast<const std::byte *>(address) - 1, 1, device, Access::Read);
  if (before.fault.empty())
    return {before.alias + 1, ""};
  return inside;
}

bool DeviceMemory::reserves(const void *address) const {
  std::shared_lock lock(mutex);
  return around(numberOf(address)) != nullptr;
}

int DeviceMemory::deviceAt(const void *address) const {
  std::shared_lock lock(mutex);
  uint64_t at = numberOf(address);
  if (const Reservation *found = around(at))
    for (const auto &[page, mapping] : found->mappings)
      if (at >= page + mapping.begin && at < page + mapping.begin + mapping.length)
        return mapping.memory->device;
  return -1;
}

DeviceMemory::Fault DeviceMemory::explain(const void *address) const {
  std::shared_lock lock(mutex);
  uint64_t at = numberOf(address);
  if (const Reservation *found = around(at))
    return {true, false, describe(*found, at)};
  for (const auto &[begin, reservation] : reservations)
    if (at - reservation.distance >= begin && at - reservation.distance < reservation.base + reservation.size + reservation.gap)
      return {true, true, describe(reservation, at - reservation.distance)};
  return {};
}

std::vector<std::string> DeviceMemory::leaks(int device) const {
  std::shared_lock lock(mutex);
  std::vector<std::string> all;
  for (const auto &[begin, reservation] : reservations)
    for (const auto &[page, mapping] : reservation.mappings)
      if (mapping.memory->device == device)
        all.push_back(text(mapping.length, " bytes at ", hex(page + mapping.begin)));
  return all;
}

HostMemory &HostMemory::get() {
  static auto *memory = new HostMemory;
  return *memory;
}

CUresult HostMemory::allocate(void *&address, uint64_t size, int device) {
  if (!size)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemHostAlloc", "0 bytes");
  uint64_t pages = roundUp(size, kPage), begin = reserveAddresses(pages + 2 * kHostGap);
  if (!begin || mprotect(pointer(begin + kHostGap), pages, PROT_READ | PROT_WRITE) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  address = pointer(begin + kHostGap);
  std::memset(address, kPoison, pages);
  std::unique_lock lock(mutex);
  live.emplace(begin + kHostGap, Pages{size, device});
  return CUDA_SUCCESS;
}

void HostMemory::close(Ranges::iterator range) {
  closePages(range->first, roundUp(range->second.size, kPage));
  freed.insert(*range);
  live.erase(range);
}

CUresult HostMemory::free(void *address) {
  std::unique_lock lock(mutex);
  auto found = live.find(numberOf(address));
  if (found == live.end())
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemFreeHost",
                  text(hex(address), freed.count(numberOf(address)) ? " was freed" : " was not given by cuMemHostAlloc"));
  close(found);
  return CUDA_SUCCESS;
}

void HostMemory::freeAll(int device) {
  std::unique_lock lock(mutex);
  for (auto range = live.begin(); range != live.end();) {
    auto next = std::next(range);
    if (range->second.device == device)
      close(range);
    range = next;
  }
}

HostMemory::Kind HostMemory::kindOf(const void *address, uint64_t bytes) const {
  uint64_t at = numberOf(address);
  // The bytes that are left from `at` on; 0: it lies in none.
  auto left = [&](const Ranges &ranges) -> uint64_t {
    auto after = ranges.upper_bound(at);
    if (after == ranges.begin())
      return 0;
    const auto &[begin, pages] = *std::prev(after);
    return at < begin + pages.size ? begin + pages.size - at : 0;
  };
  std::shared_lock lock(mutex);
  if (uint64_t pinned = left(live))
    return bytes <= pinned ? Kind::Pinned : Kind::Straddling;
  return left(freed) ? Kind::Freed : Kind::Pageable;
}

std::vector<std::string> HostMemory::leaks(int device) const {
  std::shared_lock lock(mutex);
  std::vector<std::string> all;
  for (const auto &[address, pages] : live)
    if (pages.device == device)
      all.push_back(text(pages.size, " pinned bytes at ", hex(address)));
  return all;
}

DeviceBytes &DeviceBytes::get() {
  static auto *bytes = new DeviceBytes;
  return *bytes;
}

bool DeviceBytes::take(int device, int64_t bytes) {
  std::lock_guard lock(mutex);
  uint64_t &now = taken[device];
  if (bytes > 0 && now + static_cast<uint64_t>(bytes) > total())
    return false;
  now += static_cast<uint64_t>(bytes);
  return true;
}

uint64_t DeviceBytes::used(int device) const {
  std::lock_guard lock(mutex);
  auto found = taken.find(device);
  return found == taken.end() ? 0 : found->second;
}

uint64_t DeviceBytes::total() const { return numberSetting("ZERO_SHIM_MEMORY_BYTES", uint64_t(16) << 30); }

} // namespace zero::shim

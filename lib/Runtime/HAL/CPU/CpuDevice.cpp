//===- CpuDevice.cpp - Arenas, queues and events of a CPU -----------------===//
#include "lib/Runtime/HAL/CPU/CpuEvent.h"
#include "lib/Runtime/HAL/CPU/CpuQueue.h"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/mman.h>

namespace zero {
namespace {

class CpuArena final : public Arena {
public:
  CpuArena(void *base, uint64_t size) : base(base), bytes(size) {}
  ~CpuArena() override {
    if (base)
      ::munmap(base, bytes);
  }
  std::byte *data() const override { return static_cast<std::byte *>(base); }
  uint64_t size() const override { return bytes; }

private:
  void *base;
  uint64_t bytes;
};

/// What the system says that it can still give, or the largest number where it says nothing.
uint64_t availableBytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string key, rest; info >> key; std::getline(info, rest))
    if (uint64_t kibibytes; key == "MemAvailable:" && info >> kibibytes)
      return kibibytes * 1024;
  return UINT64_MAX;
}

class CpuDevice final : public Device {
public:
  Expected<std::unique_ptr<Arena>> allocate(const std::string &name, uint64_t size) override {
    if (size == 0)
      return std::unique_ptr<Arena>(std::make_unique<CpuArena>(nullptr, 0));
    std::string what = "arena '" + name + "' of " + std::to_string(size) + " bytes";
    // Without this check the pages below would end in the out-of-memory killer, which names nothing.
    if (uint64_t available = availableBytes(); size > available)
      return Status::programFailed(what + " does not fit: this machine has " + std::to_string(available) +
                                   " bytes available");
    void *base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
      return Status::programFailed(what + " cannot be allocated: " + std::strerror(errno));
    ::madvise(base, size, MADV_HUGEPAGE); // fewer pages where the system has large ones; nothing depends on it
    for (uint64_t offset = 0; offset < size; offset += 4096)
      static_cast<volatile std::byte *>(base)[offset] = std::byte(0);
    return std::unique_ptr<Arena>(std::make_unique<CpuArena>(base, size));
  }

  std::unique_ptr<Queue> createQueue(const QueueOptions &options, Failure &failure) override {
    if (options.onCallingThread)
      return std::make_unique<InlineQueue>(failure);
    return std::make_unique<ThreadQueue>(options, failure);
  }

  std::unique_ptr<Event> createEvent(const std::string &) override { return std::make_unique<CpuEvent>(); }
};

} // namespace

std::unique_ptr<Device> createCpuDevice() { return std::make_unique<CpuDevice>(); }

} // namespace zero

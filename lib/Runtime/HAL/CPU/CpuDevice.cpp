//===- CpuDevice.cpp - Arenas, queues and events of a CPU -----------------===//
#include "lib/Runtime/HAL/CPU/CpuEvent.h"
#include "lib/Runtime/HAL/CPU/CpuQueue.h"
#include "lib/Runtime/HAL/CPU/LargePages.h"
#include "lib/Runtime/HAL/CPU/ThreadQueue.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace zero {
namespace {

constexpr uint64_t kPage = 4096;

class CpuArena final : public Arena {
public:
  CpuArena(void *base, uint64_t size) : base(base), bytes(size) {}
  ~CpuArena() override {
    if (base)
      ::munmap(base, bytes);
    if (file >= 0)
      ::close(file);
  }
  std::byte *data() const override { return static_cast<std::byte *>(base); }
  uint64_t size() const override { return bytes; }
  SharedMemory shared() const override { return {data(), bytes, file, inLargePages, sharedRanges}; }

  /// Puts a file in memory behind the large pages of `ranges`. Only those: what no peer reads has large pages also where those of files are
  /// not to be had.
  bool share(const std::vector<ByteRange> &ranges) {
    sharedRanges = wholeLargePages(ranges, bytes);
    if (sharedRanges.empty())
      return true;
    file = ::memfd_create("zero-arena", MFD_CLOEXEC); // it needs no name, and nothing is left of it after its last process
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0)
      return false;
    for (auto [begin, end] : sharedRanges)
      if (::mmap(data() + begin, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(begin)) == MAP_FAILED)
        return false;
    inLargePages = true;
    for (auto [begin, end] : sharedRanges)
      inLargePages = inLargePages && takeLargePages(data() + begin, end - begin);
    return true;
  }

private:
  static std::vector<ByteRange> wholeLargePages(std::vector<ByteRange> ranges, uint64_t size) {
    const uint64_t end = (size + kPage - 1) / kPage * kPage;
    for (ByteRange &range : ranges)
      range = {range.begin / kLargePage * kLargePage, std::min((range.end + kLargePage - 1) / kLargePage * kLargePage, end)};
    std::erase_if(ranges, [](ByteRange range) { return range.begin >= range.end; });
    std::sort(ranges.begin(), ranges.end(), [](ByteRange a, ByteRange b) { return a.begin < b.begin; });
    std::vector<ByteRange> joined;
    for (ByteRange range : ranges) {
      if (!joined.empty() && range.begin <= joined.back().end)
        joined.back().end = std::max(joined.back().end, range.end);
      else
        joined.push_back(range);
    }
    return joined;
  }

  void *base;
  uint64_t bytes;
  int file = -1;
  bool inLargePages = false;
  std::vector<ByteRange> sharedRanges;
};

/// What the system says that it can still give, or the largest number where it says nothing.
uint64_t availableBytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string key, rest; info >> key; std::getline(info, rest))
    if (uint64_t kibibytes; key == "MemAvailable:" && info >> kibibytes)
      return kibibytes * 1024;
  return UINT64_MAX;
}

/// So that no step is interrupted to get a page. In one call, where the system (Linux 5.14) has it: a fault for each page takes longer
/// than the page itself.
void takePages(void *base, uint64_t size) {
  if (::madvise(base, size, MADV_POPULATE_WRITE) == 0)
    return;
  for (uint64_t offset = 0; offset < size; offset += kPage)
    static_cast<volatile std::byte *>(base)[offset] = std::byte(0);
}

class CpuDevice final : public Device {
public:
  Expected<std::unique_ptr<Arena>> allocate(const std::string &name, uint64_t size, const std::vector<ByteRange> &shared) override {
    if (size == 0)
      return std::unique_ptr<Arena>(std::make_unique<CpuArena>(nullptr, 0));
    std::string what = "arena '" + name + "' of " + std::to_string(size) + " bytes";
    // Without this check the pages below would end in the out-of-memory killer, which names nothing.
    if (uint64_t available = availableBytes(); size > available)
      return Status::programFailed(what + " does not fit: this machine has " + std::to_string(available) +
                                   " bytes available");
    void *base = mapAtLargePage(size);
    if (!base)
      return Status::programFailed(what + " cannot be allocated: " + std::strerror(errno));
    ::madvise(base, size, MADV_HUGEPAGE); // fewer pages where the system has large ones; nothing depends on it
    auto arena = std::make_unique<CpuArena>(base, size);
    if (!arena->share(shared))
      return Status::programFailed(what + " cannot be shared with the ranks of this machine: " + std::strerror(errno));
    takePages(base, size);
    return std::unique_ptr<Arena>(std::move(arena));
  }

  std::unique_ptr<Queue> createQueue(const QueueOptions &options, Failure &failure) override {
    auto queue = std::make_unique<InlineQueue>(failure);
    if (options.onCallingThread)
      return queue;
    return std::make_unique<ThreadQueue>(options, std::move(queue));
  }

  std::unique_ptr<Event> createEvent(const std::string &) override { return std::make_unique<CpuEvent>(); }

  Status upload(std::byte *target, const void *source, uint64_t size) override {
    std::memcpy(target, source, size);
    return {};
  }
  Status download(void *target, const std::byte *source, uint64_t size) override {
    std::memcpy(target, source, size);
    return {};
  }
};

} // namespace

std::unique_ptr<Device> createCpuDevice() { return std::make_unique<CpuDevice>(); }

} // namespace zero

//===- TraceDevice.cpp - Shows what a device is asked to do ---------------===//
#include "zero/Runtime/HAL/Device.h"
#include <algorithm>
#include <map>
#include <ostream>
#include <sys/mman.h>

namespace zero {
namespace {

/// Addresses that nothing lies behind: who touches them is found out at once.
class TraceArena final : public Arena {
public:
  TraceArena(std::string name, void *base, uint64_t size) : name(std::move(name)), base(base), bytes(size) {}
  ~TraceArena() override {
    if (base)
      ::munmap(base, bytes);
  }
  std::byte *data() const override { return static_cast<std::byte *>(base); }
  uint64_t size() const override { return bytes; }
  bool holds(const std::byte *address) const { return base && address >= data() && address < data() + bytes; }

  const std::string name;
  /// Which buffer used the bytes last: begin -> end and its name. Ranges do not overlap.
  std::map<uint64_t, std::pair<uint64_t, std::string>> users;

private:
  void *base;
  uint64_t bytes;
};

class TraceEvent final : public Event {
public:
  explicit TraceEvent(std::string name) : name(std::move(name)) {}
  void record(uint64_t) override {}
  bool wait(uint64_t, const Failure &) override { return true; }
  const std::string name;
};

class TraceDevice final : public Device {
public:
  explicit TraceDevice(std::ostream &out) : out(out) {}

  Expected<std::unique_ptr<Arena>> allocate(const std::string &name, uint64_t size, const std::vector<ByteRange> &) override {
    void *base = nullptr;
    if (size) {
      base = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base == MAP_FAILED)
        return Status::programFailed("arena '" + name + "' of " + std::to_string(size) + " bytes has no room among the addresses of a process");
    }
    auto arena = std::make_unique<TraceArena>(name, base, size);
    arenas.push_back(arena.get());
    out << "arena " << name << " " << size << " bytes\n";
    return std::unique_ptr<Arena>(std::move(arena));
  }
  std::unique_ptr<Queue> createQueue(const QueueOptions &options, Failure &failure) override;
  std::unique_ptr<Event> createEvent(const std::string &name) override { return std::make_unique<TraceEvent>(name); }
  bool runs() const override { return false; }
  Status upload(std::byte *, const void *, uint64_t) override { return noMemory(); }
  Status download(void *, const std::byte *, uint64_t) override { return noMemory(); }

  void show(const std::string &queue, const WorkDescription &work) {
    out << queue << " runs " << work.place << ": " << work.title;
    if (work.wireBytes)
      out << ", sends " << work.wireBytes << " bytes";
    for (bool write : {false, true}) {
      bool first = true;
      for (const WorkDescription::Range &range : work.ranges) {
        if (range.write != write || range.size == 0)
          continue;
        out << (first ? (write ? "; writes " : "; reads ") : ", ");
        first = false;
        showRange(range);
      }
    }
    out << "\n";
  }
  std::ostream &out;

private:
  static Status noMemory() { return Status::programFailed("a traced program has no memory to copy to or from"); }

  void showRange(const WorkDescription::Range &range) {
    out << "%" << range.buffer;
    for (TraceArena *arena : arenas) {
      if (!arena->holds(range.begin))
        continue;
      uint64_t begin = static_cast<uint64_t>(range.begin - arena->data()), end = begin + range.size;
      out << " " << arena->name << "[" << begin << ", " << end << ")";
      use(*arena, begin, end, range);
    }
  }

  /// Says whose bytes a write takes over, and who has them now.
  void use(TraceArena &arena, uint64_t begin, uint64_t end, const WorkDescription::Range &range) {
    std::vector<std::string> before;
    auto at = arena.users.lower_bound(begin);
    if (at != arena.users.begin() && std::prev(at)->second.first > begin)
      --at;
    while (at != arena.users.end() && at->first < end) {
      auto [first, rest] = *at;
      auto [last, name] = rest;
      if (range.write && name != range.buffer && std::find(before.begin(), before.end(), name) == before.end())
        before.push_back(name);
      at = arena.users.erase(at);
      if (first < begin)
        arena.users[first] = {begin, name};
      if (last > end)
        at = arena.users.insert_or_assign(end, std::pair(last, name)).first;
    }
    arena.users[begin] = {end, range.buffer};
    for (const std::string &name : before)
      out << (name == before.front() ? " over %" : " and %") << name;
  }

  std::vector<TraceArena *> arenas;
};

class TraceQueue final : public Queue {
public:
  TraceQueue(std::string name, TraceDevice &device) : name(std::move(name)), device(device) {}
  void wait(Event &event, uint64_t) override { device.out << name << " waits for " << static_cast<TraceEvent &>(event).name << "\n"; }
  void submit(Work &work) override { device.show(name, work.describe()); }
  void record(Event &event, uint64_t) override { device.out << name << " records " << static_cast<TraceEvent &>(event).name << "\n"; }
  void finish() override { device.out << name << " finishes\n"; }

private:
  std::string name;
  TraceDevice &device;
};

std::unique_ptr<Queue> TraceDevice::createQueue(const QueueOptions &options, Failure &) {
  out << "queue " << options.name << "\n";
  return std::make_unique<TraceQueue>(options.name, *this);
}

} // namespace

std::unique_ptr<Device> createTraceDevice(std::ostream &out) { return std::make_unique<TraceDevice>(out); }

} // namespace zero

//===- NcclWorld.cpp - Where the ranks of a simulated communicator meet ---===//
#include "test/CUDA/Shim/NcclWorld.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace zero::shim {
namespace {

constexpr unsigned kMostRanks = 64;
constexpr uint64_t kMailboxBytes = 64 * 1024;

struct MessageHead {
  uint64_t size, signature;
};

/// Whether a process is there and not a zombie.
bool isAlive(int process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  size_t name = text.rfind(") ");
  return name != std::string::npos && name + 2 < text.size() && text[name + 2] != 'Z' && text[name + 2] != 'X';
}

} // namespace

/// Bytes from one rank to another, in order. Positions only grow.
struct NcclWorld::Mailbox {
  std::atomic<uint64_t> written, read;
  std::byte bytes[kMailboxBytes];

  uint64_t put(const std::byte *from, uint64_t size) {
    uint64_t at = written.load(std::memory_order_relaxed), room = kMailboxBytes - (at - read.load(std::memory_order_acquire));
    size = std::min(size, room);
    for (uint64_t done = 0; done < size;) {
      uint64_t place = (at + done) % kMailboxBytes, part = std::min(size - done, kMailboxBytes - place);
      std::memcpy(bytes + place, from + done, part);
      done += part;
    }
    written.store(at + size, std::memory_order_release);
    return size;
  }
  uint64_t take(std::byte *to, uint64_t size) {
    uint64_t at = read.load(std::memory_order_relaxed);
    size = std::min(size, written.load(std::memory_order_acquire) - at);
    for (uint64_t done = 0; done < size;) {
      uint64_t place = (at + done) % kMailboxBytes, part = std::min(size - done, kMailboxBytes - place);
      std::memcpy(to + done, bytes + place, part);
      done += part;
    }
    read.store(at + size, std::memory_order_release);
    return size;
  }
};

/// Zero bytes at first, as a new file has them.
struct NcclWorld::Header {
  std::atomic<uint32_t> joined, left;
  std::atomic<int32_t> processes[kMostRanks];
  std::atomic<uint64_t> devices[kMostRanks]; ///< number + 1
};

NcclWorld::Header &NcclWorld::header() const { return *static_cast<Header *>(base); }

NcclWorld::Mailbox &NcclWorld::mailbox(unsigned from, unsigned to) const {
  auto *boxes = reinterpret_cast<Mailbox *>(static_cast<std::byte *>(base) + (sizeof(Header) + 63) / 64 * 64);
  return boxes[from * count + to];
}

size_t NcclWorld::bytesFor(unsigned ranks) { return (sizeof(Header) + 63) / 64 * 64 + sizeof(Mailbox) * ranks * ranks; }

std::unique_ptr<NcclWorld> NcclWorld::join(const std::string &name, unsigned ranks, unsigned rank, uint64_t device, std::string &error) {
  if (ranks > kMostRanks) {
    error = "the simulation has at most " + std::to_string(kMostRanks) + " ranks";
    return nullptr;
  }
  int file = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  size_t size = bytesFor(ranks);
  void *base = file >= 0 && ::ftruncate(file, static_cast<off_t>(size)) == 0 ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (file >= 0)
    ::close(file);
  if (base == MAP_FAILED) {
    error = std::string("no shared memory: ") + std::strerror(errno);
    return nullptr;
  }
  std::unique_ptr<NcclWorld> world(new NcclWorld(base, size, rank, ranks));
  Header &header = world->header();
  header.processes[rank].store(::getpid());
  header.devices[rank].store(device + 1);
  header.joined.fetch_add(1);
  while (header.joined.load() < ranks)
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // as long as it takes, as NCCL
  for (unsigned other = 0; other < ranks; ++other)
    if (other != rank && header.devices[other].load() == device + 1) {
      error = "Duplicate GPU detected : rank " + std::to_string(rank) + " and rank " + std::to_string(other) + " both on CUDA device " + std::to_string(device);
      return nullptr;
    }
  return world;
}

NcclWorld::~NcclWorld() { ::munmap(base, size); }

void NcclWorld::leave() { header().left.fetch_add(1); }

bool NcclWorld::haveAllLeft() const { return header().left.load() >= count; }

int NcclWorld::lostPeer() const {
  for (unsigned peer = 0; peer < count; ++peer)
    if (peer != self && !isAlive(header().processes[peer].load()))
      return static_cast<int>(peer);
  return -1;
}

NcclWorld::Outcome NcclWorld::exchange(std::vector<NcclTransfer> transfers, const std::atomic<bool> &aborted, std::string &error) {
  struct Progress {
    MessageHead head;
    uint64_t headDone = 0, done = 0;
  };
  std::vector<Progress> progress(transfers.size());
  for (size_t i = 0; i < transfers.size(); ++i)
    progress[i].head = {transfers[i].size, transfers[i].signature};
  auto isDone = [&](size_t i) { return progress[i].headDone == sizeof(MessageHead) && progress[i].done == transfers[i].size; };
  using Clock = std::chrono::steady_clock;
  Clock::time_point nextLook = Clock::now() + std::chrono::milliseconds(100);
  bool lost = false;
  for (unsigned idle = 0;;) {
    bool all = true, moved = false;
    for (size_t i = 0; i < transfers.size(); ++i) {
      NcclTransfer &transfer = transfers[i];
      // Messages between two ranks keep their order.
      bool waits = false;
      for (size_t j = 0; j < i && !waits; ++j)
        waits = transfers[j].peer == transfer.peer && transfers[j].isSend == transfer.isSend && !isDone(j);
      if (isDone(i))
        continue;
      all = false;
      if (waits)
        continue;
      Mailbox &box = transfer.isSend ? mailbox(self, transfer.peer) : mailbox(transfer.peer, self);
      Progress &mine = progress[i];
      auto *head = reinterpret_cast<std::byte *>(&mine.head);
      if (mine.headDone < sizeof(MessageHead)) {
        uint64_t rest = sizeof(MessageHead) - mine.headDone;
        uint64_t part = transfer.isSend ? box.put(head + mine.headDone, rest) : box.take(head + mine.headDone, rest);
        mine.headDone += part;
        moved |= part != 0;
        if (mine.headDone < sizeof(MessageHead))
          continue;
        if (mine.head.size != transfer.size || mine.head.signature != transfer.signature) {
          error = "rank " + std::to_string(self) + " expects " + std::to_string(transfer.size) + " bytes of operation " + std::to_string(transfer.signature) +
                  " from rank " + std::to_string(transfer.peer) + ", which sends " + std::to_string(mine.head.size) + " of operation " +
                  std::to_string(mine.head.signature);
          return Outcome::Mismatch;
        }
      }
      uint64_t rest = transfer.size - mine.done;
      uint64_t part = transfer.isSend ? box.put(transfer.bytes + mine.done, rest) : box.take(transfer.bytes + mine.done, rest);
      mine.done += part;
      moved |= part != 0;
    }
    if (all)
      return Outcome::Done;
    if (aborted.load())
      return Outcome::Aborted;
    idle = moved ? 0 : idle + 1;
    if (idle > 16)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (!moved && !lost && Clock::now() >= nextLook) {
      if (int peer = lostPeer(); peer >= 0) {
        error = "connection closed by remote peer (rank " + std::to_string(peer) + ")";
        return Outcome::PeerLost;
      }
      nextLook = Clock::now() + std::chrono::milliseconds(100);
    }
  }
}

} // namespace zero::shim

//===- SharedPeers.h - Memory of the other ranks of this machine ----------===//
//
// Ranks of one machine map each other's shared memory once, and a page of meeting points each. A collective then needs two
// meetings and no messages: each rank shows where its source lies and comes; the peers read it in place; nobody goes on (and
// writes its buffers) before all have read. Who waits sleeps on the number that it waits for, in the peer's page.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_SHAREDPEERS_H
#define ZERO_LIB_RUNTIME_HAL_COMM_SHAREDPEERS_H

#include "lib/Runtime/HAL/Comm/SharedJobView.h"
#include "zero/Runtime/HAL/Arena.h"
#include "zero/Runtime/HAL/Failure.h"
#include <memory>
#include <string>
#include <vector>

namespace zero {

class SharedPeers {
public:
  /// `memory`: what this rank shares; it outlives this.
  static Expected<std::unique_ptr<SharedPeers>> create(unsigned rank, std::vector<SharedMemory> memory);
  ~SharedPeers();

  /// What the peers need to map this rank's memory.
  std::string introduction() const;
  /// Maps the memory of the ranks of this machine (`view` knows them); the error says what of whom cannot be seen.
  Status meet(const std::vector<std::string> &introductions, const SharedJobView &view);
  /// The ranks that were mapped, in order, without this one.
  const std::vector<unsigned> &peers() const { return others; }
  /// Bytes of the peers' memory that are mapped into this process now: they are the peers' own.
  uint64_t bytesOfPeers() const;

private:
  friend class SharedMeeting;
  friend struct SharedPeersInOneProcess; // a test: ranks that are threads
  /// Where a rank shows what it does in one channel; a cache line each.
  struct alignas(64) Place {
    std::atomic<uint32_t> arrived = 0; ///< collectives that the rank has come to
    std::atomic<uint32_t> read = 0;    ///< collectives in which the rank reads no more
    std::atomic<uint32_t> memory = 0;  ///< index of the source's memory from 1; 0: it is not shared
    std::atomic<uint64_t> offset = 0;  ///< of the source in it
  };
  struct Places {
    Place channels[kMaxChannels];
  };
  struct Mapping {
    char *base;
    uint64_t size;
    bool inLargePages;
    std::vector<ByteRange> ranges;
  };
  struct Peer {
    Places *places = nullptr;
    std::vector<Mapping> memory;
  };
  SharedPeers(unsigned rank, std::vector<SharedMemory> memory, int file, Places *own)
      : self(rank), memory(std::move(memory)), file(file), own(own) {}

  const unsigned self;
  std::vector<SharedMemory> memory;
  int file; ///< behind `own`
  Places *own;
  std::vector<unsigned> others;
  std::vector<Peer> ranks;
};

/// The meetings of one channel, which one thread uses.
class SharedMeeting {
public:
  SharedMeeting(SharedPeers &peers, unsigned channel, JobView &view, double timeoutSeconds, const Failure &failure)
      : peers(peers), channel(channel), view(view), timeoutSeconds(timeoutSeconds), failure(failure) {}

  const std::vector<unsigned> &ranks() const { return peers.peers(); }
  /// Shows where `source` lies and waits for the peers. True: `sourceOf` gives theirs until `leave`, which must follow. False: on no
  /// rank of this machine, because one has its source elsewhere.
  Expected<bool> enter(const void *source);
  const void *sourceOf(unsigned rank) const;
  /// Unmaps `bytes` that were read of the peer's source: they are mapped again when they are read again, so that this process' RSS counts of
  /// its peers' memory only what it is reading. Does nothing where that memory has no large pages: mapping small ones costs as much as reading
  /// them.
  void letGo(unsigned rank, uint64_t offset, uint64_t bytes);
  /// This rank reads no more; returns when no peer does.
  Status leave();

private:
  SharedPeers::Place &place(unsigned rank) const { return peers.ranks[rank].places->channels[channel]; }
  Status waitFor(std::atomic<uint32_t> &number);

  SharedPeers &peers;
  const unsigned channel;
  JobView &view;
  const double timeoutSeconds;
  const Failure &failure;
  uint32_t sequence = 0;
};

} // namespace zero

#endif

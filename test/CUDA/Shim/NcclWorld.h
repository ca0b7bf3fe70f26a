//===- NcclWorld.h - Where the ranks of a simulated communicator meet -----===//
//
// Each communicator has a file of shared memory, named by its unique id, which all ranks map: threads of a process and processes of a machine
// alike. It holds a mailbox for each ordered pair of ranks; everything that NCCL does is messages through these.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_NCCLWORLD_H
#define ZERO_TEST_CUDA_SHIM_NCCLWORLD_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zero::shim {

/// What a rank sends and receives at once. A message is checked against what its receiver expects.
struct NcclTransfer {
  unsigned peer;
  bool isSend;
  std::byte *bytes;
  uint64_t size;
  uint64_t signature; ///< of the operation; the same on both sides
};

class NcclWorld {
public:
  /// Blocks until all ranks of the file `name` have come. The error: null, or what a log would say ("Duplicate GPU detected ...").
  static std::unique_ptr<NcclWorld> join(const std::string &name, unsigned ranks, unsigned rank, uint64_t device, std::string &error);
  ~NcclWorld();

  unsigned rank() const { return self; }
  unsigned ranks() const { return count; }

  enum class Outcome { Done, Aborted, PeerLost, Mismatch };
  /// Moves all bytes; returns when they have come, or when `aborted`.
  Outcome exchange(std::vector<NcclTransfer> transfers, const std::atomic<bool> &aborted, std::string &error);

  /// Tells the others that this rank is through with it.
  void leave();
  bool haveAllLeft() const;
  /// The lowest peer whose process is gone; -1: none.
  int lostPeer() const;

private:
  struct Mailbox;
  struct Header;
  NcclWorld(void *base, size_t size, unsigned rank, unsigned ranks) : base(base), size(size), self(rank), count(ranks) {}
  Header &header() const;
  Mailbox &mailbox(unsigned from, unsigned to) const;
  static size_t bytesFor(unsigned ranks);

  void *base;
  size_t size;
  unsigned self, count;
};

} // namespace zero::shim

#endif

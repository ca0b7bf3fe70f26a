//===- Nccl.cpp - A simulated NCCL ----------------------------------------===//
//
// The entry points that the runtime uses, over NcclWorld: in stream order, with the waits, errors and aborts of the real one. Ranks that do not
// agree about a collective, which would hang or spoil numbers there, are named. ZERO_SHIM_NCCL_FAIL=RANK:NUMBER: the collective with that
// number (from 1, over all communicators) of that rank ends in an asynchronous error; number 0: its first communicator does not connect.
// ZERO_SHIM_NCCL_HANG=RANK:NUMBER (or all:NUMBER): it never ends, whatever is done. ZERO_SHIM_NCCL_STICK=RANK:NUMBER: the call with that number of that rank
// does not return before its communicator is stopped.
//
// Built twice: with ZERO_SHIM_OLD_NCCL as a library that has no ncclCommRevoke.
//
//===----------------------------------------------------------------------===//
#include "test/CUDA/Shim/NcclSums.h"
#include "test/CUDA/Shim/NcclWorld.h"
#include "test/CUDA/Shim/Report.h"
#include "test/CUDA/Shim/Streams.h"
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace zero::shim;

namespace {

/// What NCCL takes of a device's memory for each communicator.
constexpr int64_t kCommunicatorBytes = 8 << 20;

/// Outlives its handle while streams are in its operations.
struct Communicator {
  std::unique_ptr<NcclWorld> world;
  int device = -1;
  std::atomic<bool> aborted = false;
  std::atomic<int> asynchronousError = ncclSuccess;
  std::mutex mutex; ///< one operation at a time
  uint64_t sequence = 0;
  std::mutex errorMutex;
  std::string lastError;
  std::map<void *, std::pair<const void *, size_t>> registered;
  /// Held by what is enqueued and not through, and by graphs that captured it.
  std::shared_ptr<int> uses = std::make_shared<int>(0);
  std::atomic<int> running = 0; ///< operations that the device is in
  std::atomic<int> calls = 0;   ///< that threads are in
  std::atomic<bool> revoked = false;

  void fail(ncclResult_t error, const std::string &text) {
    std::lock_guard lock(errorMutex);
    lastError = text;
    asynchronousError = error;
  }
  /// The kernel of a failed operation spins until the communicator is aborted.
  void waitForAbort() const {
    while (!aborted)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

/// Counts as long as it lives.
class Counted {
public:
  explicit Counted(std::atomic<int> &count) : count(count) { ++count; }
  ~Counted() { --count; }

private:
  std::atomic<int> &count;
};

std::mutex liveMutex;
std::map<ncclComm_t, std::shared_ptr<Communicator>> live;
thread_local std::string lastErrorOfThread;

std::shared_ptr<Communicator> find(ncclComm_t handle) {
  std::lock_guard lock(liveMutex);
  auto found = live.find(handle);
  return found == live.end() ? nullptr : found->second;
}

ncclResult_t refuse(ncclResult_t code, const char *call, const std::string &what) {
  lastErrorOfThread = what;
  misuse(CUDA_ERROR_INVALID_VALUE, call, what);
  return code;
}
ncclResult_t failed(ncclResult_t code, const std::string &what) {
  lastErrorOfThread = what;
  return code;
}

bool isWanted(const std::string &wanted, unsigned rank, uint64_t number) {
  return !wanted.empty() && wanted == std::to_string(rank) + ":" + std::to_string(number);
}
/// Whether ZERO_SHIM_NCCL_FAIL or ZERO_SHIM_NCCL_HANG means this collective of `rank`, ZERO_SHIM_NCCL_STICK this call.
bool failsAt(unsigned rank, uint64_t number) {
  static const std::string wanted = setting("ZERO_SHIM_NCCL_FAIL");
  return isWanted(wanted, rank, number);
}
bool hangsAt(unsigned rank, uint64_t number) {
  static const std::string wanted = setting("ZERO_SHIM_NCCL_HANG");
  return isWanted(wanted, rank, number) || wanted == "all:" + std::to_string(number);
}
bool sticksAt(unsigned rank, uint64_t number) {
  static const std::string wanted = setting("ZERO_SHIM_NCCL_STICK");
  return isWanted(wanted, rank, number);
}
/// Collectives that a rank has come to, and calls of it for them; ranks of one process count apart.
std::atomic<uint64_t> collectivesOf[64], callsOf[64];

/// One call between ncclGroupStart and ncclGroupEnd.
struct Operation {
  const char *call;
  ncclComm_t handle;
  std::shared_ptr<Communicator> communicator;
  CUstream stream;
  ncclDataType_t type;
  const void *source;
  void *target;
  uint64_t count;
  unsigned peer = 0;
  bool isPointToPoint = false;
};
thread_local int groupDepth = 0;
thread_local std::vector<Operation> group;

/// Runs on the stream: counts, fails where asked, and gives what the exchange comes to.
CUresult runExchange(Communicator &communicator, const char *call, const std::vector<NcclTransfer> &transfers) {
  std::string error;
  Counted running(communicator.running);
  if (communicator.aborted) // what was enqueued before comes to an end
    return CUDA_SUCCESS;
  const uint64_t number = ++collectivesOf[communicator.world->rank()];
  while (hangsAt(communicator.world->rank(), number))
    std::this_thread::sleep_for(std::chrono::seconds(1));
  if (failsAt(communicator.world->rank(), number)) {
    communicator.fail(ncclSystemError, "injected by ZERO_SHIM_NCCL_FAIL");
    communicator.waitForAbort();
    return CUDA_SUCCESS;
  }
  switch (communicator.world->exchange(transfers, communicator.aborted, error)) {
  case NcclWorld::Outcome::Done:
  case NcclWorld::Outcome::Aborted:
    return CUDA_SUCCESS;
  case NcclWorld::Outcome::PeerLost:
    communicator.fail(ncclRemoteError, error);
    communicator.waitForAbort();
    return CUDA_SUCCESS;
  case NcclWorld::Outcome::Mismatch:
    return misuse(CUDA_ERROR_INVALID_VALUE, call, "ranks do not agree: " + error);
  }
  return CUDA_ERROR_UNKNOWN;
}

/// Says what an operation is: equal on the ranks that take part in it.
uint64_t signatureOf(uint64_t sequence, unsigned kind, ncclDataType_t type) { return sequence << 16 | kind << 8 | static_cast<unsigned>(type); }

enum OperationKind : unsigned { kPointToPoint, kAllGather, kReduceScatter, kAllReduce };

/// Bytes from all ranks to all: what this rank has for each, and where what comes from each goes. Null: this rank itself.
CUresult exchangeAll(Communicator &communicator, const char *call, uint64_t signature, uint64_t bytes, auto sourceFor, auto targetFrom) {
  std::vector<NcclTransfer> transfers;
  const unsigned ranks = communicator.world->ranks(), self = communicator.world->rank();
  for (unsigned i = 1; i < ranks; ++i) {
    unsigned to = (self + i) % ranks, from = (self + ranks - i) % ranks;
    transfers.push_back({to, true, const_cast<std::byte *>(sourceFor(to)), bytes, signature});
    transfers.push_back({from, false, targetFrom(from), bytes, signature});
  }
  return runExchange(communicator, call, transfers);
}

CUresult runAllGather(Communicator &communicator, const Operation &what, std::byte *source, std::byte *target) {
  std::lock_guard lock(communicator.mutex);
  const uint64_t bytes = what.count * ncclSizeOf(what.type);
  std::byte *own = target + communicator.world->rank() * bytes;
  if (own != source)
    std::memcpy(own, source, bytes);
  return exchangeAll(communicator, what.call, signatureOf(++communicator.sequence, kAllGather, what.type), bytes,
                     [&](unsigned) { return own; }, [&](unsigned from) { return target + from * bytes; });
}

/// `whole`: every rank gets all sums (all-reduce), else each its own part (reduce-scatter).
CUresult runReduction(Communicator &communicator, const Operation &what, std::byte *source, std::byte *target, bool whole) {
  std::lock_guard lock(communicator.mutex);
  const unsigned ranks = communicator.world->ranks(), self = communicator.world->rank();
  const uint64_t size = ncclSizeOf(what.type), bytes = what.count * size;
  std::vector<std::byte> come(bytes * ranks);
  auto partFor = [&](unsigned rank) { return source + (whole ? 0 : rank * bytes); };
  std::memcpy(come.data() + self * bytes, partFor(self), bytes);
  CUresult result = exchangeAll(communicator, what.call, signatureOf(++communicator.sequence, whole ? kAllReduce : kReduceScatter, what.type), bytes, partFor,
                                [&](unsigned from) { return come.data() + from * bytes; });
  if (result != CUDA_SUCCESS || communicator.aborted)
    return result;
  const uint64_t part = whole ? (what.count + ranks - 1) / ranks : what.count;
  for (uint64_t begin = 0, owner = whole ? 0 : self; begin < what.count; begin += part, ++owner) {
    std::vector<const std::byte *> contributions;
    for (unsigned rank = 0; rank < ranks; ++rank)
      contributions.push_back(come.data() + rank * bytes + begin * size);
    addAsRing(contributions, static_cast<unsigned>(owner), what.type, target + begin * size, std::min(part, what.count - begin));
  }
  return CUDA_SUCCESS;
}

/// Puts one collective, or all sends and receives of a group, on its stream.
CUresult enqueueCollective(const Operation &what, unsigned kind) {
  const uint64_t size = ncclSizeOf(what.type), ranks = what.communicator->world->ranks();
  const uint64_t sourceCount = kind == kReduceScatter ? what.count * ranks : what.count, targetCount = kind == kAllGather ? what.count * ranks : what.count;
  StreamWork work;
  work.name = what.call;
  work.ranges = {{what.source, sourceCount * size, Access::Read}, {what.target, targetCount * size, Access::Write}};
  work.run = [what, kind, use = what.communicator->uses](std::span<std::byte *const> memory) {
    return kind == kAllGather ? runAllGather(*what.communicator, what, memory[0], memory[1])
                              : runReduction(*what.communicator, what, memory[0], memory[1], kind == kAllReduce);
  };
  return enqueue(what.stream, std::move(work));
}

CUresult enqueuePointToPoint(const std::vector<Operation> &operations) {
  StreamWork work;
  work.name = operations.front().call;
  for (const Operation &one : operations)
    work.ranges.push_back({one.target ? one.target : one.source, one.count * ncclSizeOf(one.type), one.target ? Access::Write : Access::Read});
  work.run = [operations, use = operations.front().communicator->uses](std::span<std::byte *const> memory) {
    Communicator &communicator = *operations.front().communicator;
    std::lock_guard lock(communicator.mutex);
    std::vector<NcclTransfer> transfers;
    for (size_t i = 0; i < operations.size(); ++i)
      transfers.push_back({operations[i].peer, operations[i].target == nullptr, memory[i], operations[i].count * ncclSizeOf(operations[i].type),
                           signatureOf(0, kPointToPoint, operations[i].type)});
    return runExchange(communicator, operations.front().call, transfers);
  };
  return enqueue(operations.front().stream, std::move(work));
}

ncclResult_t resultOf(CUresult code, const char *call) {
  if (code == CUDA_SUCCESS)
    return ncclSuccess;
  return failed(ncclUnhandledCudaError, std::string(call) + ": the driver's error " + std::to_string(code));
}

unsigned kindOf(const Operation &what) {
  return what.isPointToPoint                          ? kPointToPoint
         : what.call == std::string("ncclAllGather") ? kAllGather
         : what.call == std::string("ncclAllReduce") ? kAllReduce
                                                     : kReduceScatter;
}

/// How a communicator ends.
enum class Ending { Destroy, Abort, Revoke };
struct Ended {
  std::shared_ptr<Communicator> communicator;
  ncclComm_t handle;
  Ending ending;
};
thread_local std::vector<Ended> endings;

/// Blocks as NCCL does: it waits for the graphs that captured a communicator; to destroy it, for all ranks; an abort alone frees memory, for
/// which the device waits until nothing runs on it, and of several aborts in a group each has stopped its work before any is waited for.
ncclResult_t endAll() {
  std::vector<Ended> all = std::move(endings);
  endings.clear();
  auto waitUntil = [](auto condition) {
    while (!condition())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ncclResult_t result = ncclSuccess;
  for (const auto &[communicator, handle, ending] : all) {
    if (ending == Ending::Revoke) {
      waitUntil([&] { return communicator->running == 0; });
      communicator->revoked = true;
      continue;
    }
    waitUntil([&] { return communicator->uses.use_count() == 1; });
    if (ending == Ending::Abort)
      waitUntil([&] {
        std::lock_guard lock(liveMutex);
        for (const auto &[other, candidate] : live)
          if (candidate->device == communicator->device && candidate->running)
            return false;
        return true;
      });
    communicator->world->leave();
    if (ending == Ending::Destroy)
      waitUntil([&] {
        if (!communicator->world->haveAllLeft() && communicator->world->lostPeer() >= 0)
          result = failed(ncclRemoteError, "a peer ended while the communicator was destroyed");
        return result != ncclSuccess || communicator->world->haveAllLeft();
      });
    std::lock_guard lock(liveMutex);
    live.erase(handle);
    takeDeviceMemory(communicator->device, -kCommunicatorBytes);
  }
  return result;
}

ncclResult_t submitGroup() {
  if (!endings.empty())
    return endAll();
  std::vector<Operation> operations = std::move(group);
  group.clear();
  std::vector<bool> done(operations.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    if (done[i])
      continue;
    const Operation &first = operations[i];
    if (!first.isPointToPoint) {
      if (ncclResult_t result = resultOf(enqueueCollective(first, kindOf(first)), first.call); result != ncclSuccess)
        return result;
      continue;
    }
    std::vector<Operation> together;
    for (size_t j = i; j < operations.size(); ++j)
      if (!done[j] && operations[j].isPointToPoint && operations[j].communicator == first.communicator && operations[j].stream == first.stream) {
        together.push_back(operations[j]);
        done[j] = true;
      }
    if (ncclResult_t result = resultOf(enqueuePointToPoint(together), first.call); result != ncclSuccess)
      return result;
  }
  return ncclSuccess;
}

/// Checks a call as NCCL does, and keeps it until the group ends.
ncclResult_t add(Operation what) {
  if (injectedFailure(what.call))
    return failed(ncclInternalError, "injected by ZERO_SHIM_FAIL");
  what.communicator = find(what.handle);
  if (!what.communicator)
    return refuse(ncclInvalidArgument, what.call, "the communicator is none, or was destroyed");
  Counted call(what.communicator->calls);
  const unsigned self = what.communicator->world->rank();
  if (sticksAt(self, ++callsOf[self]))
    what.communicator->waitForAbort();
  if (what.communicator->aborted)
    return failed(ncclInvalidUsage, "the communicator was stopped");
  if (ncclSizeOf(what.type) == 0)
    return refuse(ncclInvalidArgument, what.call, "the simulation has no elements of type " + std::to_string(what.type));
  if (what.isPointToPoint && what.peer >= what.communicator->world->ranks())
    return refuse(ncclInvalidArgument, what.call, "rank " + std::to_string(what.peer) + " is none of " + std::to_string(what.communicator->world->ranks()));
  if (int device = deviceOf(what.stream); device != what.communicator->device)
    return refuse(ncclInvalidUsage, what.call,
                  "the stream is of device " + std::to_string(device) + ", the communicator of device " + std::to_string(what.communicator->device));
  if (!what.isPointToPoint && what.source != what.target) {
    // In place is this rank's part of the other; anything between is an error of ours that NCCL does not see.
    const uint64_t bytes = what.count * ncclSizeOf(what.type), ranks = what.communicator->world->ranks(), rank = what.communicator->world->rank();
    const unsigned kind = kindOf(what);
    auto *source = static_cast<const std::byte *>(what.source), *target = static_cast<const std::byte *>(what.target);
    const uint64_t sourceBytes = kind == kReduceScatter ? bytes * ranks : bytes, targetBytes = kind == kAllGather ? bytes * ranks : bytes;
    const bool inPlace = kind == kAllGather ? source == target + rank * bytes : kind == kReduceScatter ? target == source + rank * bytes : false;
    if (!inPlace && source < target + targetBytes && target < source + sourceBytes)
      return refuse(ncclInvalidArgument, what.call, "source and target overlap and are not in place");
  }
  group.push_back(std::move(what));
  return groupDepth ? ncclSuccess : submitGroup();
}

/// A process that ends well has destroyed or aborted its communicators.
void reportAtExit(int status, void *) {
  if (status == 0 && !live.empty() && exitsOnMisuse())
    endProcess("exit", std::to_string(live.size()) + " communicators of NCCL were not destroyed");
}
const int reportsAtExit = ::on_exit(reportAtExit, nullptr);

ncclResult_t end(ncclComm_t handle, Ending ending, const char *call) {
  std::shared_ptr<Communicator> communicator = find(handle);
  if (!communicator || (ending == Ending::Revoke && communicator->aborted))
    return refuse(ncclInvalidArgument, call, communicator ? "the communicator was stopped already" : "the communicator is none, or was destroyed");
  if (ending == Ending::Destroy && !communicator->registered.empty())
    return refuse(ncclInvalidUsage, call, std::to_string(communicator->registered.size()) + " buffers are still registered");
#ifndef ZERO_SHIM_OLD_NCCL
  if (ending == Ending::Abort && communicator->calls)
    return refuse(ncclInvalidUsage, call, "it frees what a call of another thread uses; ncclCommRevoke stops that call");
#endif
  for (const auto &[registration, memory] : communicator->registered)
    releaseMemory(memory.first, memory.second);
  communicator->registered.clear();
  communicator->aborted = ending != Ending::Destroy;
  endings.push_back({communicator, handle, ending});
  return groupDepth ? ncclSuccess : endAll();
}

} // namespace

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  if (injectedFailure("ncclGetVersion"))
    return failed(ncclInternalError, "injected by ZERO_SHIM_FAIL");
#ifdef ZERO_SHIM_OLD_NCCL
  constexpr int kVersion = NCCL_VERSION(2, 27, 3);
#else
  constexpr int kVersion = NCCL_VERSION_CODE;
#endif
  *version = static_cast<int>(numberSetting("ZERO_SHIM_NCCL_VERSION", kVersion));
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  if (injectedFailure("ncclGetUniqueId"))
    return failed(ncclInternalError, "injected by ZERO_SHIM_FAIL");
  // Open until the process ends: nothing is left of it afterwards, whoever came or not.
  const int file = ::memfd_create("zero-shim-nccl", MFD_CLOEXEC);
  if (file < 0)
    return failed(ncclSystemError, "no file of memory");
  std::string name = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, name.c_str(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *handle, int ranks, ncclUniqueId id, int rank) {
  if (injectedFailure("ncclCommInitRank") || failsAt(static_cast<unsigned>(rank), 0))
    return failed(ncclSystemError, "injected by ZERO_SHIM_FAIL");
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return refuse(ncclInvalidArgument, "ncclCommInitRank", "rank " + std::to_string(rank) + " is none of " + std::to_string(ranks));
  int device = currentDevice();
  if (device < 0)
    return refuse(ncclUnhandledCudaError, "ncclCommInitRank", "no context is current on this thread");
  if (takeDeviceMemory(device, kCommunicatorBytes) != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError, "Failed to allocate " + std::to_string(kCommunicatorBytes) + " bytes of device memory");
  auto communicator = std::make_shared<Communicator>();
  communicator->device = device;
  std::string error;
  communicator->world = NcclWorld::join(std::string(id.internal), static_cast<unsigned>(ranks), static_cast<unsigned>(rank), static_cast<uint64_t>(physicalDevice(device)), error);
  if (!communicator->world) {
    takeDeviceMemory(device, -kCommunicatorBytes);
    return failed(ncclInvalidUsage, error);
  }
  std::lock_guard lock(liveMutex);
  *handle = reinterpret_cast<ncclComm_t>(communicator.get());
  live.emplace(*handle, communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) { return end(handle, Ending::Destroy, "ncclCommDestroy"); }
ncclResult_t ncclCommAbort(ncclComm_t handle) { return end(handle, Ending::Abort, "ncclCommAbort"); }
#ifndef ZERO_SHIM_OLD_NCCL
ncclResult_t ncclCommRevoke(ncclComm_t handle, int flags) {
  return flags == NCCL_REVOKE_DEFAULT ? end(handle, Ending::Revoke, "ncclCommRevoke") : refuse(ncclInvalidArgument, "ncclCommRevoke", "there are no flags");
}
#endif

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *error) {
  std::shared_ptr<Communicator> communicator = find(handle);
  if (!communicator)
    return refuse(ncclInvalidArgument, "ncclCommGetAsyncError", "the communicator is none, or was destroyed");
  *error = static_cast<ncclResult_t>(communicator->asynchronousError.load());
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t handle, void *buffer, size_t size, void **registration) {
  if (injectedFailure("ncclCommRegister"))
    return failed(ncclInternalError, "injected by ZERO_SHIM_FAIL");
  std::shared_ptr<Communicator> communicator = find(handle);
  if (!communicator)
    return refuse(ncclInvalidArgument, "ncclCommRegister", "the communicator is none, or was destroyed");
  if (CUresult result = checkDeviceRange("ncclCommRegister", {buffer, size, Access::Read}); result != CUDA_SUCCESS)
    return resultOf(result, "ncclCommRegister");
  std::lock_guard lock(communicator->errorMutex);
  *registration = reinterpret_cast<void *>(communicator->registered.size() + 1);
  communicator->registered[*registration] = {buffer, size};
  holdMemory(buffer, size, "NCCL");
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t handle, void *registration) {
  std::shared_ptr<Communicator> communicator = find(handle);
  if (!communicator)
    return refuse(ncclInvalidArgument, "ncclCommDeregister", "the communicator is none, or was destroyed");
  std::lock_guard lock(communicator->errorMutex);
  auto found = communicator->registered.find(registration);
  if (found == communicator->registered.end())
    return refuse(ncclInvalidArgument, "ncclCommDeregister", "the buffer is not registered");
  releaseMemory(found->second.first, found->second.second);
  communicator->registered.erase(found);
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
  case ncclSystemError:
    return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  case ncclInternalError:
    return "internal error - please report this issue to the NCCL developers";
  case ncclInvalidArgument:
    return "invalid argument (run with NCCL_DEBUG=WARN for details)";
  case ncclInvalidUsage:
    return "invalid usage (run with NCCL_DEBUG=WARN for details)";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInProgress:
    return "NCCL operation in progress";
  default:
    return "unknown result code";
  }
}

const char *ncclGetLastError(ncclComm_t handle) {
  if (std::shared_ptr<Communicator> communicator = find(handle)) {
    std::lock_guard lock(communicator->errorMutex);
    if (!communicator->lastError.empty())
      lastErrorOfThread = communicator->lastError;
  }
  return lastErrorOfThread.c_str();
}

ncclResult_t ncclAllGather(const void *source, void *target, size_t count, ncclDataType_t type, ncclComm_t handle, cudaStream_t stream) {
  return add({"ncclAllGather", handle, nullptr, stream, type, source, target, count});
}

static ncclResult_t addReduction(Operation what, ncclRedOp_t operation) {
  if (operation != ncclSum)
    return refuse(ncclInvalidArgument, what.call, "the simulation has sums alone");
  return add(std::move(what));
}
ncclResult_t ncclReduceScatter(const void *source, void *target, size_t count, ncclDataType_t type, ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  return addReduction({"ncclReduceScatter", handle, nullptr, stream, type, source, target, count}, operation);
}
ncclResult_t ncclAllReduce(const void *source, void *target, size_t count, ncclDataType_t type, ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  return addReduction({"ncclAllReduce", handle, nullptr, stream, type, source, target, count}, operation);
}

ncclResult_t ncclSend(const void *source, size_t count, ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream) {
  return add({"ncclSend", handle, nullptr, stream, type, source, nullptr, count, static_cast<unsigned>(peer), true});
}
ncclResult_t ncclRecv(void *target, size_t count, ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream) {
  return add({"ncclRecv", handle, nullptr, stream, type, nullptr, target, count, static_cast<unsigned>(peer), true});
}

ncclResult_t ncclGroupStart() {
  ++groupDepth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (groupDepth == 0)
    return refuse(ncclInvalidUsage, "ncclGroupEnd", "no group was started on this thread");
  return --groupDepth ? ncclSuccess : submitGroup();
}

} // extern "C"

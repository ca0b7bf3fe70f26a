//===- StreamChannel.h - Collectives of memory that the host cannot read --===//
//
// The collectives of Channel for a device with memory of its own. Each one of a program is prepared once and then enqueued on a
// stream of the device as often as it is wanted, also while the stream is captured into a graph. Equivalent to: an NCCL
// communicator.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_STREAMCHANNEL_H
#define ZERO_RUNTIME_HAL_STREAMCHANNEL_H

#include "zero/Runtime/HAL/Channel.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zero {

class Bootstrap;
class DeviceModule;
class StreamDevice;

/// Told of each run of a collective, in their order and some time after it happened, by one thread at a time, which it must not keep waiting.
/// Times are nanoseconds of the host's steady clock.
class CollectiveObserver {
public:
  virtual ~CollectiveObserver() = default;
  /// Everything before the collective on its stream is done. Gives where in the job it is.
  virtual JobPlace entered(int64_t time) = 0;
  /// It is complete on this rank.
  virtual void left(int64_t time) = 0;
};

/// One collective of a program. Addresses are the device's; sizes and places are those of Channel.
struct StreamCollective {
  enum class Kind : uint8_t { AllGather, ReduceScatter, FloatSum, IntegerSum };
  Kind kind = Kind::AllGather;
  /// Of a reduce_scatter; a sum is of float32 or int64.
  FloatType element = FloatType::F32, targetElement = FloatType::F32;
  const void *source = nullptr;
  void *target = nullptr, *staging = nullptr;
  uint64_t stagingBytes = 0; ///< of a reduce_scatter: peers send in rounds that fill it
  /// Of an all_gather the bytes of this rank's part, else the elements of the result on this rank.
  uint64_t elements = 0;
  uint32_t name = 0;  ///< of the JobView, for messages and the flight recorder
  uint64_t wireBytes = 0; ///< what the plan says that this rank sends
  std::string origin; ///< what the message of an error starts with: "reduce_scatter b2 (h.0.q ...)"
  CollectiveObserver *observer = nullptr;

  /// Bytes that this rank sends to each of its peers.
  uint64_t bytesToEach() const {
    switch (kind) {
    case Kind::AllGather:
      return elements;
    case Kind::ReduceScatter:
      return elements * sizeOf(element);
    case Kind::FloatSum:
      return elements * sizeof(float);
    case Kind::IntegerSum:
      return elements * sizeof(int64_t);
    }
    return 0;
  }
};

class PreparedCollective {
public:
  virtual ~PreparedCollective() = default;
  /// Runs in the stream's order. Every enqueued one has run before the next of the channel does.
  virtual Status enqueue(void *stream) = 0;
};

/// All ranks enqueue the collectives of a channel in the same order. A collective that fails, or waits for a peer for too long, raises
/// the rank's failure; after a failure everything that was enqueued comes to an end, with bytes that mean nothing.
class StreamChannel {
public:
  virtual ~StreamChannel() = default;
  /// The channel, the observer and the memory outlive what was prepared, and that outlives every stream it was enqueued on.
  virtual Expected<std::unique_ptr<PreparedCollective>> prepare(const StreamCollective &collective) = 0;
  /// Whether `enqueue` returns only when the collective is complete: then it is called by a thread of that queue alone, and the
  /// stream is not captured.
  virtual bool blocks() const = 0;
  /// Tells observers and the JobView at once what streams have passed by now; otherwise they hear of it within some ten milliseconds.
  virtual void collect() {}
  /// As of Channel.
  virtual uint64_t bytesOmitted() const { return 0; }
};

/// The channels of a rank. Every rank calls `create` equally often.
class StreamChannels {
public:
  /// Where `close` was not called they are given up, as after a failure: an error or an exception of this rank may have left peers behind
  /// in a collective. That waits for nobody.
  virtual ~StreamChannels() = default;
  virtual Expected<std::unique_ptr<StreamChannel>> create() = 0;
  /// Ends them in order: every rank calls it when what it enqueued has run and no captured graph has collectives any more. Nothing is
  /// prepared or enqueued afterwards. An error where a peer does not come.
  virtual Status close() = 0;
};

struct StreamChannelOptions {
  /// Sums run in rank order, to the bits of the CPU's channels; otherwise in the library's order, which depends on the ranks' number
  /// and on where an element lies.
  bool deterministic = false;
  /// Device memory that collectives use: what can be registered is sent from in place.
  std::vector<std::pair<void *, uint64_t>> memory;
};

/// Over NCCL, one communicator each; which is loaded when this is called. `program` holds the kernel of MarkKernel.h, and those of
/// OrderedSumKernel.h that the collectives need. The arguments outlive the result.
Expected<std::unique_ptr<StreamChannels>> createNcclChannels(Bootstrap &bootstrap, StreamDevice &device, DeviceModule &program,
                                                             const StreamChannelOptions &options);

/// Through pinned memory and the channels of `bootstrap`: the bits, messages and counters of the CPU's, also for ranks that share a
/// device. The arguments outlive the result.
std::unique_ptr<StreamChannels> createStagedChannels(Bootstrap &bootstrap, StreamDevice &device);

} // namespace zero

#endif

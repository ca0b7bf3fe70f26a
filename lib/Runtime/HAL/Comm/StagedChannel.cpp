//===- StagedChannel.cpp - Collectives of device memory through the host's ==//
//
// What a collective sends comes into pinned memory, a channel of the host exchanges it there, and the result goes back. So ranks can share a
// device, and bits, messages, counters and flight records are those of the host's channels.
//
//===----------------------------------------------------------------------===//
#include "zero/Runtime/HAL/Bootstrap.h"
#include "zero/Runtime/HAL/Staging.h"
#include "zero/Runtime/HAL/Stream.h"
#include "zero/Runtime/HAL/StreamChannel.h"
#include <chrono>

namespace zero {
namespace {

using Kind = StreamCollective::Kind;

class StagedChannel final : public StreamChannel {
public:
  StagedChannel(std::unique_ptr<Channel> channel, Bootstrap &bootstrap, StreamDevice &device)
      : channel(std::move(channel)), bootstrap(bootstrap), device(device) {}
  bool blocks() const override { return true; }
  uint64_t bytesOmitted() const override { return channel->bytesOmitted(); }
  Expected<std::unique_ptr<PreparedCollective>> prepare(const StreamCollective &collective) override;

  const std::unique_ptr<Channel> channel;
  Bootstrap &bootstrap;
  StreamDevice &device;
  /// For one collective at a time, as large as the largest needs.
  std::unique_ptr<PinnedMemory> pinned;
};

/// Where the parts of a collective lie in the pinned memory.
struct Places {
  uint64_t sourceBytes, target, targetBytes, staging, size;
};

class StagedCollective final : public PreparedCollective {
public:
  StagedCollective(StagedChannel &owner, const StreamCollective &what, const Places &places) : owner(owner), what(what), places(places) {}

  Status enqueue(void *stream) override {
    StreamDevice &device = owner.device;
    if (!device.synchronize(stream, owner.bootstrap.failure()))
      return owner.bootstrap.failure().status();
    auto now = [] { return int64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); };
    const JobPlace at = what.observer->entered(now());
    const uint64_t before = owner.channel->bytesSent();
    std::byte *host = owner.pinned->data();
    std::byte *source = what.kind == Kind::AllGather ? host + owner.bootstrap.rank() * what.elements : host;
    ZERO_RETURN_IF_ERROR(device.downloadAsync(source, what.source, places.sourceBytes, stream));
    if (!device.synchronize(stream, owner.bootstrap.failure()))
      return owner.bootstrap.failure().status();
    owner.channel->announce({what.name, at});
    ZERO_RETURN_IF_ERROR(exchange(host, source));
    ZERO_RETURN_IF_ERROR(upload(host, stream));
    if (!device.synchronize(stream, owner.bootstrap.failure()))
      return owner.bootstrap.failure().status();
    what.observer->left(now());
    if (uint64_t sent = owner.channel->bytesSent() - before; sent != what.wireBytes)
      return Status::programFailed("sent " + std::to_string(sent) + " bytes, but the plan says " + std::to_string(what.wireBytes));
    return {};
  }

private:
  Status exchange(std::byte *host, std::byte *source) {
    std::byte *target = host + places.target, *staging = host + places.staging;
    switch (what.kind) {
    case Kind::AllGather:
      return owner.channel->allGather(source, target, what.elements);
    case Kind::ReduceScatter:
      return owner.channel->reduceScatter(source, what.element, target, what.targetElement, what.elements, staging);
    case Kind::FloatSum:
      return owner.channel->sum(reinterpret_cast<const float *>(source), reinterpret_cast<float *>(target), what.elements, staging);
    case Kind::IntegerSum:
      return owner.channel->sum(reinterpret_cast<const int64_t *>(source), reinterpret_cast<int64_t *>(target), what.elements, staging);
    }
    return {};
  }

  Status upload(const std::byte *host, void *stream) {
    auto *target = static_cast<std::byte *>(what.target);
    auto put = [&](uint64_t begin, uint64_t size) -> Status {
      return size ? owner.device.uploadAsync(target + begin, host + places.target + begin, size, stream) : Status();
    };
    const uint64_t own = owner.bootstrap.rank() * what.elements;
    if (what.kind != Kind::AllGather || what.source != target + own)
      return put(0, places.targetBytes);
    // This rank's part is there, and other queues may be reading it.
    ZERO_RETURN_IF_ERROR(put(0, own));
    return put(own + what.elements, places.targetBytes - own - what.elements);
  }

  StagedChannel &owner;
  const StreamCollective what;
  const Places places;
};

Expected<std::unique_ptr<PreparedCollective>> StagedChannel::prepare(const StreamCollective &what) {
  constexpr uint64_t kAlignment = 64;
  auto align = [](uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  const uint64_t ranks = bootstrap.size(), each = what.bytesToEach();
  Places places = {};
  uint64_t stagingBytes = 0;
  switch (what.kind) {
  case Kind::AllGather: // in place
    places.sourceBytes = each;
    places.targetBytes = ranks * each;
    places.size = places.targetBytes;
    break;
  case Kind::ReduceScatter:
    places.sourceBytes = ranks * each;
    places.target = align(places.sourceBytes);
    places.targetBytes = what.elements * sizeOf(what.targetElement);
    stagingBytes = reduceScatterStagingBytes(each, ranks);
    break;
  case Kind::FloatSum:
  case Kind::IntegerSum: // in place
    places.sourceBytes = places.targetBytes = each;
    stagingBytes = controlSumStagingBytes(each, ranks);
    break;
  }
  places.staging = align(places.target + places.targetBytes);
  places.size = places.staging + stagingBytes;
  if (!pinned || pinned->size() < places.size) {
    ZERO_ASSIGN_OR_RETURN(pinned, device.allocatePinned(places.size));
  }
  return std::unique_ptr<PreparedCollective>(std::make_unique<StagedCollective>(*this, what, places));
}

class StagedChannels final : public StreamChannels {
public:
  StagedChannels(Bootstrap &bootstrap, StreamDevice &device) : bootstrap(bootstrap), device(device) {}
  Expected<std::unique_ptr<StreamChannel>> create() override {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
    return std::unique_ptr<StreamChannel>(std::make_unique<StagedChannel>(std::move(channel), bootstrap, device));
  }
  Status close() override { return {}; } // the host's channels have nothing to end together

private:
  Bootstrap &bootstrap;
  StreamDevice &device;
};

} // namespace

std::unique_ptr<StreamChannels> createStagedChannels(Bootstrap &bootstrap, StreamDevice &device) {
  return std::make_unique<StagedChannels>(bootstrap, device);
}

} // namespace zero

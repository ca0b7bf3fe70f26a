//===- StreamConformance.h - What every channel of device memory must do --===//
//
// One body, run by every rank: as a thread over loopback or as a process under mpirun, over NCCL and staged through the host. Expected values
// are computed apart, so equal results mean the bits of the CPU's channels.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_COMM_STREAMCONFORMANCE_H
#define ZERO_TEST_CUDA_COMM_STREAMCONFORMANCE_H

#include "test/Unit/HAL/ChannelConformance.h"
#include "zero/Runtime/HAL/Stream.h"
#include "zero/Runtime/HAL/StreamChannel.h"
#include <cmath>
#include <mutex>

namespace zero::test {

/// Small enough that no partial sum overflows in 16 bits.
inline float numberOf(unsigned rank, uint64_t i) { return valueOf(rank, i) * 0.0625f; }
inline float rankOrderSum(unsigned ranks, uint64_t i) {
  volatile float sum = numberOf(0, i);
  for (unsigned rank = 1; rank < ranks; ++rank)
    sum = sum + numberOf(rank, i);
  return sum;
}

/// Counts what it is told; a thread of the device tells.
struct CountingObserver final : CollectiveObserver {
  JobPlace entered(int64_t time) override {
    ++entries;
    last = time;
    return {7, place};
  }
  void left(int64_t time) override {
    ++exits;
    if (time < last)
      grew = false;
  }
  uint32_t place = 0; ///< where it says that collectives are
  std::atomic<uint64_t> entries = 0, exits = 0;
  std::atomic<int64_t> last = 0;
  std::atomic<bool> grew = true;
};

/// How near sums must be to those in rank order.
enum class Sums {
  SameBits,
  /// In the type that is sent, in any order.
  Near,
};

/// One channel with the memory and the stream that its collectives use.
class StreamConformance {
public:
  /// `memory`: `bytes` of the device, which nobody else uses.
  StreamConformance(Bootstrap &bootstrap, StreamDevice &device, StreamChannel &channel, void *stream, std::byte *memory, uint64_t bytes, Sums sums)
      : bootstrap(bootstrap), device(device), channel(channel), stream(stream), memory(memory), bytes(bytes), sums(sums), rank(bootstrap.rank()),
        ranks(bootstrap.size()) {}

  static uint64_t bytesFor(uint64_t elements, unsigned ranks) { return (elements * (3 * ranks + 4)) * 8 + 4096; }

  Status check(uint64_t elements) {
    for (bool inPlace : {false, true}) {
      ZERO_RETURN_IF_ERROR(checkAllGather(elements, inPlace));
      ZERO_RETURN_IF_ERROR(checkSums(elements, inPlace));
    }
    constexpr FloatType types[] = {FloatType::F32, FloatType::F16, FloatType::BF16};
    for (FloatType type : types)
      for (FloatType targetType : types)
        for (bool inPlace : {false, true})
          if (!inPlace || type == targetType)
            ZERO_RETURN_IF_ERROR(checkReduceScatter(elements, type, targetType, inPlace));
    return {};
  }

private:
  /// Runs `what` twice (its second result must be the first's) and checks what it reports of itself.
  Status run(StreamCollective what, const std::byte *source, uint64_t sourceBytes, uint64_t elements) {
    CountingObserver observer;
    what.observer = &observer;
    what.origin = "a collective";
    what.wireBytes = (ranks - 1) * what.bytesToEach();
    const RankState &own = bootstrap.view().own();
    const uint64_t before = own.collectives.load();
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<PreparedCollective> prepared, channel.prepare(what));
    for (int round = 0; round < 2; ++round) {
      ZERO_RETURN_IF_ERROR(device.upload(const_cast<std::byte *>(static_cast<const std::byte *>(what.source)), source, sourceBytes));
      ZERO_RETURN_IF_ERROR(prepared->enqueue(stream));
      if (!device.synchronize(stream, bootstrap.failure()))
        return bootstrap.failure().status();
    }
    channel.collect();
    ZERO_CONFORM(observer.entries == 2 && observer.exits == 2 && observer.grew);
    if (channel.blocks()) { // the host's channel keeps the record, and another one is used meanwhile
      ZERO_CONFORM(own.collectives.load() - before >= 2);
      return {};
    }
    ZERO_CONFORM(own.collectives.load() - before == 2);
    const FlightRecord &last = own.records[(before + 1) % kFlightRecords];
    ZERO_CONFORM(last.bytes.load() == what.bytesToEach() && last.end.load() >= last.begin.load() && last.name.load() == what.name && last.step.load() == 7);
    // By the host's clock, although the device has another one.
    ZERO_CONFORM(std::llabs(JobView::unixNanoseconds() - last.end.load()) < 10'000'000'000);
    return {};
  }

  /// Cuts the memory into pieces; each starts at a multiple of 256, or beyond one by `shift`.
  std::byte *take(uint64_t size, uint64_t shift = 0) {
    std::byte *piece = memory + used + shift;
    used += (size + shift + 255) / 256 * 256;
    return used <= bytes ? piece : nullptr;
  }

  Status checkAllGather(uint64_t elements, bool inPlace) {
    used = 0;
    const uint64_t size = elements * sizeof(float);
    std::byte *target = take(size * ranks), *apart = take(size), *source = inPlace ? target + rank * size : apart;
    ZERO_CONFORM(source && apart);
    std::vector<float> own(elements), whole(elements * ranks);
    for (uint64_t i = 0; i < elements; ++i)
      own[i] = numberOf(rank, i);
    StreamCollective what;
    what.kind = StreamCollective::Kind::AllGather;
    what.source = source;
    what.target = target;
    what.elements = size;
    ZERO_RETURN_IF_ERROR(run(what, reinterpret_cast<std::byte *>(own.data()), size, elements));
    ZERO_RETURN_IF_ERROR(device.download(whole.data(), target, size * ranks));
    for (unsigned peer = 0; peer < ranks; ++peer)
      for (uint64_t i = 0; i < elements; ++i)
        ZERO_CONFORM(sameBits(whole[peer * elements + i], numberOf(peer, i)));
    return {};
  }

  Status checkReduceScatter(uint64_t elements, FloatType type, FloatType targetType, bool inPlace) {
    used = 0;
    const uint64_t size = sizeOf(type), targetSize = sizeOf(targetType);
    // Apart it starts where vectors of four do not.
    std::byte *source = take(elements * ranks * size), *apart = take(elements * targetSize, targetSize);
    // That of hosts: so large sums take several rounds.
    const uint64_t stagingBytes = reduceScatterStagingBytes(elements * size, ranks);
    std::byte *staging = take(stagingBytes + 1), *target = inPlace ? source + rank * elements * size : apart;
    ZERO_CONFORM(source && apart && staging);
    std::vector<std::byte> whole(elements * ranks * size), result(elements * targetSize), after(whole.size());
    for (uint64_t i = 0; i < elements * ranks; ++i)
      store(type, whole.data(), i, numberOf(rank, i));
    StreamCollective what;
    what.kind = StreamCollective::Kind::ReduceScatter;
    what.element = type;
    what.targetElement = targetType;
    what.source = source;
    what.target = target;
    what.staging = staging;
    what.stagingBytes = stagingBytes;
    what.elements = elements;
    ZERO_RETURN_IF_ERROR(run(what, whole.data(), whole.size(), elements));
    ZERO_RETURN_IF_ERROR(device.download(result.data(), target, result.size()));
    // Sums that are rounded to another type are always in rank order.
    const bool exact = sums == Sums::SameBits || type != targetType;
    for (uint64_t i = 0; i < elements; ++i) {
      volatile float sum = nearest(type, numberOf(0, rank * elements + i));
      float magnitude = std::fabs(sum);
      for (unsigned peer = 1; peer < ranks; ++peer) {
        float number = nearest(type, numberOf(peer, rank * elements + i));
        sum = sum + number;
        magnitude += std::fabs(number);
      }
      ZERO_CONFORM(matches(load(targetType, result.data(), i), nearest(targetType, sum), magnitude, type, exact));
    }
    ZERO_RETURN_IF_ERROR(device.download(after.data(), source, after.size()));
    for (unsigned peer = 0; peer < ranks; ++peer) // the other ranges are left alone
      ZERO_CONFORM((inPlace && peer == rank) || std::memcmp(after.data() + peer * elements * size, whole.data() + peer * elements * size, elements * size) == 0);
    return {};
  }

  Status checkSums(uint64_t elements, bool inPlace) {
    used = 0;
    std::byte *source = take(elements * 8), *apart = take(elements * 8), *staging = take(controlSumStagingBytes(elements * 8, ranks) + 1);
    ZERO_CONFORM(source && apart && staging);
    StreamCollective what;
    what.source = source;
    what.target = inPlace ? source : apart;
    what.staging = staging;
    what.elements = elements;
    what.kind = StreamCollective::Kind::FloatSum;
    std::vector<float> values(elements), sum(elements);
    for (uint64_t i = 0; i < elements; ++i)
      values[i] = numberOf(rank, i);
    ZERO_RETURN_IF_ERROR(run(what, reinterpret_cast<std::byte *>(values.data()), elements * sizeof(float), elements));
    ZERO_RETURN_IF_ERROR(device.download(sum.data(), static_cast<std::byte *>(what.target), elements * sizeof(float)));
    for (uint64_t i = 0; i < elements; ++i) {
      float magnitude = 0;
      for (unsigned peer = 0; peer < ranks; ++peer)
        magnitude += std::fabs(numberOf(peer, i));
      ZERO_CONFORM(matches(sum[i], rankOrderSum(ranks, i), magnitude, FloatType::F32, sums == Sums::SameBits));
    }
    what.kind = StreamCollective::Kind::IntegerSum;
    std::vector<int64_t> counts(elements), total(elements);
    for (uint64_t i = 0; i < elements; ++i)
      counts[i] = INT64_MAX - static_cast<int64_t>(rank + i);
    ZERO_RETURN_IF_ERROR(run(what, reinterpret_cast<std::byte *>(counts.data()), elements * sizeof(int64_t), elements));
    ZERO_RETURN_IF_ERROR(device.download(total.data(), static_cast<std::byte *>(what.target), elements * sizeof(int64_t)));
    for (uint64_t i = 0; i < elements; ++i) {
      uint64_t expected = 0;
      for (unsigned peer = 0; peer < ranks; ++peer)
        expected += static_cast<uint64_t>(INT64_MAX) - (peer + i);
      ZERO_CONFORM(static_cast<uint64_t>(total[i]) == expected);
    }
    return {};
  }

  /// `magnitude`: the sum of the absolute values: what a rounding of a partial sum is relative to.
  bool matches(float got, float expected, float magnitude, FloatType type, bool exact) const {
    if (exact)
      return sameBits(got, expected);
    const float unit = type == FloatType::F32 ? 0x1p-24f : type == FloatType::F16 ? 0x1p-11f : 0x1p-8f;
    return std::fabs(got - expected) <= static_cast<float>(ranks) * unit * magnitude * 1.01f + (type == FloatType::F16 ? 0x1p-24f : 0.0f);
  }

  Bootstrap &bootstrap;
  StreamDevice &device;
  StreamChannel &channel;
  void *stream;
  std::byte *memory;
  const uint64_t bytes;
  const Sums sums;
  const unsigned rank, ranks;
  uint64_t used = 0;
};

} // namespace zero::test

#endif

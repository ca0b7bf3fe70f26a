//===- ChannelConformance.h - What every channel must do ------------------===//
//
// One body, run by every rank of every channel: on loopback inside GoogleTest, on MPI by a program under mpirun. Expected values
// are computed apart, so equal results mean equal bits on all channels.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_UNIT_HAL_CHANNELCONFORMANCE_H
#define ZERO_TEST_UNIT_HAL_CHANNELCONFORMANCE_H

#include "zero/Runtime/Base/NarrowFloats.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include "zero/Runtime/HAL/Device.h"
#include "zero/Runtime/HAL/Staging.h"
#include <cstring>
#include <memory_resource>
#include <span>

namespace zero::test {

/// A float that has no short form, so that another order of summation gives other bits.
inline float valueOf(unsigned rank, uint64_t i) {
  uint64_t mixed = (rank + 1) * 0x9e3779b97f4a7c15ull ^ (i + 7) * 0xbf58476d1ce4e5b9ull;
  mixed ^= mixed >> 29;
  return (static_cast<float>(mixed & 0xffff) - 32768.0f) * (1.0f / 3.0f) * ((mixed >> 20) & 1 ? 1e-4f : 10.0f);
}

/// What rank-ordered float32 summation gives.
inline float sumOf(unsigned ranks, uint64_t i) {
  volatile float sum = valueOf(0, i);
  for (unsigned rank = 1; rank < ranks; ++rank)
    sum = sum + valueOf(rank, i);
  return sum;
}

inline bool sameBits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// The number nearest to `value` in a type, and numbers of the type in memory.
inline float nearest(FloatType type, float value) {
  switch (type) {
  case FloatType::F16:
    return widenFloat16(roundToFloat16(value));
  case FloatType::BF16:
    return widenBFloat16(roundToBFloat16(value));
  case FloatType::F32:
    return value;
  }
  return value;
}
inline float load(FloatType type, const std::byte *memory, uint64_t i) {
  uint16_t narrow;
  float wide;
  if (type == FloatType::F32)
    return std::memcpy(&wide, memory + 4 * i, 4), wide;
  std::memcpy(&narrow, memory + 2 * i, 2);
  return type == FloatType::F16 ? widenFloat16(narrow) : widenBFloat16(narrow);
}
inline void store(FloatType type, std::byte *memory, uint64_t i, float value) {
  uint16_t narrow = type == FloatType::F16 ? roundToFloat16(value) : roundToBFloat16(value);
  if (type == FloatType::F32)
    std::memcpy(memory + 4 * i, &value, 4);
  else
    std::memcpy(memory + 2 * i, &narrow, 2);
}

#define ZERO_CONFORM(condition)                                                                              \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      return Status::programFailed("elements " + std::to_string(elements) + ": not " #condition);            \
  } while (false)

/// Tests one channel with `elements` per rank, apart and in place, in `memory`. Fails with what did not hold.
inline Status checkCollectives(Channel &channel, unsigned rank, unsigned ranks, uint64_t elements,
                               std::pmr::memory_resource *memory = std::pmr::get_default_resource()) {
  uint64_t bytes = elements * sizeof(float), before = channel.bytesSent();
  std::vector<std::byte> staging(std::max(reduceScatterStagingBytes(bytes, ranks), controlSumStagingBytes(bytes * 2, ranks)) + 1);

  for (bool inPlace : {false, true}) {
    std::pmr::vector<float> whole(elements * ranks, -1.0f, memory), own(elements, memory);
    float *source = inPlace ? whole.data() + rank * elements : own.data();
    for (uint64_t i = 0; i < elements; ++i)
      source[i] = valueOf(rank, i);
    ZERO_RETURN_IF_ERROR(channel.allGather(source, whole.data(), bytes));
    std::fill(own.begin(), own.end(), 0.0f); // complete: nobody reads it any more
    for (unsigned peer = 0; peer < ranks; ++peer)
      for (uint64_t i = 0; i < elements; ++i)
        ZERO_CONFORM(sameBits(whole[peer * elements + i], valueOf(peer, i)));

    for (uint64_t i = 0; i < whole.size(); ++i)
      whole[i] = valueOf(rank, i);
    float *target = inPlace ? whole.data() + rank * elements : own.data();
    ZERO_RETURN_IF_ERROR(channel.reduceScatter(whole.data(), target, elements, staging.data()));
    for (uint64_t i = 0; i < elements; ++i)
      ZERO_CONFORM(sameBits(target[i], sumOf(ranks, rank * elements + i)));
    for (uint64_t i = 0; i < whole.size(); ++i) // the other ranges are left alone
      ZERO_CONFORM((inPlace && i / elements == rank) || sameBits(whole[i], valueOf(rank, i)));
    std::fill(whole.begin(), whole.end(), 0.0f);

    std::pmr::vector<float> values(elements, memory), result(elements, memory);
    std::pmr::vector<int64_t> counts(elements, memory), total(elements, memory);
    for (uint64_t i = 0; i < elements; ++i)
      values[i] = valueOf(rank, i), counts[i] = INT64_MAX - static_cast<int64_t>(rank + i);
    float *sum = inPlace ? values.data() : result.data();
    ZERO_RETURN_IF_ERROR(channel.sum(values.data(), sum, elements, staging.data()));
    int64_t *wrapped = inPlace ? counts.data() : total.data();
    ZERO_RETURN_IF_ERROR(channel.sum(counts.data(), wrapped, elements, staging.data()));
    for (uint64_t i = 0; i < elements; ++i) {
      uint64_t expected = 0;
      for (unsigned peer = 0; peer < ranks; ++peer)
        expected += static_cast<uint64_t>(INT64_MAX) - (peer + i);
      ZERO_CONFORM(sameBits(sum[i], sumOf(ranks, i)));
      ZERO_CONFORM(static_cast<uint64_t>(wrapped[i]) == expected);
    }
  }
  ZERO_CONFORM(channel.bytesSent() - before == 2 * (ranks - 1) * (2 * bytes + bytes + 2 * bytes));
  return {};
}

/// reduce_scatter from every type of float to every type: the sum is float32 and rounded once.
inline Status checkFloatTypes(Channel &channel, unsigned rank, unsigned ranks, uint64_t elements,
                              std::pmr::memory_resource *memory = std::pmr::get_default_resource()) {
  constexpr FloatType types[] = {FloatType::F32, FloatType::F16, FloatType::BF16};
  for (FloatType type : types)
    for (FloatType targetType : types)
      for (bool inPlace : {false, true}) {
        if (inPlace && type != targetType)
          continue;
        uint64_t size = sizeOf(type), before = channel.bytesSent();
        std::pmr::vector<float> wholeFloats(elements * ranks, memory), ownFloats(elements, memory); // aligned for every type
        auto *whole = reinterpret_cast<std::byte *>(wholeFloats.data()), *own = reinterpret_cast<std::byte *>(ownFloats.data());
        std::vector<std::byte> staging(reduceScatterStagingBytes(elements * size, ranks) + 1);
        for (uint64_t i = 0; i < elements * ranks; ++i)
          store(type, whole, i, valueOf(rank, i));
        std::byte *target = inPlace ? whole + rank * elements * size : own;
        ZERO_RETURN_IF_ERROR(channel.reduceScatter(whole, type, target, targetType, elements, staging.data()));
        for (uint64_t i = 0; i < elements; ++i) {
          volatile float sum = nearest(type, valueOf(0, rank * elements + i));
          for (unsigned peer = 1; peer < ranks; ++peer)
            sum = sum + nearest(type, valueOf(peer, rank * elements + i));
          ZERO_CONFORM(sameBits(load(targetType, target, i), nearest(targetType, sum)));
        }
        ZERO_CONFORM(channel.bytesSent() - before == (ranks - 1) * elements * size);
      }
  return {};
}

/// More than is read of a peer in one piece, twice: what was let go is there again.
inline Status checkLarge(Channel &channel, unsigned rank, unsigned ranks, std::span<float> memory) {
  const uint64_t elements = memory.size() / ranks;
  std::vector<std::byte> staging(reduceScatterStagingBytes(elements * sizeof(float), ranks) + 1);
  for (unsigned round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < elements * ranks; ++i)
      memory[i] = valueOf(rank + round, i);
    float *own = memory.data() + rank * elements;
    ZERO_RETURN_IF_ERROR(channel.reduceScatter(memory.data(), own, elements, staging.data()));
    ZERO_RETURN_IF_ERROR(channel.allGather(own, memory.data(), elements * sizeof(float)));
    for (uint64_t i = 0; i < elements * ranks; ++i) {
      volatile float sum = valueOf(round, i);
      for (unsigned peer = 1; peer < ranks; ++peer)
        sum = sum + valueOf(peer + round, i);
      ZERO_CONFORM(sameBits(memory[i], sum));
    }
  }
  return {};
}

/// Gradients of a table of which each rank touched a few rows; zeros of both signs keep their bits.
inline Status checkZeros(Channel &channel, unsigned rank, unsigned ranks, uint64_t elements) {
  constexpr uint64_t kRow = 100;
  auto touched = [&](unsigned of, uint64_t i) {
    uint64_t row = i / kRow;
    return row % 37 == of ? valueOf(of, i) : row % 41 == 1 ? -0.0f : row % 43 == of ? 0.0f * static_cast<float>(i % 2 ? -1 : 1) : 0.0f;
  };
  uint64_t before = channel.bytesSent(), omitted = channel.bytesOmitted(), bytes = elements * sizeof(float);
  std::vector<float> whole(elements * ranks), own(elements);
  std::vector<std::byte> staging(reduceScatterStagingBytes(bytes, ranks) + 1, std::byte(0xff));
  for (uint64_t i = 0; i < whole.size(); ++i)
    whole[i] = touched(rank, i);
  ZERO_RETURN_IF_ERROR(channel.reduceScatter(whole.data(), own.data(), elements, staging.data()));
  for (unsigned part = 0; part < ranks; ++part)
    for (uint64_t i = part * elements; i < (part + 1) * elements; ++i) {
      volatile float sum = touched(0, i);
      for (unsigned peer = 1; peer < ranks; ++peer)
        sum = sum + touched(peer, i);
      ZERO_CONFORM(part != rank || sameBits(own[i - part * elements], sum));
      whole[i] = sum;
    }
  const std::vector<float> expected = whole;
  std::fill(whole.begin(), whole.end(), 7.0f);
  ZERO_RETURN_IF_ERROR(channel.allGather(own.data(), whole.data(), bytes));
  ZERO_CONFORM(std::memcmp(whole.data(), expected.data(), whole.size() * sizeof(float)) == 0);
  ZERO_CONFORM(channel.bytesSent() - before == 2 * (ranks - 1) * bytes);
  ZERO_CONFORM(channel.bytesOmitted() - omitted < 2 * (ranks - 1) * bytes + (ranks == 1));
  return {};
}

inline const uint64_t kConformanceSizes[] = {1,     3,      64,     1000,
                                             16255, 16256,  16257,  // around one chunk
                                             32513, 260095, 260097, // two chunks and a rest, around all that are in flight
                                             655360 + 17};    // several chunks and a rest

inline const uint64_t kNarrowSizes[] = {1, 1000, 32511, 32512, 32513, 520193};

/// The collectives once more, now with sources that the ranks of a machine can read in place: on all of its ranks, on none, and on
/// some alone.
inline Status checkSharedMemory(Bootstrap &bootstrap);

/// The whole suite on one rank: also two channels used by two threads at once, and the bootstrap.
inline Status checkJob(Bootstrap &bootstrap);

} // namespace zero::test

#include <thread>

inline zero::Status zero::test::checkJob(Bootstrap &bootstrap) {
  unsigned rank = bootstrap.rank(), ranks = bootstrap.size();
  uint64_t elements = 0; // for ZERO_CONFORM
  for (unsigned root = 0; root < ranks; ++root) {
    uint64_t word = rank == root ? 77 + root : 0;
    ZERO_RETURN_IF_ERROR(bootstrap.broadcast(&word, sizeof word, root));
    ZERO_CONFORM(word == 77 + root);
  }
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> all, bootstrap.allGather(std::string(rank, 'x')));
  for (unsigned peer = 0; peer < ranks; ++peer)
    ZERO_CONFORM(all[peer] == std::string(peer, 'x'));

  ZERO_CONFORM(bootstrap.agree({}).ok());
  Status one = bootstrap.agree(rank == ranks - 1 ? Status::badInput("odd") : Status());
  ZERO_CONFORM(one.code() == ErrorCode::BadInput && bootstrap.agreedOnError());
  ZERO_CONFORM(one.message() == (ranks == 1 ? "odd" : "rank " + std::to_string(ranks - 1) + ": odd"));
  ZERO_CONFORM(bootstrap.agree(Status::badInput("all")).message() == "all");
  ZERO_CONFORM(bootstrap.agree({}).ok() && !bootstrap.agreedOnError());

  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> first, bootstrap.createChannel());
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> second, bootstrap.createChannel());
  Status inThread;
  std::thread thread([&] {
    for (uint64_t size : kConformanceSizes)
      if (inThread.ok())
        inThread = checkCollectives(*second, rank, ranks, size);
    for (uint64_t size : kNarrowSizes)
      if (inThread.ok())
        inThread = checkFloatTypes(*second, rank, ranks, size);
    for (uint64_t size : kConformanceSizes)
      if (inThread.ok())
        inThread = checkZeros(*second, rank, ranks, size);
  });
  Status here;
  for (uint64_t size : kConformanceSizes)
    if (here.ok())
      here = checkCollectives(*first, rank, ranks, size);
  for (uint64_t size : kNarrowSizes)
    if (here.ok())
      here = checkFloatTypes(*first, rank, ranks, size);
  for (uint64_t size : kConformanceSizes)
    if (here.ok())
      here = checkZeros(*first, rank, ranks, size);
  thread.join();
  ZERO_RETURN_IF_ERROR(here);
  ZERO_RETURN_IF_ERROR(inThread);
  return checkSharedMemory(bootstrap);
}

inline zero::Status zero::test::checkSharedMemory(Bootstrap &bootstrap) {
  unsigned rank = bootstrap.rank(), ranks = bootstrap.size();
  uint64_t elements = 0; // for ZERO_CONFORM
  constexpr uint64_t kSizes[] = {1, 1000, 131073, 262145};
  constexpr uint64_t apart = 5 << 20; // further than a large page
  const uint64_t half = uint64_t(16 << 20) * (ranks + 2), bytes = 2 * half + apart + 1000; // not a multiple of a page's
  std::unique_ptr<Device> device = createCpuDevice();
  std::vector<ByteRange> ranges;
  if (bootstrap.sharesMemory())
    ranges = {{half + apart, bytes}, {4097, half}, {half - 1, half + 100}};
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, device->allocate("device", bytes, ranges));
  ZERO_CONFORM(arena->shared().ranges.size() == (bootstrap.sharesMemory() ? 2u : 0u));
  ZERO_RETURN_IF_ERROR(bootstrap.share({SharedMemory(), arena->shared()}));
  ZERO_CONFORM(bootstrap.bytesOfPeers() == 0);
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> first, bootstrap.createChannel());
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> second, bootstrap.createChannel());
  auto check = [&](Channel &channel, uint64_t begin, uint64_t size, bool shared) -> Status {
    std::pmr::monotonic_buffer_resource part(arena->data() + begin, size, std::pmr::null_memory_resource());
    for (uint64_t count : kSizes)
      ZERO_RETURN_IF_ERROR(checkCollectives(channel, rank, ranks, count, shared ? &part : std::pmr::get_default_resource()));
    for (uint64_t count : {uint64_t(1), uint64_t(40001)})
      ZERO_RETURN_IF_ERROR(checkFloatTypes(channel, rank, ranks, count, shared ? &part : std::pmr::get_default_resource()));
    return {};
  };
  Status inThread;
  std::thread thread([&] { inThread = check(*second, half + apart, half, true); });
  Status here = check(*first, 8192, half - 8192, true);
  thread.join();
  ZERO_RETURN_IF_ERROR(here);
  ZERO_RETURN_IF_ERROR(inThread);
  constexpr uint64_t kMoreThanAPiece = (9 << 20) + 44; // bytes of a rank
  ZERO_RETURN_IF_ERROR(checkLarge(*first, rank, ranks, {reinterpret_cast<float *>(arena->data() + 8192), ranks * kMoreThanAPiece / sizeof(float)}));
  ZERO_CONFORM((bootstrap.bytesOfPeers() > 0) == (bootstrap.sharesMemory() && !arena->shared().inLargePages));
  ZERO_RETURN_IF_ERROR(check(*first, 8192, half - 8192, false));
  return check(*second, 8192, half - 8192, rank % 2 == 0);
}

#endif

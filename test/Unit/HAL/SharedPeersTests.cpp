//===- SharedPeersTests.cpp - Meetings of ranks that read in place --------===//
//
// Ranks are threads here and see each other's memory at its own address, so that ThreadSanitizer sees whether every read of a peer's bytes
// is ordered with the writes around it. (Between processes it sees nothing.)
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/HAL/Comm/SharedPeers.h"
#include "lib/Runtime/HAL/Comm/OrderedSum.h"
#include "lib/Runtime/HAL/Comm/StreamCopy.h"
#include <gtest/gtest.h>
#include <thread>

namespace zero {

/// Peers as `SharedPeers::meet` makes them, but for the mappings: a peer's memory is where the peer has it.
struct SharedPeersInOneProcess {
  SharedPeersInOneProcess(unsigned ranks, uint64_t floats) : memory(ranks, std::vector<float>(floats)), states(ranks) {
    for (unsigned rank = 0; rank < ranks; ++rank) {
      uint64_t bytes = floats * sizeof(float);
      auto made = SharedPeers::create(rank, {{reinterpret_cast<std::byte *>(memory[rank].data()), bytes, -1, /*inLargePages=*/false, {{0, bytes}}}});
      EXPECT_TRUE(made.ok());
      peers.push_back(std::move(*made));
    }
    for (unsigned rank = 0; rank < ranks; ++rank) {
      SharedPeers &one = *peers[rank];
      one.ranks.resize(ranks);
      for (unsigned peer = 0; peer < ranks; ++peer) {
        one.ranks[peer].places = peers[peer]->own;
        one.ranks[peer].memory.push_back({reinterpret_cast<char *>(memory[peer].data()), floats * sizeof(float), /*inLargePages=*/false, {}});
        if (peer != rank)
          one.others.push_back(peer);
      }
    }
  }
  ~SharedPeersInOneProcess() {
    for (auto &one : peers)
      one->ranks.clear(); // nothing of theirs was mapped
  }
  JobView view(unsigned rank) {
    std::vector<RankState *> all;
    for (RankState &state : states)
      all.push_back(&state);
    return JobView(rank, all);
  }

  std::vector<std::vector<float>> memory;
  std::vector<RankState> states;
  std::vector<std::unique_ptr<SharedPeers>> peers;
};

namespace {

constexpr unsigned kRounds = 300;
constexpr uint64_t kElements = 3000;

/// Runs `body(rank, meeting)` on a thread for each rank.
template <typename Body> void meet(SharedPeersInOneProcess &job, unsigned channel, Body body) {
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < job.peers.size(); ++rank)
    threads.emplace_back([&, rank] {
      JobView view = job.view(rank);
      Failure failure;
      SharedMeeting meeting(*job.peers[rank], channel, view, /*timeoutSeconds=*/60, failure);
      body(rank, meeting);
    });
  for (std::thread &thread : threads)
    thread.join();
}

float valueOf(unsigned rank, unsigned round, uint64_t i) { return static_cast<float>(rank * 1000 + round) + static_cast<float>(i % 7); }

class Meetings : public testing::TestWithParam<unsigned> {};

TEST_P(Meetings, GathersReadWhatPeersWroteBeforeTheyCame) {
  const unsigned ranks = GetParam();
  SharedPeersInOneProcess job(ranks, kElements);
  meet(job, 1, [&](unsigned rank, SharedMeeting &meeting) {
    std::vector<float> &own = job.memory[rank], all(ranks * kElements);
    for (unsigned round = 0; round < kRounds; ++round) {
      for (uint64_t i = 0; i < kElements; ++i) // as the next step would: peers must have read the last round's
        own[i] = valueOf(rank, round, i);
      auto inPlace = meeting.enter(own.data());
      ASSERT_TRUE(inPlace.ok() && *inPlace);
      for (unsigned peer : meeting.ranks())
        streamCopy(reinterpret_cast<char *>(all.data() + peer * kElements), meeting.sourceOf(peer), kElements * sizeof(float));
      ASSERT_TRUE(meeting.leave().ok());
      for (unsigned peer : meeting.ranks())
        for (uint64_t i = 0; i < kElements; i += 97)
          ASSERT_EQ(all[peer * kElements + i], valueOf(peer, round, i)) << "rank " << rank << ", round " << round;
    }
  });
}

TEST_P(Meetings, SumsInPlaceReadContributionsAndWriteOwnRanges) {
  const unsigned ranks = GetParam();
  SharedPeersInOneProcess job(ranks, ranks * kElements);
  meet(job, 2, [&](unsigned rank, SharedMeeting &meeting) {
    std::vector<float> &own = job.memory[rank];
    for (unsigned round = 0; round < kRounds; ++round) {
      for (uint64_t i = 0; i < own.size(); ++i)
        own[i] = valueOf(rank, round, i);
      auto inPlace = meeting.enter(own.data());
      ASSERT_TRUE(inPlace.ok() && *inPlace);
      std::vector<const void *> contributions(ranks);
      for (unsigned peer = 0; peer < ranks; ++peer)
        contributions[peer] = (peer == rank ? own.data() : static_cast<const float *>(meeting.sourceOf(peer))) + rank * kElements;
      // The sum lands in this rank's own range, which no peer reads.
      sumInRankOrder(contributions.data(), 0, ranks, FloatType::F32, own.data() + rank * kElements, FloatType::F32, kElements);
      ASSERT_TRUE(meeting.leave().ok());
      for (uint64_t i = 0; i < kElements; i += 97) {
        float sum = 0;
        for (unsigned peer = 0; peer < ranks; ++peer)
          sum += valueOf(peer, round, rank * kElements + i);
        ASSERT_EQ(own[rank * kElements + i], sum) << "rank " << rank << ", round " << round;
      }
    }
  });
}

TEST_P(Meetings, OneSourceElsewhereIsSeenByAll) {
  const unsigned ranks = GetParam();
  if (ranks == 1)
    GTEST_SKIP() << "one rank meets nobody";
  SharedPeersInOneProcess job(ranks, kElements);
  meet(job, 3, [&](unsigned rank, SharedMeeting &meeting) {
    float elsewhere = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
      auto inPlace = meeting.enter(round % ranks == rank ? &elsewhere : job.memory[rank].data());
      ASSERT_TRUE(inPlace.ok());
      EXPECT_FALSE(*inPlace);
      ASSERT_TRUE(meeting.leave().ok());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Meetings, testing::Values(1, 2, 3, 4));

} // namespace
} // namespace zero

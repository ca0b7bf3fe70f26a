//===- NcclTests.cpp - The simulated NCCL ---------------------------------===//
#include "test/CUDA/Shim/DriverTest.h"
#include <chrono>
#include <future>
#include <nccl.h>
#include <thread>

namespace zero::shim {
namespace {

/// One rank with a device of its own, on a thread of its own.
struct Rank {
  unsigned rank, ranks;
  CUstream stream = nullptr;
  ncclComm_t communicator = nullptr;

  CUdeviceptr upload(const std::vector<float> &values) {
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemAlloc(&address, values.size() * sizeof(float)));
    EXPECT_CUDA(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(float)));
    return address;
  }
  /// Waits for the stream, frees the memory.
  std::vector<float> take(CUdeviceptr address, size_t count) {
    std::vector<float> values(count);
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_CUDA(cuMemcpyDtoH(values.data(), address, count * sizeof(float)));
    EXPECT_CUDA(cuMemFree(address));
    return values;
  }
};

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

/// `body` leaves the communicator as it is, destroyed afterwards, or null.
void runRanks(unsigned ranks, const std::function<void(Rank &)> &body, bool sameDevice = false) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Rank self{rank, ranks};
      const int device = sameDevice ? 0 : static_cast<int>(rank);
      CUcontext context = nullptr;
      EXPECT_CUDA(cuInit(0));
      EXPECT_CUDA(cuDevicePrimaryCtxRetain(&context, device));
      EXPECT_CUDA(cuCtxSetCurrent(context));
      EXPECT_CUDA(cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING));
      ncclResult_t connected = ncclCommInitRank(&self.communicator, static_cast<int>(ranks), id, static_cast<int>(rank));
      EXPECT_EQ(connected, sameDevice && ranks > 1 ? ncclInvalidUsage : ncclSuccess) << ncclGetLastError(nullptr);
      body(self);
      EXPECT_CUDA(cuStreamSynchronize(self.stream));
      if (self.communicator)
        EXPECT_EQ(ncclCommDestroy(self.communicator), ncclSuccess);
      EXPECT_CUDA(cuStreamDestroy(self.stream));
      EXPECT_CUDA(cuDevicePrimaryCtxRelease(device));
    });
  for (std::thread &thread : threads)
    thread.join();
}

class ShimNccl : public ::testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ShimNccl, CollectivesMoveAndAddInTheOrderOfARing) {
  runRanks(3, [](Rank &self) {
    // 2^24 + 1 is not a float: whoever comes first decides.
    const float mine = self.rank == 0 ? 16777216.0f : self.rank == 1 ? 1.0f : 1.0f;
    CUdeviceptr source = self.upload({mine, mine, mine}), sums = self.upload({0, 0, 0}), part = self.upload({0}), all = self.upload(std::vector<float>(9));
    EXPECT_EQ(ncclAllReduce(pointer(source), pointer(sums), 3, ncclFloat32, ncclSum, self.communicator, self.stream), ncclSuccess);
    EXPECT_EQ(ncclReduceScatter(pointer(source), pointer(part), 1, ncclFloat32, ncclSum, self.communicator, self.stream), ncclSuccess);
    EXPECT_EQ(ncclAllGather(pointer(source), pointer(all), 3, ncclFloat32, self.communicator, self.stream), ncclSuccess);
    // Element e is summed from rank e + 1 on: 1 + 1 + 2^24, 1 + 2^24 + 1, 2^24 + 1 + 1.
    EXPECT_EQ(self.take(sums, 3), (std::vector<float>{16777218.0f, 16777216.0f, 16777216.0f}));
    EXPECT_EQ(self.take(part, 1)[0], self.rank == 0 ? 16777218.0f : 16777216.0f);
    EXPECT_EQ(self.take(all, 9), (std::vector<float>{16777216.0f, 16777216.0f, 16777216.0f, 1, 1, 1, 1, 1, 1}));
    EXPECT_CUDA(cuMemFree(source));
  });
}

TEST_F(ShimNccl, AGroupSendsAndReceivesAtOnce) {
  runRanks(3, [](Rank &self) {
    const unsigned next = (self.rank + 1) % 3, last = (self.rank + 2) % 3;
    std::vector<float> values(100000, static_cast<float>(self.rank)); // more than a mailbox holds
    CUdeviceptr source = self.upload(values), target = self.upload(std::vector<float>(values.size()));
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(pointer(source), values.size(), ncclFloat32, static_cast<int>(next), self.communicator, self.stream), ncclSuccess);
    EXPECT_EQ(ncclRecv(pointer(target), values.size(), ncclFloat32, static_cast<int>(last), self.communicator, self.stream), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(self.take(target, values.size()), std::vector<float>(values.size(), static_cast<float>(last)));
    EXPECT_CUDA(cuMemFree(source));
  });
}

/// A graph that adds the first of `values` over all ranks.
CUgraphExec captureSum(Rank &self, CUdeviceptr values) {
  CUgraph graph = nullptr;
  CUgraphExec replay = nullptr;
  EXPECT_CUDA(cuStreamBeginCapture(self.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(ncclAllReduce(pointer(values), pointer(values), 1, ncclFloat32, ncclSum, self.communicator, self.stream), ncclSuccess);
  EXPECT_CUDA(cuStreamEndCapture(self.stream, &graph));
  EXPECT_CUDA(cuGraphInstantiate(&replay, graph, 0));
  EXPECT_CUDA(cuGraphDestroy(graph));
  return replay;
}

TEST_F(ShimNccl, ACapturedCollectiveRunsAtEachReplay) {
  runRanks(2, [](Rank &self) {
    CUdeviceptr values = self.upload({1.0f + static_cast<float>(self.rank)});
    CUgraphExec replay = captureSum(self, values);
    for (int i = 0; i < 3; ++i)
      EXPECT_CUDA(cuGraphLaunch(replay, self.stream));
    EXPECT_EQ(self.take(values, 1)[0], 12.0f); // 3, 6, 12
    EXPECT_CUDA(cuGraphExecDestroy(replay));
  });
}

/// Whether `call` goes on for a while; it has ended when this returns to the caller's `finish`.
struct Blocking {
  explicit Blocking(std::function<void()> call) : done(std::async(std::launch::async, std::move(call))) {}
  bool isBlocked() const { return done.wait_for(std::chrono::milliseconds(200)) == std::future_status::timeout; }
  std::future<void> done;
};

TEST_F(ShimNccl, ACommunicatorWaitsForItsGraphs) {
  for (bool abort : {false, true})
    runRanks(1, [&](Rank &self) {
      CUdeviceptr values = self.upload({1});
      CUgraphExec replay = captureSum(self, values);
      Blocking end([&] { EXPECT_EQ(abort ? ncclCommAbort(self.communicator) : ncclCommDestroy(self.communicator), ncclSuccess); });
      EXPECT_TRUE(end.isBlocked());
      EXPECT_CUDA(cuGraphExecDestroy(replay));
      end.done.wait();
      self.communicator = nullptr;
      self.take(values, 1);
    });
}

TEST_F(ShimNccl, ADestroyWaitsForAllRanks) {
  std::atomic<bool> isLast = false;
  runRanks(2, [&](Rank &self) {
    if (self.rank == 0) {
      Blocking end([&] { EXPECT_EQ(ncclCommDestroy(self.communicator), ncclSuccess); });
      EXPECT_TRUE(end.isBlocked());
      isLast = true;
      end.done.wait();
    } else {
      while (!isLast)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(ncclCommDestroy(self.communicator), ncclSuccess);
    }
    self.communicator = nullptr;
  });
}

/// Two communicators of a rank whose peer comes to no collective: how the first ends them, by what `end` does to both.
void endTwo(const std::function<void(ncclComm_t, ncclComm_t)> &end) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  runRanks(2, [&](Rank &self) {
    ncclComm_t second = nullptr;
    EXPECT_EQ(ncclCommInitRank(&second, 2, id, static_cast<int>(self.rank)), ncclSuccess);
    if (self.rank == 0) {
      CUstream other = nullptr;
      EXPECT_CUDA(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
      CUdeviceptr values = self.upload({1, 2});
      EXPECT_EQ(ncclAllReduce(pointer(values), pointer(values), 1, ncclFloat32, ncclSum, self.communicator, self.stream), ncclSuccess);
      EXPECT_EQ(ncclAllReduce(pointer(values + 4), pointer(values + 4), 1, ncclFloat32, ncclSum, second, other), ncclSuccess);
      end(self.communicator, second);
      EXPECT_CUDA(cuStreamSynchronize(other));
      EXPECT_CUDA(cuStreamDestroy(other));
      self.take(values, 2);
    } else {
      EXPECT_EQ(ncclCommAbort(self.communicator), ncclSuccess);
      EXPECT_EQ(ncclCommAbort(second), ncclSuccess);
    }
    self.communicator = nullptr;
  });
}

TEST_F(ShimNccl, AnAbortAloneWaitsForTheWorkOfOthers) {
  endTwo([](ncclComm_t first, ncclComm_t second) {
    Blocking end([&] { EXPECT_EQ(ncclCommAbort(first), ncclSuccess); });
    EXPECT_TRUE(end.isBlocked());
    EXPECT_EQ(ncclCommAbort(second), ncclSuccess);
    end.done.wait();
  });
}

TEST_F(ShimNccl, AbortsOfAGroupStopAllWorkFirst) {
  endTwo([](ncclComm_t first, ncclComm_t second) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclCommAbort(first), ncclSuccess);
    EXPECT_EQ(ncclCommAbort(second), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  });
}

TEST_F(ShimNccl, ARevokedCommunicatorStopsAndIsNotFreed) {
  endTwo([](ncclComm_t first, ncclComm_t second) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclCommRevoke(first, NCCL_REVOKE_DEFAULT), ncclSuccess);
    EXPECT_EQ(ncclCommRevoke(second, NCCL_REVOKE_DEFAULT), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, first, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclCommAbort(first), ncclSuccess);
    EXPECT_EQ(ncclCommAbort(second), ncclSuccess);
  });
}

TEST_F(ShimNccl, RanksOfOneDeviceDoNotConnect) {
  runRanks(2, [](Rank &self) { EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("Duplicate GPU detected"), std::string::npos); }, /*sameDevice=*/true);
}

TEST_F(ShimNccl, AnErrorLastsUntilTheCommunicatorIsAborted) {
  EXPECT_EXIT(
      {
        setenv("ZERO_SHIM_NCCL_FAIL", "1:1", 1);
        runRanks(2, [](Rank &self) {
          CUdeviceptr values = self.upload({1});
          EXPECT_EQ(ncclAllReduce(pointer(values), pointer(values), 1, ncclFloat32, ncclSum, self.communicator, self.stream), ncclSuccess);
          ncclResult_t error = ncclSuccess;
          for (int looks = 0; error == ncclSuccess && looks < 60; ++looks) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            EXPECT_EQ(ncclCommGetAsyncError(self.communicator, &error), ncclSuccess);
          }
          EXPECT_EQ(error, self.rank == 1 ? ncclSystemError : ncclSuccess);
          EXPECT_EQ(cuStreamQuery(self.stream), CUDA_ERROR_NOT_READY);
          EXPECT_EQ(ncclCommAbort(self.communicator), ncclSuccess);
          self.communicator = nullptr;
          self.take(values, 1);
        });
        _exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(ShimNccl, MisusesAreNamed) {
  EXPECT_MISUSE(runRanks(2, [](Rank &self) {
                  CUdeviceptr values = self.upload({1, 2, 3});
                  ncclAllReduce(pointer(values), pointer(values), 1 + self.rank, ncclFloat32, ncclSum, self.communicator, self.stream);
                  cuStreamSynchronize(self.stream);
                }),
                "simulated CUDA: ncclAllReduce: ranks do not agree");
  EXPECT_MISUSE(runRanks(2, [](Rank &self) {
                  CUdeviceptr values = self.upload({1, 2, 3});
                  if (self.rank == 0)
                    ncclAllReduce(pointer(values), pointer(values), 1, ncclFloat32, ncclSum, self.communicator, self.stream);
                  else
                    ncclReduceScatter(pointer(values), pointer(values + 4), 1, ncclFloat32, ncclSum, self.communicator, self.stream);
                  cuStreamSynchronize(self.stream);
                }),
                "ranks do not agree");
  EXPECT_MISUSE(runRanks(1, [](Rank &self) {
                  CUdeviceptr values = self.upload({1, 2, 3});
                  ncclAllReduce(pointer(values), pointer(values + 4), 2, ncclFloat32, ncclSum, self.communicator, self.stream);
                }),
                "ncclAllReduce: source and target overlap and are not in place");
  EXPECT_MISUSE(runRanks(1, [](Rank &self) {
                  ncclCommDestroy(self.communicator);
                  ncclAllReduce(nullptr, nullptr, 1, ncclFloat32, ncclSum, self.communicator, self.stream);
                }),
                "ncclAllReduce: the communicator is none, or was destroyed");
  EXPECT_MISUSE(runRanks(1, [](Rank &self) {
                  float host = 0;
                  ncclAllReduce(&host, &host, 1, ncclFloat32, ncclSum, self.communicator, self.stream);
                }),
                "simulated CUDA: ncclAllReduce: ");
  EXPECT_MISUSE(runRanks(1, [](Rank &self) {
                  void *handle = nullptr;
                  CUdeviceptr values = self.upload({1, 2, 3});
                  ncclCommRegister(self.communicator, pointer(values), 12, &handle);
                }),
                "ncclCommDestroy: 1 buffers are still registered");
  EXPECT_MISUSE(runRanks(1, [](Rank &self) {
                  void *handle = nullptr;
                  CUdeviceptr values = self.upload({1, 2, 3});
                  ncclCommRegister(self.communicator, pointer(values), 12, &handle);
                  cuMemFree(values);
                }),
                "cuMemFree: memory at 0x[0-9a-f]+ is still registered by NCCL");
  EXPECT_MISUSE(
      {
        setenv("ZERO_SHIM_NCCL_STICK", "0:1", 1);
        runRanks(1, [](Rank &self) {
          CUdeviceptr values = self.upload({1});
          std::thread caller([&] { ncclAllReduce(pointer(values), pointer(values), 1, ncclFloat32, ncclSum, self.communicator, self.stream); });
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
          ncclCommAbort(self.communicator);
          caller.join();
        });
      },
      "ncclCommAbort: it frees what a call of another thread uses");
  EXPECT_MISUSE({
    runRanks(1, [](Rank &self) { self.communicator = nullptr; });
    std::exit(0);
  }, "exit: 1 communicators of NCCL were not destroyed");
}

} // namespace
} // namespace zero::shim

//===- ThreadPoolTests.cpp - Items over threads ---------------------------===//
#include "lib/Runtime/Executor/ThreadPool.h"
#include <atomic>
#include <gtest/gtest.h>

namespace zero {
namespace {

TEST(ThreadPool, RunsEveryItemOnce) {
  for (unsigned threads : {1u, 2u, 3u, 5u}) {
    ThreadPool pool(threads);
    for (int64_t items : {0, 1, 2, 3, 4, 5, 7, 100, 1001}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(items));
      pool.run(
          items,
          [](void *context, int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              ++(*static_cast<std::vector<std::atomic<int>> *>(context))[static_cast<size_t>(i)];
          },
          &counts);
      for (const std::atomic<int> &count : counts)
        ASSERT_EQ(count, 1);
    }
  }
}

} // namespace
} // namespace zero

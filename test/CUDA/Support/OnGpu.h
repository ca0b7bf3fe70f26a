//===- OnGpu.h - What tests on a GPU begin with ---------------------------===//
#ifndef ZERO_TEST_CUDA_SUPPORT_ONGPU_H
#define ZERO_TEST_CUDA_SUPPORT_ONGPU_H

#include "zero/Runtime/HAL/Stream.h"
#include <gtest/gtest.h>

namespace zero::test {

/// The first GPU of the machine, or of the simulated driver where ZERO_CUDA_LIBRARY_PATH names it; without any the test is skipped. With a
/// compute queue of the calling thread and some memory.
class OnGpu : public testing::Test {
protected:
  explicit OnGpu(uint64_t arenaBytes) : arenaBytes(arenaBytes) {}
  void SetUp() override {
    auto created = createCudaDevice(0);
    if (!created.ok())
      GTEST_SKIP() << created.status().message();
    device = std::move(*created);
    compute = device->createQueue({"compute", 16, /*onCallingThread=*/true}, failure);
    auto allocated = device->allocate("device", arenaBytes);
    ASSERT_TRUE(allocated.ok()) << allocated.status().message();
    arena = std::move(*allocated);
  }
  uint8_t byteAt(uint64_t offset) {
    uint8_t byte = 0xee;
    EXPECT_TRUE(device->download(&byte, arena->data() + offset, 1).ok());
    return byte;
  }

  const uint64_t arenaBytes;
  Failure failure;
  std::unique_ptr<StreamDevice> device;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Queue> compute; ///< ends first
};

} // namespace zero::test

#endif

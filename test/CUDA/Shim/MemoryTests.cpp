//===- MemoryTests.cpp - Memory of the simulated devices ------------------===//
#include "test/CUDA/Shim/DriverTest.h"
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace zero::shim {
namespace {

class ShimMemory : public DriverTest {
protected:
  CUmemAllocationProp properties(int device = 0) {
    CUmemAllocationProp made = {};
    made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    made.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    return made;
  }
  /// A mapping of `size` bytes that its device may touch.
  CUdeviceptr map(size_t size, bool withAccess = true) {
    CUmemAllocationProp prop = properties();
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemAddressReserve(&address, size, 0, 0, 0));
    EXPECT_CUDA(cuMemCreate(&handle, size, &prop, 0));
    EXPECT_CUDA(cuMemMap(address, size, 0, handle, 0));
    EXPECT_CUDA(cuMemRelease(handle));
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (withAccess)
      EXPECT_CUDA(cuMemSetAccess(address, size, &access, 1));
    return address;
  }
  void unmap(CUdeviceptr address, size_t size) {
    EXPECT_CUDA(cuMemUnmap(address, size));
    EXPECT_CUDA(cuMemAddressFree(address, size));
  }
};

TEST_F(ShimMemory, MappedMemoryKeepsWhatIsCopiedThere) {
  CUdeviceptr address = map(8192);
  std::vector<int> values(2048);
  for (int i = 0; i < 2048; ++i)
    values[i] = i;
  ASSERT_CUDA(cuMemcpyHtoD(address, values.data(), 8192));
  EXPECT_EQ(download<int>(address, 2048), values);
  unmap(address, 8192);
}

TEST_F(ShimMemory, FreshMemoryIsPoisoned) {
  for (float value : download<float>(allocate(400), 100))
    EXPECT_TRUE(std::isnan(value));
  void *pinned = nullptr;
  ASSERT_CUDA(cuMemHostAlloc(&pinned, 64, 0));
  EXPECT_TRUE(std::isnan(static_cast<float *>(pinned)[3]));
  ASSERT_CUDA(cuMemFreeHost(pinned));
}

TEST_F(ShimMemory, SmallDeviceRunsOutOfMemory) {
  DriverTest::TearDown();
  {
    Setting bytes("ZERO_SHIM_MEMORY_BYTES", "1048576");
    DriverTest::SetUp();
    size_t before = 0, after = 0, total = 0;
    ASSERT_CUDA(cuMemGetInfo(&before, &total));
    EXPECT_EQ(total, 1048576u);
    EXPECT_EQ(before, total - total / 64);
    CUdeviceptr address = 0, none = 0;
    ASSERT_CUDA(cuMemAlloc(&address, 65536));
    ASSERT_CUDA(cuMemGetInfo(&after, &total));
    EXPECT_EQ(before - after, 65536u);
    EXPECT_EQ(cuMemAlloc(&none, after + 4096), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_CUDA(cuMemFree(address));
    ASSERT_CUDA(cuMemGetInfo(&after, &total));
    EXPECT_EQ(before, after);
    DriverTest::TearDown();
  }
  DriverTest::SetUp();
}

TEST_F(ShimMemory, LibrariesTakeMemoryToo) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_CUDA(cuMemGetInfo(&before, &total));
  ASSERT_CUDA(takeDeviceMemory(0, 4096));
  ASSERT_CUDA(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, 4096u);
  ASSERT_CUDA(takeDeviceMemory(0, -4096));
  EXPECT_EQ(takeDeviceMemory(0, static_cast<int64_t>(total)), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(ShimMemory, AskedFailureComesOnce) {
  Setting fail("ZERO_SHIM_FAIL", "cuMemAlloc:2");
  CUdeviceptr address = 0;
  ASSERT_CUDA(cuMemAlloc(&address, 16));
  memory.push_back(address);
  EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_OUT_OF_MEMORY);
  allocate(16);
}

TEST_F(ShimMemory, PointerAttributesTellDeviceFromHost) {
  unsigned type = 0;
  int device = -1;
  CUdeviceptr address = allocate(16);
  EXPECT_CUDA(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 15));
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_CUDA(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ShimMemory, HostCannotTouchDeviceMemory) {
  auto *address = reinterpret_cast<volatile float *>(allocate(64));
  EXPECT_MISUSE(address[3] = 1, "the host touches device memory at 0x[0-9a-f]+: 12 bytes into 64 bytes of device 0");
  EXPECT_MISUSE((void)address[64], "the host touches device memory at 0x[0-9a-f]+: 192 bytes past the end of 64 bytes of device 0");
}

TEST_F(ShimMemory, CopiesOfTheWrongKindAreFound) {
  CUdeviceptr device = allocate(64);
  int host[16] = {};
  auto asDevice = reinterpret_cast<CUdeviceptr>(host);
  auto *asHost = reinterpret_cast<void *>(device);
  EXPECT_MISUSE(cuMemcpyHtoD(asDevice, host, 64), "cuMemcpyHtoD: 0x[0-9a-f]+ is not in live device memory");
  EXPECT_MISUSE(cuMemcpyHtoDAsync(device, asHost, 64, stream), "cuMemcpyHtoDAsync: 0x[0-9a-f]+ is device memory, given as the host's");
  EXPECT_MISUSE(cuMemcpyDtoHAsync(asHost, device, 64, stream), "cuMemcpyDtoHAsync: 0x[0-9a-f]+ is device memory, given as the host's");
  EXPECT_MISUSE(cuMemcpyDtoDAsync(device, asDevice, 64, stream), "cuMemcpyDtoDAsync: 0x[0-9a-f]+ is not in live device memory");
  EXPECT_MISUSE(cuMemsetD8Async(asDevice, 0, 64, stream), "cuMemsetD8Async: 0x[0-9a-f]+ is not in live device memory");
  EXPECT_MISUSE(cuMemcpyDtoDAsync(device, device + 32, 33 - 16, stream); cuMemcpyDtoDAsync(device, device + 16, 32, stream), "overlap");
}

TEST_F(ShimMemory, CopiesOutOfBoundsAreFound) {
  CUdeviceptr device = allocate(60);
  int host[32] = {};
  EXPECT_MISUSE(cuMemcpyHtoD(device, host, 64), "64 bytes at 0x[0-9a-f]+ reach to 0 bytes past the end of 60 bytes of device 0");
  void *pinned = nullptr;
  ASSERT_CUDA(cuMemHostAlloc(&pinned, 32, 0));
  EXPECT_MISUSE(cuMemcpyHtoDAsync(device, pinned, 60, stream), "60 bytes at 0x[0-9a-f]+ reach past the end of pinned memory");
  ASSERT_CUDA(cuMemFreeHost(pinned));
}

TEST_F(ShimMemory, FreedMemoryIsFound) {
  CUdeviceptr device = 0;
  int host[16] = {};
  ASSERT_CUDA(cuMemAlloc(&device, 64));
  ASSERT_CUDA(cuMemFree(device));
  EXPECT_MISUSE(cuMemcpyHtoD(device, host, 64), "is not in live device memory");
  EXPECT_MISUSE(cuMemFree(device), "cuMemFree: 0x[0-9a-f]+ was not given by cuMemAlloc, or was freed");
  void *pinned = nullptr;
  ASSERT_CUDA(cuMemHostAlloc(&pinned, 64, 0));
  ASSERT_CUDA(cuMemFreeHost(pinned));
  device = allocate(64);
  EXPECT_MISUSE(cuMemcpyHtoDAsync(device, pinned, 64, stream), "pinned memory at 0x[0-9a-f]+ was freed");
  EXPECT_MISUSE(cuMemFreeHost(pinned), "cuMemFreeHost: 0x[0-9a-f]+ was freed");
}

TEST_F(ShimMemory, MemoryFreedBeforeItsCopyRunsIsFound) {
  CUdeviceptr device = allocate(64);
  void *pinned = nullptr;
  ASSERT_CUDA(cuMemHostAlloc(&pinned, 64, 0));
  EXPECT_MISUSE(
      {
        cuLaunchHostFunc(stream, [](void *) { usleep(50000); }, nullptr);
        cuMemcpyHtoDAsync(device, pinned, 64, stream);
        cuMemFreeHost(pinned);
        cuStreamSynchronize(stream);
      },
      "cuMemcpyHtoDAsync: pinned memory at 0x[0-9a-f]+ was freed");
  ASSERT_CUDA(cuMemFreeHost(pinned));
}

TEST_F(ShimMemory, MappingsAreCheckedInEveryStep) {
  CUdeviceptr bare = map(4096, false);
  int host[4] = {};
  EXPECT_MISUSE(cuMemcpyHtoD(bare, host, 16), "is not accessible for device 0 to write");
  EXPECT_MISUSE(cuMemAddressFree(bare, 4096), "memory is still mapped there");
  EXPECT_MISUSE(cuMemUnmap(bare, 8192), "8192 bytes at 0x[0-9a-f]+ were not mapped so");
  unmap(bare, 4096);
  EXPECT_MISUSE(cuMemcpyHtoD(bare, host, 16), "is not in live device memory");
  CUmemAllocationProp prop = properties();
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_MISUSE(cuMemCreate(&handle, 1000, &prop, 0), "1000 bytes are no multiple of the granularity 4096");
  CUmemGenericAllocationHandle never = 12345;
  EXPECT_MISUSE(cuMemRelease(never), "0x3039 is no memory handle");
}

TEST_F(ShimMemory, OtherDevicesHaveNoAccess) {
  CUdeviceptr here = allocate(64);
  CUcontext other = nullptr;
  ASSERT_CUDA(cuDevicePrimaryCtxRetain(&other, 1));
  ASSERT_CUDA(cuCtxSetCurrent(other));
  int host[4] = {};
  EXPECT_MISUSE(cuMemcpyHtoD(here, host, 16), "is not accessible for device 1 to write");
  EXPECT_MISUSE(cuStreamSynchronize(stream), "stream [0-9]+ is of device 0, the calling thread's context of device 1");
  ASSERT_CUDA(cuDevicePrimaryCtxRelease(1));
  ASSERT_CUDA(cuCtxSetCurrent(context));
}

TEST_F(ShimMemory, WhatIsLeftAtTheEndIsFound) {
  EXPECT_MISUSE(cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease: still live in the context of device 0: stream [0-9]+");
  allocate(48);
  EXPECT_MISUSE(cuStreamDestroy(stream); cuDevicePrimaryCtxRelease(0), "still live in the context of device 0: 48 bytes at 0x");
  EXPECT_MISUSE(std::exit(0), "exit: the context of device 0 was never released; live: stream");
  // A process that fails is left alone.
  EXPECT_EXIT(std::exit(3), ::testing::ExitedWithCode(3), "");
}

} // namespace
} // namespace zero::shim

//===- DeviceConformanceTests.cpp - What every device must do -------------===//
//
// One suite for CPUs and GPUs, through the interfaces alone. GPUs are those of the driver that is found: of the machine, or of the
// simulated one where ZERO_CUDA_LIBRARY_PATH names it. Without any, their tests are skipped.
//
//===----------------------------------------------------------------------===//
#include "test/CUDA/Support/OnGpu.h"
#include "zero/Runtime/HAL/Stream.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <regex>
#include <thread>

namespace zero {
namespace {

/// Copies bytes of a device's arenas: at once on a CPU, on the stream of a queue elsewhere.
class CopyBytes final : public Work {
public:
  CopyBytes(Device &device, const Queue &queue, std::byte *target, const std::byte *source, uint64_t size)
      : device(device), queue(queue), target(target), source(source), size(size) {}
  Status run() override {
    if (StreamDevice *streams = device.streams())
      return streams->copyAsync(target, source, size, queue.stream());
    std::memcpy(target, source, size);
    return {};
  }

private:
  Device &device;
  const Queue &queue;
  std::byte *target;
  const std::byte *source;
  uint64_t size;
};

class Fail final : public Work {
public:
  Status run() override { return Status::badInput("broken on purpose"); }
};

struct Cpu {
  static Expected<std::unique_ptr<Device>> create() { return createCpuDevice(); }
};
struct Cuda {
  static Expected<std::unique_ptr<Device>> create() {
    auto device = createCudaDevice(0);
    if (!device.ok())
      return device.status();
    return std::unique_ptr<Device>(std::move(*device));
  }
};

template <typename Kind> class DeviceConformance : public testing::Test {
protected:
  void SetUp() override {
    auto created = Kind::create();
    if (!created.ok())
      GTEST_SKIP() << created.status().message();
    device = std::move(*created);
  }

  std::unique_ptr<Arena> allocate(uint64_t size) {
    auto arena = device->allocate("device", size);
    EXPECT_TRUE(arena.ok()) << arena.status().message();
    return std::move(*arena);
  }
  std::vector<uint8_t> read(const std::byte *source, uint64_t size) {
    std::vector<uint8_t> bytes(size, 0xee);
    Status status = device->download(bytes.data(), source, size);
    EXPECT_TRUE(status.ok()) << status.message();
    return bytes;
  }
  void write(std::byte *target, const std::vector<uint8_t> &bytes) {
    Status status = device->upload(target, bytes.data(), bytes.size());
    EXPECT_TRUE(status.ok()) << status.message();
  }
  static std::vector<uint8_t> counted(uint64_t size, unsigned first) {
    std::vector<uint8_t> bytes(size);
    for (uint64_t i = 0; i < size; ++i)
      bytes[i] = static_cast<uint8_t>(first + 7 * i);
    return bytes;
  }
  std::unique_ptr<Queue> queue(const char *name, bool onCallingThread = false) {
    return device->createQueue({name, 16, onCallingThread}, failure);
  }

  Failure failure; // outlives queues
  std::unique_ptr<Device> device;
};

using Kinds = testing::Types<Cpu, Cuda>;
TYPED_TEST_SUITE(DeviceConformance, Kinds);

TYPED_TEST(DeviceConformance, ArenasAreZeroAndAligned) {
  auto arena = this->allocate(10000);
  EXPECT_EQ(arena->size(), 10000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % 4096, 0u);
  EXPECT_EQ(this->read(arena->data(), 10000), std::vector<uint8_t>(10000));
  EXPECT_EQ(this->allocate(0)->size(), 0u);
}

TYPED_TEST(DeviceConformance, BytesComeBackAsTheyWereSent) {
  auto arena = this->allocate(1 << 20);
  for (auto [offset, size] : {std::pair<uint64_t, uint64_t>(0, 1), {1, 3}, {4095, 2}, {777, 100001}, {0, 1 << 20}}) {
    std::vector<uint8_t> sent = this->counted(size, static_cast<unsigned>(offset + 1));
    this->write(arena->data() + offset, sent);
    EXPECT_EQ(this->read(arena->data() + offset, size), sent);
  }
}

TYPED_TEST(DeviceConformance, AnArenaThatIsTooLargeSaysBothNumbers) {
  Status status = this->device->allocate("device", uint64_t(1) << 46).status();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::ProgramFailed);
  EXPECT_NE(status.message().find("arena 'device' of 70368744177664 bytes does not fit: "), std::string::npos) << status.message();
  // "this machine has N bytes available", "GPU 0 (NAME) has N of M bytes free"
  size_t has = status.message().find(" has ");
  ASSERT_NE(has, std::string::npos);
  EXPECT_TRUE(std::isdigit(status.message()[has + 5])) << status.message();
}

TYPED_TEST(DeviceConformance, AQueueKeepsItsOrder) {
  auto arena = this->allocate(3 * 4096);
  std::byte *a = arena->data(), *b = a + 4096, *c = b + 4096;
  for (bool onCallingThread : {true, false}) {
    auto queue = this->queue("queue", onCallingThread);
    std::vector<uint8_t> first = this->counted(4096, onCallingThread);
    this->write(a, first);
    CopyBytes aToB(*this->device, *queue, b, a, 4096), bToC(*this->device, *queue, c, b, 4096);
    queue->submit(aToB);
    queue->submit(bToC);
    queue->finish();
    EXPECT_EQ(this->read(c, 4096), first);
  }
  EXPECT_FALSE(this->failure.raised());
}

TYPED_TEST(DeviceConformance, EventsOrderQueues) {
  constexpr uint64_t kSize = 1 << 16;
  auto arena = this->allocate(4 * kSize);
  std::byte *source = arena->data(), *fetched = source + kSize, *squared = fetched + kSize, *result = squared + kSize;
  for (bool threads : {false, true}) {
    auto gather = this->queue("gather", !threads && this->device->streams()), reduce = this->queue("reduce", !threads && this->device->streams());
    auto compute = this->queue("compute", /*onCallingThread=*/true);
    auto gathered = this->device->createEvent("gathered"), computed = this->device->createEvent("computed");
    CopyBytes fetch(*this->device, *gather, fetched, source, kSize), work(*this->device, *compute, squared, fetched, kSize),
        deliver(*this->device, *reduce, result, squared, kSize);
    for (uint64_t instance = 1; instance <= 20; ++instance) {
      std::vector<uint8_t> sent = this->counted(kSize, static_cast<unsigned>(instance * 3 + threads));
      this->write(source, sent);
      gather->submit(fetch);
      gather->record(*gathered, instance);
      compute->wait(*gathered, instance);
      compute->submit(work);
      compute->record(*computed, instance);
      reduce->wait(*computed, instance);
      reduce->submit(deliver);
      for (Queue *queue : {gather.get(), reduce.get(), compute.get()})
        queue->finish();
      ASSERT_EQ(this->read(result, kSize), sent) << "instance " << instance;
    }
  }
  EXPECT_FALSE(this->failure.raised()) << this->failure.status().message();
}

/// A queue with a thread may come to a wait before the other queue has recorded: it waits all the same.
TYPED_TEST(DeviceConformance, AWaitMayComeBeforeItsRecord) {
  auto arena = this->allocate(2 * 4096);
  std::byte *source = arena->data(), *target = source + 4096;
  auto late = this->queue("late"), early = this->queue("early");
  auto event = this->device->createEvent("event");
  CopyBytes copy(*this->device, *early, target, source, 4096);
  for (uint64_t instance = 1; instance <= 5; ++instance) {
    std::vector<uint8_t> sent = this->counted(4096, static_cast<unsigned>(instance));
    early->wait(*event, instance);
    early->submit(copy);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    this->write(source, sent);
    late->record(*event, instance);
    late->finish();
    early->finish();
    ASSERT_EQ(this->read(target, 4096), sent);
  }
}

TYPED_TEST(DeviceConformance, TheHostWaitsForAnEvent) {
  auto arena = this->allocate(2 << 20);
  auto queue = this->queue("queue");
  auto event = this->device->createEvent("event");
  std::vector<uint8_t> sent = this->counted(1 << 20, 5);
  this->write(arena->data(), sent);
  CopyBytes copy(*this->device, *queue, arena->data() + (1 << 20), arena->data(), 1 << 20);
  queue->submit(copy);
  queue->record(*event, 1);
  EXPECT_TRUE(event->wait(1, this->failure));
  EXPECT_EQ(this->read(arena->data() + (1 << 20), 1 << 20), sent);
}

TYPED_TEST(DeviceConformance, AFailureEndsEveryWait) {
  auto arena = this->allocate(2 * 4096);
  auto first = this->queue("first"), second = this->queue("second");
  auto never = this->device->createEvent("never");
  Fail fail;
  CopyBytes mark(*this->device, *second, arena->data() + 4096, arena->data(), 4096);
  this->write(arena->data(), this->counted(4096, 1));
  second->wait(*never, 1);
  second->submit(mark);
  first->submit(fail);
  first->record(*never, 1);
  first->finish();
  second->finish();
  EXPECT_FALSE(never->wait(1, this->failure));
  EXPECT_EQ(this->failure.status().message(), "broken on purpose");
  EXPECT_EQ(this->read(arena->data() + 4096, 4096), std::vector<uint8_t>(4096));
}

//===----------------------------------------------------------------------===//
// Of devices with streams alone
//===----------------------------------------------------------------------===//

/// The simulated driver ends the process where it is misused; the driver of a GPU gives errors, and so does it while this lives.
struct MisusesAreErrors {
  MisusesAreErrors() { ::setenv("ZERO_SHIM_ON_ERROR", "return", /*overwrite=*/1); }
  ~MisusesAreErrors() { ::unsetenv("ZERO_SHIM_ON_ERROR"); }
};

class StreamConformance : public test::OnGpu {
protected:
  StreamConformance() : OnGpu(4 * kSize) {}
  void SetUp() override {
    OnGpu::SetUp();
    if (device)
      other = device->createQueue({"other", 16, true, -1}, failure);
  }
  std::byte *at(unsigned i) { return arena->data() + i * kSize; }
  uint8_t first(unsigned i) { return byteAt(i * kSize); }

  static constexpr uint64_t kSize = 1 << 16;
  std::unique_ptr<Queue> other;
};

/// A graph over two streams copies what is there when it runs, not what was there when it was captured.
TEST_F(StreamConformance, AGraphRunsAgainOnOtherBytes) {
  auto begins = device->createEvent("begins"), ends = device->createEvent("ends");
  ASSERT_TRUE(device->beginCapture(compute->stream()).ok());
  ASSERT_TRUE(device->copyAsync(at(1), at(0), kSize, compute->stream()).ok());
  compute->record(*begins, 1);
  other->wait(*begins, 1);
  ASSERT_TRUE(device->copyAsync(at(2), at(1), kSize, other->stream()).ok());
  other->record(*ends, 1);
  compute->wait(*ends, 1);
  ASSERT_TRUE(device->copyAsync(at(3), at(2), kSize, compute->stream()).ok());
  auto graph = device->endCapture(compute->stream());
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(first(3), 0); // captured, not run
  for (uint8_t value : {1, 2, 3}) {
    ASSERT_TRUE(device->fillAsync(at(0), value, kSize, compute->stream()).ok());
    ASSERT_TRUE((*graph)->launch(compute->stream()).ok());
    ASSERT_TRUE(device->synchronize(compute->stream(), failure));
    EXPECT_EQ(first(3), value);
  }
}

TEST_F(StreamConformance, TheHostIsCalledInTheStreamsOrder) {
  auto pinned = device->allocatePinned(kSize);
  ASSERT_TRUE(pinned.ok()) << pinned.status().message();
  std::memset((*pinned)->data(), 0, kSize);
  struct Seen {
    const std::byte *byte;
    std::atomic<int> value;
  } seen = {(*pinned)->data(), -1};
  ASSERT_TRUE(device->fillAsync(at(0), 42, kSize, compute->stream()).ok());
  ASSERT_TRUE(device->downloadAsync((*pinned)->data(), at(0), kSize, compute->stream()).ok());
  ASSERT_TRUE(device->callHost(
                        compute->stream(),
                        [](void *argument) {
                          auto *seen = static_cast<Seen *>(argument);
                          seen->value = static_cast<int>(*seen->byte);
                        },
                        &seen)
                  .ok());
  ASSERT_TRUE(device->synchronize(compute->stream(), failure));
  EXPECT_EQ(seen.value, 42);
}

TEST_F(StreamConformance, PinnedMemoryIsSentWhileTheHostGoesOn) {
  auto pinned = device->allocatePinned(2 * kSize);
  ASSERT_TRUE(pinned.ok());
  auto sent = device->createEvent("sent");
  for (unsigned i = 0; i < 8; ++i) { // one half is written while the other is sent
    std::byte *half = (*pinned)->data() + i % 2 * kSize;
    std::memset(half, static_cast<int>(i + 1), kSize);
    ASSERT_TRUE(device->uploadAsync(at(i % 2), half, kSize, compute->stream()).ok());
    compute->record(*sent, i + 1);
    if (i)
      ASSERT_TRUE(sent->wait(i, failure));
  }
  compute->finish();
  EXPECT_EQ(first(0), 7);
  EXPECT_EQ(first(1), 8);
}

TEST_F(StreamConformance, TimeMarksFollowEachOther) {
  auto begin = device->createTimeMark(), end = device->createTimeMark();
  ASSERT_TRUE(begin->record(compute->stream()).ok());
  ASSERT_TRUE(device->copyAsync(at(1), at(0), kSize, compute->stream()).ok());
  ASSERT_TRUE(end->record(compute->stream()).ok());
  ASSERT_TRUE(device->synchronize(compute->stream(), failure));
  auto seconds = end->secondsSince(*begin);
  ASSERT_TRUE(seconds.ok()) << seconds.status().message();
  EXPECT_GE(*seconds, 0);
}

TEST_F(StreamConformance, AFailureEndsAWaitForAStream) {
  std::atomic<bool> goesOn = false;
  ASSERT_TRUE(device->callHost(
                        compute->stream(),
                        [](void *argument) {
                          while (!*static_cast<std::atomic<bool> *>(argument))
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                        },
                        &goesOn)
                  .ok());
  std::thread raiser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    failure.raise(Status::communication("a peer is lost"));
  });
  EXPECT_FALSE(device->synchronize(compute->stream(), failure));
  raiser.join();
  goesOn = true;
  // The function on the stream reads what lies on this stack.
  Failure none;
  EXPECT_TRUE(device->synchronize(compute->stream(), none));
}

TEST_F(StreamConformance, CodeThatIsNoneIsRefused) {
  MisusesAreErrors returned;
  auto module = device->loadModule("this is no machine code");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), ErrorCode::ProgramFailed);
  EXPECT_NE(module.status().message().find("cuModuleLoadData: "), std::string::npos) << module.status().message();
}

TEST_F(StreamConformance, CodeIsChosenByArchitecture) {
  const std::string own = device->architecture();
  ASSERT_TRUE(own.starts_with("sm_")) << own;
  auto choose = [&](std::vector<CodeLabel> codes) { return device->choose(codes); };
  EXPECT_EQ(*choose({{"compute_52", true}, {own, false}}), 1u);
  EXPECT_EQ(*choose({{"sm_10", false}, {"compute_52", true}, {"compute_60", true}}), 2u);
  auto none = choose({{"sm_10", false}, {"compute_999", true}});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("code for sm_10, compute_999, and GPU 0 ("), std::string::npos) << none.status().message();
  EXPECT_NE(none.status().message().find("is of " + own), std::string::npos) << none.status().message();
}

TEST_F(StreamConformance, ArenasAreAmongTheUsedBytes) {
  auto before = device->usedBytes();
  ASSERT_TRUE(before.ok());
  auto large = device->allocate("large", 64 << 20);
  ASSERT_TRUE(large.ok());
  auto after = device->usedBytes();
  ASSERT_TRUE(after.ok());
  // Others may use the device at the same time: but for them the difference would be the arena.
  EXPECT_GT(*after, *before + (32 << 20));
}

/// An address of the host is none of the device's, and the reverse: the driver's error comes out, named.
TEST_F(StreamConformance, AddressesOfTheOtherSideAreErrors) {
  MisusesAreErrors returned;
  std::vector<std::byte> host(kSize);
  Status copied = device->copyAsync(at(0), host.data(), kSize, compute->stream());
  if (copied.ok() && !device->synchronize(compute->stream(), failure))
    copied = failure.status();
  EXPECT_FALSE(copied.ok()) << "where the system lets GPUs read all of the host's memory, this is no error";
  EXPECT_NE(copied.message().find("CUDA_ERROR_"), std::string::npos) << copied.message();
}

TEST(StreamDevices, AGpuThatIsNotThereIsAnError) {
  auto gpus = findCudaDevices();
  if (!gpus.ok())
    GTEST_SKIP() << gpus.status().message();
  for (const std::string &uuid : *gpus)
    EXPECT_TRUE(std::regex_match(uuid, std::regex("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"))) << uuid;
  Status status = createCudaDevice(1000).status();
  EXPECT_EQ(status.code(), ErrorCode::BadInput);
  EXPECT_EQ(status.message(), "there is no GPU 1000 among the " + std::to_string(gpus->size()) + " that the driver of CUDA shows");
}

} // namespace
} // namespace zero

//===- MemoryTests.cpp - What states start from ---------------------------===//
#include "lib/Runtime/Executor/Memory.h"
#include "test/Unit/Support/TinyPlan.h"
#include <bit>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>

namespace zero {
namespace {

using schema::ElementType;

/// Beyond the loader's blocks, so that several are read.
constexpr uint64_t kElements = (1 << 18) + 192;
constexpr uint32_t kRanks = 2;

float weight(uint64_t i) {
  switch (i % 8) {
  case 0:
    return std::numeric_limits<float>::infinity();
  case 1:
    return std::numeric_limits<float>::quiet_NaN();
  case 2:
    return std::bit_cast<float>(0x3f808000u); // halfway between two bf16: to the even one
  case 3:
    return std::bit_cast<float>(0x3f818000u);
  case 4:
    return std::bit_cast<float>(0x7f7fffffu); // the largest float: beyond the largest bf16 by less than it rounds to infinity
  default:
    return std::sin(static_cast<float>(i)) / 3;
  }
}

/// By the rule alone: half of the last place is added where that leads to an even number.
uint16_t nearestBFloat16(float value) {
  if (std::isnan(value))
    return 0x7fc0;
  const uint32_t bits = std::bit_cast<uint32_t>(value), rest = bits & 0xffff;
  const bool up = rest > 0x8000 || (rest == 0x8000 && (bits >> 16) % 2);
  return static_cast<uint16_t>((bits >> 16) + up);
}

class LoadedWeights : public testing::Test {
protected:
  void SetUp() override {
    test::PlanBuilder b(kRanks);
    auto add = [&](const char *role, uint64_t bytes, bool sharded, int bucket) -> schema::StateT & {
      auto record = std::make_unique<schema::StateT>();
      record->role = role;
      record->slice = std::make_unique<schema::Slice>(b.buffer(role, bytes));
      record->sharded = sharded;
      record->bucket = bucket;
      b.plan.states.push_back(std::move(record));
      return *b.plan.states.back();
    };
    auto bucket = std::make_unique<schema::BucketT>();
    bucket->name = "b0";
    bucket->elements = kElements * kRanks;
    bucket->element = ElementType::bf16;
    bucket->weights_element = ElementType::f32;
    b.plan.buckets.push_back(std::move(bucket));
    b.plan.rank_part_bytes = kElements * 4;
    add("parameter", kElements * kRanks * 2, false, 0);
    add("master", kElements * 4, true, 0).element = ElementType::f32;
    schema::StateT &frozen = add("frozen", 3 * 2, false, -1);
    frozen.element = ElementType::f16;
    frozen.weights_element = ElementType::f32;
    schema::StateT &scale = add("loss_scale", 4, false, -1);
    scale.frozen_offset = 64;

    std::string weights(kElements * kRanks * 4, '\0'), lone(68, '\0');
    for (uint64_t i = 0; i < kElements * kRanks; ++i) {
      const float value = weight(i);
      std::memcpy(weights.data() + 4 * i, &value, 4);
    }
    const float numbers[] = {1.0f, 65520.0f, 1.0f + 0x1p-11f}, start = 65536.0f;
    std::memcpy(lone.data(), numbers, sizeof numbers);
    std::memcpy(lone.data() + 64, &start, 4);
    ContainerWriter writer;
    b.section("predict");
    writer.addSection(SectionKind::Plan, "", test::serialize(b.plan));
    writer.addSection(SectionKind::Weights, "", weights);
    writer.addSection(SectionKind::Frozen, "", lone);
    ASSERT_TRUE(writer.write(folder.file("c.bin")).ok());
  }

  template <typename T> static T read(const std::byte *bytes, uint64_t i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    return value;
  }

  test::TemporaryFolder folder;
};

TEST_F(LoadedWeights, AreRoundedWhereTheStateIsNarrower) {
  auto container = Container::open(folder.file("c.bin"));
  ASSERT_TRUE(container.ok()) << container.status().message();
  std::unique_ptr<Device> device = createCpuDevice();
  auto states = container->plan().states();
  for (unsigned rank = 0; rank < kRanks; ++rank) {
    auto memory = Memory::allocate(container->plan(), *device, rank, /*share=*/false);
    ASSERT_TRUE(memory.ok());
    Status loaded = memory->loadWeights(*container);
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    const std::byte *parameter = memory->at(*states->Get(0)->slice()), *master = memory->at(*states->Get(1)->slice());
    for (uint64_t i = 0; i < kElements * kRanks; ++i) {
      const uint16_t bits = read<uint16_t>(parameter, i);
      if (std::isnan(weight(i)))
        ASSERT_TRUE((bits & 0x7f80) == 0x7f80 && (bits & 0x7f)) << i;
      else
        ASSERT_EQ(bits, nearestBFloat16(weight(i))) << i;
    }
    for (uint64_t i = 0; i < kElements; ++i)
      ASSERT_EQ(read<uint32_t>(master, i), std::bit_cast<uint32_t>(weight(rank * kElements + i))) << i;
    const std::byte *frozen = memory->at(*states->Get(2)->slice());
    EXPECT_EQ(read<uint16_t>(frozen, 0), 0x3c00);
    EXPECT_EQ(read<uint16_t>(frozen, 1), 0x7c00) << "65520 is halfway to what would be the next number: infinity";
    EXPECT_EQ(read<uint16_t>(frozen, 2), 0x3c00) << "ties go to even";
    EXPECT_EQ(read<float>(memory->at(*states->Get(3)->slice()), 0), 65536.0f);
  }
}

/// Bytes that this process has read through system calls.
uint64_t bytesRead() {
  std::ifstream file("/proc/self/io");
  for (std::string key; file >> key;)
    if (uint64_t bytes = 0; key == "rchar:" && file >> bytes)
      return bytes;
  return 0;
}

TEST_F(LoadedWeights, AreReadOnceForParametersAndMasters) {
  auto container = Container::open(folder.file("c.bin"));
  ASSERT_TRUE(container.ok()) << container.status().message();
  std::unique_ptr<Device> device = createCpuDevice();
  constexpr uint64_t kWeights = kElements * kRanks * 4;
  for (unsigned rank = 0; rank < kRanks; ++rank) {
    auto memory = Memory::allocate(container->plan(), *device, rank, /*share=*/false);
    ASSERT_TRUE(memory.ok());
    const uint64_t before = bytesRead();
    ASSERT_NE(before, 0u);
    ASSERT_TRUE(memory->loadWeights(*container).ok());
    // What is whole is read once and what is one rank's is in it; a checksum's block at each end of a part may be read again.
    const uint64_t read = bytesRead() - before;
    EXPECT_GE(read, kWeights);
    EXPECT_LT(read, kWeights + kWeights / 4);
  }
}

} // namespace
} // namespace zero

//===- SparseMessageTests.cpp ---------------------------------------------===//
#include "lib/Runtime/HAL/Comm/SparseMessage.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace zero;

namespace {

using Bytes = std::vector<std::byte>;

/// What travels, as a channel puts it together.
Bytes messageOf(const SparseMessage &sparse, const Bytes &data) {
  Bytes message;
  for (SparseMessage::Run run : sparse.runs())
    message.insert(message.end(), data.begin() + static_cast<int64_t>(run.offset), data.begin() + static_cast<int64_t>(run.offset + run.bytes));
  message.insert(message.end(), sparse.bits().begin(), sparse.bits().end());
  return message;
}

bool expand(Bytes &place, const Bytes &message) {
  std::copy(message.begin(), message.end(), place.begin());
  return expandSparseMessage(place.data(), place.size(), message.size());
}

TEST(SparseMessage, CarriesAllThatIsNotZero) {
  std::mt19937 random(1);
  int sparseOnes = 0;
  for (int round = 0; round < 2000; ++round) {
    const uint64_t size = 1024 + random() % (SparseMessage::kMostDataBytes - 1023);
    Bytes data(size);
    // Rows of a table, wherever they lie beside blocks.
    const uint64_t row = 4 + random() % 3000, touched = random() % 40;
    for (uint64_t i = 0; i < touched; ++i)
      for (uint64_t begin = random() % size, at = begin; at < std::min(size, begin + row); ++at)
        data[at] = std::byte(random());
    SparseMessage sparse;
    if (!sparse.describe(data.data(), size))
      continue;
    ++sparseOnes;
    Bytes message = messageOf(sparse, data);
    ASSERT_EQ(message.size(), sparse.bytes());
    ASSERT_LE(message.size(), size / 4 * 3 + SparseMessage::kBlockBytes);
    Bytes place(size, std::byte(0xff));
    ASSERT_TRUE(expand(place, message));
    ASSERT_EQ(std::memcmp(place.data(), data.data(), size), 0) << size << " bytes, " << touched << " rows of " << row;
  }
  EXPECT_GT(sparseOnes, 500);
}

TEST(SparseMessage, ZerosAreHardlyAnything) {
  Bytes data(SparseMessage::kMostDataBytes);
  SparseMessage sparse;
  ASSERT_TRUE(sparse.describe(data.data(), data.size()));
  EXPECT_EQ(sparse.bytes(), sparse.bits().size());
  EXPECT_EQ(sparse.bytes(), data.size() / SparseMessage::kBlockBytes / 8);
  EXPECT_EQ(sparse.lengthOf(data.data(), data.size()), sparse.bytes());
}

TEST(SparseMessage, KeepsTheSignOfZero) {
  Bytes data(4096);
  data[64 * 9 + 3] = std::byte(0x80);
  SparseMessage sparse;
  ASSERT_TRUE(sparse.describe(data.data(), data.size()));
  ASSERT_EQ(sparse.runs().size(), 1u);
  EXPECT_EQ(sparse.runs()[0].offset, 64u * 9);
  Bytes place(4096, std::byte(1));
  ASSERT_TRUE(expand(place, messageOf(sparse, data)));
  EXPECT_EQ(place, data);
}

TEST(SparseMessage, LeavesAloneWhatIsShortDenseOrInManyPieces) {
  SparseMessage sparse;
  EXPECT_FALSE(sparse.describe(Bytes(1023).data(), 1023));
  Bytes longer(SparseMessage::kMostDataBytes + 1);
  EXPECT_FALSE(sparse.describe(longer.data(), longer.size()));
  EXPECT_FALSE(sparse.describe(Bytes(4096, std::byte(1)).data(), 4096));
  EXPECT_EQ(sparse.lengthOf(Bytes(4096, std::byte(1)).data(), 4096), 4096u);
  Bytes pieces(SparseMessage::kMostDataBytes);
  auto fill = [&](uint64_t period) {
    for (uint64_t block = 0; block < pieces.size() / 64; ++block)
      pieces[block * 64] = std::byte(block % period != 0);
  };
  fill(5); // too few zeros
  EXPECT_FALSE(sparse.describe(pieces.data(), pieces.size() / 8));
  fill(2); // of many pieces each costs something
  EXPECT_TRUE(sparse.describe(pieces.data(), pieces.size() / 4));
  EXPECT_FALSE(sparse.describe(pieces.data(), pieces.size()));
}

TEST(SparseMessage, RefusesWhatIsNone) {
  Bytes data(4096 + 10);
  data[70] = data[4100] = std::byte(1);
  SparseMessage sparse;
  ASSERT_TRUE(sparse.describe(data.data(), data.size()));
  const Bytes message = messageOf(sparse, data);
  Bytes place(data.size());
  ASSERT_TRUE(expand(place, message));
  auto refuses = [&](const Bytes &wrong) {
    Bytes there(data.size());
    return !expand(there, wrong);
  };
  EXPECT_TRUE(refuses(Bytes(message.begin(), message.end() - 1)));
  EXPECT_TRUE(refuses({}));
  EXPECT_TRUE(refuses(Bytes(data.size())));
  for (size_t bit = 0; bit < sparse.bits().size() * 8; ++bit) { // one block more or fewer than there is
    Bytes wrong = message;
    wrong[message.size() - sparse.bits().size() + bit / 8] ^= std::byte(1u << bit % 8);
    EXPECT_TRUE(refuses(wrong)) << bit;
  }
  // Bits behind the last block.
  Bytes odd(1024 + 64);
  ASSERT_TRUE(sparse.describe(odd.data(), odd.size()));
  Bytes stray = messageOf(sparse, odd);
  stray.back() |= std::byte(0x80);
  Bytes there(odd.size());
  EXPECT_FALSE(expand(there, stray));
}

} // namespace

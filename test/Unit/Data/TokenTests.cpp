//===- TokenTests.cpp - Samples from files of tokens ----------------------===//
#include "lib/Runtime/Data/Permutation.h"
#include "test/Unit/Data/DataPlan.h"
#include "zero/Runtime/Data/DataSet.h"
#include <gtest/gtest.h>
#include <set>

namespace zero {
namespace {

using schema::ElementType;

TEST(Permutation, VisitsEveryPlaceOnceAndDependsOnSeedAndEpoch) {
  for (uint64_t size : {1, 2, 3, 5, 16, 17, 1000}) {
    std::set<uint64_t> seen;
    Permutation order(size, 1, 2);
    for (uint64_t i = 0; i < size; ++i)
      seen.insert(order(i));
    EXPECT_EQ(seen.size(), size);
    EXPECT_LT(*seen.rbegin(), size);
  }
  auto orderOf = [](uint64_t seed, uint64_t epoch) {
    std::vector<uint64_t> places;
    for (uint64_t i = 0; i < 50; ++i)
      places.push_back(Permutation(50, seed, epoch)(i));
    return places;
  };
  EXPECT_EQ(orderOf(3, 4), orderOf(3, 4));
  EXPECT_NE(orderOf(3, 4), orderOf(3, 5));
  EXPECT_NE(orderOf(3, 4), orderOf(4, 4));
  EXPECT_NE(orderOf(0, 1), orderOf(1, 0));
}

class Tokens : public testing::Test {
protected:
  Tokens() { plan.add("ids", ElementType::i64, {2, 4}, 256).add("next", ElementType::i32, {2, 4}, 256); }

  Expected<std::unique_ptr<DataSet>> open(const std::string &bytes, DataFormat format, uint64_t length = 4, uint64_t seed = 0) {
    DataOptions options{folder.file("text"), format, length, seed};
    test::writeFile(options.path, bytes);
    return openDataSet(options, plan.get());
  }
  std::string errorOf(const std::string &bytes, DataFormat format, uint64_t length = 4) {
    auto data = open(bytes, format, length);
    EXPECT_EQ(data.status().exitCode(), 3);
    return data.status().ok() ? "" : data.status().message();
  }
  test::DataPlan plan;
  test::TemporaryFolder folder;
};

TEST_F(Tokens, LabelsAreTheNextTokens) {
  std::string text;
  for (int i = 0; i < 4 * 25 + 3; ++i)
    text += static_cast<char>(i);
  std::string wide;
  for (char c : text)
    wide += c, wide += '\0';
  for (auto [bytes, format] : {std::pair(text, DataFormat::Bytes), std::pair(wide, DataFormat::U16)}) {
    auto data = open(bytes, format);
    ASSERT_TRUE(data.ok()) << data.status().message();
    EXPECT_EQ((*data)->samples(), 25u);
    std::set<int64_t> starts;
    for (uint64_t first = 0; first < 24; first += 2) {
      int64_t ids[8];
      int32_t next[8];
      ASSERT_TRUE((*data)->read(0, 0, first, 2, ids).ok());
      ASSERT_TRUE((*data)->read(1, 0, first, 2, next).ok());
      for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(next[i], ids[i] + 1);
        EXPECT_EQ(ids[i], ids[i / 4 * 4] + i % 4);
      }
      EXPECT_EQ(ids[0] % 4, 0);
      starts.insert(ids[0]);
      starts.insert(ids[4]);
    }
    EXPECT_EQ(starts.size(), 24u);
  }
}

TEST_F(Tokens, NamesWhatDoesNotFit) {
  auto expect = [](const std::string &message, const std::string &words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  expect(errorOf("1234", DataFormat::Bytes), "has 4 tokens, one sample needs 5");
  expect(errorOf("", DataFormat::Bytes), "has 0 tokens, one sample needs 5");
  expect(errorOf("12345", DataFormat::U16), "has 5 bytes, not a multiple of 2");
  expect(errorOf("1234567", DataFormat::Bytes, 5), "--sequence-length is 5, input 'ids' has sequences of 4");
  expect(errorOf(std::string("\1\0\0\1\1\0\1\0\1\0", 10), DataFormat::U16), "holds token 256 at 1, outside [0, 256) of input 'ids'");
  plan.add("mask", ElementType::f32, {2, 4});
  expect(errorOf("12345", DataFormat::Bytes), "the type of the labels 'mask' is f32");
}

TEST_F(Tokens, AnNpzIsMeantWhereNoFormatIsGiven) {
  std::string message = errorOf("some text", DataFormat::Npz);
  EXPECT_NE(message.find("a file of tokens needs --data-format=bytes"), std::string::npos) << message;
}

TEST_F(Tokens, NamesInputsThatTokensCannotFill) {
  test::DataPlan floats, flat;
  floats.add("x", schema::ElementType::f32, {2, 4}).add("y", schema::ElementType::i64, {2, 4});
  flat.add("x", schema::ElementType::i64, {2, 4}).add("y", schema::ElementType::i64, {2});
  DataOptions options;
  options.path = folder.file("t.bin");
  options.format = DataFormat::Bytes;
  options.sequenceLength = 4;
  test::writeFile(options.path, std::string(100, 'a'));
  auto messageOf = [&](test::DataPlan &plan) { return openDataSet(options, plan.get()).status().message(); };
  EXPECT_NE(messageOf(floats).find("holds tokens, but the type of input 'x' is f32"), std::string::npos) << messageOf(floats);
  EXPECT_NE(messageOf(flat).find("gives samples of one dimension, the labels 'y' has 0"), std::string::npos) << messageOf(flat);
}

TEST_F(Tokens, ChecksEveryPieceOfALargeFile) {
  test::DataPlan narrow;
  narrow.add("ids", ElementType::i64, {2, 4}, 100).add("next", ElementType::i32, {2, 4}, 100);
  DataOptions options{folder.file("text"), DataFormat::U16, 4, 0};
  std::string bytes(3 << 20, '\0');
  bytes[(2 << 20) + 6] = 100;
  test::writeFile(options.path, bytes);
  std::string message = openDataSet(options, narrow.get()).status().message();
  EXPECT_NE(message.find("holds token 100 at 1048579, outside [0, 100)"), std::string::npos) << message;
}

TEST_F(Tokens, AFileThatBecomesShorterIsAnErrorOfTheStepThatReadsIt) {
  auto data = open(std::string(103, 'a'), DataFormat::Bytes);
  ASSERT_TRUE(data.ok()) << data.status().message();
  std::filesystem::resize_file(folder.file("text"), 50);
  int64_t ids[8];
  Status status = (*data)->read(0, 0, 0, 2, ids);
  ASSERT_EQ(status.exitCode(), 3);
  EXPECT_NE(status.message().find("has changed since it was opened: it had 103 bytes, now it has 50"), std::string::npos) << status.message();
}

} // namespace
} // namespace zero

//===- NpzTests.cpp - Samples from .npz archives --------------------------===//
#include "test/Unit/Data/DataPlan.h"
#include "test/Unit/Support/Archive.h"
#include "test/Unit/Support/TinyProgram.h"
#include "zero/Runtime/Data/DataSet.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace zero {
namespace {

using schema::ElementType;
using test::npy;

std::string floats(std::vector<float> values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)};
}
std::string integers(std::vector<int64_t> values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t)};
}

class Npz : public testing::Test {
protected:
  Npz() { plan.add("x", ElementType::f32, {2, 3}).add("y", ElementType::i64, {2}, 10, true); }

  Expected<std::unique_ptr<DataSet>> open(const std::string &archive) {
    DataOptions options;
    options.path = folder.file("d.npz");
    test::writeFile(options.path, archive);
    return openDataSet(options, plan.get());
  }
  std::string errorOf(const std::string &archive) {
    auto data = open(archive);
    EXPECT_EQ(data.status().exitCode(), 3);
    return data.status().ok() ? "" : data.status().message();
  }

  const std::string x = npy("<f4", "4, 3", floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const std::string y = npy("<i8", "4,", integers({7, -100, 0, 9}));
  test::DataPlan plan;
  test::TemporaryFolder folder;
};

TEST_F(Npz, AFileThatChangesIsAnErrorOfTheStepThatReadsIt) {
  std::string archive = test::zip({{"y.npy", y}, {"x.npy", x}});
  for (bool shorter : {false, true}) {
    auto data = open(archive);
    ASSERT_TRUE(data.ok());
    float rows[6];
    ASSERT_TRUE((*data)->read(0, 0, 1, 2, rows).ok());
    std::string path = folder.file("d.npz");
    if (shorter) {
      std::filesystem::resize_file(path, 10);
    } else {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(100);
      file << "x";
      file.close();
      // Clocks of file systems may not have ticked since it was made.
      std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
    }
    Status status = (*data)->read(0, 0, 1, 2, rows);
    EXPECT_EQ(status.exitCode(), 3);
    EXPECT_NE(status.message().find("d.npz' has changed since it was opened: "), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(shorter ? "now it has 10" : "were written anew"), std::string::npos) << status.message();
  }
  // What was inflated is in memory.
  auto data = open(test::zip({{"y.npy", y}, {"x.npy", x}}, /*deflate=*/true));
  ASSERT_TRUE(data.ok());
  std::filesystem::resize_file(folder.file("d.npz"), 10);
  float rows[6];
  EXPECT_TRUE((*data)->read(0, 0, 1, 2, rows).ok());
}

TEST_F(Npz, ChecksEveryPieceOfALargeArray) {
  // The labels are read in pieces of 2^20 bytes: 2^17 numbers.
  const size_t samples = 300000;
  std::vector<int64_t> labels(samples, 3);
  labels[2 * 131072 + 5] = 10;
  const std::string rows(samples * 3 * sizeof(float), '\0'), shape = std::to_string(samples);
  for (bool deflate : {false, true}) {
    auto archive = [&] {
      return test::zip({{"x.npy", npy("<f4", shape + ", 3", rows)}, {"y.npy", npy("<i8", shape + ",", integers(labels))}}, deflate);
    };
    labels[2 * 131072 + 5] = 10;
    std::string message = errorOf(archive());
    EXPECT_NE(message.find("array 'y': holds 10 at [262149], outside [0, 10)"), std::string::npos) << message;
    labels[2 * 131072 + 5] = 9;
    auto data = open(archive());
    ASSERT_TRUE(data.ok()) << data.status().message();
    int64_t read[2];
    ASSERT_TRUE((*data)->read(1, 0, 2 * 131072 + 4, 2, read).ok());
    EXPECT_EQ(read[1], 9);
  }
}

TEST_F(Npz, AFileThatBecomesShorterWhileItIsOpenedIsAnError) {
  const std::string archive = test::zip({{"x.npy", npy("<f4", "100000, 3", std::string(1200000, '\0'))},
                                         {"y.npy", npy("<i8", "100000,", std::string(800000, '\0'))}});
  DataOptions options;
  options.path = folder.file("d.npz");
  for (int i = 0; i < 50; ++i) {
    test::writeFile(options.path, archive);
    std::thread cuts([&] { std::filesystem::resize_file(options.path, 10); });
    auto data = openDataSet(options, plan.get()); // before, while or after it is cut: never the end of the process
    cuts.join();
    EXPECT_TRUE(data.ok() || data.status().exitCode() == 3);
  }
}

TEST_F(Npz, ReadsStoredAndDeflatedArrays) {
  for (bool deflate : {false, true}) {
    auto data = open(test::zip({{"y.npy", y}, {"x.npy", x}}, deflate));
    ASSERT_TRUE(data.ok()) << data.status().message();
    EXPECT_EQ((*data)->samples(), 4u);
    float rows[6];
    int64_t labels[2];
    ASSERT_TRUE((*data)->read(0, 0, 1, 2, rows).ok());
    ASSERT_TRUE((*data)->read(1, 0, 1, 2, labels).ok());
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(rows[i], static_cast<float>(i + 3));
    EXPECT_EQ(labels[0], -100);
    EXPECT_EQ(labels[1], 0);
    EXPECT_TRUE((*data)->notes.empty());
  }
}

TEST_F(Npz, SaysWhatIsNotUsed) {
  auto data = open(test::zip({{"y.npy", y}, {"x.npy", x}, {"z.npy", y}}));
  ASSERT_TRUE(data.ok());
  EXPECT_EQ((*data)->notes, std::vector<std::string>{"array 'z' of the data is not used"});
}

TEST_F(Npz, SaysWhatInflatedDataTake) {
  const size_t samples = 1000000;
  std::string large = npy("<f4", std::to_string(samples) + ", 3", std::string(samples * 12, '\0'));
  std::string labels = npy("<i8", std::to_string(samples) + ",", std::string(samples * 8, '\0'));
  auto data = open(test::zip({{"y.npy", labels}, {"x.npy", large}}, /*deflate=*/true));
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->notes, std::vector<std::string>{"the data are compressed and take " + std::to_string(large.size() + labels.size()) +
                                                     " bytes of each process; numpy.savez writes them uncompressed"});
  data = open(test::zip({{"y.npy", labels}, {"x.npy", large}}));
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_TRUE((*data)->notes.empty());
}

TEST_F(Npz, NamesWhatDoesNotFit) {
  auto expect = [&](const std::string &archive, const std::string &words) {
    std::string message = errorOf(archive);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  expect(test::zip({{"x.npy", x}, {"labels.npy", y}}), "has no array 'y'; it has 'x', 'labels'");
  expect(test::zip({{"x.npy", npy("<f8", "4, 3", std::string(96, '\0'))}, {"y.npy", y}}),
         "array 'x': is of type float64, the model takes float32");
  expect(test::zip({{"x.npy", npy(">f4", "4, 3", std::string(48, '\0'))}, {"y.npy", y}}), "array 'x': is of type '>f4'");
  expect(test::zip({{"x.npy", npy("<f4", "4, 2", std::string(32, '\0'))}, {"y.npy", y}}),
         "array 'x': has samples of shape 2, the model takes 3");
  expect(test::zip({{"x.npy", npy("<f4", "12,", std::string(48, '\0'))}, {"y.npy", y}}),
         "has samples of shape one number, the model takes 3");
  expect(test::zip({{"x.npy", x}, {"y.npy", npy("<i8", "3,", integers({1, 2, 3}))}}),
         "array 'y': has 3 samples, the others have 4");
  expect(test::zip({{"x.npy", x}, {"y.npy", npy("<i8", "4,", integers({1, 2, 10, 3}))}}),
         "array 'y': holds 10 at [2], outside [0, 10) and not the ignored -100");
  expect(test::zip({{"x.npy", x}, {"y.npy", npy("<i8", "4,", integers({1, -1, 1, 3}))}}), "array 'y': holds -1 at [1]");
  expect(test::zip({{"x.npy", npy("<f4", "4, 3", std::string(47, '\0'))}, {"y.npy", y}}), "need 48 bytes, it has 47");
  expect(test::zip({{"x.npy", npy("<f4", "4294967296, 4294967296", "")}, {"y.npy", y}}), "more than 2^64");
  expect(test::zip({{"x.npy", npy("[('a', '<f4')]", "4, 3", "")}, {"y.npy", y}}), "its header is malformed");
  expect(test::zip({{"x.npy", "not an array"}, {"y.npy", y}}), "it is no NumPy array");
  std::string fortran = x;
  fortran.replace(fortran.find("False"), 5, "True ");
  expect(test::zip({{"x.npy", fortran}, {"y.npy", y}}), "it is stored in Fortran order");
  expect("x", "it is no zip archive");
  expect(std::string(1000, 'x'), "it is no zip archive, or cut off");
}

TEST_F(Npz, ReadsEveryElementType) {
  const std::pair<ElementType, const char *> types[] = {
      {ElementType::f32, "<f4"}, {ElementType::f64, "<f8"}, {ElementType::f16, "<f2"},  {ElementType::bf16, "<V2"},
      {ElementType::bf16, "|V2"}, {ElementType::i64, "<i8"}, {ElementType::i32, "<i4"}, {ElementType::i16, "<i2"},
      {ElementType::i8, "|i1"},  {ElementType::u8, "|u1"},  {ElementType::i1, "|b1"},   {ElementType::u16, "<u2"},
      {ElementType::u32, "<u4"}, {ElementType::u64, "<u8"}};
  for (auto [element, code] : types) {
    test::DataPlan one;
    one.add("x", element, {1, 3});
    const std::string bytes = std::string("abcdefghijklmnopqrstuvwxyz").substr(0, 3 * elementBytes(element));
    DataOptions options;
    options.path = folder.file("d.npz");
    test::writeFile(options.path, test::zip({{"x.npy", npy(code, "1, 3", bytes)}}));
    auto data = openDataSet(options, one.get());
    ASSERT_TRUE(data.ok()) << code << ": " << data.status().message();
    std::string read(bytes.size(), '\0');
    ASSERT_TRUE((*data)->read(0, 0, 0, 1, read.data()).ok());
    EXPECT_EQ(read, bytes) << code;
  }
}

TEST_F(Npz, ChecksUnsignedNumbersAsSuch) {
  test::DataPlan one;
  one.add("y", ElementType::u64, {2}, 10, true);
  DataOptions options;
  options.path = folder.file("d.npz");
  test::writeFile(options.path, test::zip({{"y.npy", npy("<u8", "2,", integers({9, -100}))}}));
  auto data = openDataSet(options, one.get());
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.status().message().find("holds 18446744073709551516 at [1], outside [0, 10)"), std::string::npos)
      << data.status().message();
}

TEST_F(Npz, PredictsWithoutLabels) {
  test::DataPlan predicting;
  predicting.add("x", ElementType::f32, {2, 3}).last().predict = true;
  predicting.add("y", ElementType::i64, {2}, 10);
  DataOptions options;
  options.path = folder.file("d.npz");
  test::writeFile(options.path, test::zip({{"x.npy", x}}));
  auto refused = openDataSet(options, predicting.get());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("has no array 'y'"), std::string::npos) << refused.status().message();
  options.trains = false;
  auto data = openDataSet(options, predicting.get());
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->samples(), 4u);
  float row[3];
  ASSERT_TRUE((*data)->readInOrder(0, 2, 1, row).ok());
  EXPECT_EQ(row[0], 6.0f);
  // Labels that are there are no news, whatever they hold.
  test::writeFile(options.path, test::zip({{"y.npy", npy("<f4", "1,", floats({1}))}, {"x.npy", x}}));
  data = openDataSet(options, predicting.get());
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_TRUE((*data)->notes.empty());
}

TEST_F(Npz, ReadsUnbatchedInputsWhole) {
  test::DataPlan mixed;
  mixed.add("scale", ElementType::f32, {}).last().unbatched = true;
  mixed.add("table", ElementType::i64, {3}).last().unbatched = true;
  mixed.add("x", ElementType::f32, {2, 3});
  DataOptions options;
  options.path = folder.file("d.npz");
  auto members = [&](const std::string &table) {
    return test::zip({{"x.npy", x}, {"scale.npy", npy("<f4", "", floats({2}))}, {"table.npy", table}});
  };
  test::writeFile(options.path, members(npy("<i8", "3,", integers({7, 8, 9}))));
  auto data = openDataSet(options, mixed.getToPredict());
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->samples(), 4u);
  float scale = 0;
  int64_t table[3] = {};
  ASSERT_TRUE((*data)->readInOrder(0, 3, 1, &scale).ok());
  ASSERT_TRUE((*data)->readInOrder(1, 3, 1, table).ok());
  EXPECT_EQ(scale, 2.0f);
  EXPECT_EQ(table[2], 9);
  test::writeFile(options.path, members(npy("<i8", "4,", integers({7, 8, 9, 9}))));
  data = openDataSet(options, mixed.getToPredict());
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.status().message().find("array 'table': has the shape 4, the model takes 3"), std::string::npos)
      << data.status().message();
}

TEST_F(Npz, SurvivesDamage) {
  for (bool deflate : {false, true}) {
    std::string good = test::zip({{"x.npy", x}, {"y.npy", y}}, deflate);
    for (size_t size = 0; size < good.size(); ++size)
      EXPECT_FALSE(open(good.substr(0, size)).ok()) << size;
    std::mt19937 random(3);
    for (int i = 0; i < 3000; ++i) {
      std::string bad = good;
      for (uint32_t flips = 1 + random() % 3; flips; --flips)
        bad[random() % bad.size()] = static_cast<char>(random());
      (void)open(bad); // refused or harmless (a time stamp, say); never a crash
    }
  }
}

TEST_F(Npz, StepsAndEpochs) {
  auto data = open(test::zip({{"y.npy", y}, {"x.npy", x}}));
  ASSERT_TRUE(data.ok());
  DataOptions options;
  options.path = "d.npz";
  EXPECT_EQ(planSteps(**data, options, 2, 0, 0)->steps, 2u);
  EXPECT_EQ(planSteps(**data, options, 3, 0, 5)->steps, 5u);
  EXPECT_EQ(planSteps(**data, options, 3, 4, 4)->stepsPerEpoch, 1u);
  EXPECT_EQ(planSteps(**data, options, 2, 1, 0)->steps, 1u);
  EXPECT_EQ(planSteps(**data, options, 2, 3, 2)->steps, 3u); // the second pass ends before the data
  EXPECT_EQ(planSteps(**data, options, 2, 2, 2).status().message(),
            "--epochs=2 contradicts --steps=2: 'd.npz' has 4 samples, and the last step is in epoch 1; give one of the two");
  EXPECT_EQ(planSteps(**data, options, 5, 0, 0).status().message(), "'d.npz' has 4 samples, one step takes 5");
  EXPECT_EQ(planSteps(**data, options, 2, 3, 0).status().message(),
            "'d.npz' has 4 samples, enough for 2 steps of 2, not for --steps=3; --epochs=2 would be");
  EXPECT_EQ(planSteps(**data, options, 2, 9, 2).status().message(),
            "'d.npz' has 4 samples, enough for 4 steps of 2 in 2 epochs, not for --steps=9; --epochs=5 would be");
}

/// Equal files have equal fingerprints; of a large file the first and the last bytes count, and pieces between.
TEST(FingerprintData, TellsFilesApart) {
  const std::string path = testing::TempDir() + "/fingerprint.bin";
  auto fingerprint = [&](uint64_t size, uint64_t changed) {
    std::ofstream file(path, std::ios::binary);
    std::string bytes(size, 'a');
    bytes[changed] = 'b';
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    return *fingerprintData(path);
  };
  for (uint64_t size : {uint64_t(10), uint64_t(65536), uint64_t(65537), uint64_t(16) << 20, (uint64_t(20) << 20) + 5}) {
    EXPECT_EQ(fingerprint(size, 0), fingerprint(size, 0));
    EXPECT_NE(fingerprint(size, 0), fingerprint(size, size - 1)) << size;
  }
  EXPECT_EQ(fingerprintData(path + ".none").status().message(), "cannot read '" + path + ".none': No such file or directory");
}

} // namespace
} // namespace zero

//===- NpzWriterTests.cpp - Archives that NumPy reads ---------------------===//
#include "zero/Runtime/Data/NpzWriter.h"
#include "lib/Runtime/Data/Npy.h"
#include "lib/Runtime/Data/Zip.h"
#include "test/Unit/Data/MemorySource.h"
#include "test/Unit/Support/TinyPlan.h"
#include <gtest/gtest.h>

namespace zero {
namespace {

using schema::ElementType;

TEST(NpzWriter, WritesWhatIsReadBack) {
  test::TemporaryFolder folder;
  const std::string path = folder.file("out.npz");
  {
    auto writer = NpzWriter::create(path, {{"a/b", ElementType::f32, {2, 3}}, {"number", ElementType::i64, {}},
                                           {"none", ElementType::f16, {0, 4}}, {"brain", ElementType::bf16, {5}}});
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    // In any turn, each from front to back.
    EXPECT_TRUE((*writer)->append(0, "01234567", 8).ok());
    EXPECT_TRUE((*writer)->append(3, "abcdefghij", 10).ok());
    EXPECT_TRUE((*writer)->append(2, nullptr, 0).ok());
    EXPECT_TRUE((*writer)->append(0, "89ABCDEFGHIJKLMN", 16).ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE((*writer)->append(1, "12345678", 8).ok());
    EXPECT_TRUE((*writer)->commit().ok());
  }
  const std::string archive = test::readFile(path);
  auto members = listZip(test::MemorySource(archive));
  ASSERT_TRUE(members.ok()) << members.status().message();
  ASSERT_EQ(members->size(), 4u);
  const struct {
    const char *name, *type, *data;
    std::vector<uint64_t> shape;
  } expected[] = {{"a/b.npy", "<f4", "0123456789ABCDEFGHIJKLMN", {2, 3}},
                  {"number.npy", "<i8", "12345678", {}},
                  {"none.npy", "<f2", "", {0, 4}},
                  {"brain.npy", "<V2", "abcdefghij", {5}}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*members)[i].name, expected[i].name);
    auto bytes = readZipMember(test::MemorySource(archive), (*members)[i]);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    auto array = parseNpy(*bytes);
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->type, expected[i].type);
    EXPECT_EQ(array->shape, expected[i].shape);
    EXPECT_EQ(array->data, expected[i].data);
    EXPECT_EQ((array->data.data() - bytes->data()) % 64, 0);
  }
}

TEST(NpzWriter, WritesNoHalfArrays) {
  test::TemporaryFolder folder;
  auto writer = NpzWriter::create(folder.file("out.npz"), {{"a", ElementType::f32, {2}}});
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->append(0, "1234", 4).ok());
  Status status = (*writer)->commit();
  EXPECT_NE(status.message().find("array 'a.npy' has"), std::string::npos) << status.message();
  writer->reset();
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.npz")));
  EXPECT_EQ(NpzWriter::create(folder.file("x"), {{std::string(70000, 'n'), ElementType::f32, {}}}).status().exitCode(), 3);
  EXPECT_EQ(NpzWriter::create(folder.file("no/such/folder"), {}).status().exitCode(), 3);
}

TEST(NpzWriter, RefusesNamesThatNoArchiveHolds) {
  test::TemporaryFolder folder;
  auto writer = NpzWriter::create(folder.file("out.npz"), {{std::string(65532, 'n'), ElementType::f32, {1}}});
  ASSERT_FALSE(writer.ok());
  EXPECT_NE(writer.status().message().find("has 65532 bytes, an archive holds names of up to 65531"), std::string::npos)
      << writer.status().message();
}

} // namespace
} // namespace zero

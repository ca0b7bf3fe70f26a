//===- DamageTests.cpp - What is said of a damaged container --------------===//
#include "lib/Container/Format.h"
#include "test/Unit/Support/TinyPlan.h"
#include "zero/Container/Container.h"
#include <functional>
#include <gtest/gtest.h>

namespace zero {
namespace {

/// The bytes of a container with access to its index.
class Bytes {
public:
  explicit Bytes(std::string bytes) : bytes(std::move(bytes)) {}
  format::Header &header() { return *reinterpret_cast<format::Header *>(bytes.data()); }
  format::Entry &entry(size_t i) { return reinterpret_cast<format::Entry *>(bytes.data() + sizeof(format::Header))[i]; }
  /// Makes the checksum of the index fit again.
  void seal() {
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < header().sectionCount; ++i)
      blocks += format::blocksOf(entry(i).size);
    header().indexChecksum = 0;
    header().indexChecksum =
        format::checksum(bytes.data(), sizeof(format::Header) + header().sectionCount * sizeof(format::Entry) + blocks * 8);
  }
  std::string bytes;
};

/// A container that is whole, but for its kernels.
Status writeSmallContainer(const std::string &path) {
  test::TinyPlan tiny = test::makeTinyPlan(2);
  ContainerWriter writer;
  writer.addSection(SectionKind::Plan, "", test::serialize(tiny.plan));
  writer.addSection(SectionKind::Weights, "", std::string(2 * tiny.plan.rank_part_bytes, 'w'));
  writer.addSection(SectionKind::KernelObject, "v3", "three");
  return writer.write(path);
}

TEST(ContainerDamage, IsNamed) {
  test::TemporaryFolder folder;
  std::string path = folder.file("compiled.bin");
  ASSERT_TRUE(writeSmallContainer(path).ok());
  const std::string good = test::readFile(path);

  const struct {
    const char *message;
    std::function<void(Bytes &)> damage;
    bool seal = true;
  } faults[] = {
      {"is not a compiled program: it has 63 bytes, its header alone needs 64", [](Bytes &b) { b.bytes.resize(63); }, false},
      {"has format version 99, this program reads version", [](Bytes &b) { b.header().version = 99; }, false},
      {"has format version 2, this program reads version 3: compile it again", [](Bytes &b) { b.header().version = 2; }, false},
      {"is damaged: it has ", [](Bytes &b) { b.header().fileSize += 1; }, false},
      {" bytes, its header says ", [](Bytes &b) { b.header().fileSize += 1; }, false},
      {"its header says 5000 sections, at most 4096 are possible", [](Bytes &b) { b.header().sectionCount = 5000; }, false},
      {"its section table is cut off",
       [](Bytes &b) {
         b.bytes.resize(100);
         b.header().fileSize = 100;
       },
       false},
      {"a section is larger than the file", [](Bytes &b) { b.entry(1).size = uint64_t(1) << 60; }, false},
      {"its block checksums are cut off",
       [](Bytes &b) {
         b.bytes.resize(64 + 3 * 64 + 8);
         b.header().fileSize = b.bytes.size();
         for (int i = 0; i < 3; ++i)
           b.entry(i).size = 8;
       },
       false},
      {"the checksum of its section table does not fit", [](Bytes &b) { b.header().reserved[0] = 1; }, false},
      {"section kind 77 is unknown", [](Bytes &b) { b.entry(1).kind = 77; }},
      {"a section lies outside its place", [](Bytes &b) { b.entry(1).offset += 4096; }},
      {"a section label has no end", [](Bytes &b) { std::memset(b.entry(2).label, 'l', format::kLabelBytes); }},
      {"the checksum of section 'v3' does not fit", [](Bytes &b) { b.entry(2).checksum ^= 1; }},
      {"its sections end at ",
       [](Bytes &b) {
         b.bytes += "x";
         b.header().fileSize += 1;
       }},
      // Also what this machine does not read while it runs.
      {" of section 'v3' does not fit", [](Bytes &b) { b.bytes[b.entry(2).offset] ^= 1; }, false},
      {"bytes between sections are not zero", [](Bytes &b) { b.bytes[b.entry(1).offset - 1] = 'x'; }},
  };
  for (const auto &fault : faults) {
    Bytes bytes(good);
    fault.damage(bytes);
    if (fault.seal)
      bytes.seal();
    test::writeFile(path, bytes.bytes);
    Status status = Container::open(path).status();
    EXPECT_EQ(status.exitCode(), 3) << fault.message;
    EXPECT_NE(status.ok() ? std::string::npos : status.message().find(fault.message), std::string::npos)
        << "'" << fault.message << "' but got '" << (status.ok() ? "" : status.message()) << "'";
  }
}

TEST(ContainerDamage, AFileThatBecomesShorterIsNamed) {
  test::TemporaryFolder folder;
  std::string path = folder.file("compiled.bin");
  ASSERT_TRUE(writeSmallContainer(path).ok());
  auto container = Container::open(path);
  ASSERT_TRUE(container.ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  auto bytes = container->read(*container->find(SectionKind::KernelObject, "v3"));
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.status().message().find("it ends 1 bytes early"), std::string::npos) << bytes.status().message();
  char byte;
  Status outside = container->read(*container->find(SectionKind::Weights), 512, &byte, 1);
  EXPECT_EQ(outside.message(), "bytes 512 to 513 are not in section '' of 512 bytes");
}

TEST(ContainerDamage, TheWriterNamesWhatCannotBeWritten) {
  test::TemporaryFolder folder;
  auto messageOf = [&](uint64_t claimed, const std::string &label) {
    ContainerWriter writer;
    writer.addSection(SectionKind::Config, label, claimed, [](const ContainerWriter::Sink &sink) {
      sink("four", 4);
      return Status();
    });
    return writer.write(folder.file("c.bin")).message();
  };
  EXPECT_EQ(messageOf(3, "a"), "section 'a': the section gives more than its 3 bytes");
  EXPECT_EQ(messageOf(5, "a"), "section 'a': the section gave 4 of its 5 bytes");
  EXPECT_EQ(messageOf(4, std::string(32, 'l')), "section label '" + std::string(32, 'l') + "' is longer than 31 bytes");
  ContainerWriter writer;
  for (int i = 0; i < 4097; ++i)
    writer.addSection(SectionKind::Config, std::to_string(i), "");
  EXPECT_EQ(writer.write(folder.file("c.bin")).message(), "a container holds at most 4096 sections, not 4097");
}

} // namespace
} // namespace zero

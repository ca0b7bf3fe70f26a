//===- ContainerTests.cpp - Written, read, and damaged containers ---------===//
#include "test/Unit/Support/TinyPlan.h"
#include "zero/Container/Container.h"
#include <gtest/gtest.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>

namespace zero {
namespace {

std::string weightsOf(uint64_t bytes) {
  std::string weights(bytes, '\0');
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<char>(i * 31 + i / 251);
  return weights;
}

class ContainerFile : public testing::Test {
protected:
  ContainerFile() : path(folder.file("compiled.bin")) {}

  void write(uint64_t extraFrozen = 0) {
    test::TinyPlan tiny = test::makeTinyPlan(2);
    weights = weightsOf(2 * tiny.plan.rank_part_bytes);
    frozen = weightsOf(extraFrozen);
    ContainerWriter writer;
    writer.addSection(SectionKind::Plan, "", test::serialize(tiny.plan));
    writer.addSection(SectionKind::Weights, "", weights.size(), [&](const ContainerWriter::Sink &sink) {
      for (size_t i = 0; i < weights.size(); i += 100)
        sink(weights.data() + i, std::min<size_t>(100, weights.size() - i));
      return Status();
    });
    writer.addSection(SectionKind::Frozen, "", frozen);
    writer.addSection(SectionKind::KernelObject, "x86-64-v3", "three");
    writer.addSection(SectionKind::KernelObject, "x86-64-v4", "four");
    writer.addSection(SectionKind::Config, "", "{}");
    ASSERT_TRUE(writer.write(path).ok());
  }

  test::TemporaryFolder folder;
  std::string path, weights, frozen;
};

TEST_F(ContainerFile, HoldsWhatWasWritten) {
  write();
  auto container = Container::open(path);
  ASSERT_TRUE(container.ok()) << container.status().message();
  EXPECT_EQ(container->plan().world_size(), 2u);
  EXPECT_EQ(text(container->plan().model()), "tiny.onnx");
  EXPECT_EQ(container->sections().size(), 6u);
  EXPECT_EQ(*container->read(*container->find(SectionKind::Weights)), weights);
  EXPECT_EQ(*container->read(*container->find(SectionKind::KernelObject, "x86-64-v4")), "four");
  EXPECT_EQ(container->find(SectionKind::KernelObject, "riscv"), nullptr);
  for (const Container::Section &section : container->sections())
    EXPECT_EQ(section.offset % kSectionAlignment, 0u);
}

TEST_F(ContainerFile, ReadsAnyPartOfASection) {
  write(/*extraFrozen=*/3 * kChecksumBlock + 77);
  auto container = Container::open(path);
  ASSERT_TRUE(container.ok()) << container.status().message();
  const Container::Section &section = *container->find(SectionKind::Frozen);
  for (uint64_t begin : {uint64_t(0), kChecksumBlock - 1, kChecksumBlock, 3 * kChecksumBlock + 5})
    for (uint64_t size : {uint64_t(0), uint64_t(1), uint64_t(70), kChecksumBlock, 2 * kChecksumBlock + 3}) {
      std::string part(size, '\0');
      Status status = container->read(section, begin, part.data(), size);
      if (begin + size > frozen.size()) {
        EXPECT_EQ(status.code(), ErrorCode::BadInput);
        continue;
      }
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(part, frozen.substr(begin, size));
    }
}

TEST_F(ContainerFile, EqualFilesHaveEqualFingerprints) {
  write();
  uint64_t first = Container::open(path)->fingerprint();
  write();
  EXPECT_EQ(Container::open(path)->fingerprint(), first);
  write(/*extraFrozen=*/5);
  EXPECT_NE(Container::open(path)->fingerprint(), first);
}

/// Reads everything; a damaged file must fail somewhere, with the exit code of bad input.
Status readAll(const std::string &path) {
  ZERO_ASSIGN_OR_RETURN(Container container, Container::open(path));
  for (const Container::Section &section : container.sections())
    if (auto bytes = container.read(section); !bytes.ok())
      return bytes.status();
  return {};
}

TEST_F(ContainerFile, EveryFlippedBitIsFound) {
  write();
  std::string good = test::readFile(path);
  std::mt19937 random(1);
  for (int i = 0; i < 600; ++i) {
    std::string bad = good;
    // The header and table are few bytes of many: half of the flips go there.
    size_t at = random() % (i % 2 ? 600 : bad.size());
    bad[at] ^= static_cast<char>(1 << (random() % 8));
    test::writeFile(path, bad);
    Status status = readAll(path);
    ASSERT_FALSE(status.ok()) << "byte " << at;
    EXPECT_EQ(status.code(), ErrorCode::BadInput);
  }
}

TEST_F(ContainerFile, EveryTruncationIsFound) {
  write();
  std::string good = test::readFile(path);
  for (size_t size = 0; size < good.size(); size += size < 700 ? 1 : 97) {
    test::writeFile(path, good.substr(0, size));
    EXPECT_EQ(readAll(path).exitCode(), 3) << size;
  }
  test::writeFile(path, good + "x");
  EXPECT_EQ(readAll(path).exitCode(), 3);
}

TEST_F(ContainerFile, NeedsOnePlanAndNoSectionTwice) {
  auto messageOf = [&](std::initializer_list<SectionKind> kinds) {
    ContainerWriter writer;
    for (SectionKind kind : kinds)
      writer.addSection(kind, "", test::serialize(test::makeTinyPlan(1).plan));
    EXPECT_TRUE(writer.write(path).ok());
    return Container::open(path).status().message();
  };
  EXPECT_NE(messageOf({SectionKind::Config}).find("it has no plan"), std::string::npos);
  EXPECT_NE(messageOf({SectionKind::Plan, SectionKind::Plan}).find("two sections of kind 1 labelled ''"), std::string::npos);
  EXPECT_NE(messageOf({SectionKind::Plan}).find("holds a plan that cannot run: the weights of 1 ranks are 256 bytes"),
            std::string::npos);
}

TEST_F(ContainerFile, SaysWhatItIsNot) {
  test::writeFile(path, std::string(200, 'x'));
  EXPECT_NE(Container::open(path).status().message().find("is not a compiled program"), std::string::npos);
  EXPECT_NE(Container::open(folder.file("none")).status().message().find("cannot open"), std::string::npos);
  EXPECT_NE(Container::open(folder.file("")).status().message().find("is not a file"), std::string::npos);
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_NE(Container::open(folder.file("pipe")).status().message().find("is not a file"), std::string::npos);
  write();
  std::string bytes = test::readFile(path);
  bytes[8] = 99;
  test::writeFile(path, bytes);
  EXPECT_NE(Container::open(path).status().message().find("format version 99"), std::string::npos);
}

TEST_F(ContainerFile, WriterRefusesWrongSizesAndKeepsTheOldFile) {
  test::writeFile(path, "old");
  for (uint64_t claimed : {uint64_t(3), uint64_t(5)}) {
    ContainerWriter writer;
    writer.addSection(SectionKind::Config, "", claimed, [](const ContainerWriter::Sink &sink) {
      sink("four", 4);
      return Status();
    });
    EXPECT_EQ(writer.write(path).exitCode(), 1);
  }
  ContainerWriter writer;
  writer.addSection(SectionKind::Config, std::string(32, 'l'), "");
  EXPECT_EQ(writer.write(path).exitCode(), 1);
  EXPECT_EQ(test::readFile(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()), {}), 1);
  EXPECT_EQ(ContainerWriter().write("/nonexistent/compiled.bin").exitCode(), 3);
  // Devices stay devices; a full one is an error.
  EXPECT_TRUE(ContainerWriter().write("/dev/null").ok());
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
  EXPECT_EQ(ContainerWriter().write("/dev/full").message(), "cannot write '/dev/full': No space left on device");
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/full"));
}

} // namespace
} // namespace zero

//===- DumpTests.cpp - What a container without something says ------------===//
#include "test/Unit/Support/TinyPlan.h"
#include "zero/Container/Dump.h"
#include <cmath>
#include <gtest/gtest.h>

namespace zero {
namespace {

class DumpedFile : public testing::Test {
protected:
  /// A program of one rank whose weights are these, and then zero.
  Expected<Container> write(std::vector<float> values) {
    test::TinyPlan tiny = test::makeTinyPlan(1);
    values.resize(tiny.plan.rank_part_bytes / sizeof(float));
    ContainerWriter writer;
    writer.addSection(SectionKind::Plan, "", test::serialize(tiny.plan));
    writer.addSection(SectionKind::Weights, "", std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)));
    writer.addSection(SectionKind::Frozen, "", "");
    for (const char *variant : {"x86-64-v3", "x86-64-v4"})
      writer.addSection(SectionKind::KernelObject, variant, "none");
    EXPECT_TRUE(writer.write(folder.file("tiny.bin")).ok());
    return Container::open(folder.file("tiny.bin"));
  }
  test::TemporaryFolder folder;
};

TEST_F(DumpedFile, HoldsNoConfiguration) {
  auto container = write({});
  ASSERT_TRUE(container.ok()) << container.status().message();
  auto config = dumpConfig(*container);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.status().exitCode(), 3);
  EXPECT_NE(config.status().message().find("holds no configuration"), std::string::npos);
}

TEST_F(DumpedFile, CountsWhatIsNoNumber) {
  auto container = write({1.5f, std::nanf(""), -4.0f, std::nanf(""), 2.5f});
  ASSERT_TRUE(container.ok()) << container.status().message();
  auto text = dumpParameter(*container, "w.first", 0);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->find("values as compiled: min -4, max 2.5, mean 0, 2 NaN; first 1.5 nan -4 nan 2.5"), std::string::npos) << *text;
}

} // namespace
} // namespace zero

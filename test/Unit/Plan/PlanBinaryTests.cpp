//===- PlanBinaryTests.cpp - A plan as compiled.bin and back --------------===//
#include "SmallPlan.h"
#include "test/Unit/Support/TinyPlan.h"
#include "zero/Container/Container.h"
#include "zero/Target/PlanBinary.h"
#include <gtest/gtest.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;

namespace zero {
namespace {

class PlanBinary : public ::testing::Test {
protected:
  PlanBinary() : weights(100) {
    test::loadDialects(context);
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(i);
    test::writeFile(folder.file("m.onnx"), std::string(reinterpret_cast<const char *>(weights.data()), 400));
  }
  /// Parameter w: floats 4..99 of the file.
  std::string external(uint64_t checksum) const {
    return "#nn.external<\"m.onnx\", 16, 384, " + std::to_string(checksum) + ">";
  }
  uint64_t checksum() const { return XXH3_64bits(&weights[4], 384); }
  Status write(const std::string &w) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(test::smallPlan(w), &context);
    return writePlanBinary(*module, {{CpuVariant::X86_64_V3, "ELF3"}, {CpuVariant::X86_64_V4, "ELF4"}},
                           folder.file("").substr(0, folder.file("").size() - 1), folder.file("compiled.bin"),
                           "zero-compile m.onnx");
  }

  test::TemporaryFolder folder;
  std::vector<float> weights;
  MLIRContext context;
};

TEST_F(PlanBinary, RecordsMirrorTheOps) {
  ASSERT_EQ(write(external(checksum())).message(), std::string()) << "written";
  Expected<Container> container = Container::open(folder.file("compiled.bin"));
  ASSERT_TRUE(container.ok()) << container.status().message();
  const schema::Plan &plan = container->plan();
  EXPECT_EQ(text(plan.model()), "small");
  EXPECT_EQ(text(plan.command()), "zero-compile m.onnx");
  EXPECT_EQ(plan.world_size(), 2u);
  EXPECT_EQ(plan.micro_batch(), 2u);
  EXPECT_EQ(plan.accumulation_steps(), 3u);
  EXPECT_EQ(plan.zero_stage(), 2u);
  EXPECT_EQ(plan.sections()->size(), 3u);
  EXPECT_EQ(plan.kernels()->size(), 2u);
  EXPECT_TRUE(plan.kernels()->Get(0)->generated());
  EXPECT_EQ(plan.kernels()->Get(0)->items(), 4u);
  EXPECT_FALSE(plan.kernels()->Get(1)->generated());
  EXPECT_EQ(plan.inputs()->Get(0)->limit(), 7);
  EXPECT_EQ(plan.inputs()->Get(0)->ignore_index(), -100);
  const schema::Section &first = *plan.sections()->Get(0);
  EXPECT_EQ(first.events(), 1u);
  EXPECT_EQ(first.commands()->Get(0)->record(), 0);
  EXPECT_EQ(first.commands()->Get(1)->waits()->Get(0), 0u);
  EXPECT_EQ(first.commands()->Get(1)->action_as_Collective()->wire_bytes(), 512u);
  EXPECT_EQ(first.commands()->Get(2)->action_as_Dispatch()->reals()->Get(0), 0.5);
  EXPECT_FALSE(first.commands()->Get(1)->action_as_Collective()->outlasts());
  ASSERT_EQ(first.commands()->Get(2)->carried()->size(), 1u);
  EXPECT_EQ(first.commands()->Get(2)->carried()->Get(0), 0u);
  EXPECT_TRUE(plan.sections()->Get(2)->commands()->Get(2)->action_as_Collective()->outlasts());
  EXPECT_EQ(plan.states()->Get(1)->bucket(), 0);
  EXPECT_EQ(plan.states()->Get(3)->bucket(), -1);
  ASSERT_TRUE(container->find(SectionKind::KernelObject, "x86-64-v4"));
  EXPECT_EQ(*container->read(*container->find(SectionKind::KernelObject, "x86-64-v4")), "ELF4");
  EXPECT_NE(
      container->read(*container->find(SectionKind::Config))->find("\"gradient_accumulation_steps\": 3"),
      std::string::npos);
}

TEST_F(PlanBinary, WeightsAreRankMajorWithZeroPadding) {
  ASSERT_TRUE(write(external(checksum())).ok());
  Expected<Container> container = Container::open(folder.file("compiled.bin"));
  ASSERT_TRUE(container.ok());
  std::string bytes = *container->read(*container->find(SectionKind::Weights));
  ASSERT_EQ(bytes.size(), 1024u); // two parts of 128 floats: w and its padding; v and the bucket's padding
  const float *values = reinterpret_cast<const float *>(bytes.data());
  EXPECT_EQ(values[0], 4.0f);
  EXPECT_EQ(values[95], 99.0f);
  EXPECT_EQ(values[96], 0.0f);
  EXPECT_EQ(values[127], 0.0f);
  EXPECT_EQ(values[128], 2.0f);
  EXPECT_EQ(values[129], 2.0f);
  EXPECT_EQ(values[130], 0.0f);
  std::string frozen = *container->read(*container->find(SectionKind::Frozen));
  EXPECT_EQ(frozen.substr(0, 3), std::string("\1\0\1", 3));
  uint64_t constant = container->plan().states()->Get(4)->frozen_offset();
  EXPECT_EQ(constant, 64u);
  EXPECT_EQ(*reinterpret_cast<const int64_t *>(frozen.data() + constant + 8), 6);
}

TEST_F(PlanBinary, AChangedFileIsFoundOut) {
  Status status = write(external(checksum() + 1));
  EXPECT_EQ(status.exitCode(), 3);
  EXPECT_NE(status.message().find("m.onnx' has changed since it was imported: 'w' has checksum"),
            std::string::npos)
      << status.message();
  EXPECT_FALSE(std::filesystem::exists(folder.file("compiled.bin")));
}

TEST_F(PlanBinary, AShortOrMissingFileIsNamed) {
  std::filesystem::resize_file(folder.file("m.onnx"), 200);
  Status status = write(external(checksum()));
  EXPECT_EQ(status.exitCode(), 3);
  EXPECT_NE(status.message().find("m.onnx' ends at byte 200, 'w' at byte 400"), std::string::npos)
      << status.message();
  std::filesystem::remove(folder.file("m.onnx"));
  status = write(external(checksum()));
  EXPECT_NE(status.message().find("m.onnx', which holds 'w': No such file"), std::string::npos)
      << status.message();
}

TEST_F(PlanBinary, DataThatDoNotFitAreNamed) {
  Status status = write("#nn.external<\"m.onnx\", 0, 100, 1>");
  EXPECT_EQ(status.exitCode(), 3);
  EXPECT_EQ(status.message(), "'w' has 384 bytes, its data have 100");
  status = write("\"none\"");
  EXPECT_EQ(status.message(), "the data of 'w' are neither in a file nor in the module");
}

/// The plan with `from` replaced by `to`.
std::string changed(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(PlanBinary, RecordsThatContradictEachOtherAreNamed) {
  const std::string plan = test::smallPlan(external(checksum()));
  auto messageOf = [&](const std::string &from, const std::string &to) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(changed(plan, from, to), &context);
    Status status = writePlanBinary(*module, {}, ".", folder.file("compiled.bin"));
    EXPECT_EQ(status.exitCode(), 1);
    return status.message();
  };
  EXPECT_EQ(messageOf(", dense<2.0> : tensor<2xf32>]}", "]}"), "bucket 'b0' has 2 parameters and data of 1");
  EXPECT_EQ(messageOf(" {data = dense<[5, 6]> : tensor<2xi64>}", ""), "frozen tensor 'constant.0' has no data");
  EXPECT_EQ(messageOf("\"momentum\" \"b0\"", "\"momentum\" \"b1\""),
            "state momentum is of bucket 'b1', which is not there");
  EXPECT_EQ(messageOf("offset = 3840 : i64, ", ""), "buffer 'a' has no offset; plan-assign-offsets gives it one");
}

TEST_F(PlanBinary, AFolderIsNoFile) {
  std::filesystem::remove(folder.file("m.onnx"));
  std::filesystem::create_directory(folder.file("m.onnx"));
  EXPECT_NE(write(external(checksum())).message().find("cannot read 'w' from '"), std::string::npos);
}

} // namespace
} // namespace zero

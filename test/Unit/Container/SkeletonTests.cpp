//===- SkeletonTests.cpp - Models in containers, right and damaged --------===//
#include "lib/Container/Verifier.h"
#include "lib/Container/skeleton_generated.h"
#include "test/Unit/Support/TinyPlan.h"
#include "zero/Container/ModelSkeleton.h"
#include <functional>
#include <gtest/gtest.h>

namespace zero {
namespace {

/// message 7 { bytes, message 5 { bytes, data: parameter } }, bytes
ModelSkeleton tinyModel(uint64_t parameterBytes) {
  ModelSkeleton model;
  auto add = [&](ModelPiece::Kind kind, uint64_t offset, uint64_t size) -> ModelPiece & {
    ModelPiece &piece = model.pieces.emplace_back();
    piece.kind = kind;
    piece.offset = offset;
    piece.size = size;
    return piece;
  };
  ModelPiece &graph = add(ModelPiece::Kind::Message, 0, 0);
  graph.field = 7;
  graph.pieces = 4;
  add(ModelPiece::Kind::Bytes, 0, 4);
  ModelPiece &tensor = add(ModelPiece::Kind::Message, 0, 0);
  tensor.field = 5;
  tensor.pieces = 2;
  add(ModelPiece::Kind::Bytes, 4, 6);
  ModelPiece &data = add(ModelPiece::Kind::Data, 0, parameterBytes);
  data.source = ModelPiece::Source::Parameter;
  data.name = "w.first";
  add(ModelPiece::Kind::Bytes, 10, 2);
  model.bytes = {"0123456789", "ab"};
  return model;
}

class SkeletonFile : public testing::Test {
protected:
  Expected<Container> write(const std::function<void(ModelSkeleton &)> &damage) {
    test::TinyPlan tiny = test::makeTinyPlan(2);
    ModelSkeleton model = tinyModel(4 * tiny.elements / 2);
    damage(model);
    ContainerWriter writer;
    writer.addSection(SectionKind::Plan, "", test::serialize(tiny.plan));
    writer.addSection(SectionKind::Weights, "", std::string(2 * tiny.plan.rank_part_bytes, '\0'));
    writer.addSection(SectionKind::Frozen, "", std::string(100, '\0'));
    model.addTo(writer);
    EXPECT_TRUE(writer.write(folder.file("m.bin")).ok());
    return Container::open(folder.file("m.bin"));
  }
  test::TemporaryFolder folder;
};

TEST_F(SkeletonFile, HoldsTheModel) {
  auto container = write([](ModelSkeleton &) {});
  ASSERT_TRUE(container.ok()) << container.status().message();
  ASSERT_NE(container->skeleton(), nullptr);
  EXPECT_EQ(container->skeleton()->pieces()->size(), 6u);
  EXPECT_EQ(*container->read(*container->find(SectionKind::Model, "bytes")), "0123456789ab");
  auto without = write([](ModelSkeleton &model) { model = {}, model.missing = "it was not there"; });
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_EQ(text(without->skeleton()->missing()), "it was not there");
}

TEST_F(SkeletonFile, DamageIsNamed) {
  struct Fault {
    const char *message;
    std::function<void(ModelSkeleton &)> damage;
  };
  const Fault faults[] = {
      {"piece 1 has 40 bytes at 0 of the model's bytes with 12", [](ModelSkeleton &m) { m.pieces[1].size = 40; }},
      {"piece 1 has 4 bytes at 18446744073709551615 of the model's bytes",
       [](ModelSkeleton &m) { m.pieces[1].offset = ~uint64_t(0); }},
      {"piece 2 ends at piece 6, what holds it at 5", [](ModelSkeleton &m) { m.pieces[2].pieces = 3; }},
      {"piece 0 ends at piece 4294967296, what holds it at 6", [](ModelSkeleton &m) { m.pieces[0].pieces = ~0u; }},
      {"piece 0 has the field number 0", [](ModelSkeleton &m) { m.pieces[0].field = 0; }},
      {"piece 0 has the field number 536870912", [](ModelSkeleton &m) { m.pieces[0].field = 1u << 29; }},
      {"piece 4 is parameter 'v', which the plan does not have", [](ModelSkeleton &m) { m.pieces[4].name = "v"; }},
      {"piece 4 is parameter 'w.first' with 4 bytes of f32, in the plan 256 bytes of f32",
       [](ModelSkeleton &m) { m.pieces[4].size = 4; }},
      {"piece 4 is parameter 'w.first' with 256 bytes of f16", [](ModelSkeleton &m) { m.pieces[4].element = FloatElement::F16; }},
      {"piece 4 has 101 bytes at 0 of the frozen section with 100",
       [](ModelSkeleton &m) { m.pieces[4].source = ModelPiece::Source::Frozen, m.pieces[4].size = 101; }},
      {"piece 4 has data of an unknown source or type",
       [](ModelSkeleton &m) { m.pieces[4].source = static_cast<ModelPiece::Source>(9); }},
      {"piece 0 is the data of no tensor", [](ModelSkeleton &m) { m.pieces = {m.pieces[4]}; }},
      {"piece 5 has an unknown kind", [](ModelSkeleton &m) { m.pieces[5].kind = static_cast<ModelPiece::Kind>(3); }},
      {"more than 512 messages deep",
       [](ModelSkeleton &m) {
         m.pieces.clear();
         for (uint32_t i = 0; i < 600; ++i) {
           m.pieces.emplace_back().kind = ModelPiece::Kind::Message;
           m.pieces.back().field = 1;
           m.pieces.back().pieces = 599 - i;
         }
       }},
  };
  for (const Fault &fault : faults) {
    auto container = write(fault.damage);
    ASSERT_FALSE(container.ok()) << fault.message;
    EXPECT_EQ(container.status().code(), ErrorCode::BadInput);
    EXPECT_NE(container.status().message().find(fault.message), std::string::npos) << container.status().message();
  }
}

TEST(Skeleton, MalformedRecordsAreRefused) {
  test::TinyPlan tiny = test::makeTinyPlan(1);
  std::string plan = test::serialize(tiny.plan);
  Status status = verifySkeleton("not flatbuffers", *schema::GetPlan(plan.data()), {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "its records are malformed");
}

} // namespace
} // namespace zero

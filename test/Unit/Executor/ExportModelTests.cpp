//===- ExportModelTests.cpp - Models with their tensors inside and outside ---===//
#include "lib/Runtime/Executor/Export.h"
#include "test/Unit/Support/TinyProgram.h"
#include <gtest/gtest.h>

namespace zero {
namespace {

/// A message 7 with a name, and in it a message 5 (a tensor's name, then its data), for a parameter and for bytes of the model.
ModelSkeleton twoTensors(uint64_t parameterBytes, const std::string &table) {
  ModelSkeleton model;
  auto add = [&](ModelPiece::Kind kind, uint64_t offset, uint64_t size) -> ModelPiece & {
    ModelPiece &piece = model.pieces.emplace_back();
    piece.kind = kind;
    piece.offset = offset;
    piece.size = size;
    return piece;
  };
  auto message = [&](uint32_t field, uint32_t pieces) {
    ModelPiece &piece = add(ModelPiece::Kind::Message, 0, 0);
    piece.field = field;
    piece.pieces = pieces;
  };
  message(7, 6);
  message(5, 2);
  add(ModelPiece::Kind::Bytes, 0, 3);
  ModelPiece &data = add(ModelPiece::Kind::Data, 0, parameterBytes);
  data.source = ModelPiece::Source::Parameter;
  data.name = "w.first";
  message(5, 2);
  add(ModelPiece::Kind::Bytes, 3, 3);
  add(ModelPiece::Kind::Data, 6, table.size());
  model.bytes = {std::string_view("\x42\x01w\x42\x01t", 6), table};
  return model;
}

/// Elements of the parameter `w.first` of the tiny program: half of all.
uint64_t weightsOf(unsigned ranks) { return uint64_t(32) * ranks; }

/// Runs no step and exports; the files' bytes.
struct Exported {
  std::string model, data;
};

Exported exportTiny(unsigned ranks, const std::string &table, uint64_t inlineLimit) {
  test::TemporaryFolder folder;
  std::string program = folder.file("tiny.bin"), path = folder.file("tiny.onnx");
  ModelSkeleton skeleton = twoTensors(4 * weightsOf(ranks), table);
  EXPECT_TRUE(test::writeTinyProgram(program, ranks, ZERO_TINY_KERNELS, {}, &skeleton).ok());
  JobOptions options;
  options.report = [](const Status &status) { ADD_FAILURE() << status.message(); };
  runLoopback(ranks, options, [&](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(Container container, Container::open(program));
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(container, bootstrap, {}));
    return exportModel(path, container, *executor, bootstrap, inlineLimit);
  });
  Exported result{test::readFile(path), test::readFile(path + ".data")};
  return result;
}

std::string weights(unsigned ranks) {
  std::string bytes;
  for (uint64_t i = 0; i < weightsOf(ranks); ++i) {
    float value = test::tinyWeight(i);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string field(uint32_t number, const std::string &content) {
  return varint(uint64_t(number) << 3 | 2) + varint(content.size()) + content;
}
std::string entry(const std::string &key, const std::string &value) { return field(13, field(1, key) + field(2, value)); }
std::string outside(uint64_t offset, uint64_t size) {
  return entry("location", "tiny.onnx.data") + entry("offset", std::to_string(offset)) + entry("length", std::to_string(size)) +
         std::string("\x70\x01");
}

TEST(ExportModel, TensorsAreInTheModel) {
  std::string table(5000, 't');
  for (unsigned ranks : {1u, 2u, 3u}) {
    Exported out = exportTiny(ranks, table, kLargestModel);
    EXPECT_EQ(out.model, field(7, field(5, std::string("\x42\x01w") + field(9, weights(ranks))) +
                                      field(5, std::string("\x42\x01t") + field(9, table))));
    EXPECT_EQ(out.data, "");
  }
}

TEST(ExportModel, TensorsOfALargeModelAreBesideIt) {
  std::string table(5000, 't');
  constexpr unsigned kRanks = 8; // 1024 bytes of parameter
  Exported out = exportTiny(kRanks, table, 6000);
  EXPECT_EQ(out.model, field(7, field(5, std::string("\x42\x01w") + outside(0, 1024)) +
                                    field(5, std::string("\x42\x01t") + outside(4096, 5000))));
  EXPECT_EQ(out.data, weights(kRanks) + std::string(3072, '\0') + table);
}

TEST(ExportModel, SmallTensorsOfALargeModelStayInIt) {
  std::string table(1023, 't');
  constexpr unsigned kRanks = 8;
  Exported out = exportTiny(kRanks, table, 1);
  EXPECT_EQ(out.model, field(7, field(5, std::string("\x42\x01w") + outside(0, 1024)) +
                                    field(5, std::string("\x42\x01t") + field(9, table))));
  EXPECT_EQ(out.data, weights(kRanks));
}

} // namespace
} // namespace zero

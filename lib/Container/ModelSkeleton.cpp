//===- ModelSkeleton.cpp - The model without its weights, to be written ---===//
#include "zero/Container/ModelSkeleton.h"
#include "lib/Container/skeleton_generated.h"

namespace zero {

static_assert(static_cast<int>(FloatElement::F32) == static_cast<int>(schema::ElementType::f32) &&
              static_cast<int>(FloatElement::F64) == static_cast<int>(schema::ElementType::f64) &&
              static_cast<int>(FloatElement::F16) == static_cast<int>(schema::ElementType::f16) &&
              static_cast<int>(FloatElement::BF16) == static_cast<int>(schema::ElementType::bf16));
static_assert(static_cast<int>(ModelPiece::Kind::Data) == static_cast<int>(schema::PieceKind::data) &&
              static_cast<int>(ModelPiece::Source::Parameter) == static_cast<int>(schema::DataSource::parameter));

void ModelSkeleton::addTo(ContainerWriter &writer) const {
  schema::ModelSkeletonT records;
  records.missing = missing;
  for (const ModelPiece &piece : pieces) {
    auto record = std::make_unique<schema::PieceT>();
    record->kind = static_cast<schema::PieceKind>(piece.kind);
    record->source = static_cast<schema::DataSource>(piece.source);
    record->field = piece.field;
    record->pieces = piece.pieces;
    record->offset = piece.offset;
    record->size = piece.size;
    record->element = static_cast<schema::ElementType>(piece.element);
    record->name = piece.name;
    records.pieces.push_back(std::move(record));
  }
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModelSkeletonBuffer(builder, schema::ModelSkeleton::Pack(builder, &records));
  writer.addSection(SectionKind::Model, "skeleton",
                    std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()));
  uint64_t size = 0;
  for (std::string_view part : bytes)
    size += part.size();
  writer.addSection(SectionKind::Model, "bytes", size, [this](const ContainerWriter::Sink &sink) {
    for (std::string_view part : bytes)
      sink(part.data(), part.size());
    return Status();
  });
}

} // namespace zero

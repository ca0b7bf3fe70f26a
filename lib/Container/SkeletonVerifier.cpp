//===- SkeletonVerifier.cpp - Checks the model's skeleton once ------------===//
#include "lib/Container/Verifier.h"
#include "lib/Container/skeleton_generated.h"
#include "zero/Container/PlanView.h"
#include <map>
#include <string>
#include <vector>

namespace zero {
namespace {

/// Deeper than any graph inside a graph that a reader takes.
constexpr size_t kDeepest = 512;
/// Of protobuf.
constexpr uint32_t kLargestField = (1u << 29) - 1;

std::string number(uint64_t value) { return std::to_string(value); }

struct Parameter {
  schema::ElementType element;
  uint64_t bytes;
};

std::map<std::string_view, Parameter> parametersOf(const schema::Plan &plan) {
  std::map<std::string_view, Parameter> parameters;
  for (const schema::Bucket *bucket : records(plan.buckets()))
    for (const schema::Slot *slot : records(bucket->slots())) {
      uint64_t bytes = elementBytes(weightsElement(*bucket)); // the plan's verifier bounds the product
      for (int64_t dimension : records(slot->shape()))
        bytes *= static_cast<uint64_t>(dimension);
      parameters[text(slot->name())] = {weightsElement(*bucket), bytes};
    }
  return parameters;
}

Status checkRange(const schema::Piece &piece, uint64_t sectionSize, const std::string &what, const std::string &where) {
  if (piece.offset() > sectionSize || piece.size() > sectionSize - piece.offset())
    return Status::badInput(where + " has " + number(piece.size()) + " bytes at " + number(piece.offset()) + " of the " + what +
                            " with " + number(sectionSize));
  return {};
}

Status checkData(const schema::Piece &piece, const std::map<std::string_view, Parameter> &parameters,
                 const ContainerSizes &sizes, const std::string &where) {
  if (piece.source() > schema::DataSource::MAX || piece.element() > schema::ElementType::MAX)
    return Status::badInput(where + " has data of an unknown source or type");
  if (piece.source() == schema::DataSource::bytes)
    return checkRange(piece, sizes.modelBytes, "model's bytes", where);
  if (piece.source() == schema::DataSource::frozen)
    return checkRange(piece, sizes.frozen, "frozen section", where);
  std::string name(text(piece.name()));
  auto found = parameters.find(name);
  if (found == parameters.end())
    return Status::badInput(where + " is parameter '" + name + "', which the plan does not have");
  if (found->second.element != piece.element() || found->second.bytes != piece.size())
    return Status::badInput(where + " is parameter '" + name + "' with " + number(piece.size()) + " bytes of " +
                            schema::EnumNameElementType(piece.element()) + ", in the plan " + number(found->second.bytes) +
                            " bytes of " + schema::EnumNameElementType(found->second.element));
  return {};
}

} // namespace

Status verifySkeleton(std::string_view bytes, const schema::Plan &plan, const ContainerSizes &sizes) {
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return Status::badInput("its records have " + number(bytes.size()) + " bytes, at most " +
                            number(FLATBUFFERS_MAX_BUFFER_SIZE) + " are possible");
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), /*max_depth=*/64,
                                 /*max_tables=*/static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1));
  if (!schema::VerifyModelSkeletonBuffer(verifier))
    return Status::badInput("its records are malformed");
  const schema::ModelSkeleton &skeleton = *schema::GetModelSkeleton(bytes.data());
  auto pieces = records(skeleton.pieces());
  std::map<std::string_view, Parameter> parameters = parametersOf(plan);
  std::vector<uint64_t> ends; // of the open messages
  for (uint32_t i = 0; i < pieces.size(); ++i) {
    while (!ends.empty() && ends.back() == i)
      ends.pop_back();
    const schema::Piece &piece = *pieces[i];
    std::string where = "piece " + number(i);
    switch (piece.kind()) {
    case schema::PieceKind::bytes:
      ZERO_RETURN_IF_ERROR(checkRange(piece, sizes.modelBytes, "model's bytes", where));
      break;
    case schema::PieceKind::message: {
      uint64_t end = uint64_t(i) + 1 + piece.pieces(), outer = ends.empty() ? pieces.size() : ends.back();
      if (end > outer)
        return Status::badInput(where + " ends at piece " + number(end) + ", what holds it at " + number(outer));
      if (piece.field() == 0 || piece.field() > kLargestField)
        return Status::badInput(where + " has the field number " + number(piece.field()));
      if (ends.size() >= kDeepest)
        return Status::badInput(where + " lies more than " + number(kDeepest) + " messages deep");
      ends.push_back(end);
      break;
    }
    case schema::PieceKind::data:
      if (ends.empty())
        return Status::badInput(where + " is the data of no tensor");
      ZERO_RETURN_IF_ERROR(checkData(piece, parameters, sizes, where));
      break;
    default:
      return Status::badInput(where + " has an unknown kind");
    }
  }
  return {};
}

} // namespace zero

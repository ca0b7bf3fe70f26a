//===- ExportSafetensors.cpp - Trained parameters by name -----------------===//
//
// safetensors: the size of the header (8 bytes), the header (JSON: name -> type, shape, range of bytes), the bytes.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Executor/Export.h"
#include "lib/Runtime/Executor/GatherParameters.h"
#include "lib/Runtime/Executor/JsonText.h"
#include "zero/Container/PlanView.h"

namespace zero {
namespace {

const char *safetensorsType(schema::ElementType type) {
  switch (type) {
  case schema::ElementType::f32:
    return "F32";
  case schema::ElementType::f64:
    return "F64";
  case schema::ElementType::f16:
    return "F16";
  case schema::ElementType::bf16:
    return "BF16";
  case schema::ElementType::i64:
    return "I64";
  case schema::ElementType::i32:
    return "I32";
  case schema::ElementType::i16:
    return "I16";
  case schema::ElementType::i8:
    return "I8";
  case schema::ElementType::u8:
    return "U8";
  case schema::ElementType::i1:
    return "BOOL";
  case schema::ElementType::u16:
    return "U16";
  case schema::ElementType::u32:
    return "U32";
  case schema::ElementType::u64:
    return "U64";
  }
  return "";
}

/// The places of all buckets' parameters, in the order of the plan; makes the header on the way.
ParameterPlaces placeParameters(const schema::Plan &plan, std::string &header) {
  ParameterPlaces places;
  uint64_t end = 0;
  std::string entries;
  for (const schema::Bucket *bucket : records(plan.buckets())) {
    uint64_t width = elementBytes(weightsElement(*bucket));
    std::vector<ParameterPlace> inBucket;
    for (const schema::Slot *slot : records(bucket->slots())) {
      uint64_t elements = 1;
      std::string shape;
      for (int64_t dimension : records(slot->shape())) {
        elements *= static_cast<uint64_t>(dimension);
        shape += (shape.empty() ? "" : ",") + std::to_string(dimension);
      }
      inBucket.push_back({slot->offset() * width, elements * width, nullptr, end});
      entries += (entries.empty() ? "" : ",") + jsonString(text(slot->name())) + R"(:{"dtype":")" +
                 safetensorsType(weightsElement(*bucket)) + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
                 std::to_string(end) + "," + std::to_string(end + elements * width) + "]}";
      end += elements * width;
    }
    places.push_back(std::move(inBucket));
  }
  std::string json = "{" + entries + "}";
  json.append((8 - json.size() % 8) % 8, ' '); // the bytes start aligned
  uint64_t size = json.size();
  header.assign(reinterpret_cast<const char *>(&size), sizeof size);
  header += json;
  for (auto &inBucket : places)
    for (ParameterPlace &place : inBucket)
      place.fileBegin += header.size();
  return places;
}

} // namespace

Status exportSafetensors(const std::string &path, const Container &container, const Executor &executor, Bootstrap &bootstrap) {
  const schema::Plan &plan = container.plan();
  ParameterPlaces places;
  std::unique_ptr<OutputFile> file;
  Status status;
  if (bootstrap.rank() == 0) {
    std::string header;
    places = placeParameters(plan, header);
    auto created = OutputFile::create(path);
    status = created.status();
    if (created.ok()) {
      file = std::move(*created);
      status = file->writeAt(0, header.data(), header.size());
    }
    for (auto &inBucket : places)
      for (ParameterPlace &place : inBucket)
        place.file = file.get();
  }
  ZERO_RETURN_IF_ERROR(bootstrap.agree(status));
  ZERO_RETURN_IF_ERROR(
      gatherParameters(places, executor, bootstrap, records(plan.buckets()).size(), status));
  if (file && status.ok())
    status = file->commit();
  return bootstrap.agree(status);
}

} // namespace zero

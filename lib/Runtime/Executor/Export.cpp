//===- Export.cpp - Writes trained parameters -----------------------------===//
//
// safetensors: the size of the header (8 bytes), the header (JSON: name -> type, shape, range of bytes), the bytes.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Executor/Export.h"
#include "lib/Runtime/Executor/JsonText.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/Base/OutputFile.h"
#include <algorithm>

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

/// Where a parameter is in its bucket and where it goes in the file; all in bytes.
struct Placement {
  uint64_t bucketBegin, size, fileBegin;
};

/// The places of all buckets' parameters, in the order of the plan; makes the header on the way.
std::vector<std::vector<Placement>> placeParameters(const schema::Plan &plan, std::string &header) {
  std::vector<std::vector<Placement>> places;
  uint64_t end = 0;
  std::string entries;
  for (const schema::Bucket *bucket : records(plan.buckets())) {
    uint64_t width = elementBytes(bucket->element());
    std::vector<Placement> inBucket;
    for (const schema::Slot *slot : records(bucket->slots())) {
      uint64_t elements = 1;
      std::string shape;
      for (int64_t dimension : records(slot->shape())) {
        elements *= static_cast<uint64_t>(dimension);
        shape += (shape.empty() ? "" : ",") + std::to_string(dimension);
      }
      inBucket.push_back({slot->offset() * width, elements * width, end});
      entries += (entries.empty() ? "" : ",") + jsonString(text(slot->name())) + R"(:{"dtype":")" +
                 safetensorsType(bucket->element()) + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
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
    for (Placement &place : inBucket)
      place.fileBegin += header.size();
  return places;
}

/// Writes bytes [begin, begin + size) of a bucket to where its parameters lie in the file.
Status writeRange(OutputFile &file, const std::vector<Placement> &places, uint64_t begin, const char *data, uint64_t size) {
  for (const Placement &place : places) {
    uint64_t from = std::max(begin, place.bucketBegin), to = std::min(begin + size, place.bucketBegin + place.size);
    if (from < to)
      ZERO_RETURN_IF_ERROR(file.writeAt(place.fileBegin + (from - place.bucketBegin), data + (from - begin), to - from));
  }
  return {};
}

} // namespace

Status exportParameters(const std::string &path, const Container &container, const Executor &executor, Bootstrap &bootstrap) {
  constexpr uint64_t kPiece = 4 << 20;
  const schema::Plan &plan = container.plan();
  std::string header;
  std::vector<std::vector<Placement>> places = placeParameters(plan, header);
  std::unique_ptr<OutputFile> file;
  Status status;
  if (bootstrap.rank() == 0) {
    auto created = OutputFile::create(path);
    status = created.status();
    if (created.ok()) {
      file = std::move(*created);
      status = file->writeAt(0, header.data(), header.size());
    }
  }
  ZERO_RETURN_IF_ERROR(bootstrap.agree(status));

  for (size_t bucket = 0; bucket < places.size(); ++bucket) {
    Executor::Parameters mine = executor.parameters(bucket);
    const char *data = reinterpret_cast<const char *>(mine.data);
    if (!mine.sharded) {
      if (file && status.ok())
        status = writeRange(*file, places[bucket], 0, data, mine.bytes);
      continue;
    }
    for (uint64_t offset = 0; offset < mine.bytes; offset += kPiece) {
      uint64_t size = std::min(kPiece, mine.bytes - offset);
      ZERO_ASSIGN_OR_RETURN(std::vector<std::string> pieces, bootstrap.allGather(std::string(data + offset, size)));
      for (unsigned rank = 0; rank < pieces.size() && file && status.ok(); ++rank)
        status = writeRange(*file, places[bucket], rank * mine.bytes + offset, pieces[rank].data(), size);
    }
  }
  if (file && status.ok())
    status = file->commit();
  return bootstrap.agree(status);
}

} // namespace zero

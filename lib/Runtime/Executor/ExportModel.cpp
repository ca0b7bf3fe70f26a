//===- ExportModel.cpp - The compiled model with its trained weights ------===//
//
// The container's skeleton is the model's protobuf message as pieces: bytes, messages around further pieces, and the data of
// tensors. Sizes are known from the pieces alone, so every byte has its place before the first is written, and the
// parameters go straight from the ranks' pieces to theirs.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Executor/Export.h"
#include "lib/Runtime/Executor/GatherParameters.h"
#include "lib/Container/skeleton_generated.h"
#include "zero/Container/PlanView.h"
#include <algorithm>
#include <map>

namespace zero {
namespace {

// Fields of onnx.TensorProto and onnx.StringStringEntryProto.
constexpr uint32_t kRawData = 9, kExternalData = 13, kDataLocation = 14, kKey = 1, kValue = 2;
constexpr char kExternal = 1;
/// Tensors below this many bytes stay in the model, as `onnx.save` leaves them.
constexpr uint64_t kLeastExternal = 1024;
/// Tensors of the data file start at whole pages, so that they can be mapped.
constexpr uint64_t kPage = 4096;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

/// The tag of a length-delimited field, and the length.
std::string delimited(uint32_t field, uint64_t size) { return varint(uint64_t(field) << 3 | 2) + varint(size); }

std::string entry(const std::string &key, const std::string &value) {
  std::string content = delimited(kKey, key.size()) + key + delimited(kValue, value.size()) + value;
  return delimited(kExternalData, content.size()) + content;
}

/// Where the pieces of a model go; knows every size before anything is written.
class ModelLayout {
public:
  ModelLayout(const Container &container, const std::string &dataFile, uint64_t inlineLimit)
      : pieces(container.skeleton()->pieces()), dataFile(dataFile) {
    measure();
    if (total >= inlineLimit) {
      external = true;
      measure();
    }
  }

  bool isExternal() const { return external; }

  /// Writes all but the parameters, whose places it notes.
  Status write(const Container &container, OutputFile &model, OutputFile *data, ParameterPlaces &places) {
    places.assign(records(container.plan().buckets()).size(), {});
    indexParameters(container.plan());
    uint64_t position = 0;
    for (uint32_t i = 0; i < pieces.size(); ++i) {
      const schema::Piece &piece = *pieces[i];
      switch (piece.kind()) {
      case schema::PieceKind::bytes:
        ZERO_RETURN_IF_ERROR(copy(container, section(container, schema::DataSource::bytes), piece, model, position));
        position += piece.size();
        break;
      case schema::PieceKind::message:
        ZERO_RETURN_IF_ERROR(put(delimited(piece.field(), sizes[i]), model, position));
        break;
      case schema::PieceKind::data:
        if (isOutside(piece)) {
          ZERO_RETURN_IF_ERROR(put(reference(i), model, position));
          ZERO_RETURN_IF_ERROR(putData(container, piece, *data, dataOffsets[i], places));
        } else {
          ZERO_RETURN_IF_ERROR(put(delimited(kRawData, piece.size()), model, position));
          ZERO_RETURN_IF_ERROR(putData(container, piece, model, position, places));
          position += piece.size();
        }
      }
    }
    return {};
  }

private:
  struct Home {
    size_t bucket;
    uint64_t begin;
  };

  bool isOutside(const schema::Piece &piece) const { return external && piece.size() >= kLeastExternal; }

  /// The fields of a tensor whose data lie in the file beside the model.
  std::string reference(uint32_t i) const {
    return entry("location", dataFile) + entry("offset", std::to_string(dataOffsets.at(i))) +
           entry("length", std::to_string(pieces[i]->size())) + varint(kDataLocation << 3) + std::string(1, kExternal);
  }

  /// Fills `sizes` (of messages: their content), `dataOffsets` and `total`.
  void measure() {
    sizes.assign(pieces.size(), 0);
    dataOffsets.clear();
    uint64_t dataEnd = 0;
    for (uint32_t i = 0; i < pieces.size(); ++i)
      if (pieces[i]->kind() == schema::PieceKind::data && isOutside(*pieces[i])) {
        dataOffsets[i] = (dataEnd + kPage - 1) / kPage * kPage;
        dataEnd = dataOffsets[i] + pieces[i]->size();
      }
    // Backwards: what a message holds is measured before the message.
    for (uint32_t i = pieces.size(); i-- > 0;)
      if (pieces[i]->kind() == schema::PieceKind::message)
        sizes[i] = extent(i + 1, i + 1 + pieces[i]->pieces());
    total = extent(0, pieces.size());
  }

  /// Bytes of the pieces [begin, end), whose messages are measured.
  uint64_t extent(uint32_t begin, uint32_t end) const {
    uint64_t bytes = 0;
    for (uint32_t i = begin; i < end; ++i) {
      const schema::Piece &piece = *pieces[i];
      if (piece.kind() == schema::PieceKind::message) {
        bytes += delimited(piece.field(), sizes[i]).size() + sizes[i];
        i += piece.pieces();
      } else if (piece.kind() == schema::PieceKind::bytes) {
        bytes += piece.size();
      } else {
        bytes += isOutside(piece) ? reference(i).size() : delimited(kRawData, piece.size()).size() + piece.size();
      }
    }
    return bytes;
  }

  void indexParameters(const schema::Plan &plan) {
    auto buckets = records(plan.buckets());
    for (uint32_t i = 0; i < buckets.size(); ++i)
      for (const schema::Slot *slot : records(buckets[i]->slots()))
        homes[text(slot->name())] = {i, slot->offset() * elementBytes(weightsElement(*buckets[i]))};
  }

  static const Container::Section *section(const Container &container, schema::DataSource source) {
    return source == schema::DataSource::frozen ? container.find(SectionKind::Frozen)
                                                : container.find(SectionKind::Model, "bytes");
  }

  Status putData(const Container &container, const schema::Piece &piece, OutputFile &file, uint64_t position,
                 ParameterPlaces &places) const {
    if (piece.source() != schema::DataSource::parameter)
      return copy(container, section(container, piece.source()), piece, file, position);
    const Home &home = homes.at(text(piece.name()));
    places[home.bucket].push_back({home.begin, piece.size(), &file, position});
    return {};
  }

  static Status put(const std::string &bytes, OutputFile &file, uint64_t &position) {
    Status status = file.writeAt(position, bytes.data(), bytes.size());
    position += bytes.size();
    return status;
  }

  /// Bytes of a section, block by block.
  static Status copy(const Container &container, const Container::Section *from, const schema::Piece &piece, OutputFile &file,
                     uint64_t position) {
    std::string block;
    for (uint64_t done = 0; done < piece.size(); done += block.size()) {
      block.resize(std::min<uint64_t>(4 * kChecksumBlock, piece.size() - done));
      ZERO_RETURN_IF_ERROR(container.read(*from, piece.offset() + done, block.data(), block.size()));
      ZERO_RETURN_IF_ERROR(file.writeAt(position + done, block.data(), block.size()));
    }
    return {};
  }

  RecordRange<flatbuffers::Offset<schema::Piece>> pieces;
  std::string dataFile;
  bool external = false;
  std::vector<uint64_t> sizes;
  std::map<uint32_t, uint64_t> dataOffsets;
  std::map<std::string_view, Home> homes;
  uint64_t total = 0;
};

} // namespace

Status exportModel(const std::string &path, const Container &container, const Executor &executor, Bootstrap &bootstrap,
                   uint64_t inlineLimit) {
  ParameterPlaces places;
  std::unique_ptr<OutputFile> model, data;
  auto begin = [&]() -> Status {
    std::string dataPath = path + ".data";
    ModelLayout layout(container, dataPath.substr(dataPath.find_last_of('/') + 1), inlineLimit);
    ZERO_ASSIGN_OR_RETURN(model, OutputFile::create(path));
    if (layout.isExternal()) {
      ZERO_ASSIGN_OR_RETURN(data, OutputFile::create(dataPath));
    }
    return layout.write(container, *model, data.get(), places);
  };
  ZERO_RETURN_IF_ERROR(bootstrap.agree(bootstrap.rank() == 0 ? begin() : Status()));
  Status status;
  ZERO_RETURN_IF_ERROR(
      gatherParameters(places, executor, bootstrap, records(container.plan().buckets()).size(), status));
  // The data first: a model that names them is never there without them.
  if (data && status.ok())
    status = data->commit();
  if (model && status.ok())
    status = model->commit();
  return bootstrap.agree(status);
}

} // namespace zero

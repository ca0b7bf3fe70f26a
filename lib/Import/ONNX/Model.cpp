//===- Model.cpp - Reads a .onnx file and finds its tensors' bytes in it --===//
//
// protobuf copies what it parses and forgets where it stood, but weights are to stay in the file. So a scan
// of the wire format walks the same fields in the same order as the parser and notes where each `raw_data`
// lies.
//
//===----------------------------------------------------------------------===//
#include "Model.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace zero::onnx_import;

namespace {

/// The newest ONNX file format that this importer knows.
constexpr int64_t kNewestIRVersion = 14;

struct Field {
  uint32_t number = 0;
  StringRef payload; // of a length-delimited field; empty for others
};

/// Walks the fields of one message.
class WireReader {
public:
  explicit WireReader(StringRef message) : rest(message) {}

  /// False at the end, and at malformed bytes (then `ok()` is false).
  bool next(Field &field) {
    if (rest.empty() || !valid)
      return false;
    uint64_t tag = varint();
    field = {static_cast<uint32_t>(tag >> 3), StringRef()};
    switch (tag & 7) {
    case 0:
      varint();
      break;
    case 1:
      take(8);
      break;
    case 2:
      field.payload = take(varint());
      break;
    case 5:
      take(4);
      break;
    default:
      valid = false; // groups are not part of ONNX
    }
    return valid;
  }
  bool ok() const { return valid; }

private:
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest.empty())
        break;
      uint8_t byte = rest.front();
      rest = rest.drop_front();
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    valid = false;
    return 0;
  }
  StringRef take(uint64_t count) {
    if (count > rest.size()) {
      valid = false;
      return StringRef();
    }
    StringRef taken = rest.take_front(count);
    rest = rest.drop_front(count);
    return taken;
  }
  StringRef rest;
  bool valid = true;
};

/// Calls `visit` with each occurrence of a length-delimited field, in order.
bool forEach(StringRef message, uint32_t number, llvm::function_ref<bool(StringRef)> visit) {
  WireReader reader(message);
  Field field;
  while (reader.next(field))
    if (field.number == number && !visit(field.payload))
      return false;
  return reader.ok();
}

/// Where the last `raw_data` of a tensor message lies.
bool findRawData(StringRef tensor, StringRef &raw) {
  return forEach(tensor, onnx::TensorProto::kRawDataFieldNumber,
                 [&](StringRef payload) { return raw = payload, true; });
}

} // namespace

std::unique_ptr<Model> Model::open(StringRef path, Location location) {
  auto fail = [&](const Twine &text) -> std::unique_ptr<Model> {
    emitError(location) << "cannot read '" << path << "': " << text;
    return nullptr;
  };
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError().message());
  auto model = std::make_unique<Model>();
  model->file = path.str();
  model->buffer = std::move(*buffer);
  StringRef bytes = model->buffer->getBuffer();
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return fail("it has " + Twine(bytes.size()) + " bytes and a model file holds at most " +
                Twine(std::numeric_limits<int>::max()) + "; save the weights as external data");
  model->model = std::make_unique<onnx::ModelProto>();
  if (!model->model->ParseFromArray(bytes.data(), bytes.size()) || !model->model->has_graph() ||
      !model->locate())
    return fail("it is not an ONNX model");
  if (model->model->ir_version() > kNewestIRVersion)
    return fail("its format is ONNX IR version " + Twine(model->model->ir_version()) +
                " and the newest supported is " + Twine(kNewestIRVersion));
  for (const onnx::OperatorSetIdProto &opset : model->model->opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      model->opsetVersion = std::max<int64_t>(model->opsetVersion, opset.version());
  return model;
}

bool Model::locate() {
  StringRef whole = buffer->getBuffer();
  bool consistent = true;
  auto note = [&](StringRef payload, const onnx::TensorProto &tensor) {
    StringRef raw;
    if (!findRawData(payload, raw) || (tensor.has_raw_data() && raw.size() != tensor.raw_data().size()))
      return false;
    if (tensor.has_raw_data())
      ranges[&tensor] = {raw.empty() ? 0 : raw.data() - whole.data(), raw.size()};
    return true;
  };
  int initializers = 0, nodes = 0;
  bool walked = forEach(whole, onnx::ModelProto::kGraphFieldNumber, [&](StringRef graphBytes) {
    consistent &= forEach(graphBytes, onnx::GraphProto::kInitializerFieldNumber, [&](StringRef payload) {
      return initializers < graph().initializer_size() && note(payload, graph().initializer(initializers++));
    });
    consistent &= forEach(graphBytes, onnx::GraphProto::kNodeFieldNumber, [&](StringRef nodeBytes) {
      if (nodes >= graph().node_size())
        return false;
      const onnx::NodeProto &node = graph().node(nodes++);
      int attributes = 0;
      return forEach(nodeBytes, onnx::NodeProto::kAttributeFieldNumber, [&](StringRef attributeBytes) {
        if (attributes >= node.attribute_size())
          return false;
        const onnx::AttributeProto &attribute = node.attribute(attributes++);
        return forEach(attributeBytes, onnx::AttributeProto::kTFieldNumber,
                       [&](StringRef payload) { return note(payload, attribute.t()); });
      });
    });
    return consistent;
  });
  return walked && consistent && initializers == graph().initializer_size() && nodes == graph().node_size();
}

zero::Expected<zero::MappedFile *> Model::map(const std::string &path) {
  std::unique_ptr<MappedFile> &file = mapped[path];
  if (!file) {
    Expected<std::unique_ptr<MappedFile>> opened = MappedFile::open(path);
    if (!opened.ok())
      return opened.status();
    file = std::move(*opened);
  }
  return file.get();
}

void Model::addInitializer(onnx::TensorProto tensor, FileBytes bytes) {
  onnx::TensorProto &place = *model->mutable_graph()->add_initializer();
  place = std::move(tensor);
  added.try_emplace(&place, std::move(bytes));
}

FailureOr<std::optional<FileBytes>> Model::rawBytes(const onnx::TensorProto &tensor, Location location) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    FailureOr<FileBytes> bytes = externalBytes(tensor, location);
    if (failed(bytes))
      return failure();
    return std::optional<FileBytes>(*bytes);
  }
  if (auto found = added.find(&tensor); found != added.end())
    return std::optional<FileBytes>(found->second);
  auto range = ranges.find(&tensor);
  if (range == ranges.end())
    return std::optional<FileBytes>();
  auto [offset, length] = range->second;
  return std::optional<FileBytes>(FileBytes{
      file, offset, ArrayRef<char>(buffer->getBufferStart() + offset, static_cast<size_t>(length))});
}

FailureOr<FileBytes> Model::externalBytes(const onnx::TensorProto &tensor, Location location) {
  std::string where;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef value = entry.value();
    uint64_t number = 0;
    if (entry.key() == "location") {
      where = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (value.getAsInteger(10, number))
        return emitError(location) << "tensor '" << tensor.name() << "': external " << entry.key() << " '"
                                   << value << "' is not a number";
      if (entry.key() == "offset")
        offset = number;
      else
        length = number;
    }
  }
  // The file lies in the model's folder or below, by name and after links are followed.
  StringRef folder = llvm::sys::path::parent_path(file);
  SmallString<256> path(folder), realPath, realFolder;
  llvm::sys::path::append(path, where);
  bool climbs = where.empty() || llvm::sys::path::is_absolute(where);
  for (auto part = llvm::sys::path::begin(where); part != llvm::sys::path::end(where); ++part)
    climbs |= *part == "..";
  if (climbs)
    return emitError(location) << "tensor '" << tensor.name() << "': external file '" << where
                               << "' is not inside the model's folder";
  if (std::error_code error = llvm::sys::fs::real_path(path, realPath))
    return emitError(location) << "tensor '" << tensor.name() << "': cannot read external file '" << where
                               << "': " << error.message();
  if (std::error_code error = llvm::sys::fs::real_path(folder.empty() ? "." : folder, realFolder))
    return emitError(location) << "cannot read the model's folder '" << folder << "': " << error.message();
  StringRef below = realPath;
  if (!below.consume_front(realFolder) || !(realFolder == "/" || below.starts_with("/")))
    return emitError(location) << "tensor '" << tensor.name() << "': external file '" << where
                               << "' is not inside the model's folder";
  std::unique_ptr<llvm::MemoryBuffer> &mapped = externals[std::string(path)];
  if (!mapped) {
    auto opened = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!opened)
      return emitError(location) << "tensor '" << tensor.name() << "': cannot read external file '" << where
                                 << "': " << opened.getError().message();
    mapped = std::move(*opened);
  }
  uint64_t size = mapped->getBufferSize();
  if (offset > size || length.value_or(0) > size - offset)
    return emitError(location) << "tensor '" << tensor.name() << "': bytes " << offset << " to "
                               << (offset + length.value_or(0)) << " lie outside external file '" << where
                               << "' of " << size << " bytes";
  return FileBytes{
      std::string(path), offset,
      ArrayRef<char>(mapped->getBufferStart() + offset, static_cast<size_t>(length.value_or(size - offset)))};
}

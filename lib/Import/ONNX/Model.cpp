//===- Model.cpp - Reads a .onnx file, its tensors' bytes and external files ---===//
#include "Model.h"
#include "ParseCost.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace zero::onnx_import;

namespace {

/// The newest ONNX file format that this importer knows.
constexpr int64_t kNewestIRVersion = 14;
} // namespace

std::unique_ptr<Model> Model::open(StringRef path, Location location) {
  auto fail = [&](const Twine &text) -> std::unique_ptr<Model> {
    emitError(location) << "cannot read '" << path << "': " << text;
    return nullptr;
  };
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) && !llvm::sys::fs::is_regular_file(status))
    return fail("it is not a file");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError().message());
  auto model = std::make_unique<Model>();
  model->file = path.str();
  model->external = std::make_unique<ExternalData>(path);
  model->buffer = std::move(*buffer);
  StringRef bytes = model->buffer->getBuffer();
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return fail("it has " + Twine(bytes.size()) + " bytes and a model file holds at most " +
                Twine(std::numeric_limits<int>::max()) + "; save the weights as external data");
  // What the parsed model may take: 3 times the file, and what small files need.
  uint64_t cost = parseCost(bytes), most = 3 * bytes.size() + (uint64_t(48) << 20);
  if (cost > most)
    return fail("it has " + Twine(bytes.size()) + " bytes and its messages would take " + Twine(cost) +
                "; at most " + Twine(most) + " are read");
  model->model = std::make_unique<onnx::ModelProto>();
  if (!model->model->ParseFromArray(bytes.data(), bytes.size()) || !model->model->has_graph() ||
      !locateTensors(bytes, *model->model, model->ranges))
    return fail("it is not an ONNX model");
  if (model->model->ir_version() > kNewestIRVersion)
    return fail("its format is ONNX IR version " + Twine(model->model->ir_version()) +
                " and the newest supported is " + Twine(kNewestIRVersion));
  for (const onnx::OperatorSetIdProto &opset : model->model->opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      model->opsetVersion = std::max<int64_t>(model->opsetVersion, opset.version());
  return model;
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

std::string zero::onnx_import::nodeName(const onnx::NodeProto &node) {
  return node.name().empty() && node.output_size() ? node.output(0) : node.name();
}

int64_t Model::opset(const onnx::NodeProto &node) const {
  auto found = nodeOpsets.find(&node);
  return found == nodeOpsets.end() ? opsetVersion : found->second;
}

void Model::copyLocation(const onnx::TensorProto &from, const onnx::TensorProto &to) {
  if (auto found = ranges.find(&from); found != ranges.end()) {
    auto range = found->second;
    ranges[&to] = range;
  } else {
    ranges.erase(&to); // a freed tensor may have had the address
  }
}

void Model::copyLocations(const onnx::AttributeProto &from, const onnx::AttributeProto &to) {
  copyLocation(from.t(), to.t());
  for (auto [tensor, copy] : llvm::zip_equal(from.tensors(), to.tensors()))
    copyLocation(tensor, copy);
  if (from.has_g())
    copyLocations(from.g(), to.g());
  for (auto [graph, copy] : llvm::zip_equal(from.graphs(), to.graphs()))
    copyLocations(graph, copy);
}

void Model::copyLocations(const onnx::NodeProto &from, const onnx::NodeProto &to) {
  if (auto found = nodeOpsets.find(&from); found != nodeOpsets.end()) {
    int64_t version = found->second;
    nodeOpsets[&to] = version;
  } else {
    nodeOpsets.erase(&to);
  }
  for (auto [attribute, copy] : llvm::zip_equal(from.attribute(), to.attribute()))
    copyLocations(attribute, copy);
}

void Model::copyLocations(const onnx::GraphProto &from, const onnx::GraphProto &to) {
  for (auto [tensor, copy] : llvm::zip_equal(from.initializer(), to.initializer()))
    copyLocation(tensor, copy);
  for (auto [node, copy] : llvm::zip_equal(from.node(), to.node()))
    copyLocations(node, copy);
}

static void dropBytes(onnx::TensorProto &tensor) { tensor.clear_raw_data(); }
static void dropBytes(onnx::NodeProto &node);

static void dropBytes(onnx::GraphProto &graph) {
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    dropBytes(tensor);
  for (onnx::NodeProto &node : *graph.mutable_node())
    dropBytes(node);
}

static void dropBytes(onnx::AttributeProto &attribute) {
  if (attribute.has_t())
    dropBytes(*attribute.mutable_t());
  for (onnx::TensorProto &tensor : *attribute.mutable_tensors())
    dropBytes(tensor);
  if (attribute.has_g())
    dropBytes(*attribute.mutable_g());
  for (onnx::GraphProto &graph : *attribute.mutable_graphs())
    dropBytes(graph);
}

static void dropBytes(onnx::NodeProto &node) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute())
    dropBytes(attribute);
}

void Model::dropFunctionBytes() {
  for (onnx::FunctionProto &function : *model->mutable_functions()) {
    for (onnx::AttributeProto &attribute : *function.mutable_attribute_proto())
      dropBytes(attribute);
    for (onnx::NodeProto &node : *function.mutable_node())
      dropBytes(node);
  }
}

FailureOr<std::optional<FileBytes>> Model::rawBytes(const onnx::TensorProto &tensor, Location location) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    Expected<FileBytes> bytes = external->find(tensor);
    if (!bytes.ok())
      return emitError(location) << bytes.status().message();
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

bool Model::hasRawBytes(const onnx::TensorProto &tensor) const {
  return added.contains(&tensor) || ranges.contains(&tensor);
}

//===- ParameterList.cpp - The model's float weights as a table -----------===//
#include "BoundInputs.h"
#include "Graph.h"
#include "LocalFunctions.h"
#include "Subgraphs.h"
#include "WeightInputs.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

struct Row {
  std::string name, shape, type, elements, uses, trained;
};

/// "4x3", of 0-d tensors "-".
std::string shapeText(ArrayRef<int64_t> dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "-" : text;
}

std::optional<int64_t> countElements(ArrayRef<int64_t> dims) {
  onnx::TensorProto shape;
  shape.mutable_dims()->Add(dims.begin(), dims.end());
  return elementCount(shape);
}

StringRef typeText(int onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
    return "f32";
  case onnx::TensorProto::DOUBLE:
    return "f64";
  case onnx::TensorProto::FLOAT16:
    return "f16";
  default:
    return "bf16"; // the only other type that is trained
  }
}

std::string usesText(ArrayRef<const onnx::NodeProto *> readers) {
  constexpr size_t kListed = 4;
  std::string text;
  for (const onnx::NodeProto *node : readers.take_front(kListed))
    text += (text.empty() ? "" : ", ") + nodeName(*node);
  if (readers.size() > kListed)
    text += " and " + std::to_string(readers.size() - kListed) + " more";
  return text.empty() ? "none" : text;
}

void print(ArrayRef<Row> rows, raw_ostream &os) {
  auto width = [&](std::string Row::*column) {
    size_t most = 0;
    for (const Row &row : rows)
      most = std::max(most, (row.*column).size());
    return most;
  };
  size_t name = width(&Row::name), shape = width(&Row::shape), type = width(&Row::type),
         elements = width(&Row::elements), trained = width(&Row::trained);
  for (const Row &row : rows)
    os << llvm::left_justify(row.name, name) << "  " << llvm::left_justify(row.shape, shape) << "  "
       << llvm::left_justify(row.type, type) << "  " << llvm::right_justify(row.elements, elements) << "  "
       << llvm::left_justify(row.trained, trained) << "  " << row.uses << "\n";
}

} // namespace

/// The values that the loss depends on by their elements, not by their shape alone.
static llvm::StringSet<> dependencies(const onnx::GraphProto &graph, ArrayRef<std::string> roots) {
  llvm::StringSet<> values;
  for (const std::string &root : roots)
    values.insert(root);
  for (auto node = graph.node().rbegin(); node != graph.node().rend(); ++node) {
    if (node->op_type() == "Shape" || node->op_type() == "Size" ||
        llvm::none_of(node->output(), [&](const std::string &name) { return values.contains(name); }))
      continue;
    forEachRead(*node, [&](const std::string &name) { values.insert(name); });
  }
  return values;
}

FailureOr<int64_t> Importer::listParameters(raw_ostream &os, std::string &unknownName) {
  if (failed(rules.check(location)))
    return failure();
  SmallVector<std::string> roots;
  if (options.lossGiven) {
    if (failed(findLossOutput()))
      return failure();
    roots.push_back(lossOutput);
  } else {
    for (const onnx::ValueInfoProto &output : model.graph().output())
      roots.push_back(output.name());
  }
  llvm::StringSet<> needed = dependencies(model.graph(), roots);

  SmallVector<Row> rows{{"name", "shape", "type", "elements", "uses", "trained"}};
  int64_t trainedTensors = 0, trainedElements = 0, tensors = 0, total = 0;
  auto add = [&](StringRef name, ArrayRef<int64_t> dims, int onnxType, std::string why) -> LogicalResult {
    std::optional<int64_t> count = countElements(dims);
    if (!count || total > std::numeric_limits<int64_t>::max() - *count)
      return emitError(location) << "tensor '" << name << "' has impossible dimensions";
    if (why.empty() && !needed.contains(name))
      why = options.lossGiven ? "the loss does not depend on it" : "no output depends on it";
    ++tensors;
    total += *count;
    trainedTensors += why.empty();
    trainedElements += why.empty() ? *count : 0;
    rows.push_back({name.str(), shapeText(dims), typeText(onnxType).str(), std::to_string(*count),
                    usesText(rules.consumersOf(name)), why.empty() ? "yes" : "no: " + why});
    return success();
  };
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (isFloatType(tensor.data_type()) && !model.isAdded(tensor) &&
        failed(add(tensor.name(), ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()), tensor.data_type(),
                   rules.whyNotTrained(tensor))))
      return failure();
  SmallVector<Row> unknown;
  SmallVector<const onnx::NodeProto *> nodes;
  forEachNode(model.graph(), [&](const onnx::NodeProto &proto) { nodes.push_back(&proto); });
  for (const onnx::NodeProto *each : nodes) {
    const onnx::NodeProto &proto = *each;
    std::optional<FloatConstant> constant = floatConstantOf(proto);
    // One number is a factor or an epsilon, unless the user wants it trained.
    if (constant && (countElements(constant->dims) != 1 || rules.whyConstantNotTrained(proto.output(0)).empty()) &&
        failed(add(proto.output(0), constant->dims, constant->onnxType, rules.whyConstantNotTrained(proto.output(0)))))
      return failure();
    if (proto.op_type() != "ConstantOfShape" || proto.output_size() != 1)
      continue;
    int type = onnx::TensorProto::FLOAT;
    for (const onnx::AttributeProto &attribute : proto.attribute())
      if (attribute.name() == "value")
        type = attribute.t().data_type();
    StringRef output = proto.output(0);
    if (isFloatType(type) && !rules.isFrozen(output) && startingValues.isNamed(output))
      unknownName = output.str();
    if (isFloatType(type))
      unknown.push_back({output.str(), "?", typeText(type).str(), "?", usesText(rules.consumersOf(output)),
                         rules.isFrozen(output)          ? "no: frozen by --freeze=" + options.freezeRegex
                         : startingValues.isNamed(output) ? "yes, if its shape is known"
                                                          : "no: it is a ConstantOfShape, which --init=RULE:REGEX would train"});
  }
  llvm::append_range(rows, unknown);
  print(rows, os);
  os << "trained: " << trainedElements << " elements in " << trainedTensors << " tensors, of " << total << " in "
     << tensors << "\n";
  return trainedElements;
}

static FailureOr<int64_t> list(StringRef path, const ImportOptions &options, MLIRContext *context, raw_ostream &os,
                               std::string &unknown) {
  context->loadDialect<nn::NNDialect, func::FuncDialect>();
  Location location = NameLoc::get(StringAttr::get(context, path));
  std::unique_ptr<Model> model = Model::open(path, location);
  llvm::StringMap<int64_t> dims;
  if (!model || failed(bindInputs(*model, options, dims, location)) ||
      failed(adoptWeightInputs(*model, options, location)) || failed(inlineFunctions(*model, location)))
    return failure();
  hoistInitializers(*model);
  return Importer(*model, options, std::move(dims), context).listParameters(os, unknown);
}

LogicalResult zero::listParameters(StringRef path, const ImportOptions &options, MLIRContext *context,
                                   raw_ostream &os) {
  std::string unknown;
  return list(path, options, context, os, unknown);
}

FailureOr<int64_t> zero::countTrainedElements(StringRef path, const ImportOptions &options, MLIRContext *context) {
  std::string unknown;
  FailureOr<int64_t> elements = list(path, options, context, llvm::nulls(), unknown);
  if (succeeded(elements) && !unknown.empty())
    return emitError(NameLoc::get(StringAttr::get(context, path)))
           << "--init makes '" << unknown << "' a parameter, whose shape is known only once the model is imported: zero-import it and plan the .mlir";
  return elements;
}

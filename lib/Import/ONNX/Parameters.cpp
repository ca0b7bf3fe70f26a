//===- Parameters.cpp - Which weights are trained, and who reads them -----===//
#include "ParameterRules.h"
#include "Subgraphs.h"
#include "Weights.h"

#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

/// The torch.export-based exporter's mark; PARAMETER is what PyTorch trains.
static constexpr llvm::StringLiteral kKindKey = "pkg.torch.export.graph_signature.InputSpec.kind";

bool zero::onnx_import::isFloatType(int onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::DOUBLE:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return true;
  default:
    return false;
  }
}

static bool isFloat(const onnx::TensorProto &tensor) { return isFloatType(tensor.data_type()); }

std::optional<FloatConstant> zero::onnx_import::floatConstantOf(const onnx::NodeProto &node) {
  if (node.op_type() != "Constant" || !(node.domain().empty() || node.domain() == "ai.onnx") || node.output_size() != 1)
    return std::nullopt;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.name() == "value" && isFloat(attribute.t()))
      return FloatConstant{SmallVector<int64_t>(attribute.t().dims().begin(), attribute.t().dims().end()),
                           attribute.t().data_type()};
    if (attribute.name() == "value_floats")
      return FloatConstant{{attribute.floats_size()}, onnx::TensorProto::FLOAT};
    if (attribute.name() == "value_float")
      return FloatConstant{{}, onnx::TensorProto::FLOAT};
  }
  return std::nullopt;
}

bool zero::onnx_import::matchesWhole(const std::string &pattern, StringRef name) {
  return !pattern.empty() && llvm::Regex("^(" + pattern + ")$").match(name);
}

ParameterRules::ParameterRules(const Model &model, const ImportOptions &options)
    : model(model), train(options.trainRegex), freeze(options.freezeRegex),
      trainConstants(options.trainConstantsRegex), signature(model.graph()) {
  auto note = [&](StringRef name, const auto &properties) {
    for (const onnx::StringStringEntryProto &property : properties)
      if (property.key() == kKindKey)
        kinds[name] = property.value();
  };
  for (const onnx::ValueInfoProto &value : model.graph().value_info())
    note(value.name(), value.metadata_props());
  for (const onnx::ValueInfoProto &value : model.graph().input())
    note(value.name(), value.metadata_props());
  for (const onnx::TensorProto &tensor : model.graph().initializer()) {
    note(tensor.name(), tensor.metadata_props());
    anyMark |= kinds.count(tensor.name()) != 0;
  }
  indexGraph();
}

LogicalResult ParameterRules::check(Location location) const {
  auto matchesInitializer = [&](const std::string &pattern) {
    return llvm::any_of(model.graph().initializer(), [&](const onnx::TensorProto &tensor) {
      return isFloat(tensor) && !model.isAdded(tensor) && matchesWhole(pattern, tensor.name());
    });
  };
  auto matchesConstant = [&](const std::string &pattern) {
    bool any = false;
    forEachNode(model.graph(), [&](const onnx::NodeProto &node) {
      any |= floatConstantOf(node) && matchesWhole(pattern, node.output(0));
    });
    return any;
  };
  for (auto [flag, pattern] : {std::pair("--train", &train), std::pair("--freeze", &freeze),
                               std::pair("--train-constants", &trainConstants)}) {
    if (pattern->empty())
      continue;
    std::string problem;
    if (!llvm::Regex("^(" + *pattern + ")$").isValid(problem))
      return emitError(location) << flag << "=" << *pattern << " is not a regular expression: " << problem;
    bool constants = pattern == &trainConstants;
    if (constants ? !matchesConstant(*pattern)
                  : !matchesInitializer(*pattern) && !(pattern == &freeze && matchesConstant(*pattern)))
      return emitError(location) << flag << "=" << *pattern << " matches no float "
                                 << (constants ? "Constant node" : "weight of the model")
                                 << " (it must match the whole name" << (constants ? " of its output)" : ")");
  }
  return success();
}

/// W, R, B or P of an LSTM, GRU or RNN, and nothing else.
bool ParameterRules::isRecurrentWeight(StringRef name) const {
  auto readers = consumers.find(name);
  return readers != consumers.end() && llvm::all_of(readers->second, [&](const onnx::NodeProto *node) {
           if (!llvm::is_contained({"LSTM", "GRU", "RNN"}, node->op_type()))
             return false;
           for (int index = 0; index < node->input_size(); ++index)
             if (node->input(index) == name && !llvm::is_contained({1, 2, 3, 7}, index))
               return false;
           return true;
         });
}

std::string ParameterRules::whyNotTrained(const onnx::TensorProto &tensor) const {
  StringRef name = tensor.name();
  if (!isFloat(tensor))
    return "it holds integers";
  if (model.isAdded(tensor))
    return "its value is bound by --bind-input";
  if (saysSizes(name))
    return "it says how a tensor is resized";
  if (matchesWhole(freeze, name))
    return "frozen by --freeze=" + freeze;
  if (matchesWhole(train, name))
    return "";
  if (anyMark) {
    auto kind = kinds.find(name);
    // An exporter reorders the gates of recurrent weights while it writes: what it computed so stands for the
    // parameters, element by element.
    if (kind == kinds.end() &&
        (isRecurrentWeight(name) || (tensor.dims_size() > 0 && !parametersReplacedBy(name).empty())))
      return "";
    if (kind == kinds.end())
      return "the exporter marks parameters and did not mark it";
    return kind->second == "PARAMETER" ? "" : "the exporter marked it as " + kind->second;
  }
  if (tensor.dims_size() == 0)
    return "it is one number (0-d)";
  if (auto readers = consumers.find(name); readers != consumers.end())
    for (const onnx::NodeProto *node : readers->second)
      if (node->op_type() == "BatchNormalization")
        for (int index = 3; index < node->input_size(); ++index)
          if (node->input(index) == name)
            return "it is a statistic of the batch normalization '" + node->name() + "'";
  if (feedsOnlyAngles(name))
    return "it feeds only Cos and Sin";
  return "";
}

std::string ParameterRules::whyConstantNotTrained(StringRef name) const {
  if (matchesWhole(freeze, name))
    return "frozen by --freeze=" + freeze;
  return matchesWhole(trainConstants, name) ? ""
                                            : "it is a constant of a node, which --train-constants=REGEX would train";
}

ArrayRef<const onnx::NodeProto *> ParameterRules::consumersOf(StringRef name) const {
  auto found = consumers.find(name);
  return found == consumers.end() ? ArrayRef<const onnx::NodeProto *>() : found->second;
}

/// By the first layer that reads the weight, through views; PyTorch's convention for convolutions and for what no
/// layer reads.
ParameterRules::Fans ParameterRules::fansOf(StringRef name, ArrayRef<int64_t> shape) const {
  if (shape.size() < 2)
    return {};
  double field = 1;
  for (int64_t size : shape.drop_front(2))
    field *= static_cast<double>(size);
  Fans rows{static_cast<double>(shape[1]) * field, static_cast<double>(shape[0]) * field};
  if (shape.size() != 2)
    return rows;
  Fans columns{rows.out, rows.in};
  bool transposed = false;
  constexpr int kLongestChain = 64; // of views; a damaged model may have a circle
  StringRef at = name;
  for (int step = 0; step < kLongestChain; ++step) {
    ArrayRef<const onnx::NodeProto *> readers = consumersOf(at);
    const onnx::NodeProto *view = nullptr;
    for (const onnx::NodeProto *node : readers) {
      StringRef op = node->op_type();
      if (op == "MatMul" && node->input_size() > 1) // x W sums over the rows of W, W x over its columns
        return (node->input(1) == at) != transposed ? columns : rows;
      if (op == "Gemm" && node->input_size() > 1) {
        bool isSecond = node->input(1) == at, flips = false;
        for (const onnx::AttributeProto &attribute : node->attribute())
          flips |= attribute.name() == (isSecond ? "transB" : "transA") && attribute.i() != 0;
        return (isSecond != flips) != transposed ? columns : rows;
      }
      if (op == "Transpose" || op == "Identity" || op == "Cast")
        view = node;
    }
    if (!view || view->output_size() != 1)
      return rows;
    transposed ^= view->op_type() == "Transpose";
    at = view->output(0);
  }
  return rows;
}

/// Scales and regions of resizing nodes: no data, but part of the graph.
bool ParameterRules::saysSizes(StringRef name) const {
  auto readers = consumers.find(name);
  return readers != consumers.end() &&
         llvm::all_of(readers->second, [&](const onnx::NodeProto *node) {
           return (node->op_type() == "Resize" || node->op_type() == "Upsample") && node->input(0) != name;
         });
}

/// Rotary frequencies: every way from the weight leads to Cos or Sin, through views and products with
/// positions. A product with anything that reads a float input or another weight is a layer, not a frequency
/// table.
bool ParameterRules::feedsOnlyAngles(StringRef name) const {
  SmallVector<StringRef> work{name};
  llvm::StringSet<> following;
  following.insert(name);
  bool any = false;
  while (!work.empty()) {
    auto found = consumers.find(work.pop_back_val());
    if (found == consumers.end())
      continue;
    for (const onnx::NodeProto *node : found->second) {
      StringRef op = node->op_type();
      if (op == "Cos" || op == "Sin") {
        any = true;
        continue;
      }
      if (op == "Shape")
        continue;
      bool isView = llvm::is_contained({"Unsqueeze", "Squeeze", "Reshape", "Expand", "Transpose", "Cast",
                                        "Identity", "Flatten", "Concat", "Slice"},
                                       op);
      bool isProduct = op == "Mul" || op == "MatMul" || op == "Einsum";
      bool others = llvm::any_of(node->input(), [&](const std::string &input) {
        return !following.contains(input) && varying.contains(input);
      });
      if (!(isView || isProduct) || others)
        return false;
      for (const std::string &output : node->output())
        if (following.insert(output).second)
          work.push_back(output);
    }
  }
  return any;
}

/// Who reads each value, and which values depend on a float input or on a weight of more than one element.
void ParameterRules::indexGraph() {
  for (const onnx::ValueInfoProto &input : model.graph().input())
    if (input.type().tensor_type().elem_type() != onnx::TensorProto::INT64 &&
        input.type().tensor_type().elem_type() != onnx::TensorProto::INT32)
      varying.insert(input.name());
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (isFloat(tensor) && elementCount(tensor).value_or(2) > 1)
      varying.insert(tensor.name());
  forEachNode(model.graph(), [&](const onnx::NodeProto &node) {
    bool varies = false;
    for (const std::string &input : node.input()) {
      consumers[input].push_back(&node);
      varies |= varying.contains(input);
    }
    if (varies)
      for (const std::string &output : node.output())
        varying.insert(output);
  });
}

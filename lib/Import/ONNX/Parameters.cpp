//===- Parameters.cpp - Which initializers are trained --------------------===//
#include "Graph.h"
#include "Subgraphs.h"

#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

/// The torch.export-based exporter's mark; PARAMETER is what PyTorch trains.
static constexpr llvm::StringLiteral kKindKey = "pkg.torch.export.graph_signature.InputSpec.kind";

static bool isFloat(const onnx::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::DOUBLE:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return true;
  default:
    return false;
  }
}

static bool matchesWhole(const std::string &pattern, StringRef name) {
  return !pattern.empty() && llvm::Regex("^(" + pattern + ")$").match(name);
}

ParameterRules::ParameterRules(const Model &model, const ImportOptions &options)
    : model(model), train(options.trainRegex), freeze(options.freezeRegex) {
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
  for (auto [flag, pattern] : {std::pair("--train", &train), std::pair("--freeze", &freeze)}) {
    if (pattern->empty())
      continue;
    std::string problem;
    if (!llvm::Regex("^(" + *pattern + ")$").isValid(problem))
      return emitError(location) << flag << "=" << *pattern << " is not a regular expression: " << problem;
    if (llvm::none_of(model.graph().initializer(), [&, pattern = pattern](const onnx::TensorProto &tensor) {
          return isFloat(tensor) && !model.isAdded(tensor) && matchesWhole(*pattern, tensor.name());
        }))
      return emitError(location) << flag << "=" << *pattern
                                 << " matches no float weight of the model (it must match the whole name)";
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
  if (matchesWhole(freeze, name))
    return "frozen by --freeze=" + freeze;
  if (matchesWhole(train, name))
    return "";
  if (anyMark) {
    auto kind = kinds.find(name);
    // An exporter reorders the gates of recurrent weights while it writes: what it computed so stands for the
    // parameters, element by element.
    if (kind == kinds.end() && isRecurrentWeight(name))
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

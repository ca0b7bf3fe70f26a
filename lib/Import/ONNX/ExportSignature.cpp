//===- ExportSignature.cpp - What PyTorch trained, as its exporter tells --===//
//
// The exporter's optimizer transposes weights and merges batch normalizations into convolutions. What it computed has a
// new name and no mark, but three things together tell that it stands for a parameter: the signature lists a parameter
// that is gone; the node that reads the initializer came from a call that took this parameter as its weight; and it reads
// it where a layer has a weight. A constant at such a place (a filter bank, a mask) has no parameter in its call.
//
//   signature  p_fc_weight: PARAMETER target='fc.weight'
//   MatMul(x, val_2), from  aten.linear.default(args = (%x, %p_fc_weight, %p_fc_bias))   =>   val_2 replaces 'fc.weight'
//
//===----------------------------------------------------------------------===//
#include "ExportSignature.h"

#include "llvm/ADT/STLExtras.h"

using namespace zero;
using namespace zero::onnx_import;
using llvm::StringRef;

static StringRef property(const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto> &properties, StringRef key) {
  for (const onnx::StringStringEntryProto &entry : properties)
    if (entry.key() == key)
      return entry.value();
  return {};
}

ExportSignature::ExportSignature(const onnx::GraphProto &graph) {
  StringRef text = property(graph.metadata_props(), "pkg.torch.export.ExportedProgram.graph_signature");
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    auto [placeholder, kind] = line.split(": ");
    if (!kind.consume_front("PARAMETER target='"))
      continue;
    StringRef target = kind.take_until([](char c) { return c == '\''; });
    targets[placeholder] = target.str();
    names.insert(target);
  }
  for (const onnx::TensorProto &tensor : graph.initializer())
    present.insert(tensor.name());
}

namespace {

/// Which operands of PyTorch's functions may be the weight or the bias of a layer.
struct Layer {
  StringRef function; // how its name begins, behind "aten."
  unsigned weights, biases; // bit i for operand i
};
constexpr unsigned kAny = ~0u;
constexpr Layer kLayers[] = {
    {"linear.", 1u << 1, 1u << 2},
    {"conv", 1u << 1, 1u << 2},
    {"addmm.", 1u << 1 | 1u << 2, 1u << 0},
    {"prelu", 1u << 1, 0},
    {"_prelu", 1u << 1, 0},
    // Merged into the convolution in front, whose own weight it leaves without a mark.
    {"batch_norm", 1u << 1 | 1u << 2, 1u << 1 | 1u << 2},
    {"_native_batch_norm", 1u << 1 | 1u << 2, 1u << 1 | 1u << 2},
    {"matmul.", kAny, 0},
    {"mm.", kAny, 0},
    {"bmm.", kAny, 0},
    {"einsum.", kAny, 0},
};

enum class Place { None, Weight, Bias };

/// Where a layer has its weight or bias.
Place placeOf(StringRef op, int index) {
  if (op == "MatMul")
    return Place::Weight;
  if (op == "Gemm")
    return index == 2 ? Place::Bias : Place::Weight;
  if (op == "Conv" || op == "ConvTranspose")
    return index == 1 ? Place::Weight : index == 2 ? Place::Bias : Place::None;
  return op == "PRelu" && index == 1 ? Place::Weight : Place::None;
}

} // namespace

std::string ExportSignature::replacedBy(StringRef initializer, llvm::ArrayRef<const onnx::NodeProto *> readers) const {
  if (targets.empty() || readers.empty())
    return "";
  std::string text;
  auto add = [&](StringRef target) {
    std::string quoted = ("'" + target + "'").str();
    if (!StringRef(text).contains(quoted))
      text += (text.empty() ? "" : ", ") + quoted;
  };
  if (names.contains(initializer))
    add(initializer);
  for (const onnx::NodeProto *node : readers) {
    // "%linear : [...] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_w, %p_b), kwargs = {})"
    StringRef call = property(node->metadata_props(), "pkg.torch.onnx.fx_node");
    StringRef function = call.split("[target=torch.ops.aten.").second;
    const Layer *layer = llvm::find_if(kLayers, [&](const Layer &entry) { return function.starts_with(entry.function); });
    bool found = names.contains(initializer);
    for (int index = 0; index < node->input_size(); ++index) {
      if (StringRef(node->input(index)) != initializer)
        continue;
      Place place = placeOf(node->op_type(), index);
      if (place == Place::None || (layer == std::end(kLayers) && !found))
        return "";
      if (layer == std::end(kLayers))
        continue;
      unsigned operands = place == Place::Weight ? layer->weights : layer->biases;
      StringRef rest = function.split("(args = (").second.split("), kwargs").first;
      for (unsigned operand = 0; !rest.empty() && operand < 32; ++operand) {
        StringRef word;
        std::tie(word, rest) = rest.split(',');
        auto target = targets.find(word.trim(" ()[]%"));
        // Of a parameter that is still there this would be a copy.
        if (!(operands >> operand & 1) || target == targets.end() ||
            (present.contains(target->second) && target->second != initializer))
          continue;
        add(target->second);
        found = true;
      }
    }
    if (!found)
      return "";
  }
  return text;
}

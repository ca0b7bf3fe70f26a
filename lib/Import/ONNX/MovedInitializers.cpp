//===- MovedInitializers.cpp - Names of initializers inside nodes ---------===//
//
// Walks the bytes of a model as hoistInitializers (Subgraphs.cpp) walks the parsed one: an initializer of a node's graph
// keeps its name where that is free, and has the node's in front where it is not.
//
//===----------------------------------------------------------------------===//
#include "MovedInitializers.h"
#include "Model.h"
#include "WireReader.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace zero::onnx_import;
using llvm::StringRef;

static void forEachField(StringRef message, uint32_t number, llvm::function_ref<void(StringRef)> visit) {
  WireReader reader(message);
  Field field;
  while (reader.next(field))
    if (field.isDelimited && field.number == number)
      visit(field.payload);
}

static StringRef textOf(StringRef message, uint32_t number) {
  StringRef text;
  forEachField(message, number, [&](StringRef payload) { text = payload; });
  return text;
}

static void nameInside(StringRef graph, llvm::StringSet<> &used, MovedInitializers &moved, int depth) {
  constexpr int kDeepest = 100; // as protobuf
  if (depth > kDeepest)
    return;
  forEachField(graph, onnx::GraphProto::kNodeFieldNumber, [&](StringRef node) {
    std::string owner = textOf(node, onnx::NodeProto::kNameFieldNumber).str();
    auto visit = [&](StringRef inner) {
      forEachField(inner, onnx::GraphProto::kInitializerFieldNumber, [&](StringRef tensor) {
        std::string name = textOf(tensor, onnx::TensorProto::kNameFieldNumber).str(), made = name;
        for (unsigned count = 1; !used.insert(made).second; ++count)
          made = owner + "/" + name + (count == 1 ? "" : "_" + std::to_string(count));
        moved[tensor.data()] = std::move(made);
      });
      nameInside(inner, used, moved, depth + 1);
    };
    forEachField(node, onnx::NodeProto::kAttributeFieldNumber, [&](StringRef attribute) {
      forEachField(attribute, onnx::AttributeProto::kGFieldNumber, visit);
      forEachField(attribute, onnx::AttributeProto::kGraphsFieldNumber, visit);
    });
  });
}

MovedInitializers zero::onnx_import::movedInitializers(StringRef model) {
  StringRef graph = textOf(model, onnx::ModelProto::kGraphFieldNumber);
  llvm::StringSet<> used;
  forEachField(graph, onnx::GraphProto::kInitializerFieldNumber,
               [&](StringRef tensor) { used.insert(textOf(tensor, onnx::TensorProto::kNameFieldNumber)); });
  forEachField(graph, onnx::GraphProto::kInputFieldNumber,
               [&](StringRef input) { used.insert(textOf(input, onnx::ValueInfoProto::kNameFieldNumber)); });
  forEachField(graph, onnx::GraphProto::kNodeFieldNumber, [&](StringRef node) {
    forEachField(node, onnx::NodeProto::kOutputFieldNumber, [&](StringRef output) { used.insert(output); });
  });
  MovedInitializers moved;
  nameInside(graph, used, moved, 0);
  return moved;
}

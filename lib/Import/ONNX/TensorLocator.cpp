//===- TensorLocator.cpp - Finds tensors' bytes in a .onnx file -----------===//
//
// protobuf copies what it parses and forgets where it stood, but weights are to stay in the file. So a scan
// of the wire format walks the same fields in the same order as the parser and notes where each `raw_data`
// lies.
//
//===----------------------------------------------------------------------===//
#include "TensorLocator.h"
#include "WireReader.h"

#include "llvm/ADT/STLFunctionalExtras.h"

using llvm::StringRef;
using namespace zero::onnx_import;

namespace {

class Locator {
public:
  Locator(StringRef file, TensorRanges &ranges) : file(file), ranges(ranges) {}

  bool model(const onnx::ModelProto &model) {
    int functions = 0;
    // A graph in two parts is one graph: its nodes are counted over both.
    Counts counts;
    return each(file,
                [&](const Field &field) {
                  if (field.number == onnx::ModelProto::kGraphFieldNumber)
                    return graph(field.payload, model.graph(), counts);
                  if (field.number != onnx::ModelProto::kFunctionsFieldNumber)
                    return true;
                  return functions < model.functions_size() &&
                         function(field.payload, model.functions(functions++));
                }) &&
           counts.match(model.graph());
  }

private:
  struct Counts {
    int nodes = 0, initializers = 0;
    bool match(const onnx::GraphProto &graph) const {
      return nodes == graph.node_size() && initializers == graph.initializer_size();
    }
  };

  static bool each(StringRef message, llvm::function_ref<bool(const Field &)> visit) {
    WireReader reader(message);
    Field field;
    while (reader.next(field))
      if (!visit(field))
        return false;
    return reader.ok();
  }

  bool graph(StringRef bytes, const onnx::GraphProto &graph, Counts &counts) {
    return each(bytes, [&](const Field &field) {
      if (field.number == onnx::GraphProto::kInitializerFieldNumber)
        return counts.initializers < graph.initializer_size() &&
               tensor(field.payload, graph.initializer(counts.initializers++));
      if (field.number == onnx::GraphProto::kNodeFieldNumber)
        return counts.nodes < graph.node_size() && node(field.payload, graph.node(counts.nodes++));
      return true;
    });
  }

  bool subgraph(StringRef bytes, const onnx::GraphProto &parsed) {
    Counts counts;
    return graph(bytes, parsed, counts) && counts.match(parsed);
  }

  bool function(StringRef bytes, const onnx::FunctionProto &function) {
    int nodes = 0, defaults = 0;
    return each(bytes, [&](const Field &field) {
      if (field.number == onnx::FunctionProto::kNodeFieldNumber)
        return nodes < function.node_size() && node(field.payload, function.node(nodes++));
      if (field.number == onnx::FunctionProto::kAttributeProtoFieldNumber)
        return defaults < function.attribute_proto_size() &&
               attribute(field.payload, function.attribute_proto(defaults++));
      return true;
    });
  }

  bool node(StringRef bytes, const onnx::NodeProto &node) {
    int attributes = 0;
    return each(bytes, [&](const Field &field) {
      if (field.number != onnx::NodeProto::kAttributeFieldNumber)
        return true;
      return attributes < node.attribute_size() && attribute(field.payload, node.attribute(attributes++));
    });
  }

  bool attribute(StringRef bytes, const onnx::AttributeProto &attribute) {
    int tensors = 0, graphs = 0, single = 0, body = 0;
    return each(bytes, [&](const Field &field) {
      switch (field.number) {
      case onnx::AttributeProto::kTFieldNumber: // given twice, the parser merges them
        return ++single == 1 && tensor(field.payload, attribute.t());
      case onnx::AttributeProto::kGFieldNumber:
        return ++body == 1 && subgraph(field.payload, attribute.g());
      case onnx::AttributeProto::kTensorsFieldNumber:
        return tensors < attribute.tensors_size() && tensor(field.payload, attribute.tensors(tensors++));
      case onnx::AttributeProto::kGraphsFieldNumber:
        return graphs < attribute.graphs_size() && subgraph(field.payload, attribute.graphs(graphs++));
      default:
        return true;
      }
    });
  }

  /// The last `raw_data` counts.
  bool tensor(StringRef bytes, const onnx::TensorProto &tensor) {
    StringRef raw;
    bool ok = each(bytes, [&](const Field &field) {
      if (field.number == onnx::TensorProto::kRawDataFieldNumber)
        raw = field.payload;
      return true;
    });
    if (!ok || (tensor.has_raw_data() && raw.size() != tensor.raw_data().size()))
      return false;
    if (tensor.has_raw_data())
      ranges[&tensor] = {raw.empty() ? 0 : raw.data() - file.data(), raw.size()};
    return true;
  }

  StringRef file;
  TensorRanges &ranges;
};

} // namespace

bool zero::onnx_import::locateTensors(StringRef file, const onnx::ModelProto &model, TensorRanges &ranges) {
  return Locator(file, ranges).model(model);
}

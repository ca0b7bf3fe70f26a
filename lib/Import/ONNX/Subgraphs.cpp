//===- Subgraphs.cpp - Graphs inside the attributes of nodes --------------===//
//
// The depth of nesting is bounded: protobuf parses messages within messages a hundred deep at most.
//
//===----------------------------------------------------------------------===//
#include "Subgraphs.h"

#include "llvm/ADT/StringMap.h"

using namespace zero::onnx_import;

void zero::onnx_import::forEachSubgraph(const onnx::NodeProto &node,
                                        llvm::function_ref<void(const onnx::GraphProto &)> visit) {
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      visit(attribute.g());
    for (const onnx::GraphProto &graph : attribute.graphs())
      visit(graph);
  }
}

void zero::onnx_import::forEachSubgraph(onnx::NodeProto &node,
                                        llvm::function_ref<void(onnx::GraphProto &)> visit) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      visit(*attribute.mutable_g());
    for (onnx::GraphProto &graph : *attribute.mutable_graphs())
      visit(graph);
  }
}

void zero::onnx_import::forEachNode(const onnx::GraphProto &graph,
                                    llvm::function_ref<void(const onnx::NodeProto &)> visit) {
  for (const onnx::NodeProto &node : graph.node()) {
    visit(node);
    forEachSubgraph(node, [&](const onnx::GraphProto &inner) { forEachNode(inner, visit); });
  }
}

void zero::onnx_import::forEachRead(const onnx::NodeProto &node,
                                    llvm::function_ref<void(const std::string &)> visit) {
  for (const std::string &name : node.input())
    visit(name);
  forEachSubgraph(node, [&](const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &inner : graph.node())
      forEachRead(inner, visit);
    for (const onnx::ValueInfoProto &output : graph.output())
      visit(output.name());
  });
}

namespace {

class Hoister {
public:
  explicit Hoister(onnx::GraphProto &main) : main(main) {
    for (const onnx::TensorProto &tensor : main.initializer())
      used.insert(tensor.name());
    for (const onnx::ValueInfoProto &input : main.input())
      used.insert(input.name());
    for (const onnx::NodeProto &node : main.node())
      for (const std::string &name : node.output())
        used.insert(name);
  }

  void run() {
    for (onnx::NodeProto &node : *main.mutable_node())
      forEachSubgraph(node, [&](onnx::GraphProto &graph) { hoist(graph, node.name()); });
  }

private:
  void hoist(onnx::GraphProto &graph, const std::string &nodeName) {
    llvm::StringMap<std::string> renamed;
    auto &initializers = *graph.mutable_initializer();
    llvm::SmallVector<onnx::TensorProto *> moved(initializers.size());
    // The tensors stay where they are: their bytes are known by address.
    initializers.ExtractSubrange(0, static_cast<int>(moved.size()), moved.data());
    for (onnx::TensorProto *tensor : moved) {
      if (!used.insert(tensor->name()).second) {
        std::string name = nodeName + "/" + tensor->name();
        for (unsigned count = 2; !used.insert(name).second; ++count)
          name = nodeName + "/" + tensor->name() + "_" + std::to_string(count);
        renamed[tensor->name()] = name;
        tensor->set_name(name);
      }
      main.mutable_initializer()->AddAllocated(tensor);
    }
    if (!renamed.empty())
      rename(graph, renamed);
    for (onnx::NodeProto &node : *graph.mutable_node())
      forEachSubgraph(node, [&](onnx::GraphProto &inner) { hoist(inner, node.name()); });
  }

  static void rename(onnx::GraphProto &graph, const llvm::StringMap<std::string> &names) {
    auto update = [&](std::string &name) {
      if (auto found = names.find(name); found != names.end())
        name = found->getValue();
    };
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      for (std::string &name : *node.mutable_input())
        update(name);
      forEachSubgraph(node, [&](onnx::GraphProto &inner) { rename(inner, names); });
    }
    for (onnx::ValueInfoProto &output : *graph.mutable_output())
      update(*output.mutable_name());
  }

  onnx::GraphProto &main;
  llvm::StringSet<> used;
};

} // namespace

void zero::onnx_import::hoistInitializers(Model &model) { Hoister(model.mutableGraph()).run(); }

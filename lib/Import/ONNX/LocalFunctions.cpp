//===- LocalFunctions.cpp - Inlines model-local functions ----------------------===//
//
//   node 'block' (my.Double) x -> y          node 'block/add' (Add) x, x -> block/t
//   function my.Double(a) -> b:        =>    node 'block/twice' (Mul) block/t, block/c -> y
//     add: Add a, a -> t; ...
//
// How many nodes the calls become is counted before any is made: a few functions that call each other twice
// make more nodes than any memory holds.
//
//===----------------------------------------------------------------------===//
#include "LocalFunctions.h"
#include "Subgraphs.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zero::onnx_import;

namespace {

constexpr int64_t kMaxNodes = 1 << 16;
constexpr size_t kMaxDepth = 128;

std::string keyOf(StringRef domain, StringRef name, StringRef overload) {
  return ((domain == "ai.onnx" ? "" : domain) + Twine('\0') + name + Twine('\0') + overload).str();
}

std::string describe(const onnx::FunctionProto &function) {
  std::string text = (function.domain().empty() ? "" : function.domain() + ".") + function.name();
  return function.overload().empty() ? text : text + ":" + function.overload();
}

class FunctionInliner {
public:
  FunctionInliner(Model &model, Location location) : model(model), location(location) {}

  LogicalResult run() {
    for (const onnx::FunctionProto &function : model.proto().functions()) {
      std::string key = keyOf(function.domain(), function.name(), function.overload());
      if (!functions.try_emplace(key, &function).second)
        return emitError(location) << "the model has two functions '" << describe(function) << "'";
    }
    FailureOr<Size> size = measure(model.graph());
    if (failed(size))
      return failure();
    if (size->calls == 0)
      return success();
    if (size->nodes > kMaxNodes || size->bytes > largestBytes())
      return emitError(location) << "the functions of the model expand to "
                                 << (size->nodes > kMaxNodes ? size->nodes : size->bytes)
                                 << (size->nodes > kMaxNodes ? " nodes" : " bytes") << "; at most "
                                 << (size->nodes > kMaxNodes ? kMaxNodes : largestBytes()) << " are imported";
    noteNames(model.graph());
    return expand(model.mutableGraph());
  }

private:
  /// What a list of nodes becomes.
  struct Size {
    int64_t nodes = 0, bytes = 0, calls = 0;
    void add(const Size &other) {
      constexpr int64_t kEnough = INT64_MAX / 2; // sums of two do not overflow
      nodes = std::min(nodes + other.nodes, kEnough);
      bytes = std::min(bytes + other.bytes, kEnough);
      calls = std::min(calls + other.calls, kEnough);
    }
  };

  int64_t largestBytes() const { return (int64_t(16) << 20) + 2 * model.fileBytes(); }

  const onnx::FunctionProto *callee(const onnx::NodeProto &node) const {
    auto found = functions.find(keyOf(node.domain(), node.op_type(), node.overload()));
    return found == functions.end() ? nullptr : found->second;
  }

  template <typename Nodes> FailureOr<Size> measureNodes(const Nodes &nodes) {
    Size total;
    for (const onnx::NodeProto &node : nodes) {
      if (const onnx::FunctionProto *function = callee(node)) {
        FailureOr<Size> inner = measure(*function, node);
        if (failed(inner))
          return failure();
        total.add(*inner);
        total.add({0, 0, 1});
      } else {
        total.add({1, static_cast<int64_t>(node.ByteSizeLong()), 0});
      }
      LogicalResult status = success();
      forEachSubgraph(node, [&](const onnx::GraphProto &graph) {
        if (failed(status))
          return;
        FailureOr<Size> inner = measure(graph);
        if (failed(inner))
          status = failure();
        else
          total.add(*inner);
      });
      if (failed(status))
        return failure();
    }
    return total;
  }

  FailureOr<Size> measure(const onnx::GraphProto &graph) { return measureNodes(graph.node()); }

  FailureOr<Size> measure(const onnx::FunctionProto &function, const onnx::NodeProto &call) {
    if (auto known = sizes.find(&function); known != sizes.end())
      return known->second;
    if (auto open = llvm::find(active, &function); open != active.end()) {
      std::string cycle;
      for (const onnx::FunctionProto *each : llvm::make_range(open, active.end()))
        cycle += describe(*each) + " -> ";
      return emitError(location) << "node '" << nodeName(call) << "' (" << call.op_type()
                                 << "): functions call themselves: " << cycle << describe(function);
    }
    if (active.size() >= kMaxDepth)
      return emitError(location) << "node '" << nodeName(call) << "' (" << call.op_type()
                                 << "): functions call functions more than " << kMaxDepth << " deep";
    active.push_back(&function);
    FailureOr<Size> size = measureNodes(function.node());
    active.pop_back();
    if (succeeded(size))
      sizes[&function] = *size;
    return size;
  }

  /// Every name that the model uses outside functions: made ones are others.
  void noteNames(const onnx::GraphProto &graph) {
    for (const onnx::ValueInfoProto &input : graph.input())
      names.insert(input.name());
    for (const onnx::TensorProto &tensor : graph.initializer())
      names.insert(tensor.name());
    for (const onnx::NodeProto &node : graph.node()) {
      for (const std::string &output : node.output())
        names.insert(output);
      forEachSubgraph(node, [&](const onnx::GraphProto &inner) { noteNames(inner); });
    }
  }

  /// What the names and attributes of a function's body mean at one call.
  struct Scope {
    const onnx::FunctionProto *function;
    std::string prefix;
    llvm::StringMap<std::string> values;
    llvm::StringMap<const onnx::AttributeProto *> attributes;
    int64_t opset;

    std::string name(const std::string &inner) const {
      if (inner.empty())
        return inner;
      auto found = values.find(inner);
      return found == values.end() ? prefix + inner : found->getValue();
    }
  };

  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  /// Expands the calls in a graph whose names are final.
  LogicalResult expand(onnx::GraphProto &graph) {
    SmallVector<onnx::NodeProto *> nodes(graph.node_size());
    graph.mutable_node()->ExtractSubrange(0, graph.node_size(), nodes.data());
    LogicalResult status = success();
    for (onnx::NodeProto *node : nodes) {
      std::unique_ptr<onnx::NodeProto> owned(node); // what an error leaves is freed
      if (succeeded(status))
        status = place(std::move(owned), *graph.mutable_node());
    }
    return status;
  }

  /// Appends a node whose names are final, or what its call becomes.
  LogicalResult place(std::unique_ptr<onnx::NodeProto> node, Nodes &out) {
    LogicalResult status = success();
    forEachSubgraph(*node, [&](onnx::GraphProto &inner) {
      if (succeeded(status))
        status = expand(inner);
    });
    if (failed(status))
      return failure();
    const onnx::FunctionProto *function = callee(*node);
    if (!function) {
      out.AddAllocated(node.release());
      return success();
    }
    return inlineCall(*node, *function, out);
  }

  InFlightDiagnostic error(const onnx::NodeProto &call) {
    return emitError(NameLoc::get(StringAttr::get(location.getContext(), nodeName(call))))
           << "node '" << nodeName(call) << "' (" << call.op_type() << "): ";
  }

  LogicalResult inlineCall(const onnx::NodeProto &call, const onnx::FunctionProto &function, Nodes &out) {
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      return error(call) << "has " << call.input_size() << " inputs and " << call.output_size()
                         << " outputs and the function takes " << function.input_size() << " and gives "
                         << function.output_size();
    Scope scope{&function, prefixFor(call, function), {}, {}, 0};
    for (const onnx::OperatorSetIdProto &opset : function.opset_import())
      if (opset.domain().empty() || opset.domain() == "ai.onnx")
        scope.opset = std::max<int64_t>(scope.opset, opset.version());
    for (int i = 0; i < function.input_size(); ++i)
      scope.values[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    // An output that is an input, or another output, too is handed on.
    SmallVector<std::pair<std::string, std::string>> copies;
    for (int i = 0; i < call.output_size(); ++i) {
      if (call.output(i).empty())
        continue;
      auto [entry, isNew] = scope.values.try_emplace(function.output(i), call.output(i));
      if (!isNew)
        copies.push_back({entry->getValue(), call.output(i)});
    }
    if (failed(bindAttributes(call, scope)))
      return failure();
    for (const onnx::NodeProto &inner : function.node()) {
      auto copy = std::make_unique<onnx::NodeProto>(inner);
      model.copyLocations(inner, *copy);
      if (failed(rename(*copy, scope, call)) || failed(place(std::move(copy), out)))
        return failure();
    }
    for (const auto &[from, to] : copies) {
      onnx::NodeProto *copy = out.Add();
      copy->set_op_type("Identity");
      copy->set_name(scope.prefix + to);
      copy->add_input(from);
      copy->add_output(to);
    }
    return success();
  }

  LogicalResult bindAttributes(const onnx::NodeProto &call, Scope &scope) {
    for (const onnx::AttributeProto &attribute : scope.function->attribute_proto())
      scope.attributes[attribute.name()] = &attribute;
    for (const std::string &name : scope.function->attribute())
      scope.attributes.try_emplace(name, nullptr);
    for (const onnx::AttributeProto &attribute : call.attribute()) {
      auto declared = scope.attributes.find(attribute.name());
      if (declared == scope.attributes.end())
        return error(call) << "the function has no attribute '" << attribute.name() << "'";
      declared->getValue() = &attribute;
    }
    return success();
  }

  /// A prefix under which no name of the function's body is taken.
  std::string prefixFor(const onnx::NodeProto &call, const onnx::FunctionProto &function) {
    std::string stem = nodeName(call).empty() ? call.op_type() : nodeName(call);
    std::string prefix = stem + "/";
    for (unsigned count = 2; !prefixes.insert(prefix).second || isTaken(prefix, function); ++count)
      prefix = stem + "_" + std::to_string(count) + "/";
    return prefix;
  }
  bool isTaken(const std::string &prefix, const onnx::FunctionProto &function) const {
    return llvm::any_of(function.node(), [&](const onnx::NodeProto &node) {
      return llvm::any_of(node.output(),
                          [&](const std::string &name) { return names.contains(prefix + name); });
    });
  }

  LogicalResult rename(onnx::NodeProto &node, const Scope &scope, const onnx::NodeProto &call) {
    node.set_name(scope.prefix + (node.name().empty() ? node.op_type() : node.name()));
    for (std::string &name : *node.mutable_input())
      name = scope.name(name);
    for (std::string &name : *node.mutable_output())
      name = scope.name(name);
    model.setOpset(node, scope.opset);
    auto &attributes = *node.mutable_attribute();
    for (int i = 0; i < attributes.size();) {
      onnx::AttributeProto &attribute = attributes[i];
      if (attribute.ref_attr_name().empty()) {
        LogicalResult status = success();
        auto within = [&](onnx::GraphProto &graph) {
          if (succeeded(status))
            status = rename(graph, scope, call);
        };
        if (attribute.has_g())
          within(*attribute.mutable_g());
        for (onnx::GraphProto &graph : *attribute.mutable_graphs())
          within(graph);
        if (failed(status))
          return failure();
        ++i;
        continue;
      }
      auto given = scope.attributes.find(attribute.ref_attr_name());
      if (given == scope.attributes.end())
        return error(call) << "node '" << node.name() << "' refers to the attribute '"
                           << attribute.ref_attr_name() << "', which the function '"
                           << describe(*scope.function) << "' does not have";
      if (!given->getValue()) { // neither given nor with a default: left out
        attributes.DeleteSubrange(i, 1);
        continue;
      }
      const onnx::AttributeProto &value = *given->getValue();
      if (attribute.has_type() && value.has_type() && attribute.type() != value.type())
        return error(call) << "attribute '" << value.name() << "' has type "
                           << onnx::AttributeProto::AttributeType_Name(value.type()) << " and node '"
                           << node.name() << "' needs "
                           << onnx::AttributeProto::AttributeType_Name(attribute.type());
      std::string name = attribute.name();
      attribute.CopyFrom(value);
      attribute.set_name(name);
      model.copyLocations(value, attribute);
      ++i;
    }
    return success();
  }

  LogicalResult rename(onnx::GraphProto &graph, const Scope &scope, const onnx::NodeProto &call) {
    for (onnx::NodeProto &node : *graph.mutable_node())
      if (failed(rename(node, scope, call)))
        return failure();
    for (onnx::TensorProto &tensor : *graph.mutable_initializer())
      tensor.set_name(scope.name(tensor.name()));
    for (auto *values : {graph.mutable_input(), graph.mutable_output()})
      for (onnx::ValueInfoProto &value : *values)
        value.set_name(scope.name(value.name()));
    return success();
  }

  Model &model;
  Location location;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  llvm::DenseMap<const onnx::FunctionProto *, Size> sizes;
  SmallVector<const onnx::FunctionProto *> active;
  llvm::StringSet<> names, prefixes;
};

} // namespace

LogicalResult zero::onnx_import::inlineFunctions(Model &model, Location location) {
  if (model.proto().functions_size() == 0)
    return success();
  model.dropFunctionBytes();
  return FunctionInliner(model, location).run();
}

//===- ControlFlow.cpp - If, Loop and Scan, resolved at import ------------===//
//
// A training step is one straight program: the branch that a constant condition takes is imported in the
// place of its If, the body of a loop once for each iteration. What runs by data is refused.
//
//===----------------------------------------------------------------------===//
#include "Graph.h"
#include "OperatorTable.h"
#include "Split.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// Iterations of one loop that are written out.
constexpr int64_t kMaxIterations = 1024;

FailureOr<const onnx::GraphProto *> body(NodeContext &node, StringRef name) {
  const onnx::AttributeProto *attribute = node.attribute(name);
  if (attribute && attribute->has_g())
    return &attribute->g();
  node.error() << "has no graph '" << name << "'";
  return failure();
}

/// The only element of a boolean; a diagnostic that says what it depends on if it is not known.
FailureOr<bool> flag(NodeContext &node, const Tensor &tensor, const Twine &what) {
  if (!tensor.elementType().isInteger(1)) {
    node.error() << what << " is " << tensor.type() << ", not a boolean";
    return failure();
  }
  if (tensor.contents && tensor.contents->size() == 1 && tensor.contents->front().isStatic())
    return !tensor.contents->front().is(0);
  const reference::HostTensor *elements = node.known(tensor);
  if (!elements) {
    node.error() << what << " is not constant: it depends on " << node.dependence(tensor);
    return failure();
  }
  if (elements->getNumElements() != 1) {
    node.error() << what << " is " << tensor.type() << ", not one boolean";
    return failure();
  }
  return elements->getInt(0) != 0;
}

LogicalResult setAll(NodeContext &node, ArrayRef<Binding> values) {
  for (auto [index, result] : llvm::enumerate(node.results))
    result = values[index];
  return success();
}

LogicalResult buildIf(NodeContext &node) {
  FailureOr<Tensor> condition = node.input(0);
  if (failed(condition))
    return failure();
  FailureOr<bool> taken = flag(node, *condition, "the condition");
  if (failed(taken))
    return failure();
  FailureOr<const onnx::GraphProto *> branch = body(node, *taken ? "then_branch" : "else_branch");
  if (failed(branch))
    return failure();
  if ((*branch)->output_size() < static_cast<int>(node.results.size()))
    return node.error() << "has " << node.results.size() << " outputs and its branch gives "
                        << (*branch)->output_size();
  FailureOr<SmallVector<Binding>> values = node.importer->importBody(**branch, {}, node.name() + "/");
  return failed(values) ? failure() : setAll(node, *values);
}

/// The values that an iteration of a loop gave for an output of its own, joined along a new dimension.
LogicalResult setJoined(NodeContext &node, unsigned index, ArrayRef<Tensor> values, int64_t axis,
                        const onnx::ValueInfoProto &declared) {
  if (values.empty()) {
    // Only the declaration says what one iteration would have given.
    const onnx::TypeProto &type = declared.type();
    if (!type.has_tensor_type() || !type.tensor_type().has_shape())
      return node.error() << "runs 0 times, and the shape of '" << declared.name() << "' is not declared";
    FailureOr<Type> element = node.elementType(type.tensor_type().elem_type());
    if (failed(element))
      return failure();
    SmallVector<int64_t> shape;
    for (const auto &dim : type.tensor_type().shape().dim()) {
      if (!dim.has_dim_value() || dim.dim_value() < 0)
        return node.error() << "runs 0 times, and the shape of '" << declared.name()
                            << "' is not declared in numbers";
      shape.push_back(dim.dim_value());
    }
    FailureOr<int64_t> at = node.axis(axis, static_cast<int64_t>(shape.size()) + 1);
    if (failed(at))
      return failure();
    shape.insert(shape.begin() + *at, 0);
    return node.set(node.splat(0, *element, shape), index);
  }
  FailureOr<int64_t> at = node.axis(axis, values.front().rank() + 1);
  if (failed(at))
    return failure();
  SmallVector<Tensor> parts;
  for (const Tensor &value : values) {
    if (value.rank() != values.front().rank())
      return node.error() << "gives " << values.front().type() << " in one iteration and " << value.type()
                          << " in another for '" << declared.name() << "'";
    Dims shape = value.shape;
    shape.insert(shape.begin() + *at, Dim(1));
    parts.push_back(node.reshape(value, std::move(shape)));
  }
  FailureOr<Tensor> joined = joinTensors(node, parts, *at);
  return failed(joined) ? failure() : node.set(std::move(*joined), index);
}

LogicalResult collect(NodeContext &node, ArrayRef<Binding> values,
                      SmallVectorImpl<SmallVector<Tensor>> &lists) {
  for (auto [value, list] : llvm::zip_equal(values, lists)) {
    if (value.isSequence || value.tensors.empty())
      return node.error() << "joins values that are not tensors";
    list.push_back(value.tensors.front());
  }
  return success();
}

/// Inputs: trip count, condition (both optional), values carried; the body takes the iteration's number and
/// the condition besides, and gives the next condition, the values carried on and values to be joined.
LogicalResult buildLoop(NodeContext &node) {
  FailureOr<const onnx::GraphProto *> graph = body(node, "body");
  if (failed(graph))
    return failure();
  std::optional<int64_t> trips;
  if (node.has(0)) {
    FailureOr<Tensor> count = node.input(0);
    if (failed(count))
      return failure();
    const reference::HostTensor *elements = node.known(*count);
    if (!elements)
      return node.error() << "the trip count is not constant: it depends on " << node.dependence(*count);
    if (elements->isFloat() || elements->getNumElements() != 1)
      return node.error() << "the trip count is " << count->type() << ", not one integer";
    trips = elements->getInt(0);
  }
  Tensor going = node.splat(1, node.builder.getI1Type());
  if (node.has(1)) {
    FailureOr<Tensor> condition = node.input(1);
    if (failed(condition))
      return failure();
    going = *condition;
  }
  SmallVector<Binding> carried;
  for (unsigned i = 2; i < node.inputs.size(); ++i) {
    if (!node.inputs[i])
      return node.error() << "input " << i << " is missing";
    carried.push_back(*node.inputs[i]);
  }
  int outputs = (*graph)->output_size();
  int joined = outputs - 1 - static_cast<int>(carried.size());
  if (joined < 0 || static_cast<size_t>(outputs - 1) < node.results.size())
    return node.error() << "carries " << carried.size() << " values and has " << node.results.size()
                        << " outputs, and its body gives " << outputs;
  SmallVector<SmallVector<Tensor>> lists(joined);
  for (int64_t i = 0; !trips || i < *trips; ++i) {
    FailureOr<bool> goes = flag(node, going, "the condition of iteration " + Twine(i));
    if (failed(goes))
      return failure();
    if (!*goes)
      break;
    if (i == kMaxIterations)
      return node.error() << "runs more than " << kMaxIterations
                          << " times; loops of at most that many iterations are unrolled";
    SmallVector<Binding> arguments;
    arguments.push_back(Binding{{node.integers({i}, /*scalar=*/true)}});
    arguments.push_back(Binding{{going}});
    arguments.append(carried);
    FailureOr<SmallVector<Binding>> values =
        node.importer->importBody(**graph, arguments, node.name() + "[" + std::to_string(i) + "]/");
    if (failed(values))
      return failure();
    if (values->front().tensors.size() != 1 || values->front().isSequence)
      return node.error() << "the condition of its body is not a tensor";
    going = values->front().tensors.front();
    ArrayRef<Binding> rest = ArrayRef(*values).drop_front();
    carried.assign(rest.begin(), rest.begin() + carried.size());
    if (failed(collect(node, rest.drop_front(carried.size()), lists)))
      return failure();
  }
  for (unsigned i = 0; i < node.results.size(); ++i) {
    if (i < carried.size())
      node.results[i] = carried[i];
    else if (failed(setJoined(node, i, lists[i - carried.size()], 0, (*graph)->output(1 + i))))
      return failure();
  }
  return success();
}

/// A list attribute of Scan with an entry for each of `count` values; zeros if it is not given.
FailureOr<SmallVector<int64_t>> entries(NodeContext &node, StringRef name, int64_t count) {
  std::optional<SmallVector<int64_t>> given = node.intsAttribute(name);
  if (!given)
    return SmallVector<int64_t>(count, 0);
  if (static_cast<int64_t>(given->size()) != count) {
    node.error() << name << " has " << given->size() << " entries for " << count << " values";
    return failure();
  }
  return *given;
}

/// Inputs: states, then tensors of which every iteration gets one slice; the body gives the next states and
/// values to be joined.
LogicalResult buildScan(NodeContext &node) {
  FailureOr<const onnx::GraphProto *> graph = body(node, "body");
  if (failed(graph))
    return failure();
  int64_t scanned = node.intAttribute("num_scan_inputs", 0),
          inputs = static_cast<int64_t>(node.inputs.size());
  if (scanned < 1 || scanned > inputs)
    return node.error() << "has " << inputs << " inputs and num_scan_inputs " << scanned;
  int64_t states = inputs - scanned, joined = (*graph)->output_size() - states;
  if (joined < 0 || (*graph)->output_size() < static_cast<int>(node.results.size()))
    return node.error() << "has " << states << " states and " << node.results.size()
                        << " outputs, and its body gives " << (*graph)->output_size();
  FailureOr<SmallVector<int64_t>> inputAxes = entries(node, "scan_input_axes", scanned),
                                  inputDirections = entries(node, "scan_input_directions", scanned),
                                  outputAxes = entries(node, "scan_output_axes", joined),
                                  outputDirections = entries(node, "scan_output_directions", joined);
  if (failed(inputAxes) || failed(inputDirections) || failed(outputAxes) || failed(outputDirections))
    return failure();
  SmallVector<Binding> carried;
  SmallVector<Tensor> sources;
  std::optional<int64_t> length;
  for (int64_t i = 0; i < inputs; ++i) {
    FailureOr<Tensor> tensor = node.input(i);
    if (failed(tensor))
      return failure();
    if (i < states) {
      carried.push_back(Binding{{*tensor}});
      continue;
    }
    FailureOr<int64_t> axis = node.axis((*inputAxes)[i - states], tensor->rank());
    if (failed(axis))
      return failure();
    (*inputAxes)[i - states] = *axis;
    const Dim &extent = tensor->shape[*axis];
    if (!extent.isStatic())
      return node.error() << "scans dimension " << *axis << " of input " << i << ", whose size is not known";
    if (length && *length != extent.value())
      return node.error() << "scans dimensions of " << *length << " and " << extent.value() << " elements";
    length = extent.value();
    sources.push_back(*tensor);
  }
  if (*length > kMaxIterations)
    return node.error() << "runs " << *length << " times; loops of at most " << kMaxIterations
                        << " iterations are unrolled";
  SmallVector<SmallVector<Tensor>> lists(joined);
  for (int64_t step = 0; step < *length; ++step) {
    SmallVector<Binding> arguments(carried);
    for (auto [i, source] : llvm::enumerate(sources)) {
      int64_t axis = (*inputAxes)[i];
      SmallVector<int64_t> starts(source.rank(), 0), strides(source.rank(), 1);
      starts[axis] = (*inputDirections)[i] ? *length - 1 - step : step;
      Dims shape = source.shape, narrow = source.shape;
      shape[axis] = Dim(1);
      narrow.erase(narrow.begin() + axis);
      arguments.push_back(Binding{{node.reshape(node.slice(source, starts, strides, std::move(shape)),
                                                std::move(narrow), {source})}});
    }
    FailureOr<SmallVector<Binding>> values =
        node.importer->importBody(**graph, arguments, node.name() + "[" + std::to_string(step) + "]/");
    if (failed(values))
      return failure();
    carried.assign(values->begin(), values->begin() + states);
    if (failed(collect(node, ArrayRef(*values).drop_front(states), lists)))
      return failure();
  }
  for (int64_t i = 0; i < static_cast<int64_t>(node.results.size()); ++i) {
    if (i < states) {
      node.results[i] = carried[i];
      continue;
    }
    SmallVector<Tensor> &list = lists[i - states];
    if ((*outputDirections)[i - states])
      std::reverse(list.begin(), list.end());
    if (failed(setJoined(node, i, list, (*outputAxes)[i - states], (*graph)->output(i))))
      return failure();
  }
  return success();
}

/// The body for each tensor of the sequence; other inputs are sequences of as many tensors, or one tensor for
/// all.
LogicalResult buildSequenceMap(NodeContext &node) {
  FailureOr<const onnx::GraphProto *> graph = body(node, "body");
  if (failed(graph))
    return failure();
  if (!node.has(0) || !node.inputs[0]->isSequence)
    return node.error() << "input 0 is not a sequence";
  size_t count = node.inputs[0]->tensors.size();
  if (count > kMaxIterations)
    return node.error() << "runs " << count << " times; loops of at most " << kMaxIterations
                        << " iterations are unrolled";
  if ((*graph)->output_size() < static_cast<int>(node.results.size()))
    return node.error() << "has " << node.results.size() << " outputs and its body gives "
                        << (*graph)->output_size();
  SmallVector<Binding> given;
  for (auto [index, input] : llvm::enumerate(node.inputs)) {
    if (!input || input->isNone)
      return node.error() << "input " << index << " is missing";
    if (input->isSequence && input->tensors.size() != count)
      return node.error() << "takes sequences of " << count << " and " << input->tensors.size() << " tensors";
    given.push_back(*input);
  }
  SmallVector<Binding> results(node.results.size());
  for (Binding &result : results)
    result.isSequence = true;
  for (size_t i = 0; i < count; ++i) {
    SmallVector<Binding> arguments;
    for (const Binding &input : given)
      arguments.push_back(Binding{{input.tensors[input.isSequence ? i : 0]}});
    FailureOr<SmallVector<Binding>> values =
        node.importer->importBody(**graph, arguments, node.name() + "[" + std::to_string(i) + "]/");
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::zip(results, *values)) {
      if (value.isSequence || value.tensors.empty())
        return node.error() << "joins values that are not tensors";
      result.tensors.push_back(value.tensors.front());
    }
  }
  return setAll(node, results);
}

constexpr OperatorRow rows[] = {
    {"If", 1, kNewestOpset, buildIf},
    {"Loop", 1, kNewestOpset, buildLoop},
    {"Scan", 9, kNewestOpset, buildScan},
    {"SequenceMap", 17, kNewestOpset, buildSequenceMap},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::controlFlowOperators() { return rows; }

FailureOr<SmallVector<Binding>> Importer::importBody(const onnx::GraphProto &graph, ArrayRef<Binding> inputs,
                                                     std::string scope) {
  if (graph.sparse_initializer_size())
    return node.error() << "has sparse initializers in its graph, which are not supported";
  if (graph.input_size() > static_cast<int>(inputs.size()))
    return node.error() << "gives " << inputs.size() << " values to a graph of " << graph.input_size()
                        << " inputs";
  // The node that holds the graph goes on afterwards; names of the graph end with it.
  NodeContext::State outer = node.save();
  Scope inner;
  Scope *outside = std::exchange(scopeAtWork, &inner);
  node.scope = std::move(scope);
  auto run = [&]() -> FailureOr<SmallVector<Binding>> {
    auto [entry, isNew] = needs.try_emplace(&graph);
    if (isNew) {
      SmallVector<std::string> roots;
      for (const onnx::ValueInfoProto &output : graph.output())
        roots.push_back(output.name());
      entry->second = std::make_unique<Needed>(findNeeded(graph, roots));
      if (failed(checkOperators(graph, *entry->second)))
        return failure();
    }
    const Needed &needed = *entry->second;
    for (auto [input, value] : llvm::zip(graph.input(), inputs))
      if (!define(input.name(), value))
        return node.error() << "has two inputs '" << input.name() << "' in its graph";
    for (const onnx::NodeProto &proto : graph.node())
      if (needed.nodes.contains(&proto) && failed(importNode(proto, needed)))
        return failure();
    node.restore(outer);
    SmallVector<Binding> results;
    for (const onnx::ValueInfoProto &output : graph.output()) {
      FailureOr<const Binding *> value = lookUp(output.name());
      if (failed(value))
        return failure();
      results.push_back(**value);
    }
    return results;
  };
  FailureOr<SmallVector<Binding>> results = run();
  node.restore(outer);
  scopeAtWork = outside;
  for (auto &[name, before] : llvm::reverse(inner.hidden)) {
    if (before)
      bindings[name] = std::move(*before);
    else
      bindings.erase(name);
  }
  return results;
}

bool Importer::define(const std::string &name, Binding binding) {
  if (!scopeAtWork->defined.insert(name).second)
    return false;
  auto [entry, isNew] = bindings.try_emplace(name);
  scopeAtWork->hidden.push_back({name, isNew ? std::nullopt : std::optional(std::move(entry->second))});
  entry->second = std::move(binding);
  return true;
}

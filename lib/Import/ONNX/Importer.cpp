//===- Importer.cpp - From the parsed model to @forward -------------------===//
#include "BoundInputs.h"
#include "Graph.h"
#include "LocalFunctions.h"
#include "OperatorTable.h"
#include "Schemas.h"
#include "Subgraphs.h"
#include "WeightInputs.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

/// Tensors up to this many elements are written into the module (not floats: those are weights unless they
/// are one number).
static constexpr int64_t kInlineElements = 256;

Importer::Importer(Model &model, const ImportOptions &options, llvm::StringMap<int64_t> dims,
                   MLIRContext *context)
    : model(model), options(options), weights(model, options), rules(model, options),
      startingValues(rules, options), context(context),
      location(NameLoc::get(StringAttr::get(context, model.path()))), node(context),
      evaluator([this](BlockArgument argument) { return constantArgument(argument); }),
      boundDims(std::move(dims)) {
  for (const auto &dim : boundDims)
    knownDims.insert(dim.getKey());
  for (const auto &dim : options.dims)
    boundDims[dim.getKey()] = dim.getValue();
  node.opset = model.opset();
  node.importer = this;
  node.location = location;
  batch = node.freshDim();
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    initializers.emplace(tensor.name(), &tensor);
  for (const onnx::ValueInfoProto &input : model.graph().input())
    if (!initializers.count(input.name()))
      inputs[input.name()] = &input;
}

OwningOpRef<ModuleOp> Importer::run() {
  if (model.graph().sparse_initializer_size()) {
    emitError(location) << "sparse initializers are not supported; the first is '"
                        << model.graph().sparse_initializer(0).values().name() << "'";
    return nullptr;
  }
  if (static_cast<int>(initializers.size()) != model.graph().initializer_size()) {
    llvm::StringSet<> names;
    for (const onnx::TensorProto &tensor : model.graph().initializer())
      if (!names.insert(tensor.name()).second)
        emitError(location) << "the model has two initializers '" << tensor.name() << "'";
    return nullptr;
  }
  if (failed(rules.check(location)) || (hasLoss() && failed(findLossOutput())))
    return nullptr;
  SmallVector<std::string> outputs;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    outputs.push_back(output.name());
  needed = findNeeded(model.graph(), hasLoss() ? ArrayRef<std::string>(lossOutput) : outputs);
  if (hasLoss())
    optional = findNeeded(model.graph(), outputs);
  if (failed(checkOperators(model.graph(), needed)))
    return nullptr;

  module = ModuleOp::create(location);
  module.get()->setAttr(nn::kModelAttrName, weights.wholeModel(context));
  node.builder.setInsertionPointToStart(module->getBody());
  function = func::FuncOp::create(node.builder, location, "forward", node.builder.getFunctionType({}, {}));
  node.builder.setInsertionPointToStart(function.addEntryBlock());
  if (failed(addInputs()))
    return nullptr;
  for (const onnx::NodeProto &proto : model.graph().node()) {
    if (needed.nodes.contains(&proto)) {
      if (failed(importNode(proto, needed)))
        return nullptr;
    } else if (optional.nodes.contains(&proto)) {
      importOptionalNode(proto);
    }
  }
  node.node = nullptr;
  node.location = location;
  if ((hasLoss() && failed(addLoss())) || failed(addOutputs()) || failed(finish()))
    return nullptr;
  return std::move(module);
}

/// The output that the loss reads: the one named, or the only float one.
LogicalResult Importer::findLossOutput() {
  SmallVector<std::string> floats, all;
  for (const onnx::ValueInfoProto &output : model.graph().output()) {
    all.push_back("'" + output.name() + "'");
    int type = output.type().tensor_type().elem_type();
    if (type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE ||
        type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16)
      floats.push_back(output.name());
  }
  if (!options.loss.output.empty()) {
    lossOutput = options.loss.output;
    if (!llvm::is_contained(all, "'" + lossOutput + "'"))
      return emitError(location) << "the model has no output '" << lossOutput << "'; its outputs are "
                                 << llvm::join(all, ", ");
    return success();
  }
  if (floats.empty())
    return emitError(location) << "the model has no float output: there is nothing to minimise";
  if (floats.size() != 1)
    return emitError(location) << "the model has " << floats.size() << " float outputs among "
                               << llvm::join(all, ", ")
                               << "; name the loss's as in --loss=cross-entropy:OUTPUT";
  lossOutput = floats.front();
  return success();
}

/// What the roots depend on, backwards from them; the rest of the graph is not looked at.
Importer::Needed Importer::findNeeded(const onnx::GraphProto &graph, ArrayRef<std::string> roots) {
  Needed needed;
  for (const std::string &root : roots)
    needed.values.insert(root);
  auto &nodes = graph.node();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    auto isNeeded = [&](const std::string &name) { return !name.empty() && needed.values.contains(name); };
    if (llvm::none_of(it->output(), isNeeded))
      continue;
    needed.nodes.insert(&*it);
    forEachRead(*it, [&](const std::string &name) { needed.values.insert(name); });
  }
  return needed;
}

BlockArgument Importer::addArgument(RankedTensorType type, nn::RoleKind role, StringRef name) {
  Location at = NameLoc::get(StringAttr::get(context, name));
  BlockArgument argument = function.getBody().front().addArgument(type, at);
  argumentAttributes.push_back(node.builder.getDictionaryAttr(
      node.builder.getNamedAttr(nn::kRoleAttrName, nn::RoleAttr::get(context, role, name))));
  return argument;
}

FailureOr<Tensor> Importer::addInput(const onnx::ValueInfoProto &input) {
  node.location = NameLoc::get(StringAttr::get(context, input.name()));
  if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
    return emitError(node.location) << "input '" << input.name() << "' has no shape of known rank";
  FailureOr<Type> element = node.elementType(input.type().tensor_type().elem_type());
  if (failed(element))
    return failure();
  Tensor tensor;
  for (auto [index, dim] : llvm::enumerate(input.type().tensor_type().shape().dim())) {
    // What some exporters write where nothing is known.
    bool isNamed =
        dim.has_dim_param() && !dim.dim_param().empty() && dim.dim_param() != "?" && dim.dim_param() != "-1";
    bool isBatchSize = dim.has_dim_value() && index == 0 && (dim.dim_value() == -1 || (dim.dim_value() == 0 && hasLoss()));
    bool isUnknown = dim.has_dim_value() && (isBatchSize || dim.dim_value() == -1);
    // One without a name is called by its place.
    std::string symbol = isNamed ? dim.dim_param() : input.name() + "." + std::to_string(index);
    if (isNamed || !dim.has_dim_value() || isUnknown)
      knownDims.insert(symbol);
    auto bound = boundDims.find(symbol);
    if (dim.has_dim_value() && !isUnknown) {
      if (dim.dim_value() < 0)
        return emitError(node.location)
               << "dimension " << index << " of input '" << input.name() << "' is " << dim.dim_value();
      tensor.shape.push_back(Dim(dim.dim_value()));
      if (index == 0 && hasLoss())
        fixedBatch = dim.dim_value();
    } else if (bound != boundDims.end()) {
      usedDims.insert(bound->getKey());
      tensor.shape.push_back(Dim(bound->getValue()));
    } else if (index == 0) {
      tensor.shape.push_back(batch);
    } else if (isNamed) {
      InFlightDiagnostic diagnostic = emitError(node.location);
      diagnostic << "dimension " << index << " of input '" << input.name() << "' is the unbound symbol '"
                 << dim.dim_param() << "'; give it a size with --dim " << dim.dim_param() << "=VALUE";
      for (const onnx::ValueInfoProto &other : model.graph().input())
        if (const auto &shape = other.type().tensor_type().shape();
            shape.dim_size() && shape.dim(0).dim_param() == dim.dim_param()) {
          diagnostic << " (it is also the first dimension of input '" << other.name()
                     << "': a batch is the first dimension of every input)";
          break;
        }
      return diagnostic;
    } else {
      return emitError(node.location)
             << "dimension " << index << " of input '" << input.name()
             << "' has neither a size nor a name; give it a size with --dim " << symbol << "=VALUE";
    }
  }
  if (tensor.shape.empty() && hasLoss())
    return emitError(node.location) << "input '" << input.name()
                                    << "' is a scalar: it has no first dimension to be the batch";
  int64_t elements = 1;
  for (const Dim &dim : tensor.shape)
    if (llvm::MulOverflow(elements, dim.isStatic() && !dim.is(0) ? dim.value() : 1, elements) ||
        elements > GraphBuilder::kMaxElements || tensor.rank() > GraphBuilder::kMaxRank)
      return emitError(node.location) << "input '" << input.name() << "' has impossible dimensions";
  nn::RoleKind role = input.name() == options.labels ? nn::RoleKind::Label : nn::RoleKind::Input;
  tensor.value = addArgument(node.tensorType(tensor.shape, *element), role, input.name());
  return tensor;
}

LogicalResult Importer::addInputs() {
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    if (initializers.count(input.name()))
      continue;
    FailureOr<Tensor> tensor = addInput(input);
    if (failed(tensor))
      return failure();
    if (!define(input.name(), Binding{{*tensor}}))
      return emitError(location) << "the model has two inputs '" << input.name() << "'";
  }
  node.location = location;
  for (auto &dim : options.dims)
    if (!usedDims.contains(dim.getKey())) {
      SmallVector<StringRef> known(knownDims.keys());
      llvm::sort(known);
      return emitError(location) << "no symbolic dimension of an input is called '" << dim.getKey() << "'"
                                 << (known.empty() ? "" : "; there are: ") << llvm::join(known, ", ");
    }
  return success();
}

FailureOr<const Binding *> Importer::lookUp(const std::string &name) {
  auto found = bindings.find(name);
  if (found != bindings.end())
    return &found->second;
  auto initializer = initializers.find(name);
  if (initializer == initializers.end()) {
    InFlightDiagnostic diagnostic = node.error();
    diagnostic << "reads '" << name << "', which nothing before it defines";
    for (const onnx::NodeProto &proto : model.graph().node())
      if (llvm::is_contained(proto.output(), name)) {
        diagnostic << "; node '" << nodeName(proto)
                   << "' behind it does: the nodes are not in order, or go in a circle";
        break;
      }
    return failure();
  }
  Location before = std::exchange(node.location, NameLoc::get(StringAttr::get(context, name)));
  FailureOr<Tensor> tensor = stored(*initializer->second, name, Origin::Initializer);
  node.location = before;
  if (failed(tensor))
    return failure();
  Binding &binding = bindings[name];
  binding.tensors.push_back(*tensor);
  return &binding;
}

FailureOr<Tensor> Importer::stored(const onnx::TensorProto &tensor, StringRef name, Origin origin) {
  if (auto built = builtTensors.find(&tensor); built != builtTensors.end())
    return built->second; // another iteration's
  FailureOr<Type> element = node.elementType(tensor.data_type());
  if (failed(element))
    return failure();
  std::optional<int64_t> count = elementCount(tensor);
  if (!count || *count > GraphBuilder::kMaxElements || tensor.dims_size() > GraphBuilder::kMaxRank)
    return emitError(node.location) << "tensor '" << name << "' has impossible dimensions";
  auto entry = std::make_unique<Stored>();
  entry->tensor = &tensor;
  entry->name = name.str();
  const bool isInitializer = origin == Origin::Initializer;
  entry->isInitializer = isInitializer;
  entry->type = RankedTensorType::get(ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()), *element);
  bool isFloat = isa<FloatType>(*element);
  if (!hasLoss())
    entry->whyNotTrained = "there is no loss";
  else if (!isFloat)
    entry->whyNotTrained = "it holds integers";
  else if (isInitializer)
    entry->whyNotTrained = rules.whyNotTrained(tensor);
  else
    entry->whyNotTrained = origin == Origin::Constant ? rules.whyConstantNotTrained(name) : "it is an attribute of a node";
  entry->missing = weights.whyMissing(tensor);
  Tensor result;
  bool isTrained = entry->whyNotTrained.empty();
  // What is missing may be a float: integers are shapes and indices, which the import reads.
  bool isWeight = isFloat && isInitializer && !model.isAdded(tensor) && !rules.saysSizes(name);
  bool isInline = !isTrained && *count <= (isWeight ? 1 : kInlineElements);
  if (isInline && !(isFloat && !entry->missing.empty())) {
    FailureOr<DenseElementsAttr> elements = weights.inlined(tensor, entry->type, node.location);
    if (failed(elements))
      return failure();
    result = node.constant(*elements);
    if (!isInitializer)
      builtTensors[&tensor] = result;
  } else {
    for (int64_t dim : tensor.dims())
      result.shape.push_back(Dim(dim));
    // A constant of a function that is called twice is one weight: the file holds it once.
    if (isTrained && !isInitializer) {
      FailureOr<std::optional<FileBytes>> raw = model.rawBytes(tensor, node.location);
      if (failed(raw))
        return failure();
      if (*raw && (*raw)->path == model.path() && *count) {
        auto [other, isNew] = trainedConstants.try_emplace((*raw)->offset, entry.get());
        if (!isNew) {
          result.value = other->second->argument;
          return result;
        }
      }
    }
    entry->argument =
        addArgument(entry->type, isTrained ? nn::RoleKind::Parameter : nn::RoleKind::Frozen, name);
    result.value = entry->argument;
    if (!isInitializer)
      builtTensors[&tensor] = result;
  }
  storedTensors.push_back(std::move(entry));
  return result;
}

FailureOr<Tensor> NodeContext::stored(const onnx::TensorProto &tensor, StringRef name) {
  return importer->stored(tensor, name, Importer::Origin::Other);
}

FailureOr<Tensor> NodeContext::storedConstant(const onnx::TensorProto &tensor) {
  return importer->stored(tensor, node->output(0), Importer::Origin::Constant);
}

FailureOr<Tensor> NodeContext::storedConstant(ArrayRef<float> numbers, bool scalar) {
  return importer->storedFloats(numbers, scalar, node->output(0));
}

FailureOr<std::optional<Tensor>> NodeContext::parameterOfShape(RankedTensorType type) {
  return importer->parameterOfShape(node->output(0), type);
}

/// Floats that stand in a node's attribute become a tensor like all others where they are trained.
FailureOr<Tensor> Importer::storedFloats(ArrayRef<float> numbers, bool scalar, StringRef name) {
  auto [place, isNew] = ownTensors.try_emplace(node.node);
  onnx::TensorProto &tensor = place->second;
  if (!isNew) // another iteration's
    return stored(tensor, name, Origin::Constant);
  tensor.set_name(name.str());
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  if (!scalar)
    tensor.add_dims(static_cast<int64_t>(numbers.size()));
  tensor.mutable_float_data()->Add(numbers.begin(), numbers.end());
  return stored(tensor, name, Origin::Constant);
}

FailureOr<std::optional<Tensor>> Importer::parameterOfShape(StringRef name, RankedTensorType type) {
  if (!hasLoss() || !startingValues.isNamed(name) || rules.isFrozen(name))
    return std::optional<Tensor>();
  if (!type.hasStaticShape()) {
    node.error() << "--init makes '" << name << "' a parameter, and its type " << type << " is not known before the "
                 << "batch is";
    return failure();
  }
  auto entry = std::make_unique<Stored>();
  entry->name = name.str();
  entry->type = type;
  entry->isInitializer = false;
  entry->missing = "it is filled at run time";
  entry->argument = addArgument(type, nn::RoleKind::Parameter, name);
  Tensor result;
  result.value = entry->argument;
  for (int64_t size : type.getShape())
    result.shape.push_back(Dim(size));
  storedTensors.push_back(std::move(entry));
  return std::optional<Tensor>(std::move(result));
}

bool NodeContext::trains() const { return importer->hasLoss(); }

bool NodeContext::isWeight(Value value) const { return importer->isWeight(value); }

bool Importer::dependsOnParameter(Value value) const {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    if (Operation *op = values[i].getDefiningOp()) {
      values.insert(op->operand_begin(), op->operand_end());
      continue;
    }
    auto role = cast<nn::RoleAttr>(
        argumentAttributes[cast<BlockArgument>(values[i]).getArgNumber()].get(nn::kRoleAttrName));
    if (role.getKind() == nn::RoleKind::Parameter)
      return true;
  }
  return false;
}

bool NodeContext::dependsOnParameter(Value value) const { return importer->dependsOnParameter(value); }

const reference::HostTensor *NodeContext::known(const Tensor &tensor) {
  return importer->constants().elements(tensor.value);
}

Value NodeContext::obstacle(const Tensor &tensor) { return importer->constants().obstacle(tensor.value); }

std::string NodeContext::dependence(const Tensor &tensor) {
  Value obstacle = this->obstacle(tensor);
  if (!obstacle)
    return "the batch, or a value that is too large to be computed while importing";
  std::string name;
  if (auto location = dyn_cast<NameLoc>(obstacle.getLoc()))
    name = location.getName().str();
  return (isa<BlockArgument>(obstacle) ? "'" : "node '") + name + "'";
}

/// The elements of a weight that is not trained.
std::optional<reference::HostTensor> Importer::constantArgument(BlockArgument argument) {
  for (auto &entry : storedTensors) {
    if (entry->argument != argument || entry->whyNotTrained.empty())
      continue;
    if (!entry->missing.empty())
      return std::nullopt;
    FailureOr<DenseElementsAttr> elements =
        weights.inlined(*entry->tensor, entry->type, argument.getLoc());
    if (failed(elements))
      return std::nullopt;
    FailureOr<reference::HostTensor> tensor = reference::HostTensor::fromAttribute(*elements);
    return failed(tensor) ? std::nullopt : std::optional(std::move(*tensor));
  }
  return std::nullopt;
}

LogicalResult Importer::importNode(const onnx::NodeProto &proto, const Needed &needed) {
  node.node = &proto;
  node.opset = model.opset(proto);
  node.forgetExcess();
  node.location = NameLoc::get(StringAttr::get(context, node.name()));
  constexpr int64_t kMaxNodes = 1 << 16;
  if (++importedNodes > kMaxNodes)
    return node.error() << "is number " << importedNodes << " of the nodes after loops are unrolled; at most "
                        << kMaxNodes << " are imported";
  node.inputs.clear();
  for (const std::string &name : proto.input()) {
    const Binding *binding = nullptr;
    if (!name.empty()) {
      FailureOr<const Binding *> found = lookUp(name);
      if (failed(found))
        return failure();
      binding = *found;
    }
    node.inputs.push_back(binding);
  }
  node.results.assign(proto.output_size(), Binding());
  if (failed(checkSchema(node)))
    return failure();
  StringRef domain = proto.domain() == "ai.onnx" ? "" : StringRef(proto.domain());
  if (failed(findOperator(domain, proto.op_type())->build(node)))
    return failure();
  if (mlir::Type excess = node.excessiveType())
    return node.error() << "makes a tensor of type " << excess << "; at most " << GraphBuilder::kMaxElements
                        << " elements and " << GraphBuilder::kMaxRank << " dimensions are supported";
  for (auto [name, result] : llvm::zip_equal(proto.output(), node.results)) {
    if (name.empty())
      continue;
    if (result.tensors.empty() && !result.isSequence && !result.isNone) {
      if (needed.values.contains(name)) {
        node.error() << "output '" << name << "' is not supported";
        return failure();
      }
      if (scopeAtWork == &mainScope)
        missing[name] = "node '" + node.name() + "' (" + proto.op_type() + "): output '" + name + "' is not supported";
      continue;
    }
    if ((scopeAtWork == &mainScope && initializers.count(name)) || !define(name, std::move(result)))
      return node.error() << "defines '" << name << "' again";
  }
  return success();
}

OwningOpRef<ModuleOp> zero::importONNX(StringRef path, const ImportOptions &options, MLIRContext *context) {
  context->loadDialect<nn::NNDialect, func::FuncDialect>();
  Location location = NameLoc::get(StringAttr::get(context, path));
  std::unique_ptr<Model> model = Model::open(path, location);
  if (!model)
    return nullptr;
  llvm::StringMap<int64_t> dims;
  if (failed(bindInputs(*model, options, dims, location)) ||
      failed(adoptWeightInputs(*model, options, location)) || failed(inlineFunctions(*model, location)))
    return nullptr;
  hoistInitializers(*model);
  for (const onnx::TrainingInfoProto &training : model->proto().training_info()) {
    StringRef name = training.algorithm().name();
    emitWarning(location) << "the model's training information '"
                          << (name.empty() ? StringRef(training.initialization().name()) : name)
                          << "' is ignored: the loss is --loss, the optimizer is the configuration's";
  }
  return Importer(*model, options, std::move(dims), context).run();
}

//===- Loss.cpp - The loss, the labels and the end of @forward ------------===//
#include "Graph.h"
#include "RowOrder.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

std::optional<LossSpec> LossSpec::parse(StringRef text) {
  LossSpec spec;
  auto [kind, output] = text.split(':');
  if (text.ends_with(":"))
    return std::nullopt;
  if (kind == "cross-entropy")
    spec.kind = Kind::CrossEntropy;
  else if (kind == "mse")
    spec.kind = Kind::MeanSquaredError;
  else if (kind == "output")
    spec.kind = Kind::Output;
  else if (text == "none")
    spec.kind = Kind::None;
  else
    return std::nullopt;
  spec.output = output.str();
  return spec;
}

/// The shape of one batch of labels whose positions are those of `shape`. Of an output that is flattened to
/// (batch x positions, ...) each sample keeps its own positions: (batch, positions, ...).
Dims Importer::labelShape(const Dims &shape, Value prediction) {
  if (shape.empty() || shape[0] == batch)
    return shape;
  Dim samples = batch;
  if (shape[0].isStatic()) // a batch that the model fixes
    for (const auto &[name, input] : bindings)
      if (inputs.count(name) && !input.isSequence && input.tensors.front().rank())
        samples = input.tensors.front().shape[0];
  std::optional<Dim> each = Dim::divide(shape[0], samples);
  if (!each || !each->isStatic() || each->value() < 2 || (shape[0].isStatic() && !samples.isStatic()) ||
      !rowsFollowSamples(prediction, samples.typeSize(), each->value()))
    return shape;
  Dims result{samples, *each};
  result.append(shape.begin() + 1, shape.end());
  return result;
}

/// Labels of the given shape: a new argument, or the graph's own input of that name, which must have the
/// shape.
FailureOr<Tensor> Importer::addLabels(const Dims &positions, Type element, Value prediction) {
  Dims shape = labelShape(positions, prediction);
  FailureOr<Tensor> labels = addLabelArgument(shape, element);
  if (failed(labels) || shape == positions)
    return labels;
  return node.reshape(*labels, positions, {*labels});
}

FailureOr<Tensor> Importer::addLabelArgument(const Dims &shape, Type element) {
  Tensor labels;
  labels.shape = shape;
  if (inputs.count(options.labels)) {
    labels = bindings[options.labels].tensors.front();
    if (labels.shape == shape && isa<FloatType>(labels.elementType()) == isa<FloatType>(element))
      return labels;
    return emitError(labels.value.getLoc())
           << "input '" << options.labels << "' is named as the labels and has type " << labels.type()
           << " where the loss of output '" << lossOutput << "' needs " << node.tensorType(shape, element);
  }
  for (auto [index, dim] : llvm::enumerate(shape))
    if (!dim.isStatic() && !(index == 0 && dim == batch))
      return emitError(location) << "dimension " << index << " of the labels of output '" << lossOutput
                                 << "' is neither a number nor the batch";
  if (shape.empty())
    return emitError(location) << "output '" << lossOutput
                               << "' has no dimension but its classes: the labels have none to be the batch";
  // Arguments stand in the order inputs, labels, weights: finish() moves the weights behind.
  labels.value = addArgument(node.tensorType(shape, element), nn::RoleKind::Label, options.labels);
  return labels;
}

/// Labels have the logits' shape without the class axis. Moves the classes to the last dimension.
FailureOr<Tensor> Importer::addCrossEntropyLabels(Tensor &logits) {
  int64_t rank = logits.rank();
  if (rank < 1)
    return emitError(location) << "output '" << lossOutput << "' is a scalar and cannot hold classes";
  auto without = [&](int64_t axis) {
    Dims shape = logits.shape;
    shape.erase(shape.begin() + axis);
    return shape;
  };
  int64_t axis = options.classAxis.value_or(rank - 1);
  if (axis >= rank)
    return emitError(location) << "--class-axis=" << axis << " is outside output '" << lossOutput
                               << "' of type " << logits.type();
  if (!options.classAxis && rank > 2 && inputs.count(options.labels)) {
    const Dims &declared = bindings[options.labels].tensors.front().shape;
    if (declared != without(axis) && declared == without(1))
      axis = 1;
  }
  FailureOr<Tensor> labels = addLabels(without(axis), node.builder.getI64Type(), logits.value);
  if (failed(labels))
    return failure();
  if (axis != rank - 1) {
    SmallVector<int64_t> permutation;
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis)
        permutation.push_back(i);
    permutation.push_back(axis);
    logits = node.transpose(logits, permutation);
  }
  return labels;
}

/// What the model says of an output's type against what it computes, where both are known.
LogicalResult Importer::checkDeclared(const Tensor &tensor, StringRef name) {
  for (const onnx::ValueInfoProto &output : model.graph().output()) {
    if (output.name() != name || !output.type().has_tensor_type())
      continue;
    const onnx::TypeProto::Tensor &declared = output.type().tensor_type();
    std::string shape;
    bool fits = !declared.has_shape() || declared.shape().dim_size() == tensor.rank();
    for (auto [index, dim] : llvm::enumerate(declared.shape().dim())) {
      shape += (index ? "x" : "") + (dim.has_dim_value() ? std::to_string(dim.dim_value())
                                     : dim.dim_param().empty() ? "?"
                                                               : dim.dim_param());
      // Sizes below 1 are ways to spell the batch.
      if (fits && dim.has_dim_value() && dim.dim_value() > 0 && tensor.shape[index].isStatic())
        fits = tensor.shape[index].is(dim.dim_value());
    }
    if (!fits)
      return emitError(NameLoc::get(StringAttr::get(context, name)))
             << "output '" << name << "' is declared with the shape " << (shape.empty() ? "of one number" : shape)
             << " and computed with the type " << tensor.type();
    FailureOr<Type> element = declared.has_elem_type() ? node.elementType(declared.elem_type()) : tensor.elementType();
    if (failed(element))
      return failure();
    if (*element != tensor.elementType())
      return emitError(NameLoc::get(StringAttr::get(context, name)))
             << "output '" << name << "' is declared with the element type " << *element
             << " and computed with the type " << tensor.type();
  }
  return success();
}

LogicalResult Importer::addLoss() {
  FailureOr<const Binding *> binding = lookUpOutput(lossOutput);
  if (failed(binding))
    return failure();
  if ((*binding)->isSequence)
    return emitError(location) << "output '" << lossOutput << "' is a sequence and cannot be a loss";
  if ((*binding)->isNone)
    return emitError(location) << "output '" << lossOutput
                               << "' is an optional without element and cannot be a loss";
  Tensor prediction = (*binding)->tensors.front();
  if (failed(checkDeclared(prediction, lossOutput)))
    return failure();
  auto element = dyn_cast<FloatType>(prediction.elementType());
  if (!element)
    return emitError(location) << "output '" << lossOutput << "' has type " << prediction.type()
                               << "; a loss needs floats";
  node.location = NameLoc::get(StringAttr::get(context, "loss:" + lossOutput));
  OpBuilder &builder = node.builder;
  // Losses, norms and rates are f32, also of a model that computes in f64.
  const Type labelElement = element;
  if (element.isF64()) {
    prediction = node.cast(prediction, builder.getF32Type());
    element = builder.getF32Type();
  }
  Type sumType = RankedTensorType::get({}, builder.getF32Type());
  Type countType = RankedTensorType::get({}, builder.getI64Type());
  if (options.labels.empty() && options.loss.kind != LossSpec::Kind::Output)
    return emitError(location) << "the loss of output '" << lossOutput
                               << "' needs the labels' name: --labels=NAME";

  Operation *loss = nullptr;
  switch (options.loss.kind) {
  case LossSpec::Kind::CrossEntropy: {
    FailureOr<Tensor> labels = addCrossEntropyLabels(prediction);
    if (failed(labels))
      return failure();
    Dims positions(ArrayRef(prediction.shape).drop_back());
    Type lseType = node.tensorType(positions, element);
    loss = nn::CrossEntropyOp::create(builder, node.location, TypeRange{sumType, countType, lseType},
                                      prediction.value, labels->value);
    break;
  }
  case LossSpec::Kind::MeanSquaredError: {
    FailureOr<Tensor> labels = addLabels(prediction.shape, labelElement, prediction.value);
    if (failed(labels))
      return failure();
    Tensor target = node.cast(*labels, element);
    loss = nn::MseLossOp::create(builder, node.location, TypeRange{sumType, countType}, prediction.value,
                                 target.value);
    break;
  }
  case LossSpec::Kind::Output:
    for (const Dim &dim : prediction.shape)
      if (!dim.is(1))
        return emitError(location) << "output '" << lossOutput << "' has type " << prediction.type()
                                   << "; a loss that the model computes has one element";
    if (!options.labels.empty() && !inputs.count(options.labels))
      return emitError(location)
             << "--labels=" << options.labels
             << " names no input of the model, and a loss that the model computes has no other labels";
    loss = nn::OutputLossOp::create(builder, node.location, TypeRange{sumType, countType}, prediction.value);
    break;
  case LossSpec::Kind::None:
    llvm_unreachable("a model without a loss does not come here");
  }
  addResult(loss->getResult(0), nn::RoleKind::LossSum, "", /*batched=*/false);
  addResult(loss->getResult(1), nn::RoleKind::LabelCount, "", /*batched=*/false);
  return success();
}

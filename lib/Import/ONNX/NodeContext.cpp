//===- NodeContext.cpp - Inputs, attributes and results of the node at work ---===//
#include "Importer.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

InFlightDiagnostic NodeContext::error() {
  InFlightDiagnostic diagnostic = emitError(location);
  diagnostic << "node '" << name() << "' (" << node->op_type() << ", opset " << opset << "): ";
  return diagnostic;
}

std::string NodeContext::name() const { return scope + onnx_import::nodeName(*node); }

FailureOr<Tensor> NodeContext::input(unsigned index) {
  if (!has(index)) {
    error() << "input " << index << " is missing";
    return failure();
  }
  if (inputs[index]->isSequence) {
    error() << "input " << index << " is a sequence, not a tensor";
    return failure();
  }
  if (inputs[index]->isNone) {
    error() << "input " << index << " is an optional without element, not a tensor";
    return failure();
  }
  // Lists of integers that have to be computed: sizes, axes, positions.
  constexpr int64_t kListed = 64;
  Tensor tensor = inputs[index]->tensors.front();
  auto integer = dyn_cast<IntegerType>(tensor.elementType());
  bool isList = integer && integer.isSignless() && integer.getWidth() > 1 && tensor.rank() <= 1 &&
                (tensor.rank() == 0 || (tensor.shape[0].isStatic() && tensor.shape[0].value() <= kListed));
  if (isList && !tensor.contents)
    if (const reference::HostTensor *elements = known(tensor)) {
      tensor.contents.emplace();
      for (int64_t i = 0; i < elements->getNumElements(); ++i)
        tensor.contents->push_back(Dim(elements->getInt(i)));
    }
  return tensor;
}

void NodeContext::restore(const State &state) {
  node = state.node;
  location = state.location;
  opset = state.opset;
  scope = state.scope;
  inputs = state.inputs;
  results = state.results;
}

std::optional<double> NodeContext::scalarConstant(const Tensor &tensor) {
  if (std::optional<double> number = GraphBuilder::scalarConstant(tensor))
    return number;
  const reference::HostTensor *elements = known(tensor);
  if (!elements || elements->getNumElements() != 1)
    return std::nullopt;
  return elements->isFloat() ? elements->getFloat(0) : static_cast<double>(elements->getInt(0));
}

FailureOr<Tensor> NodeContext::floatInput(unsigned index) {
  FailureOr<Tensor> tensor = input(index);
  if (failed(tensor) || isa<FloatType>(tensor->elementType()))
    return tensor;
  error() << "needs floats, not " << tensor->type();
  return failure();
}

FailureOr<SmallVector<int64_t>> NodeContext::integerInput(unsigned index, StringRef what, size_t from) {
  FailureOr<Tensor> tensor = input(index);
  if (failed(tensor))
    return failure();
  ArrayRef<Dim> elements;
  if (tensor->contents)
    elements = ArrayRef<Dim>(*tensor->contents).drop_front(std::min(from, tensor->contents->size()));
  if (!tensor->contents || !llvm::all_of(elements, [](const Dim &dim) { return dim.isStatic(); })) {
    error() << what << " (input " << index << ") must be constant, but depends on " << dependence(*tensor);
    return failure();
  }
  return llvm::map_to_vector(elements, [](const Dim &dim) { return dim.value(); });
}

FailureOr<SmallVector<double>> NodeContext::floatNumbers(unsigned index, StringRef what) {
  FailureOr<Tensor> tensor = input(index);
  if (failed(tensor))
    return failure();
  const reference::HostTensor *elements = known(*tensor);
  if (!elements || !elements->isFloat()) {
    error() << what << " (input " << index << ") must be constant floats, not " << tensor->type();
    return failure();
  }
  SmallVector<double> numbers;
  for (int64_t i = 0; i < elements->getNumElements(); ++i)
    numbers.push_back(elements->getFloat(i));
  return numbers;
}

FailureOr<int64_t> NodeContext::integer(unsigned index, StringRef what) {
  FailureOr<SmallVector<int64_t>> elements = integerInput(index, what);
  if (failed(elements))
    return failure();
  if (elements->size() != 1) {
    error() << what << " (input " << index << ") has " << elements->size() << " elements, not 1";
    return failure();
  }
  return elements->front();
}

FailureOr<Tensor> NodeContext::shapeInput(unsigned index) {
  FailureOr<Tensor> shape = input(index);
  if (failed(shape))
    return failure();
  if (shape->rank() == 1 && shape->shape[0].isStatic() && shape->elementType().isSignlessInteger(64)) {
    if (failed(checkIndependent(*shape, "the shape (input " + std::to_string(index) + ")")))
      return failure();
    if (shape->shape[0].value() <= kMaxRank)
      return shape;
    error() << "has a shape of " << shape->shape[0].value() << " dimensions; at most " << kMaxRank
            << " are supported";
    return failure();
  }
  error() << "needs a shape, a list of int64 of known length, not " << shape->type();
  return failure();
}

LogicalResult NodeContext::checkIndependent(const Tensor &size, StringRef what) {
  if (size.contents || known(size) || !isa_and_nonnull<BlockArgument>(obstacle(size)))
    return success();
  return error() << what << " depends on data: on " << dependence(size);
}

FailureOr<Tensor> NodeContext::sizesInput(unsigned index) {
  FailureOr<Tensor> shape = shapeInput(index);
  if (failed(shape) || !shape->contents)
    return shape;
  for (const Dim &dim : *shape->contents)
    if (dim.isStatic() && dim.value() < 0) {
      error() << "has the size " << dim.value() << " in its shape";
      return failure();
    }
  return shape;
}

FailureOr<std::optional<SmallVector<int64_t>>> NodeContext::inputOrAttribute(unsigned index, StringRef name) {
  if (!has(index))
    return intsAttribute(name);
  FailureOr<SmallVector<int64_t>> elements = integerInput(index, name);
  if (failed(elements))
    return failure();
  return std::optional(std::move(*elements));
}

const onnx::AttributeProto *NodeContext::attribute(StringRef name) const {
  for (const onnx::AttributeProto &attribute : node->attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t NodeContext::intAttribute(StringRef name, int64_t otherwise) const {
  const onnx::AttributeProto *found = attribute(name);
  return found ? found->i() : otherwise;
}

double NodeContext::floatAttribute(StringRef name, double otherwise) const {
  const onnx::AttributeProto *found = attribute(name);
  return found ? static_cast<double>(found->f()) : otherwise;
}

std::string NodeContext::stringAttribute(StringRef name, StringRef otherwise) const {
  const onnx::AttributeProto *found = attribute(name);
  return found ? found->s() : otherwise.str();
}

std::optional<SmallVector<int64_t>> NodeContext::intsAttribute(StringRef name) const {
  const onnx::AttributeProto *found = attribute(name);
  if (!found)
    return std::nullopt;
  return SmallVector<int64_t>(found->ints().begin(), found->ints().end());
}

FailureOr<int64_t> NodeContext::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    error() << "axis " << axis << " is outside a tensor of rank " << rank;
    return failure();
  }
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> NodeContext::axes(ArrayRef<int64_t> list, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t entry : list) {
    FailureOr<int64_t> normal = axis(entry, rank);
    if (failed(normal))
      return failure();
    if (llvm::is_contained(result, *normal)) {
      error() << "axis " << *normal << " is given twice";
      return failure();
    }
    result.push_back(*normal);
  }
  llvm::sort(result);
  return result;
}

LogicalResult NodeContext::set(Tensor tensor, unsigned index) {
  // What is a plain number for every batch needs no arithmetic.
  if (tensor.contents && !tensor.value.getDefiningOp<nn::ConstantOp>() &&
      tensor.elementType().isSignlessInteger(64) &&
      llvm::all_of(*tensor.contents, [](const Dim &dim) { return dim.isStatic(); }))
    tensor = integers(llvm::map_to_vector(*tensor.contents, [](const Dim &dim) { return dim.value(); }),
                      tensor.rank() == 0);
  if (index < results.size()) {
    results[index].tensors.assign(1, std::move(tensor));
    results[index].isSequence = false;
  }
  return success();
}

LogicalResult NodeContext::setSequence(SmallVector<Tensor, 1> tensors) {
  results.front().tensors = std::move(tensors);
  results.front().isSequence = true;
  return success();
}

FailureOr<Type> NodeContext::elementType(int onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
    return Type(builder.getF32Type());
  case onnx::TensorProto::DOUBLE:
    return Type(builder.getF64Type());
  case onnx::TensorProto::FLOAT16:
    return Type(builder.getF16Type());
  case onnx::TensorProto::BFLOAT16:
    return Type(builder.getBF16Type());
  case onnx::TensorProto::BOOL:
    return Type(builder.getI1Type());
  case onnx::TensorProto::INT8:
    return Type(builder.getI8Type());
  case onnx::TensorProto::UINT8:
    return Type(builder.getIntegerType(8, /*isSigned=*/false));
  case onnx::TensorProto::UINT16:
    return Type(builder.getIntegerType(16, /*isSigned=*/false));
  case onnx::TensorProto::UINT32:
    return Type(builder.getIntegerType(32, /*isSigned=*/false));
  case onnx::TensorProto::UINT64:
    return Type(builder.getIntegerType(64, /*isSigned=*/false));
  case onnx::TensorProto::INT16:
    return Type(builder.getI16Type());
  case onnx::TensorProto::INT32:
    return Type(builder.getI32Type());
  case onnx::TensorProto::INT64:
    return Type(builder.getI64Type());
  default:
    break;
  }
  InFlightDiagnostic diagnostic = node ? error() : emitError(location);
  diagnostic << "element type "
             << (onnx::TensorProto::DataType_IsValid(onnxType)
                     ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnxType))
                     : std::to_string(onnxType))
             << " is not supported";
  return failure();
}

//===- DataDependent.cpp - Operators whose result's shape is in the data ---===//
//
// They are imported where the data are constant: exporters write the index lists of masks so.
//
//===----------------------------------------------------------------------===//
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// The elements of an input; a diagnostic that says what they depend on if they are not constant.
const reference::HostTensor *constantInput(NodeContext &node, const Tensor &x) {
  const reference::HostTensor *elements = node.known(x);
  if (!elements)
    node.error() << "gives a result whose shape depends on data: on " << node.dependence(x);
  return elements;
}

/// The indices of elements that are not zero, a row for each dimension.
LogicalResult buildNonZero(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  const reference::HostTensor *elements = constantInput(node, *x);
  if (!elements)
    return failure();
  SmallVector<int64_t> found;
  for (int64_t i = 0; i < elements->getNumElements(); ++i)
    if (elements->isFloat() ? elements->getFloat(i) != 0 : elements->getInt(i) != 0)
      found.push_back(i);
  auto rank = static_cast<int64_t>(elements->getShape().size()), count = static_cast<int64_t>(found.size());
  SmallVector<int64_t> indices(rank * count);
  int64_t stride = 1;
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    int64_t size = elements->getShape()[dim];
    for (int64_t i = 0; i < count; ++i)
      indices[dim * count + i] = found[i] / stride % size;
    stride *= size;
  }
  auto type = RankedTensorType::get({rank, count}, node.builder.getI64Type());
  return node.set(node.constant(DenseElementsAttr::get(type, ArrayRef(indices))));
}

/// The slices along an axis (of the flat tensor without one) that a list of booleans marks.
LogicalResult buildCompress(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), condition = node.input(1);
  if (failed(x) || failed(condition))
    return failure();
  if (!condition->elementType().isInteger(1) || condition->rank() != 1)
    return node.error() << "needs a list of booleans, not " << condition->type();
  Tensor data = *x;
  int64_t axis = 0;
  if (node.attribute("axis")) {
    FailureOr<int64_t> given = node.axis(node.intAttribute("axis", 0), x->rank());
    if (failed(given))
      return failure();
    axis = *given;
  } else {
    data = node.reshape(*x, {node.extent(*x, 0, x->rank())});
  }
  const reference::HostTensor *marks = constantInput(node, *condition);
  if (!marks)
    return failure();
  SmallVector<int64_t> indices;
  for (int64_t i = 0; i < marks->getNumElements(); ++i)
    if (marks->getInt(i))
      indices.push_back(i);
  const Dim &extent = data.shape[axis];
  if (!indices.empty() && (!extent.isStatic() || indices.back() >= extent.value()))
    return node.error() << "index " << indices.back() << " is outside dimension " << axis << " of "
                        << data.type();
  Dims shape = data.shape;
  shape[axis] = Dim(static_cast<int64_t>(indices.size()));
  Tensor list = node.integers(indices);
  return node.set(
      node.make<nn::GatherOp>(std::move(shape), data.elementType(), data.value, list.value, axis));
}

constexpr OperatorRow rows[] = {
    {"Compress", 9, kNewestOpset, buildCompress},
    {"NonZero", 9, kNewestOpset, buildNonZero},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::dataDependentOperators() { return rows; }

const char *zero::onnx_import::reasonAgainst(StringRef fullName) {
  if (fullName == "ai.onnx.preview.training.Gradient")
    return "gradients are made here, from the forward graph and --loss: export the model without them";
  if (fullName == "Unique" || fullName == "NonMaxSuppression")
    return "the shape of its result depends on data";
  if (fullName == "ImageDecoder")
    return "data are tensors: decode images before";
  if (fullName == "MaxRoiPool")
    return "its windows are data";
  if (fullName == "RandomNormal" || fullName == "RandomNormalLike" || fullName == "RandomUniform" ||
      fullName == "RandomUniformLike" || fullName == "Multinomial" || fullName == "Bernoulli")
    return "a step draws no random numbers";
  return nullptr;
}

//===- Padding.cpp - Pad ---------------------------------------------------===//
#include "Gathering.h"
#include "OperatorTable.h"

#include <cmath>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// Elements to add in front of and behind each dimension; negative: to leave out.
struct Pads {
  SmallVector<int64_t> low, high;
};

/// [begin of each axis, end of each axis], for all axes or those of input 3 (since operator set 18).
FailureOr<Pads> readPads(NodeContext &node, const Tensor &x) {
  FailureOr<std::optional<SmallVector<int64_t>>> pads = node.inputOrAttribute(1, "pads");
  if (failed(pads))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  if (node.has(3)) {
    FailureOr<SmallVector<int64_t>> given = node.integerInput(3, "axes");
    if (failed(given))
      return failure();
    for (int64_t &entry : *given) {
      FailureOr<int64_t> axis = node.axis(entry, x.rank());
      if (failed(axis))
        return failure();
      entry = *axis;
    }
    axes = std::move(*given);
  }
  if (!*pads || (*pads)->size() != 2 * axes.size()) {
    node.error() << "needs two pads for each of " << axes.size() << " axes";
    return failure();
  }
  Pads result{SmallVector<int64_t>(x.rank(), 0), SmallVector<int64_t>(x.rank(), 0)};
  for (auto [index, axis] : llvm::enumerate(axes)) {
    for (int64_t pad : {(**pads)[index], (**pads)[index + axes.size()]})
      if (pad < -INT32_MAX || pad > INT32_MAX) {
        node.error() << "has a pad of " << pad << " elements";
        return failure();
      }
    result.low[axis] = (**pads)[index];
    result.high[axis] = (**pads)[index + axes.size()];
  }
  return result;
}

/// x without what negative pads leave out; these become 0.
FailureOr<Tensor> crop(NodeContext &node, const Tensor &x, Pads &pads) {
  SmallVector<int64_t> starts(x.rank(), 0), strides(x.rank(), 1);
  Dims shape = x.shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    int64_t &low = pads.low[axis], &high = pads.high[axis];
    if (low >= 0 && high >= 0)
      continue;
    if (!shape[axis].isStatic()) {
      node.error() << "cuts dimension " << axis << ", whose size is not known";
      return failure();
    }
    int64_t size = shape[axis].value() + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0);
    if (size < 0) {
      node.error() << "cuts more elements off dimension " << axis << " than its " << shape[axis].value();
      return failure();
    }
    starts[axis] = size == 0 ? 0 : std::max<int64_t>(-low, 0);
    shape[axis] = Dim(size);
    low = std::max<int64_t>(low, 0);
    high = std::max<int64_t>(high, 0);
  }
  return shape == x.shape ? x : node.slice(x, starts, strides, std::move(shape));
}

Tensor padWith(NodeContext &node, const Tensor &x, const Pads &pads, Dims shape, double value) {
  if (shape == x.shape)
    return x;
  SmallVector<int64_t> interior(x.rank(), 0);
  return node.make<nn::PadOp>(std::move(shape), x.elementType(), x.value, pads.low, pads.high, interior,
                              APFloat(value));
}

/// The number that fills the padding: an input since operator set 11, an attribute before.
FailureOr<double> paddingValue(NodeContext &node) {
  if (!node.has(2))
    return node.floatAttribute("value", 0);
  FailureOr<Tensor> given = node.input(2);
  if (failed(given))
    return failure();
  std::optional<double> constant = node.scalarConstant(*given);
  if (!constant) {
    node.error() << "the padding's value (input 2) must be constant";
    return failure();
  }
  return *constant;
}

LogicalResult padConstant(NodeContext &node, const Tensor &x, const Pads &pads) {
  FailureOr<double> value = paddingValue(node);
  if (failed(value))
    return failure();
  if (!isa<FloatType>(x.elementType()) && std::abs(*value) > 0x1p53)
    return node.error() << "the padding's value (input 2) is an integer beyond 2^53";
  Dims shape = x.shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    std::optional<Dim> sum = Dim::add(shape[axis], Dim(pads.low[axis] + pads.high[axis]));
    if (!sum)
      return node.error() << "pads dimension " << axis << ", whose size is not known";
    shape[axis] = *sum;
  }
  return node.set(padWith(node, x, pads, std::move(shape), *value));
}

enum class Beyond { Edge, Reflect, Wrap };

/// The element that stands at `position` outside [0, size).
int64_t elementBeyond(Beyond mode, int64_t position, int64_t size) {
  auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  switch (mode) {
  case Beyond::Edge:
    return std::clamp<int64_t>(position, 0, size - 1);
  case Beyond::Wrap:
    return modulo(position, size);
  case Beyond::Reflect: {
    if (size == 1)
      return 0;
    int64_t period = 2 * (size - 1), place = modulo(position, period);
    return place < size ? place : period - place;
  }
  }
  return 0;
}

LogicalResult padFromData(NodeContext &node, Tensor x, const Pads &pads, Beyond mode) {
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    int64_t low = pads.low[axis], high = pads.high[axis];
    if (low == 0 && high == 0)
      continue;
    if (!x.shape[axis].isStatic())
      return node.error() << "pads dimension " << axis << ", whose size is not known";
    int64_t size = x.shape[axis].value();
    if (size == 0)
      return node.error() << "has no elements in dimension " << axis << " to pad with";
    SmallVector<int64_t> positions;
    for (int64_t position = -low; position < size + high; ++position)
      positions.push_back(elementBeyond(mode, position, size));
    x = readPositions(node, x, axis, positions);
  }
  return node.set(std::move(x));
}

LogicalResult buildPad(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<Pads> pads = readPads(node, *x);
  if (failed(pads))
    return failure();
  FailureOr<Tensor> cropped = crop(node, *x, *pads);
  if (failed(cropped))
    return failure();
  std::string mode = node.stringAttribute("mode", "constant");
  if (mode == "constant")
    return padConstant(node, *cropped, *pads);
  if (mode == "edge")
    return padFromData(node, *cropped, *pads, Beyond::Edge);
  if (mode == "reflect")
    return padFromData(node, *cropped, *pads, Beyond::Reflect);
  if (mode == "wrap")
    return padFromData(node, *cropped, *pads, Beyond::Wrap);
  return node.error() << "mode '" << mode << "' is not supported";
}

constexpr OperatorRow rows[] = {
    {"Pad", 2, kNewestOpset, buildPad},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::paddingOperators() { return rows; }

//===- Gathering.cpp - Reading a dimension by a list of positions ---------===//
#include "Gathering.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

/// How often each element in turn is repeated, or 0 where it is not so.
static int64_t findRepeats(int64_t size, ArrayRef<int64_t> positions) {
  auto count = static_cast<int64_t>(positions.size());
  if (size == 0 || count % size != 0)
    return 0;
  for (auto [i, position] : llvm::enumerate(positions))
    if (position != static_cast<int64_t>(i) / (count / size))
      return 0;
  return count / size;
}

Tensor zero::onnx_import::readPositions(NodeContext &node, const Tensor &x, int64_t axis,
                                        ArrayRef<int64_t> positions) {
  Dims shape = x.shape;
  shape[axis] = Dim(static_cast<int64_t>(positions.size()));
  int64_t size = x.shape[axis].value();
  int64_t step = positions.size() > 1 ? positions[1] - positions[0] : 1;
  bool isEven = step != 0 && !positions.empty();
  for (size_t i = 1; isEven && i < positions.size(); ++i)
    isEven = positions[i] - positions[i - 1] == step;
  if (isEven) {
    if (step == 1 && positions.front() == 0 && shape[axis] == x.shape[axis])
      return x;
    SmallVector<int64_t> starts(x.rank(), 0), strides(x.rank(), 1);
    starts[axis] = positions.front();
    strides[axis] = step;
    return node.slice(x, starts, strides, std::move(shape));
  }
  if (int64_t repeats = findRepeats(size, positions)) {
    Dims apart = x.shape, wide = x.shape;
    apart.insert(apart.begin() + axis + 1, Dim(1));
    wide.insert(wide.begin() + axis + 1, Dim(repeats));
    Tensor repeated = node.broadcastTo(node.reshape(x, std::move(apart), {x}), std::move(wide),
                                       []() -> Tensor { llvm_unreachable("repeats are static"); });
    return node.reshape(repeated, std::move(shape), {x});
  }
  return node.make<nn::GatherOp>(std::move(shape), x.elementType(), x.value, node.integers(positions).value,
                                 axis);
}

Tensor zero::onnx_import::alongAxis(NodeContext &node, const Tensor &x, int64_t axis,
                                    ArrayRef<double> numbers, Type element) {
  Tensor vector;
  if (llvm::all_equal(numbers) && !numbers.empty()) {
    vector = node.splat(numbers.front(), element);
  } else {
    SmallVector<int64_t> column(x.rank() - axis, 1);
    column.front() = static_cast<int64_t>(numbers.size());
    auto type = RankedTensorType::get(column, node.builder.getF64Type());
    vector = node.cast(node.constant(DenseElementsAttr::get(type, numbers)), element);
  }
  return node.broadcastTo(vector, x.shape, [&] { return node.shapeOf(x); });
}

//===- Sliding.cpp - How windows slide, as convolution and pooling nodes say it ---===//
#include "Sliding.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

FailureOr<SmallVector<int64_t>> zero::onnx_import::spatialSizes(NodeContext &node, const Tensor &x) {
  if (x.rank() < 3 || x.rank() > 5) {
    node.error() << "needs 1 to 3 spatial dimensions behind batch and channels, not " << x.type();
    return failure();
  }
  SmallVector<int64_t> sizes;
  for (const Dim &dim : ArrayRef(x.shape).drop_front()) {
    if (!dim.isStatic()) {
      node.error() << "needs channels and spatial dimensions of known size, not " << x.type();
      return failure();
    }
    sizes.push_back(dim.value());
  }
  sizes.erase(sizes.begin());
  return sizes;
}

/// A list of `count` integers in [least, 2^31): what real models have, and far from every overflow.
static FailureOr<SmallVector<int64_t>> sizeList(NodeContext &node, StringRef name, size_t count,
                                                int64_t least, int64_t otherwise) {
  std::optional<SmallVector<int64_t>> given = node.intsAttribute(name);
  if (!given)
    return SmallVector<int64_t>(count, otherwise);
  if (given->size() != count) {
    node.error() << name << " has " << given->size() << " entries, not " << count;
    return failure();
  }
  for (int64_t value : *given)
    if (value < least || value > INT32_MAX) {
      node.error() << name << " has the entry " << value << ", outside [" << least << ", " << INT32_MAX << "]";
      return failure();
    }
  return *given;
}

FailureOr<SmallVector<int64_t>> zero::onnx_import::windowAttribute(NodeContext &node, size_t spatialDims) {
  if (!node.attribute("kernel_shape")) {
    node.error() << "needs kernel_shape";
    return failure();
  }
  return sizeList(node, "kernel_shape", spatialDims, 1, 1);
}

FailureOr<Sliding> zero::onnx_import::slidingAttributes(NodeContext &node, ArrayRef<int64_t> window) {
  size_t count = window.size();
  Sliding sliding;
  sliding.window.assign(window.begin(), window.end());
  for (int64_t size : window)
    if (size < 1) {
      node.error() << "has a window of " << size << " elements";
      return failure();
    }
  FailureOr<SmallVector<int64_t>> strides = sizeList(node, "strides", count, 1, 1),
                                  dilations = sizeList(node, "dilations", count, 1, 1),
                                  pads = sizeList(node, "pads", 2 * count, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  sliding.strides = std::move(*strides);
  sliding.dilations = std::move(*dilations);
  std::string mode = node.stringAttribute("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    node.error() << "auto_pad='" << mode << "' is not supported";
    return failure();
  }
  if (mode == "NOTSET" || mode.empty()) {
    sliding.low.assign(pads->begin(), pads->begin() + count);
    sliding.high.assign(pads->begin() + count, pads->end());
  } else {
    sliding.low.assign(count, 0);
    sliding.high.assign(count, 0);
  }
  return sliding;
}

FailureOr<Sliding> zero::onnx_import::slide(NodeContext &node, ArrayRef<int64_t> spatial,
                                            ArrayRef<int64_t> window, bool ceil) {
  FailureOr<Sliding> made = slidingAttributes(node, window);
  if (failed(made))
    return failure();
  Sliding &sliding = *made;
  std::string mode = node.stringAttribute("auto_pad", "NOTSET");
  bool upper = mode == "SAME_UPPER", same = upper || mode == "SAME_LOWER";
  for (auto [i, size] : llvm::enumerate(spatial)) {
    int64_t stride = sliding.strides[i], reach = sliding.reach(i);
    int64_t &low = sliding.low[i], &high = sliding.high[i];
    if (same) {
      int64_t positions = (size + stride - 1) / stride;
      int64_t total = std::max<int64_t>((positions - 1) * stride + reach + 1 - size, 0);
      low = upper ? total / 2 : total - total / 2;
      high = total - low;
    }
    int64_t room = low + size + high - reach; // places where a window may begin
    int64_t positions = room < 1 ? 0 : (room - 1) / stride + 1;
    if (ceil && room >= 1 && (room - 1) % stride != 0 && positions * stride < size + low) {
      high += stride - (room - 1) % stride;
      ++positions;
    }
    constexpr int64_t kMaxPositions = 1 << 22; // some tables have an entry for each
    if (positions < 1 || positions > kMaxPositions) {
      node.error() << "a window that reaches over " << reach + 1 << " elements has " << positions
                   << " positions in the " << size << " elements of spatial dimension " << i << " with padding "
                   << low << " and " << high;
      return failure();
    }
    sliding.positions.push_back(positions);
  }
  return made;
}

Dims zero::onnx_import::withBatch(const Tensor &x, ArrayRef<int64_t> sizes) {
  Dims shape{x.shape.front()};
  for (int64_t size : sizes)
    shape.push_back(Dim(size));
  return shape;
}

Tensor zero::onnx_import::alongChannels(NodeContext &node, const Tensor &vector, const Tensor &like) {
  Dims column = vector.shape;
  column.append(like.rank() - 2, Dim(1));
  return node.broadcastTo(node.reshape(vector, std::move(column)), like.shape,
                          [&] { return node.shapeOf(like); });
}

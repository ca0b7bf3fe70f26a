//===- Convolution.cpp - Convolutions and their transposes ----------------===//
#include "Convolution.h"
#include "OperatorTable.h"
#include "Sliding.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

FailureOr<Tensor> zero::onnx_import::convolution(NodeContext &node, const Tensor &x, const Tensor &w) {
  FailureOr<SmallVector<int64_t>> spatial = spatialSizes(node, x);
  if (failed(spatial))
    return failure();
  int64_t groups = node.intAttribute("group", 1);
  if (w.rank() != x.rank() || llvm::any_of(w.shape, [](const Dim &dim) { return !dim.isStatic(); }) ||
      w.elementType() != x.elementType() || !isa<FloatType>(x.elementType())) {
    node.error() << "a kernel of type " << w.type() << " does not fit data of type " << x.type();
    return failure();
  }
  int64_t filters = w.shape[0].value(), depth = w.shape[1].value(), channels = x.shape[1].value();
  if (groups < 1 || filters % groups || channels % groups || channels / groups != depth) {
    node.error() << "a kernel of type " << w.type() << " does not fit " << channels << " channels in " << groups
                 << " groups";
    return failure();
  }
  SmallVector<int64_t> window;
  for (const Dim &dim : ArrayRef(w.shape).drop_front(2))
    window.push_back(dim.value());
  if (std::optional<SmallVector<int64_t>> given = node.intsAttribute("kernel_shape");
      given && *given != window) {
    node.error() << "kernel_shape differs from the shape of its kernel, " << w.type();
    return failure();
  }
  FailureOr<Sliding> sliding = slide(node, *spatial, window);
  if (failed(sliding))
    return failure();
  Dims shape = withBatch(x, filters);
  for (int64_t positions : sliding->positions)
    shape.push_back(Dim(positions));
  return node.make<nn::ConvOp>(std::move(shape), x.elementType(), x.value, w.value, sliding->strides,
                               sliding->low, sliding->high, sliding->dilations, groups);
}

namespace {

/// result + bias along the channels, if the node has one.
LogicalResult setWithBias(NodeContext &node, const Tensor &result) {
  if (!node.has(2))
    return node.set(result);
  FailureOr<Tensor> bias = node.input(2);
  if (failed(bias))
    return failure();
  if (bias->shape != Dims{result.shape[1]} || bias->elementType() != result.elementType())
    return node.error() << "a bias of type " << bias->type() << " does not fit results of type "
                        << result.type();
  return node.set(node.binary<nn::AddOp>(result, alongChannels(node, *bias, result)));
}

LogicalResult buildConv(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), w = node.input(1);
  if (failed(x) || failed(w))
    return failure();
  FailureOr<Tensor> result = convolution(node, *x, *w);
  return failed(result) ? failure() : setWithBias(node, *result);
}

/// What a transposed convolution makes along one dimension.
struct Extent {
  int64_t low;    ///< elements cut off in front, or zeros put there where negative
  int64_t size;   ///< of the result
  int64_t made;   ///< from low on, elements that a window reaches
};

/// output_shape, or auto_pad, or pads with output_padding say what is cut off.
FailureOr<Extent> transposedExtent(NodeContext &node, const Sliding &sliding, size_t i, int64_t positions,
                                   int64_t outputPadding, std::optional<int64_t> outputSize) {
  int64_t stride = sliding.strides[i], whole = stride * (positions - 1) + sliding.reach(i) + 1;
  std::string mode = node.stringAttribute("auto_pad", "NOTSET");
  int64_t low = sliding.low[i], size = whole + outputPadding - sliding.low[i] - sliding.high[i];
  if (!outputSize && (mode == "SAME_UPPER" || mode == "SAME_LOWER"))
    outputSize = positions * stride;
  if (outputSize) {
    int64_t total = whole + outputPadding - *outputSize;
    // Nothing is cut off a result that is to be larger: it ends in zeros.
    total = std::max<int64_t>(total, 0);
    low = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    size = *outputSize;
  }
  if (size < 1) {
    node.error() << "spatial dimension " << i << " of the result would have " << size << " elements";
    return failure();
  }
  return Extent{low, size, std::min(size, whole - low)};
}

/// W is input channels x output channels/groups x window: the kernel of the convolution that leads back.
LogicalResult buildConvTranspose(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), w = node.input(1);
  if (failed(x) || failed(w))
    return failure();
  FailureOr<SmallVector<int64_t>> spatial = spatialSizes(node, *x);
  if (failed(spatial))
    return failure();
  int64_t groups = node.intAttribute("group", 1);
  if (w->rank() != x->rank() || llvm::any_of(w->shape, [](const Dim &dim) { return !dim.isStatic(); }) ||
      w->elementType() != x->elementType() || !isa<FloatType>(x->elementType()))
    return node.error() << "a kernel of type " << w->type() << " does not fit data of type " << x->type();
  if (groups < 1 || w->shape[0] != x->shape[1] || w->shape[0].value() % groups)
    return node.error() << "a kernel of type " << w->type() << " does not fit " << x->shape[1].value()
                        << " channels in " << groups << " groups";
  SmallVector<int64_t> window;
  for (const Dim &dim : ArrayRef(w->shape).drop_front(2))
    window.push_back(dim.value());
  if (std::optional<SmallVector<int64_t>> given = node.intsAttribute("kernel_shape");
      given && *given != window)
    return node.error() << "kernel_shape differs from the shape of its kernel, " << w->type();
  FailureOr<Sliding> made = slidingAttributes(node, window);
  if (failed(made))
    return failure();
  Sliding &sliding = *made;
  std::optional<SmallVector<int64_t>> lists[] = {node.intsAttribute("output_padding"),
                                                 node.intsAttribute("output_shape")};
  // Some exporters write batch and channels into output_shape as well.
  if (lists[1] && lists[1]->size() == window.size() + 2)
    lists[1]->erase(lists[1]->begin(), lists[1]->begin() + 2);
  StringRef names[] = {"output_padding", "output_shape"};
  for (auto [name, list] : llvm::zip(names, lists))
    if (list && (list->size() != window.size() ||
                 llvm::any_of(*list, [](int64_t n) { return n < 0 || n > INT32_MAX; })))
      return node.error() << name << " needs " << window.size() << " entries, none negative";

  Dims shape = withBatch(*x, w->shape[1].value() * groups);
  SmallVector<int64_t> before(x->rank(), 0), behind = before, between = before;
  bool padded = false;
  for (size_t i = 0; i < window.size(); ++i) {
    int64_t positions = (*spatial)[i];
    if (positions < 1)
      return node.error() << "has no elements in spatial dimension " << i << " of " << x->type();
    FailureOr<Extent> extent =
        transposedExtent(node, sliding, i, positions, lists[0] ? (*lists[0])[i] : 0,
                         lists[1] ? std::optional((*lists[1])[i]) : std::nullopt);
    if (failed(extent))
      return failure();
    // The convolution that leads back has these positions over `made` elements: some of the last may be read
    // by none of its windows.
    sliding.low[i] = extent->low;
    sliding.high[i] = std::max<int64_t>((positions - 1) * sliding.strides[i] + sliding.reach(i) + 1 -
                                            extent->low - extent->made,
                                        0);
    if (extent->made < 1)
      return node.error() << "padding leaves nothing of spatial dimension " << i;
    behind[i + 2] = extent->size - extent->made;
    padded |= behind[i + 2] != 0;
    shape.push_back(Dim(extent->made));
  }
  Tensor result = node.make<nn::ConvTransposeOp>(shape, x->elementType(), x->value, w->value, sliding.strides,
                                                 sliding.low, sliding.high, sliding.dilations, groups);
  if (padded) {
    for (size_t i = 2; i < shape.size(); ++i)
      shape[i] = Dim(shape[i].value() + behind[i]);
    result = node.make<nn::PadOp>(std::move(shape), x->elementType(), result.value, before, behind, between,
                                  APFloat(0.0));
  }
  return setWithBias(node, result);
}

constexpr OperatorRow rows[] = {
    {"Conv", 1, kNewestOpset, buildConv},
    {"ConvTranspose", 1, kNewestOpset, buildConvTranspose},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::convolutionOperators() { return rows; }

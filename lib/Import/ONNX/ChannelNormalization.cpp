//===- ChannelNormalization.cpp - Norms over batch, groups, channels and planes ---===//
#include "ExporterCall.h"
#include "OperatorTable.h"
#include "Reduction.h"
#include "Sliding.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

Tensor wide(NodeContext &node, const Tensor &part, const Tensor &like) {
  return node.broadcastTo(part, like.shape, [&] { return node.shapeOf(like); });
}

Tensor number(NodeContext &node, double value, const Tensor &like) {
  return wide(node, node.splat(value, like.elementType()), like);
}

/// The sum along the axes, which stay with size 1. A sum over batch and space is one over space first: each
/// has a kernel.
Tensor sumAlong(NodeContext &node, const Tensor &x, ArrayRef<int64_t> axes) {
  size_t tail = axes.size(); // axes [tail, end) are the last dimensions
  while (tail > 0 && axes[tail - 1] == x.rank() - static_cast<int64_t>(axes.size() - tail) - 1)
    --tail;
  Tensor sum = x;
  if (tail < axes.size())
    sum = node.reduce(nn::ReduceKind::sum, sum, axes.drop_front(tail), /*keepDims=*/true);
  if (tail > 0)
    sum = node.reduce(nn::ReduceKind::sum, sum, axes.take_front(tail), /*keepDims=*/true);
  return sum;
}

Tensor meanAlong(NodeContext &node, const Tensor &x, ArrayRef<int64_t> axes) {
  Tensor sum = sumAlong(node, x, axes);
  return node.binary<nn::DivOp>(sum, combinedCount(node, x, axes, sum));
}

struct Centered {
  Tensor mean, distance, variance; // of the elements that the axes join; mean and variance keep them as 1
};

Centered center(NodeContext &node, const Tensor &x, ArrayRef<int64_t> axes) {
  Centered result;
  result.mean = meanAlong(node, x, axes);
  result.distance = node.binary<nn::SubOp>(x, wide(node, result.mean, x));
  result.variance = meanAlong(node, node.binary<nn::MulOp>(result.distance, result.distance), axes);
  return result;
}

Tensor inverseRoot(NodeContext &node, const Tensor &variance, double epsilon) {
  return node.unary<nn::RsqrtOp>(node.binary<nn::AddOp>(variance, number(node, epsilon, variance)));
}

/// Input `index`, a float vector in x's element type of the given shape.
FailureOr<Tensor> weights(NodeContext &node, unsigned index, const Tensor &x, ArrayRef<Dim> shape) {
  FailureOr<Tensor> tensor = node.input(index);
  if (failed(tensor))
    return failure();
  if (ArrayRef<Dim>(tensor->shape) != shape || !isa<FloatType>(tensor->elementType())) {
    node.error() << "input " << index << " of type " << tensor->type() << " does not fit data of type "
                 << x.type();
    return failure();
  }
  return node.cast(*tensor, x.elementType());
}

FailureOr<Tensor> floatsOfRank(NodeContext &node, int64_t leastRank) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  if (!isa<FloatType>(x->elementType()) || x->rank() < leastRank) {
    node.error() << "needs floats of at least " << leastRank << " dimensions, not " << x->type();
    return failure();
  }
  return x;
}

/// A vector along dimension 1, or one number for each element of an image, in x's shape.
Tensor alongImages(NodeContext &node, const Tensor &part, const Tensor &x) {
  return part.rank() == x.rank() - 1 ? wide(node, part, x) : alongChannels(node, part, x);
}

//===----------------------------------------------------------------------===//
// Batch normalization
//===----------------------------------------------------------------------===//

/// The torch.export-based exporter writes each batch normalization as one with running statistics, and keeps the
/// call, whose sixth argument says whether PyTorch took those of the batch.
bool normalisedWithBatch(const NodeContext &node) {
  ExporterCall call = exporterCallOf(*node.node);
  return call.function.contains("batch_norm") && call.argument(5) == "True";
}

/// With running statistics; or, in training, with those of the batch: then the outputs behind the first are
/// the running ones moved towards the batch's, and, before operator set 14, the batch's.
LogicalResult buildBatchNormalization(NodeContext &node) {
  FailureOr<Tensor> x = floatsOfRank(node, 2);
  if (failed(x))
    return failure();
  bool hasRunning = false; // asks for more than Y
  for (int i = 1; i < node.node->output_size(); ++i)
    hasRunning |= !node.node->output(i).empty();
  bool training = node.opset >= 14 ? node.intAttribute("training_mode", 0) != 0 : hasRunning;
  bool calledInTraining = !training && node.trains() && normalisedWithBatch(node);
  bool perChannel = node.opset >= 9 || node.intAttribute("spatial", 1) != 0;
  if (hasRunning && !training)
    return node.error() << "has running statistics as outputs, which need training_mode=1";
  ArrayRef<Dim> shape = ArrayRef(x->shape).slice(1, perChannel ? 1 : x->rank() - 1);
  SmallVector<Tensor> parts; // scale, bias, mean, variance
  for (unsigned index = 1; index < 5; ++index) {
    FailureOr<Tensor> part = weights(node, index, *x, shape);
    if (failed(part))
      return failure();
    parts.push_back(*part);
  }
  double epsilon = node.floatAttribute("epsilon", 1e-5f);
  Tensor distance, variance;
  if (!training && !calledInTraining) {
    distance = node.binary<nn::SubOp>(*x, alongImages(node, parts[2], *x));
    variance = parts[3];
  } else {
    SmallVector<int64_t> axes{0};
    if (perChannel)
      llvm::append_range(axes, llvm::seq<int64_t>(2, x->rank()));
    Centered centered = center(node, *x, axes);
    distance = centered.distance;
    variance = node.reshape(centered.variance, Dims(shape));
    double momentum = node.floatAttribute("momentum", 0.9f);
    Tensor batch[] = {node.reshape(centered.mean, Dims(shape)), variance};
    for (unsigned i = 0; i < 2; ++i) {
      const Tensor &old = parts[2 + i];
      Tensor moved =
          node.binary<nn::AddOp>(node.binary<nn::MulOp>(old, number(node, momentum, old)),
                                 node.binary<nn::MulOp>(batch[i], number(node, 1 - momentum, batch[i])));
      if (i + 1 < node.results.size() && failed(node.set(std::move(moved), i + 1)))
        return failure();
      if (i + 3 < node.results.size() && failed(node.set(batch[i], i + 3)))
        return failure();
    }
    InFlightDiagnostic warning = emitWarning(node.location);
    warning << "node '" << node.name()
            << "' (BatchNormalization) normalises with the statistics of each rank's micro-batch; "
               "its running statistics stay as they are in training";
    if (calledInTraining)
      warning << "; it stands in the file with training_mode=0, but the exporter notes that PyTorch called it in "
                 "training mode: export after model.eval() to train with running statistics";
  }
  Tensor factor = node.binary<nn::MulOp>(parts[0], inverseRoot(node, variance, epsilon));
  return node.set(
      node.binary<nn::AddOp>(node.binary<nn::MulOp>(distance, alongImages(node, factor, *x)),
                             alongImages(node, parts[1], *x)));
}

//===----------------------------------------------------------------------===//
// Each image by itself
//===----------------------------------------------------------------------===//

LogicalResult buildInstanceNormalization(NodeContext &node) {
  FailureOr<Tensor> x = floatsOfRank(node, 3);
  if (failed(x))
    return failure();
  FailureOr<Tensor> scale = weights(node, 1, *x, x->shape[1]), bias = weights(node, 2, *x, x->shape[1]);
  if (failed(scale) || failed(bias))
    return failure();
  Centered centered = center(node, *x, llvm::to_vector(llvm::seq<int64_t>(2, x->rank())));
  Tensor inverse = inverseRoot(node, centered.variance, node.floatAttribute("epsilon", 1e-5f));
  Tensor normal = node.binary<nn::MulOp>(centered.distance, wide(node, inverse, *x));
  return node.set(node.binary<nn::AddOp>(node.binary<nn::MulOp>(normal, alongChannels(node, *scale, *x)),
                                         alongChannels(node, *bias, *x)));
}

/// Scale and bias for each group in operator set 18, for each channel since 21.
LogicalResult buildGroupNormalization(NodeContext &node) {
  FailureOr<Tensor> x = floatsOfRank(node, 2);
  if (failed(x))
    return failure();
  int64_t groups = node.intAttribute("num_groups", 0);
  if (llvm::any_of(ArrayRef(x->shape).drop_front(), [](const Dim &dim) { return !dim.isStatic(); }))
    return node.error() << "needs channels and spatial dimensions of known size, not " << x->type();
  int64_t channels = x->shape[1].value(), image = Dim::product(ArrayRef(x->shape).drop_front())->value();
  if (groups < 1 || channels % groups)
    return node.error() << "has " << channels << " channels, which do not divide into " << groups << " groups";
  bool perChannel = node.opset >= 21;
  Dim count(perChannel ? channels : groups);
  FailureOr<Tensor> scale = weights(node, 1, *x, count), bias = weights(node, 2, *x, count);
  if (failed(scale) || failed(bias))
    return failure();
  Tensor rows = node.reshape(*x, {x->shape[0], Dim(groups), Dim(image / groups)});
  Centered centered = center(node, rows, {2});
  Tensor inverse = inverseRoot(node, centered.variance, node.floatAttribute("epsilon", 1e-5f));
  Tensor normal = node.binary<nn::MulOp>(centered.distance, wide(node, inverse, rows));
  if (perChannel)
    normal = node.reshape(normal, x->shape);
  Tensor result = node.binary<nn::AddOp>(
      node.binary<nn::MulOp>(normal, alongChannels(node, *scale, normal)), alongChannels(node, *bias, normal));
  return node.set(node.reshape(result, x->shape));
}

//===----------------------------------------------------------------------===//
// Without weights
//===----------------------------------------------------------------------===//

/// x / (bias + alpha/size * the sum of squares over `size` neighbouring channels)^beta
LogicalResult buildLRN(NodeContext &node) {
  FailureOr<Tensor> x = floatsOfRank(node, 3);
  if (failed(x))
    return failure();
  if (llvm::any_of(ArrayRef(x->shape).drop_front(), [](const Dim &dim) { return !dim.isStatic(); }))
    return node.error() << "needs channels and spatial dimensions of known size, not " << x->type();
  int64_t size = node.intAttribute("size", 0);
  if (size < 1 || size > INT32_MAX)
    return node.error() << "size is " << size << ", outside [1, " << INT32_MAX << "]";
  // One plane: channels x positions.
  Dims plane{x->shape[0], Dim(1), x->shape[1], *Dim::product(ArrayRef(x->shape).drop_front(2))};
  Tensor squares = node.reshape(node.binary<nn::MulOp>(*x, *x), plane);
  SmallVector<int64_t> window{size, 1}, ones{1, 1}, low{(size - 1) / 2, 0}, high{size - 1 - low[0], 0};
  Tensor sums = node.reshape(node.make<nn::SumPoolOp>(plane, x->elementType(), squares.value, window, ones, low,
                                                      high, ones),
                             x->shape);
  double alpha = node.floatAttribute("alpha", 1e-4f), beta = node.floatAttribute("beta", 0.75f);
  Tensor base =
      node.binary<nn::AddOp>(node.binary<nn::MulOp>(sums, number(node, alpha / static_cast<double>(size), *x)),
                             number(node, node.floatAttribute("bias", 1), *x));
  return node.set(node.binary<nn::MulOp>(*x, node.binary<nn::PowOp>(base, number(node, -beta, *x))));
}

/// (x - mean) / (standard deviation + 1e-9)
LogicalResult buildMeanVarianceNormalization(NodeContext &node) {
  FailureOr<Tensor> x = floatsOfRank(node, 1);
  if (failed(x))
    return failure();
  FailureOr<SmallVector<int64_t>> axes =
      node.axes(node.intsAttribute("axes").value_or(SmallVector<int64_t>{0, 2, 3}), x->rank());
  if (failed(axes))
    return failure();
  Centered centered = center(node, *x, *axes);
  Tensor deviation = node.unary<nn::SqrtOp>(centered.variance);
  deviation = node.binary<nn::AddOp>(deviation, number(node, 1e-9, deviation));
  return node.set(node.binary<nn::DivOp>(centered.distance, wide(node, deviation, *x)));
}

/// x / norm; where all of x is 0, so is the result.
LogicalResult buildLpNormalization(NodeContext &node) {
  FailureOr<Tensor> x = floatsOfRank(node, 1);
  if (failed(x))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", -1), x->rank());
  if (failed(axis))
    return failure();
  int64_t p = node.intAttribute("p", 2);
  if (p != 1 && p != 2)
    return node.error() << "p is " << p << ", neither 1 nor 2";
  Tensor sum = sumAlong(node, p == 1 ? node.unary<nn::AbsOp>(*x) : node.binary<nn::MulOp>(*x, *x), *axis);
  Tensor isZero = node.make<nn::CompareOp>(sum.shape, node.builder.getI1Type(), nn::ComparePredicate::eq,
                                           sum.value, number(node, 0, sum).value);
  Tensor safe = node.make<nn::SelectOp>(sum.shape, sum.elementType(), isZero.value,
                                        number(node, 1, sum).value, sum.value);
  Tensor norm = p == 1 ? safe : node.unary<nn::SqrtOp>(safe);
  return node.set(node.binary<nn::DivOp>(*x, wide(node, norm, *x)));
}

constexpr OperatorRow rows[] = {
    {"BatchNormalization", 7, kNewestOpset, buildBatchNormalization},
    {"GroupNormalization", 18, kNewestOpset, buildGroupNormalization},
    {"InstanceNormalization", 6, kNewestOpset, buildInstanceNormalization},
    {"LRN", 1, kNewestOpset, buildLRN},
    {"LpNormalization", 1, kNewestOpset, buildLpNormalization},
    {"MeanVarianceNormalization", 9, kNewestOpset, buildMeanVarianceNormalization},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::channelNormalizationOperators() { return rows; }

//===- LossOperators.cpp - Losses that the model computes -----------------===//
//
// x holds N x C x d1 x ... log-probabilities (or logits), the target N x d1 x ... class numbers. A position
// whose target is `ignore_index` has weight 0, others the weight of their class; `mean` divides by the sum of
// the weights.
//
//===----------------------------------------------------------------------===//
#include "ExporterCall.h"
#include "Indexing.h"
#include "OperatorTable.h"
#include "Sliding.h"
#include "Softmax.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// The loss of each position and its weight, if weights are not all 1.
struct Positions {
  Tensor loss;
  std::optional<Tensor> weight;
  std::optional<Tensor> smooth; // what label smoothing adds, weighted: -smoothing / classes * sum(weight * log(p)) over classes
};

/// Operators of ONNX have no label smoothing. The torch.export-based exporter leaves it out and keeps the call:
/// cross_entropy_loss(x, target, weight, reduction, ignore_index, label_smoothing).
double labelSmoothingOf(NodeContext &node) {
  ExporterCall call = exporterCallOf(*node.node);
  double smoothing = 0;
  if (!node.trains() || call.function != "cross_entropy_loss" || call.argument(5).getAsDouble(smoothing) || smoothing == 0)
    return 0;
  warnOfDroppedArgument(node, "label smoothing", "label_smoothing=" + call.argument(5));
  return smoothing;
}

FailureOr<Positions> lossOfPositions(NodeContext &node, const Tensor &logProbabilities, double smoothing) {
  const Tensor &x = logProbabilities;
  FailureOr<Tensor> target = node.input(1);
  if (failed(target))
    return failure();
  if (!isa<IntegerType>(target->elementType()) || target->rank() + 1 != x.rank()) {
    node.error() << "needs a class number for each position of " << x.type() << ", not " << target->type();
    return failure();
  }
  Tensor zero = repeatLike(node, node.splat(0, x.elementType()), *target);
  Tensor classes = *target;
  std::optional<Tensor> isIgnored;
  if (node.attribute("ignore_index")) {
    auto number = [&](double value) {
      return repeatLike(node, node.splat(value, target->elementType()), *target);
    };
    isIgnored = compare(node, nn::ComparePredicate::eq, *target,
                        number(static_cast<double>(node.intAttribute("ignore_index", 0))));
    classes = select(node, *isIgnored, number(0), *target); // any that is there
  }
  Dims apart = classes.shape;
  apart.insert(apart.begin() + 1, Dim(1));
  Tensor indices = node.reshape(classes, apart, {classes});
  FailureOr<Tensor> linear = elementIndices(node, indices, x, 1);
  if (failed(linear))
    return failure();
  Tensor picked = node.reshape(gatherElements(node, x, *linear), classes.shape, {classes});
  Positions result{node.unary<nn::NegOp>(picked), std::nullopt, std::nullopt};
  Tensor terms = x;
  if (node.has(2)) {
    FailureOr<Tensor> weights = node.input(2);
    if (failed(weights))
      return failure();
    if (weights->rank() != 1 || weights->elementType() != x.elementType() ||
        (weights->shape[0].isStatic() && x.shape[1].isStatic() && weights->shape[0] != x.shape[1])) {
      node.error() << "needs a weight for each class of " << x.type() << ", not " << weights->type();
      return failure();
    }
    FailureOr<Tensor> index = normalizedIndices(node, classes, *weights, 0);
    if (failed(index))
      return failure();
    result.weight = node.make<nn::GatherOp>(classes.shape, x.elementType(), weights->value, index->value, 0);
    if (smoothing != 0)
      terms = node.binary<nn::MulOp>(x, alongChannels(node, *weights, x));
  }
  if (smoothing != 0) {
    if (!x.shape[1].isStatic()) {
      node.error() << "needs a known number of classes for label smoothing, not " << x.type();
      return failure();
    }
    Tensor sum = node.reduce(nn::ReduceKind::sum, terms, {1}, /*keepDims=*/false);
    auto number = [&](double value) { return repeatLike(node, node.splat(value, x.elementType()), sum); };
    result.smooth = node.binary<nn::MulOp>(sum, number(-smoothing / static_cast<double>(x.shape[1].value())));
    result.loss = node.binary<nn::MulOp>(result.loss, number(1 - smoothing));
  }
  if (isIgnored) {
    Tensor one = repeatLike(node, node.splat(1, x.elementType()), *target);
    result.loss = select(node, *isIgnored, zero, result.loss);
    if (result.smooth)
      result.smooth = select(node, *isIgnored, zero, *result.smooth);
    result.weight = select(node, *isIgnored, zero, result.weight.value_or(one));
  }
  return result;
}

LogicalResult setLoss(NodeContext &node, const Tensor &logProbabilities, double smoothing = 0) {
  std::string reduction = node.stringAttribute("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return node.error() << "reduction '" << reduction << "' is not supported";
  FailureOr<Positions> positions = lossOfPositions(node, logProbabilities, smoothing);
  if (failed(positions))
    return failure();
  Tensor loss = positions->loss;
  if (positions->weight)
    loss = node.binary<nn::MulOp>(loss, *positions->weight);
  if (positions->smooth)
    loss = node.binary<nn::AddOp>(loss, *positions->smooth);
  if (reduction == "none")
    return node.set(std::move(loss));
  // The positions of a sample first: the batch is summed last.
  auto total = [&](const Tensor &x) {
    SmallVector<int64_t> inner = llvm::to_vector(llvm::seq<int64_t>(1, x.rank()));
    return node.reduce(nn::ReduceKind::sum, node.reduce(nn::ReduceKind::sum, x, inner, false), {0}, false);
  };
  Tensor sum = total(loss);
  if (reduction == "sum")
    return node.set(std::move(sum));
  Tensor count;
  if (positions->weight) {
    count = total(*positions->weight);
  } else {
    Tensor size = node.reduce(nn::ReduceKind::prod, node.shapeOf(loss), {0}, /*keepDims=*/false);
    count = node.cast(size, loss.elementType());
  }
  return node.set(node.binary<nn::DivOp>(sum, count));
}

FailureOr<Tensor> classScores(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (succeeded(x) && (x->rank() < 2 || !isa<FloatType>(x->elementType()))) {
    node.error() << "needs floats with dimensions for samples and classes, not " << x->type();
    return failure();
  }
  return x;
}

LogicalResult buildNegativeLogLikelihoodLoss(NodeContext &node) {
  FailureOr<Tensor> x = classScores(node);
  return failed(x) ? failure() : setLoss(node, *x);
}

LogicalResult buildSoftmaxCrossEntropyLoss(NodeContext &node) {
  FailureOr<Tensor> x = classScores(node);
  if (failed(x))
    return failure();
  Tensor logProbabilities = logSoftmax(node, *x, 1);
  if (failed(setLoss(node, logProbabilities, labelSmoothingOf(node))))
    return failure();
  return node.set(std::move(logProbabilities), 1);
}

constexpr OperatorRow rows[] = {
    {"NegativeLogLikelihoodLoss", 12, kNewestOpset, buildNegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", 12, kNewestOpset, buildSoftmaxCrossEntropyLoss},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::lossOperators() { return rows; }

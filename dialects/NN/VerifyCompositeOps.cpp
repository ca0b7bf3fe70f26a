//===- VerifyCompositeOps.cpp - Verifiers of reductions, products, composites, optimizers -===//
#include "dialects/NN/NNOps.h"
#include "dialects/NN/Shapes.h"

using namespace mlir;
using namespace zero::nn;

/// Statistics (means, logarithms of sums, losses) may be kept in f32 where the tensors are narrower.
static LogicalResult verifyStatistic(Operation *op, StringRef what, Type actual, StringRef source,
                                     Type element) {
  if (actual == element || (actual.isF32() && element.getIntOrFloatBitWidth() < 32))
    return success();
  return op->emitOpError() << what << " has element type " << actual << " but " << source << " has "
                           << element;
}

LogicalResult ReduceOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  if (failed(verifyIncreasing(*this, "axes", getAxes(), operand.getRank())) ||
      failed(verifyElementType(*this, "result", result.getElementType(), "the operand",
                               operand.getElementType())))
    return failure();
  return verifyShape(*this, "result", result.getShape(), "the reduced operand has",
                     dropAxes(operand.getShape(), getAxes()));
}

LogicalResult CumSumOp::verify() { return verifyAxis(*this, getAxis(), getType().getRank()); }

LogicalResult SoftmaxOp::verify() { return verifyAxis(*this, getAxis(), getType().getRank()); }

LogicalResult MatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType(), result = getType();
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank)
    return emitOpError() << "lhs has " << rank << " dimensions and rhs " << rhs.getRank()
                         << "; they must have equally many, 2 or more";
  if (failed(verifyElementType(*this, "rhs", rhs.getElementType(), "lhs", lhs.getElementType())) ||
      failed(verifyStatistic(*this, "result", result.getElementType(), "lhs", lhs.getElementType())))
    return failure();
  ArrayRef<int64_t> lhsBatch = lhs.getShape().drop_back(2), rhsBatch = rhs.getShape().drop_back(2);
  if (failed(verifyShape(*this, "rhs's batch", rhsBatch, "lhs's is", lhsBatch)))
    return failure();
  int64_t m = lhs.getDimSize(rank - 2), lhsK = lhs.getDimSize(rank - 1);
  int64_t rhsK = rhs.getDimSize(rank - 2), n = rhs.getDimSize(rank - 1);
  if (getTransposeLhs())
    std::swap(m, lhsK);
  if (getTransposeRhs())
    std::swap(rhsK, n);
  if (!sizesAgree(lhsK, rhsK))
    return emitOpError() << "lhs contracts " << lhsK << " elements but rhs " << rhsK;
  Shape expected;
  for (auto [a, b] : llvm::zip_equal(lhsBatch, rhsBatch))
    expected.push_back(ShapedType::isDynamic(a) ? b : a);
  expected.append({m, n});
  return verifyShape(*this, "result", result.getShape(), "the operands give", expected);
}

LogicalResult LayerNormOp::verify() {
  RankedTensorType operand = getOperand().getType(), scale = getScale().getType(),
                   result = getResult().getType();
  if (failed(verifyElementType(*this, "result", result.getElementType(), "the operand",
                               operand.getElementType())) ||
      failed(verifyShape(*this, "result", result.getShape(), "the operand has", operand.getShape())) ||
      failed(
          verifyElementType(*this, "scale", scale.getElementType(), "the operand", operand.getElementType())))
    return failure();
  int64_t leading = operand.getRank() - scale.getRank();
  if (leading < 0 || scale.getRank() < 1)
    return emitOpError() << "scale has " << scale.getRank() << " dimensions, outside [1, "
                         << operand.getRank() << "]";
  if (failed(verifyShape(*this, "scale", scale.getShape(), "the operand's trailing dimensions are",
                         operand.getShape().drop_front(leading))))
    return failure();
  if (Value bias = getBias()) {
    auto type = cast<RankedTensorType>(bias.getType());
    if (failed(verifyElementType(*this, "bias", type.getElementType(), "scale", scale.getElementType())) ||
        failed(verifyShape(*this, "bias", type.getShape(), "scale has", scale.getShape())))
      return failure();
  }
  std::pair<StringRef, RankedTensorType> statistics[] = {{"mean", getMean().getType()},
                                                         {"rstd", getRstd().getType()}};
  for (auto [name, type] : statistics)
    if (failed(
            verifyStatistic(*this, name, type.getElementType(), "the operand", operand.getElementType())) ||
        failed(verifyShape(*this, name, type.getShape(), "the operand's leading dimensions are",
                           operand.getShape().take_front(leading))))
      return failure();
  if (getEpsilon().isNegative() || !getEpsilon().isFinite())
    return emitOpError() << "epsilon is " << getEpsilon().convertToDouble() << ", below 0 or not finite";
  return success();
}

/// The shapes that nn.attention and nn.attention_grad share.
template <typename AttentionLike> static LogicalResult verifyAttention(AttentionLike op) {
  RankedTensorType query = op.getQuery().getType(), key = op.getKey().getType(),
                   value = op.getValue().getType();
  std::pair<StringRef, RankedTensorType> tensors[] = {{"query", query}, {"key", key}, {"value", value}};
  for (auto [name, type] : tensors) {
    if (type.getRank() != 4)
      return op.emitOpError() << name << " has " << type.getRank() << " dimensions but attention takes 4";
    if (failed(verifyElementType(op, name, type.getElementType(), "query", query.getElementType())))
      return failure();
  }
  int64_t batch = query.getDimSize(0), positions = query.getDimSize(1), heads = query.getDimSize(2);
  int64_t keys = key.getDimSize(1), groups = key.getDimSize(2);
  if (failed(verifyShape(op, "key", key.getShape(), "query gives",
                         {batch, ShapedType::kDynamic, ShapedType::kDynamic, query.getDimSize(3)})) ||
      failed(verifyShape(op, "value", value.getShape(), "key has", key.getShape())))
    return failure();
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(groups) && (groups == 0 || heads % groups != 0))
    return op.emitOpError() << "query has " << heads << " heads, which the " << groups
                            << " of key do not divide";
  if (Value mask = op.getMask()) {
    auto type = cast<RankedTensorType>(mask.getType());
    if (failed(verifyElementType(op, "mask", type.getElementType(), "query", query.getElementType())))
      return failure();
    Shape expected{batch, heads, positions, keys};
    for (int64_t i = 0; i < 2 && type.getRank() == 4; ++i)
      if (type.getDimSize(i) == 1)
        expected[i] = 1;
    if (failed(verifyShape(op, "mask", type.getShape(), "query and key give", expected)))
      return failure();
  }
  RankedTensorType result = op.getResult().getType(), lse = op.getLogSumExp().getType();
  if (failed(verifyElementType(op, "result", result.getElementType(), "query", query.getElementType())) ||
      failed(verifyShape(op, "result", result.getShape(), "query has", query.getShape())) ||
      failed(verifyStatistic(op, "log_sum_exp", lse.getElementType(), "query", query.getElementType())))
    return failure();
  return verifyShape(op, "log_sum_exp", lse.getShape(), "query gives", {batch, heads, positions});
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }

LogicalResult AttentionGradOp::verify() { return verifyAttention(*this); }

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = getLogits().getType(), labels = getLabels().getType(),
                   lse = getLogSumExp().getType();
  if (logits.getRank() < 1)
    return emitOpError("logits have 0 dimensions but classes are the last of at least 1");
  Type element = logits.getElementType();
  if (failed(verifyShape(*this, "labels", labels.getShape(), "logits without classes have",
                         logits.getShape().drop_back())) ||
      failed(verifyShape(*this, "log_sum_exp", lse.getShape(), "labels have", labels.getShape())) ||
      failed(verifyStatistic(*this, "log_sum_exp", lse.getElementType(), "logits", element)))
    return failure();
  return verifyStatistic(*this, "loss_sum", getElementTypeOrSelf(getLossSum().getType()), "logits", element);
}

LogicalResult MseLossOp::verify() {
  RankedTensorType prediction = getPrediction().getType(), target = getTarget().getType();
  if (failed(verifyElementType(*this, "target", target.getElementType(), "prediction",
                               prediction.getElementType())) ||
      failed(verifyShape(*this, "target", target.getShape(), "prediction has", prediction.getShape())))
    return failure();
  return verifyStatistic(*this, "loss_sum", getElementTypeOrSelf(getLossSum().getType()), "prediction",
                         prediction.getElementType());
}

LogicalResult OutputLossOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (operand.hasStaticShape() && operand.getNumElements() != 1)
    return emitOpError() << "operand has " << operand.getNumElements() << " elements but a loss has 1";
  return verifyStatistic(*this, "loss_sum", getElementTypeOrSelf(getLossSum().getType()), "the operand",
                         operand.getElementType());
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

/// Error unless low <= value < high (a NaN is in no range).
static LogicalResult verifyRange(Operation *op, StringRef name, const APFloat &attribute, double low,
                                 double high) {
  double value = attribute.convertToDouble();
  if (value >= low && value < high)
    return success();
  return op->emitOpError() << name << " is " << value << ", outside [" << low << ", " << high << ")";
}

/// The flag that holds an update back is one of its scalars.
static LogicalResult verifySkip(Operation *op, Value skip, Value scalar) {
  if (!skip || skip.getType() == scalar.getType())
    return success();
  return op->emitOpError() << "skip has type " << skip.getType() << " but the other scalars have "
                           << scalar.getType();
}

/// Types of an update; `states` are its moments by name, old and new, null where there is none.
static LogicalResult verifyUpdateTypes(Operation *op, Value parameter, Value gradient, Value master, Value newParameter,
                                       Value newMaster, ArrayRef<std::pair<StringRef, Value>> states) {
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  RankedTensorType type = typeOf(parameter), wide = master ? typeOf(master) : type;
  if (static_cast<bool>(master) != static_cast<bool>(newMaster))
    return op->emitOpError("takes and gives a master, or neither");
  if (typeOf(gradient).getShape() != type.getShape())
    return op->emitOpError() << "gradient has type " << gradient.getType() << " but the parameter has " << type;
  if (newParameter.getType() != type)
    return op->emitOpError() << "new parameter has type " << newParameter.getType() << " but the parameter has " << type;
  if (master && (wide.getShape() != type.getShape() ||
                 wide.getElementTypeBitWidth() <= type.getElementTypeBitWidth()))
    return op->emitOpError() << "master has type " << wide << ", which is not wider than the parameter's " << type;
  if (newMaster && newMaster.getType() != wide)
    return op->emitOpError() << "new master has type " << newMaster.getType() << " but the master has " << wide;
  for (auto [name, state] : states)
    if (state && state.getType() != wide)
      return op->emitOpError() << name << " has type " << state.getType() << " but the "
                               << (master ? "master" : "parameter") << " has " << wide;
  return success();
}

LogicalResult AdamOp::verify() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (failed(verifyUpdateTypes(*this, getParameter(), getGradient(), getMaster(), getNewParameter(), getNewMaster(),
                               {{"exp_avg", getExpAvg()},
                                {"exp_avg_sq", getExpAvgSq()},
                                {"new exp_avg", getNewExpAvg()},
                                {"new exp_avg_sq", getNewExpAvgSq()}})) ||
      failed(verifySkip(*this, getSkip(), getLearningRate())) ||
      failed(verifyRange(*this, "beta1", getBeta1(), 0, 1)) ||
      failed(verifyRange(*this, "beta2", getBeta2(), 0, 1)) ||
      failed(verifyRange(*this, "epsilon", getEpsilon(), 0, infinity)))
    return failure();
  return verifyRange(*this, "weight_decay", getWeightDecay(), 0, infinity);
}

LogicalResult SgdOp::verify() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (failed(verifySkip(*this, getSkip(), getLearningRate())) ||
      failed(verifyRange(*this, "momentum", getMomentum(), 0, infinity)) ||
      failed(verifyRange(*this, "weight_decay", getWeightDecay(), 0, infinity)))
    return failure();
  bool hasMomentum = !getMomentum().isZero();
  if (hasMomentum != static_cast<bool>(getMomentumBuffer()))
    return emitOpError() << "momentum is " << getMomentum().convertToDouble() << " but there is "
                         << (hasMomentum ? "no momentum buffer" : "a momentum buffer");
  if (static_cast<bool>(getMomentumBuffer()) != static_cast<bool>(getNewMomentumBuffer()))
    return emitOpError("takes and gives a momentum buffer, or neither");
  if (getNesterov() && !hasMomentum)
    return emitOpError("nesterov needs a momentum but it is 0");
  return verifyUpdateTypes(*this, getParameter(), getGradient(), getMaster(), getNewParameter(), getNewMaster(),
                           {{"momentum buffer", getMomentumBuffer()},
                            {"new momentum buffer", getNewMomentumBuffer()}});
}

//===- DecompositionsAttention.cpp - attention and its gradient -----------===//
//
// The query heads that read one group of keys are stacked below each other: with R = H / G, a query of
// B x T x H x D becomes B x G x (R T) x D, so that one matmul per group serves all its heads and, in the
// gradient, sums over them.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/TensorBuilder.h"
#include <limits>

using namespace mlir;
using namespace zero::nn;

namespace {
struct Heads {
  Heads(Value query, Value key)
      : query(TensorBuilder::shapeOf(query)), key(TensorBuilder::shapeOf(key)), B(this->query[0]),
        T(this->query[1]), H(this->query[2]), D(this->query[3]), S(this->key[1]), G(this->key[2]),
        R(G ? H / G : 1) {}
  ArrayRef<int64_t> query, key;
  int64_t B, T, H, D, S, G, R;

  SmallVector<int64_t> scores() const { return {B, H, T, S}; }
  SmallVector<int64_t> stackedScores() const { return {B, G, R * T, S}; }

  /// B x T x H x D -> B x G x (R T) x D
  Value stack(TensorBuilder b, Value value) const {
    Value split = b.reshape(value, {B, T, G, R, D});
    return b.reshape(b.transpose(split, {0, 2, 3, 1, 4}), {B, G, R * T, D});
  }
  Value unstack(TensorBuilder b, Value value) const {
    Value split = b.reshape(value, {B, G, R, T, D});
    return b.reshape(b.transpose(split, {0, 3, 1, 2, 4}), {B, T, H, D});
  }
  /// B x S x G x D -> B x G x S x D, and back: the permutation is its own inverse.
  Value swap(TensorBuilder b, Value value) const { return b.transpose(value, {0, 2, 1, 3}); }
};
} // namespace

/// Where key s <= t + S - T, over a shape whose last dimensions are T x S.
static Value buildSeen(TensorBuilder b, const Heads &heads, ArrayRef<int64_t> shape) {
  Type index = b.builder.getI64Type();
  Value last = b.iota(shape, index, 2); // the last key that a position sees: t + S - T
  if (heads.S != heads.T)
    last = b.add(last, double(heads.S - heads.T));
  return b.compare(ComparePredicate::le, b.iota(shape, index, 3), last);
}

/// What log_sum_exp is relative to: the largest number of the row's mask among the keys that it sees, where
/// that is finite. A row that the mask hides whole so keeps its digits. Scores less that number.
static Value lessLargestMask(TensorBuilder b, const Heads &heads, Value values, Value mask, bool causal) {
  if (!mask)
    return values;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  mask = b.cast(mask, b.elementOf(values));
  if (causal)
    mask = b.select(buildSeen(b, heads, b.shapeOf(mask)), mask, b.splatLike(mask, -infinity));
  Value most = b.reduce(ReduceKind::max, mask, 3);
  for (auto [predicate, limit] :
       {std::pair(ComparePredicate::gt, -infinity), std::pair(ComparePredicate::lt, infinity)})
    most = b.select(b.compare(predicate, most, limit), most, b.zerosLike(most));
  SmallVector<int64_t> dims{0, 1, 2};
  return b.sub(values, b.broadcast(most, dims, b.shapeOf(values)));
}

/// scale q k^T + mask, -inf where causality hides a key: B x H x T x S.
static Value buildScores(TensorBuilder b, const Heads &heads, Value stackedQuery, Value key, Value mask,
                         double scale, bool causal) {
  SmallVector<int64_t> shape = heads.scores();
  Value scores = b.mul(b.reshape(b.matmul(stackedQuery, key, false, true), shape), scale);
  if (mask) {
    mask = b.cast(mask, b.elementOf(scores));
    scores = b.add(scores, b.broadcast(mask, {0, 1, 2, 3}, shape));
  }
  if (causal) {
    scores = b.select(buildSeen(b, heads, shape), scores, b.splatLike(scores, -std::numeric_limits<double>::infinity()));
  }
  return scores;
}

// m = max(scores), e = exp(scores - m), s = sum(e): result = e / s v, log_sum_exp = m + log(s), relative
FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Heads heads(getQuery(), getKey());
  Type element = b.elementOf(getQuery()), compute = b.computeElement(element);
  SmallVector<int64_t> shape = heads.scores();
  Value query = heads.stack(b, b.cast(getQuery(), compute)), key = heads.swap(b, b.cast(getKey(), compute));
  Value value = heads.swap(b, b.cast(getValue(), compute));
  Value scores = buildScores(b, heads, query, key, getMask(), getScale().convertToDouble(), getCausal());
  Value max = b.reduce(ReduceKind::max, scores, 3);
  Value e = b.exp(b.sub(scores, b.broadcastAlong(max, 3, shape)));
  Value sum = b.sum(e, 3);
  Value probabilities = b.div(e, b.broadcastAlong(sum, 3, shape));
  Value result = heads.unstack(b, b.matmul(b.reshape(probabilities, heads.stackedScores()), value));
  Value relative = lessLargestMask(b, heads, max, getMask(), getCausal());
  return SmallVector<Value>{b.cast(result, element),
                            b.cast(b.add(relative, b.log(sum)), b.elementOf(getLogSumExp()))};
}

// p = exp(scores - log_sum_exp), d p = g v^T, d scores = p (d p - sum(g result)):
//   d q = scale d scores k, d k = scale d scores^T q, d v = p^T g
FailureOr<SmallVector<Value>> AttentionGradOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Heads heads(getQuery(), getKey());
  Type element = b.elementOf(getQuery()), compute = b.computeElement(element);
  double scale = getScale().convertToDouble();
  SmallVector<int64_t> shape = heads.scores();
  Value query = heads.stack(b, b.cast(getQuery(), compute)), key = heads.swap(b, b.cast(getKey(), compute));
  Value value = heads.swap(b, b.cast(getValue(), compute));
  Value resultGradient = b.cast(getResultGradient(), compute), g = heads.stack(b, resultGradient);
  Value scores = buildScores(b, heads, query, key, getMask(), scale, getCausal());
  scores = lessLargestMask(b, heads, scores, getMask(), getCausal());
  Value p = b.exp(b.sub(scores, b.broadcastAlong(b.cast(getLogSumExp(), compute), 3, shape)));
  Value dp = b.reshape(b.matmul(g, value, false, true), shape);
  // sum over d of g result: B x T x H -> B x H x T
  Value inner = b.transpose(b.sum(b.mul(resultGradient, b.cast(getResult(), compute)), 3), {0, 2, 1});
  Value dScores = b.mul(b.mul(p, b.sub(dp, b.broadcastAlong(inner, 3, shape))), scale);
  Value stacked = b.reshape(dScores, heads.stackedScores());
  Value dQuery = heads.unstack(b, b.matmul(stacked, key));
  Value dKey = heads.swap(b, b.matmul(stacked, query, true, false));
  Value dValue = heads.swap(b, b.matmul(b.reshape(p, heads.stackedScores()), g, true, false));
  return SmallVector<Value>{b.cast(dQuery, element), b.cast(dKey, element), b.cast(dValue, element)};
}

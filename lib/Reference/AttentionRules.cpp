//===- AttentionRules.cpp - Attention and its gradient by definition ------===//
#include "Rules.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zero;
using namespace zero::reference;

namespace {
/// Sizes and addressing of one attention: B x T x H x D against B x S x G x D.
template <typename AttentionLike> class Heads {
public:
  Heads(AttentionLike op, Operands operands)
      : query(operands[0]), key(operands[1]), value(operands[2]), mask(op.getMask() ? &operands[3] : nullptr),
        scale(op.getScale().convertToDouble()), causal(op.getCausal()), batch(query.getShape()[0]),
        positions(query.getShape()[1]), heads(query.getShape()[2]), width(query.getShape()[3]),
        keys(key.getShape()[1]), groups(key.getShape()[2]) {}

  int64_t ofQuery(int64_t b, int64_t t, int64_t h) const { return ((b * positions + t) * heads + h) * width; }
  int64_t ofKey(int64_t b, int64_t s, int64_t h) const {
    return ((b * keys + s) * groups + h / (heads / groups)) * width;
  }
  int64_t ofRow(int64_t b, int64_t h, int64_t t) const { return (b * heads + h) * positions + t; }

  /// scale * q . k + mask; -infinity where t does not see s.
  double score(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (causal && s > t + keys - positions)
      return -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (int64_t d = 0; d < width; ++d)
      sum += query.getFloat(ofQuery(b, t, h) + d) * key.getFloat(ofKey(b, s, h) + d);
    sum *= scale;
    if (!mask)
      return sum;
    int64_t mb = mask->getShape()[0] == 1 ? 0 : b, mh = mask->getShape()[1] == 1 ? 0 : h;
    return sum + mask->getFloat(((mb * mask->getShape()[1] + mh) * positions + t) * keys + s);
  }

  /// The largest number of the row's mask among the keys that it sees, where that is finite: what log_sum_exp
  /// is relative to, so that a row that the mask hides whole keeps its digits.
  double largestMask(int64_t b, int64_t h, int64_t t) const {
    if (!mask)
      return 0;
    double most = -std::numeric_limits<double>::infinity();
    int64_t mb = mask->getShape()[0] == 1 ? 0 : b, mh = mask->getShape()[1] == 1 ? 0 : h;
    for (int64_t s = 0; s < keys; ++s)
      if (!causal || s <= t + keys - positions)
        most = std::max(most, mask->getFloat(((mb * mask->getShape()[1] + mh) * positions + t) * keys + s));
    return std::isfinite(most) ? most : 0;
  }

  template <typename Visit> void forEachRow(Visit visit) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = 0; t < positions; ++t)
          visit(b, h, t);
  }

  const HostTensor &query, &key, &value;
  const HostTensor *mask;
  double scale;
  bool causal;
  int64_t batch, positions, heads, width, keys, groups;
};
} // namespace

LogicalResult zero::reference::apply(nn::AttentionOp op, Operands operands, Results results) {
  Heads heads(op, operands);
  heads.forEachRow([&](int64_t b, int64_t h, int64_t t) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t s = 0; s < heads.keys; ++s)
      largest = maximum(largest, heads.score(b, h, t, s));
    for (int64_t s = 0; s < heads.keys; ++s)
      sum += std::exp(heads.score(b, h, t, s) - largest);
    results[1].setFloat(heads.ofRow(b, h, t), (largest - heads.largestMask(b, h, t)) + std::log(sum));
    std::vector<double> row(heads.width, 0.0);
    for (int64_t s = 0; s < heads.keys; ++s)
      for (int64_t d = 0; d < heads.width; ++d)
        row[d] += std::exp(heads.score(b, h, t, s) - largest) / sum *
                  heads.value.getFloat(heads.ofKey(b, s, h) + d);
    for (int64_t d = 0; d < heads.width; ++d)
      results[0].setFloat(heads.ofQuery(b, t, h) + d, row[d]);
  });
  return success();
}

LogicalResult zero::reference::apply(nn::AttentionGradOp op, Operands operands, Results results) {
  Heads heads(op, operands);
  const HostTensor &logSumExp = operands[op.getMask() ? 5 : 4], &gradient = operands[op.getMask() ? 6 : 5];
  std::vector<double> ofQuery(heads.query.getNumElements(), 0.0), ofKey(heads.key.getNumElements(), 0.0),
      ofValue(heads.value.getNumElements(), 0.0);
  heads.forEachRow([&](int64_t b, int64_t h, int64_t t) {
    int64_t atQuery = heads.ofQuery(b, t, h);
    std::vector<double> probability(heads.keys), ofProbability(heads.keys, 0.0);
    double mean = 0, largest = heads.largestMask(b, h, t);
    for (int64_t s = 0; s < heads.keys; ++s) {
      probability[s] = std::exp((heads.score(b, h, t, s) - largest) - logSumExp.getFloat(heads.ofRow(b, h, t)));
      for (int64_t d = 0; d < heads.width; ++d)
        ofProbability[s] += gradient.getFloat(atQuery + d) * heads.value.getFloat(heads.ofKey(b, s, h) + d);
      mean += probability[s] * ofProbability[s];
    }
    for (int64_t s = 0; s < heads.keys; ++s) {
      double ofScore = probability[s] * (ofProbability[s] - mean) * heads.scale;
      int64_t atKey = heads.ofKey(b, s, h);
      for (int64_t d = 0; d < heads.width; ++d) {
        ofQuery[atQuery + d] += ofScore * heads.key.getFloat(atKey + d);
        ofKey[atKey + d] += ofScore * heads.query.getFloat(atQuery + d);
        ofValue[atKey + d] += probability[s] * gradient.getFloat(atQuery + d);
      }
    }
  });
  const std::vector<double> *sums[] = {&ofQuery, &ofKey, &ofValue};
  for (auto [result, sum] : llvm::zip_equal(results, sums))
    for (auto [i, value] : llvm::enumerate(*sum))
      result.setFloat(i, value);
  return success();
}

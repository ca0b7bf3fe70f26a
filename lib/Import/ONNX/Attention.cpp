//===- Attention.cpp - Attention of operator sets 23 to 26 ----------------===//
//
// With B batches, H query heads that read G groups of keys, T queries, S keys (those of the cache first):
//
//   scores = (sqrt(scale) Q) (sqrt(scale) K)^T, capped; Y = softmax(scores + bias) V
//
// The bias is the mask, -inf where it or causality, the window or the length hides a key. A query that sees
// no key gives zeros. nn.attention says the same where V has the size of Q, nothing caps the scores or shows
// them, and the bias needs no gradient; else it is written in primitives.
//
//===----------------------------------------------------------------------===//
#include "OperatorTable.h"

#include <limits>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

class AttentionNode {
public:
  explicit AttentionNode(NodeContext &node) : node(node) {}

  LogicalResult build() {
    if (failed(readHeads()) || failed(appendToCache()) || failed(readAttributes()) || failed(findBias()))
      return failure();
    FailureOr<Tensor> result = isComposite() ? composite() : primitives();
    if (failed(result))
      return failure();
    if (flat) {
      Tensor rows = node.transpose(*result, {0, 2, 1, 3});
      *result = node.reshape(rows, {q.shape[0], q.shape[2], *Dim::multiply(q.shape[1], v.shape[3])}, {rows});
    }
    if (failed(node.set(std::move(*result))) || failed(node.set(k, 1)) || failed(node.set(v, 2)))
      return failure();
    return success();
  }

private:
  // ---- Inputs --------------------------------------------------------------------------------------

  /// An input as B x heads x length x size.
  FailureOr<Tensor> heads(unsigned index, StringRef countName) {
    FailureOr<Tensor> x = node.input(index);
    if (failed(x))
      return failure();
    if (!isa<FloatType>(x->elementType()) || (x->rank() != 3 && x->rank() != 4) ||
        x->rank() != node.inputs[0]->tensors.front().rank()) {
      node.error() << "Q, K and V need floats of rank 3 or 4, input " << index << " has type " << x->type();
      return failure();
    }
    if (x->rank() == 4) {
      if (x->shape[1].isStatic() && x->shape[3].isStatic())
        return x;
      node.error() << "needs known heads, not those of " << x->type();
      return failure();
    }
    int64_t count = node.intAttribute(countName, 0);
    if (count < 1 || !x->shape[2].isStatic() || x->shape[2].value() % count != 0) {
      node.error() << countName << "=" << count << " does not divide dimension 2 of " << x->type();
      return failure();
    }
    Tensor split =
        node.reshape(*x, {x->shape[0], x->shape[1], Dim(count), Dim(x->shape[2].value() / count)}, {*x});
    return node.transpose(split, {0, 2, 1, 3});
  }

  LogicalResult readHeads() {
    FailureOr<Tensor> query = heads(0, "q_num_heads");
    if (failed(query))
      return failure();
    FailureOr<Tensor> key = heads(1, "kv_num_heads");
    if (failed(key))
      return failure();
    FailureOr<Tensor> value = heads(2, "kv_num_heads");
    if (failed(value))
      return failure();
    q = *query, k = *key, v = *value;
    flat = node.inputs[0]->tensors.front().rank() == 3;
    if (k.shape[3] != q.shape[3] || k.shape[1] != v.shape[1] || k.shape[2] != v.shape[2] ||
        q.elementType() != k.elementType() || q.elementType() != v.elementType())
      return node.error() << "Q, K and V do not fit: as batch x heads x length x size they are " << q.type()
                          << ", " << k.type() << " and " << v.type();
    if (k.shape[1].value() == 0 || q.shape[1].value() % k.shape[1].value() != 0)
      return node.error() << "Q has " << q.shape[1].value() << " heads, which the " << k.shape[1].value()
                          << " of K do not divide";
    newKeys = k.shape[2];
    return success();
  }

  /// Puts the cache before the new keys and values.
  LogicalResult appendToCache() {
    if (!node.has(4) && !node.has(5))
      return success();
    FailureOr<Tensor> key = node.input(4), value = node.input(5);
    if (failed(key) || failed(value))
      return failure();
    auto fits = [](const Tensor &past, const Tensor &now) {
      return past.rank() == 4 && past.elementType() == now.elementType() && past.shape[1] == now.shape[1] &&
             past.shape[3] == now.shape[3];
    };
    if (!fits(*key, k) || !fits(*value, v) || key->shape[2] != value->shape[2])
      return node.error() << "the cache of types " << key->type() << " and " << value->type()
                          << " does not fit keys and values of types " << k.type() << " and " << v.type();
    past = key->shape[2];
    k = node.concat({*key, k}, 2);
    v = node.concat({*value, v}, 2);
    return success();
  }

  LogicalResult readAttributes() {
    scale = node.floatAttribute("scale", 1 / std::sqrt(static_cast<double>(q.shape[3].value())));
    softcap = node.floatAttribute("softcap", 0);
    scoresMode = node.intAttribute("qk_matmul_output_mode", 0);
    showsScores = node.results.size() > 3 && !node.node->output(3).empty();
    if (scoresMode < 0 || scoresMode > 3)
      return node.error() << "qk_matmul_output_mode=" << scoresMode << " is not 0, 1, 2 or 3";
    if (node.attribute("softmax_precision")) {
      FailureOr<Type> type = node.elementType(static_cast<int>(node.intAttribute("softmax_precision", 0)));
      if (failed(type))
        return failure();
      if (!isa<FloatType>(*type))
        return node.error() << "softmax_precision is " << *type << ", which is no float type";
      precision = *type;
    } else {
      precision = q.elementType();
    }
    return success();
  }

  // ---- The bias ------------------------------------------------------------------------------------

  Tensor iota(int64_t axis) {
    return node.make<nn::IotaOp>(Dims{Dim(1), Dim(1), q.shape[2], k.shape[2]}, node.builder.getI64Type(),
                                 axis);
  }
  Tensor like(const Tensor &x, double number) {
    return node.broadcastTo(node.splat(number, x.elementType()), x.shape, [&] { return node.shapeOf(x); });
  }
  Tensor select(const Tensor &condition, const Tensor &then, const Tensor &otherwise) {
    return node.make<nn::SelectOp>(then.shape, then.elementType(), condition.value, then.value,
                                   otherwise.value);
  }
  FailureOr<Tensor> compare(nn::ComparePredicate predicate, Tensor x, Tensor y) {
    Tensor pair[] = {x, y};
    if (failed(node.broadcast(pair)))
      return failure();
    return node.make<nn::CompareOp>(pair[0].shape, node.builder.getI1Type(), predicate, pair[0].value,
                                    pair[1].value);
  }

  /// Adds a condition that keys must meet to be seen.
  LogicalResult require(FailureOr<Tensor> condition) {
    if (failed(condition))
      return failure();
    if (!seen) {
      seen = *condition;
      return success();
    }
    Tensor pair[] = {*seen, *condition};
    if (failed(node.broadcast(pair)))
      return failure();
    seen = node.binary<nn::AndOp>(pair[0], pair[1]);
    return success();
  }

  /// Takes the mask: conditions of booleans, an addend of floats.
  LogicalResult readMask() {
    FailureOr<Tensor> given = node.input(3);
    if (failed(given))
      return failure();
    bool isCondition = given->elementType().isInteger(1);
    if (given->rank() < 1 || given->rank() > 4 || (!isCondition && given->elementType() != q.elementType()))
      return node.error() << "attn_mask of type " << given->type() << " fits no scores of "
                          << node.tensorType({q.shape[0], q.shape[1], q.shape[2], k.shape[2]},
                                             q.elementType());
    Dims shape(4 - given->rank(), Dim(1));
    shape.append(given->shape);
    Tensor mask = node.reshape(*given, shape, {*given});
    if (mask.shape[3] != k.shape[2]) {
      // Keys behind the mask's end are hidden.
      if (!mask.shape[3].isStatic() || !k.shape[2].isStatic() || mask.shape[3].value() > k.shape[2].value())
        return node.error() << "attn_mask of type " << given->type() << " has more keys than the "
                            << k.type().getDimSize(2) << " there are";
      shape[3] = k.shape[2];
      SmallVector<int64_t> none(4, 0), high{0, 0, 0, k.shape[2].value() - mask.shape[3].value()};
      mask = node.make<nn::PadOp>(shape, mask.elementType(), mask.value, none, high, none,
                                  llvm::APFloat(isCondition ? 0.0 : kHidden));
    }
    FailureOr<Dims> whole = node.broadcastShape({q.shape[0], q.shape[1], q.shape[2], k.shape[2]}, mask.shape);
    if (failed(whole) || *whole != Dims{q.shape[0], q.shape[1], q.shape[2], k.shape[2]})
      return node.error() << "attn_mask of type " << given->type() << " fits no scores of "
                          << node.tensorType({q.shape[0], q.shape[1], q.shape[2], k.shape[2]},
                                             q.elementType());
    if (isCondition)
      return require(mask);
    addend = mask;
    return success();
  }

  /// The position of a query among all keys: its index, and how many keys stand before its block, which
  /// with lengths of the cached keys (operator set 24) is one number a batch.
  FailureOr<Tensor> positions() {
    Tensor rows = iota(2);
    if (lengths) {
      Tensor before =
          node.binary<nn::SubOp>(*lengths, like(*lengths, static_cast<double>(q.shape[2].value())));
      Tensor pair[] = {rows, before};
      if (failed(node.broadcast(pair)))
        return failure();
      return node.binary<nn::AddOp>(pair[0], pair[1]);
    }
    return past.is(0) ? rows : node.binary<nn::AddOp>(rows, like(rows, static_cast<double>(past.value())));
  }

  LogicalResult readLengths() {
    FailureOr<Tensor> given = node.input(6);
    if (failed(given))
      return failure();
    if (given->rank() != 1 || !given->elementType().isSignlessInteger(64) || given->shape[0] != q.shape[0])
      return node.error() << "nonpad_kv_seqlen has type " << given->type() << ", not "
                          << node.tensorType({q.shape[0]}, node.builder.getI64Type());
    if (node.has(4))
      return node.error() << "has nonpad_kv_seqlen and past_key, which exclude each other";
    lengths = node.reshape(*given, {q.shape[0], Dim(1), Dim(1), Dim(1)}, {*given});
    return require(compare(nn::ComparePredicate::lt, iota(3), *lengths));
  }

  LogicalResult findBias() {
    isCausal = node.intAttribute("is_causal", 0) != 0;
    int64_t left = node.intAttribute("left_window_size", -1),
            right = node.intAttribute("right_window_size", -1);
    if (left < -1 || right < -1)
      return node.error() << "has window sizes " << left << " and " << right << ", which are not -1 or more";
    bool masks = node.has(3) || node.has(6) || left >= 0 || right >= 0;
    if (!masks && !isCausal)
      return success();
    for (const Dim &dim : {q.shape[2], k.shape[2], past})
      if (!dim.isStatic())
        return node.error() << "needs known numbers of queries and keys for its mask, not those of "
                            << q.type() << " and " << k.type();
    // nn.attention's causality begins with the last key: position t sees t + S - T.
    causalByOp = isCausal && newKeys == q.shape[2] && !node.has(6);
    if (isCausal && !masks) {
      // A query sees at least the first key: no row is hidden.
      if (failed(require(compare(nn::ComparePredicate::le, iota(3), positions()))))
        return failure();
      mayHideRows = false;
      return finishBias();
    }
    if ((node.has(3) && failed(readMask())) || (node.has(6) && failed(readLengths())))
      return failure();
    if (isCausal && failed(require(compare(nn::ComparePredicate::le, iota(3), positions()))))
      return failure();
    auto window = [&](int64_t size, bool isLeft) {
      FailureOr<Tensor> at = positions();
      if (failed(at))
        return LogicalResult(failure());
      Tensor end = node.binary<nn::AddOp>(*at, like(*at, static_cast<double>(isLeft ? -size : size)));
      return require(compare(isLeft ? nn::ComparePredicate::ge : nn::ComparePredicate::le, iota(3), end));
    };
    if ((left >= 0 && failed(window(left, true))) || (right >= 0 && failed(window(right, false))))
      return failure();
    return finishBias();
  }

  FailureOr<Tensor> compare(nn::ComparePredicate predicate, Tensor x, FailureOr<Tensor> y) {
    return failed(y) ? FailureOr<Tensor>(failure()) : compare(predicate, x, *y);
  }

  LogicalResult finishBias() {
    Tensor whole = iota(3); // says T x S
    if (!addend)
      addend = node.splat(0, q.elementType(), {1, 1, 1, 1});
    if (!seen)
      seen = node.splat(1, node.builder.getI1Type(), {1, 1, 1, 1});
    Tensor parts[] = {*addend, *seen, whole};
    if (failed(node.broadcast(parts)))
      return failure();
    bias = select(parts[1], parts[0], like(parts[0], kHidden));
    return success();
  }

  /// Which queries see no key: (B or 1) x (H or 1) x T x 1.
  FailureOr<Tensor> hiddenRows() {
    Tensor most = node.reduce(nn::ReduceKind::max, *bias, {3}, /*keepDims=*/true);
    return compare(nn::ComparePredicate::eq, most, like(most, kHidden));
  }
  /// Zeros where a query sees no key. `hidden` broadcasts against x.
  Tensor withoutRows(const Tensor &hidden, const Tensor &x) {
    Tensor whole = node.broadcastTo(hidden, x.shape, [&] { return node.shapeOf(x); });
    return select(whole, like(x, 0), x);
  }

  // ---- The result: B x H x T x size ----------------------------------------------------------------

  bool isComposite() {
    return q.elementType().isF32() && precision.isF32() && softcap == 0 && !showsScores &&
           q.shape[3] == v.shape[3] && !(addend && node.dependsOnParameter(addend->value));
  }

  FailureOr<Tensor> composite() {
    std::optional<Tensor> hidden;
    Value mask;
    if (bias && !(causalByOp && !mayHideRows)) {
      if (mayHideRows) {
        FailureOr<Tensor> rows = hiddenRows();
        if (failed(rows))
          return failure();
        hidden = *rows;
        bias = withoutRows(*hidden, *bias);
      }
      mask = bias->value;
    }
    auto rows = [&](const Tensor &x) { return node.transpose(x, {0, 2, 1, 3}); };
    Tensor query = rows(q), key = rows(k), value = rows(v);
    Type statistic = node.tensorType({q.shape[0], q.shape[1], q.shape[2]}, q.elementType());
    auto attention = nn::AttentionOp::create(
        node.builder, node.location, TypeRange{node.tensorType(query.shape, query.elementType()), statistic},
        query.value, key.value, value.value, mask, node.builder.getF64FloatAttr(scale),
        causalByOp ? node.builder.getUnitAttr() : UnitAttr());
    Tensor result = rows(Tensor{attention.getResult(), query.shape, std::nullopt});
    return hidden ? withoutRows(*hidden, result) : result;
  }

  FailureOr<Tensor> primitives() {
    auto scaled = [&](const Tensor &x) { return node.binary<nn::MulOp>(x, like(x, std::sqrt(scale))); };
    // The heads that read one group of keys stand below each other: one product serves all of them.
    int64_t repeats = q.shape[1].value() / k.shape[1].value();
    std::optional<Dim> stackedRows = Dim::multiply(q.shape[2], Dim(repeats));
    Dim rows = stackedRows ? *stackedRows : node.freshDim();
    auto stacked = [&](const Tensor &x) {
      return node.reshape(x, {x.shape[0], k.shape[1], rows, x.shape[3]}, {x});
    };
    Tensor query = stacked(scaled(q)), key = scaled(k);
    Tensor product = node.make<nn::MatmulOp>(Dims{q.shape[0], k.shape[1], rows, k.shape[2]}, q.elementType(),
                                             query.value, key.value, false, true);
    Tensor scores = node.reshape(product, {q.shape[0], q.shape[1], q.shape[2], k.shape[2]}, {q, k});
    SmallVector<Tensor> shown{scores};
    if (softcap > 0) {
      Tensor small = node.unary<nn::TanhOp>(node.binary<nn::DivOp>(scores, like(scores, softcap)));
      scores = node.binary<nn::MulOp>(small, like(scores, softcap));
    }
    shown.push_back(scores);
    auto plus = [&](const Tensor &addend) {
      return node.binary<nn::AddOp>(
          scores, node.broadcastTo(addend, scores.shape, [&] { return node.shapeOf(scores); }));
    };
    std::optional<Tensor> hidden;
    shown.push_back(bias ? plus(*bias) : scores);
    if (bias && mayHideRows) {
      FailureOr<Tensor> found = hiddenRows();
      if (failed(found))
        return failure();
      hidden = *found;
      scores = plus(withoutRows(*hidden, *bias));
    } else {
      scores = shown.back();
    }
    Tensor wide = node.cast(scores, precision);
    Tensor weights = node.make<nn::SoftmaxOp>(wide.shape, precision, wide.value, 3);
    weights = node.cast(weights, q.elementType());
    if (hidden)
      weights = withoutRows(*hidden, weights);
    shown.push_back(weights);
    if (showsScores && failed(node.set(shown[scoresMode], 3)))
      return failure();
    Tensor result = node.make<nn::MatmulOp>(Dims{q.shape[0], k.shape[1], rows, v.shape[3]}, q.elementType(),
                                            stacked(weights).value, v.value, false, false);
    return node.reshape(result, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}, {q, v});
  }

  NodeContext &node;
  Tensor q, k, v; // B x heads x length x size
  bool flat = false;
  Dim newKeys, past = Dim(0);
  double scale = 1, softcap = 0;
  int64_t scoresMode = 0;
  bool showsScores = false;
  Type precision;
  bool isCausal = false;
  bool causalByOp = false; // nn.attention's own causality hides what this one does
  bool mayHideRows = true;
  std::optional<Tensor> lengths;      // B x 1 x 1 x 1
  std::optional<Tensor> seen, addend; // broadcast against B x H x T x S
  std::optional<Tensor> bias;         // (B or 1) x (H or 1) x T x S
};

LogicalResult buildAttention(NodeContext &node) { return AttentionNode(node).build(); }

constexpr OperatorRow rows[] = {
    {"Attention", 23, kNewestOpset, buildAttention},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::attentionOperators() { return rows; }

//===- Contraction.cpp - Matrix products ----------------------------------===//
#include "Contraction.h"
#include "OperatorTable.h"

#include <cmath>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

Tensor zero::onnx_import::product(NodeContext &node, const Tensor &lhs, const Tensor &rhs, bool transposeLhs,
                                  bool transposeRhs) {
  int64_t rank = lhs.rank();
  Dims shape(ArrayRef(lhs.shape).drop_back(2));
  Dim rows = lhs.shape[transposeLhs ? rank - 1 : rank - 2],
      inner = lhs.shape[transposeLhs ? rank - 2 : rank - 1],
      columns = rhs.shape[transposeRhs ? rank - 2 : rank - 1];
  shape.append({rows, columns});
  if (isa<FloatType>(lhs.elementType()))
    return node.make<nn::MatmulOp>(std::move(shape), lhs.elementType(), lhs.value, rhs.value, transposeLhs,
                                   transposeRhs);
  // sum over k of lhs[.., m, k, 1] * rhs[.., 1, k, n]
  auto turned = [&](const Tensor &x, bool transpose) {
    SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    if (transpose)
      std::swap(permutation[rank - 2], permutation[rank - 1]);
    return node.transpose(x, permutation);
  };
  Tensor left = turned(lhs, transposeLhs), right = turned(rhs, transposeRhs);
  Dims leftShape = left.shape, rightShape = right.shape;
  leftShape.push_back(Dim(1));
  rightShape.insert(rightShape.end() - 2, Dim(1));
  Tensor pair[] = {node.reshape(left, std::move(leftShape), {left}),
                   node.reshape(right, std::move(rightShape), {right})};
  [[maybe_unused]] LogicalResult fits = node.broadcast(pair);
  assert(succeeded(fits) && "the callers have compared the shapes");
  return node.reduce(nn::ReduceKind::sum, node.binary<nn::MulOp>(pair[0], pair[1]), {rank - 1},
                     /*keepDims=*/false);
}

namespace {

LogicalResult checkInner(NodeContext &node, const Tensor &lhs, const Tensor &rhs, const Dim &left,
                         const Dim &right) {
  if (lhs.elementType() != rhs.elementType() || lhs.elementType().isInteger(1))
    return node.error() << "needs numbers of one type, not " << lhs.type() << " and " << rhs.type();
  if (left.isStatic() && right.isStatic() && left != right)
    return node.error() << "inner dimensions differ: " << left.value() << " of " << lhs.type() << " and "
                        << right.value() << " of " << rhs.type();
  return success();
}

/// x * factor; a diagnostic where that is no integer and x holds such.
FailureOr<Tensor> scaled(NodeContext &node, const Tensor &x, double factor) {
  if (factor == 1)
    return x;
  if (!isa<FloatType>(x.elementType()) && factor != std::trunc(factor)) {
    node.error() << "scales integers by " << factor;
    return failure();
  }
  Tensor number =
      node.broadcastTo(node.splat(factor, x.elementType()), x.shape, [&] { return node.shapeOf(x); });
  return node.binary<nn::MulOp>(x, number);
}

/// alpha * A' B' + beta * C
LogicalResult buildGemm(NodeContext &node) {
  FailureOr<Tensor> a = node.input(0), b = node.input(1);
  if (failed(a) || failed(b))
    return failure();
  if (a->rank() != 2 || b->rank() != 2)
    return node.error() << "needs matrices, not " << a->type() << " and " << b->type();
  bool transA = node.intAttribute("transA", 0), transB = node.intAttribute("transB", 0);
  if (failed(checkInner(node, *a, *b, a->shape[transA ? 0 : 1], b->shape[transB ? 1 : 0])))
    return failure();
  FailureOr<Tensor> scaledProduct =
      scaled(node, product(node, *a, *b, transA, transB), node.floatAttribute("alpha", 1));
  if (failed(scaledProduct))
    return failure();
  Tensor product = std::move(*scaledProduct);
  double beta = node.floatAttribute("beta", 1);
  if (!node.has(2) || beta == 0)
    return node.set(std::move(product));
  FailureOr<Tensor> c = node.input(2);
  if (failed(c))
    return failure();
  FailureOr<Dims> fits = node.broadcastShape(product.shape, c->shape);
  if (c->rank() > 2 || failed(fits) || *fits != product.shape)
    return node.error() << "C of type " << c->type() << " does not fit the product of type "
                        << product.type();
  FailureOr<Tensor> addend =
      scaled(node, node.broadcastTo(*c, product.shape, [&] { return node.shapeOf(product); }), beta);
  return failed(addend) ? failure() : node.set(node.binary<nn::AddOp>(product, *addend));
}

/// x with its batch dimensions repeated to `batch`; `other` is the second operand, which may be what says
/// them.
Tensor broadcastBatch(NodeContext &node, const Tensor &x, const Dims &batch, const Tensor &other) {
  Dims shape = batch;
  shape.append(x.shape.end() - 2, x.shape.end());
  return node.broadcastTo(x, std::move(shape), [&] {
    int64_t otherBatch = other.rank() - 2;
    Tensor outer = node.slice(node.shapeOf(other), {0}, {1}, {Dim(otherBatch)});
    Tensor inner = node.slice(node.shapeOf(x), {x.rank() - 2}, {1}, {Dim(2)});
    return node.concat({outer, inner}, 0);
  });
}

} // namespace

FailureOr<Tensor> zero::onnx_import::matrixProduct(NodeContext &node, const Tensor &a, const Tensor &b) {
  if (a.rank() == 0 || b.rank() == 0) {
    node.error() << "needs at least vectors, not " << a.type() << " and " << b.type();
    return failure();
  }
  Tensor lhs = a, rhs = b;
  if (a.rank() == 1)
    lhs = node.reshape(lhs, {Dim(1), lhs.shape[0]});
  if (b.rank() == 1)
    rhs = node.reshape(rhs, {rhs.shape[0], Dim(1)});
  if (failed(checkInner(node, lhs, rhs, lhs.shape.back(), rhs.shape[rhs.rank() - 2])))
    return failure();

  Tensor result;
  if (rhs.rank() == 2) {
    // One weight for all rows: a single matrix product.
    Dims shape(ArrayRef(lhs.shape).drop_back());
    Tensor rows = node.reshape(lhs, {node.extent(lhs, 0, lhs.rank() - 1), lhs.shape.back()});
    shape.push_back(rhs.shape.back());
    result = node.reshape(product(node, rows, rhs), std::move(shape), {lhs});
  } else {
    FailureOr<Dims> batch =
        node.broadcastShape(ArrayRef(lhs.shape).drop_back(2), ArrayRef(rhs.shape).drop_back(2));
    if (failed(batch)) {
      node.error() << "batch dimensions of " << lhs.type() << " and " << rhs.type() << " do not fit";
      return failure();
    }
    Tensor left = broadcastBatch(node, lhs, *batch, rhs), right = broadcastBatch(node, rhs, *batch, lhs);
    result = product(node, left, right);
  }
  Dims shape = result.shape;
  if (a.rank() == 1)
    shape.erase(shape.end() - 2);
  if (b.rank() == 1)
    shape.pop_back();
  return node.reshape(result, std::move(shape), {result, lhs, rhs});
}

namespace {

LogicalResult buildMatMul(NodeContext &node) {
  FailureOr<Tensor> a = node.input(0), b = node.input(1);
  if (failed(a) || failed(b))
    return failure();
  FailureOr<Tensor> result = matrixProduct(node, *a, *b);
  return failed(result) ? failure() : node.set(std::move(*result));
}

constexpr OperatorRow rows[] = {
    {"Gemm", 7, kNewestOpset, buildGemm},
    {"MatMul", 1, kNewestOpset, buildMatMul},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::contractionOperators() { return rows; }

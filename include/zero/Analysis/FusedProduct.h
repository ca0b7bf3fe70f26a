//===- FusedProduct.h - Products with what follows them -------------------===//
//
// nn-fuse-epilogues puts a product and what cuBLASLt can do to it before it is stored into one nn.group. What such a group computes is its
// body and nothing else; here it is read back, by the pass that makes it, by whoever places and emits it, and by verifiers.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_FUSEDPRODUCT_H
#define ZERO_ANALYSIS_FUSEDPRODUCT_H

#include "dialects/NN/NNOps.h"

namespace zero {

/// A sum that begins with a product: product [+ addend] [+ bias along its rows], through reshapes that leave the last dimension, and casts
/// between floats.
struct ProductSum {
  nn::MatmulOp product;
  mlir::Value addend, bias; ///< of the product's element type; null where there is none
  /// What lies between the product and the value, the value's op first.
  llvm::SmallVector<mlir::Operation *> path;
};

/// `value` as such a sum. What is added is computed before the product: of two products the later one is it.
std::optional<ProductSum> matchProductSum(mlir::Value value, bool withAddend = true, unsigned mostAdditions = 2);

/// x where `value` is nn.gelu tanh of x, decomposed; null else.
mlir::Value matchGelu(mlir::Value value);

/// g and x where `value` is g times the slope of nn.gelu tanh at x, as GeluOp::buildGradient writes it.
struct GeluGradient {
  mlir::Value gradient, before;
};
std::optional<GeluGradient> matchGeluGradient(mlir::Value value);

/// Through reshapes that leave the last dimension and casts between floats; `path` takes what was walked through.
mlir::Value stripShapes(mlir::Value value, llvm::SmallVectorImpl<mlir::Operation *> *path = nullptr);
/// The first value of `element` on that way, `value` itself where it is one; null where there is none.
mlir::Value findNarrow(mlir::Value value, mlir::Type element);
/// The value that the sum over all dimensions but the last is of, whose elements are floats; null for other ops.
mlir::Value matchRowSum(mlir::Operation *op);

/// What a group with a product computes: out = epilogue(lhs rhs [+ addend] [+ bias]), one matrix each. All are operands and results of
/// the group.
struct FusedProduct {
  enum class Activation { None, Gelu, GeluGradient };
  enum class BiasGradient { None, OfRhs, OfLhs, OfOut };

  mlir::Value lhs, rhs, addend, bias;
  /// Of GeluGradient: what its slope is taken at.
  mlir::Value before;
  bool transposeLhs = false, transposeRhs = false;
  Activation activation = Activation::None;
  mlir::OpResult out;
  /// Of Gelu: what it is applied to, where that is stored.
  mlir::OpResult beforeOut;
  mlir::OpResult biasGradient; ///< sums over the rows of rhs, lhs or out
  BiasGradient biasGradientOf = BiasGradient::None;
};

/// Whether the group holds a product, which no generated kernel does.
bool holdsProduct(nn::GroupOp group);
/// How the library computes it; none where it cannot, `why` says why.
std::optional<FusedProduct> getFusedProduct(nn::GroupOp group, std::string *why = nullptr);

/// What is stored beside a GELU has rows of a multiple of this many elements.
inline constexpr int64_t kStoredRowElements = 8;

} // namespace zero

#endif

//===- Indexing.h - Indices of elements and of slices ---------------------===//
//
// `nn.gather` and `nn.scatter` read and write along one axis. What ONNX indexes by tuples or element by
// element is one axis of a reshaped tensor, indexed by row-major (linear) indices: so it has their kernels
// and gradients. An index outside its dimension stays outside: it becomes -1, which the step reports.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_INDEXING_H
#define ZERO_LIB_IMPORT_ONNX_INDEXING_H

#include "Importer.h"

namespace zero::onnx_import {

/// The index along `axis` at each element, i64, in a shape whose value at run time is the 1-d tensor `sizes`.
Tensor positions(NodeContext &node, const Dims &shape, int64_t axis, llvm::function_ref<Tensor()> sizes);
/// The same in the shape of `like`.
Tensor positions(NodeContext &node, const Tensor &like, int64_t axis);

/// A 0-d tensor repeated over the shape of `like`.
Tensor repeatLike(NodeContext &node, const Tensor &scalar, const Tensor &like);

/// x <predicate> y of one shape and type.
Tensor compare(NodeContext &node, nn::ComparePredicate predicate, const Tensor &x, const Tensor &y);
Tensor select(NodeContext &node, const Tensor &condition, const Tensor &onTrue, const Tensor &onFalse);

/// Indices into dimensions of `data`: negative ones count from the end. Dimension `first + k` is indexed by
/// component k of the last dimension, or `first` by all elements where there is but one. A diagnostic if they
/// are no integers.
mlir::FailureOr<Tensor> normalizedIndices(NodeContext &node, const Tensor &indices, const Tensor &data,
                                          int64_t first, int64_t count = 1);

/// For each element of `indices`, which has the rank of `data`, the linear index of the element of `data` at
/// the same place but for `axis`, where the index says it.
mlir::FailureOr<Tensor> elementIndices(NodeContext &node, const Tensor &indices, const Tensor &data,
                                       int64_t axis);

/// For each index tuple (the last dimension of `indices`) the linear index into the leading dimensions of
/// `data` that it names.
mlir::FailureOr<Tensor> tupleIndices(NodeContext &node, const Tensor &indices, const Tensor &data);

/// `data` with its first `count` dimensions as one.
Tensor flattenLeading(NodeContext &node, const Tensor &data, int64_t count);

/// The elements of `data` at elementIndices.
Tensor gatherElements(NodeContext &node, const Tensor &data, const Tensor &linear);

} // namespace zero::onnx_import

#endif

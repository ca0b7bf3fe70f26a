//===- LinearIndices.cpp - Index tuples as row-major indices --------------===//
#include "LinearIndices.h"
#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

Value zero::gatherByLinearIndex(OpBuilder &builder, GatherNDOp op) {
  TensorBuilder b(builder, op.getLoc());
  ArrayRef<int64_t> data = b.shapeOf(op.getData()), indices = b.shapeOf(op.getIndices());
  int64_t batch = op.getBatchDims(), tuple = indices.back(), outer = static_cast<int64_t>(indices.size()) - 1;
  SmallVector<int64_t> shape(indices.drop_back());
  Type i64 = builder.getI64Type();
  Value all = b.cast(op.getIndices(), i64);
  Value sum, inside;
  int64_t stride = 1;
  for (int64_t dim = batch + tuple - 1; dim >= 0; stride *= data[dim--]) {
    Value place;
    if (dim < batch) { // batches go side by side
      place = b.iota(shape, i64, dim);
    } else {
      SmallVector<int64_t> starts(indices.size(), 0), strides(indices.size(), 1), size(indices);
      starts[outer] = dim - batch;
      size[outer] = 1;
      place = SliceOp::create(builder, op.getLoc(), RankedTensorType::get(size, i64), all, starts, strides);
      place = b.reshape(place, shape);
      Value valid = b.binary<AndOp>(b.compare(ComparePredicate::ge, place, 0.0),
                                    b.compare(ComparePredicate::lt, place, static_cast<double>(data[dim])));
      inside = inside ? b.binary<AndOp>(inside, valid) : valid;
    }
    if (stride != 1)
      place = b.mul(place, static_cast<double>(stride));
    sum = sum ? b.add(sum, place) : place;
  }
  Value linear = b.select(inside, sum, b.splatLike(sum, -1.0));
  SmallVector<int64_t> flat{stride};
  llvm::append_range(flat, data.drop_front(batch + tuple));
  return GatherOp::create(builder, op.getLoc(), op.getType(), b.reshape(op.getData(), flat), linear,
                          /*axis=*/0);
}

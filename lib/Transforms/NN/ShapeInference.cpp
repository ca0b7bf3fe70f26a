//===- ShapeInference.cpp - Result types of nn ops from their operands ----===//
#include "ShapeInference.h"
#include "dialects/NN/Shapes.h"
#include "dialects/NN/Windows.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Gives result `index` this shape.
void setShape(Operation *op, ArrayRef<int64_t> shape, unsigned index = 0) {
  OpResult result = op->getResult(index);
  result.setType(cast<RankedTensorType>(result.getType()).clone(shape));
}

/// All operands and results have one shape.
LogicalResult inferElementwise(Operation *op) {
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (shapeOf(operand) != shape)
      return op->emitOpError() << "operand 0 has shape " << formatShape(shape) << " and operand " << index
                               << " has shape " << formatShape(shapeOf(operand))
                               << " once the batch is bound";
  for (unsigned index = 0; index < op->getNumResults(); ++index)
    setShape(op, shape, index);
  return success();
}

LogicalResult inferBroadcast(BroadcastOp op) {
  SmallVector<int64_t> shape(op.getType().getShape());
  for (auto [from, to] : llvm::zip_equal(shapeOf(op.getOperand()), op.getDims()))
    if (ShapedType::isDynamic(shape[to]))
      shape[to] = from;
  setShape(op, shape);
  return success();
}

LogicalResult inferReshape(ReshapeOp op) {
  SmallVector<int64_t> shape(op.getType().getShape());
  int64_t have = ShapedType::getNumElements(shapeOf(op.getOperand())), others = 1;
  int64_t *rest = nullptr;
  for (int64_t &size : shape) {
    if (!ShapedType::isDynamic(size)) {
      others *= size;
      continue;
    }
    if (rest)
      return op.emitOpError("has two sizes that nothing says: ") << formatShape(shape);
    rest = &size;
  }
  if (rest ? others == 0 || have % others != 0 : have != others)
    return op.emitOpError() << "cannot give the " << have << " elements of shape "
                            << formatShape(shapeOf(op.getOperand())) << " the shape " << formatShape(shape);
  if (rest)
    *rest = have / others;
  setShape(op, shape);
  return success();
}

LogicalResult inferSlice(SliceOp op) {
  SmallVector<int64_t> shape(op.getType().getShape());
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(size))
      continue;
    if (op.getStarts()[axis] != 0 || op.getStrides()[axis] != 1)
      return op.emitOpError() << "has an unknown size at dimension " << axis
                              << ", which it does not keep whole";
    size = shapeOf(op.getOperand())[axis];
  }
  setShape(op, shape);
  return success();
}

LogicalResult inferPad(PadOp op) {
  SmallVector<int64_t> shape;
  for (auto [axis, size] : llvm::enumerate(shapeOf(op.getOperand())))
    shape.push_back(op.getLow()[axis] + size + std::max<int64_t>(size - 1, 0) * op.getInterior()[axis] +
                    op.getHigh()[axis]);
  setShape(op, shape);
  return success();
}

LogicalResult inferConcat(ConcatOp op) {
  SmallVector<int64_t> shape(shapeOf(op.getOperands().front()));
  shape[op.getAxis()] = 0;
  for (Value operand : op.getOperands())
    shape[op.getAxis()] += shapeOf(operand)[op.getAxis()];
  setShape(op, shape);
  return success();
}

LogicalResult inferGatherND(GatherNDOp op) {
  ArrayRef<int64_t> indices = shapeOf(op.getIndices());
  SmallVector<int64_t> shape(indices.drop_back());
  llvm::append_range(shape, shapeOf(op.getData()).drop_front(op.getBatchDims() + indices.back()));
  setShape(op, shape);
  return success();
}

LogicalResult inferTopK(TopKOp op) {
  SmallVector<int64_t> shape(shapeOf(op.getOperand()));
  int64_t axis = op.getAxis(), k = shapeOf(op.getResult())[axis];
  if (!ShapedType::isDynamic(k) && k > shape[axis])
    return op.emitOpError() << "takes " << k << " elements of dimension " << axis << ", which has "
                            << shape[axis] << " once the batch is bound";
  shape[axis] = k;
  setShape(op, shape);
  return success();
}

/// The result is the data with other elements; the updates have to fit.
LogicalResult inferScatter(ScatterOp op) {
  SmallVector<int64_t> expected =
      gatherShape(shapeOf(op.getData()), shapeOf(op.getIndices()), op.getAxis());
  if (ArrayRef(expected) != shapeOf(op.getUpdates()))
    return op.emitOpError() << "has updates of shape " << formatShape(shapeOf(op.getUpdates()))
                            << " where data and indices give " << formatShape(expected)
                            << " once the batch is bound";
  setShape(op, shapeOf(op.getData()));
  return success();
}

LogicalResult inferMatmul(MatmulOp op) {
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
  SmallVector<int64_t> shape(lhs.drop_back(2));
  shape.push_back(lhs[lhs.size() - (op.getTransposeLhs() ? 1 : 2)]);
  shape.push_back(rhs[rhs.size() - (op.getTransposeRhs() ? 2 : 1)]);
  setShape(op, shape);
  return success();
}

/// Sets the shape leading ++ positions of the windows over the spatial dimensions of `data`.
template <typename OpTy>
LogicalResult inferWindows(OpTy op, ArrayRef<int64_t> data, ArrayRef<int64_t> sizes,
                           ArrayRef<int64_t> leading) {
  SmallVector<int64_t> shape(leading);
  for (auto [size, window] : llvm::zip_equal(data.drop_front(2), getWindows(op, sizes))) {
    std::optional<int64_t> positions = window.countPositions(size);
    if (!positions)
      return op.emitOpError() << "overflows over the " << size << " positions of its data";
    shape.push_back(*positions);
  }
  for (unsigned index = 0; index < op->getNumResults(); ++index)
    setShape(op, shape, index);
  return success();
}

LogicalResult inferConv(ConvOp op) {
  ArrayRef<int64_t> data = shapeOf(op.getLhs()), kernel = shapeOf(op.getRhs());
  return inferWindows(op, data, kernel.drop_front(2), {data[0], kernel[0]});
}

/// With strides several spatial sizes give the operand's: the type says which.
LogicalResult inferConvTranspose(ConvTransposeOp op) {
  SmallVector<int64_t> shape(op.getType().getShape());
  shape[0] = shapeOf(op.getLhs())[0];
  shape[1] = shapeOf(op.getRhs())[1] * op.getGroups();
  setShape(op, shape);
  return success();
}

template <typename OpTy> LogicalResult inferPool(OpTy op) {
  ArrayRef<int64_t> data = shapeOf(op.getOperand());
  return inferWindows(op, data, op.getWindow(), data.take_front(2));
}

LogicalResult inferLayerNorm(LayerNormOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  setShape(op, shape, 0);
  for (unsigned index : {1u, 2u})
    setShape(op, shape.drop_back(shapeOf(op.getScale()).size()), index);
  return success();
}

LogicalResult inferAttention(AttentionOp op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  setShape(op, query, 0);
  setShape(op, {query[0], query[2], query[1]}, 1);
  return success();
}

} // namespace

LogicalResult zero::inferResultTypes(Operation *op) {
  LogicalResult inferred =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case<BroadcastOp>(inferBroadcast)
          .Case<ReshapeOp>(inferReshape)
          .Case<TransposeOp>([](TransposeOp transpose) {
            setShape(transpose, llvm::map_to_vector(transpose.getPermutation(), [&](int64_t axis) {
                       return shapeOf(transpose.getOperand())[axis];
                     }));
            return success();
          })
          .Case<SliceOp>(inferSlice)
          .Case<PadOp>(inferPad)
          .Case<ConcatOp>(inferConcat)
          .Case<GatherOp>([](GatherOp gather) {
            setShape(gather,
                     gatherShape(shapeOf(gather.getData()), shapeOf(gather.getIndices()), gather.getAxis()));
            return success();
          })
          .Case<GatherNDOp>(inferGatherND)
          .Case<ScatterOp>(inferScatter)
          .Case<TopKOp>(inferTopK)
          .Case<ReduceOp>([](ReduceOp reduce) {
            setShape(reduce, dropAxes(shapeOf(reduce.getOperand()), reduce.getAxes()));
            return success();
          })
          .Case<CumSumOp, SoftmaxOp>([](auto same) { return inferElementwise(same); })
          .Case<MatmulOp>(inferMatmul)
          .Case<ConvOp>(inferConv)
          .Case<ConvTransposeOp>(inferConvTranspose)
          .Case<MaxPoolOp, SumPoolOp>([](auto pool) { return inferPool(pool); })
          .Case<LayerNormOp>(inferLayerNorm)
          .Case<AttentionOp>(inferAttention)
          .Case<CrossEntropyOp>([](CrossEntropyOp loss) {
            setShape(loss, shapeOf(loss.getLabels()), 2);
            return success();
          })
          .Default([](Operation *other) {
            return other->hasTrait<ElementwiseOp>() && other->getNumOperands() ? inferElementwise(other)
                                                                               : success();
          });
  if (failed(inferred))
    return failure();
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()); type && !type.hasStaticShape())
      return op->emitOpError() << "result has type " << type
                               << ", whose unknown sizes its operands do not say";
  return success();
}

//===- KernelShape.cpp - The iteration space of a fused kernel ------------===//
//
// Values with the most elements have all digits; elementwise ops and reshapes keep digits, a broadcast's
// operand has those of the dimensions that it does not repeat, a reduction's result those of the axes that
// stay. These rules run to a fixed point; a value that would need two different maps, or gets none, does not
// fit.
//
//===----------------------------------------------------------------------===//
#include "IndexMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace mlir;

namespace zero {
namespace {

int64_t countElements(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

bool isSplatConstant(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && constant.getValue().isSplat();
}

class ShapeSolver {
public:
  ShapeSolver(ArrayRef<Operation *> ops, ValueRange results, std::string *why, OperandMaps *operandMaps)
      : ops(ops), results(results), why(why), operandMaps(operandMaps) {}

  FailureOr<KernelShape> solve() {
    for (Operation *op : ops) {
      values.insert(op->operand_begin(), op->operand_end());
      values.insert(op->result_begin(), op->result_end());
      inside.insert(op);
    }
    values.insert(results.begin(), results.end());
    for (Value value : values) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || !type.hasStaticShape())
        return fail(value, "has no static shape");
    }
    if (llvm::any_of(values, [](Value value) { return countElements(value) == 0; }))
      return solveEmpty();

    for (Value value : values)
      if (!isSplatConstant(value))
        points = std::max(points, countElements(value));
    for (Value value : values)
      if (points > 1 && countElements(value) == points && !isSplatConstant(value))
        shape.maps[value] = {{1, points}};
    if (failed(propagate()) || failed(checkComplete()) || failed(chooseKind()))
      return failure();
    computeLevels();
    if (failed(checkValues()) || failed(checkResults()))
      return failure();
    return std::move(shape);
  }

private:
  LogicalResult fail(Value value, const Twine &text) {
    if (why)
      *why = llvm::formatv("a value of type {0} {1}", value.getType(), text.str()).str();
    return failure();
  }

  /// Nothing to compute; a reduction over no elements gives its neutral element.
  FailureOr<KernelShape> solveEmpty() {
    shape.kind = KernelShape::Kind::Empty;
    for (Value result : results) {
      if (countElements(result) == 0)
        continue;
      auto reduce = result.getDefiningOp<nn::ReduceOp>();
      if (!reduce || countElements(reduce.getOperand()) != 0)
        return fail(result, "is computed beside a tensor without elements");
    }
    return std::move(shape);
  }

  bool isUniform(Value value) const { return countElements(value) == 1 || isSplatConstant(value); }

  LogicalResult setMap(Value value, const IndexMap &map, bool &changed) {
    if (isUniform(value))
      return success();
    auto [it, isNew] = shape.maps.try_emplace(value, map);
    changed |= isNew;
    if (!isNew && it->second != map)
      return fail(value, "is read along two different dimensions");
    return success();
  }

  /// The known map of `value`, or null.
  const IndexMap *find(Value value) const {
    auto it = shape.maps.find(value);
    return it == shape.maps.end() ? nullptr : &it->second;
  }

  /// The digits of the kept (or else the reduced) axes of a reduction.
  std::optional<IndexMap> selectAxes(nn::ReduceOp op, bool reduced) const {
    const IndexMap *map = find(op.getOperand());
    if (!map)
      return std::nullopt;
    auto dims = splitByShape(*map, cast<RankedTensorType>(op.getOperand().getType()).getShape());
    if (!dims)
      return std::nullopt;
    IndexMap selected;
    for (auto [dim, digits] : llvm::enumerate(*dims))
      if (llvm::is_contained(op.getAxes(), static_cast<int64_t>(dim)) == reduced)
        for (IndexDigit digit : digits)
          appendInner(selected, digit);
    return selected;
  }

  LogicalResult propagate(Operation *op, bool &changed) {
    if (isa<nn::ConstantOp, nn::IotaOp>(op))
      return success();
    if (auto broadcast = dyn_cast<nn::BroadcastOp>(op)) {
      const IndexMap *map = find(broadcast.getResult());
      if (!map || isUniform(broadcast.getOperand()))
        return success();
      auto dims = splitByShape(*map, broadcast.getResult().getType().getShape());
      if (!dims)
        return fail(broadcast.getResult(), "has dimensions that cross those of the kernel");
      IndexMap kept;
      ArrayRef<int64_t> sizes = broadcast.getOperand().getType().getShape();
      for (auto [size, dim] : llvm::zip_equal(sizes, broadcast.getDims()))
        if (size != 1)
          for (IndexDigit digit : (*dims)[dim])
            appendInner(kept, digit);
      if (operandMaps && !inside.contains(broadcast.getOperand().getDefiningOp())) {
        (*operandMaps)[&broadcast->getOpOperand(0)] = kept;
        return success();
      }
      return setMap(broadcast.getOperand(), kept, changed);
    }
    if (auto reduce = dyn_cast<nn::ReduceOp>(op)) {
      if (!find(reduce.getOperand()) || isUniform(reduce.getResult()))
        return success();
      std::optional<IndexMap> kept = selectAxes(reduce, /*reduced=*/false);
      if (!kept)
        return fail(reduce.getOperand(), "has dimensions that cross those of the kernel");
      return setMap(reduce.getResult(), *kept, changed);
    }
    // Elementwise ops and reshapes.
    SmallVector<Value> all(op->getOperands());
    llvm::append_range(all, op->getResults());
    for (Value from : all)
      if (const IndexMap *map = find(from)) {
        IndexMap copy = *map;
        for (Value to : all)
          if (failed(setMap(to, copy, changed)))
            return failure();
        break;
      }
    return success();
  }

  LogicalResult propagate() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *op : ops)
        if (failed(propagate(op, changed)))
          return failure();
      for (Operation *op : llvm::reverse(ops))
        if (failed(propagate(op, changed)))
          return failure();
    }
    if (operandMaps)
      for (auto &[use, map] : *operandMaps)
        shape.maps.try_emplace(use->get(), map);
    return success();
  }

  LogicalResult checkComplete() {
    for (Value value : values) {
      if (!isUniform(value) && !find(value))
        return fail(value, "has no place in the iteration space of the others");
      if (find(value) && value.getDefiningOp<nn::IotaOp>() &&
          !splitByShape(*find(value), cast<RankedTensorType>(value.getType()).getShape()))
        return fail(value, "has dimensions that cross those of the kernel");
    }
    return success();
  }

  LogicalResult chooseKind() {
    std::optional<IndexDigit> common;
    for (Operation *op : ops) {
      auto reduce = dyn_cast<nn::ReduceOp>(op);
      if (!reduce || countElements(reduce.getOperand()) == countElements(reduce.getResult()))
        continue;
      if (isSplatConstant(reduce.getOperand()))
        return fail(reduce.getOperand(), "is a constant that is reduced");
      std::optional<IndexMap> reduced = selectAxes(reduce, /*reduced=*/true);
      if (!reduced || reduced->size() != 1)
        return fail(reduce.getOperand(), "is reduced along dimensions that are not neighbours");
      if (common && *common != reduced->front())
        return fail(reduce.getOperand(), "is reduced along other dimensions than another value");
      common = reduced->front();
    }
    if (!common) {
      shape.kind = KernelShape::Kind::Elementwise;
      shape.inner = points;
      auto cutAt = [&](ArrayRef<IndexDigit> map) {
        for (IndexDigit digit : map)
          for (int64_t border : {digit.stride, digit.stride * digit.size})
            if (border > 1)
              shape.inner = std::gcd(shape.inner, border);
      };
      for (auto &[value, map] : shape.maps)
        cutAt(map);
      if (operandMaps)
        for (auto &[use, map] : *operandMaps)
          cutAt(map);
      // The index along an axis costs divisions unless the axis is a dimension of the kernel.
      for (Operation *op : ops)
        if (auto iota = dyn_cast<nn::IotaOp>(op))
          cutAt(shape.getAxisDigits(iota.getResult(), iota.getAxis()));
    } else if (common->stride == 1) {
      shape.kind = KernelShape::Kind::Row;
      shape.inner = common->size;
    } else {
      shape.kind = KernelShape::Kind::Column;
      shape.inner = common->stride;
      shape.reduced = common->size;
    }
    if (points % (shape.inner * shape.reduced))
      return fail(values.front(), "has dimensions that cross those of the kernel");
    shape.outer = points / (shape.inner * shape.reduced);
    return success();
  }

  void computeLevels() {
    for (Operation *op : ops) {
      int level = 0;
      for (Value operand : op->getOperands())
        level = std::max(level, shape.levels.lookup(operand));
      auto reduce = dyn_cast<nn::ReduceOp>(op);
      if (reduce && countElements(reduce.getOperand()) != countElements(reduce.getResult()))
        ++level;
      for (Value result : op->getResults())
        shape.levels[result] = level;
    }
  }

  LogicalResult checkValue(Value value, const IndexMap &map) {
    auto parts = splitAtStride(map, shape.inner);
    IndexMap whole;
    appendInner(whole, {1, shape.inner});
    if (!parts || !(parts->second.empty() || parts->second == whole))
      return fail(value, "covers a part of the innermost dimension");
    if (shape.kind != KernelShape::Kind::Column)
      return success();
    auto outer = splitAtStride(parts->first, shape.inner * shape.reduced);
    if (!outer)
      return fail(value, "has dimensions that cross those of the kernel");
    if (shape.levels.lookup(value) == 1 && !outer->second.empty())
      return fail(value, "repeats a column reduction over the rows");
    return success();
  }

  LogicalResult checkValues() {
    for (Value value : values)
      if (find(value) && failed(checkValue(value, *find(value))))
        return failure();
    if (operandMaps)
      for (auto &[use, map] : *operandMaps)
        if (failed(checkValue(use->get(), map)))
          return failure();
    if (shape.kind == KernelShape::Kind::Column)
      for (Operation *op : ops)
        if (isa<nn::ReduceOp>(op) && !shape.variesInside(op->getOperand(0)))
          return fail(op->getOperand(0), "is reduced and has no columns");
    return success();
  }

  /// Every element of a result is written by one item.
  LogicalResult checkResults() {
    for (Value result : results) {
      bool inside = shape.variesInside(result);
      auto parts = splitAtStride(shape.getMap(result), shape.inner * shape.reduced);
      bool everyOuter =
          shape.outer == 1 || (parts && parts->first == IndexMap{{shape.inner * shape.reduced, shape.outer}});
      bool whole = points == 1 || shape.getMap(result) == ArrayRef<IndexDigit>(IndexMap{{1, points}});
      bool fits = everyOuter;
      if (shape.kind == KernelShape::Kind::Elementwise && shape.outer == 1)
        fits = whole;
      if (shape.kind == KernelShape::Kind::Column)
        fits = whole || (everyOuter && inside && parts->second == IndexMap{{1, shape.inner}});
      if (isSplatConstant(result) || !fits)
        return fail(result, "is a result that more than one item would write");
    }
    return success();
  }

  ArrayRef<Operation *> ops;
  ValueRange results;
  std::string *why;
  OperandMaps *operandMaps;
  llvm::SetVector<Value> values;
  DenseSet<Operation *> inside;
  int64_t points = 1;
  KernelShape shape;
};

} // namespace

ArrayRef<IndexDigit> KernelShape::getMap(Value value) const {
  auto it = maps.find(value);
  return it == maps.end() ? ArrayRef<IndexDigit>() : ArrayRef<IndexDigit>(it->second);
}

IndexMap KernelShape::getAxisDigits(Value value, int64_t axis) const {
  auto dims = splitByShape(getMap(value), cast<RankedTensorType>(value.getType()).getShape());
  return dims ? (*dims)[axis] : IndexMap();
}

bool KernelShape::variesInside(Value value) const {
  ArrayRef<IndexDigit> map = getMap(value);
  return inner > 1 && !map.empty() && map.back().stride == 1;
}

int64_t KernelShape::getItems() const {
  switch (kind) {
  case Kind::Empty:
    return 1;
  case Kind::Elementwise:
    return outer == 1 ? (inner + kCellElements - 1) / kCellElements : outer;
  case Kind::Row:
    return outer;
  case Kind::Column:
    return outer * ((inner + kCellElements - 1) / kCellElements);
  }
  llvm_unreachable("every kind is listed");
}

SmallVector<KernelPass> KernelShape::planPasses(ArrayRef<Operation *> ops, ArrayRef<Value> results) const {
  // Of as many elements as its result: it adds nothing up.
  auto isTrivial = [](nn::ReduceOp op) {
    return op.getOperand().getType().getNumElements() == op.getResult().getType().getNumElements();
  };
  int count = 1;
  for (Operation *op : ops)
    count = std::max(count, levels.lookup(op->getResult(0)) + 1);
  SmallVector<KernelPass> passes(count);
  for (Operation *op : ops)
    if (auto reduce = dyn_cast<nn::ReduceOp>(op); reduce && !isTrivial(reduce))
      passes[levels.lookup(reduce.getOperand())].reductions.push_back(reduce);
  for (auto [i, result] : llvm::enumerate(results))
    if (variesInside(result))
      passes[levels.lookup(result)].results.push_back(i);
  return passes;
}

FailureOr<KernelShape> computeKernelShape(ArrayRef<Operation *> ops, ValueRange results, std::string *why,
                                          OperandMaps *operandMaps) {
  return ShapeSolver(ops, results, why, operandMaps).solve();
}

} // namespace zero

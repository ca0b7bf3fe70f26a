//===- RowKernel.cpp - Kernels that walk rows -----------------------------===//
//
//   for row in [begin, end):
//     scalars of the row
//     for each level:                          // once more for each reduction that something waits for
//       for position in 0, 16, ... inner:      // vectors of 16; the last one may be short in memory
//         combine into accumulators; store results
//       accumulators -> scalars of the row
//
// A sum has four vectors of partial sums, vector k adding to number k mod 4, combined as a tree: an order
// that depends on the row's length alone. Sums of f16 and bf16 are f32 until they are complete. A kernel
// without reductions over whole tensors only is one row that is cut into cells.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace zero {

static constexpr int64_t kAccumulators = 4;
/// Most bytes of a row's intermediate values that are kept on the stack rather than computed again.
static constexpr int64_t kScratchBytes = 256 * 1024;

/// Costs more to compute than to store and load; rounding to bf16 is seven operations (Lanes::roundTo).
static bool isExpensive(Operation *op) {
  if (auto cast = dyn_cast_or_null<nn::CastOp>(op))
    return cast.getResult().getType().getElementType().isBF16();
  return isa_and_nonnull<nn::ExpOp, nn::Expm1Op, nn::LogOp, nn::Log1pOp, nn::AtanOp, nn::SqrtOp, nn::RsqrtOp,
                         nn::ReciprocalOp, nn::TanhOp, nn::SigmoidOp, nn::ErfOp, nn::SinOp, nn::CosOp,
                         nn::PowOp, nn::DivOp, nn::RemOp>(op);
}

/// Adds the vectors that `value` is computed from.
void KernelEmitter::collectNeeded(Value value, llvm::SetVector<Value> &needed) {
  Operation *op = value.getDefiningOp();
  if (isSplat(value) || !shape.variesInside(value) || !needed.insert(value) || !op)
    return;
  for (Value operand : op->getOperands())
    collectNeeded(operand, needed);
}

/// Saves the outermost expensive values that a pass of `level` shares with an earlier one.
void KernelEmitter::markSaved(Value value, int level, DenseMap<Value, int> &firstPass,
                              DenseSet<Value> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || isSplat(value) || !shape.variesInside(value) || !seen.insert(value).second)
    return;
  int first = firstPass.lookup(value);
  if (isExpensive(op) && first < level) {
    llvm::SmallVector<Value> &saved = passes[first].saved;
    if (!llvm::is_contained(saved, value))
      saved.push_back(value);
    return;
  }
  for (Value operand : op->getOperands())
    markSaved(operand, level, firstPass, seen);
}

/// Which expensive values a pass over a row keeps for later ones, as far as there is room.
void KernelEmitter::planSaved() {
  DenseMap<Value, int> firstPass;
  auto roots = [&](Pass &pass) {
    SmallVector<Value> values;
    for (nn::ReduceOp op : pass.reductions)
      values.push_back(op.getOperand());
    for (unsigned i : pass.results)
      values.push_back(results[i]);
    return values;
  };
  for (int level = 0; level < static_cast<int>(passes.size()); ++level) {
    llvm::SetVector<Value> needed;
    for (Value value : roots(passes[level]))
      collectNeeded(value, needed);
    for (Value value : needed)
      firstPass.try_emplace(value, level);
    DenseSet<Value> seen;
    for (Value value : roots(passes[level]))
      markSaved(value, level, firstPass, seen);
  }
  int64_t bytes = 0, length = llvm::alignTo(shape.inner, kVectorElements);
  for (auto [level, pass] : llvm::enumerate(passes))
    llvm::erase_if(pass.saved, [&](Value value) {
      int64_t size = length * elementOf(value).getIntOrFloatBitWidth() / 8;
      if (bytes + size > kScratchBytes)
        return true;
      bytes += size;
      scratch[value] = {allocate(size), static_cast<int>(level)};
      return false;
    });
}

/// One row that threads cut at multiples of a cell.
void KernelEmitter::emitFlat() {
  Lanes l = scalars();
  row = index(0);
  emitRowScalars(0);
  int64_t points = shape.inner, tail = points % kVectorElements;
  Value first = l.mul(beginItem, index(kCellElements));
  Value last =
      arith::MinSIOp::create(builder, loc, l.mul(endItem, index(kCellElements)), index(points - tail));
  scf::ForOp loop = openLoop(first, last, kVectorElements);
  emitChunk(passes[0], {loop.getInductionVar(), kVectorElements, 0}, {});
  closeLoop(loop);
  if (!tail)
    return;
  Value isLast = l.both(l.compare(arith::CmpIPredicate::eq, endItem, index(shape.getItems())),
                        l.compare(arith::CmpIPredicate::slt, beginItem, endItem));
  auto branch = scf::IfOp::create(builder, loc, isLast);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitChunk(passes[0], {index(points - tail), tail, 0}, {});
  builder.setInsertionPointAfter(branch);
}

void KernelEmitter::emitRows() {
  scf::ForOp loop = openLoop(beginItem, endItem, 1);
  row = loop.getInductionVar();
  emitRowScalars(0);
  for (auto [level, pass] : llvm::enumerate(passes)) {
    emitPass(pass, level);
    emitRowScalars(level + 1);
  }
  for (auto [result, pointer] : llvm::zip_equal(results, resultPointers))
    if (!shape.variesInside(result))
      store(getScalar(result), pointer, getOffset(result, row), elementOf(result), 1);
  closeLoop(loop);
}

static bool isUnsigned(nn::ReduceOp op) {
  Type element = op.getOperand().getType().getElementType();
  return element.isUnsignedInteger() || element.isInteger(1);
}

void KernelEmitter::emitPass(Pass &pass, int level) {
  if (pass.reductions.empty() && pass.results.empty() && pass.saved.empty())
    return;
  int64_t fullVectors = shape.inner / kVectorElements, tail = shape.inner % kVectorElements;
  size_t width = pass.reductions.empty() ? 1 : kAccumulators;
  SmallVector<Value> accumulators; // reduction-major
  for (nn::ReduceOp op : pass.reductions)
    accumulators.append(kAccumulators, emitNeutral(vectors(), op.getKind(), elementOf(op.getOperand())));
  /// The accumulators that vector `k` adds to.
  auto emitVector = [&](Value position, int64_t count, int64_t k) {
    SmallVector<Value> own;
    for (size_t r = 0; r < pass.reductions.size(); ++r)
      own.push_back(accumulators[r * kAccumulators + k % kAccumulators]);
    emitChunk(pass, {position, count, level}, own);
    for (size_t r = 0; r < pass.reductions.size(); ++r)
      accumulators[r * kAccumulators + k % kAccumulators] = own[r];
  };
  int64_t inLoop = fullVectors / width * width;
  if (inLoop) {
    scf::ForOp loop =
        openLoop(index(0), index(inLoop * kVectorElements), width * kVectorElements, accumulators);
    accumulators.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    for (size_t k = 0; k < width; ++k)
      emitVector(k ? scalars().add(loop.getInductionVar(), index(k * kVectorElements))
                   : loop.getInductionVar(),
                 kVectorElements, k);
    closeLoop(loop, accumulators);
    accumulators.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (int64_t k = inLoop; k < fullVectors; ++k)
    emitVector(index(k * kVectorElements), kVectorElements, k);
  if (tail)
    emitVector(index(fullVectors * kVectorElements), tail, fullVectors);

  for (auto [r, op] : llvm::enumerate(pass.reductions)) {
    Value *own = &accumulators[r * kAccumulators];
    auto combine = [&](Value a, Value b) {
      return emitCombine(vectors(), op.getKind(), a, b, isUnsigned(op));
    };
    Value total = combineLanes(op, combine(combine(own[0], own[1]), combine(own[2], own[3])));
    known[op.getResult()] = scalars().roundTo(total, elementOf(op.getOperand()));
  }
}

void KernelEmitter::emitChunk(Pass &pass, Chunk chunk, MutableArrayRef<Value> accumulators) {
  for (auto [op, accumulator] : llvm::zip_equal(pass.reductions, accumulators)) {
    Value vector = getVector(op.getOperand(), chunk);
    Value sum = emitCombine(vectors(), op.getKind(), accumulator, vector, isUnsigned(op));
    if (chunk.count < kVectorElements) {
      SmallVector<bool> inRow(kVectorElements, false);
      std::fill_n(inRow.begin(), chunk.count, true);
      auto type = cast<VectorType>(vectors().typeOf(builder.getI1Type()));
      Value mask = arith::ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, inRow));
      sum = vectors().select(mask, sum, accumulator);
    }
    accumulator = sum;
  }
  for (Value value : pass.saved)
    store(getVector(value, chunk), scratch.lookup(value).pointer, chunk.position, elementOf(value),
          kVectorElements);
  // Every operand is read before a result that may have its memory is written.
  SmallVector<Value> stored;
  for (unsigned i : pass.results)
    stored.push_back(getVector(results[i], chunk));
  for (auto [i, vector] : llvm::zip_equal(pass.results, stored))
    store(vector, resultPointers[i], scalars().add(offsets.lookup(results[i]), chunk.position),
          elementOf(results[i]), chunk.count);
}

/// Combines the lanes of a vector: the upper half with the lower, until one is left.
Value KernelEmitter::combineLanes(nn::ReduceOp op, Value vector) {
  for (int64_t width = kVectorElements / 2; width >= 1; width /= 2) {
    Lanes half(builder, loc, width);
    if (width == 1) {
      Value low = vector::ExtractOp::create(builder, loc, vector, int64_t(0));
      Value high = vector::ExtractOp::create(builder, loc, vector, int64_t(1));
      return emitCombine(half, op.getKind(), low, high, isUnsigned(op));
    }
    SmallVector<int64_t> lowMask = llvm::to_vector(llvm::seq<int64_t>(0, width));
    SmallVector<int64_t> highMask = llvm::to_vector(llvm::seq<int64_t>(width, 2 * width));
    Value low = vector::ShuffleOp::create(builder, loc, vector, vector, lowMask);
    Value high = vector::ShuffleOp::create(builder, loc, vector, vector, highMask);
    vector = emitCombine(half, op.getKind(), low, high, isUnsigned(op));
  }
  llvm_unreachable("a vector has lanes");
}

/// Reductions over nothing.
void KernelEmitter::emitEmpty() {
  for (auto [result, pointer] : llvm::zip_equal(results, resultPointers)) {
    int64_t count = cast<RankedTensorType>(result.getType()).getNumElements();
    if (count == 0)
      continue;
    auto op = result.getDefiningOp<nn::ReduceOp>();
    Value neutral = emitNeutral(scalars(), op.getKind(), elementOf(result));
    scf::ForOp items = openLoop(beginItem, endItem, 1);
    scf::ForOp loop = openLoop(index(0), index(count), 1);
    store(neutral, pointer, loop.getInductionVar(), elementOf(result), 1);
    closeLoop(loop);
    closeLoop(items);
  }
}

} // namespace zero

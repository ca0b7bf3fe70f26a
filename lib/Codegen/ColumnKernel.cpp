//===- ColumnKernel.cpp - Kernels that reduce over rows -------------------===//
//
//   for outer: for the wanted tiles of 64 columns, a few at a time:
//     totals = partials = neutral                // in stack memory
//     for 32 rows at a time:
//       for row in the block: for tile: partials = partials + value; store whole results
//       for tile: totals = totals + partials; partials = neutral
//     for tile: results of the totals
//
// Each column adds its rows in this order whichever tiles a thread has. Row after row is the order of memory, which
// prefetchers follow, and the partial sums stay in the first cache; those of a single tile in registers.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;

namespace zero {

static constexpr int64_t kRowBlock = 32;
/// Tiles whose sums are on the stack together: 2048 columns.
static constexpr int64_t kTileBlock = 32;

static bool isUnsigned(nn::ReduceOp op) {
  Type element = op.getOperand().getType().getElementType();
  return element.isUnsignedInteger() || element.isInteger(1);
}

/// Runs `body` for the tiles [begin, end): in a loop for whole tiles, then for the last, shorter one if it is
/// among them.
void KernelEmitter::forEachTile(Value begin, Value end, llvm::function_ref<void(Value, int64_t)> body) {
  int64_t wholeTiles = shape.inner / kCellElements, rest = shape.inner % kCellElements;
  if (wholeTiles) {
    Value last = arith::MinSIOp::create(builder, loc, end, index(wholeTiles));
    scf::ForOp loop = openLoop(begin, last, 1);
    body(loop.getInductionVar(), kCellElements);
    closeLoop(loop);
  }
  if (!rest)
    return;
  Value first = arith::MaxSIOp::create(builder, loc, begin, index(wholeTiles));
  scf::ForOp loop = openLoop(first, end, 1);
  body(loop.getInductionVar(), rest);
  closeLoop(loop);
}

void KernelEmitter::emitColumns() {
  Lanes l = scalars();
  int64_t tiles = llvm::divideCeil(shape.inner, kCellElements);
  SmallVector<nn::ReduceOp> &reductions = passes[0].reductions;
  for (nn::ReduceOp op : reductions) {
    unsigned bytes = std::max(8u, l.registerOf(elementOf(op.getOperand())).getIntOrFloatBitWidth()) / 8;
    for (SmallVector<Value> *sums : {&totals, &partials})
      sums->push_back(allocate(std::min(kTileBlock, tiles) * kCellElements * bytes));
  }
  auto divide = [&](Value value, int64_t divisor) {
    return Value(arith::DivSIOp::create(builder, loc, value, index(divisor)));
  };
  auto min = [&](Value a, Value b) { return Value(arith::MinSIOp::create(builder, loc, a, b)); };
  auto max = [&](Value a, Value b) { return Value(arith::MaxSIOp::create(builder, loc, a, b)); };
  scf::ForOp outerLoop =
      openLoop(divide(beginItem, tiles), divide(l.add(endItem, index(tiles - 1)), tiles), 1);
  Value outerIndex = outerLoop.getInductionVar(), firstItem = l.mul(outerIndex, index(tiles));
  Value firstTile = max(l.sub(beginItem, firstItem), index(0)),
        lastTile = min(l.sub(endItem, firstItem), index(tiles));
  scf::ForOp blockLoop = openLoop(firstTile, lastTile, kTileBlock);
  Value blockBegin = blockLoop.getInductionVar(),
        blockEnd = min(l.add(blockBegin, index(kTileBlock)), lastTile);
  /// Runs `body` for the tiles of this block, with the position of each in the totals and partial sums.
  auto forEachTileHere = [&](llvm::function_ref<void(Value tile, Value position, int64_t elements)> body) {
    forEachTile(blockBegin, blockEnd, [&](Value tile, int64_t elements) {
      body(tile, l.mul(l.sub(tile, blockBegin), index(kCellElements)), elements);
    });
  };
  auto getNeutral = [&](nn::ReduceOp op) { return emitNeutral(vectors(), op.getKind(), elementOf(op.getOperand())); };

  forEachTileHere([&](Value, Value position, int64_t) {
    forEachSum(position, kCellElements, [&](unsigned r, nn::ReduceOp op, Value offset) {
      storeSum(totals[r], offset, op, getNeutral(op));
      storeSum(partials[r], offset, op, getNeutral(op));
    });
  });
  scf::ForOp rowBlocks = openLoop(index(0), index(shape.reduced), kRowBlock);
  Value firstRow = rowBlocks.getInductionVar(),
        lastRow = min(l.add(firstRow, index(kRowBlock)), index(shape.reduced));
  auto openRow = [&](ValueRange carried = {}) {
    scf::ForOp loop = openLoop(firstRow, lastRow, 1, carried);
    row = l.add(l.mul(outerIndex, index(shape.reduced)), loop.getInductionVar());
    emitRowScalars(0);
    return loop;
  };
  if (tiles > 1) {
    scf::ForOp loop = openRow();
    forEachTileHere([&](Value tile, Value position, int64_t elements) {
      SmallVector<Value> sums = loadPartials(position, elements);
      emitColumnVectors(tile, elements, sums);
      storePartials(position, elements, sums);
    });
    closeLoop(loop);
  } else {
    forEachTileHere([&](Value tile, Value position, int64_t elements) {
      SmallVector<Value> sums = loadPartials(position, elements);
      scf::ForOp loop = openRow(sums);
      sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      emitColumnVectors(tile, elements, sums);
      closeLoop(loop, sums);
      storePartials(position, elements, llvm::to_vector_of<Value>(loop.getResults()));
    });
  }
  forEachTileHere([&](Value, Value position, int64_t elements) {
    forEachSum(position, elements, [&](unsigned r, nn::ReduceOp op, Value offset) {
      Value total = loadSum(totals[r], offset, op), partial = loadSum(partials[r], offset, op);
      storeSum(totals[r], offset, op, emitCombine(vectors(), op.getKind(), total, partial, isUnsigned(op)));
      storeSum(partials[r], offset, op, getNeutral(op));
    });
  });
  closeLoop(rowBlocks);
  forEachTile(blockBegin, blockEnd, [&](Value tile, int64_t elements) {
    emitColumnResults(outerIndex, tile, l.sub(tile, blockBegin), elements);
  });
  closeLoop(blockLoop);
  closeLoop(outerLoop);
}

Value KernelEmitter::loadSum(Value pointer, Value offset, nn::ReduceOp op) {
  return load(pointer, offset, scalars().registerOf(elementOf(op.getOperand())), kVectorElements, kVectorElements);
}

void KernelEmitter::storeSum(Value pointer, Value offset, nn::ReduceOp op, Value sum) {
  store(sum, pointer, offset, scalars().registerOf(elementOf(op.getOperand())), kVectorElements);
}

/// Runs `body` for each vector of `elements` columns and each reduction, in this order, with its offset in the sums.
void KernelEmitter::forEachSum(Value position, int64_t elements,
                               llvm::function_ref<void(unsigned, nn::ReduceOp, Value)> body) {
  for (int64_t i = 0; i < elements; i += kVectorElements)
    for (auto [r, op] : llvm::enumerate(passes[0].reductions))
      body(r, op, scalars().add(position, index(i)));
}

SmallVector<Value> KernelEmitter::loadPartials(Value position, int64_t elements) {
  SmallVector<Value> sums;
  forEachSum(position, elements, [&](unsigned r, nn::ReduceOp op, Value offset) {
    sums.push_back(loadSum(partials[r], offset, op));
  });
  return sums;
}

void KernelEmitter::storePartials(Value position, int64_t elements, ArrayRef<Value> sums) {
  forEachSum(position, elements, [&](unsigned r, nn::ReduceOp op, Value offset) {
    storeSum(partials[r], offset, op, sums.front());
    sums = sums.drop_front();
  });
}

/// Adds the current row's values of a tile to `sums`, in the order of forEachSum.
void KernelEmitter::emitColumnVectors(Value tile, int64_t elements, MutableArrayRef<Value> sums) {
  Value start = scalars().mul(tile, index(kCellElements));
  size_t count = passes[0].reductions.size();
  for (int64_t i = 0; i < elements; i += kVectorElements, sums = sums.drop_front(count))
    emitChunk(passes[0], {scalars().add(start, index(i)), std::min(kVectorElements, elements - i), 0},
              sums.take_front(count));
}

void KernelEmitter::emitColumnResults(Value outerIndex, Value tile, Value scratchTile, int64_t elements) {
  Lanes l = scalars();
  if (passes.size() < 2 || passes[1].results.empty())
    return;
  // Of the rows of this outer index nothing depends on which one it is.
  row = l.mul(outerIndex, index(shape.reduced));
  emitRowScalars(0);
  emitRowScalars(1);
  Value start = l.mul(tile, index(kCellElements)), position = l.mul(scratchTile, index(kCellElements));
  for (int64_t k = 0; k < elements; k += kVectorElements) {
    Chunk chunk(l.add(start, index(k)), std::min(kVectorElements, elements - k), 1);
    forEachSum(l.add(position, index(k)), kVectorElements, [&](unsigned r, nn::ReduceOp op, Value offset) {
      chunk.vectors[op.getResult()] = vectors().roundTo(loadSum(totals[r], offset, op), elementOf(op.getOperand()));
    });
    emitChunk(passes[1], chunk, {});
  }
}

} // namespace zero

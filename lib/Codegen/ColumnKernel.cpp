//===- ColumnKernel.cpp - Kernels that reduce over rows -------------------===//
//
//   for outer: for the wanted tiles of 64 columns, a few at a time:
//     totals = neutral                           // in stack memory
//     for 32 rows at a time:
//       for tile:
//         for row in the block: partial = partial + value, in registers; store whole results
//         totals = totals + partial
//     for tile: results of the totals
//
// Each column adds its rows in this order whichever tiles a thread has.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;

namespace zero {

static constexpr int64_t kRowBlock = 32;
/// Tiles whose totals are on the stack together: 4096 columns.
static constexpr int64_t kTileBlock = 64;

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
    totals.push_back(allocate(std::min(kTileBlock, tiles) * kCellElements * bytes));
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

  forEachTile(blockBegin, blockEnd, [&](Value tile, int64_t) {
    Value position = l.mul(l.sub(tile, blockBegin), index(kCellElements));
    for (auto [op, pointer] : llvm::zip_equal(reductions, totals)) {
      Value neutral = emitNeutral(vectors(), op.getKind(), elementOf(op.getOperand()));
      for (int64_t i = 0; i < kCellElements; i += kVectorElements)
        store(neutral, pointer, l.add(position, index(i)), l.registerOf(elementOf(op.getOperand())),
              kVectorElements);
    }
  });
  scf::ForOp rowBlocks = openLoop(index(0), index(shape.reduced), kRowBlock);
  Value firstRow = rowBlocks.getInductionVar(),
        lastRow = min(l.add(firstRow, index(kRowBlock)), index(shape.reduced));
  forEachTile(blockBegin, blockEnd, [&](Value tile, int64_t elements) {
    emitColumnTile(outerIndex, firstRow, lastRow, tile, l.sub(tile, blockBegin), elements);
  });
  closeLoop(rowBlocks);
  forEachTile(blockBegin, blockEnd, [&](Value tile, int64_t elements) {
    emitColumnResults(outerIndex, tile, l.sub(tile, blockBegin), elements);
  });
  closeLoop(blockLoop);
  closeLoop(outerLoop);
}

void KernelEmitter::emitColumnTile(Value outerIndex, Value firstRow, Value lastRow, Value tile,
                                   Value scratchTile, int64_t elements) {
  Lanes l = scalars();
  Pass &pass = passes[0];
  size_t count = pass.reductions.size(), width = llvm::divideCeil(elements, kVectorElements);
  SmallVector<Value> partial; // vector-major
  for (size_t k = 0; k < width; ++k)
    for (nn::ReduceOp op : pass.reductions)
      partial.push_back(emitNeutral(vectors(), op.getKind(), elementOf(op.getOperand())));
  scf::ForOp loop = openLoop(firstRow, lastRow, 1, partial);
  partial.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  row = l.add(l.mul(outerIndex, index(shape.reduced)), loop.getInductionVar());
  emitRowScalars(0);
  Value start = l.mul(tile, index(kCellElements));
  for (size_t k = 0; k < width; ++k) {
    int64_t lanes = std::min<int64_t>(kVectorElements, elements - k * kVectorElements);
    emitChunk(pass, {l.add(start, index(k * kVectorElements)), lanes, 0},
              MutableArrayRef(partial).slice(k * count, count));
  }
  closeLoop(loop, partial);
  Value position = l.mul(scratchTile, index(kCellElements));
  for (size_t k = 0; k < width; ++k)
    for (auto [r, op] : llvm::enumerate(pass.reductions)) {
      Type element = l.registerOf(elementOf(op.getOperand()));
      Value offset = l.add(position, index(k * kVectorElements));
      Value total = load(totals[r], offset, element, kVectorElements, kVectorElements);
      total = emitCombine(vectors(), op.getKind(), total, loop.getResult(k * count + r), isUnsigned(op));
      store(total, totals[r], offset, element, kVectorElements);
    }
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
    for (auto [r, op] : llvm::enumerate(passes[0].reductions)) {
      Type element = elementOf(op.getOperand());
      Value total =
          load(totals[r], l.add(position, index(k)), l.registerOf(element), kVectorElements, kVectorElements);
      chunk.vectors[op.getResult()] = vectors().roundTo(total, element);
    }
    emitChunk(passes[1], chunk, {});
  }
}

} // namespace zero

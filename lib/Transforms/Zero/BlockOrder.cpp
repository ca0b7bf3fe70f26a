//===- BlockOrder.cpp - The order of a block's ops while some are moved ---===//
#include "BlockOrder.h"

using namespace mlir;

namespace zero::sharding {

/// Between two neighbours there is room for 32 ops that are moved to the same place.
static constexpr uint64_t kStride = uint64_t(1) << 32;

void BlockOrder::renumber() {
  uint64_t number = kStride;
  for (Operation &op : block) {
    numbers[&op] = number;
    number += kStride;
  }
}

void BlockOrder::moveBefore(Operation *op, Operation *target) {
  if (op == target || op->getNextNode() == target)
    return;
  op->moveBefore(target);
  Operation *previous = op->getPrevNode();
  uint64_t low = previous ? numbers.lookup(previous) : 0, high = numbers.lookup(target);
  numbers[op] = low + (high - low) / 2;
  if (high - low < 2)
    renumber();
}

} // namespace zero::sharding

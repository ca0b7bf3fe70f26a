//===- Gathers.cpp - The gathers of a function and how long they live -----===//
#include "Gathers.h"
#include "ParameterChains.h"

using namespace mlir;

namespace zero::sharding {

std::string Gather::describe() const {
  AllGatherStartOp op = start;
  BucketOp bucket = getBucket(op, op.getShard().getType());
  return ("bucket @" + bucket.getSymName() + " of block '" + bucket.getBlock() + "'").str();
}

SmallVector<Gather> collectGathers(func::FuncOp function) {
  SmallVector<Gather> gathers;
  for (auto start : function.front().getOps<AllGatherStartOp>()) {
    Gather gather;
    gather.start = start;
    gather.elements = getBucket(start, start.getShard().getType()).getElements();
    if (start.getFuture().hasOneUse())
      gather.wait = dyn_cast<WaitOp>(*start.getFuture().user_begin());
    if (gather.wait)
      gather.chains = getChainsOf(gather.wait.getResult());
    for (Value value : gather.chains) {
      for (Operation *user : value.getUsers()) {
        if (isa<ReleaseOp>(user) || isBucketView(user))
          continue;
        gather.returned |= user->hasTrait<OpTrait::IsTerminator>();
        if (!gather.firstUse || user->isBeforeInBlock(gather.firstUse))
          gather.firstUse = user;
        if (!gather.lastUse || gather.lastUse->isBeforeInBlock(user))
          gather.lastUse = user;
      }
    }
    gathers.push_back(std::move(gather));
  }
  return gathers;
}

int64_t getLargestNeed(ArrayRef<Gather> gathers, AllGatherStartOp *at) {
  int64_t largest = 0;
  for (const Gather &gather : gathers) {
    if (gather.returned || !gather.firstUse)
      continue;
    // A sum is largest where something becomes alive.
    int64_t sum = 0;
    for (const Gather &other : gathers)
      if (!other.returned && other.firstUse && !gather.firstUse->isBeforeInBlock(other.firstUse) &&
          !other.lastUse->isBeforeInBlock(gather.firstUse))
        sum += other.elements;
    if (sum > largest) {
      largest = sum;
      if (at)
        *at = gather.start;
    }
  }
  return largest;
}

LogicalResult checkLiveLimit(ArrayRef<Gather> gathers, int64_t maxLiveElements) {
  AllGatherStartOp at;
  int64_t need = getLargestNeed(gathers, &at);
  if (need <= maxLiveElements)
    return success();
  BucketOp bucket = getBucket(at, at.getShard().getType());
  return at.emitOpError() << "of bucket @" << bucket.getSymName() << " brings the elements that block '"
                          << bucket.getBlock() << "' needs at once to " << need
                          << ", but max-live-elements (stage3_max_live_parameters) is " << maxLiveElements
                          << "; the smallest legal value is " << need;
}

} // namespace zero::sharding

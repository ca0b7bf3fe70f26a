//===- Gathers.cpp - The gathers of a function and how long they live -----===//
#include "Gathers.h"
#include "ParameterChains.h"
#include "StepFunctions.h"
#include "mlir/IR/BuiltinOps.h"
#include <numeric>

using namespace mlir;

namespace zero::sharding {

std::string Gather::describe() const {
  AllGatherStartOp op = start;
  BucketOp bucket = getBucket(op, op.getShard().getType());
  return ("bucket @" + bucket.getSymName() + " of block '" + bucket.getBlock() + "'").str();
}

SmallVector<Gather> collectGathers(func::FuncOp function) {
  SmallVector<Gather> gathers;
  SymbolTable buckets(function->getParentOfType<ModuleOp>());
  for (auto start : function.front().getOps<AllGatherStartOp>()) {
    Gather gather;
    gather.start = start;
    gather.elements =
        buckets.lookup<BucketOp>(getBucketSymbol(start.getShard().getType()).getAttr()).getElements();
    if (start.getFuture().hasOneUse())
      gather.wait = dyn_cast<WaitOp>(*start.getFuture().user_begin());
    gather.returned = isOfGradient(start);
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

bool isOfGradient(AllGatherStartOp start) {
  auto argument = dyn_cast<BlockArgument>(start.getShard());
  auto function = dyn_cast<func::FuncOp>(start->getParentOp());
  nn::RoleAttr role = argument && function && function.getSymName() == "update" ? getArgumentRole(function, argument.getArgNumber()) : nn::RoleAttr();
  return role && role.getKind() == nn::RoleKind::Gradient;
}

bool isNewParameter(func::FuncOp update, WaitOp wait) {
  auto returned = wait->hasOneUse() ? dyn_cast<func::ReturnOp>(*wait->user_begin()) : func::ReturnOp();
  if (!returned)
    return false;
  nn::RoleAttr role = getResultRole(update, wait.getResult().use_begin()->getOperandNumber());
  return role && role.getKind() == nn::RoleKind::Parameter;
}

bool mayStartEarly(func::FuncOp function) {
  auto update = function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>("update");
  return function.getSymName() == "micro" && update && update.getBody().hasOneBlock() &&
         update.front().getOps<AllGatherStartOp>().empty();
}

int64_t getLargestNeed(ArrayRef<Gather> gathers, AllGatherStartOp *at) {
  auto isCounted = [](const Gather &gather) { return !gather.returned && gather.firstUse; };
  llvm::DenseMap<Operation *, size_t> places;
  if (auto any = llvm::find_if(gathers, isCounted); any != gathers.end())
    for (auto [place, op] : llvm::enumerate(*any->firstUse->getBlock()))
      places[&op] = place;
  std::vector<int64_t> alive(places.size() + 1); // elements that become alive before an op, then those that are
  for (const Gather &gather : gathers)
    if (isCounted(gather)) {
      alive[places.lookup(gather.firstUse)] += gather.elements;
      alive[places.lookup(gather.lastUse) + 1] -= gather.elements;
    }
  std::partial_sum(alive.begin(), alive.end(), alive.begin());
  int64_t largest = 0;
  // A sum is largest where something becomes alive.
  for (const Gather &gather : gathers)
    if (int64_t sum = isCounted(gather) ? alive[places.lookup(gather.firstUse)] : 0; sum > largest) {
      largest = sum;
      if (at)
        *at = gather.start;
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

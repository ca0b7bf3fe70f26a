//===- PrefetchGathers.cpp - zero-prefetch-gathers ------------------------===//
//
//   %f0 = zero.all_gather_start %s0  %b0 = zero.wait %f0  %w0 = zero.view %b0["w0"]
//   %y0 = nn.matmul %x, %w0
//   %f1 = zero.all_gather_start %s1  %b1 = zero.wait %f1  %w1 = zero.view %b1["w1"]
//   %y1 = nn.matmul %y0, %w1
// becomes, where @b0 and @b1 together are within the limits,
//   %f0 = zero.all_gather_start %s0
//   %f1 = zero.all_gather_start %s1
//   %b0 = zero.wait %f0  %w0 = zero.view %b0["w0"]
//   %y0 = nn.matmul %x, %w0
//   %b1 = zero.wait %f1  %w1 = zero.view %b1["w1"]
//   %y1 = nn.matmul %y0, %w1
// At the start of @micro they are `early`: started in the @update before.
// Test: test/Transforms/Zero/prefetch-gathers.mlir
//
//===----------------------------------------------------------------------===//
#include "Gathers.h"
#include "StepFunctions.h"
#include "zero/Transforms/Zero/Passes.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROPREFETCHGATHERS
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

struct Limits {
  int64_t inFlight, alive;
};

/// Moves the gathers of one function. Places are indices of *anchors*, the ops that are no starts of gathers:
/// a start at place i stands before anchor i.
class Prefetch {
public:
  Prefetch(func::FuncOp function, SmallVector<Gather> gathers, Limits limits, bool startsEarly)
      : gathers(std::move(gathers)), limits(limits), startsEarly(startsEarly) {
    for (Operation &op : function.front()) {
      places[&op] = anchors.size();
      if (!isa<AllGatherStartOp>(op))
        anchors.push_back(&op);
    }
    inFlight.resize(anchors.size());
    alive.resize(anchors.size());
    for (const Gather &gather : this->gathers)
      if (isTemporary(gather)) {
        add(inFlight, places.lookup(gather.start), places.lookup(gather.wait) + 1, gather.elements);
        add(alive, places.lookup(gather.start), places.lookup(gather.lastUse) + 1, gather.elements);
      }
  }

  void run() {
    int earliest = 0;
    for (Gather &gather : gathers) {
      int from = places.lookup(gather.start);
      // Gradients are gathered behind their norm.
      if (isOfGradient(gather.start)) {
        earliest = std::max(earliest, from);
        continue;
      }
      if (Operation *producer = gather.start.getShard().getDefiningOp())
        earliest = std::max(earliest, places.lookup(producer) + 1);
      int place = std::min(from, earliest);
      if (isTemporary(gather)) {
        place = from;
        while (place > earliest && fits(place - 1, gather.elements))
          --place;
        add(inFlight, place, from, gather.elements);
        add(alive, place, from, gather.elements);
        blocked += place > earliest;
      }
      if (place < from)
        ++moved;
      // Also where it stays: starts keep their order before one anchor.
      gather.start->moveBefore(anchors[place]);
      earliest = place;
      // Nothing of this step comes before it: the update of the last one may.
      if (startsEarly && place == 0 && isTemporary(gather))
        gather.start.setEarly(true);
    }
  }

  int64_t moved = 0, blocked = 0;

private:
  static bool isTemporary(const Gather &gather) { return !gather.returned && gather.lastUse; }
  static void add(std::vector<int64_t> &sums, int begin, int end, int64_t elements) {
    for (int i = begin; i < end; ++i)
      sums[i] += elements;
  }
  bool fits(int place, int64_t elements) const {
    return inFlight[place] + elements <= limits.inFlight && alive[place] + elements <= limits.alive;
  }

  SmallVector<Gather> gathers;
  Limits limits;
  bool startsEarly; ///< in the update before, what comes to the start of the function
  std::vector<Operation *> anchors;
  llvm::DenseMap<Operation *, int> places;
  std::vector<int64_t> inFlight, alive; // elements, while each anchor runs
};

class ZeroPrefetchGathers : public impl::ZeroPrefetchGathersBase<ZeroPrefetchGathers> {
public:
  using ZeroPrefetchGathersBase::ZeroPrefetchGathersBase;
  void runOnOperation() override {
    if (prefetchElements < 0) {
      emitError(getOperation().getLoc())
          << "prefetch-elements is " << int64_t(prefetchElements) << ", expected 0 or more";
      return signalPassFailure();
    }
    int64_t moved = 0, blocked = 0;
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation())) {
      SmallVector<Gather> gathers = collectGathers(function);
      if (failed(checkLiveLimit(gathers, maxLiveElements)))
        return signalPassFailure();
      // New parameters are gathered behind their update with any limit: no other gather is moved by 0.
      if (prefetchElements == 0 && function.getSymName() != "update")
        continue;
      Prefetch prefetch(function, std::move(gathers), {prefetchElements, maxLiveElements}, mayStartEarly(function));
      prefetch.run();
      moved += prefetch.moved;
      blocked += prefetch.blocked;
    }
    if (report)
      emitRemark(getOperation().getLoc())
          << "moved " << moved << " gathers, kept " << blocked << " back by a limit";
  }
};

} // namespace
} // namespace zero

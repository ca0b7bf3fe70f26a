//===- GatherPlacement.cpp - Gathers of sharded parameters where they are read //
#include "GatherPlacement.h"
#include "ParameterChains.h"
#include <map>

using namespace mlir;

namespace zero::sharding {

namespace {

/// A run of reads that one gather serves: [first, last] in op indices.
struct Run {
  int first, last;
  Value whole; // once gathered
};

struct ReadBucket {
  UnrealizedConversionCastOp cast;
  StringAttr block;
  SmallVector<int> reads; // op indices, increasing
  SmallVector<Run> runs;
};

class GatherPlacement {
public:
  GatherPlacement(func::FuncOp function, ArrayRef<UnrealizedConversionCastOp> casts) : function(function) {
    for (UnrealizedConversionCastOp cast : casts)
      buckets.push_back({cast, getBucket(cast, cast.getResult(0).getType()).getBlockAttr(), {}, {}});
  }

  void run() {
    for (Operation &op : function.front())
      ops.push_back(&op);
    for (auto [index, bucket] : llvm::enumerate(buckets))
      for (Value value : getChainsOf(bucket.cast.getResult(0)))
        sources[value].push_back(index);
    collectReads();
    findBackwardBegin();
    for (ReadBucket &bucket : buckets) {
      splitRuns(bucket);
      if (hasBackward())
        recordDeadGathers(bucket);
    }
    createGathers();
    replaceReads();
    eraseOld();
  }

private:
  bool isReader(Operation *op) const {
    return op->getNumResults() == 0 || !sources.contains(op->getResult(0));
  }

  void collectReads() {
    for (auto [index, op] : llvm::enumerate(ops)) {
      if (!isReader(op))
        continue;
      for (Value operand : op->getOperands()) {
        for (unsigned source : sources.lookup(operand)) {
          SmallVectorImpl<int> &reads = buckets[source].reads;
          if (reads.empty() || reads.back() != static_cast<int>(index))
            reads.push_back(index);
          blocksReadAt[index].insert(buckets[source].block);
        }
      }
    }
  }

  /// The forward pass is what loss and count are computed from; the backward pass begins at the first other
  /// reader, if there is one at all.
  void findBackwardBegin() {
    backwardBegin = ops.size();
    if (!hasBackward())
      return;
    llvm::SetVector<Operation *> forward;
    for (auto [index, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
      nn::RoleAttr role = getResultRole(function, index);
      if (role && (role.getKind() == nn::RoleKind::LossSum || role.getKind() == nn::RoleKind::LabelCount))
        if (Operation *op = value.getDefiningOp())
          forward.insert(op);
    }
    for (size_t i = 0; i < forward.size(); ++i)
      for (Value operand : forward[i]->getOperands())
        if (Operation *op = operand.getDefiningOp())
          forward.insert(op);
    for (auto &[index, blocks] : blocksReadAt)
      if (!forward.contains(ops[index]))
        backwardBegin = std::min(backwardBegin, index);
  }

  /// @predict returns outputs and has no backward pass.
  bool hasBackward() {
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (nn::RoleAttr role = getResultRole(function, index); role && role.getKind() == nn::RoleKind::Output)
        return false;
    return true;
  }

  bool isOtherBlockReadBetween(int begin, int end, StringAttr block) const {
    for (auto it = blocksReadAt.upper_bound(begin); it != blocksReadAt.end() && it->first < end; ++it)
      if (llvm::any_of(it->second, [&](StringAttr other) { return other != block; }))
        return true;
    return false;
  }

  void splitRuns(ReadBucket &bucket) {
    for (int read : bucket.reads) {
      if (bucket.runs.empty() || isOtherBlockReadBetween(bucket.runs.back().last, read, bucket.block))
        bucket.runs.push_back({read, read, {}});
      bucket.runs.back().last = read;
    }
    if (bucket.runs.size() != 1)
      return;
    Run whole = bucket.runs.front();
    auto firstOfBackward = llvm::lower_bound(bucket.reads, backwardBegin);
    if (firstOfBackward == bucket.reads.begin() || firstOfBackward == bucket.reads.end())
      return;
    bucket.runs = {{whole.first, *std::prev(firstOfBackward), {}}, {*firstOfBackward, whole.last, {}}};
  }

  /// Each pass over a block gathers its bucket; a backward pass that reads nothing of it does not. How many of these there are is
  /// kept for reports.
  void recordDeadGathers(ReadBucket &bucket) {
    int64_t forward = llvm::count_if(bucket.runs, [&](const Run &run) { return run.first < backwardBegin; });
    int64_t backward = llvm::count_if(bucket.runs, [&](const Run &run) { return run.last >= backwardBegin; });
    if (forward > backward)
      getBucket(bucket.cast, bucket.cast.getResult(0).getType())
          ->setAttr(kDeadGathersAttrName, OpBuilder(bucket.cast).getI64IntegerAttr(forward - backward));
  }

  void createGathers() {
    for (ReadBucket &bucket : buckets) {
      for (Run &run : bucket.runs) {
        OpBuilder builder(ops[run.first]);
        run.whole = createCollective<AllGatherStartOp>(
            builder, bucket.cast.getLoc(), bucket.cast.getOperand(0), bucket.cast.getResult(0).getType());
      }
    }
  }

  void replaceReads() {
    for (auto [index, op] : llvm::enumerate(ops)) {
      if (!isReader(op))
        continue;
      for (OpOperand &operand : op->getOpOperands())
        if (sources.contains(operand.get()))
          operand.set(materialize(operand.get(), index, op));
    }
  }

  unsigned getRun(unsigned bucket, int index) const {
    const SmallVector<Run> &runs = buckets[bucket].runs;
    for (unsigned i = 0; i < runs.size(); ++i)
      if (index <= runs[i].last)
        return i;
    llvm_unreachable("every reader lies in a run");
  }

  /// `value` computed from the gathers that serve op `index`, before `reader`.
  Value materialize(Value value, int index, Operation *reader) {
    auto found = sources.find(value);
    if (found == sources.end())
      return value;
    SmallVector<unsigned> runs;
    for (unsigned source : found->second)
      runs.push_back(getRun(source, index));
    if (value == buckets[found->second.front()].cast.getResult(0))
      return buckets[found->second.front()].runs[runs.front()].whole;
    for (auto &[known, clone] : clones[value])
      if (known == runs)
        return clone;
    IRMapping mapping;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      mapping.map(operand, materialize(operand, index, reader));
    Value clone = OpBuilder(reader).clone(*op, mapping)->getResult(0);
    clones[value].push_back({runs, clone});
    return clone;
  }

  void eraseOld() {
    for (Operation *op : llvm::reverse(ops))
      if (!isReader(op) && op->use_empty())
        op->erase();
  }

  func::FuncOp function;
  SmallVector<ReadBucket> buckets;
  std::vector<Operation *> ops;
  llvm::DenseMap<Value, SmallVector<unsigned>> sources; // of chain values: the buckets they are computed from
  std::map<int, llvm::SmallSetVector<StringAttr, 2>> blocksReadAt;
  int backwardBegin = 0;
  llvm::DenseMap<Value, SmallVector<std::pair<SmallVector<unsigned>, Value>>> clones;
};

} // namespace

void placeGathers(func::FuncOp function, ArrayRef<UnrealizedConversionCastOp> casts) {
  GatherPlacement(function, casts).run();
}

} // namespace zero::sharding

//===- FormGroups.cpp - nn-form-groups ------------------------------------===//
//
// Collects elementwise ops and reductions into nn.group ops, each of which one generated kernel computes.
//
//   %m = nn.reduce max %x axes [1]              %y = nn.group(%a = %x : tensor<8x10xf32>) ->
//   (tensor<8x10xf32>) { %b = nn.broadcast %m dims [0]                 %m = nn.reduce max %a axes [1] %d =
//   nn.sub %x, %b                    ->      %b = nn.broadcast %m dims [0] %y = nn.exp %d %d = nn.sub %a, %b
//                                                 %e = nn.exp %d
//                                                 nn.yield %e
//                                               }
//
// Elementwise ops and reductions are the members of clusters; each starts as a cluster of its own. A cluster
// joins that of a producer, then one that reads the same tensor, where one iteration space fits both
// (KernelShape.h) and no path leads from one out and back into the other. Broadcasts, iotas, constants and widenings of
// 16 bits are copied into every group that reads them, and cheap elementwise ops into all groups that read them where
// that reads no more than it saves in writing and reading theirs; any elementwise ops where 16 bits are then kept instead of
// 32. A group reads parameters of one block of the
// model at most: at stage 3 another block's would be gathered before its time. Reshapes are inside where they stand on
// something inside, else outside, where they cost nothing.
//
//===----------------------------------------------------------------------===//
#include "ClusterGraph.h"
#include "GroupPreparation.h"
#include "mlir/IR/IRMapping.h"
#include "zero/Analysis/KernelShape.h"
#include "zero/Analysis/ParameterBlocks.h"
#include "zero/Transforms/NN/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_NNFORMGROUPS
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

/// What sortTopologically does, the same order, in linear time: it takes ops that are ready from the front of the block to its
/// end, again and again. An op is taken in the round of the last value that it needs, or in the next where that stands behind it.
void sortByUse(Block &block) {
  llvm::DenseMap<Operation *, unsigned> places;
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator()) {
    places[&op] = ops.size();
    ops.push_back(&op);
  }
  SmallVector<SmallVector<unsigned, 2>> needs(ops.size());
  for (auto [place, op] : llvm::enumerate(ops))
    op->walk([&, &needed = needs[place]](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          if (Operation *ancestor = block.findAncestorOpInBlock(*producer); ancestor && ancestor != op)
            needed.push_back(places.lookup(ancestor));
    });
  constexpr unsigned kUnknown = ~0u;
  SmallVector<unsigned> rounds(ops.size(), kUnknown), path;
  for (unsigned begin = 0; begin < ops.size(); ++begin) {
    path.assign(1, begin);
    while (!path.empty()) {
      unsigned place = path.back(), round = 0;
      size_t before = path.size();
      for (unsigned need : needs[place]) {
        if (rounds[need] == kUnknown)
          path.push_back(need);
        else
          round = std::max(round, rounds[need] + (need > place));
      }
      if (path.size() > before)
        continue;
      rounds[place] = round;
      path.pop_back();
    }
  }
  auto order = llvm::to_vector(llvm::seq<unsigned>(ops.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) { return std::pair(rounds[a], a) < std::pair(rounds[b], b); });
  for (unsigned place : order)
    ops[place]->moveBefore(block.getTerminator());
}

/// Most pointers of one kernel, and ops of one group: beyond them compile time grows and registers spill.
constexpr unsigned kMaxPointers = 24, kMaxOps = 192;
/// Most ops that are computed once more in another group to save a tensor, and to save 16 bits of each element.
constexpr size_t kMaxCopies = 8, kMaxCopiesFromNarrow = 24;

int64_t countElements(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// Cheap enough to be computed again for every row or column tile.
bool isCheap(Operation *op) {
  return isa<nn::AddOp, nn::SubOp, nn::MulOp, nn::NegOp, nn::AbsOp, nn::MaxOp, nn::MinOp, nn::CompareOp,
             nn::SelectOp, nn::AndOp, nn::OrOp, nn::XorOp, nn::NotOp, nn::CastOp, nn::ReluOp, nn::ShiftLeftOp,
             nn::ShiftRightOp>(op);
}

bool isElement(Value value, llvm::function_ref<bool(Type)> holds) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && holds(type.getElementType());
}
bool isNarrowFloat(Value value) {
  return isElement(value, [](Type type) { return type.isF16() || type.isBF16(); });
}
bool isF32(Value value) {
  return isElement(value, [](Type type) { return type.isF32(); });
}

/// Whether one kernel may hold both: the same number of elements along the axes and inside them. Quick to
/// ask.
bool reduceAlike(nn::ReduceOp a, nn::ReduceOp b) {
  auto measure = [](nn::ReduceOp op) {
    int64_t reduced = 1, inside = 1;
    for (auto [axis, size] : llvm::enumerate(op.getOperand().getType().getShape())) {
      bool isReduced = llvm::is_contained(op.getAxes(), static_cast<int64_t>(axis));
      if (isReduced && size > 1)
        inside = 1;
      (isReduced ? reduced : inside) *= size;
    }
    return std::pair(reduced, inside);
  };
  return measure(a) == measure(b);
}

/// What one group computes.
struct Cluster {
  SmallVector<Operation *> members; // in the order of the block
  SmallVector<Operation *> copies;  // members of other clusters that are computed here once more
};

class GroupFormer {
public:
  explicit GroupFormer(func::FuncOp function)
      : block(function.getBody().front()), hasNarrowFloats(findNarrowFloats(block)),
        parameterValues(findParameterValues(function)),
        parameters(function), graph(buildGraph()) {}

  LogicalResult run() {
    if (failed(findMembers()))
      return failure();
    joinProducers();
    joinReaders();
    copyCheapProducers();
    buildGroups();
    return success();
  }
  uint64_t getJoinSteps() const { return graph.getSteps(); }

private:
  // ---- What belongs to which cluster -------------------------------------------------------------

  static bool findNarrowFloats(Block &block) {
    return llvm::any_of(block.getArguments(), isNarrowFloat) ||
           llvm::any_of(block, [](Operation &op) { return llvm::any_of(op.getResults(), isNarrowFloat); });
  }

  /// Reshapes, transposes, slices and casts of parameters must be clonable beside each gather of the
  /// parameter.
  static DenseSet<Value> findParameterValues(func::FuncOp function) {
    DenseSet<Value> values;
    Block &block = function.getBody().front();
    for (BlockArgument argument : block.getArguments())
      if (auto role = function.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName))
        if (role.getKind() == nn::RoleKind::Parameter || role.getKind() == nn::RoleKind::Frozen)
          values.insert(argument);
    for (Operation &op : block) {
      bool isWidenedInside = isWidening(&op) && llvm::all_of(op.getUsers(), mayReadInside);
      if (isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::CastOp>(op) && !isWidenedInside &&
          values.contains(op.getOperand(0)))
        values.insert(op.getResult(0));
    }
    return values;
  }

  bool isOfParametersAlone(Operation *op) const {
    return op->getNumResults() == 1 && parameterValues.contains(op->getResult(0));
  }
  bool isLightHere(Operation *op) const {
    return isLight(op) && !isOfParametersAlone(op) && !written.contains(op);
  }
  bool isComputed(Operation *op) const {
    return !isOfParametersAlone(op) && !isLightHere(op) &&
           (op->hasTrait<nn::ElementwiseOp>() || isa<nn::ReduceOp>(op));
  }

  ClusterGraph buildGraph() {
    written = findWritten();
    return ClusterGraph(block, [this](Operation *op) { return isLightHere(op); });
  }

  /// Light ops that must be in memory, as their only reader has no kernel together with them: a sum of rows
  /// of which each repeats something.
  DenseSet<Operation *> findWritten() {
    DenseSet<Operation *> found;
    for (Operation &op : block) {
      if (!isComputed(&op))
        continue;
      OperandMaps operandMaps;
      llvm::SetVector<Operation *> ops;
      collectLight(&op, ops);
      ops.insert(&op);
      if (succeeded(computeKernelShape(ops.getArrayRef(), op.getResults(), nullptr, &operandMaps)))
        continue;
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && isLight(producer) && !isa<nn::ConstantOp>(producer))
          found.insert(producer);
    }
    return found;
  }

  /// The light ops that `op` reads, definitions first.
  void collectLight(Operation *op, llvm::SetVector<Operation *> &ops) {
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          belongsInside(producer, {}) && !ops.contains(producer)) {
        collectLight(producer, ops);
        ops.insert(producer);
      }
  }

  LogicalResult findMembers() {
    for (Operation &op : block) {
      if (!isComputed(&op) && !written.contains(&op))
        continue;
      std::string why;
      if (!isCodegenSupported(&op, &why))
        return op.emitOpError("cannot be computed by a generated kernel: ") << why;
      isMember.insert(&op);
      if (auto reduce = dyn_cast<nn::ReduceOp>(op))
        if (countElements(reduce.getOperand()) != countElements(reduce.getResult()))
          reductions[&op] = reduce;
    }
    return success();
  }

  /// The op that stands for the cluster of `op`; null for ops that are in none.
  Operation *findLeader(Operation *op) const { return isMember.contains(op) ? graph.getLeader(op) : nullptr; }

  /// Whether the copy of a light op is part of a group with these members: reshapes only on top of something
  /// inside.
  bool belongsInside(Operation *op, const DenseSet<Operation *> &members) {
    if (!op || op->getBlock() != &block)
      return false;
    if (members.contains(op))
      return true;
    if (!isLightHere(op))
      return false;
    return !isa<nn::ReshapeOp>(op) || belongsInside(op->getOperand(0).getDefiningOp(), members);
  }

  /// The members and the light ops that they read, in the order of the block.
  SmallVector<Operation *> close(ArrayRef<Operation *> members) {
    DenseSet<Operation *> memberSet(members.begin(), members.end());
    llvm::SetVector<Operation *> ops;
    ops.insert(members.begin(), members.end());
    for (size_t i = 0; i < ops.size(); ++i)
      for (Value operand : ops[i]->getOperands())
        if (belongsInside(operand.getDefiningOp(), memberSet))
          ops.insert(operand.getDefiningOp());
    SmallVector<Operation *> sorted = ops.takeVector();
    llvm::sort(sorted, [&](Operation *a, Operation *b) { return graph.getPlace(a) < graph.getPlace(b); });
    return sorted;
  }

  /// The member results that an op outside reads, in the order of the block. Copies of an op read its
  /// operands too.
  SmallVector<Value> findResults(ArrayRef<Operation *> members) const {
    DenseSet<Operation *> inside(members.begin(), members.end());
    auto isReadOutside = [&](Operation *op, Operation *reader) {
      if (!inside.contains(reader) && !copiedInto.contains({op, findLeader(reader)}))
        return true;
      return llvm::any_of(copyHolders.lookup(reader), [&](Operation *cluster) {
        return !inside.contains(cluster) && !copiedInto.contains({op, cluster});
      });
    };
    SmallVector<Value> results;
    for (Operation *op : members)
      if (llvm::any_of(graph.getReaders(op), [&](Operation *reader) { return isReadOutside(op, reader); }))
        llvm::append_range(results, op->getResults());
    return results;
  }

  /// What a group computes for its results: members, copies and light ops.
  SmallVector<Operation *> findOps(ArrayRef<Operation *> members, ArrayRef<Operation *> copies,
                                   ArrayRef<Value> results) {
    SmallVector<Operation *> computed(members);
    llvm::append_range(computed, copies);
    SmallVector<Operation *> ops = close(computed);
    DenseSet<Operation *> inside(ops.begin(), ops.end()), needed;
    SmallVector<Value> work(results);
    while (!work.empty())
      if (Operation *op = work.pop_back_val().getDefiningOp();
          op && inside.contains(op) && needed.insert(op).second)
        llvm::append_range(work, op->getOperands());
    llvm::erase_if(ops, [&](Operation *op) { return !needed.contains(op); });
    return ops;
  }

  static SmallVector<Value> findOperands(ArrayRef<Operation *> ops) {
    DenseSet<Operation *> inside(ops.begin(), ops.end());
    llvm::SetVector<Value> operands;
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !inside.contains(operand.getDefiningOp()))
          operands.insert(operand);
    return operands.takeVector();
  }

  // ---- Joining -----------------------------------------------------------------------------------

  /// Whether one kernel for the members is possible and does no work twice that costs.
  bool fitsOneKernel(ArrayRef<Operation *> members, ArrayRef<Operation *> copies = {}) {
    SmallVector<Value> results = findResults(members);
    SmallVector<Operation *> ops = findOps(members, copies, results);
    SmallVector<Value> operands = findOperands(ops);
    if (ops.size() > kMaxOps || operands.size() + results.size() > kMaxPointers || !parameters.areOfOneBlock(operands))
      return false;
    OperandMaps operandMaps;
    FailureOr<KernelShape> shape = computeKernelShape(ops, results, nullptr, &operandMaps);
    if (failed(shape) || shape->kind == KernelShape::Kind::Empty)
      return false;
    bool column = shape->kind == KernelShape::Kind::Column;
    for (Operation *op : ops) {
      for (Value result : op->getResults()) {
        bool repeated = shape->variesInside(result) && countElements(result) < shape->getPoints();
        if (column)
          repeated = shape->levels.lookup(result) == 0 && (repeated || shape->inner > kCellElements) &&
                     countElements(result) < shape->getPoints();
        // What has no digit at all is computed once, before the loops.
        if (repeated && isMember.contains(op) && !shape->getMap(result).empty() && !isCheap(op))
          return false;
      }
    }
    // A tile of few columns uses few lanes: whole results are better made by a kernel that walks rows.
    if (column && shape->inner < kVectorElements)
      for (Value result : results)
        if (countElements(result) == shape->getPoints())
          return false;
    return true;
  }

  bool tryJoin(Operation *a, Operation *b) {
    a = findLeader(a), b = findLeader(b);
    if (!a || !b || a == b)
      return false;
    nn::ReduceOp x = reductions.lookup(a), y = reductions.lookup(b);
    if ((x && y && !reduceAlike(x, y)) || !fitsOneKernel(graph.mergeMembers(a, b)) || !graph.tryJoin(a, b))
      return false;
    if (x || y)
      reductions[findLeader(a)] = x ? x : y;
    return true;
  }

  /// Joins each op's cluster with those that its operands come from.
  void joinProducers() {
    for (Operation &op : block) {
      if (!findLeader(&op))
        continue;
      SmallVector<Value> work(llvm::reverse(op.getOperands()));
      while (!work.empty()) {
        Operation *producer = work.pop_back_val().getDefiningOp();
        if (!producer || producer->getBlock() != &block)
          continue;
        if (isLightHere(producer))
          llvm::append_range(work, producer->getOperands());
        else
          tryJoin(producer, &op);
      }
    }
  }

  /// Joins clusters that read the same tensor, which is then read once.
  void joinReaders() {
    auto joinReadersOf = [&](Value value) {
      llvm::SetVector<Operation *> readers;
      SmallVector<Operation *> users(value.getUsers());
      while (!users.empty()) {
        Operation *user = users.pop_back_val();
        if (findLeader(user))
          readers.insert(user);
        else if ((isa<nn::ReshapeOp>(user) || isWidening(user)) && isLightHere(user))
          llvm::append_range(users, user->getUsers());
      }
      SmallVector<Operation *> sorted = readers.takeVector();
      llvm::sort(sorted, [&](Operation *a, Operation *b) { return graph.getPlace(a) < graph.getPlace(b); });
      for (size_t i = 1; i < sorted.size(); ++i)
        for (size_t j = i; j-- > 0;)
          if (tryJoin(sorted[j], sorted[i]))
            break;
    };
    for (BlockArgument argument : block.getArguments())
      if (isa<RankedTensorType>(argument.getType()))
        joinReadersOf(argument);
    // A light op's result is computed where it is read.
    for (Operation &op : block)
      if (!isLightHere(&op))
        for (Value result : op.getResults())
          joinReadersOf(result);
  }

  // ---- Copying -----------------------------------------------------------------------------------

  /// The members of a cluster and what it has copies of.
  SmallVector<Operation *> findComputed(Operation *leader) const {
    SmallVector<Operation *> computed(graph.getMembers(leader));
    llvm::append_range(computed, copiesOf.lookup(leader));
    return computed;
  }

  /// Whether the result is of 32 bits and may be computed again from values of 16: what mixed precision rounds is what it
  /// keeps.
  bool mayStartFromNarrow(Operation *op) const {
    return hasNarrowFloats && op->hasTrait<nn::ElementwiseOp>() && isF32(op->getResult(0));
  }

  /// Finds what has to be computed in `reader` for it to need `op`'s result no more: `op` and cheap ops of
  /// the same cluster, or any elementwise ones up to values of 16 bits. Returns how many more tensors of about its size
  /// `reader` then reads, or none where a parameter would be read again or the cluster of `op` would write more.
  std::optional<size_t> collectCopies(Operation *op, Operation *reader,
                                      llvm::SetVector<Operation *> &copies) {
    Operation *own = findLeader(op);
    SmallVector<Value> present = findOperands(close(findComputed(reader)));
    SmallVector<Value> written = findResults(graph.getMembers(own));
    int64_t size = countElements(op->getResult(0));
    bool fromNarrow = mayStartFromNarrow(op);
    auto isBig = [&](Value value) { return 8 * countElements(value) > size; };
    llvm::SetVector<Value> further;
    SmallVector<Operation *> work = {op};
    while (!work.empty()) {
      Operation *next = work.pop_back_val();
      if (!copies.insert(next))
        continue;
      if (copies.size() > (fromNarrow ? kMaxCopiesFromNarrow : kMaxCopies))
        return std::nullopt;
      SmallVector<Value> operands(next->getOperands());
      while (!operands.empty()) {
        Value operand = operands.pop_back_val();
        Operation *producer = operand.getDefiningOp();
        if (producer && isLightHere(producer)) {
          llvm::append_range(operands, producer->getOperands());
          continue;
        }
        if (llvm::is_contained(present, operand))
          continue;
        bool isInside = producer && findLeader(producer) == own;
        bool isWritten = !isInside || llvm::is_contained(written, operand);
        // Then the cluster of `op` writes this instead.
        if (!isWritten && fromNarrow && (isNarrowFloat(operand) || !isBig(operand))) {
          if (isBig(operand))
            further.insert(operand);
          continue;
        }
        if (!isWritten && (isCheap(producer) || (fromNarrow && producer->hasTrait<nn::ElementwiseOp>()))) {
          work.push_back(producer);
          continue;
        }
        if (parameterValues.contains(operand) || (!isWritten && isBig(operand)))
          return std::nullopt;
        if (isBig(operand))
          further.insert(operand);
      }
    }
    return further.size();
  }

  /// Copies cheap ops to where they are read, if thereby nothing reads them from memory.
  void copyCheapProducers() {
    for (Operation &op : llvm::reverse(block)) {
      Operation *own = findLeader(&op);
      if (!own || !(isCheap(&op) || mayStartFromNarrow(&op)) || !llvm::is_contained(findResults(graph.getMembers(own)), op.getResult(0)))
        continue;
      llvm::SetVector<Operation *> readers;
      bool everyReaderFits = true;
      for (Operation *reader : graph.getReaders(&op)) {
        SmallVector<Operation *> nodes = copyHolders.lookup(reader);
        nodes.push_back(findLeader(reader));
        for (Operation *node : nodes) {
          everyReaderFits &= node != nullptr;
          if (node && node != own && !copiedInto.contains({&op, node}))
            readers.insert(node);
        }
      }
      SmallVector<llvm::SetVector<Operation *>> copies(readers.size());
      size_t furtherReads = 0;
      for (size_t i = 0; i < readers.size() && everyReaderFits; ++i) {
        std::optional<size_t> further = collectCopies(&op, readers[i], copies[i]);
        SmallVector<Operation *> all = copiesOf.lookup(readers[i]);
        llvm::append_range(all, copies[i]);
        everyReaderFits = further && fitsOneKernel(graph.getMembers(readers[i]), all);
        furtherReads += further.value_or(0);
      }
      // What is saved: one tensor that is written once and read by each reader.
      if (!everyReaderFits || furtherReads > readers.size() + 1)
        continue;
      SmallVector<std::pair<Operation *, Operation *>> made;
      for (auto [reader, ops] : llvm::zip_equal(readers, copies))
        for (Operation *copy : ops)
          if (copiedInto.insert({copy, reader}).second) {
            copiesOf[reader].push_back(copy);
            copyHolders[copy].push_back(reader);
            made.emplace_back(copy, reader);
          }
      // Without this result the rest may not fit a kernel any more.
      if (fitsOneKernel(graph.getMembers(own), copiesOf.lookup(own)))
        continue;
      for (auto [copy, reader] : llvm::reverse(made)) {
        copiedInto.erase({copy, reader});
        copiesOf[reader].pop_back();
        copyHolders[copy].pop_back();
      }
    }
  }

  // ---- Building ----------------------------------------------------------------------------------

  void buildGroups() {
    // In the order of their last members: clusters that something outside reads, and light ops.
    SmallVector<Cluster> all;
    for (Operation &op : block) {
      if (findLeader(&op) == &op && !findResults(graph.getMembers(&op)).empty())
        all.push_back({SmallVector<Operation *>(graph.getMembers(&op)), copiesOf.lookup(&op)});
      bool made = isLightHere(&op) && !isa<nn::ReshapeOp>(op) &&
                  !(isa<nn::ConstantOp>(op) && countElements(op.getResult(0)) <= 1);
      if (made && llvm::any_of(op.getUsers(), [&](Operation *user) { return isReadOutside(user); }))
        all.push_back({{&op}, {}});
    }
    llvm::sort(all, [&](const Cluster &a, const Cluster &b) {
      return graph.getPlace(a.members.back()) < graph.getPlace(b.members.back());
    });
    struct Replacement {
      nn::GroupOp group;
      SmallVector<Value> results;
    };
    SmallVector<Replacement> replacements;
    SmallVector<Operation *> widenings;
    for (const Cluster &cluster : all) {
      replacements.push_back({buildGroup(cluster), resultsOf(cluster)});
      if (cluster.members.size() == 1 && isWidening(cluster.members.front()))
        widenings.push_back(replacements.back().group);
    }
    for (Replacement &replacement : replacements)
      for (auto [old, result] : llvm::zip_equal(replacement.results, replacement.group.getResults()))
        old.replaceUsesWithIf(result, [&](OpOperand &use) { return use.getOwner() != old.getDefiningOp(); });
    sortByUse(block);
    eraseDeadOps(cast<func::FuncOp>(block.getParentOp()));
    // What is widened for the library is ready long before it is read.
    for (Operation &op : block)
      if (isWidening(&op))
        widenings.push_back(&op);
    for (Operation *op : widenings) {
      auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
      if (!op->use_empty())
        op->moveBefore(*std::min_element(op->user_begin(), op->user_end(), isBefore));
    }
  }

  /// Whether `user` needs the value of the light op in memory.
  bool isReadOutside(Operation *user) {
    if (isa<nn::ReshapeOp>(user) && isLightHere(user))
      return llvm::any_of(user->getUsers(), [&](Operation *next) { return isReadOutside(next); });
    return !findLeader(user) && !isLightHere(user);
  }

  SmallVector<Value> resultsOf(const Cluster &cluster) {
    if (cluster.members.size() == 1 && isLight(cluster.members.front()))
      return {cluster.members.front()->getResult(0)};
    return findResults(cluster.members);
  }

  nn::GroupOp buildGroup(const Cluster &cluster) {
    ArrayRef<Operation *> members = cluster.members;
    SmallVector<Value> results = resultsOf(cluster);
    SmallVector<Operation *> ops = findOps(members, cluster.copies, results);
    SmallVector<Value> operands = findOperands(ops);
    SmallVector<Location> locations;
    for (Operation *op : members)
      if (!llvm::is_contained(locations, op->getLoc()))
        locations.push_back(op->getLoc());
    OpBuilder builder(members.back()->getContext());
    builder.setInsertionPointAfter(members.back());
    Location loc = builder.getFusedLoc(locations);
    // A value that broadcasts read along different dimensions is as many operands.
    OperandMaps operandMaps;
    FailureOr<KernelShape> shape = computeKernelShape(ops, results, nullptr, &operandMaps);
    DenseMap<OpOperand *, size_t> further;
    for (auto &[use, map] : operandMaps) {
      if (failed(shape) || shape->getMap(use->get()) == ArrayRef<IndexDigit>(map))
        continue;
      auto same = llvm::find_if(
          operandMaps, [&](auto &other) { return other.first->get() == use->get() && other.second == map; });
      if (same->first == use)
        operands.push_back(use->get());
      further[use] = same->first == use ? operands.size() - 1 : further.lookup(same->first);
    }
    auto group = nn::GroupOp::create(builder, loc, ValueRange(results).getTypes(), operands);
    Block *body = builder.createBlock(&group.getBody());
    IRMapping mapping;
    for (Value operand : operands) {
      Value argument = body->addArgument(operand.getType(), operand.getLoc());
      if (!mapping.contains(operand))
        mapping.map(operand, argument);
    }
    for (Operation *op : ops) {
      if (isa<nn::ConstantOp>(op) && op == members.front())
        mapping.map(op->getResult(0), broadcastSplat(builder, cast<nn::ConstantOp>(op)));
      else
        for (OpOperand &use : builder.clone(*op, mapping)->getOpOperands())
          if (auto it = further.find(&op->getOpOperand(use.getOperandNumber())); it != further.end())
            use.set(body->getArgument(it->second));
    }
    SmallVector<Value> yielded =
        llvm::map_to_vector(results, [&](Value value) { return mapping.lookup(value); });
    nn::YieldOp::create(builder, loc, yielded);
    return group;
  }

  Block &block;
  bool hasNarrowFloats;
  DenseSet<Value> parameterValues;
  ParameterReads parameters;
  DenseSet<Operation *> written; // light ops that count as members
  ClusterGraph graph;
  DenseSet<Operation *> isMember;                              // ops that groups compute, light ones apart
  DenseMap<Operation *, nn::ReduceOp> reductions;              // one of each cluster, by leader
  DenseSet<std::pair<Operation *, Operation *>> copiedInto;    // op, leader of the cluster
  DenseMap<Operation *, SmallVector<Operation *>> copiesOf;    // by leader
  DenseMap<Operation *, SmallVector<Operation *>> copyHolders; // leaders of the clusters that hold a copy
};

class NNFormGroups : public impl::NNFormGroupsBase<NNFormGroups> {
public:
  using NNFormGroupsBase::NNFormGroupsBase;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      prepareForGroups(function);
      GroupFormer former(function);
      if (failed(former.run()))
        return signalPassFailure();
      joinSteps += former.getJoinSteps();
    }
  }
};
} // namespace
} // namespace zero

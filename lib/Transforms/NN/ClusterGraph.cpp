//===- ClusterGraph.cpp - Ops of a block, contracted to clusters ----------===//
#include "ClusterGraph.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;

namespace zero {

ClusterGraph::ClusterGraph(Block &block, llvm::function_ref<bool(Operation *)> isTransparent) {
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    ops.push_back(&op);
  }
  size_t count = ops.size();
  parents.assign(count, kNone);
  ranks.assign(count, kNone);
  marks.assign(count, 0);
  readers.resize(count), members.resize(count), readerNumbers.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (isTransparent(ops[i]))
      continue;
    parents[i] = i;
    sequence.push_back(i);
    members[i].push_back(ops[i]);
    llvm::SetVector<Operation *> found, work;
    work.insert(ops[i]);
    for (size_t k = 0; k < work.size(); ++k)
      for (Operation *user : work[k]->getUsers())
        (isTransparent(user) ? work : found).insert(user);
    readers[i].assign(found.begin(), found.end());
    for (Operation *reader : found)
      readerNumbers[i].push_back(numbers.at(reader));
  }
  orderSequence();
}

/// What is computed far behind all that it reads (a derivative, in the backward pass) is joined with that rather than with what
/// stands around it: it takes its place there, so that nobody searches the ops between.
void ClusterGraph::orderSequence() {
  constexpr unsigned kFar = 64;
  std::vector<unsigned> labels(ops.size(), 0); // first of the latest operand, then an op's own
  for (unsigned i : sequence) {
    if (labels[i] == 0 || i - labels[i] <= kFar)
      labels[i] = i;
    for (unsigned reader : readerNumbers[i])
      labels[reader] = std::max(labels[reader], labels[i]);
  }
  llvm::sort(sequence, [&](unsigned a, unsigned b) { return std::pair(labels[a], a) < std::pair(labels[b], b); });
  for (auto [rank, node] : llvm::enumerate(sequence))
    ranks[node] = rank;
}

unsigned ClusterGraph::find(unsigned number) const {
  while (parents[number] != number)
    number = parents[number] = parents[parents[number]];
  return number;
}

Operation *ClusterGraph::getLeader(Operation *op) const {
  unsigned number = numbers.at(op);
  return parents[number] == kNone ? nullptr : ops[find(number)];
}

SmallVector<Operation *> ClusterGraph::mergeMembers(Operation *a, Operation *b) const {
  ArrayRef<Operation *> left = getMembers(a), right = getMembers(b);
  SmallVector<Operation *> merged;
  std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(merged),
             [&](Operation *x, Operation *y) { return numbers.at(x) < numbers.at(y); });
  return merged;
}

bool ClusterGraph::tryJoin(Operation *a, Operation *b) {
  unsigned first = find(numbers.at(a)), last = find(numbers.at(b));
  if (ranks[first] > ranks[last])
    std::swap(first, last);
  unsigned begin = ranks[first], end = ranks[last];
  // What `first` reaches before the place of `last`; the latest first, as it is on the shortest path if there
  // is one.
  ++search;
  marks[first] = search;
  std::priority_queue<std::pair<unsigned, unsigned>> work; // rank, node
  work.emplace(begin, first);
  while (!work.empty()) {
    unsigned node = work.top().second;
    work.pop();
    ++steps;
    for (Operation *member : members[node])
      for (unsigned reader : readerNumbers[numbers.at(member)]) {
        unsigned next = find(reader);
        if (next == last && node != first)
          return false;
        if (next == last || ranks[next] > end || marks[next] == search)
          continue;
        marks[next] = search;
        work.emplace(ranks[next], next);
      }
  }
  // The others come first, then the joined node, then what it reaches.
  SmallVector<unsigned> before, after;
  steps += end - begin;
  for (unsigned i = begin + 1; i < end; ++i)
    if (sequence[i] != kNone)
      (marks[sequence[i]] == search ? after : before).push_back(sequence[i]);
  SmallVector<Operation *> merged = mergeMembers(ops[first], ops[last]);
  unsigned leader = std::max(first, last), other = std::min(first, last), place = begin;
  auto put = [&](unsigned node) {
    sequence[place] = node;
    ranks[node] = place++;
  };
  llvm::for_each(before, put);
  put(leader);
  llvm::for_each(after, put);
  while (place <= end)
    sequence[place++] = kNone;
  members[leader].assign(merged.begin(), merged.end());
  members[other].clear();
  parents[other] = leader;
  return true;
}

} // namespace zero

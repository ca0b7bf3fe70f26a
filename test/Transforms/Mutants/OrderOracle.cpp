//===- OrderOracle.cpp - Race freedom of a section, by brute force --------===//
#include "OrderOracle.h"
#include "dialects/Zero/ZeroOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace zero::test {
namespace {

struct Touch {
  Attribute arena;
  int64_t begin, end;
  bool write;
};

struct Node {
  int queue;
  SmallVector<Touch> touches;
  SmallVector<int64_t> waits, carried;
  std::optional<int64_t> record;
  bool before; ///< of @update, which it outlasts
  bool behind; ///< of @micro_first, and runs in @update already
  bool late;   ///< of those, but behind others
};

class Oracle {
public:
  explicit Oracle(plan::SectionOp section) {
    auto module = section->getParentOfType<ModuleOp>();
    int64_t ranks = 1;
    for (auto mesh : module.getOps<sharding::MeshOp>())
      ranks = mesh.getSize();
    DenseMap<Attribute, plan::BufferOp> buffers;
    for (auto buffer : module.getOps<plan::BufferOp>())
      buffers[buffer.getSymNameAttr()] = buffer;
    auto touch = [&](Node &node, plan::SliceAttr slice, bool write) {
      plan::BufferOp buffer = buffers.lookup(slice.getBuffer().getAttr());
      for (int64_t rank = 0; rank < ranks && slice.getSize() > 0; ++rank) {
        int64_t begin = *buffer.getOffset() + slice.getOffset() + rank * slice.getRankStride();
        node.touches.push_back({buffer.getArenaAttr(), begin, begin + slice.getSize(), write});
      }
    };
    SmallVector<Operation *> ops;
    if (section.getSymName() == "micro_first")
      for (auto update : module.getOps<plan::SectionOp>())
        for (Operation &op : update.getBody().front())
          if (update.getSymName() == "update" && op.hasAttr("outlasts"))
            ops.push_back(&op);
    const size_t carried = ops.size();
    for (Operation &op : section.getBody().front())
      ops.push_back(&op);
    const size_t own = ops.size();
    if (section.getSymName() == "update")
      for (auto first : module.getOps<plan::SectionOp>())
        for (Operation &op : first.getBody().front())
          if (first.getSymName() == "micro_first" && op.hasAttr("early"))
            ops.push_back(&op);
    for (Operation *each : ops) {
      Operation &op = *each;
      Node &node = nodes.emplace_back();
      node.before = nodes.size() <= carried;
      node.behind = nodes.size() > own;
      node.late = !node.before && !node.behind && op.hasAttr("early") && each->getPrevNode() && !each->getPrevNode()->hasAttr("early");
      if (auto waits = op.getAttrOfType<DenseI64ArrayAttr>("carried"))
        node.carried.assign(waits.asArrayRef().begin(), waits.asArrayRef().end());
      node.queue = static_cast<int>(op.getAttrOfType<plan::QueueKindAttr>("queue").getValue());
      if (auto waits = op.getAttrOfType<DenseI64ArrayAttr>(node.behind ? "early" : "waits"); waits && !node.before)
        node.waits.assign(waits.asArrayRef().begin(), waits.asArrayRef().end());
      if (auto record = op.getAttrOfType<IntegerAttr>("record"); record && !node.behind)
        node.record = record.getInt();
      // A name of an attribute says whether a command reads or writes what it holds.
      for (NamedAttribute attribute : op.getAttrs()) {
        bool write = llvm::is_contained({"writes", "target", "targets", "staging"}, attribute.getName().getValue());
        if (auto slice = dyn_cast<plan::SliceAttr>(attribute.getValue()))
          touch(node, slice, write);
        else if (auto slices = dyn_cast<ArrayAttr>(attribute.getValue()))
          for (auto slice : slices.getAsRange<plan::SliceAttr>())
            touch(node, slice, write);
      }
    }
    if (section.getSymName() == "update")
      for (auto first : module.getOps<plan::SectionOp>())
        for (Operation &op : first.getBody().front())
          if (auto waits = op.getAttrOfType<DenseI64ArrayAttr>("carried"))
            awaitedLater.insert(waits.asArrayRef().begin(), waits.asArrayRef().end());
  }

  std::string find() {
    DenseMap<int64_t, int> recorder, recorderBefore;
    DenseSet<int64_t> awaited = awaitedLater;
    const int count = nodes.size();
    std::vector<SmallVector<int>> edges(count); // to each node: from the node before it in its queue, and from events
    for (int node = 0; node < count; ++node) {
      if (nodes[node].late)
        return "early command behind others";
      for (int before = node - 1; before >= 0; --before)
        if (nodes[before].queue == nodes[node].queue) {
          edges[node].push_back(before);
          break;
        }
      for (bool carried : {false, true})
        for (int64_t event : carried ? nodes[node].carried : nodes[node].waits) {
          const DenseMap<int64_t, int> &of = carried ? recorderBefore : recorder;
          auto it = of.find(event);
          if (it == of.end())
            return "unrecorded event";
          if (nodes[it->second].queue == nodes[node].queue)
            return "event of its own queue";
          edges[node].push_back(it->second);
          if (!carried)
            awaited.insert(event);
        }
      if (nodes[node].record && !(nodes[node].before ? recorderBefore : recorder).try_emplace(*nodes[node].record, node).second)
        return "event recorded twice";
    }
    for (auto [event, node] : recorder)
      if (!awaited.contains(event))
        return "event nobody waits for";
    for (int node = 0; node < count; ++node)
      reach.push_back(closure(node, edges[node], -1));
    for (int later = 0; later < count; ++later)
      for (int earlier = 0; earlier < later; ++earlier)
        if (nodes[earlier].queue != nodes[later].queue && !reach[later].test(earlier) && conflict(earlier, later))
          return "race";
    for (int node = 0; node < count; ++node)
      for (size_t edge = 0; edge < edges[node].size(); ++edge) {
        int from = edges[node][edge];
        if (nodes[from].queue == nodes[node].queue)
          continue;
        if (closure(node, edges[node], edge).test(from))
          return "implied wait";
        if (!conflict(from, node))
          return "wait without a conflict";
      }
    return "";
  }

private:
  /// The nodes from which `node` can be reached, but for one of its own edges.
  llvm::BitVector closure(int node, ArrayRef<int> edges, int without) const {
    llvm::BitVector from(nodes.size());
    for (auto [index, edge] : llvm::enumerate(edges))
      if (static_cast<int>(index) != without) {
        from |= reach[edge];
        from.set(edge);
      }
    return from;
  }

  /// On any two ranks: what differs between ranks is only where in a buffer a range begins, and a verifier proves one plan for all.
  bool conflict(int a, int b) const {
    for (const Touch &one : nodes[a].touches)
      for (const Touch &other : nodes[b].touches)
        if ((one.write || other.write) && one.arena == other.arena && one.begin < other.end && other.begin < one.end)
          return true;
    return false;
  }

  std::vector<Node> nodes;
  DenseSet<int64_t> awaitedLater; // in the next step
  std::vector<llvm::BitVector> reach;
};

} // namespace

std::string findDisorder(plan::SectionOp section) { return Oracle(section).find(); }

} // namespace zero::test

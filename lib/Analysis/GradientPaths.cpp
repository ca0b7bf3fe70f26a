//===- GradientPaths.cpp - Whose gradient a value can be ------------------===//
#include "zero/Analysis/GradientPaths.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "llvm/ADT/BitVector.h"
#include <map>

using namespace mlir;
using namespace zero::sharding;
using zero::nn::RoleKind;

namespace zero {
namespace {

/// Sets of parameters, each kept once where values share it: most values depend on what their operand does.
class ParameterSets {
public:
  static constexpr int kNone = 0, kAll = 1;

  explicit ParameterSets(unsigned parameters) {
    sets.emplace_back(parameters, false);
    sets.emplace_back(parameters, true);
  }
  int add(unsigned parameter) {
    sets.emplace_back(sets.front()).set(parameter);
    return sets.size() - 1;
  }
  bool contains(int set, unsigned parameter) const { return sets[set].test(parameter); }
  int unite(int a, int b) {
    if (a == b || isIn(b, a))
      return a;
    if (isIn(a, b))
      return b;
    sets.push_back(sets[a]);
    sets.back() |= sets[b];
    return sets.size() - 1;
  }
  int intersect(int a, int b) {
    if (a == b || isIn(a, b))
      return a;
    if (isIn(b, a))
      return b;
    sets.push_back(sets[a]);
    sets.back() &= sets[b];
    return sets.size() - 1;
  }

private:
  bool isIn(int a, int b) const { return !sets[a].test(sets[b]); }
  std::vector<llvm::BitVector> sets;
};

/// A value of the function with its groups opened. Values that are computed alike are one.
struct Node {
  Operation *op = nullptr; // null: an argument
  SmallVector<int, 3> operands;
  Location loc;
  int root;            // what it is another form of: a transpose, reshape or cast of
  int parameter = -1;
  bool constant = false; // computed of constants alone
  bool forward = false;  // the loss depends on it
  int upstream = ParameterSets::kNone; // the parameters that it depends on, in the forward pass
  int owners = ParameterSets::kAll;    // of the others: whose gradient it can be
};

bool isForm(Operation *op) { return isa<nn::ReshapeOp, nn::TransposeOp, nn::CastOp>(op); }
/// result = sum over products of an element of one operand and one of the other.
bool isProduct(Operation *op) { return isa<nn::MatmulOp, nn::ConvOp, nn::ConvTransposeOp, nn::ConvWeightGradOp>(op); }

class GradientPaths {
public:
  explicit GradientPaths(func::FuncOp micro) : micro(micro) {}

  std::optional<GradientFault> find() {
    numberParameters();
    sets.emplace(names.size());
    open(micro.front());
    if (losses.empty() || gradients.empty())
      return std::nullopt;
    markForward();
    collectUses();
    followBackward();
    for (auto [parameter, node, loc] : gradients)
      if (auto fault = checkOwner(parameter, node, loc))
        return fault;
    return checkPassedOn();
  }

private:
  //===--------------------------------------------------------------------===//
  // The graph
  //===--------------------------------------------------------------------===//

  int numberOf(StringRef name) {
    auto [it, inserted] = numbers.try_emplace(name, names.size());
    if (inserted)
      names.push_back(name.str());
    return it->second;
  }

  void numberParameters() {
    for (BlockArgument argument : micro.getArguments())
      if (auto role = micro.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName);
          role && role.getKind() == RoleKind::Parameter && isa<RankedTensorType>(argument.getType()))
        numberOf(role.getName());
    for (auto view : micro.front().getOps<ViewOp>())
      numberOf(view.getSlot());
    for (auto pack : micro.front().getOps<PackOp>())
      if (auto bucket = SymbolTable::lookupNearestSymbolFrom<BucketOp>(pack, pack.getBucketAttr()))
        for (auto slot : bucket.getSlots().getAsRange<SlotAttr>())
          numberOf(slot.getName());
  }

  int addNode(Operation *op, Location loc) {
    nodes.push_back(Node{op, {}, loc, static_cast<int>(nodes.size())});
    return nodes.size() - 1;
  }

  int parameterNode(StringRef name, Location loc) {
    auto [it, inserted] = parameterNodes.try_emplace(numberOf(name), 0);
    if (inserted) {
      it->second = addNode(nullptr, loc);
      nodes[it->second].parameter = it->first;
      nodes[it->second].upstream = sets->add(it->first);
    }
    return it->second;
  }

  int get(Value value) {
    auto it = nodeOf.find(value);
    if (it != nodeOf.end())
      return it->second;
    int node = addNode(nullptr, value.getLoc());
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &micro.front())
      if (auto role = micro.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName);
          role && role.getKind() == RoleKind::Parameter && isa<RankedTensorType>(value.getType())) {
        nodes.pop_back();
        node = parameterNode(role.getName(), value.getLoc());
      }
    return nodeOf[value] = node;
  }

  void open(Block &block) {
    for (Operation &op : block) {
      if (auto group = dyn_cast<nn::GroupOp>(op)) {
        Block &body = group.getBody().front();
        for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), group.getOperands())) {
          int node = get(operand);
          nodeOf[argument] = node;
        }
        open(body);
        for (auto [result, yielded] : llvm::zip_equal(group.getResults(), body.getTerminator()->getOperands())) {
          int node = get(yielded);
          nodeOf[result] = node;
        }
      } else if (auto view = dyn_cast<ViewOp>(op)) {
        nodeOf[view.getResult()] = parameterNode(view.getSlot(), op.getLoc());
      } else if (auto sum = dyn_cast<AccumulateOp>(op)) {
        int node = get(sum.getValue());
        nodeOf[sum.getResult()] = node;
      } else if (auto pack = dyn_cast<PackOp>(op)) {
        auto bucket = SymbolTable::lookupNearestSymbolFrom<BucketOp>(pack, pack.getBucketAttr());
        for (auto [slot, gradient] : llvm::zip(bucket.getSlots().getAsRange<SlotAttr>(), pack.getGradients()))
          gradients.push_back({numberOf(slot.getName()), get(gradient), op.getLoc()});
      } else if (isa<func::ReturnOp>(op)) {
        enterResults(&op);
      } else {
        enter(&op);
      }
    }
  }

  void enterResults(Operation *end) {
    for (auto [index, value] : llvm::enumerate(end->getOperands())) {
      auto role = micro.getResultAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
      if (!role || !isa<RankedTensorType>(value.getType()))
        continue;
      if (role.getKind() == RoleKind::LossSum)
        losses.push_back(get(value));
      if (role.getKind() == RoleKind::Gradient && numbers.contains(role.getName()))
        gradients.push_back({numberOf(role.getName()), get(value), value.getLoc()});
    }
  }

  void enter(Operation *op) {
    SmallVector<int, 3> operands;
    for (Value operand : op->getOperands())
      operands.push_back(get(operand));
    for (OpResult result : op->getResults()) {
      std::vector<const void *> key = {op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer(), result.getType().getAsOpaquePointer(),
                                       reinterpret_cast<const void *>(static_cast<uintptr_t>(result.getResultNumber()))};
      for (int operand : operands)
        key.push_back(reinterpret_cast<const void *>(static_cast<uintptr_t>(operand)));
      // What has effects is done again each time.
      if (!isPure(op) || op->getNumRegions() != 0)
        key.push_back(op);
      auto [it, inserted] = computed.try_emplace(std::move(key), 0);
      if (inserted) {
        it->second = addNode(op, op->getLoc());
        Node &node = nodes.back();
        node.operands = operands;
        node.constant = llvm::all_of(operands, [&](int operand) { return nodes[operand].constant; }) && isPure(op);
        if (isForm(op))
          node.root = nodes[operands.front()].root;
      }
      nodeOf[result] = it->second;
    }
  }

  //===--------------------------------------------------------------------===//
  // Forward
  //===--------------------------------------------------------------------===//

  void markForward() {
    SmallVector<int> work(losses);
    while (!work.empty()) {
      Node &node = nodes[work.pop_back_val()];
      if (std::exchange(node.forward, true))
        continue;
      llvm::append_range(work, node.operands);
    }
    for (Node &node : nodes) // operands stand before their users
      if (node.forward)
        for (int operand : node.operands)
          node.upstream = sets->unite(node.upstream, nodes[operand].upstream);
  }

  /// For each value of the forward pass: what depends on it that a product with it in the backward pass can be the gradient of.
  void collectUses() {
    auto add = [&](int root, int upstream) {
      auto [it, inserted] = otherSides.try_emplace(root, upstream);
      if (!inserted)
        it->second = sets->unite(it->second, upstream);
    };
    for (Node &node : nodes) {
      if (!node.forward || !node.op || isForm(node.op))
        continue;
      if (isProduct(node.op) && node.operands.size() == 2) {
        for (int side : {0, 1})
          add(nodes[node.operands[side]].root, nodes[node.operands[1 - side]].upstream);
        multiplied[nodes[node.operands[0]].root].push_back(nodes[node.operands[1]].root);
        multiplied[nodes[node.operands[1]].root].push_back(nodes[node.operands[0]].root);
        continue;
      }
      if (isa<nn::GatherOp>(node.op))
        indexed[nodes[node.operands[1]].root] = sets->unite(indexed[nodes[node.operands[1]].root], nodes[node.operands[0]].upstream);
      for (int operand : node.operands)
        add(nodes[operand].root, node.upstream);
      if (isa<nn::AttentionOp>(node.op))
        attentions[{nodes[node.operands[0]].root, nodes[node.operands[1]].root, nodes[node.operands[2]].root}] = &node;
    }
  }

  //===--------------------------------------------------------------------===//
  // Backward
  //===--------------------------------------------------------------------===//

  bool isOfForward(int node) const { return nodes[node].forward || nodes[node].parameter >= 0 || !nodes[node].op; }

  /// What limits whose gradient a node can be, beside its operands: a value of the forward pass and the set.
  SmallVector<std::pair<int, int>, 2> getLimits(const Node &node) {
    SmallVector<std::pair<int, int>, 2> limits;
    if (!node.op || node.forward)
      return limits;
    auto limit = [&](int value, const llvm::DenseMap<int, int> &of) {
      auto it = of.find(nodes[value].root);
      if (it != of.end() && isOfForward(nodes[value].root) && !nodes[value].constant)
        limits.push_back({nodes[value].root, it->second});
    };
    if (isProduct(node.op))
      for (int operand : node.operands)
        limit(operand, otherSides);
    if (isa<nn::ScatterAddOp>(node.op))
      limit(node.operands[1], indexed);
    if (isa<nn::AttentionGradOp>(node.op)) {
      auto it = attentions.find({nodes[node.operands[0]].root, nodes[node.operands[1]].root, nodes[node.operands[2]].root});
      // Results are the gradients of query, key and value.
      if (it != attentions.end() && resultNumber(node) < 3) {
        int side = it->second->operands[resultNumber(node)];
        limits.push_back({nodes[side].root, nodes[side].upstream});
      }
    }
    return limits;
  }

  unsigned resultNumber(const Node &node) const {
    for (OpResult result : node.op->getResults())
      if (&nodes[nodeOf.lookup(result)] == &node)
        return result.getResultNumber();
    return ~0u;
  }

  void followBackward() {
    for (Node &node : nodes) {
      if (node.forward || !node.op)
        continue;
      for (int operand : node.operands)
        node.owners = sets->intersect(node.owners, nodes[operand].owners);
      for (auto [value, set] : getLimits(node))
        node.owners = sets->intersect(node.owners, set);
    }
  }

  //===--------------------------------------------------------------------===//
  // Checks
  //===--------------------------------------------------------------------===//

  std::optional<GradientFault> checkOwner(int parameter, int gradient, Location loc) {
    int upstream = ParameterSets::kNone;
    for (int loss : losses)
      upstream = sets->unite(upstream, nodes[loss].upstream);
    const std::string &name = names[parameter];
    // (Where the loss depends on none, nothing is known.)
    if (upstream != ParameterSets::kNone && !sets->contains(upstream, parameter) && !nodes[gradient].constant)
      return GradientFault{loc, "takes as the gradient of '" + name + "' what is computed from data, but the loss does not depend on '" + name + "'",
                           nodes[gradient].loc, "it is computed here"};
    if (sets->contains(nodes[gradient].owners, parameter))
      return std::nullopt;
    // The first limit on the way that leaves the parameter out.
    llvm::DenseSet<int> seen;
    SmallVector<int> work = {gradient};
    while (!work.empty()) {
      int at = work.pop_back_val();
      if (!seen.insert(at).second || sets->contains(nodes[at].owners, parameter))
        continue;
      for (auto [value, set] : getLimits(nodes[at]))
        if (!sets->contains(set, parameter)) {
          const Node &used = nodes[value];
          std::string what = used.parameter >= 0 ? "parameter '" + names[used.parameter] + "'" : std::string("a value of the forward pass");
          return GradientFault{loc, "takes as the gradient of '" + name + "' what is made with " + what +
                                        " on a way to the loss on which '" + name + "' does not lie",
                               nodes[at].loc, "it is made here"};
        }
      llvm::append_range(work, nodes[at].operands);
    }
    return std::nullopt;
  }

  /// The arriving gradients of which that of a weight is made, or nothing where it is made otherwise than as a sum of products
  /// with what the weight was multiplied by.
  std::optional<SmallVector<int>> findArriving(int gradient, int parameterNode) {
    SmallVector<int> arriving, work = {gradient};
    const SmallVector<int> &others = multiplied[parameterNode];
    while (!work.empty()) {
      const Node &node = nodes[work.pop_back_val()];
      if (!node.op || node.forward)
        return std::nullopt;
      if (isForm(node.op) || isa<nn::AddOp>(node.op)) {
        llvm::append_range(work, node.operands);
        continue;
      }
      if (!isProduct(node.op) || node.operands.size() != 2)
        return std::nullopt;
      const int lhs = nodes[node.operands[0]].root, rhs = nodes[node.operands[1]].root;
      const bool left = llvm::is_contained(others, lhs), right = llvm::is_contained(others, rhs);
      if (left == right)
        return std::nullopt;
      arriving.push_back(left ? rhs : lhs);
    }
    return arriving;
  }

  std::optional<GradientFault> checkPassedOn() {
    llvm::DenseMap<int, SmallVector<int>> passing; // by weight: products of the backward pass with it
    for (auto [index, node] : llvm::enumerate(nodes))
      if (node.op && !node.forward && isProduct(node.op) && node.operands.size() == 2)
        for (int operand : node.operands)
          if (nodes[nodes[operand].root].parameter >= 0)
            passing[nodes[operand].root].push_back(index);
    for (auto [parameter, gradient, loc] : gradients) {
      auto weight = parameterNodes.find(parameter);
      if (weight == parameterNodes.end() || !passing.contains(weight->second))
        continue;
      std::optional<SmallVector<int>> arriving = findArriving(gradient, weight->second);
      if (!arriving)
        continue;
      for (int product : passing[weight->second]) {
        const Node &node = nodes[product];
        const int lhs = nodes[node.operands[0]].root, rhs = nodes[node.operands[1]].root;
        if (llvm::is_contained(*arriving, lhs == weight->second ? rhs : lhs))
          continue;
        return GradientFault{loc, "takes as the gradient of '" + names[parameter] + "' what is made of another gradient than '" + names[parameter] + "' passes on",
                             node.loc, "it is passed on here"};
      }
    }
    return std::nullopt;
  }

  struct Gradient {
    int parameter, node;
    Location loc;
  };

  func::FuncOp micro;
  std::optional<ParameterSets> sets;
  llvm::StringMap<int> numbers; // of parameters
  std::vector<std::string> names;
  std::vector<Node> nodes;
  llvm::DenseMap<Value, int> nodeOf;
  std::map<std::vector<const void *>, int> computed;
  llvm::DenseMap<int, int> parameterNodes; // by number
  SmallVector<int> losses;
  SmallVector<Gradient> gradients;
  llvm::DenseMap<int, int> otherSides, indexed;               // by root: a set
  llvm::DenseMap<int, SmallVector<int>> multiplied;           // by root: the roots that it is multiplied by
  std::map<std::array<int, 3>, const Node *> attentions;      // by the roots of query, key and value
};

} // namespace

std::optional<GradientFault> findForeignGradient(func::FuncOp micro) { return GradientPaths(micro).find(); }

} // namespace zero

//===- ParameterBlocks.cpp - Which parameters are gathered together -------===//
#include "zero/Analysis/ParameterBlocks.h"
#include "dialects/NN/NNOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace zero {

/// The name up to and including its first component that is a number ("m.h.0" of "m.h.0.attn.weight"); empty
/// without one.
static StringRef getNumberedPrefix(StringRef name) {
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find_first_of("./", begin), name.size());
    StringRef component = name.slice(begin, end);
    if (!component.empty() && llvm::all_of(component, llvm::isDigit))
      return name.take_front(end);
    begin = end + 1;
  }
  return {};
}

/// The name without its last component: the module that a parameter belongs to.
static StringRef getModulePath(StringRef name) {
  return name.take_front(name.find_last_of("./") == StringRef::npos ? 0 : name.find_last_of("./"));
}

/// In the order of their first use; those without one last.
static SmallVector<ParameterBlock> orderParameters(func::FuncOp function) {
  llvm::SmallMapVector<Value, ParameterBlock, 16> all;
  for (BlockArgument argument : function.getArguments())
    if (auto role = function.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName);
        role && role.getKind() == nn::RoleKind::Parameter)
      all.insert({argument, {argument, role.getName(), ""}});
  SmallVector<ParameterBlock> ordered;
  llvm::SmallDenseSet<Value> taken;
  auto take = [&](Value value) {
    if (auto found = all.find(value); found != all.end() && taken.insert(value).second)
      ordered.push_back(found->second);
  };
  for (Operation &op : function.front())
    llvm::for_each(op.getOperands(), take);
  for (auto &[value, parameter] : all)
    take(value);
  return ordered;
}

SmallVector<ParameterBlock> findParameterBlocks(func::FuncOp function) {
  SmallVector<ParameterBlock> parameters = orderParameters(function);
  bool numbered = false;
  for (ParameterBlock &parameter : parameters) {
    parameter.block = getNumberedPrefix(parameter.name).str();
    numbered |= !parameter.block.empty();
  }
  ParameterBlock *previous = nullptr;
  bool previousNumbered = false;
  for (ParameterBlock &parameter : parameters) {
    bool isNumbered = !parameter.block.empty();
    if (!isNumbered) {
      bool joins = previous && !previousNumbered;
      if (joins && !numbered) {
        StringRef module = getModulePath(parameter.name);
        auto type = dyn_cast<RankedTensorType>(parameter.parameter.getType());
        joins = module.empty() ? type && type.getRank() < 2 : module == getModulePath(previous->name);
      }
      parameter.block = joins ? previous->block : parameter.name.str();
    }
    previous = &parameter;
    previousNumbered = isNumbered;
  }
  return parameters;
}

ParameterReads::ParameterReads(func::FuncOp function) {
  llvm::StringMap<unsigned> numbers;
  for (const ParameterBlock &parameter : findParameterBlocks(function))
    blocks[parameter.parameter] = numbers.try_emplace(parameter.block, numbers.size()).first->second;
}

bool ParameterReads::areOfOneBlock(ArrayRef<Value> operands) const {
  std::optional<unsigned> first;
  for (Value operand : operands) {
    while (Operation *op = operand.getDefiningOp()) {
      if (!isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::CastOp>(op))
        break;
      operand = op->getOperand(0);
    }
    auto found = blocks.find(operand);
    if (found == blocks.end())
      continue;
    if (first && *first != found->second)
      return false;
    first = found->second;
  }
  return true;
}

} // namespace zero

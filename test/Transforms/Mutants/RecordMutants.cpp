//===- RecordMutants.cpp - Plans without a record, or with another number in one ---===//
#include "Mutants.h"
#include "dialects/Plan/PlanOps.h"

using namespace mlir;

namespace zero::test {
namespace {

/// Takes an op out while it lives.
class Without {
public:
  explicit Without(Operation *op) : op(op), block(op->getBlock()), next(op->getNextNode()) { op->remove(); }
  ~Without() { block->getOperations().insert(next ? Block::iterator(next) : block->end(), op); }

private:
  Operation *op;
  Block *block;
  Operation *next;
};

template <typename Op> SmallVector<Operation *> find(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Op op) { ops.push_back(op); });
  return ops;
}

} // namespace

void mutateRecords(ModuleOp module, Trial &trial) {
  Builder builder(module.getContext());
  auto remove = [&](const std::string &kind, ArrayRef<Operation *> ops) {
    for (size_t index : trial.choose(ops.size())) {
      Without without(ops[index]);
      trial.expectRefusal(kind, module, ops[index]);
    }
  };
  remove("record of a state", find<plan::StateOp>(module));
  remove("record of an input", find<plan::InputOp>(module));
  remove("record of a step scalar", find<plan::StepScalarOp>(module));
  remove("record of a buffer", find<plan::BufferOp>(module));
  remove("record of an arena", find<plan::ArenaOp>(module));
  auto change = [&](const std::string &kind, ArrayRef<Operation *> ops, StringRef name, llvm::function_ref<Attribute(Attribute)> make) {
    SmallVector<Operation *> holders = llvm::filter_to_vector(ops, [&](Operation *op) { return op->hasAttr(name); });
    for (size_t index : trial.choose(holders.size())) {
      Operation *op = holders[index];
      Attribute before = op->getAttr(name);
      op->setAttr(name, make(before));
      trial.expectRefusal(kind, module, op);
      op->setAttr(name, before);
    }
  };
  auto more = [&](int64_t by) {
    return [&builder, by](Attribute attribute) { return builder.getI64IntegerAttr(cast<IntegerAttr>(attribute).getInt() + by); };
  };
  change("arena of the right size", find<plan::ArenaOp>(module), "size_bytes", more(64));
  change("limit of an input", find<plan::InputOp>(module), "limit", more(1));
  change("label of a collective", find<plan::CollectiveOp>(module), "label",
         [&](Attribute label) { return builder.getStringAttr(cast<StringAttr>(label).getValue() + "x"); });
  change("element of a collective", find<plan::CollectiveOp>(module), "element", [&](Attribute element) {
    const bool isFloat = cast<TypeAttr>(element).getValue().isF32();
    return TypeAttr::get(isFloat ? Type(builder.getI32Type()) : Type(builder.getF64Type()));
  });
  change("target element of a collective", find<plan::CollectiveOp>(module), "target_element",
         [&](Attribute) { return TypeAttr::get(builder.getF64Type()); });
  change("element of a state", find<plan::StateOp>(module), "element", [&](Attribute) { return TypeAttr::get(builder.getI32Type()); });
  change("bytes on the wire", find<plan::CollectiveOp>(module), "wire_bytes", more(4));
}

} // namespace zero::test

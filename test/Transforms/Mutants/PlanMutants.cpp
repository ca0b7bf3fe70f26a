//===- PlanMutants.cpp - Plans without an event, a wait, a collective -----===//
#include "Mutants.h"
#include "OrderOracle.h"

using namespace mlir;

namespace zero::test {
namespace {

constexpr StringLiteral kWaits = "waits", kRecord = "record", kAwaited = "awaited_at", kSequence = "sequence", kQueue = "queue", kCarried = "carried",
                        kOutlasts = "outlasts", kEarly = "early";

ArrayRef<int64_t> getWaits(Operation *op) { return op->getAttrOfType<DenseI64ArrayAttr>(kWaits).asArrayRef(); }
void setWaits(Operation *op, ArrayRef<int64_t> waits) { op->setAttr(kWaits, DenseI64ArrayAttr::get(op->getContext(), waits)); }
ArrayRef<int64_t> getCarried(Operation *op) {
  auto carried = op->getAttrOfType<DenseI64ArrayAttr>(kCarried);
  return carried ? carried.asArrayRef() : ArrayRef<int64_t>();
}
void setCarried(Operation *op, ArrayRef<int64_t> events) { op->setAttr(kCarried, DenseI64ArrayAttr::get(op->getContext(), events)); }
Attribute getQueue(Operation *op) { return op->getAttr(kQueue); }
plan::SectionOp getSection(Operation *op) { return cast<plan::SectionOp>(op->getParentOp()); }

SmallVector<Operation *> getCommands(plan::SectionOp section) {
  return llvm::map_to_vector(section.getBody().front(), [](Operation &op) { return &op; });
}

/// Puts the attributes of a section's commands, and the commands themselves, back as they were.
class Undo {
public:
  explicit Undo(plan::SectionOp section) : section(section), commands(getCommands(section)) {
    for (Operation *op : commands)
      attributes.push_back(op->getAttrDictionary());
  }
  ~Undo() {
    Block &block = section.getBody().front();
    for (auto [op, attrs] : llvm::zip_equal(commands, attributes)) {
      op->remove();
      block.push_back(op);
      op->setAttrs(attrs);
    }
  }

private:
  plan::SectionOp section;
  SmallVector<Operation *> commands;
  SmallVector<DictionaryAttr> attributes;
};

void dropWaits(plan::SectionOp section, int64_t event) {
  for (Operation *op : getCommands(section))
    setWaits(op, llvm::filter_to_vector(getWaits(op), [&](int64_t wait) { return wait != event; }));
}

/// Takes a command out of its section and lets the others be as if it had never been: events, numbers, waiting points.
class Remove {
public:
  explicit Remove(Operation *op) : section(getSection(op)) {
    SmallVector<Operation *> commands = getCommands(section);
    const int64_t place = llvm::find(commands, op) - commands.begin();
    if (auto event = op->getAttrOfType<IntegerAttr>(kRecord))
      dropWaits(section, event.getInt());
    auto sequence = op->getAttrOfType<IntegerAttr>(kSequence);
    Builder builder(op->getContext());
    for (Operation *other : commands) {
      auto number = other->getAttrOfType<IntegerAttr>(kSequence);
      if (number && getQueue(other) == getQueue(op) && number.getInt() > sequence.getInt())
        other->setAttr(kSequence, builder.getI64IntegerAttr(number.getInt() - 1));
      if (auto awaited = other->getAttrOfType<IntegerAttr>(kAwaited); awaited && awaited.getInt() > place)
        other->setAttr(kAwaited, builder.getI64IntegerAttr(std::max(awaited.getInt() - 1, int64_t(1))));
    }
    // Whom it waited for, nobody may wait for any more.
    SmallVector<int64_t> waits(getWaits(op));
    removed = op;
    removed->remove();
    for (Operation *recorder : getCommands(section)) {
      auto event = recorder->getAttrOfType<IntegerAttr>(kRecord);
      if (event && llvm::is_contained(waits, event.getInt()) && llvm::none_of(getCommands(section), [&](Operation *other) {
            return llvm::is_contained(getWaits(other), event.getInt());
          }))
        recorder->removeAttr(kRecord);
    }
  }
  ~Remove() { section.getBody().front().push_back(removed); } // Undo puts it where it was

private:
  plan::SectionOp section;
  Operation *removed;
};

/// Where the schedule waits is no part of the order that is proved; exchanged commands would be where it says.
void forgetAwaited(ModuleOp module) {
  module.walk([](plan::CollectiveOp op) { op->removeAttr(kAwaited); });
}

} // namespace

static void mutateCarried(ModuleOp module, Trial &trial, ArrayRef<std::pair<Operation *, int64_t>> carried);

/// Commands of @update that alone give a parameter or a master its new value.
static SmallVector<Operation *> getUpdates(ModuleOp module) {
  llvm::DenseSet<Attribute> trained;
  for (auto state : module.getOps<plan::StateOp>())
    if (state.getRole() == "parameter" || state.getRole() == "master")
      trained.insert(state.getSlice().getBuffer());
  SmallVector<Operation *> updates;
  for (auto section : module.getOps<plan::SectionOp>())
    if (section.getSymName() == "update")
      for (auto dispatch : section.getOps<plan::DispatchOp>())
        if (llvm::any_of(dispatch.getWrites().getAsRange<plan::SliceAttr>(), [&](plan::SliceAttr slice) { return trained.contains(slice.getBuffer()); }))
          updates.push_back(dispatch);
  return updates;
}

void mutatePlan(ModuleOp module, Trial &trial) {
  SmallVector<Operation *> recorders, collectives, outlasting, early;
  SmallVector<std::pair<Operation *, int64_t>> waits, carried;
  SmallVector<std::pair<Operation *, Operation *>> neighbours;
  for (auto section : module.getOps<plan::SectionOp>())
    for (Operation *op : getCommands(section)) {
      if (op->hasAttr(kRecord))
        recorders.push_back(op);
      for (int64_t event : getWaits(op))
        waits.push_back({op, event});
      for (int64_t event : getCarried(op))
        carried.push_back({op, event});
      if (op->hasAttr(kOutlasts))
        outlasting.push_back(op);
      if (op->hasAttr(kEarly))
        early.push_back(op);
      if (isa<plan::CollectiveOp>(op))
        collectives.push_back(op);
      if (Operation *next = op->getNextNode(); next && getQueue(next) != getQueue(op))
        neighbours.push_back({op, next});
    }
  for (size_t index : trial.choose(recorders.size())) {
    Undo undo(getSection(recorders[index]));
    dropWaits(getSection(recorders[index]), recorders[index]->getAttrOfType<IntegerAttr>(kRecord).getInt());
    recorders[index]->removeAttr(kRecord);
    trial.expectRefusal("event with its waits", module, recorders[index]);
  }
  for (size_t index : trial.choose(recorders.size())) {
    Undo undo(getSection(recorders[index]));
    recorders[index]->removeAttr(kRecord);
    trial.expectRefusal("event alone", module, recorders[index]);
  }
  for (size_t index : trial.choose(waits.size())) {
    auto [op, event] = waits[index];
    Undo undo(getSection(op));
    setWaits(op, llvm::filter_to_vector(getWaits(op), [&](int64_t wait) { return wait != event; }));
    // An event that nobody waits for any more is no event: the order alone is on trial.
    if (llvm::none_of(getCommands(getSection(op)), [&](Operation *other) { return llvm::is_contained(getWaits(other), event); }))
      for (Operation *other : getCommands(getSection(op)))
        if (auto record = other->getAttrOfType<IntegerAttr>(kRecord); record && record.getInt() == event)
          other->removeAttr(kRecord);
    trial.expectRefusal("wait", module, op);
  }
  for (size_t index : trial.choose(carried.size())) {
    auto [op, event] = carried[index];
    Undo undo(getSection(op));
    setCarried(op, llvm::filter_to_vector(getCarried(op), [&](int64_t wait) { return wait != event; }));
    trial.expectRefusal("wait for the step before", module, op);
  }
  for (size_t index : trial.choose(early.size())) {
    Undo undo(getSection(early[index]));
    SmallVector<int64_t> waits(early[index]->getAttrOfType<DenseI64ArrayAttr>(kEarly).asArrayRef());
    waits.erase(waits.begin() + index % waits.size());
    early[index]->setAttr(kEarly, DenseI64ArrayAttr::get(module.getContext(), waits));
    trial.expectRefusal("wait of an early gather", module, early[index]);
    early[index]->removeAttr(kEarly);
    trial.expectRefusal("early", module, early[index]);
  }
  for (size_t index : trial.choose(outlasting.size())) {
    Undo undo(getSection(outlasting[index]));
    outlasting[index]->removeAttr(kOutlasts);
    trial.expectRefusal("outlasting its section", module, outlasting[index]);
  }
  for (size_t index : trial.choose(collectives.size())) {
    Undo undo(getSection(collectives[index]));
    Remove remove(collectives[index]);
    trial.expectRefusal("collective", module, collectives[index]);
  }
  SmallVector<Operation *> updates = getUpdates(module);
  for (size_t index : trial.choose(updates.size())) {
    Undo undo(getSection(updates[index]));
    Remove remove(updates[index]);
    trial.expectRefusal("update of a state", module, updates[index]);
  }
  forgetAwaited(module);
  mutateCarried(module, trial, carried);
  for (size_t index : trial.choose(neighbours.size())) {
    auto [first, second] = neighbours[index];
    Undo undo(getSection(first));
    second->moveBefore(first);
    trial.expectVerdict("exchanged commands", module, findDisorder(getSection(first)), first);
  }
  for (size_t index : trial.choose(waits.size()))
    for (int64_t step : {-1, 1}) {
      auto [op, event] = waits[index];
      Undo undo(getSection(op));
      SmallVector<int64_t> changed(getWaits(op));
      *llvm::find(changed, event) = event + step;
      setWaits(op, changed);
      trial.expectVerdict("waits for a neighbouring event", module, findDisorder(getSection(op)), op);
    }
  for (size_t index : trial.choose(waits.size()))
    for (Operation *to : {waits[index].first->getPrevNode(), waits[index].first->getNextNode()}) {
      auto [op, event] = waits[index];
      if (!to || llvm::is_contained(getWaits(to), event))
        continue;
      Undo undo(getSection(op));
      setWaits(op, llvm::filter_to_vector(getWaits(op), [&](int64_t wait) { return wait != event; }));
      SmallVector<int64_t> more(getWaits(to));
      more.push_back(event);
      setWaits(to, more);
      trial.expectVerdict("wait moved to a neighbour", module, findDisorder(getSection(op)), op);
    }
}

/// Of a section that waits for the step before, and of the one that records what it waits for.
static std::string findDisorderOfStep(ModuleOp module, plan::SectionOp section) {
  std::string disorder = findDisorder(section);
  for (auto update : module.getOps<plan::SectionOp>())
    if (disorder.empty() && update.getSymName() == "update")
      disorder = findDisorder(update);
  return disorder;
}

/// As "wait moved to a neighbour" and "waits for a neighbouring event", of waits for the step before.
static void mutateCarried(ModuleOp module, Trial &trial, ArrayRef<std::pair<Operation *, int64_t>> carried) {
  for (size_t index : trial.choose(carried.size())) {
    auto [op, event] = carried[index];
    for (int64_t step : {-1, 1}) {
      Undo undo(getSection(op));
      SmallVector<int64_t> changed(getCarried(op));
      *llvm::find(changed, event) = event + step;
      setCarried(op, changed);
      trial.expectVerdict("waits for a neighbouring event of the step before", module, findDisorderOfStep(module, getSection(op)), op);
    }
    for (Operation *to : {op->getPrevNode(), op->getNextNode()}) {
      if (!to || llvm::is_contained(getCarried(to), event))
        continue;
      Undo undo(getSection(op));
      setCarried(op, llvm::filter_to_vector(getCarried(op), [&](int64_t wait) { return wait != event; }));
      SmallVector<int64_t> more(getCarried(to));
      more.push_back(event);
      setCarried(to, more);
      trial.expectVerdict("wait for the step before moved to a neighbour", module, findDisorderOfStep(module, getSection(op)), op);
    }
  }
}

size_t shufflePlan(ModuleOp module, Trial &trial, size_t rounds) {
  forgetAwaited(module);
  size_t exchanged = 0;
  for (auto section : module.getOps<plan::SectionOp>()) {
    for (size_t round = 0, count = getCommands(section).size(); round < rounds * count && count > 1; ++round) {
      Operation *first = getCommands(section)[trial.random() % (count - 1)], *second = first->getNextNode();
      if (getQueue(first) == getQueue(second))
        continue;
      second->moveBefore(first);
      if (trial.refuses(module))
        first->moveBefore(second);
      else
        ++exchanged;
    }
  }
  return exchanged;
}

} // namespace zero::test

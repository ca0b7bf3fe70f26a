//===- SectionCommands.cpp - The commands of a section --------------------===//
#include "SectionCommands.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Runtime/HAL/Staging.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using zero::plan::CollectiveKind;
using zero::plan::ContentClass;
using zero::plan::QueueKind;

namespace zero::conversion {

SectionCommands::SectionCommands(PlanBuilder &plan, SectionPlacement &placement, func::FuncOp function,
                                 StringRef name)
    : plan(plan), placement(placement), function(function), name(name), builder(function.getContext()) {}

LogicalResult SectionCommands::run() {
  builder.setInsertionPointToEnd(plan.getModule().getBody());
  auto section = plan::SectionOp::create(builder, function.getLoc(), name);
  builder.setInsertionPointToStart(&section.getBody().emplaceBlock());
  DenseMap<Operation *, int64_t> firstCommands;
  SmallVector<Operation *> ops;
  for (Operation &op : function.front()) {
    firstCommands[&op] = commands;
    ops.push_back(&op);
    if (failed(emitOp(&op)) || missesKernel)
      return failure();
  }
  for (auto [collective, op] : collectives) {
    // A sum at once is waited for by the next command.
    auto next = isa<sharding::ControlSumOp>(op) ? op->getNextNode() : ops[placement.getWaitIndex(op)];
    collective.setAwaitedAt(firstCommands.lookup(next));
  }
  // Of a function that is two sections the first alone follows on an update. A bucket's second gather comes behind its first, on the
  // same queue, and would wait for nothing of its own: its bytes are not wanted before the section.
  llvm::SmallDenseSet<StringRef> gathered;
  for (auto [index, each] : llvm::enumerate(collectives)) {
    auto start = dyn_cast<sharding::AllGatherStartOp>(each.second);
    if (name != "micro_first" || !start || !start.getEarly() || firstCommands.lookup(start) != static_cast<int64_t>(index) ||
        !gathered.insert(each.first.getLabel()).second)
      break;
    each.first.setEarly(ArrayRef<int64_t>());
  }
  // From state to state: no other bytes are anybody's when the section is over.
  auto outlasts = [&](Operation *op) {
    auto wait = dyn_cast<sharding::WaitOp>(ops[placement.getWaitIndex(op)]);
    auto isState = [&](Value value) { return plan.getStorage(placement.getPlace(value).storage).state; };
    return wait && wait.getNextStep() && isState(op->getOperand(0)) && isState(op->getResult(0));
  };
  auto gathers = llvm::make_filter_range(collectives, [](auto &each) { return each.first.getQueue() == QueueKind::gather; });
  if (llvm::all_of(gathers, [&](auto &each) { return outlasts(each.second); }))
    for (auto [collective, op] : gathers)
      collective.setOutlasts(true);
  return success();
}

void SectionCommands::dispatch(Operation *op, StringRef kernel, ArrayRef<Attribute> reads,
                               ArrayRef<Attribute> writes, ArrayRef<int64_t> integers,
                               ArrayRef<double> reals) {
  missesKernel |= failed(plan.checkKernel(kernel, integers, reals, op));
  plan::DispatchOp::create(builder, op->getLoc(), QueueKind::compute, ArrayRef<int64_t>(), IntegerAttr(),
                           kernel, builder.getArrayAttr(reads), builder.getArrayAttr(writes), integers,
                           reals);
  ++commands;
}

void SectionCommands::dispatch(Operation *op, StringRef kernel, ArrayRef<int64_t> integers,
                               ArrayRef<double> reals) {
  SmallVector<Attribute> reads, writes;
  for (Value operand : placement.getReads(op))
    reads.push_back(getSlice(operand));
  for (Value result : op->getResults())
    writes.push_back(getSlice(result));
  if (int64_t bytes = plan.getWorkspaceBytes(kernel, integers))
    writes.push_back(plan.getSlice(placement.makePlace(bytes, ContentClass::workspace, op, ".workspace")));
  dispatch(op, kernel, reads, writes, integers, reals);
}

void SectionCommands::copy(Location loc, const Place &source, const Place &target, const Twine &reason) {
  plan::CopyOp::create(builder, loc, QueueKind::compute, ArrayRef<int64_t>(), IntegerAttr(),
                       plan.getSlice(source), plan.getSlice(target), builder.getStringAttr(reason));
  ++commands;
}

LogicalResult SectionCommands::emitOp(Operation *op) {
  if (placement.isView(op) || isa<sharding::ReleaseOp>(op))
    return success();
  // There is nothing to compute where no result has an element; kernels need not be ready for it.
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() == 0;
  };
  if (op->getNumResults() != 0 && llvm::all_of(op->getResultTypes(), isEmpty))
    return success();
  TypeSwitch<Operation *>(op)
      .Case<nn::MatmulOp, nn::GatherOp, nn::ScatterAddOp, nn::ScatterOp, nn::TopKOp, nn::CumSumOp, nn::AttentionOp,
            nn::AttentionGradOp, nn::ConvOp, nn::ConvTransposeOp, nn::ConvWeightGradOp, nn::MaxPoolOp, nn::SumPoolOp, nn::SliceOp,
            nn::TransposeOp, nn::PadOp, nn::ConcatOp, nn::ConstantOp, sharding::SumSquaresOp,
            sharding::PackOp, sharding::ControlSumOp>([&](auto library) { emit(library); })
      .Case([&](sharding::NormOp) { dispatch(op, "norm"); })
      .Case([&](sharding::AllGatherStartOp start) {
        // The other half of a reduction stays in its channel.
        auto argument = dyn_cast<BlockArgument>(start.getShard());
        auto role = argument ? function.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName) : nn::RoleAttr();
        const bool ofGradient = role && role.getKind() == nn::RoleKind::Gradient;
        emitAllGather(op, ofGradient ? QueueKind::reduce : QueueKind::gather, placement.getPlace(start.getShard()),
                      placement.getPlace(start.getFuture()));
      })
      .Case([&](sharding::ReduceScatterStartOp start) {
        emitReduceScatter(op, placement.getPlace(start.getPartial()), placement.getPlace(start.getFuture()));
      })
      .Case([&](sharding::AllReduceStartOp start) {
        Place target = placement.getPlace(start.getFuture()), own = target.ownRange(plan.getWorldSize());
        emitReduceScatter(op, placement.getPlace(start.getPartial()), own);
        emitAllGather(op, QueueKind::reduce, own, target);
      })
      .Case([&](func::ReturnOp end) { emitReturn(end); })
      .Default([&](Operation *) {
        if (const FusedProduct *product = placement.findProduct(op))
          return emit(cast<nn::GroupOp>(op), *product);
        dispatch(op, placement.getKernel(op).name);
      });
  return success();
}

//===----------------------------------------------------------------------===//
// Buckets and collectives
//===----------------------------------------------------------------------===//

void SectionCommands::emit(sharding::PackOp pack) {
  sharding::BucketOp bucket = plan.getBucket(pack.getType());
  Place whole = placement.getPlace(pack.getResult());
  int64_t elementBytes = getElementBytes(plan.getElement(pack.getType())), end = 0;
  SmallVector<Attribute> gaps;
  auto addGap = [&](int64_t begin) {
    if (begin == end)
      return;
    Place gap = whole;
    gap.offset += end;
    gap.bytes = begin - end;
    gaps.push_back(plan.getSlice(gap));
  };
  for (auto [index, gradient] : llvm::enumerate(pack.getGradients())) {
    auto slot = cast<sharding::SlotAttr>(bucket.getSlots()[index]);
    addGap(slot.getOffset() * elementBytes);
    end = slot.getOffset() * elementBytes + plan.getBytes(gradient.getType());
    Place source = placement.getPlace(gradient), target = placement.getDestination(pack, index);
    if (!(source == target))
      copy(pack.getLoc(), source, target,
           "gradient '" + slot.getName() + "' cannot be computed in its bucket");
  }
  addGap(whole.bytes);
  if (!gaps.empty()) {
    plan::ZeroOp::create(builder, pack.getLoc(), QueueKind::compute, ArrayRef<int64_t>(), IntegerAttr(),
                         builder.getArrayAttr(gaps));
    ++commands;
  }
}

void SectionCommands::emitCollective(Operation *op, CollectiveKind kind, QueueKind queue, Type element,
                                     Type targetElement, const Place &source, const Place &target, std::optional<Place> staging,
                                     int64_t wireBytes, StringRef label) {
  auto collective = plan::CollectiveOp::create(
      builder, op->getLoc(), queue, ArrayRef<int64_t>(), IntegerAttr(), kind, element,
      targetElement == element ? TypeAttr() : TypeAttr::get(targetElement), plan.getSlice(source),
      plan.getSlice(target), staging ? plan.getSlice(*staging) : plan::SliceAttr(),
      sequences[static_cast<int>(queue)]++, wireBytes, /*awaited_at=*/IntegerAttr(), label, /*early=*/DenseI64ArrayAttr());
  collectives.push_back({collective, op});
  ++commands;
}

/// Of what the collective gives: parameters, or the sum of an all-reduce.
void SectionCommands::emitAllGather(Operation *op, QueueKind queue, const Place &source,
                                    const Place &target) {
  Type element = plan.getElement(op->getResult(0).getType());
  emitCollective(op, CollectiveKind::all_gather, queue, element, element, source, target, std::nullopt,
                 source.bytes * (plan.getWorldSize() - 1), plan.getBucket(op->getResult(0).getType()).getSymName());
}

void SectionCommands::emitReduceScatter(Operation *op, const Place &source, const Place &target) {
  // The bytes of the sum are no measure: what is sent may have another element.
  const int64_t own = source.bytes / plan.getWorldSize();
  Type element = plan.getElement(op->getOperand(0).getType()), targetElement = plan.getElement(op->getResult(0).getType());
  const uint64_t bytes = plannedReduceScatterStagingBytes(own, plan.getWorldSize(), plan.isForCuda(), plan.isDeterministic(), element != targetElement);
  std::optional<Place> staging;
  if (bytes)
    staging = plan.getStaging(bytes, op->getLoc());
  emitCollective(op, CollectiveKind::reduce_scatter, QueueKind::reduce, element, targetElement, source, target, staging, own * (plan.getWorldSize() - 1),
                 plan.getBucket(op->getOperand(0).getType()).getSymName());
}

/// What a control sum is of, in the words of the reports.
static std::string getControlLabel(sharding::ControlSumOp op, func::FuncOp function) {
  if (auto argument = dyn_cast<BlockArgument>(op.getOperand()))
    if (auto role = function.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName))
      return nn::stringifyRoleKind(role.getKind()).str();
  Operation *producer = op.getOperand().getDefiningOp();
  return producer ? producer->getName().stripDialect().str() : "sum";
}

void SectionCommands::emit(sharding::ControlSumOp op) {
  Place source = placement.getPlace(op.getOperand());
  Place staging = plan.getStaging(controlSumStagingBytes(source.bytes, plan.getWorldSize()), op.getLoc());
  Type element = plan.getElement(op.getType());
  emitCollective(op, CollectiveKind::control_sum, QueueKind::reduce, element, element, source,
                 placement.getPlace(op.getResult()), staging, source.bytes * (plan.getWorldSize() - 1),
                 getControlLabel(op, function));
}

void SectionCommands::emitReturn(func::ReturnOp end) {
  struct Pending {
    Place source, target;
    std::string reason;
  };
  SmallVector<Pending> pending;
  for (auto [index, operand] : llvm::enumerate(end.getOperands())) {
    Place source = placement.getPlace(operand), target = placement.getDestination(end, index);
    if (source == target)
      continue;
    auto role = function.getResultAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
    std::string state = nn::stringifyRoleKind(role.getKind()).str();
    if (!role.getName().empty())
      state += " '" + role.getName().str() + "'";
    std::string reason = role.getKind() == nn::RoleKind::Output
                             ? state + " cannot be computed in its own buffer"
                             : "the new " + state + " cannot be computed in its state";
    pending.push_back({source, target, reason});
  }
  // A state that another copy overwrites is saved first.
  for (Pending &one : pending) {
    bool overwritten = llvm::any_of(pending, [&](const Pending &other) {
      return &other != &one && other.target.overlaps(one.source, plan.getWorldSize());
    });
    if (!overwritten)
      continue;
    Place saved = placement.makePlace(one.source.bytes, ContentClass::activations, end, ".saved");
    copy(end.getLoc(), one.source, saved, one.reason);
    one.source = saved;
  }
  for (const Pending &one : pending)
    copy(end.getLoc(), one.source, one.target, one.reason);
}

} // namespace zero::conversion

//===- PlanRecords.cpp - Plan ops as records of the container -------------===//
#include "PlanRecords.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "lib/Container/plan_generated.h"
#include "zero/Analysis/CommunicationReport.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Analysis/MemoryReport.h"
#include "zero/Analysis/PlanMemory.h"
#include "zero/Analysis/Timeline.h"
#include "zero/Analysis/UserNames.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace zero::planbinary {
namespace {

class RecordMaker {
public:
  RecordMaker(ModuleOp module, const WeightsLayout &weights, const TargetRates &rates)
      : module(module), weights(weights), memory(module), costs(module), rates(rates) {}

  Expected<std::string> run(StringRef command) {
    plan.model = module.getName().value_or(describeUserNames(module.getLoc())).str();
    plan.command = command.str();
    plan.world_size = weights.worldSize;
    plan.accumulation_steps = isForwardOnly(module) ? 1 : getAccumulationSteps(module);
    plan.zero_stage = getConfigInteger(module, "zero_optimization.stage", 0);
    plan.rank_part_bytes = weights.rankPartBytes;
    PredictedStep step = predictStep(module, costs, rates);
    plan.predicted_step_ns = step.duration;
    plan.predicted_exposed_ns = step.exposed;
    plan.calibration = rates.machine;
    plan.least_loss_scale = getLeastLossScale();
    addTarget();
    addMemory();
    for (auto kernel : module.getOps<plan::KernelOp>()) {
      const uint32_t number = addKernel(kernel.getSymName(), /*generated=*/true, kernel.getItems());
      setSliceBytes(number, kernel);
      setLaunch(*plan.kernels[number], kernel);
    }
    for (auto section : module.getOps<plan::SectionOp>())
      addSection(section);
    addBuckets();
    if (Status status = addRuntimeRecords(); !status.ok())
      return status;
    for (const ArenaReport &report : computeArenaReports(module)) {
      if (report.kind != plan::MemoryKind::device)
        continue;
      plan.peak_bytes_by_class.resize(kContentClasses);
      for (unsigned content = 0; content < kContentClasses; ++content)
        plan.peak_bytes_by_class[content] += report.bytes[content];
    }
    flatbuffers::FlatBufferBuilder builder;
    schema::FinishPlanBuffer(builder, schema::Plan::Pack(builder, &plan));
    return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  }

private:
  schema::Slice makeSlice(plan::SliceAttr slice) const {
    return schema::Slice(*memory.findBuffer(slice.getBuffer()), slice.getOffset(), slice.getSize(),
                         slice.getRankStride());
  }
  static schema::ElementType makeElement(Type type) {
    return static_cast<schema::ElementType>(*getElementNumber(type));
  }

  /// The scale itself where it is fixed; 0 where there is none.
  float getLeastLossScale() {
    if (llvm::none_of(module.getOps<plan::StateOp>(), [](plan::StateOp state) { return state.getRole() == "loss_scale"; }))
      return 0;
    const double fixed = getConfigNumber(module, "fp16.loss_scale", 0);
    return static_cast<float>(fixed != 0 ? fixed : getConfigNumber(module, "fp16.min_loss_scale", 1));
  }

  void addTarget() {
    if (!plan::isForCuda(module))
      return;
    plan.target = "cuda";
    plan.deterministic = module->hasAttr(plan::kDeterministicAttrName);
    plan.fast = module->hasAttr(plan::kFastAttrName);
    plan.tf32 = module->hasAttr(plan::kTf32AttrName);
    plan.cudnn_convolutions = module->hasAttr(plan::kCudnnConvolutionsAttrName);
    plan.cuda_workspace_bytes = plan::getCudaWorkspaceBytes(module);
  }

  void addMemory() {
    llvm::StringMap<uint32_t> arenas;
    for (auto arena : module.getOps<plan::ArenaOp>()) {
      arenas[arena.getSymName()] = plan.arenas.size();
      auto record = std::make_unique<schema::ArenaT>();
      record->name = arena.getSymName().str();
      record->kind = static_cast<schema::MemoryKind>(arena.getKind());
      record->size_bytes = arena.getSizeBytes();
      plan.arenas.push_back(std::move(record));
    }
    for (plan::BufferOp buffer : memory.getBuffers()) {
      auto record = std::make_unique<schema::BufferT>();
      record->name = buffer.getSymName().str();
      record->label = buffer.getLabel().str();
      record->arena = arenas.lookup(buffer.getArena());
      record->offset = *buffer.getOffset();
      record->size_bytes = buffer.getSizeBytes();
      record->padding_bytes = buffer.getPaddingBytes();
      record->content = static_cast<schema::ContentClass>(buffer.getContent());
      record->state = buffer.getState();
      plan.buffers.push_back(std::move(record));
    }
  }

  /// Whole tensors, as the kernel's function names them.
  void setSliceBytes(uint32_t number, plan::KernelOp kernel) {
    auto body = module.lookupSymbol<func::FuncOp>(kernel.getBodyFunction());
    FunctionType type = body.getFunctionType();
    for (Type one : llvm::concat<const Type>(type.getInputs(), type.getResults())) {
      auto tensor = cast<RankedTensorType>(one);
      plan.kernels[number]->slice_bytes.push_back(tensor.getNumElements() * getElementBytes(tensor.getElementType()));
    }
  }

  static void setLaunch(schema::KernelT &record, plan::KernelOp kernel) {
    if (std::optional<plan::LaunchAttr> launch = kernel.getLaunch()) {
      record.grid_blocks = launch->getBlocks();
      record.block_threads = launch->getThreads();
      record.shared_bytes = launch->getShared();
    }
  }

  uint32_t addKernel(StringRef name, bool generated, uint64_t items) {
    auto [it, inserted] = kernels.try_emplace(name, plan.kernels.size());
    if (inserted) {
      auto record = std::make_unique<schema::KernelT>();
      record->name = name.str();
      record->generated = generated;
      record->items = items;
      plan.kernels.push_back(std::move(record));
    }
    return it->second;
  }

  void setAction(schema::CommandT &command, plan::DispatchOp op) {
    schema::DispatchT action;
    action.kernel = addKernel(op.getKernel(), /*generated=*/false, 0);
    for (auto slice : op.getReads().getAsRange<plan::SliceAttr>())
      action.reads.push_back(makeSlice(slice));
    for (auto slice : op.getWrites().getAsRange<plan::SliceAttr>())
      action.writes.push_back(makeSlice(slice));
    action.integers.assign(op.getIntegers().begin(), op.getIntegers().end());
    action.reals.assign(op.getReals().begin(), op.getReals().end());
    command.action.Set(std::move(action));
  }
  void setAction(schema::CommandT &command, plan::CollectiveOp op) {
    schema::CollectiveT action;
    action.kind = static_cast<schema::CollectiveKind>(op.getKind());
    action.element = makeElement(op.getElement());
    action.source = std::make_unique<schema::Slice>(makeSlice(op.getSource()));
    action.target = std::make_unique<schema::Slice>(makeSlice(op.getTarget()));
    if (op.getStaging())
      action.staging = std::make_unique<schema::Slice>(makeSlice(*op.getStaging()));
    action.sequence = op.getSequence();
    action.wire_bytes = op.getWireBytes();
    action.label = op.getLabel().str();
    action.outlasts = op.getOutlasts();
    if (std::optional<Type> target = op.getTargetElement())
      action.target_element = makeElement(*target);
    command.action.Set(std::move(action));
  }
  void setAction(schema::CommandT &command, plan::CopyOp op) {
    schema::CopyT action;
    action.source = std::make_unique<schema::Slice>(makeSlice(op.getSource()));
    action.target = std::make_unique<schema::Slice>(makeSlice(op.getTarget()));
    action.reason = op.getReason().str();
    command.action.Set(std::move(action));
  }
  void setAction(schema::CommandT &command, plan::ZeroOp op) {
    schema::ZeroT action;
    for (auto slice : op.getTargets().getAsRange<plan::SliceAttr>())
      action.targets.push_back(makeSlice(slice));
    command.action.Set(std::move(action));
  }

  void addSection(plan::SectionOp section) {
    auto record = std::make_unique<schema::SectionT>();
    record->name = section.getSymName().str();
    std::vector<PredictedCommand> predicted = predictTimeline(section, costs, rates);
    for (auto [index, op] : llvm::enumerate(section.getBody().front())) {
      auto command = std::make_unique<schema::CommandT>();
      command->predicted_ns = predicted[index].duration;
      command->queue = static_cast<schema::QueueKind>(getQueue(&op));
      command->waits.assign(getWaits(&op).begin(), getWaits(&op).end());
      command->carried.assign(getCarriedWaits(&op).begin(), getCarriedWaits(&op).end());
      command->early.assign(getEarlyWaits(&op).begin(), getEarlyWaits(&op).end());
      if (std::optional<int64_t> event = getRecord(&op)) {
        command->record = *event;
        record->events = std::max<uint32_t>(record->events, *event + 1);
      }
      command->location = describeUserNames(op.getLoc());
      TypeSwitch<Operation *>(&op).Case<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>(
          [&](auto each) { setAction(*command, each); });
      record->commands.push_back(std::move(command));
    }
    plan.sections.push_back(std::move(record));
  }

  void addBuckets() {
    for (auto [bucket, weight] : llvm::zip(module.getOps<sharding::BucketOp>(), weights.buckets)) {
      auto record = std::make_unique<schema::BucketT>();
      record->name = bucket.getSymName().str();
      record->block = bucket.getBlock().str();
      record->element = makeElement(bucket.getElement());
      record->elements = bucket.getElements();
      record->chunk_offset = weight.chunkOffset;
      if (weight.element != bucket.getElement())
        record->weights_element = makeElement(weight.element);
      for (auto slot : bucket.getSlots().getAsRange<sharding::SlotAttr>()) {
        auto slotRecord = std::make_unique<schema::SlotT>();
        slotRecord->name = slot.getName().str();
        slotRecord->offset = slot.getOffset();
        slotRecord->shape.assign(slot.getShape().begin(), slot.getShape().end());
        record->slots.push_back(std::move(slotRecord));
      }
      bucketNumbers[bucket.getSymName()] = plan.buckets.size();
      plan.buckets.push_back(std::move(record));
    }
  }

  Status addRuntimeRecords() {
    plan.micro_batch = 1;
    for (auto input : module.getOps<plan::InputOp>()) {
      auto type = cast<RankedTensorType>(input.getType());
      auto record = std::make_unique<schema::InputT>();
      record->name = input.getName().str();
      record->element = makeElement(type.getElementType());
      record->shape.assign(type.getShape().begin(), type.getShape().end());
      record->slice = std::make_unique<schema::Slice>(makeSlice(input.getSlice()));
      record->label = input.getLabel();
      record->limit = input.getLimit();
      if (std::optional<uint64_t> ignored = input.getIgnoreIndex()) {
        record->has_ignore_index = true;
        record->ignore_index = static_cast<int64_t>(*ignored);
      }
      record->predict = input.getPredict();
      record->unbatched = input.getUnbatched();
      if (!record->unbatched)
        plan.micro_batch = type.getDimSize(0);
      plan.inputs.push_back(std::move(record));
    }
    for (auto output : module.getOps<plan::OutputOp>()) {
      auto type = cast<RankedTensorType>(output.getType());
      auto record = std::make_unique<schema::OutputT>();
      record->name = output.getName().str();
      record->element = makeElement(type.getElementType());
      record->shape.assign(type.getShape().begin(), type.getShape().end());
      record->slice = std::make_unique<schema::Slice>(makeSlice(output.getSlice()));
      record->batched = output.getBatched();
      plan.outputs.push_back(std::move(record));
    }
    plan.micro_batch = getConfigInteger(module, "train_micro_batch_size_per_gpu", plan.micro_batch);
    size_t frozen = 0;
    for (auto state : module.getOps<plan::StateOp>()) {
      auto record = std::make_unique<schema::StateT>();
      record->role = state.getRole().str();
      record->name = state.getName().str();
      record->slice = std::make_unique<schema::Slice>(makeSlice(state.getSlice()));
      record->sharded = state.getSharded();
      if (std::optional<Type> element = state.getElement())
        record->element = makeElement(*element);
      if (planbinary::isLone(state)) {
        const planbinary::WeightTensor &tensor = weights.frozen[frozen++];
        record->frozen_offset = tensor.offset;
        if (state.getElement())
          record->weights_element = makeElement(tensor.element);
      } else {
        auto bucket = bucketNumbers.find(state.getName());
        if (bucket == bucketNumbers.end())
          return Status::programFailed("state " + state.getRole().str() + " is of bucket '" +
                                       state.getName().str() + "', which is not there");
        record->bucket = bucket->second;
      }
      plan.states.push_back(std::move(record));
    }
    for (auto scalar : module.getOps<plan::StepScalarOp>()) {
      auto record = std::make_unique<schema::StepScalarT>();
      record->kind = scalar.getKind().str();
      record->value = scalar.getValue().convertToDouble();
      record->slice = std::make_unique<schema::Slice>(makeSlice(scalar.getSlice()));
      plan.step_scalars.push_back(std::move(record));
    }
    for (auto result : module.getOps<plan::StepResultOp>()) {
      auto record = std::make_unique<schema::StepResultT>();
      record->kind = result.getKind().str();
      record->element = makeElement(result.getElement());
      record->slice = std::make_unique<schema::Slice>(makeSlice(result.getSlice()));
      plan.step_results.push_back(std::move(record));
    }
    return {};
  }

  ModuleOp module;
  const WeightsLayout &weights;
  PlanMemory memory;
  CommandCosts costs;
  const TargetRates &rates;
  schema::PlanT plan;
  llvm::StringMap<uint32_t> kernels;
  llvm::StringMap<int> bucketNumbers;
};

} // namespace

Expected<std::string> makePlanRecords(ModuleOp module, const WeightsLayout &weights, StringRef command,
                                      const TargetRates &rates) {
  return RecordMaker(module, weights, rates).run(command);
}

} // namespace zero::planbinary

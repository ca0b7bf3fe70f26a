//===- PlanBuilder.cpp - The plan while zero-to-plan makes it -------------===//
#include "PlanBuilder.h"
#include "dialects/NN/Batched.h"
#include "zero/Analysis/CudaOptions.h"
#include "zero/Analysis/CudaSchedule.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/KernelShape.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include "zero/Runtime/Kernels/Workspace.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using zero::nn::RoleKind;
using zero::plan::ContentClass;

namespace zero::conversion {

static constexpr StringLiteral kArenaName = "device";

bool Place::overlaps(const Place &other, int64_t worldSize) const {
  if (storage != other.storage || bytes == 0 || other.bytes == 0)
    return false;
  int64_t end = offset + bytes + rankStride * (worldSize - 1);
  int64_t otherEnd = other.offset + other.bytes + other.rankStride * (worldSize - 1);
  return offset < otherEnd && other.offset < end;
}

Place Place::ownRange(int64_t worldSize) const {
  Place range = *this;
  range.bytes = bytes / worldSize;
  range.rankStride = worldSize == 1 ? 0 : range.bytes;
  return range;
}

PlanBuilder::PlanBuilder(ModuleOp module) : module(module), symbols(module) {
  for (auto mesh : module.getOps<sharding::MeshOp>())
    worldSize = mesh.getSize();
}

int64_t PlanBuilder::getBytes(Type type) const {
  if (auto future = dyn_cast<sharding::FutureType>(type))
    return getBytes(future.getValue());
  const int64_t elementBytes = getElementBytes(getElement(type));
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getNumElements() * elementBytes;
  int64_t bytes = getBucket(type).getElements() * elementBytes;
  return isa<sharding::ShardType>(type) ? bytes / worldSize : bytes;
}

sharding::BucketOp PlanBuilder::getBucket(Type type) const {
  FlatSymbolRefAttr symbol = sharding::getBucketSymbol(type);
  return symbol ? symbols.lookup<sharding::BucketOp>(symbol.getAttr()) : sharding::BucketOp();
}

Type PlanBuilder::getElement(Type type) const {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getElementType();
  return sharding::getElement(getBucket(type), type);
}

int64_t PlanBuilder::getWorkspaceBytes(StringRef name, ArrayRef<int64_t> integers) const {
  const std::string_view kernel(name.data(), name.size());
  return isForCuda() ? static_cast<int64_t>(cudaWorkspaceBytes(kernel, integers, getCudaOptions(module))) : kernelWorkspaceBytes(kernel, integers);
}

unsigned PlanBuilder::addStorage(Storage storage) {
  if (unsigned earlier = names[storage.name]++)
    storage.name += "." + std::to_string(earlier);
  storages.push_back(std::move(storage));
  return storages.size() - 1;
}

const State *PlanBuilder::findState(nn::RoleAttr role) const {
  auto it = states.find(role);
  return it == states.end() ? nullptr : &it->second;
}

const State *PlanBuilder::findArgumentState(func::FuncOp function, unsigned index) const {
  auto role = function.getArgAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
  return role ? findState(role) : nullptr;
}

const State *PlanBuilder::findResultState(func::FuncOp function, unsigned index) const {
  auto role = function.getResultAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
  return role ? findState(role) : nullptr;
}

static ContentClass getContent(RoleKind role) {
  switch (role) {
  case RoleKind::Parameter:
  case RoleKind::Frozen:
    return ContentClass::parameters;
  case RoleKind::Gradient:
    return ContentClass::gradients;
  case RoleKind::Master:
  case RoleKind::ExpAvg:
  case RoleKind::ExpAvgSq:
  case RoleKind::Momentum:
    return ContentClass::optimizer;
  default:
    return ContentClass::activations;
  }
}

/// The user's names of what a bucket holds.
static std::string getLabel(sharding::BucketOp bucket) {
  if (bucket.getSlots().empty())
    return bucket.getSymName().str();
  std::string label = cast<sharding::SlotAttr>(bucket.getSlots()[0]).getName().str();
  if (size_t more = bucket.getSlots().size() - 1)
    label += " and " + std::to_string(more) + " more";
  return label;
}

static int64_t getPaddingElements(sharding::BucketOp bucket) {
  int64_t padding = bucket.getElements();
  for (auto slot : bucket.getSlots().getAsRange<sharding::SlotAttr>())
    padding -= slot.getNumElements();
  return padding;
}

void PlanBuilder::describeBucket(unsigned index, Type type) {
  if (auto future = dyn_cast<sharding::FutureType>(type))
    type = future.getValue();
  if (isa<RankedTensorType>(type))
    return;
  sharding::BucketOp bucket = getBucket(type);
  storages[index].label = getLabel(bucket);
  // Which rank's range holds how much padding is no property of the plan.
  int64_t elementBytes = getElementBytes(getElement(type));
  if (storages[index].bytes == static_cast<int64_t>(bucket.getElements()) * elementBytes)
    storages[index].paddingBytes = getPaddingElements(bucket) * elementBytes;
}

LogicalResult PlanBuilder::addState(func::FuncOp function, nn::RoleAttr role, Type type, DictionaryAttr attrs,
                                    Location loc) {
  std::string roleName = nn::stringifyRoleKind(role.getKind()).str();
  auto tensor = dyn_cast<RankedTensorType>(type);
  sharding::BucketOp bucket;
  if (tensor ? !tensor.hasStaticShape() : !(bucket = getBucket(type)))
    return mlir::emitError(loc) << roleName << " '" << role.getName() << "' has type " << type
                                << ", neither a static tensor nor a bucket";
  if (auto it = states.find(role); it != states.end()) {
    if (it->second.type != type)
      return mlir::emitError(loc) << roleName << " '" << role.getName() << "' has type " << type << " in @"
                                  << function.getSymName() << " but " << it->second.type << " elsewhere";
    if (!it->second.data && attrs)
      it->second.data = attrs.get(nn::kDataAttrName);
    return success();
  }
  bool shard = isa<sharding::ShardType>(type);
  const bool lives = role.getKind() != RoleKind::Output; // for the whole run
  bool whole = bucket && (!shard || (attrs && attrs.contains(sharding::kWholeBufferAttrName)));
  Storage storage{roleName, getBytes(type), getContent(role.getKind()), 0, lives, roleName, loc};
  if (!role.getName().empty()) {
    storage.name += "." + role.getName().str();
    storage.label = role.getName().str();
  }
  if (bucket) {
    if (whole)
      storage.bytes = bucket.getElements() * getElementBytes(getElement(type));
  }
  Place place;
  place.bytes = storage.bytes;
  place.storage = addStorage(std::move(storage));
  describeBucket(place.storage, type);
  if (shard && whole)
    place = place.ownRange(worldSize);
  Attribute data = attrs ? attrs.get(nn::kDataAttrName) : Attribute();
  states.insert({role, State{role, type, place, data, shard, loc}});
  return success();
}

LogicalResult PlanBuilder::collectStates(const PlanFunctions &functions) {
  // Results first: they say whether a gradient keeps its whole bucket.
  for (func::FuncOp function : functions.all()) {
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      auto role = function.getArgAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
      if (!role)
        return mlir::emitError(argument.getLoc())
               << "argument #" << index << " of @" << function.getSymName() << " has no role";
      if (role.getKind() == RoleKind::Gradient && function == functions.micro)
        continue;
      if (failed(addState(function, role, argument.getType(), function.getArgAttrDict(index),
                          argument.getLoc())))
        return failure();
    }
    for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
      auto role = function.getResultAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
      if (!role)
        return function.emitError() << "result #" << index << " of @" << function.getSymName()
                                    << " has no role";
      if (failed(addState(function, role, type, function.getResultAttrDict(index), function.getLoc())))
        return failure();
    }
  }
  return success();
}

Place PlanBuilder::getConstant(nn::ConstantOp constant) {
  auto [it, inserted] = constants.try_emplace(constant.getValue());
  if (inserted) {
    // A model may have a frozen tensor of that name.
    std::string name;
    nn::RoleAttr role;
    for (size_t number = constants.size() - 1; !role || states.contains(role); ++number) {
      name = "constant." + std::to_string(number);
      role = nn::RoleAttr::get(module.getContext(), RoleKind::Frozen, name);
    }
    Place place;
    place.bytes = getBytes(constant.getType());
    place.storage = it->second = addStorage(
        {name, place.bytes, ContentClass::parameters, 0, /*state=*/true, "constant", constant.getLoc()});
    states.insert(
        {role, State{role, constant.getType(), place, constant.getValue(), false, constant.getLoc()}});
  }
  Place place;
  place.storage = it->second;
  place.bytes = storages[it->second].bytes;
  return place;
}

Place PlanBuilder::getStaging(int64_t bytes, Location loc) {
  if (!staging)
    staging =
        addStorage({"staging", 0, ContentClass::staging, 0, /*state=*/false, "reductions", loc});
  storages[*staging].bytes = std::max(storages[*staging].bytes, bytes);
  Place place;
  place.storage = *staging;
  place.bytes = bytes;
  return place;
}

FailureOr<GeneratedKernel> PlanBuilder::getKernel(func::FuncOp body, Operation *source) {
  std::string why;
  if (!isCodegenSupported(body, &why)) {
    body.erase();
    source->emitError() << "no kernel for '" << source->getName() << "' on target " << getTargetName() << ": " << why;
    return failure();
  }
  auto [it, inserted] = kernels.try_emplace(getKernelFingerprint(body));
  if (!inserted) {
    body.erase();
    return it->second;
  }
  std::string name = source->getName().stripDialect().str() + "_" + std::to_string(kernels.size() - 1);
  body.setSymName(name + "_body");
  symbols.insert(body);
  OpBuilder builder(body);
  auto kernel = plan::KernelOp::create(builder, source->getLoc(), builder.getStringAttr(name),
                                       FlatSymbolRefAttr::get(body.getSymNameAttr()),
                                       builder.getI64IntegerAttr(getKernelItems(body)),
                                       isForCuda() ? getCudaLaunch(body) : plan::LaunchAttr());
  kernel->remove();
  symbols.insert(kernel, Block::iterator(body));
  it->second = {kernel.getSymNameAttr(), body};
  return it->second;
}

LogicalResult PlanBuilder::checkKernel(StringRef name, ArrayRef<int64_t> integers, ArrayRef<double> reals,
                                       Operation *source) {
  if (symbols.lookup<plan::KernelOp>(name))
    return success();
  std::string key = name.str() + '\0';
  key.append(reinterpret_cast<const char *>(integers.data()), integers.size() * sizeof(int64_t));
  key.append(reinterpret_cast<const char *>(reals.data()), reals.size() * sizeof(double));
  if (!checkedKernels.insert(key).second)
    return success();
  // The library itself says what it takes: here, before anybody starts a job with it.
  const std::string_view kernelName(name.data(), name.size());
  Status status = isForCuda() ? planCudaLaunches(kernelName, integers, reals, getCudaOptions(module)).status()
                              : prepareKernel(kernelName, integers, reals, KernelOptions()).status();
  if (status.ok())
    return success();
  return source->emitError() << "no kernel for '" << source->getName() << "' on target " << getTargetName() << ": " << status.message();
}

plan::SliceAttr PlanBuilder::getSlice(const Place &place) const {
  MLIRContext *context = ModuleOp(module).getContext();
  return plan::SliceAttr::get(context, FlatSymbolRefAttr::get(context, storages[place.storage].name),
                              place.offset, place.bytes, place.rankStride);
}

void PlanBuilder::addStepResult(StringRef kind, Type element, const Place &place, Location loc) {
  stepResults.push_back({kind.str(), element, place, loc});
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// The size of the axis that `user` reads or writes at `indices`; 0 where it takes them for something else.
static int64_t getIndexedAxis(Operation *user, Value indices) {
  auto axisOf = [&](auto op, Value indexed) {
    return op.getIndices() == indices ? cast<RankedTensorType>(indexed.getType()).getDimSize(op.getAxis()) : 0;
  };
  return llvm::TypeSwitch<Operation *, int64_t>(user)
      .Case([&](nn::GatherOp gather) { return axisOf(gather, gather.getData()); })
      .Case([&](nn::ScatterOp scatter) { return axisOf(scatter, scatter.getData()); })
      .Case([&](nn::ScatterAddOp scatter) { return axisOf(scatter, scatter.getResult()); })
      .Default([](Operation *) { return int64_t(0); });
}

/// The sizes of the axes that `indices` are of, through reshapes: the smallest of them and `limit` (0: none).
static int64_t findLimit(Value indices, int64_t limit) {
  for (OpOperand &use : indices.getUses()) {
    if (auto reshape = dyn_cast<nn::ReshapeOp>(use.getOwner()))
      limit = findLimit(reshape.getResult(), limit);
    else if (int64_t size = getIndexedAxis(use.getOwner(), indices))
      limit = limit == 0 ? size : std::min(limit, size);
  }
  return limit;
}

/// The argument of the function with that role; null where there is none.
static BlockArgument findArgument(func::FuncOp function, nn::RoleAttr role) {
  if (function)
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName) == role)
        return argument;
  return {};
}

void PlanBuilder::emitInputs(OpBuilder &builder, const PlanFunctions &functions) {
  // @micro takes all that @predict does.
  func::FuncOp function = functions.micro ? functions.micro : functions.predict;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    const State &state = *findArgumentState(function, index);
    if (state.role.getKind() != RoleKind::Input && state.role.getKind() != RoleKind::Label)
      continue;
    auto limit = function.getArgAttrOfType<IntegerAttr>(index, nn::kLimitAttrName);
    auto ignored = function.getArgAttrOfType<IntegerAttr>(index, nn::kIgnoreIndexAttrName);
    int64_t limitValue = findLimit(argument, limit ? limit.getInt() : 0);
    BlockArgument predicts = findArgument(functions.predict, state.role);
    if (predicts)
      limitValue = findLimit(predicts, limitValue);
    bool batched = functions.micro || function.getArgAttr(index, nn::kBatchedAttrName);
    plan::InputOp::create(builder, state.loc, state.role.getName(), state.type, getSlice(state.place),
                          /*label=*/state.role.getKind() == RoleKind::Label, /*predict=*/bool(predicts),
                          /*unbatched=*/!batched, limitValue, ignored);
  }
}

void PlanBuilder::emitOutputs(OpBuilder &builder, func::FuncOp predict) {
  for (unsigned index = 0; index < predict.getNumResults(); ++index) {
    const State &state = *findResultState(predict, index);
    plan::OutputOp::create(builder, state.loc, state.role.getName(), state.type, getSlice(state.place),
                           /*batched=*/bool(predict.getResultAttr(index, nn::kBatchedAttrName)));
  }
}

LogicalResult PlanBuilder::emitStepScalar(OpBuilder &builder, func::FuncOp update, unsigned index,
                                          const State &state) {
  StringRef kind = nn::stringifyRoleKind(state.role.getKind());
  auto value = update.getArgAttrOfType<FloatAttr>(index, nn::kDataAttrName);
  if (!value)
    return mlir::emitError(state.loc)
           << "argument '" << kind << "' of @update has no number in '" << nn::kDataAttrName << "'";
  plan::StepScalarOp::create(builder, state.loc, builder.getStringAttr(kind), value, getSlice(state.place));
  return success();
}

/// The number that a scalar state starts from, in its own type.
static DenseElementsAttr getNumber(Attribute data, RankedTensorType type) {
  Type element = type.getElementType();
  if (auto number = dyn_cast<FloatAttr>(data))
    return DenseElementsAttr::get(type, FloatAttr::get(element, number.getValueAsDouble()).getValue());
  return DenseElementsAttr::get(type, IntegerAttr::get(element, cast<IntegerAttr>(data).getInt()).getValue());
}

TypeAttr PlanBuilder::getStatedElement(const State &state, Attribute data) const {
  Type element = getElement(state.type);
  auto tensor = dyn_cast<RankedTensorType>(state.type);
  bool isKnown;
  if (!tensor)
    isKnown = getBucket(state.type).getElement() == element;
  else if (state.role.getKind() == RoleKind::Frozen) // else it is rounded from what the file holds
    isKnown = nn::getDataElement(data, tensor) == element;
  else
    isKnown = true;
  return isKnown ? TypeAttr() : TypeAttr::get(element);
}

LogicalResult PlanBuilder::emitRecords(const PlanFunctions &functions) {
  // After the buckets, before the first function or kernel.
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  for (Operation &op : *module.getBody())
    if (isa<sharding::MeshOp, sharding::BucketOp>(op))
      builder.setInsertionPointAfter(&op);
  plan::ArenaOp::create(builder, module.getLoc(), kArenaName, plan::MemoryKind::device, 0);
  for (const Storage &storage : storages)
    plan::BufferOp::create(builder, storage.loc, storage.name, kArenaName, storage.bytes,
                           /*offset=*/IntegerAttr(), storage.content, storage.paddingBytes, storage.state,
                           storage.label);
  emitInputs(builder, functions);
  if (functions.predict)
    emitOutputs(builder, functions.predict);
  for (const auto &[key, state] : states) {
    auto tensor = dyn_cast<RankedTensorType>(state.type);
    if (tensor && state.role.getKind() != RoleKind::Frozen && !nn::isStateScalarRole(state.role.getKind()))
      continue;
    Attribute data = state.data;
    if (nn::isStateScalarRole(state.role.getKind())) {
      if (!data)
        return mlir::emitError(state.loc) << nn::stringifyRoleKind(state.role.getKind()) << " has no number in '"
                                          << nn::kDataAttrName << "' to start from";
      data = getNumber(data, tensor);
    }
    plan::StateOp::create(builder, state.loc, nn::stringifyRoleKind(state.role.getKind()), state.role.getName(),
                          getSlice(state.place), state.sharded, getStatedElement(state, data), data);
  }
  func::FuncOp update = functions.update;
  for (BlockArgument argument : update ? update.getArguments() : ArrayRef<BlockArgument>()) {
    const State &state = *findArgumentState(update, argument.getArgNumber());
    if (nn::isStepScalarRole(state.role.getKind()))
      if (failed(emitStepScalar(builder, update, argument.getArgNumber(), state)))
        return failure();
  }
  for (const StepResult &result : stepResults)
    plan::StepResultOp::create(builder, result.loc, result.kind, result.element, getSlice(result.place));
  return success();
}

} // namespace zero::conversion

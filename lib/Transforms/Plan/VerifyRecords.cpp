//===- VerifyRecords.cpp - The part of plan-verify about names and numbers ===//
#include "VerifyRecords.h"
#include "CommandOrder.h"
#include "LibraryBytes.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/CudaSchedule.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/KernelShape.h"
#include "zero/Runtime/HAL/Staging.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zero {
namespace {

/// a + b and a * b of numbers that are not negative, or the largest number where they do not fit.
int64_t add(int64_t a, int64_t b) {
  int64_t result;
  return llvm::AddOverflow(a, b, result) ? std::numeric_limits<int64_t>::max() : result;
}
int64_t multiply(int64_t a, int64_t b) {
  int64_t result;
  return llvm::MulOverflow(a, b, result) ? std::numeric_limits<int64_t>::max() : result;
}

std::string describe(plan::BufferOp buffer) { return "@" + buffer.getSymName().str(); }

/// Names and numbers: everything that one record says of another.
class RecordVerifier {
public:
  explicit RecordVerifier(ModuleOp module)
      : module(module), symbols(module), worldSize(getWorldSize(module)) {}

  LogicalResult run() {
    for (Operation &op : *module.getBody()) {
      LogicalResult result = TypeSwitch<Operation *, LogicalResult>(&op)
                                 .Case([&](plan::BufferOp buffer) { return check(buffer); })
                                 .Case([&](plan::InputOp input) { return checkTensor(input, "input '" + input.getName() + "'", input.getType(), input.getSlice()); })
                                 .Case([&](plan::OutputOp output) { return checkTensor(output, "output '" + output.getName() + "'", output.getType(), output.getSlice()); })
                                 .Case([&](plan::StepScalarOp scalar) {
                                   return checkTensor(scalar, "step scalar '" + scalar.getKind() + "'", Float32Type::get(module.getContext()), scalar.getSlice());
                                 })
                                 .Case([&](plan::StepResultOp result) {
                                   return checkTensor(result, "step result '" + result.getKind() + "'", result.getElement(), result.getSlice());
                                 })
                                 .Case([&](plan::StateOp state) { return check(state); })
                                 .Case([&](plan::KernelOp kernel) { return check(kernel); })
                                 .Case([&](plan::SectionOp section) { return check(section); })
                                 .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    for (auto arena : module.getOps<plan::ArenaOp>())
      if (failed(checkEnd(arena)))
        return failure();
    return success();
  }

private:
  /// What holds one tensor has its bytes.
  LogicalResult checkTensor(Operation *op, const Twine &what, Type type, plan::SliceAttr slice) {
    if (failed(checkSlice(op, slice)))
      return failure();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!getElementNumber(tensor ? tensor.getElementType() : type) || (tensor && !tensor.hasStaticShape()))
      return op->emitError() << what << " is " << type << ", which has no bytes of a known number";
    const int64_t bytes = tensor ? multiply(tensor.getNumElements(), getElementBytes(tensor.getElementType())) : getElementBytes(type);
    if (slice.getSize() == bytes)
      return success();
    auto error = op->emitError() << what << " is " << type << ", which has " << bytes << " bytes, in a slice of " << slice.getSize();
    error.attachNote(symbols.lookup(slice.getBuffer().getAttr())->getLoc()) << "the buffer is here";
    return error;
  }

  /// An arena is as large as plan-assign-offsets makes it: it ends where its last buffer does.
  LogicalResult checkEnd(plan::ArenaOp arena) {
    int64_t end = 0;
    for (auto buffer : module.getOps<plan::BufferOp>())
      if (buffer.getArena() == arena.getSymName())
        end = std::max<int64_t>(end, llvm::alignTo(*buffer.getOffset() + buffer.getSizeBytes(), plan::getBufferAlignment(module)));
    if (static_cast<int64_t>(arena.getSizeBytes()) == end)
      return success();
    return arena.emitError() << "arena @" << arena.getSymName() << " has " << static_cast<int64_t>(arena.getSizeBytes()) << " bytes, but its buffers end at " << end
                             << "; plan-assign-offsets allocates nothing beyond them";
  }

  LogicalResult check(plan::BufferOp buffer) {
    auto arena = symbols.lookup<plan::ArenaOp>(buffer.getArena());
    if (!arena)
      return buffer.emitError() << "buffer " << describe(buffer) << " is in arena @" << buffer.getArena()
                                << ", which is not there";
    if (!buffer.getOffset())
      return buffer.emitError() << "buffer " << describe(buffer)
                                << " has no offset; plan-assign-offsets gives it one";
    int64_t offset = *buffer.getOffset(), size = buffer.getSizeBytes();
    if (offset < 0)
      return buffer.emitError() << "buffer " << describe(buffer) << " begins at byte " << offset << " of arena @"
                                << buffer.getArena() << ", before its start";
    if (const uint64_t alignment = plan::getBufferAlignment(module); offset % alignment != 0)
      return buffer.emitError() << "buffer " << describe(buffer) << " starts at byte " << offset << ", but buffers of target "
                                << (plan::isForCuda(module) ? "cuda" : "cpu") << " start at multiples of " << alignment;
    int64_t end = add(offset, size);
    if (end <= static_cast<int64_t>(arena.getSizeBytes()))
      return success();
    auto error = buffer.emitError() << "buffer " << describe(buffer) << " ends at byte " << end
                                    << " of arena @" << buffer.getArena() << ", which has "
                                    << static_cast<int64_t>(arena.getSizeBytes());
    error.attachNote(arena.getLoc()) << "the arena is here";
    return error;
  }

  LogicalResult checkSlice(Operation *op, plan::SliceAttr slice) {
    auto buffer = symbols.lookup<plan::BufferOp>(slice.getBuffer().getAttr());
    if (!buffer)
      return op->emitError() << "names buffer @" << slice.getBuffer().getValue() << ", which is not there";
    if (slice.getOffset() < 0 || slice.getSize() < 0 || slice.getRankStride() < 0)
      return op->emitError() << "has a slice of @" << slice.getBuffer().getValue() << " with offset "
                             << slice.getOffset() << ", size " << slice.getSize() << " and rank stride "
                             << slice.getRankStride() << ", none of which may be negative";
    int64_t end = add(add(slice.getOffset(), slice.getSize()), multiply(slice.getRankStride(), worldSize - 1));
    if (end <= static_cast<int64_t>(buffer.getSizeBytes()))
      return success();
    auto error = op->emitError() << "has a slice that ends at byte " << end << " of buffer "
                                 << describe(buffer) << ", which has " << buffer.getSizeBytes();
    error.attachNote(buffer.getLoc()) << "the buffer is here";
    return error;
  }

  /// A state of a bucket holds all of its elements, or one rank's.
  LogicalResult check(plan::StateOp state) {
    if (failed(checkSlice(state, state.getSlice())))
      return failure();
    auto bucket = symbols.lookup<sharding::BucketOp>(state.getName());
    if (!bucket || state.getRole() == "frozen")
      return success();
    const int64_t elements = bucket.getElements() / (state.getSharded() ? worldSize : 1), bytes = state.getSlice().getSize();
    Type element = state.getElement().value_or(bucket.getElement());
    if (!getElementNumber(element))
      return state.emitError() << state.getRole() << " '" << state.getName() << "' has elements of " << element << ", which have no bytes of a known number";
    if (bytes == multiply(elements, getElementBytes(element)))
      return success();
    auto error = state.emitError() << state.getRole() << " '" << state.getName() << "' has " << bytes << " bytes, but is " << elements
                                   << " elements of " << element;
    error.attachNote(bucket.getLoc()) << "the bucket is here";
    return error;
  }

  LogicalResult check(plan::KernelOp kernel) {
    auto body = symbols.lookup<func::FuncOp>(kernel.getBodyFunction());
    if (!body)
      return kernel.emitError() << "kernel @" << kernel.getSymName() << " has no function @" << kernel.getBodyFunction();
    if (int64_t items = getKernelItems(body); static_cast<int64_t>(kernel.getItems()) != items)
      return kernel.emitError() << "kernel @" << kernel.getSymName() << " says that it has " << kernel.getItems() << " items and has " << items;
    return checkLaunch(kernel, body);
  }

  /// A kernel for GPUs is launched as its code is written: both are functions of its shape.
  LogicalResult checkLaunch(plan::KernelOp kernel, func::FuncOp body) {
    const bool isCuda = plan::isForCuda(module);
    std::optional<plan::LaunchAttr> launch = kernel.getLaunch();
    if (!isCuda && launch)
      return kernel.emitError() << "kernel @" << kernel.getSymName() << " is launched as " << *launch << ", but the plan is for target cpu";
    if (!isCuda)
      return success();
    if (!launch)
      return kernel.emitError() << "kernel @" << kernel.getSymName() << " of target cuda does not say how it is launched";
    if (plan::LaunchAttr expected = getCudaLaunch(body); *launch != expected)
      return kernel.emitError() << "kernel @" << kernel.getSymName() << " is launched as " << *launch << ", but its code is written for " << expected;
    return success();
  }

  LogicalResult check(plan::SectionOp section) {
    if (!llvm::is_contained({"micro_first", "micro_next", "update", "predict"}, section.getSymName()))
      return section.emitError() << "section @" << section.getSymName()
                                 << " is none of micro_first, micro_next, update, predict";
    DenseMap<int64_t, Operation *> recorded;
    std::array<SmallVector<plan::CollectiveOp>, kQueueKinds> channels; // what each has carried so far
    SmallVector<plan::SliceAttr> reads, writes;
    for (Operation &op : section.getBody().front()) {
      if (!isa<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>(op))
        return op.emitError() << "'" << op.getName() << "' is no command";
      reads.clear();
      writes.clear();
      getSlices(&op, reads, writes);
      for (plan::SliceAttr slice : llvm::concat<plan::SliceAttr>(reads, writes))
        if (failed(checkSlice(&op, slice)))
          return failure();
      for (int64_t event : getWaits(&op)) {
        auto it = recorded.find(event);
        if (it == recorded.end()) {
          auto error = op.emitError() << "waits for event " << event << ", which no earlier command of section @"
                                      << section.getSymName() << " records";
          for (Operation *later = op.getNextNode(); later; later = later->getNextNode())
            if (getRecord(later) == event)
              error.attachNote(later->getLoc()) << "it is recorded here, later";
          return error;
        }
        if (getQueue(it->second) == getQueue(&op)) {
          auto error = op.emitError() << "waits for event " << event << " of its own queue";
          error.attachNote(it->second->getLoc()) << "it is recorded here";
          return error;
        }
      }
      if (failed(checkCarried(&op, section)) || failed(checkEarly(&op, section)))
        return failure();
      if (std::optional<int64_t> event = getRecord(&op)) {
        auto [it, inserted] = recorded.try_emplace(*event, &op);
        if (!inserted) {
          auto error = op.emitError() << "records event " << *event << " again";
          error.attachNote(it->second->getLoc()) << "it is recorded here already";
          return error;
        }
      }
      if (failed(checkSizes(&op)))
        return failure();
      auto collective = dyn_cast<plan::CollectiveOp>(op);
      if (!collective)
        continue;
      SmallVector<plan::CollectiveOp> &before = channels[static_cast<int>(collective.getQueue())];
      if (static_cast<size_t>(collective.getSequence()) != before.size()) {
        auto error = op.emitError() << "has sequence number " << static_cast<int64_t>(collective.getSequence())
                                    << " on the channel of queue "
                                    << plan::stringifyQueueKind(collective.getQueue()) << ", which is at " << before.size();
        if (!before.empty())
          error.attachNote(before.back().getLoc()) << "the collective before it is here";
        return error;
      }
      before.push_back(collective);
    }
    return success(succeeded(checkAwaited(section)) && succeeded(checkOutlasting(section)));
  }

  /// micro_first alone waits for what outlasts update.
  LogicalResult checkCarried(Operation *op, plan::SectionOp section) {
    ArrayRef<int64_t> carried = getCarriedWaits(op);
    if (carried.empty())
      return success();
    if (section.getSymName() != "micro_first")
      return op->emitError() << "waits for event " << carried.front() << " of @update in section @" << section.getSymName()
                             << ", before which all queues are idle";
    for (int64_t event : carried) {
      Operation *recorder = findOutlasting(event);
      if (!recorder)
        return op->emitError() << "waits for event " << event << " of @update, which no command that outlasts it records";
      if (getQueue(recorder) == getQueue(op))
        return op->emitError() << "waits for event " << event << " of @update of its own queue";
    }
    return success();
  }

  /// What runs in update already is the start of its queue, behind nothing there.
  LogicalResult checkEarly(Operation *op, plan::SectionOp section) {
    if (!isEarly(op))
      return success();
    auto fail = [&](const Twine &what) { return op->emitError() << "is early" << what; };
    auto update = symbols.lookup<plan::SectionOp>("update");
    Operation *before = op->getPrevNode();
    if (section.getSymName() != "micro_first" || !update || (before && !isEarly(before)))
      return fail(", but not at the start of section @micro_first, behind an update; zero-prefetch-gathers starts early what is");
    auto collective = cast<plan::CollectiveOp>(op);
    if (collective.getKind() != plan::CollectiveKind::all_gather || collective.getQueue() != plan::QueueKind::gather ||
        !isParameter(collective.getSource()) || !getWaits(op).empty() || !getCarriedWaits(op).empty())
      return fail(", but is no gather of a parameter's state on queue gather that waits for nothing in its section");
    DenseMap<int64_t, Operation *> recorded;
    for (Operation &other : update.getBody().front()) {
      if (getQueue(&other) == collective.getQueue()) {
        auto error = fail(", but section @update uses queue gather, too");
        error.attachNote(other.getLoc()) << "it is used here";
        return error;
      }
      if (std::optional<int64_t> event = getRecord(&other))
        recorded[*event] = &other;
    }
    for (int64_t event : getEarlyWaits(op))
      if (!recorded.contains(event))
        return fail(" and waits for event " + Twine(event) + " of @update, which no command records");
    if (getEarlyWaits(op).empty())
      return fail(", but waits for no event of @update; plan-insert-events makes one of the shard's update");
    return success();
  }

  Operation *findOutlasting(int64_t event) {
    if (auto update = symbols.lookup<plan::SectionOp>("update"))
      for (Operation &op : update.getBody().front())
        if (outlastsSection(&op) && getRecord(&op) == event)
          return &op;
    return nullptr;
  }

  /// What outlasts update has its queue for itself, and nobody but commands sees what it writes before micro_first.
  LogicalResult checkOutlasting(plan::SectionOp section) {
    auto &commands = section.getBody().front();
    const int64_t count = std::distance(commands.begin(), commands.end());
    auto outlasting = llvm::find_if(commands, [](Operation &op) { return outlastsSection(&op); });
    if (outlasting == commands.end())
      return success();
    auto first = cast<plan::CollectiveOp>(*outlasting);
    for (Operation &op : commands) {
      if (getQueue(&op) != first.getQueue())
        continue;
      if (!outlastsSection(&op)) {
        auto error = op.emitError() << "is awaited in section @" << section.getSymName() << ", but '" << first.getLabel()
                                    << "' on the same queue outlasts it; zero-sink-waits leaves all gathers of new parameters to the next step, or none";
        error.attachNote(first.getLoc()) << "it is here";
        return error;
      }
      auto collective = cast<plan::CollectiveOp>(op);
      auto fail = [&](const Twine &what) { return collective.emitError() << "outlasts section @" << section.getSymName() << what; };
      if (section.getSymName() != "update" || !symbols.lookup<plan::SectionOp>("micro_first"))
        return fail(", but only what micro_first waits for outlasts @update");
      if (collective.getKind() != plan::CollectiveKind::all_gather || collective.getQueue() != plan::QueueKind::gather ||
          !isParameter(collective.getSource()) || !isParameter(collective.getTarget()))
        return fail(", but is no gather of a parameter's state on queue gather");
      if (collective.getAwaitedAt() && static_cast<int64_t>(*collective.getAwaitedAt()) != count)
        return fail(", but is awaited at command " + Twine(*collective.getAwaitedAt()) + " of " + Twine(count));
    }
    return success();
  }

  bool isParameter(plan::SliceAttr slice) {
    return llvm::any_of(module.getOps<plan::StateOp>(), [&](plan::StateOp state) {
      return state.getRole() == "parameter" && state.getSlice().getBuffer() == slice.getBuffer();
    });
  }

  LogicalResult checkAwaited(plan::SectionOp section) {
    auto &commands = section.getBody().front();
    const int64_t count = std::distance(commands.begin(), commands.end());
    for (auto [index, op] : llvm::enumerate(commands)) {
      auto collective = dyn_cast<plan::CollectiveOp>(op);
      if (!collective || !collective.getAwaitedAt())
        continue;
      int64_t awaited = *collective.getAwaitedAt();
      if (awaited <= static_cast<int64_t>(index) || awaited > count)
        return op.emitError() << "is command " << index << " of " << count << " and awaited at " << awaited
                              << ", which must lie behind it";
    }
    return success();
  }

  LogicalResult checkSizes(Operation *command) {
    return TypeSwitch<Operation *, LogicalResult>(command)
        .Case([&](plan::CopyOp copy) -> LogicalResult {
          if (copy.getSource().getSize() == copy.getTarget().getSize())
            return success();
          return copy.emitError() << "copies " << copy.getSource().getSize() << " bytes to "
                                  << copy.getTarget().getSize();
        })
        .Case([&](plan::CollectiveOp collective) { return checkCollective(collective); })
        .Case([&](plan::DispatchOp dispatch) { return checkKernel(dispatch); })
        .Default([](Operation *) { return success(); });
  }

  /// What each rank sends and gets is the same size on all of them, and the staging takes what peers send.
  LogicalResult checkCollective(plan::CollectiveOp collective) {
    const int64_t source = collective.getSource().getSize(), target = collective.getTarget().getSize();
    int64_t expectedSource = source, expectedTarget = target, staging = 0, wire = 0;
    bool elementFits = true;
    Type element = collective.getElement(), targetElement = collective.getResultElement();
    for (Type type : {element, targetElement})
      if (!getElementNumber(type))
        return collective.emitError() << "moves elements of " << type << ", which have no bytes of a known number";
    auto isSummed = [](Type type) { return type.isF32() || type.isF16() || type.isBF16(); };
    switch (collective.getKind()) {
    case plan::CollectiveKind::all_gather:
      expectedTarget = multiply(source, worldSize);
      wire = multiply(source, worldSize - 1);
      break;
    case plan::CollectiveKind::reduce_scatter: {
      // What is sent and the sum have as many elements, not always as many bytes.
      const int64_t sent = multiply(target / getElementBytes(targetElement), getElementBytes(element));
      expectedSource = multiply(sent, worldSize);
      staging = plannedReduceScatterStagingBytes(sent, worldSize, plan::isForCuda(module), module->hasAttr(plan::kDeterministicAttrName),
                                                 element != targetElement);
      wire = multiply(sent, worldSize - 1);
      elementFits = isSummed(element) && isSummed(targetElement);
      break;
    }
    case plan::CollectiveKind::control_sum:
      expectedTarget = source;
      staging = controlSumStagingBytes(source, worldSize);
      wire = multiply(source, worldSize - 1);
      elementFits = element.isF32() || element.isInteger(64);
      break;
    }
    if (!elementFits)
      return collective.emitError() << "sums elements of type " << element << " over the ranks"
                                    << (targetElement == element ? "" : " to another type");
    if (source != expectedSource || target != expectedTarget)
      return collective.emitError() << "goes from " << source << " to " << target << " bytes on " << worldSize << " ranks";
    if (source % getElementBytes(element) || target % getElementBytes(targetElement))
      return collective.emitError() << "moves " << source << " to " << target << " bytes, a part of an element of type "
                                    << element;
    int64_t given = collective.getStaging() ? collective.getStaging()->getSize() : 0;
    if (given < staging)
      return collective.emitError() << "has " << given << " bytes of staging and needs " << staging;
    if (static_cast<int64_t>(collective.getWireBytes()) != wire)
      return collective.emitError() << "says that it sends " << collective.getWireBytes() << " bytes and sends " << wire;
    return collective.getKind() == plan::CollectiveKind::control_sum ? success() : checkBucket(collective);
  }

  /// A gather and a reduction move the whole of the bucket that they name.
  LogicalResult checkBucket(plan::CollectiveOp collective) {
    auto bucket = symbols.lookup<sharding::BucketOp>(collective.getLabel());
    if (!bucket) {
      if (module.getOps<sharding::BucketOp>().empty())
        return success();
      return collective.emitError() << "is of bucket '" << collective.getLabel() << "', which is not there";
    }
    // What is gathered for computing is what the bucket's slots hold; contributions and sums may be other floats.
    Type element = collective.getElement();
    const bool fits = collective.getQueue() == plan::QueueKind::gather ? element == bucket.getElement() : isa<FloatType>(element);
    const bool gathers = collective.getKind() == plan::CollectiveKind::all_gather;
    const int64_t given = gathers ? collective.getTarget().getSize() : collective.getSource().getSize();
    const int64_t elements = bucket.getElements();
    if (fits && given == multiply(elements, getElementBytes(element)))
      return success();
    auto error = collective.emitError() << "moves " << given << " bytes of " << element << ", but bucket '" << collective.getLabel() << "' has "
                                        << elements << " elements of " << bucket.getElement();
    error.attachNote(bucket.getLoc()) << "the bucket is here";
    return error;
  }

  /// A kernel of the library touches what its integers say; the first pointers are the reads.
  LogicalResult checkLibraryKernel(plan::DispatchOp dispatch) {
    StringRef name = dispatch.getKernel();
    std::optional<LibraryBytes> library = getLibraryBytes(dispatch);
    if (!library)
      return success(); // zero-to-plan and the runtime ask the library itself whether it has the kernel and takes the integers
    std::vector<uint64_t> bytes = std::move(library->operands);
    if (library->workspace)
      bytes.push_back(library->workspace);
    const size_t given = dispatch.getReads().size() + dispatch.getWrites().size();
    if (given != bytes.size())
      return dispatch.emitError() << "gives kernel '" << name << "' " << given << " slices, but it takes " << bytes.size();
    auto slices = llvm::concat<const Attribute>(dispatch.getReads().getValue(), dispatch.getWrites().getValue());
    for (auto [index, slice] : llvm::enumerate(slices)) {
      const uint64_t size = cast<plan::SliceAttr>(slice).getSize();
      // Bytes that are said to be written and are not would be stale; a norm leaves nothing out.
      const bool isExact = index >= dispatch.getReads().size() || name == "sum_squares";
      if (size < bytes[index] || (isExact && size != bytes[index]))
        return dispatch.emitError() << "gives kernel '" << name << "' slice #" << index << " of " << size
                                    << " bytes, but it reaches over " << bytes[index] << "; zero-to-plan makes slices of what kernels touch";
    }
    return success();
  }

  /// A generated kernel reads and writes whole tensors, of the sizes that its function names.
  LogicalResult checkKernel(plan::DispatchOp dispatch) {
    auto kernel = symbols.lookup<plan::KernelOp>(dispatch.getKernel());
    auto body = kernel ? symbols.lookup<func::FuncOp>(kernel.getBodyFunction()) : func::FuncOp();
    if (!kernel)
      return checkLibraryKernel(dispatch);
    auto check = [&](StringRef verb, ArrayAttr slices, TypeRange types) -> LogicalResult {
      if (slices.size() != types.size())
        return dispatch.emitError() << verb << " " << slices.size() << " slices, but kernel @" << kernel.getSymName()
                                    << " " << verb << " " << types.size();
      for (auto [index, slice, type] : llvm::enumerate(slices.getAsRange<plan::SliceAttr>(), types)) {
        auto tensor = cast<RankedTensorType>(type);
        int64_t bytes = tensor.getNumElements() * getElementBytes(tensor.getElementType());
        if (slice.getSize() != bytes)
          return dispatch.emitError() << verb << " slice #" << index << " of " << slice.getSize()
                                      << " bytes, but kernel @" << kernel.getSymName() << " " << verb << " " << bytes
                                      << " (" << type << ")";
      }
      return success();
    };
    return success(succeeded(check("reads", dispatch.getReads(), body.getArgumentTypes())) &&
                   succeeded(check("writes", dispatch.getWrites(), body.getResultTypes())));
  }

  ModuleOp module;
  SymbolTable symbols;
  int64_t worldSize;
};

} // namespace

LogicalResult verifyRecords(ModuleOp module) { return RecordVerifier(module).run(); }

} // namespace zero

//===- NcclChannel.cpp - Collectives of device memory by NCCL -------------===//
#include "lib/Runtime/HAL/Comm/NCCL/NcclChannel.h"
#include "zero/Runtime/HAL/OrderedSumKernel.h"
#include "zero/Runtime/HAL/Staging.h"
#include <algorithm>

namespace zero {
namespace {

using Kind = StreamCollective::Kind;

ncclDataType_t ncclTypeOf(FloatType type) {
  return type == FloatType::F32 ? ncclFloat32 : type == FloatType::F16 ? ncclFloat16 : ncclBfloat16;
}

/// Whether contributions are added by our kernel. Integers have one sum.
bool isAddedInRankOrder(const StreamCollective &what, bool deterministic) {
  return (what.kind == Kind::ReduceScatter && addsInRankOrder(deterministic, what.element != what.targetElement)) ||
         (what.kind == Kind::FloatSum && deterministic);
}

} // namespace

NcclChannel::NcclChannel(NcclChannels &owner, std::shared_ptr<NcclCommunicator> communicator, std::unique_ptr<StreamMarks> marks, unsigned index)
    : owner(owner), job(owner.job), index(index), communicator(std::move(communicator)), marks(std::move(marks)) {
  owner.add(*this);
}

NcclChannel::~NcclChannel() { owner.remove(*this); }

Expected<std::unique_ptr<PreparedCollective>> NcclChannel::prepare(const StreamCollective &collective) {
  const uint64_t sent = (job.bootstrap.size() - 1) * collective.bytesToEach();
  if (sent != collective.wireBytes)
    return Status::programFailed("sends " + std::to_string(sent) + " bytes, but the plan says " + std::to_string(collective.wireBytes));
  DeviceFunction *sum = nullptr;
  if (isAddedInRankOrder(collective, job.options.deterministic)) {
    ZERO_ASSIGN_OR_RETURN(sum, job.program.find(orderedSumSymbol(collective.element, collective.targetElement)));
  }
  return std::unique_ptr<PreparedCollective>(std::make_unique<NcclCollective>(*this, collective, sum));
}

void NcclChannel::passed(const StreamMarks::Passed &mark) {
  if (NcclCollective *collective = prepared[mark.what / 2])
    mark.what % 2 ? collective->leave(mark.time) : collective->enter(mark.time);
}

Status NcclChannel::endedRank() const {
  JobView &view = job.bootstrap.view();
  if (view.endedRank(index).ok())
    return {};
  // By then the others' watchers, too, have seen which collectives their streams have come to.
  std::this_thread::sleep_for(3 * NcclChannels::kInterval);
  return view.endedRank(index);
}

Status NcclChannel::findProblem() {
  JobView &view = job.bootstrap.view();
  const NcclCollective *waiting = current.load(std::memory_order_acquire);
  auto from = [&](const Status &problem) { return waiting ? problem.annotate(waiting->origin()) : problem; };
  if (waiting) {
    ZERO_RETURN_IF_ERROR(from(endedRank()));
    Clock::duration waited = Clock::now().time_since_epoch() - Clock::duration(enteredAt.load(std::memory_order_relaxed));
    if (const double limit = job.bootstrap.timeoutSeconds(); std::chrono::duration<double>(waited).count() >= limit)
      return from(view.timedOut(limit, index));
  }
  const ncclResult_t result = communicator->asynchronousError();
  if (result == ncclSuccess)
    return {};
  const Status problem = communicator->status(result, waiting ? "the exchange of NCCL" : "NCCL");
  // A peer that is gone is missed by NCCL at once, and by the system a little later: that says who it is.
  const auto patience = std::chrono::duration<double>(std::min(1.0, job.bootstrap.timeoutSeconds() / 4));
  for (Clock::time_point begin = Clock::now(); waiting && Clock::now() - begin < patience; std::this_thread::sleep_for(std::chrono::milliseconds(20)))
    ZERO_RETURN_IF_ERROR(from(endedRank()));
  return from(problem);
}

NcclCollective::NcclCollective(NcclChannel &channel, const StreamCollective &what, DeviceFunction *sum) : channel(channel), what(what), sum(sum) {
  std::lock_guard lock(channel.owner.marksMutex);
  number = channel.prepared.size();
  channel.prepared.push_back(this);
}

NcclCollective::~NcclCollective() {
  channel.collect(); // of what has run since the watcher looked
  std::lock_guard lock(channel.owner.marksMutex);
  channel.prepared[number] = nullptr;
}

Status NcclCollective::enqueue(void *stream) {
  NcclCommunicator::Call call(*channel.communicator);
  if (!call.handle || channel.job.bootstrap.failure().raised())
    return Status::communication("given up after another failure");
  ZERO_RETURN_IF_ERROR(channel.marks->put(2 * number, stream));
  ZERO_RETURN_IF_ERROR(exchange(call.handle, stream));
  return channel.marks->put(2 * number + 1, stream);
}

Status NcclCollective::exchange(ncclComm_t communicator, void *stream) {
  return sum ? exchangeInRankOrder(communicator, stream) : exchangeInLibraryOrder(communicator, static_cast<::cudaStream_t>(stream));
}

Status NcclCollective::exchangeInLibraryOrder(ncclComm_t communicator, ::cudaStream_t stream) {
  const NcclTable &table = channel.job.table;
  switch (what.kind) {
  case Kind::AllGather:
    ZERO_NCCL(table, communicator, ncclAllGather, what.source, what.target, what.elements, ncclInt8, communicator, stream);
    break;
  case Kind::ReduceScatter:
    ZERO_NCCL(table, communicator, ncclReduceScatter, what.source, what.target, what.elements, ncclTypeOf(what.element), ncclSum, communicator, stream);
    break;
  case Kind::FloatSum:
    ZERO_NCCL(table, communicator, ncclAllReduce, what.source, what.target, what.elements, ncclFloat32, ncclSum, communicator, stream);
    break;
  case Kind::IntegerSum:
    ZERO_NCCL(table, communicator, ncclAllReduce, what.source, what.target, what.elements, ncclInt64, ncclSum, communicator, stream);
    break;
  }
  return {};
}

Status NcclCollective::exchangeInRankOrder(ncclComm_t communicator, void *stream) {
  const NcclTable &table = channel.job.table;
  const uint32_t rank = channel.job.bootstrap.rank(), ranks = channel.job.bootstrap.size();
  const bool scatters = what.kind == Kind::ReduceScatter;
  const uint64_t size = sizeOf(what.element), elements = what.elements;
  // Of a sum each rank gets all contributions to all elements: the staging is planned for that.
  const uint64_t stagedBytes = scatters ? what.stagingBytes / std::max(ranks - 1, 1u) : elements * size;
  const uint64_t round = std::clamp<uint64_t>(stagedBytes / size, 1, std::max<uint64_t>(elements, 1));
  auto *source = static_cast<const char *>(what.source);
  auto *target = static_cast<char *>(what.target), *staging = static_cast<char *>(what.staging);
  auto slotOf = [&](unsigned peer) { return staging + (peer < rank ? peer : peer - 1) * round * size; };
  for (uint64_t offset = 0; offset < elements; offset += round) {
    const uint64_t count = std::min(round, elements - offset);
    auto partFor = [&](unsigned peer) { return source + ((scatters ? peer * elements : 0) + offset) * size; };
    ZERO_NCCL(table, communicator, ncclGroupStart);
    ncclResult_t result = ncclSuccess;
    for (unsigned i = 1; i < ranks && result == ncclSuccess; ++i) {
      const unsigned to = (rank + i) % ranks, from = (rank + ranks - i) % ranks;
      result = table.ncclSend(partFor(to), count, ncclTypeOf(what.element), static_cast<int>(to), communicator, static_cast<::cudaStream_t>(stream));
      if (result == ncclSuccess)
        result = table.ncclRecv(slotOf(from), count, ncclTypeOf(what.element), static_cast<int>(from), communicator, static_cast<::cudaStream_t>(stream));
    }
    ncclResult_t ended = table.ncclGroupEnd(); // also where the group is not whole: it would stay open
    if (result != ncclSuccess || ended != ncclSuccess)
      return table.status(result != ncclSuccess ? result : ended, "the exchange of NCCL", communicator);

    void *to = target + offset * sizeOf(what.targetElement);
    const void *own = partFor(rank), *staged = staging;
    uint64_t stride = round, number = count;
    uint32_t self = rank, all = ranks;
    void *arguments[] = {&to, &own, &staged, &stride, &number, &self, &all};
    LaunchShape shape;
    shape.grid = {orderedSumBlocks(count), 1, 1};
    shape.block = {kOrderedSumThreads, 1, 1};
    ZERO_RETURN_IF_ERROR(channel.job.device.launch(*sum, shape, arguments, stream));
  }
  return {};
}

/// Of the clock that records are read by.
static int64_t unixTime(int64_t steadyTime) {
  return JobView::unixNanoseconds() - (std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count() - steadyTime);
}

void NcclCollective::enter(int64_t time) {
  const JobPlace at = what.observer->entered(time);
  record = &channel.job.bootstrap.view().enter(channel.index, {what.name, at}, what.bytesToEach(), unixTime(time));
  channel.enteredAt.store(NcclChannel::Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  channel.current.store(this, std::memory_order_release);
}

void NcclCollective::leave(int64_t time) {
  channel.current.store(nullptr, std::memory_order_release);
  if (!record) // begun before the slots of marks came round
    return;
  // The two clocks are read one after the other.
  channel.job.bootstrap.view().leave(channel.index, *record, std::max(record->begin.load(std::memory_order_relaxed), unixTime(time)));
  record = nullptr;
  what.observer->left(time);
}

} // namespace zero

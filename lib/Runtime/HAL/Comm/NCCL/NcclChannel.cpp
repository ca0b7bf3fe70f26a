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

/// Whether contributions are added by our kernel: NCCL's order is not the ranks', and its results have the type that is sent. Integers
/// have one sum.
bool addsInRankOrder(const StreamCollective &what, bool deterministic) {
  return (what.kind == Kind::ReduceScatter && (deterministic || what.element != what.targetElement)) ||
         (what.kind == Kind::FloatSum && deterministic);
}

} // namespace

NcclChannel::NcclChannel(NcclChannels &owner, std::shared_ptr<NcclCommunicator> communicator, unsigned index)
    : owner(owner), job(owner.job), index(index), communicator(std::move(communicator)) {
  owner.add(*this);
}

NcclChannel::~NcclChannel() { owner.remove(*this); }

Expected<std::unique_ptr<PreparedCollective>> NcclChannel::prepare(const StreamCollective &collective) {
  DeviceFunction *sum = nullptr;
  if (addsInRankOrder(collective, job.options.deterministic)) {
    if (!job.program)
      return Status::badInput("the program has no kernels for sums in rank order");
    ZERO_ASSIGN_OR_RETURN(sum, job.program->find(orderedSumSymbol(collective.element, collective.targetElement)));
  }
  return std::unique_ptr<PreparedCollective>(std::make_unique<NcclCollective>(*this, collective, sum));
}

Status NcclChannel::findProblem() {
  JobView &view = job.bootstrap.view();
  const NcclCollective *waiting = current.load(std::memory_order_acquire);
  auto from = [&](const Status &problem) { return waiting ? problem.annotate(waiting->origin()) : problem; };
  if (waiting) {
    ZERO_RETURN_IF_ERROR(from(view.endedRank(index)));
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
    ZERO_RETURN_IF_ERROR(from(view.endedRank(index)));
  return from(problem);
}

NcclCollective::NcclCollective(NcclChannel &channel, const StreamCollective &what, DeviceFunction *sum)
    : channel(channel), what(what), sum(sum), gate(std::make_unique<Gate>()) {
  gate->collective = this;
}

NcclCollective::~NcclCollective() {
  {
    std::lock_guard lock(gate->mutex);
    gate->collective = nullptr;
  }
  if (channel.job.bootstrap.failure().raised()) // streams that did not come to their end keep it
    (void)gate.release();
}

template <void (NcclCollective::*function)()> void NcclCollective::pass(void *argument) {
  Gate &gate = *static_cast<Gate *>(argument);
  std::lock_guard lock(gate.mutex);
  if (gate.collective)
    (gate.collective->*function)();
}

Status NcclCollective::enqueue(void *stream) {
  NcclCommunicator::Call call(*channel.communicator);
  if (!call.handle || channel.job.bootstrap.failure().raised())
    return Status::communication("given up after another failure");
  StreamDevice &device = channel.job.device;
  ZERO_RETURN_IF_ERROR(device.callHost(stream, pass<&NcclCollective::enter>, gate.get()));
  ZERO_RETURN_IF_ERROR(exchange(call.handle, stream));
  return device.callHost(stream, pass<&NcclCollective::leave>, gate.get());
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
  const uint64_t stagedBytes = scatters ? reduceScatterStagingBytes(elements * size, 2) : elements * size;
  const uint64_t round = std::max<uint64_t>(stagedBytes / size, 1);
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

void NcclCollective::enter() {
  if (channel.job.bootstrap.failure().raised())
    return; // the stream only comes to its end
  record = &channel.job.bootstrap.view().enter(channel.index, what.name, what.bytesToEach());
  what.observer->entered();
  channel.enteredAt.store(NcclChannel::Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  channel.current.store(this, std::memory_order_release);
}

void NcclCollective::leave() {
  channel.current.store(nullptr, std::memory_order_release);
  if (!record || channel.job.bootstrap.failure().raised())
    return;
  channel.job.bootstrap.view().leave(channel.index, *record);
  record = nullptr;
  what.observer->left((channel.job.bootstrap.size() - 1) * what.bytesToEach());
}

} // namespace zero

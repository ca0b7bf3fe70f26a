//===- NcclCommunicator.cpp - A communicator of NCCL ----------------------===//
#include "lib/Runtime/HAL/Comm/NCCL/NcclCommunicator.h"

namespace zero {

NcclCommunicator::Call::Call(NcclCommunicator &communicator) : communicator(communicator) {
  std::lock_guard lock(communicator.mutex);
  ++communicator.calls;
  handle = communicator.isForbidden ? nullptr : communicator.handle;
}

NcclCommunicator::Call::~Call() {
  std::lock_guard lock(communicator.mutex);
  if (--communicator.calls == 0)
    communicator.idle.notify_all();
}

Status NcclCommunicator::registerMemory(const std::vector<std::pair<void *, uint64_t>> &memory) {
  Call call(*this);
  if (!call.handle)
    return Status::communication("given up after another failure");
  for (auto [base, size] : memory) {
    void *registration = nullptr;
    ZERO_NCCL(table, handle, ncclCommRegister, handle, base, size, &registration);
    if (registration) // none where NCCL has no use for it
      registered.push_back(registration);
  }
  return {};
}

ncclResult_t NcclCommunicator::asynchronousError() const {
  std::lock_guard lock(mutex);
  if (isForbidden)
    return ncclSuccess;
  ncclResult_t found = ncclSuccess, asked = table.ncclCommGetAsyncError(handle, &found);
  ncclResult_t result = asked != ncclSuccess ? asked : found;
  return result == ncclInProgress ? ncclSuccess : result;
}

void NcclCommunicator::forbidCalls() {
  std::lock_guard lock(mutex);
  isForbidden = true;
}

void NcclCommunicator::awaitCalls(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex);
  idle.wait_until(lock, deadline, [this] { return calls == 0; });
}

Status NcclCommunicator::destroy() {
  forbidCalls();
  for (void *registration : registered)
    ZERO_NCCL(table, handle, ncclCommDeregister, handle, registration);
  ZERO_NCCL(table, handle, ncclCommDestroy, handle);
  return {};
}

void giveUp(const std::vector<std::shared_ptr<NcclCommunicator>> &communicators) {
  if (communicators.empty())
    return;
  const NcclTable &table = communicators.front()->table;
  for (const auto &communicator : communicators)
    communicator->forbidCalls();
  // An abort frees what a call under way may still use. That call may wait for a peer, and an abort is what ends it where there is nothing better.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  if (!table.ncclCommRevoke)
    for (const auto &communicator : communicators)
      communicator->awaitCalls(deadline);
  // Errors of a job that ends anyway have nobody to tell.
  table.ncclGroupStart();
  for (const auto &communicator : communicators)
    table.ncclCommRevoke ? table.ncclCommRevoke(communicator->handle, /*flags=*/0) : table.ncclCommAbort(communicator->handle);
  table.ncclGroupEnd();
}

} // namespace zero

//===- CudnnDescriptor.cpp - Descriptors of cuDNN's graph API -------------===//
#include "lib/Runtime/Kernels/CUDA/CudnnDescriptor.h"
#include <utility>

using namespace zero;
using namespace zero::kernels;

CudnnDescriptor::CudnnDescriptor(const CudnnTable &table, cudnnBackendDescriptorType_t type) : table(table) {
  note("BackendCreateDescriptor", table.BackendCreateDescriptor(type, &descriptor));
}
CudnnDescriptor::CudnnDescriptor(CudnnDescriptor &&other) noexcept
    : table(other.table), descriptor(std::exchange(other.descriptor, nullptr)), failed(other.failed), failedCall(other.failedCall),
      failure(std::move(other.failure)) {}
CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor)
    (void)table.BackendDestroyDescriptor(descriptor);
}

bool CudnnDescriptor::note(const char *call, cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) {
    failed = status;
    failedCall = call;
    failure = table.describe(status);
  }
  return status == CUDNN_STATUS_SUCCESS;
}

CudnnDescriptor &CudnnDescriptor::setRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  if (failed == CUDNN_STATUS_SUCCESS)
    note("BackendSetAttribute", table.BackendSetAttribute(descriptor, name, type, count, values));
  return *this;
}

int64_t CudnnDescriptor::getRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, void *values) {
  int64_t given = 0;
  if (failed != CUDNN_STATUS_SUCCESS || !note("BackendGetAttribute", table.BackendGetAttribute(descriptor, name, type, count, &given, values)))
    return 0;
  return given < count || !values ? given : count;
}

bool CudnnDescriptor::finalize() { return failed == CUDNN_STATUS_SUCCESS && note("BackendFinalize", table.BackendFinalize(descriptor)); }

bool CudnnDescriptor::fill(cudnnBackendAttributeName_t name, CudnnDescriptor &target) {
  return target.failed == CUDNN_STATUS_SUCCESS && getRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &target.descriptor) == 1;
}

std::vector<CudnnDescriptor> CudnnDescriptor::descriptors(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) {
  std::vector<CudnnDescriptor> made;
  std::vector<cudnnBackendDescriptor_t> handles;
  // How many there may be; then those that there are.
  for (int64_t left = getRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr); left > 0; --left) {
    made.emplace_back(table, type);
    handles.push_back(made.back().descriptor);
  }
  auto count = made.empty() ? 0 : static_cast<size_t>(getRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(handles.size()), handles.data()));
  while (made.size() > count)
    made.pop_back();
  return made;
}

Status CudnnDescriptor::status() const {
  return failed == CUDNN_STATUS_SUCCESS
             ? Status()
             : Status::programFailed(std::string("cudnn") + failedCall + ": " + failure +
                                     "; with zero-compile --cuda-convolutions=generated kernels of the program compute convolutions");
}

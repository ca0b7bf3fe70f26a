//===- Cudnn.cpp - A cuDNN that computes on the host ----------------------===//
//
// The calls of cuDNN 9's graph API that Kernels/CUDA makes, of graphs of one convolution, with their documented errors. Misuse that the
// library might let pass is found: attributes of another type or number, what is missing, set too late or read too early, descriptors that
// were destroyed, or left over when the last handle goes, pointers less aligned than the tensors were said to be, no room for the engine.
//
//===----------------------------------------------------------------------===//
#include "test/CUDA/Shim/CudnnDescriptors.h"
#include "test/CUDA/Shim/Streams.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace zero::shim;

namespace {

struct Context {
  int device;
  CUstream stream = nullptr;
};
Handles<Context> &contexts() {
  static auto *all = new Handles<Context>("cuDNN handle", 8);
  return *all;
}
Handles<CudnnDescriptorState> &descriptors() {
  static auto *all = new Handles<CudnnDescriptorState>("descriptor", 9);
  return *all;
}

/// Memory that a handle takes of a device beside its callers'.
constexpr int64_t kHandleBytes = int64_t{16} << 20;

thread_local std::string lastWords;

cudnnStatus_t say(cudnnStatus_t status, const std::string &words) {
  lastWords = words;
  return status;
}
cudnnStatus_t invalid(cudnnStatus_t status, const char *call, const std::string &words) {
  misuse(CUDA_ERROR_INVALID_VALUE, call, words);
  return say(status, words);
}

CudnnDescriptorPointer find(const char *call, cudnnBackendDescriptor_t descriptor, cudnnStatus_t &status) {
  CudnnDescriptorPointer found = descriptors().find(numberOf(descriptor));
  if (!found)
    status = invalid(CUDNN_STATUS_BAD_PARAM, call, descriptors().describe(numberOf(descriptor)));
  return found;
}

std::string called(const CudnnDescriptorState &descriptor) { return std::string("the ") + nameOf(descriptor.type); }

/// The attribute of that name, if it has `type`; else null, and `status` says so.
const CudnnAttribute *find(const char *call, const CudnnDescriptorState &descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                           cudnnStatus_t &status) {
  const CudnnAttribute *attribute = findAttribute(descriptor.type, name);
  if (!attribute) {
    status = invalid(CUDNN_STATUS_BAD_PARAM, call, text(called(descriptor), " has no attribute ", name));
    return nullptr;
  }
  const bool isScale = attribute->type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE;
  if (attribute->type != type && !isScale) {
    status = invalid(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, call, text(attribute->text, " has type ", attribute->type, ", not ", type));
    return nullptr;
  }
  return attribute;
}

/// Of what a finalized descriptor gives: copies as many as there is room for, and says how many.
template <typename T> cudnnStatus_t give(const std::vector<T> &values, int64_t requested, int64_t *count, void *elements) {
  const auto copied = std::min<int64_t>(requested, static_cast<int64_t>(values.size()));
  if (elements && copied > 0)
    std::copy_n(values.begin(), copied, static_cast<T *>(elements));
  if (count)
    *count = elements ? copied : static_cast<int64_t>(values.size());
  return CUDNN_STATUS_SUCCESS;
}

/// Makes fresh descriptors of `type`, which stand in `elements`, configurations or engines.
cudnnStatus_t fill(const char *call, cudnnBackendDescriptorType_t type, const std::vector<CudnnEngine> &engines, const CudnnDescriptorState &of,
                   const CudnnDescriptorPointer &graph, int64_t requested, int64_t *count, void *elements) {
  const auto copied = std::min<int64_t>(requested, static_cast<int64_t>(engines.size()));
  for (int64_t i = 0; i < copied; ++i) {
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    CudnnDescriptorPointer target = find(call, static_cast<cudnnBackendDescriptor_t *>(elements)[i], status);
    if (!target)
      return status;
    if (target->type != type || target->isFinal)
      return invalid(CUDNN_STATUS_BAD_PARAM, call, text(called(*target), " that it is to fill in is no fresh ", nameOf(type)));
    target->engine = engines[static_cast<size_t>(i)];
    target->problem = of.problem;
    target->origin = graph;
    target->isFinal = true;
  }
  if (count)
    *count = copied;
  return CUDNN_STATUS_SUCCESS;
}

/// What is left of a handle's work when it goes, or the process does.
std::string leftOver() {
  const auto names = descriptors().names([](const CudnnDescriptorState &) { return true; });
  return names.empty() ? "" : text(names.size(), " descriptors are left, the first is ", names.front(), " (", nameOf(descriptors().all().front()->type), ")");
}

void reportAtExit(int code, void *) {
  if (code)
    return;
  if (auto names = contexts().names([](const Context &) { return true; }); !names.empty())
    endProcess("exit", text(names.front(), " was never destroyed"));
}

} // namespace

extern "C" {

size_t cudnnGetVersion(void) { return CUDNN_VERSION; }

const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
  case CUDNN_STATUS_SUCCESS:
    return "CUDNN_STATUS_SUCCESS";
  case CUDNN_STATUS_NOT_INITIALIZED:
    return "CUDNN_STATUS_NOT_INITIALIZED";
  case CUDNN_STATUS_BAD_PARAM:
    return "CUDNN_STATUS_BAD_PARAM";
  case CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED:
    return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
  case CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE:
    return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
  case CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER:
    return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
  case CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH:
    return "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH";
  case CUDNN_STATUS_NOT_SUPPORTED:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
  case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
    return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
  default:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}

/// As there, reading it empties it.
void cudnnGetLastErrorString(char *message, size_t size) {
  if (message && size)
    std::snprintf(message, size, "%s", lastWords.c_str());
  lastWords.clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  static const int registered = on_exit(reportAtExit, nullptr);
  (void)registered;
  const int device = currentDevice();
  if (device < 0)
    return say(CUDNN_STATUS_NOT_INITIALIZED, "no device is current");
  if (injectedFailure("cudnnCreate") || takeDeviceMemory(device, kHandleBytes) != CUDA_SUCCESS)
    return say(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "");
  *handle = handleOf<cudnnHandle_t>(contexts().add(std::make_shared<Context>(Context{device})));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  constexpr const char *call = "cudnnDestroy";
  std::shared_ptr<Context> context = contexts().remove(numberOf(handle));
  if (!context)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, contexts().describe(numberOf(handle)));
  takeDeviceMemory(context->device, -kHandleBytes);
  std::string left = contexts().all().empty() ? leftOver() : "";
  return left.empty() ? CUDNN_STATUS_SUCCESS : invalid(CUDNN_STATUS_BAD_PARAM, call, left);
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  constexpr const char *call = "cudnnSetStream";
  std::shared_ptr<Context> context = contexts().find(numberOf(handle));
  if (!context)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, contexts().describe(numberOf(handle)));
  if (deviceOf(stream) != context->device)
    return invalid(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, call, "the stream is not one of the handle's device");
  context->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *descriptor) {
  constexpr const char *call = "cudnnBackendCreateDescriptor";
  if (!nameOf(type))
    return invalid(CUDNN_STATUS_NOT_SUPPORTED, call, text("descriptors of type ", type, " are not simulated"));
  if (injectedFailure(call))
    return say(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "");
  auto made = std::make_shared<CudnnDescriptorState>();
  made->type = type;
  *descriptor = handleOf<cudnnBackendDescriptor_t>(descriptors().add(std::move(made)));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  CudnnDescriptorPointer found = find("cudnnBackendDestroyDescriptor", descriptor, status);
  if (!found)
    return status;
  found->isDestroyed = true;
  descriptors().remove(numberOf(descriptor));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t count, const void *elements) {
  constexpr const char *call = "cudnnBackendSetAttribute";
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  CudnnDescriptorPointer found = find(call, descriptor, status);
  if (!found)
    return status;
  if (found->isFinal)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, called(*found) + " was finalized");
  const CudnnAttribute *attribute = find(call, *found, name, type, status);
  if (!attribute)
    return status;
  if (attribute->isRead)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, text(attribute->text, " is only read"));
  if (count < attribute->least || count > attribute->most || !elements)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, text(attribute->text, " takes ", attribute->least, " to ", attribute->most, " elements, got ", elements ? count : 0));
  CudnnDescriptorState::Value value;
  value.type = type;
  const auto *bytes = static_cast<const std::byte *>(elements);
  value.bytes.assign(bytes, bytes + static_cast<uint64_t>(count) * bytesOf(type));
  for (int64_t i = 0; i < count && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; ++i) {
    CudnnDescriptorPointer part = find(call, static_cast<const cudnnBackendDescriptor_t *>(elements)[i], status);
    if (!part)
      return status;
    if (!part->isFinal)
      return invalid(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, call, text(called(*part), " that ", attribute->text, " names is not finalized"));
    value.descriptors.push_back(std::move(part));
  }
  if (type == CUDNN_TYPE_HANDLE)
    if (const auto handle = *static_cast<const cudnnHandle_t *>(elements); !contexts().find(numberOf(handle)))
      return invalid(CUDNN_STATUS_BAD_PARAM, call, contexts().describe(numberOf(handle)));
  found->values[name] = std::move(value);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  constexpr const char *call = "cudnnBackendFinalize";
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  CudnnDescriptorPointer found = find(call, descriptor, status);
  if (!found)
    return status;
  if (found->isFinal)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, called(*found) + " was finalized before");
  for (const CudnnAttribute *attribute : requiredAttributes(found->type))
    if (!found->values.count(attribute->name))
      return invalid(CUDNN_STATUS_BAD_PARAM, call, text(called(*found), " has no ", attribute->text));
  if (const CudnnDescriptorState *gone = found->findDestroyed())
    return invalid(CUDNN_STATUS_BAD_PARAM, call, text(called(*gone), " that ", called(*found), " is made of was destroyed"));
  if (injectedFailure(call))
    return say(CUDNN_STATUS_NOT_SUPPORTED, "injected");
  if (std::string fault = completeDescriptor(*found, status); !fault.empty())
    return invalid(CUDNN_STATUS_BAD_PARAM, call, text(called(*found), ": ", fault));
  if (status != CUDNN_STATUS_SUCCESS)
    return say(status, text("engine ", found->engine->number, " does not build"));
  found->isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t requested, int64_t *count, void *elements) {
  constexpr const char *call = "cudnnBackendGetAttribute";
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  CudnnDescriptorPointer found = find(call, descriptor, status);
  if (!found)
    return status;
  const CudnnAttribute *attribute = find(call, *found, name, type, status);
  if (!attribute)
    return status;
  if (!found->isFinal)
    return invalid(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, call, called(*found) + " is not finalized");
  if (!attribute->isRead)
    return invalid(CUDNN_STATUS_NOT_SUPPORTED, call, text("reading ", attribute->text, " back is not simulated"));
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
    const auto engines = rankEngines(*found->problem, found->value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE));
    if (elements)
      return fill(call, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, engines, *found, found->child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), requested, count, elements);
    *count = static_cast<int64_t>(engines.size()) + 1; // as there: how many there may be
    return CUDNN_STATUS_SUCCESS;
  }
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    return fill(call, CUDNN_BACKEND_ENGINE_DESCRIPTOR, {*found->engine}, *found, found->origin, requested, count, elements);
  case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
    return give(std::vector<int64_t>{found->engine->number}, requested, count, elements);
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    return give(found->engine->numerical, requested, count, elements);
  case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    return give(found->engine->behavior, requested, count, elements);
  default: // CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE
    return give(std::vector<int64_t>{static_cast<int64_t>(found->engine->workspaceBytes)}, requested, count, elements);
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan, cudnnBackendDescriptor_t variantPack) {
  constexpr const char *call = "cudnnBackendExecute";
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  std::shared_ptr<Context> context = contexts().find(numberOf(handle));
  if (!context)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, contexts().describe(numberOf(handle)));
  CudnnDescriptorPointer plan = find(call, executionPlan, status), pack = plan ? find(call, variantPack, status) : nullptr;
  if (!plan || !pack)
    return status;
  if (plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, called(*plan) + " and " + called(*pack) + " are no execution plan and variant pack");
  for (const auto &part : {plan, pack}) {
    if (!part->isFinal)
      return invalid(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, call, called(*part) + " is not finalized");
    if (const CudnnDescriptorState *gone = part->findDestroyed())
      return invalid(CUDNN_STATUS_BAD_PARAM, call, text(called(*gone), " that ", called(*part), " is made of was destroyed"));
  }
  if (plan->value<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) != handle)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, "the execution plan is that of another handle");
  if (!context->stream)
    return invalid(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, call, "the handle has no stream, and the null stream is not simulated");
  const ConvolutionProblem problem = *plan->problem;
  const CudnnEngine engine = *plan->engine;
  const CudnnDescriptorState &operation = *plan->origin->child(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const auto attributes = requiredAttributes(operation.type); // convolution, data, kernel, out
  const auto names = pack->list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack->list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  void *tensors[3];
  for (size_t i = 0; i < 3; ++i) {
    const CudnnDescriptorState &tensor = *operation.child(attributes[i + 1]->name);
    const auto name = tensor.value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    const auto place = std::find(names.begin(), names.end(), name);
    if (place == names.end())
      return invalid(CUDNN_STATUS_BAD_PARAM, call, text("the variant pack has no tensor ", name));
    tensors[i] = pointers[static_cast<size_t>(place - names.begin())];
    if (const auto alignment = tensor.value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT); reinterpret_cast<uintptr_t>(tensors[i]) % static_cast<uintptr_t>(alignment))
      return invalid(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, call, text("tensor ", name, " is not at a multiple of its ", alignment, " bytes"));
  }
  if (names.size() != 3)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, text("the variant pack has ", names.size(), " tensors, the graph 3"));
  void *workspace = pack->value<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (engine.workspaceBytes && !workspace)
    return invalid(CUDNN_STATUS_BAD_PARAM, call, text("engine ", engine.number, " takes ", engine.workspaceBytes, " bytes of workspace, there are none"));
  if (injectedFailure(call))
    return say(CUDNN_STATUS_EXECUTION_FAILED, "");
  StreamWork work;
  work.name = call;
  auto access = [&](ConvolutionKind written) { return problem.kind == written ? Access::Write : Access::Read; };
  auto bytes = [&](int64_t elements) { return static_cast<uint64_t>(elements) * problem.elementBytes(); };
  work.ranges = {{tensors[0], bytes(problem.dataElements()), access(ConvolutionKind::Data)},
                 {tensors[1], bytes(problem.kernelElements()), access(ConvolutionKind::Filter)},
                 {tensors[2], bytes(problem.outElements()), access(ConvolutionKind::Forward)},
                 {workspace, engine.workspaceBytes, Access::Write}};
  work.run = [problem, engine](std::span<std::byte *const> memory) {
    if (engine.workspaceBytes) // what it leaves there is nothing to read
      std::memset(memory[3], 0xa5, engine.workspaceBytes);
    convolve(problem, engine.arithmetic, memory[0], memory[1], memory[2]);
    return CUDA_SUCCESS;
  };
  return enqueue(context->stream, std::move(work)) == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : say(CUDNN_STATUS_EXECUTION_FAILED, "");
}

} // extern "C"

//===- CudnnDescriptors.cpp - Descriptors of the simulated cuDNN ----------===//
#include "test/CUDA/Shim/CudnnDescriptors.h"
#include <algorithm>

namespace zero::shim {
namespace {

constexpr int64_t kMostDimensions = CUDNN_DIM_MAX;

/// The three kinds of operations have the same attributes under their own names.
#define ZERO_OPERATION(kind, prefix, data, kernel, out)                                                                                    \
  {kind, prefix##_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, #prefix "_CONV_DESC"},                                                   \
      {kind, prefix##_##data, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, #prefix "_" #data},                                                     \
      {kind, prefix##_##kernel, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, #prefix "_" #kernel},                                                 \
      {kind, prefix##_##out, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, #prefix "_" #out},                                                       \
      {kind, prefix##_ALPHA, CUDNN_TYPE_FLOAT, 1, 1, #prefix "_ALPHA"}, {kind, prefix##_BETA, CUDNN_TYPE_FLOAT, 1, 1, #prefix "_BETA"}
#define ZERO_ROW(kind, name, type, least, most) {kind, name, type, least, most, #name}
#define ZERO_READ(kind, name, type, most) {kind, name, type, 0, most, #name, true}

const CudnnAttribute kAttributes[] = {
    ZERO_ROW(CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, kMostDimensions),
    ZERO_ROW(CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 1, kMostDimensions),
    ZERO_ROW(CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 1, kMostDimensions),
    ZERO_ROW(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 1, kMostDimensions),
    ZERO_ROW(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 1, kMostDimensions),
    ZERO_ROW(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 1, kMostDimensions),
    ZERO_OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD, X, W, Y),
    ZERO_OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA, DX, W, DY),
    ZERO_OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER, X, DW, DY),
    ZERO_ROW(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1),
    ZERO_READ(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 64),
    ZERO_READ(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1),
    ZERO_READ(CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1),
    ZERO_READ(CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 64),
    ZERO_READ(CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 64),
    ZERO_ROW(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1),
    ZERO_ROW(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1),
    ZERO_READ(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1),
    ZERO_ROW(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, 64),
    ZERO_ROW(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, 64),
    ZERO_ROW(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1),
};

constexpr cudnnBackendDescriptorType_t kOperations[] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                                        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                                        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR};

std::string checkTensor(const CudnnDescriptorState &tensor) {
  const auto type = tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16)
    return text("data type ", type, " is not simulated");
  const auto sizes = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (sizes.size() != strides.size())
    return text("a tensor of ", sizes.size(), " dimensions has ", strides.size(), " strides");
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) {
    if (sizes[i] < 1)
      return text("dimension ", i, " is ", sizes[i]);
    if (strides[i] != stride)
      return text("stride ", i, " is ", strides[i], ": tensors that are not dense are not simulated");
  }
  const auto alignment = tensor.value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (alignment < 1 || (alignment & (alignment - 1)))
    return text("an alignment of ", alignment, " bytes is no power of two");
  return "";
}

std::string checkConvolution(const CudnnDescriptorState &convolution) {
  if (convolution.value<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION)
    return "mode CUDNN_CONVOLUTION is not simulated";
  const auto rank = convolution.value<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  constexpr std::pair<cudnnBackendAttributeName_t, int64_t> lists[] = {{CUDNN_ATTR_CONVOLUTION_DILATIONS, 1},
                                                                        {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1},
                                                                        {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0},
                                                                        {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0}};
  for (auto [name, least] : lists) {
    const auto numbers = convolution.list<int64_t>(name);
    const char *called = findAttribute(convolution.type, name)->text;
    if (static_cast<int64_t>(numbers.size()) != rank)
      return text(called, " has ", numbers.size(), " elements for ", rank, " dimensions");
    for (int64_t number : numbers)
      if (number < least)
        return text(called, " has ", number, ", less than ", least);
  }
  return "";
}

/// The attributes of an operation, in the order of the table: convolution, data, kernel, out, alpha, beta.
std::vector<cudnnBackendAttributeName_t> operationAttributes(cudnnBackendDescriptorType_t type) {
  std::vector<cudnnBackendAttributeName_t> names;
  for (const CudnnAttribute *attribute : requiredAttributes(type))
    names.push_back(attribute->name);
  return names;
}

void fill(ConvolutionProblem::Sizes &sizes, const std::vector<int64_t> &from, size_t skip) {
  std::copy(from.begin() + static_cast<ptrdiff_t>(skip), from.end(), sizes.end() - static_cast<ptrdiff_t>(from.size() - skip));
}

std::string completeOperation(CudnnDescriptorState &operation) {
  const auto names = operationAttributes(operation.type);
  const CudnnDescriptorState &convolution = *operation.child(names[0]);
  const CudnnDescriptorState *tensors[] = {operation.child(names[1]).get(), operation.child(names[2]).get(), operation.child(names[3]).get()};
  if (convolution.type != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
    return "its convolution is none";
  ConvolutionProblem problem;
  problem.kind = operation.type == kOperations[0] ? ConvolutionKind::Forward : operation.type == kOperations[1] ? ConvolutionKind::Data : ConvolutionKind::Filter;
  const auto rank = convolution.value<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  if (rank != 2 && rank != 3)
    return text("a convolution along ", rank, " dimensions, not 2 or 3");
  std::vector<int64_t> sizes[3], names3;
  for (int i = 0; i < 3; ++i) {
    if (tensors[i]->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
      return "one of its tensors is none";
    sizes[i] = tensors[i]->list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    if (static_cast<int64_t>(sizes[i].size()) != rank + 2)
      return text("a tensor of ", sizes[i].size(), " dimensions for a convolution along ", rank);
    if (tensors[i]->value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE) != tensors[0]->value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE))
      return "tensors of two types are not simulated";
    names3.push_back(tensors[i]->value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
  }
  std::sort(names3.begin(), names3.end());
  if (std::adjacent_find(names3.begin(), names3.end()) != names3.end())
    return "two tensors have the same CUDNN_ATTR_TENSOR_UNIQUE_ID";
  problem.type = tensors[0]->value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  const bool isDouble = problem.type == CUDNN_DATA_DOUBLE;
  if (convolution.value<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != (isDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT))
    return "sums in another type than float (of double: double) are not simulated";
  for (auto [index, wanted] : {std::pair(4, 1.0), std::pair(5, 0.0)}) {
    const auto &scale = operation.values.at(names[static_cast<size_t>(index)]);
    if (scale.type != (isDouble ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT))
      return "scales of another type than the sums";
    const double number = isDouble ? operation.value<double>(names[static_cast<size_t>(index)]) : operation.value<float>(names[static_cast<size_t>(index)]);
    if (number != wanted)
      return "scales other than 1 and 0 are not simulated";
  }
  problem.batch = sizes[0][0], problem.channels = sizes[0][1], problem.filters = sizes[1][0];
  if (problem.channels % sizes[1][1] || problem.filters % (problem.channels / sizes[1][1]))
    return text(problem.channels, " channels and ", problem.filters, " filters of ", sizes[1][1], " channels do not divide into groups");
  problem.groups = problem.channels / sizes[1][1];
  if (sizes[2][0] != problem.batch || sizes[2][1] != problem.filters)
    return text("results are ", sizes[2][0], " x ", sizes[2][1], ", not ", problem.batch, " x ", problem.filters);
  fill(problem.spatial, sizes[0], 2);
  fill(problem.window, sizes[1], 2);
  fill(problem.positions, sizes[2], 2);
  fill(problem.dilations, convolution.list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS), 0);
  fill(problem.strides, convolution.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES), 0);
  fill(problem.low, convolution.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS), 0);
  fill(problem.high, convolution.list<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS), 0);
  for (size_t i = 0; i < 3; ++i) {
    const int64_t room = problem.low[i] + problem.spatial[i] + problem.high[i] - problem.dilations[i] * (problem.window[i] - 1) - 1;
    const int64_t positions = room < 0 ? 0 : room / problem.strides[i] + 1;
    if (positions != problem.positions[i])
      return text("results have ", problem.positions[i], " places along dimension ", i, ", not ", positions);
  }
  operation.problem = problem;
  return "";
}

std::string completePlan(CudnnDescriptorState &plan, cudnnStatus_t &refused) {
  const CudnnDescriptorState &configuration = *plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (configuration.type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
    return "its engine configuration is none";
  if (plan.value<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) != configuration.origin->value<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE))
    return "its handle is not that of its operation graph";
  plan.engine = configuration.engine;
  plan.problem = configuration.problem;
  plan.origin = configuration.origin;
  if (!plan.engine->builds)
    refused = CUDNN_STATUS_NOT_SUPPORTED;
  return "";
}

std::string checkPack(const CudnnDescriptorState &pack) {
  auto names = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const size_t pointers = pack.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size();
  if (names.size() != pointers)
    return text(names.size(), " unique ids for ", pointers, " pointers");
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end() ? "" : "a unique id stands there twice";
}

} // namespace

const CudnnAttribute *findAttribute(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name) {
  for (const CudnnAttribute &attribute : kAttributes)
    if (attribute.descriptor == descriptor && attribute.name == name)
      return &attribute;
  return nullptr;
}

std::vector<const CudnnAttribute *> requiredAttributes(cudnnBackendDescriptorType_t descriptor) {
  std::vector<const CudnnAttribute *> all;
  for (const CudnnAttribute &attribute : kAttributes)
    if (attribute.descriptor == descriptor && attribute.least)
      all.push_back(&attribute);
  return all;
}

uint64_t bytesOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_BOOLEAN:
  case CUDNN_TYPE_CHAR:
    return 1;
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  default: // enumerations
    return 4;
  }
}

const char *nameOf(cudnnBackendDescriptorType_t descriptor) {
  switch (descriptor) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return "tensor";
  case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    return "convolution";
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return "operation";
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return "operation graph";
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    return "heuristics";
  case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    return "engine configuration";
  case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    return "engine";
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    return "execution plan";
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return "variant pack";
  default:
    return nullptr;
  }
}

const CudnnDescriptorState *CudnnDescriptorState::findDestroyed() const {
  auto look = [](const CudnnDescriptorState &part) { return part.isDestroyed ? &part : part.findDestroyed(); };
  if (origin)
    if (const CudnnDescriptorState *found = look(*origin))
      return found;
  for (const auto &[name, value] : values)
    for (const CudnnDescriptorPointer &part : value.descriptors)
      if (const CudnnDescriptorState *found = look(*part))
        return found;
  return nullptr;
}

std::string completeDescriptor(CudnnDescriptorState &descriptor, cudnnStatus_t &refused) {
  switch (descriptor.type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return checkTensor(descriptor);
  case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    return checkConvolution(descriptor);
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    descriptor.problem = descriptor.child(CUDNN_ATTR_OPERATIONGRAPH_OPS)->problem;
    return descriptor.problem ? "" : "its operation is none";
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: {
    const auto mode = descriptor.value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
    descriptor.problem = descriptor.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->problem;
    return mode == CUDNN_HEUR_MODE_A || mode == CUDNN_HEUR_MODE_FALLBACK ? "" : text("heuristics of mode ", mode, " are not simulated");
  }
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    return completePlan(descriptor, refused);
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return checkPack(descriptor);
  case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
  case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    return "engines that are not named by heuristics are not simulated";
  default:
    return completeOperation(descriptor);
  }
}

} // namespace zero::shim

//===- CudnnGraph.cpp - A convolution as cuDNN describes it ---------------===//
#include "lib/Runtime/Kernels/CUDA/CudnnGraph.h"
#include "lib/Runtime/Kernels/Element.h"

using namespace zero;
using namespace zero::kernels;

namespace {

/// What an operation and its attributes are called.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, data, kernel, out, alpha, beta;
};
Names namesOf(ConvolutionResult result) {
  switch (result) {
  case ConvolutionResult::Data:
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  case ConvolutionResult::Kernel:
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  case ConvolutionResult::Out:
    break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

cudnnDataType_t typeOf(int64_t element) {
  switch (static_cast<Element>(element)) {
  case Element::F64:
    return CUDNN_DATA_DOUBLE;
  case Element::F16:
    return CUDNN_DATA_HALF;
  case Element::BF16:
    return CUDNN_DATA_BFLOAT16;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

/// Of two dimensions at least: in front of a single one stands `single`.
std::vector<int64_t> widened(std::vector<int64_t> sizes, int64_t single) {
  if (sizes.size() == 1)
    sizes.insert(sizes.begin(), single);
  return sizes;
}

/// A dense tensor of two outer dimensions and a place for each of `spatial`.
void describe(CudnnDescriptor &tensor, int64_t name, cudnnDataType_t type, int64_t alignment, int64_t first, int64_t second,
              const std::vector<int64_t> &spatial) {
  std::vector<int64_t> sizes = {first, second};
  for (int64_t size : widened(spatial, 1))
    sizes.push_back(size);
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i-- > 0;)
    strides[i] = strides[i + 1] * sizes[i + 1];
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
      .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, name)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
}

} // namespace

bool CudnnGraph::finish(CudnnDescriptor &descriptor) {
  if (!culprit && !descriptor.finalize())
    culprit = &descriptor;
  return !culprit;
}

CudnnGraph::CudnnGraph(const CudnnTable &table, const ConvolutionShape &shape, ConvolutionResult result,
                       const std::array<int64_t, 3> &alignments, cudnnHandle_t handle)
    : data(table, CUDNN_BACKEND_TENSOR_DESCRIPTOR), kernel(table, CUDNN_BACKEND_TENSOR_DESCRIPTOR), out(table, CUDNN_BACKEND_TENSOR_DESCRIPTOR),
      convolution(table, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR), operation(table, namesOf(result).type),
      graph(table, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  const cudnnDataType_t type = typeOf(shape.element);
  const bool isDouble = type == CUDNN_DATA_DOUBLE;
  describe(data, kCudnnTensors[0], type, alignments[0], shape.batch, shape.channels, shape.spatial);
  describe(kernel, kCudnnTensors[1], type, alignments[1], shape.filters, shape.channels / shape.groups, shape.window); // groups follow from it
  describe(out, kCudnnTensors[2], type, alignments[2], shape.batch, shape.filters, shape.positions);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, isDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(widened(shape.spatial, 1).size()))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, widened(shape.dilations, 1))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, widened(shape.strides, 1))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, widened(shape.low, 0))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, widened(shape.high, 0));
  if (!finish(data) || !finish(kernel) || !finish(out) || !finish(convolution))
    return;
  const Names names = namesOf(result);
  operation.set(names.convolution, convolution).set(names.data, data).set(names.kernel, kernel).set(names.out, out);
  if (isDouble)
    operation.set(names.alpha, 1.0).set(names.beta, 0.0);
  else
    operation.set(names.alpha, 1.0f).set(names.beta, 0.0f);
  if (!finish(operation))
    return;
  if (handle) // before 9.8 graphs had to be told
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  finish(graph);
}

//===- ConvolutionLaunches.cpp - conv, conv_transpose, conv_weight_grad ---===//
#include "lib/Runtime/Kernels/CUDA/LaunchText.h"
#include "lib/Runtime/Kernels/Element.h"
#include "zero/Runtime/Kernels/ConvolutionSizes.h"
#include <algorithm>

using namespace zero;
using namespace zero::kernels;

namespace {

enum class Result { Out, Data, Kernel };

/// How a product of m x n results over k is cut; a function of the shape alone.
struct Cut {
  static constexpr int64_t kTile = 64, kSteps = 16;
  bool isTiled;
  int64_t tiles, ranges = 1, range;

  Cut(Result result, const ConvolutionShape &shape) {
    int64_t taps = ConvolutionShape::product(shape.window), results = shape.batch * ConvolutionShape::product(shape.positions);
    int64_t depth = shape.channels / shape.groups, fan = shape.filters / shape.groups;
    int64_t m = result == Result::Data ? depth : fan;
    int64_t n = result == Result::Out ? results : result == Result::Data ? shape.batch * ConvolutionShape::product(shape.spatial) : depth * taps;
    int64_t k = result == Result::Out ? depth * taps : result == Result::Data ? fan * taps : results;
    isTiled = m >= 8 && n >= 8; // below, most of a tile would be empty
    tiles = shape.groups * ((m + kTile - 1) / kTile) * ((n + kTile - 1) / kTile);
    range = k;
    if (result != Result::Kernel || !isTiled)
      return;
    // Few tiles with long sums: ranges of the sum, of whole steps, until blocks fill a device.
    constexpr int64_t kBlocks = 528, kShortest = 512;
    int64_t wanted = std::min((kBlocks + tiles - 1) / tiles, (k + kShortest - 1) / kShortest);
    range = (((k + wanted - 1) / wanted) + kSteps - 1) / kSteps * kSteps;
    ranges = (k + range - 1) / range;
  }
};

const char *productName(Result result) {
  return result == Result::Out ? "ForwardProduct" : result == Result::Data ? "TransposedProduct" : "KernelProduct";
}

std::string textOf(const ConvolutionShape &shape) {
  ShapeText text;
  // Places are counted in 32 bits where all of them fit, also those of windows that begin before the data.
  int64_t most = std::max({shape.dataElements(), shape.outElements(), shape.kernelElements()});
  text.add(most < int64_t{1} << 30 ? "using Index = i32;" : "using Index = i64;");
  text.add("kBatch", shape.batch);
  text.add("kChannels", shape.channels);
  text.add("kFilters", shape.filters);
  text.add("kGroups", shape.groups);
  text.add("kDepth", shape.channels / shape.groups);
  text.add("kFan", shape.filters / shape.groups);
  size_t skip = 3 - shape.spatial.size();
  const struct {
    const char *name;
    const std::vector<int64_t> &values;
    int64_t otherwise;
  } constants[] = {{"kSpatial", shape.spatial, 1}, {"kWindow", shape.window, 1},       {"kStride", shape.strides, 1},
                   {"kLow", shape.low, 0},         {"kDilation", shape.dilations, 1}, {"kPositions", shape.positions, 1}};
  for (const auto &constant : constants)
    for (size_t i = 0; i < 3; ++i)
      text.add((constant.name + std::to_string(i)).c_str(), i < skip ? constant.otherwise : constant.values[i - skip]);
  return text.finish();
}

Expected<ConvolutionShape> readShape(const char *name, Parameters &parameters) {
  std::vector<int64_t> integers = parameters.list(6);
  integers.resize(6);
  if (integers[0] < 0 || integers[0] > static_cast<int64_t>(Element::BF16))
    parameters.fail("element type " + std::string(elementName(integers[0])) + " is not supported, must be a float");
  const char *sizes[] = {"batch", "channels", "filters"};
  for (size_t i = 0; i < 3; ++i)
    if (integers[i + 1] < 0)
      parameters.fail(std::string(sizes[i]) + " is " + std::to_string(integers[i + 1]) + ", must not be negative");
  int64_t groups = integers[4], rank = integers[5];
  if (groups < 1)
    parameters.fail("groups is " + std::to_string(groups) + ", must be at least 1");
  if (rank < 1 || rank > 3)
    parameters.fail("rank is " + std::to_string(rank) + ", outside [1, 3]");
  const char *lists[] = {"spatial size", "window", "stride", "low", "high", "dilation"};
  for (int list = 0; list < 6; ++list)
    for (int64_t i = 0; i < rank && i < 3; ++i) {
      integers.push_back(parameters.size(lists[list]));
      if (integers.back() < 1 && (list == 1 || list == 2 || list == 5))
        parameters.fail(std::string(lists[list]) + " is " + std::to_string(integers.back()) + ", must be at least 1");
    }
  ZERO_RETURN_IF_ERROR(parameters.finish());
  ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
  if (shape.channels % groups || shape.filters % groups)
    return Status::badInput("kernel '" + std::string(name) + "': " + std::to_string(shape.channels) + " channels and " +
                            std::to_string(shape.filters) + " filters do not divide into " + std::to_string(groups) + " groups");
  return shape;
}

Launches convolution(const char *name, Parameters &parameters, Result result) {
  ZERO_ASSIGN_OR_RETURN(ConvolutionShape shape, readShape(name, parameters));
  int64_t data = shape.dataElements(), kernel = shape.kernelElements(), out = shape.outElements();
  int64_t count = result == Result::Out ? out : result == Result::Data ? data : kernel;
  if (count == 0)
    return std::vector<CudaLaunch>();
  std::string type = cudaType(shape.element), sum = shape.element == static_cast<int64_t>(Element::F64) ? "double" : "float";
  LaunchText text{name, {"Copy.cuh", "Convolution.cuh"}};
  if (data == 0 || kernel == 0 || out == 0) { // a sum over nothing
    int64_t bytes = elementBytes(shape.element);
    std::string unit = cudaUnit(bytes);
    text.pointers = {{unit, 2}};
    text.blocks = loopBlocks(static_cast<uint64_t>(count * bytes) / 16);
    text.body = "zero::fillElements<" + unit + ", " + std::to_string(count) + "ull>(p0, " + unit + "(0));";
    return std::vector<CudaLaunch>{text.finish()};
  }
  Cut cut(result, shape);
  bool isSplit = cut.ranges > 1;
  text.declarations = textOf(shape);
  text.pointers = {{"const " + type, 0}, {"const " + type, 1}, isSplit ? std::pair<std::string, uint32_t>{sum, 3} : std::pair<std::string, uint32_t>{type, 2}};
  std::string product = std::string("zero::") + productName(result) + "<" + type + ", Shape>";
  std::string operands = result != Result::Kernel ? "p0, p1, p2" : isSplit ? "p0, p1, nullptr, p2 + u64(blockIdx.x / " + std::to_string(cut.tiles) + ") * " + std::to_string(kernel) : "p0, p1, p2, nullptr";
  text.body = "using Product = " + product + "; Product product{" + operands + "}; ";
  if (cut.isTiled) {
    text.body += "zero::multiplyTile<Product, " + std::to_string(cut.range) + ">(product, blockIdx.x % " + std::to_string(cut.tiles) +
                 ", typename Product::Index(blockIdx.x / " + std::to_string(cut.tiles) + "));";
    text.blocks = static_cast<uint64_t>(cut.tiles * cut.ranges);
  } else if (result == Result::Kernel) {
    text.body += "zero::multiplyByBlocks(product);";
    text.blocks = static_cast<uint64_t>(count);
  } else {
    text.body += "zero::multiplySingly<Product, " + std::to_string(shape.groups) + ">(product);";
    text.blocks = loopBlocks(static_cast<uint64_t>(count));
  }
  std::vector<CudaLaunch> launches = {text.finish()};
  if (isSplit) {
    LaunchText add{name, {"Copy.cuh", "Convolution.cuh"}, {{"const " + sum, 3}, {type, 2}}};
    add.blocks = static_cast<uint64_t>((kernel + 255) / 256);
    add.body = "zero::addRanges<" + type + ", " + sum + ", " + std::to_string(kernel) + "ull, " + std::to_string(cut.ranges) + ">(p0, p1);";
    launches.push_back(add.finish());
  }
  return launches;
}

} // namespace

Launches kernels::planConv(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  return convolution("conv", parameters, Result::Out);
}
Launches kernels::planConvTranspose(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  return convolution("conv_transpose", parameters, Result::Data);
}
Launches kernels::planConvWeightGrad(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  return convolution("conv_weight_grad", parameters, Result::Kernel);
}

uint64_t kernels::convWeightGradWorkspaceBytes(std::span<const int64_t> integers) {
  ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
  if (shape.positions.empty() || shape.groups < 1)
    return 0;
  int64_t data = shape.dataElements(), kernel = shape.kernelElements(), out = shape.outElements();
  if (data == 0 || kernel == 0 || out == 0)
    return 0;
  Cut cut(Result::Kernel, shape);
  int64_t bytes = shape.element == static_cast<int64_t>(Element::F64) ? 8 : 4;
  return cut.ranges > 1 ? static_cast<uint64_t>(cut.ranges * kernel * bytes) : 0;
}

//===- AttentionLaunches.cpp - attention and attention_grad ---------------===//
#include "lib/Runtime/Kernels/CUDA/LaunchText.h"
#include "lib/Runtime/Kernels/Element.h"
#include <initializer_list>

using namespace zero;
using namespace zero::kernels;

namespace {

constexpr int64_t kTile = 64;

struct Shape {
  int64_t element, batch, queries, keys, heads, groups, size;
  bool hasMask;
  float scale;
  std::string text; ///< its constants

  /// 16-bit floats on tensor cores, whose blocks of 128 threads take whole heads.
  bool onTensorCores() const { return element != static_cast<int64_t>(Element::F32) && size > 0 && size <= 128; }
  /// Bytes of `rows` rows of a tile of 16-bit floats.
  uint32_t tileBytes(int64_t rows) const { return static_cast<uint32_t>(rows * ((size + 15) / 16 * 16 + 8) * 2); }
  /// Dynamic shared memory of the kernels of AttentionTensor.cuh.
  uint32_t forwardBytes() const { return onTensorCores() ? tileBytes(4 * kTile) : 0; }
  uint32_t queryGradientBytes() const { return onTensorCores() ? tileBytes(2 * kTile) : 0; }
  uint32_t keyGradientBytes() const {
    int64_t rows = size <= 64 ? 32 : 16;
    return onTensorCores() ? tileBytes(2 * kTile + 4 * rows) + static_cast<uint32_t>(2 * 3 * rows * 4) : 0;
  }
  /// Chunks of the result's columns that blocks take.
  int64_t chunks() const { return size <= 64 ? 1 : (size + 127) / 128; }
  uint64_t rowBlocks() const { return static_cast<uint64_t>(batch * heads * ((queries + kTile - 1) / kTile) * chunks()); }
  uint64_t keyBlocks() const { return static_cast<uint64_t>(batch * groups * ((keys + kTile - 1) / kTile) * chunks()); }
};

/// The integers that both kernels begin with, then the strides of `views`.
Expected<Shape> readShape(Parameters &parameters, std::span<const double> reals, std::initializer_list<const char *> views) {
  Shape x;
  x.element = parameters.next();
  if (x.element != static_cast<int64_t>(Element::F32) && x.element != static_cast<int64_t>(Element::F16) &&
      x.element != static_cast<int64_t>(Element::BF16))
    parameters.fail("element type " + std::string(elementName(x.element)) + " is not supported, must be f32, f16 or bf16");
  x.batch = parameters.size("B");
  x.queries = parameters.size("T");
  x.keys = parameters.size("S");
  x.heads = parameters.size("H");
  x.groups = parameters.size("G");
  x.size = parameters.size("D");
  bool isCausal = parameters.next() != 0;
  x.hasMask = parameters.next() != 0;
  int64_t maskBatch = parameters.next(), maskHeads = parameters.next();
  ShapeText text;
  for (const char *view : views)
    for (const char *stride : {"Batch", "Position", "Head"}) {
      std::string what = stride == std::string_view("Batch") ? "batch stride" : stride == std::string_view("Head") ? "head stride" : "position stride";
      text.add((std::string("k") + view + stride).c_str(), parameters.size(what.c_str()));
    }
  if (x.groups == 0 ? x.heads != 0 : x.heads % x.groups != 0)
    parameters.fail("H = " + std::to_string(x.heads) + " is not a multiple of G = " + std::to_string(x.groups));
  if (x.hasMask && ((maskBatch != 1 && maskBatch != x.batch) || (maskHeads != 1 && maskHeads != x.heads)))
    parameters.fail("mask of " + std::to_string(maskBatch) + " x " + std::to_string(maskHeads) + " matrices does not fit " +
                    std::to_string(x.batch) + " x " + std::to_string(x.heads));
  if (reals.size() != 1)
    parameters.fail("takes 1 real, got " + std::to_string(reals.size()));
  constexpr int64_t kMost = int64_t{1} << 30; // rows and keys are counted in 32 bits
  if (x.queries > kMost || x.keys > kMost || x.size > kMost)
    parameters.fail("T, S and D are " + std::to_string(x.queries) + ", " + std::to_string(x.keys) + " and " + std::to_string(x.size) +
                    ", must be at most " + std::to_string(kMost));
  ZERO_RETURN_IF_ERROR(parameters.finish());
  x.scale = static_cast<float>(reals[0]);
  text.add("kBatch", x.batch);
  text.add("kQueries", x.queries);
  text.add("kKeys", x.keys);
  text.add("kHeads", x.heads);
  text.add("kGroups", x.groups);
  text.add("kSize", x.size);
  text.add("kCausal", isCausal);
  text.add("kMask", x.hasMask);
  text.add("kMaskBatch", x.hasMask ? maskBatch : 0);
  text.add("kMaskHeads", x.hasMask ? maskHeads : 0);
  text.add("kScale", x.scale);
  x.text = text.finish();
  return x;
}

/// Writes the call of a template<T, Shape> with pointers of the dispatch, or nullptr where the mask is none.
class Call {
public:
  Call(const char *name, const Shape &shape, std::vector<std::string_view> sources, const char *function)
      : type(cudaType(shape.element)), text{name, std::move(sources)} {
    text.declarations = shape.text;
    text.body = std::string("zero::") + function + "<" + type + ", Shape>(";
  }
  Call &read(uint32_t index) { return add("const " + type, index); }
  Call &write(uint32_t index) { return add(type, index); }
  Call &readFloats(uint32_t index) { return add("const float", index); }
  Call &writeFloats(uint32_t index) { return add("float", index); }
  Call &mask(bool has, uint32_t index) {
    if (has)
      return read(index);
    text.body += std::string(isFirst ? "" : ", ") + "static_cast<const " + type + " *>(nullptr)";
    isFirst = false;
    return *this;
  }
  CudaLaunch finish(uint64_t blocks, uint32_t threads, uint32_t sharedBytes = 0) {
    text.body += ");";
    text.blocks = blocks;
    text.threads = threads;
    text.sharedBytes = sharedBytes;
    return text.finish();
  }

private:
  Call &add(std::string pointer, uint32_t index) {
    text.body += std::string(isFirst ? "p" : ", p") + std::to_string(text.pointers.size());
    isFirst = false;
    text.pointers.push_back({std::move(pointer), index});
    return *this;
  }

  std::string type;
  LaunchText text;
  bool isFirst = true;
};

} // namespace

Launches kernels::planAttention(Parameters &parameters, std::span<const double> reals, const CudaOptions &) {
  ZERO_ASSIGN_OR_RETURN(Shape x, readShape(parameters, reals, {"Query", "Key", "Value", "Out"}));
  if (x.batch * x.heads * x.queries == 0)
    return std::vector<CudaLaunch>();
  uint32_t out = x.hasMask ? 4 : 3;
  bool tensor = x.onTensorCores();
  Call call = tensor ? Call("attention", x, {"Attention.cuh", "TensorCore.cuh", "AttentionTensor.cuh"}, "attentionForwardTensor")
                     : Call("attention", x, {"Attention.cuh", "AttentionForward.cuh"}, "attentionForward");
  call.read(0).read(1).read(2).mask(x.hasMask, 3).write(out).writeFloats(out + 1);
  return std::vector<CudaLaunch>{call.finish(x.rowBlocks(), 128, x.forwardBytes())};
}

Launches kernels::planAttentionGrad(Parameters &parameters, std::span<const double> reals, const CudaOptions &) {
  ZERO_ASSIGN_OR_RETURN(Shape x, readShape(parameters, reals,
                                           {"Query", "Key", "Value", "Out", "OutGradient", "QueryGradient", "KeyGradient", "ValueGradient"}));
  std::vector<CudaLaunch> launches;
  if (x.size == 0)
    return launches;
  uint32_t out = x.hasMask ? 4 : 3, logSumExp = out + 1, outGradient = out + 2, queryGradient = out + 3, keyGradient = out + 4,
           valueGradient = out + 5, workspace = out + 6;
  int64_t rows = x.batch * x.heads * x.queries;
  if (rows == 0) // there is no workspace, and nobody reads it
    workspace = logSumExp;
  bool tensor = x.onTensorCores();
  uint32_t threads = tensor ? 128 : 256;
  auto call = [&](const char *function) {
    std::vector<std::string_view> sources = {"Attention.cuh", "AttentionBackward.cuh"};
    if (tensor)
      sources.insert(sources.end(), {"TensorCore.cuh", "AttentionTensor.cuh"});
    return Call("attention_grad", x, std::move(sources), function);
  };
  if (rows) {
    Call products = call("attentionRowProducts");
    products.mask(x.hasMask, 3).read(out).read(outGradient).writeFloats(workspace);
    launches.push_back(products.finish(static_cast<uint64_t>((rows + 7) / 8), 256));
  }
  if (x.batch * x.groups * x.keys) {
    Call keys = call(tensor ? "attentionKeyGradientsTensor" : "attentionKeyGradients");
    keys.read(0).read(1).read(2).mask(x.hasMask, 3).readFloats(logSumExp).read(outGradient).write(keyGradient).write(valueGradient);
    launches.push_back(keys.readFloats(workspace).finish(x.keyBlocks(), threads, x.keyGradientBytes()));
  }
  if (rows) {
    Call queries = call(tensor ? "attentionQueryGradientTensor" : "attentionQueryGradient");
    queries.read(0).read(1).read(2).mask(x.hasMask, 3).readFloats(logSumExp).read(outGradient).write(queryGradient);
    launches.push_back(queries.readFloats(workspace).finish(x.rowBlocks(), threads, x.queryGradientBytes()));
  }
  return launches;
}

uint64_t kernels::attentionGradWorkspaceBytes(std::span<const int64_t> integers) {
  if (integers.size() < 9)
    return 0;
  return static_cast<uint64_t>(integers[1] * integers[2] * integers[4]) * (integers[8] ? 2 : 1) * sizeof(float);
}

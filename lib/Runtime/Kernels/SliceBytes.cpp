//===- SliceBytes.cpp - How far a kernel of the library reaches -----------===//
#include "zero/Runtime/Kernels/SliceBytes.h"
#include "zero/Runtime/Kernels/ExactSum.h"
#include "zero/Runtime/Kernels/Workspace.h"
#include <algorithm>
#include <limits>

using namespace zero;

namespace {

using Bytes = std::vector<uint64_t>;
constexpr uint64_t kTooMany = std::numeric_limits<uint64_t>::max();

uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kTooMany : sum;
}
uint64_t multiply(std::initializer_list<uint64_t> factors) {
  uint64_t product = 1;
  for (uint64_t factor : factors)
    if (factor == 0)
      return 0;
  for (uint64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product))
      return kTooMany;
  return product;
}

/// Sizes are not negative; a number that is one is refused by its size.
uint64_t size(int64_t value) { return value < 0 ? kTooMany : static_cast<uint64_t>(value); }

/// The elements from the first to the last of an array with these sizes and strides, `offset` elements behind the pointer.
uint64_t reach(int64_t offset, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  uint64_t last = size(offset);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] == 0)
      return 0;
  int64_t before = offset; // the least index, where strides are negative
  for (size_t i = 0; i < sizes.size(); ++i) {
    uint64_t steps = size(sizes[i]) - 1;
    if (strides[i] >= 0) {
      last = add(last, multiply({steps, static_cast<uint64_t>(strides[i])}));
      continue;
    }
    int64_t back;
    if (steps > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ||
        __builtin_mul_overflow(static_cast<int64_t>(steps), strides[i], &back) || __builtin_add_overflow(before, back, &before))
      return kTooMany;
  }
  return before < 0 ? kTooMany : add(last, 1);
}

/// Bytes of an ElementType (lib/Container/plan.fbs).
uint64_t elementBytes(int64_t element) {
  constexpr uint64_t kBytes[] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1, 2, 4, 8};
  return element < 0 || element >= int64_t(std::size(kBytes)) ? kTooMany : kBytes[element];
}

/// Reads integers from the front; past the end they are missing.
class Reader {
public:
  explicit Reader(std::span<const int64_t> integers) : integers(integers) {}
  int64_t next() {
    if (position == integers.size()) {
      missing = true;
      return 0;
    }
    return integers[position++];
  }
  std::span<const int64_t> list(int64_t count) {
    if (count < 0 || static_cast<uint64_t>(count) > integers.size() - position) {
      missing = true;
      return {};
    }
    position += static_cast<size_t>(count);
    return integers.subspan(position - static_cast<size_t>(count), static_cast<size_t>(count));
  }
  size_t rest() const { return integers.size() - position; }
  bool missing = false;

private:
  std::span<const int64_t> integers;
  size_t position = 0;
};

bool isSmall(std::span<const int64_t> integers, int64_t most = int64_t(1) << 31) {
  return std::ranges::all_of(integers, [&](int64_t integer) { return integer <= most && integer >= -most; });
}

uint64_t product(std::span<const int64_t> sizes) {
  uint64_t all = 1;
  for (int64_t one : sizes)
    all = multiply({all, size(one)});
  return all;
}

Bytes matmul(Reader &in) {
  uint64_t element = elementBytes(in.next());
  int64_t batch = in.next(), m = in.next(), n = in.next(), k = in.next();
  bool transposeLhs = in.next() != 0, transposeRhs = in.next() != 0;
  auto matrix = [&](int64_t rows, int64_t columns) {
    int64_t batchStride = in.next(), rowStride = in.next();
    const int64_t sizes[] = {batch, rows, columns}, strides[] = {batchStride, rowStride, 1};
    return multiply({element, reach(0, sizes, strides)});
  };
  uint64_t lhs = transposeLhs ? matrix(k, m) : matrix(m, k), rhs = transposeRhs ? matrix(n, k) : matrix(k, n), out = matrix(m, n);
  return {lhs, rhs, out};
}

Bytes fusedMatmul(std::span<const int64_t> integers, Reader &in) {
  Bytes bytes = matmul(in);
  const uint64_t out = bytes.back(), element = elementBytes(integers.empty() ? -1 : integers[0]);
  bytes.pop_back();
  const int64_t addendLd = in.next(), hasBias = in.next(), activation = in.next(), beforeLd = in.next(), biasGradient = in.next();
  if (in.missing)
    return {};
  const int64_t m = integers[2], n = integers[3], sizes[] = {m, n};
  auto matrix = [&](int64_t ld) {
    const int64_t strides[] = {ld, 1};
    return multiply({element, reach(0, sizes, strides)});
  };
  if (addendLd)
    bytes.push_back(matrix(addendLd));
  if (hasBias)
    bytes.push_back(multiply({element, size(n)}));
  if (activation == 2)
    bytes.push_back(matrix(beforeLd));
  bytes.push_back(out);
  if (activation == 1 && beforeLd)
    bytes.push_back(matrix(beforeLd));
  if (biasGradient)
    bytes.push_back(multiply({element, size(biasGradient == 2 ? m : n)}));
  return bytes;
}

Bytes stridedCopy(Reader &in) {
  uint64_t element = size(in.next());
  int64_t rank = in.next();
  std::span<const int64_t> sizes = in.list(rank);
  auto array = [&] {
    int64_t offset = in.next();
    std::span<const int64_t> strides = in.list(rank);
    return in.missing ? 0 : multiply({element, reach(offset, sizes, strides)});
  };
  uint64_t source = array();
  return {source, array()};
}

/// gather, scatter and scatter_add: arrays of outer x axis x inner and outer x count x inner, and the indices.
struct Indexed {
  uint64_t whole, picked, indices;
  Indexed(Reader &in, uint64_t element) {
    uint64_t index = elementBytes(in.next()), outer = size(in.next()), axis = size(in.next()), inner = size(in.next()),
             count = size(in.next());
    whole = multiply({element, outer, axis, inner});
    picked = multiply({element, outer, count, inner});
    indices = multiply({index, count});
  }
};

Bytes topK(Reader &in) {
  uint64_t element = elementBytes(in.next()), outer = size(in.next()), axis = size(in.next()), inner = size(in.next()),
           k = size(in.next());
  return {multiply({element, outer, axis, inner}), multiply({sizeof(int64_t), outer, k, inner})};
}

Bytes cumSum(Reader &in) {
  uint64_t element = elementBytes(in.next()), outer = size(in.next()), axis = size(in.next()), inner = size(in.next());
  uint64_t bytes = multiply({element, outer, axis, inner});
  return {bytes, bytes};
}

Bytes attention(std::span<const int64_t> integers, bool gradient) {
  Reader in(integers);
  uint64_t element = elementBytes(in.next());
  int64_t batch = in.next(), queries = in.next(), keys = in.next(), heads = in.next(), groups = in.next(), headSize = in.next();
  in.next(); // causal
  bool hasMask = in.next() != 0;
  uint64_t maskBatch = size(in.next()), maskHeads = size(in.next());
  auto view = [&](int64_t positions, int64_t headCount) {
    int64_t batchStride = in.next(), positionStride = in.next(), headStride = in.next();
    const int64_t sizes[] = {batch, positions, headCount, headSize}, strides[] = {batchStride, positionStride, headStride, 1};
    return multiply({element, reach(0, sizes, strides)});
  };
  Bytes bytes = {view(queries, heads), view(keys, groups), view(keys, groups)};
  if (hasMask)
    bytes.push_back(multiply({element, maskBatch, maskHeads, size(queries), size(keys)}));
  bytes.push_back(view(queries, heads));                                               // out
  bytes.push_back(multiply({sizeof(float), size(batch), size(heads), size(queries)})); // log_sum_exp
  if (gradient) {
    bytes.push_back(view(queries, heads)); // out_gradient, then those of query, key and value
    bytes.push_back(view(queries, heads));
    bytes.push_back(view(keys, groups));
    bytes.push_back(view(keys, groups));
  }
  return in.missing ? Bytes() : bytes;
}

Bytes convolution(std::string_view name, std::span<const int64_t> integers) {
  if (!isSmall(integers))
    return Bytes(3, kTooMany);
  ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
  if (shape.positions.empty() || shape.groups < 1)
    return {};
  uint64_t element = elementBytes(shape.element);
  uint64_t data = multiply({element, size(shape.batch), size(shape.channels), product(shape.spatial)});
  uint64_t kernel = multiply({element, size(shape.filters), size(shape.channels / shape.groups), product(shape.window)});
  uint64_t out = multiply({element, size(shape.batch), size(shape.filters), product(shape.positions)});
  if (name == "conv")
    return {data, kernel, out};
  if (name == "conv_transpose")
    return {out, kernel, data};
  return {data, out, kernel};
}

Bytes pool(Reader &in, bool hasIndices) {
  uint64_t element = elementBytes(in.next()), planes = size(in.next());
  int64_t rank = in.next();
  std::span<const int64_t> spatial = in.list(rank), window = in.list(rank), strides = in.list(rank), low = in.list(rank),
                           high = in.list(rank), dilations = in.list(rank);
  if (in.missing)
    return {};
  uint64_t plane = 1, positions = 1;
  for (size_t i = 0; i < spatial.size(); ++i) {
    plane = multiply({plane, size(spatial[i])});
    // In a wider type: numbers of which no sum fits are refused elsewhere, by name.
    __int128 room = __int128(low[i]) + spatial[i] + high[i] - __int128(dilations[i]) * (window[i] - 1);
    __int128 here = room < 1 || strides[i] < 1 ? 0 : (room - 1) / strides[i] + 1;
    positions = multiply({positions, here > __int128(kTooMany) ? kTooMany : static_cast<uint64_t>(here)});
  }
  Bytes bytes = {multiply({element, planes, plane}), multiply({element, planes, positions})};
  if (hasIndices)
    bytes.push_back(multiply({sizeof(int64_t), planes, positions}));
  return bytes;
}

Bytes sumSquares(Reader &in) {
  uint64_t element = elementBytes(in.next());
  Bytes bytes;
  while (in.rest())
    bytes.push_back(multiply({element, size(in.next())}));
  bytes.push_back(sizeof(int64_t) * kExactSumLimbs);
  return bytes;
}

Bytes bytesOf(std::string_view name, std::span<const int64_t> integers, Reader &in) {
  if (name == "matmul")
    return matmul(in);
  if (name == "fused_matmul")
    return fusedMatmul(integers, in);
  if (name == "strided_copy")
    return stridedCopy(in);
  if (name == "fill") {
    uint64_t element = size(in.next());
    return {multiply({element, size(in.next())})};
  }
  if (name == "gather") {
    Indexed x(in, size(in.next()));
    return {x.whole, x.indices, x.picked};
  }
  if (name == "scatter_add") {
    Indexed x(in, elementBytes(in.next()));
    return {x.picked, x.indices, x.whole};
  }
  if (name == "scatter") {
    in.next(); // kind
    Indexed x(in, elementBytes(in.next()));
    return {x.whole, x.picked, x.indices, x.whole};
  }
  if (name == "top_k")
    return topK(in);
  if (name == "cumsum")
    return cumSum(in);
  if (name == "attention" || name == "attention_grad")
    return attention(integers, name == "attention_grad");
  if (name == "conv" || name == "conv_transpose" || name == "conv_weight_grad")
    return convolution(name, integers);
  if (name == "max_pool" || name == "sum_pool")
    return pool(in, name == "max_pool");
  if (name == "sum_squares")
    return sumSquares(in);
  if (name == "norm")
    return {sizeof(int64_t) * kExactSumLimbs, sizeof(float)};
  return {};
}

} // namespace

std::optional<std::vector<uint64_t>> zero::kernelOperandBytes(std::string_view name, std::span<const int64_t> integers) {
  Reader in(integers);
  Bytes bytes = bytesOf(name, integers, in);
  if (in.missing || bytes.empty())
    return std::nullopt;
  return bytes;
}

uint64_t zero::kernelScratchBytes(std::string_view name, std::span<const int64_t> integers, std::span<const uint64_t> operands) {
  // The workspace's arithmetic does not look for numbers that do not fit.
  constexpr uint64_t kMost = uint64_t(1) << 48;
  auto areSmall = [](std::span<const uint64_t> numbers) { return std::ranges::all_of(numbers, [](uint64_t number) { return number < kMost; }); };
  bool isProduct = name == "matmul", isConvolution = name.starts_with("conv"), isAttention = name.starts_with("attention");
  if (!isProduct && !isConvolution && !isAttention)
    return 0;
  bool fits = areSmall(operands);
  if (fits && isProduct) { // rows may be read over and over, and are copied each time
    uint64_t batch = size(integers[1]), m = size(integers[2]), n = size(integers[3]), k = size(integers[4]);
    fits = areSmall(Bytes{multiply({batch, m, k}), multiply({batch, k, n}), multiply({batch, m, n})});
  }
  if (fits && isAttention)
    fits = isSmall(integers) && isSmall(integers.first(7), int64_t(1) << 28);
  if (fits && isConvolution) {
    ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
    fits = isSmall(integers.first(5), int64_t(1) << 28) && areSmall(Bytes{product(shape.window), product(shape.spatial), product(shape.positions)});
  }
  return fits ? static_cast<uint64_t>(std::max<int64_t>(kernelWorkspaceBytes(name, integers), 0)) : kTooMany;
}

std::optional<std::vector<uint64_t>> zero::kernelSliceBytes(std::string_view name, std::span<const int64_t> integers) {
  std::optional<Bytes> bytes = kernelOperandBytes(name, integers);
  if (uint64_t scratch = bytes ? kernelScratchBytes(name, integers, *bytes) : 0)
    bytes->push_back(scratch);
  return bytes;
}

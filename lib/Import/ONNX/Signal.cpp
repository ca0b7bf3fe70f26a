//===- Signal.cpp - Windows and Fourier transforms ------------------------===//
//
// A transform is a product with a matrix of cosines and sines in closed form: the angles are exact multiples
// of 2 pi / N, computed in f64.
//
//===----------------------------------------------------------------------===//
#include "Formula.h"
#include "OperatorTable.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

using P = nn::ComparePredicate;

/// Sum of coefficient_i cos(2 pi i n / N) for n = 0, 1, ...
LogicalResult buildWindow(NodeContext &node, ArrayRef<double> coefficients) {
  FailureOr<int64_t> size = node.integer(0, "the size");
  FailureOr<Type> element =
      node.elementType(static_cast<int>(node.intAttribute("output_datatype", onnx::TensorProto::FLOAT)));
  if (failed(size) || failed(element))
    return failure();
  if (*size < 0)
    return node.error() << "the size is " << *size;
  Formula f(node);
  Tensor index = node.make<nn::IotaOp>(Dims{Dim(*size)}, node.builder.getF64Type(), 0);
  double period = static_cast<double>(node.intAttribute("periodic", 1) ? *size : *size - 1);
  Tensor sum = f.like(index, coefficients.front());
  for (size_t i = 1; i < coefficients.size(); ++i) {
    Tensor angle = f.div(f.mul(index, 2.0 * std::numbers::pi * i), period);
    sum = f.add(sum, f.mul(f.unary<nn::CosOp>(angle), coefficients[i]));
  }
  return node.set(node.cast(sum, *element));
}
LogicalResult buildHann(NodeContext &node) { return buildWindow(node, {0.5, -0.5}); }
LogicalResult buildHamming(NodeContext &node) { return buildWindow(node, {25.0 / 46, -21.0 / 46}); }
LogicalResult buildBlackman(NodeContext &node) { return buildWindow(node, {0.42, -0.5, 0.08}); }

/// Triangles over the frequencies of a transform, one for each column: from 0 at the last bin's centre to 1
/// at its own and back to 0 at the next one's. The centres lie evenly on the mel scale.
LogicalResult buildMelWeightMatrix(NodeContext &node) {
  FailureOr<int64_t> columns = node.integer(0, "num_mel_bins"), length = node.integer(1, "dft_length"),
                     rate = node.integer(2, "sample_rate");
  FailureOr<Tensor> lowest = node.floatInput(3), highest = node.floatInput(4);
  FailureOr<Type> element =
      node.elementType(static_cast<int>(node.intAttribute("output_datatype", onnx::TensorProto::FLOAT)));
  if (failed(columns) || failed(length) || failed(rate) || failed(lowest) || failed(highest) ||
      failed(element))
    return failure();
  std::optional<double> low = node.scalarConstant(*lowest), high = node.scalarConstant(*highest);
  if (!low || !high)
    return node.error() << "the edges (inputs 3 and 4) must be constant";
  constexpr int64_t kMostColumns = 1 << 16;
  if (*columns < 1 || *columns > kMostColumns || *length < 1 || *rate < 1)
    return node.error() << "num_mel_bins " << *columns << ", dft_length " << *length << " and sample_rate "
                        << *rate << " are not positive, or too many bins";
  auto toMel = [](double hertz) { return 2595 * std::log1p(hertz / 700) / std::log(10); };
  double step = (toMel(*high) - toMel(*low)) / static_cast<double>(*columns + 2);
  SmallVector<double> centres;
  for (int64_t i = 0; i < *columns + 2; ++i) {
    double mel = static_cast<double>(i) * step + toMel(*low),
           hertz = 700 * std::expm1(mel / 2595 * std::log(10));
    centres.push_back(std::floor(static_cast<double>(*length + 1) * hertz / static_cast<double>(*rate)));
  }
  Formula f(node);
  Type f64 = node.builder.getF64Type();
  Dims shape = {Dim(*length / 2 + 1), Dim(*columns)};
  auto along = [&](int64_t from) {
    auto type = RankedTensorType::get({1, *columns}, f64);
    Tensor list = node.constant(DenseElementsAttr::get(type, ArrayRef(centres).slice(from, *columns)));
    return node.broadcastTo(list, shape, [&]() -> Tensor { llvm_unreachable("the sizes are known"); });
  };
  Tensor j = node.make<nn::IotaOp>(shape, f64, 0), left = along(0), centre = along(1), right = along(2);
  Tensor zero = f.like(j, 0.0), one = f.like(j, 1.0);
  auto inside = [&](const Tensor &from, P atLeast, const Tensor &to, P atMost) {
    return f.binary<nn::AndOp>(f.compare(atLeast, j, from), f.compare(atMost, j, to));
  };
  auto slope = [&](const Tensor &rise, const Tensor &run) {
    return f.div(rise, f.select(f.compare(P::eq, run, zero), one, run));
  };
  Tensor rising =
      f.select(inside(left, P::ge, centre, P::le), slope(f.sub(j, left), f.sub(centre, left)), zero);
  Tensor peak = f.select(f.compare(P::eq, j, centre), one, zero);
  rising = f.select(f.compare(P::eq, centre, left), peak, rising);
  Tensor falling = slope(f.sub(right, j), f.sub(right, centre));
  return node.set(node.cast(f.select(inside(centre, P::ge, right, P::lt), falling, rising), *element));
}

struct Transform {
  int64_t length; ///< of the signal: what is missing counts as 0
  bool inverse, onesided;
};

/// cos, sin and their signs for the terms x[j, c] -> y[k, r] of a transform, as a matrix. `real`: the
/// imaginary part of y is left out.
Tensor transformMatrix(NodeContext &node, const Transform &t, int64_t inputs, int64_t parts, int64_t outputs,
                       bool real) {
  Formula f(node);
  Type i64 = node.builder.getI64Type();
  Dims shape = {Dim(inputs), Dim(parts), Dim(outputs), Dim(real ? 1 : 2)};
  auto index = [&](int64_t axis) { return node.make<nn::IotaOp>(shape, i64, axis); };
  Tensor j = index(0), part = index(1), k = index(2), result = index(3);
  Tensor turns = f.binary<nn::RemOp>(f.mul(j, k), f.like(j, static_cast<double>(t.length)));
  Tensor angle = f.mul(node.cast(turns, node.builder.getF64Type()),
                       (t.inverse ? 2.0 : -2.0) * std::numbers::pi / static_cast<double>(t.length));
  Tensor sine = f.unary<nn::SinOp>(angle);
  // (a + ib)(cos + i sin): a to the real part by cos, to the imaginary one by sin; b by -sin and cos.
  Tensor crossed = f.select(f.compare(P::eq, part, 0.0), sine, f.neg(sine));
  Tensor matrix = f.select(f.compare(P::eq, part, result), f.unary<nn::CosOp>(angle), crossed);
  if (t.inverse)
    matrix = f.div(matrix, static_cast<double>(t.length));
  if (t.inverse && t.onesided) {
    // Each frequency but 0 and the highest of an even length stands for two.
    Tensor twice =
        f.compare(P::ne, f.binary<nn::RemOp>(f.mul(j, 2.0), f.like(j, static_cast<double>(t.length))), 0.0);
    matrix = f.select(twice, f.mul(matrix, 2.0), matrix);
  }
  return matrix;
}

/// The transform of x along `axis`; the last dimension of x holds real and imaginary parts, or real ones
/// alone.
FailureOr<Tensor> transform(NodeContext &node, Tensor x, int64_t axis, const Transform &t) {
  int64_t last = x.rank() - 1;
  if (!x.shape[axis].isStatic() || !x.shape[last].isStatic()) {
    node.error() << "needs a known size along axis " << axis << " of " << x.type();
    return failure();
  }
  int64_t parts = x.shape[last].value(), inputs = std::min(x.shape[axis].value(), t.length);
  bool isReal = t.inverse && t.onesided; // of the result
  if ((parts != 1 && parts != 2) || (t.onesided && parts != (t.inverse ? 2 : 1))) {
    node.error() << "cannot transform " << x.type() << (t.onesided ? " one-sidedly" : "")
                 << (t.inverse ? " back" : "") << ": the last dimension has " << parts << " parts";
    return failure();
  }
  int64_t half = t.length / 2 + 1, outputs = t.onesided && !t.inverse ? half : t.length;
  if (isReal)
    inputs = std::min(inputs, half);
  if (inputs < x.shape[axis].value()) {
    Dims cut = x.shape;
    cut[axis] = Dim(inputs);
    x = node.slice(x, SmallVector<int64_t>(x.rank(), 0), SmallVector<int64_t>(x.rank(), 1), std::move(cut));
  }
  SmallVector<int64_t> toEnd, fromEnd(x.rank());
  for (int64_t i = 0; i < last; ++i)
    if (i != axis)
      toEnd.push_back(i);
  toEnd.append({axis, last});
  for (auto [to, from] : llvm::enumerate(toEnd))
    fromEnd[from] = static_cast<int64_t>(to);
  Tensor moved = node.transpose(x, toEnd);
  Dims result = moved.shape;
  result[last - 1] = Dim(outputs);
  result[last] = Dim(isReal ? 1 : 2);
  Tensor rows = node.reshape(moved, {node.extent(moved, 0, last - 1), Dim(inputs * parts)}, {moved});
  Tensor matrix = transformMatrix(node, t, inputs, parts, outputs, isReal);
  matrix = node.reshape(node.cast(matrix, x.elementType()),
                        {Dim(inputs * parts), Dim(outputs * (isReal ? 1 : 2))});
  Tensor product = node.make<nn::MatmulOp>(Dims{rows.shape[0], matrix.shape[1]}, x.elementType(), rows.value,
                                           matrix.value, false, false);
  return node.transpose(node.reshape(product, std::move(result), {moved}), fromEnd);
}

LogicalResult buildDft(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  if (failed(x))
    return failure();
  if (x->rank() < 2)
    return node.error() << "needs at least 2 dimensions, not " << x->type();
  int64_t given = node.intAttribute("axis", 1);
  if (node.opset >= 20) {
    given = -2;
    if (node.has(2)) {
      FailureOr<int64_t> input = node.integer(2, "the axis");
      if (failed(input))
        return failure();
      given = *input;
    }
  }
  FailureOr<int64_t> axis = node.axis(given, x->rank());
  if (failed(axis))
    return failure();
  if (*axis == x->rank() - 1)
    return node.error() << "cannot transform along the last axis, which holds real and imaginary parts";
  Transform t{0, node.intAttribute("inverse", 0) != 0, node.intAttribute("onesided", 0) != 0};
  if (node.has(1)) {
    FailureOr<int64_t> length = node.integer(1, "dft_length");
    if (failed(length))
      return failure();
    t.length = *length;
  } else if (x->shape[*axis].isStatic()) {
    int64_t size = x->shape[*axis].value();
    t.length = t.inverse && t.onesided ? 2 * (size - 1) : size;
  }
  if (t.length < 1)
    return node.error() << "needs a known length of at least 1 along axis " << *axis << " of " << x->type();
  FailureOr<Tensor> result = transform(node, *x, *axis, t);
  return failed(result) ? failure() : node.set(std::move(*result));
}

/// Frames of the signal, each multiplied by the window and transformed.
LogicalResult buildStft(NodeContext &node) {
  FailureOr<Tensor> signal = node.floatInput(0);
  FailureOr<int64_t> step = node.integer(1, "frame_step");
  if (failed(signal) || failed(step))
    return failure();
  if (signal->rank() != 3 || !signal->shape[1].isStatic())
    return node.error() << "needs a signal of batch x known length x parts, not " << signal->type();
  std::optional<Tensor> window;
  int64_t length = 0, size = signal->shape[1].value();
  if (node.has(2)) {
    FailureOr<Tensor> given = node.floatInput(2);
    if (failed(given))
      return failure();
    if (given->rank() != 1 || !given->shape[0].isStatic() || given->elementType() != signal->elementType())
      return node.error() << "the window is a " << given->type() << ", the signal a " << signal->type();
    window = *given;
    length = given->shape[0].value();
  }
  if (node.has(3)) {
    FailureOr<int64_t> given = node.integer(3, "frame_length");
    if (failed(given))
      return failure();
    if (window && *given != length)
      return node.error() << "frame_length is " << *given << ", the window has " << length << " elements";
    length = *given;
  }
  if (length < 1 || *step < 1 || size < length)
    return node.error() << "frames of " << length << " elements every " << *step << " do not fit a signal of "
                        << size;
  Formula f(node);
  Type i64 = node.builder.getI64Type();
  Dims grid = {Dim(1 + (size - length) / *step), Dim(length)};
  Tensor positions = f.add(f.mul(node.make<nn::IotaOp>(grid, i64, 0), static_cast<double>(*step)),
                           node.make<nn::IotaOp>(grid, i64, 1));
  Dims shape = {signal->shape[0], grid[0], grid[1], signal->shape[2]};
  Tensor frames = node.make<nn::GatherOp>(shape, signal->elementType(), signal->value, positions.value, 1);
  if (window)
    frames = f.mul(frames, node.broadcastTo(node.reshape(*window, {Dim(1), Dim(1), Dim(length), Dim(1)}),
                                            shape, [&] { return node.shapeOf(frames); }));
  FailureOr<Tensor> result =
      transform(node, frames, 2, {length, false, node.intAttribute("onesided", 1) != 0});
  return failed(result) ? failure() : node.set(std::move(*result));
}

constexpr OperatorRow rows[] = {
    {"BlackmanWindow", 17, kNewestOpset, buildBlackman},         {"DFT", 17, kNewestOpset, buildDft},
    {"HammingWindow", 17, kNewestOpset, buildHamming},           {"HannWindow", 17, kNewestOpset, buildHann},
    {"MelWeightMatrix", 17, kNewestOpset, buildMelWeightMatrix}, {"STFT", 17, kNewestOpset, buildStft},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::signalOperators() { return rows; }

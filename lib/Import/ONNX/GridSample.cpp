//===- GridSample.cpp - Reading a plane or volume between its elements ----===//
//
// x is N x C x D1 x ..., the grid N x O1 x ... x r: at each output position a place with coordinates from -1
// to 1, the innermost dimension's first. What lies there is a sum of the 1, 2 or 4 elements around it along
// each dimension, each times its weight; elements are gathered, so that both x and the grid have gradients.
//
//===----------------------------------------------------------------------===//
#include "GridSample.h"
#include "Contraction.h"
#include "Indexing.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

enum class Padding { Zeros, Border, Reflection };

/// One of the elements around a place, along one dimension.
struct Tap {
  Tensor index;                 // i64, inside the dimension
  std::optional<Tensor> weight; // none: 1
};

class Sampler {
public:
  Sampler(NodeContext &node, bool alignCorners, Padding padding)
      : node(node), alignCorners(alignCorners), padding(padding) {}

  /// The taps of coordinates from -1 to 1 into a dimension of `size`, in the order of their places.
  SmallVector<Tap> taps(const Tensor &coordinate, int64_t size, StringRef mode) {
    double low = alignCorners ? 0.0 : -0.5, high = static_cast<double>(size) - (alignCorners ? 1.0 : 0.5);
    auto extent = static_cast<double>(size);
    Tensor place = add(coordinate, 1.0);
    place = alignCorners ? mul(mul(place, 0.5), extent - 1) : mul(add(mul(place, extent), -1.0), 0.5);
    if (mode == "nearest")
      place = node.unary<nn::RoundOp>(place);
    if (padding != Padding::Zeros) {
      Tensor inside =
          padding == Padding::Border ? clamped(place, 0.0, extent - 1) : reflected(place, low, high);
      place = select(node, isOutside(place, low, high), inside, place);
    }
    if (mode == "nearest")
      return {tap(place, std::nullopt, size, low, high)};
    Tensor first = node.unary<nn::FloorOp>(place), rest = node.binary<nn::SubOp>(place, first);
    SmallVector<Tap> result;
    if (mode == "linear") {
      result.push_back(tap(first, add(mul(rest, -1.0), 1.0), size, low, high));
      result.push_back(tap(add(first, 1.0), rest, size, low, high));
      return result;
    }
    // Keys' cubic convolution with a = -0.75.
    constexpr double a = -0.75;
    auto near = [&](const Tensor &t) { // ((a + 2) t - (a + 3)) t^2 + 1
      return add(node.binary<nn::MulOp>(add(mul(t, a + 2), -(a + 3)), square(t)), 1.0);
    };
    auto far = [&](const Tensor &t) { // ((a t - 5 a) t + 8 a) t - 4 a
      Tensor inner = add(node.binary<nn::MulOp>(add(mul(t, a), -5 * a), t), 8 * a);
      return add(node.binary<nn::MulOp>(inner, t), -4 * a);
    };
    Tensor other = add(mul(rest, -1.0), 1.0);
    result.push_back(tap(add(first, -1.0), far(add(rest, 1.0)), size, low, high));
    result.push_back(tap(first, near(rest), size, low, high));
    result.push_back(tap(add(first, 1.0), near(other), size, low, high));
    result.push_back(tap(add(first, 2.0), far(add(other, 1.0)), size, low, high));
    return result;
  }

private:
  Tensor number(double value, const Tensor &like) {
    return repeatLike(node, node.splat(value, like.elementType()), like);
  }
  Tensor add(const Tensor &x, double value) { return node.binary<nn::AddOp>(x, number(value, x)); }
  Tensor mul(const Tensor &x, double value) { return node.binary<nn::MulOp>(x, number(value, x)); }
  Tensor square(const Tensor &x) { return node.binary<nn::MulOp>(x, x); }
  Tensor clamped(const Tensor &x, double low, double high) {
    return node.binary<nn::MinOp>(node.binary<nn::MaxOp>(x, number(low, x)), number(high, x));
  }
  Tensor isOutside(const Tensor &x, double low, double high) {
    return node.binary<nn::OrOp>(compare(node, nn::ComparePredicate::lt, x, number(low, x)),
                                 compare(node, nn::ComparePredicate::gt, x, number(high, x)));
  }

  /// x outside [low, high], mirrored at the borders until it is inside.
  Tensor reflected(const Tensor &x, double low, double high) {
    if (high <= low)
      return number(low, x);
    double range = high - low;
    Tensor isBelow = compare(node, nn::ComparePredicate::lt, x, number(low, x));
    Tensor below = add(mul(x, -1.0), low), above = add(x, -high);
    Tensor distance = select(node, isBelow, below, above);
    Tensor turns = node.unary<nn::FloorOp>(mul(distance, 1.0 / range));
    Tensor rest = node.binary<nn::SubOp>(distance, mul(turns, range));
    Tensor half = mul(turns, 0.5);
    Tensor isEven = compare(node, nn::ComparePredicate::eq, half, node.unary<nn::FloorOp>(half));
    Tensor fromLow = add(rest, low), fromHigh = add(mul(rest, -1.0), high);
    Tensor even = select(node, isBelow, fromLow, fromHigh), odd = select(node, isBelow, fromHigh, fromLow);
    return select(node, isEven, even, odd);
  }

  Tap tap(const Tensor &place, std::optional<Tensor> weight, int64_t size, double low, double high) {
    double last = static_cast<double>(size) - 1;
    Tensor inside = clamped(place, 0.0, last);
    if (padding == Padding::Reflection)
      inside =
          clamped(select(node, isOutside(place, low, high), reflected(place, low, high), place), 0.0, last);
    if (padding == Padding::Zeros) {
      Tensor zero = number(0.0, place), one = number(1.0, place);
      weight = select(node, isOutside(place, 0.0, last), zero, weight.value_or(one));
    }
    return {node.cast(inside, node.builder.getI64Type()), std::move(weight)};
  }

  NodeContext &node;
  bool alignCorners;
  Padding padding;
};

} // namespace

LogicalResult zero::onnx_import::buildGridSample(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), grid = node.input(1);
  if (failed(x) || failed(grid))
    return failure();
  int64_t spatial = x->rank() - 2;
  Dims sizes(ArrayRef(x->shape).drop_front(std::min<int64_t>(2, x->rank())));
  if (spatial < 1 || grid->rank() != spatial + 2 || !grid->shape.back().is(spatial) ||
      !isa<FloatType>(grid->elementType()) || !isa<FloatType>(x->elementType()) ||
      llvm::any_of(sizes, [](const Dim &size) { return !size.isStatic() || size.is(0); }))
    return node.error() << "needs floats of known spatial sizes and places in them, not " << x->type()
                        << " and " << grid->type();
  std::string mode = node.stringAttribute("mode", "linear"),
              border = node.stringAttribute("padding_mode", "zeros");
  if (mode == "bilinear" || mode == "bicubic")
    mode = mode.substr(2); // until opset 19
  if (mode != "linear" && mode != "cubic" && mode != "nearest")
    return node.error() << "mode '" << mode << "' is not supported";
  if (border != "zeros" && border != "border" && border != "reflection")
    return node.error() << "padding mode '" << border << "' is not supported";
  Sampler sampler(node, node.intAttribute("align_corners", 0) != 0,
                  border == "zeros"    ? Padding::Zeros
                  : border == "border" ? Padding::Border
                                       : Padding::Reflection);
  // Taps of each dimension; its coordinate is a component of the grid.
  Dims places(ArrayRef(grid->shape).drop_back());
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t dim = 0; dim < spatial; ++dim) {
    SmallVector<int64_t> starts(grid->rank(), 0), strides(grid->rank(), 1);
    starts.back() = spatial - 1 - dim;
    Dims one = grid->shape;
    one.back() = Dim(1);
    Tensor coordinate = node.reshape(node.slice(*grid, starts, strides, one), places, {*grid});
    taps.push_back(sampler.taps(coordinate, sizes[dim].value(), mode));
  }
  // Elements as rows of channels.
  SmallVector<int64_t> channelsLast{0}, channelsSecond{0, spatial + 1};
  for (int64_t dim = 0; dim < spatial; ++dim) {
    channelsLast.push_back(dim + 2);
    channelsSecond.push_back(dim + 1);
  }
  channelsLast.push_back(1);
  Tensor rows = flattenLeading(node, node.transpose(*x, channelsLast), spatial + 1);
  Tensor sample = positions(node, taps[0][0].index, 0);

  std::optional<Tensor> sum;
  SmallVector<size_t> choice(spatial, 0);
  for (bool done = false; !done;) {
    Tensor index = sample;
    std::optional<Tensor> weight;
    for (int64_t dim = 0; dim < spatial; ++dim) {
      const Tap &tap = taps[dim][choice[dim]];
      Tensor stride = repeatLike(node, node.integers({sizes[dim].value()}, /*scalar=*/true), index);
      index = node.binary<nn::AddOp>(node.binary<nn::MulOp>(index, stride), tap.index);
      if (tap.weight)
        weight = weight ? node.binary<nn::MulOp>(*weight, *tap.weight) : *tap.weight;
    }
    Dims shape = places;
    shape.push_back(x->shape[1]);
    Tensor term = node.make<nn::GatherOp>(shape, x->elementType(), rows.value, index.value, 0);
    if (weight) {
      Dims column = places;
      column.push_back(Dim(1));
      Tensor factor = node.reshape(node.cast(*weight, x->elementType()), std::move(column), {*weight});
      term = node.binary<nn::MulOp>(term,
                                    node.broadcastTo(factor, term.shape, [&] { return node.shapeOf(term); }));
    }
    sum = sum ? node.binary<nn::AddOp>(*sum, term) : term;
    done = true;
    for (int64_t dim = spatial - 1; dim >= 0 && done; --dim) {
      choice[dim] = (choice[dim] + 1) % taps[dim].size();
      done = choice[dim] == 0;
    }
  }
  return node.set(node.transpose(*sum, channelsSecond));
}

/// The places that the affine map theta (N x r x (r + 1)) of each sample gives to the positions of a grid of
/// the sizes after N and C; coordinates are those of buildGridSample.
LogicalResult zero::onnx_import::buildAffineGrid(NodeContext &node) {
  FailureOr<Tensor> theta = node.input(0);
  FailureOr<SmallVector<int64_t>> sizes = node.integerInput(1, "size", /*from=*/2); // N may be the batch
  if (failed(theta) || failed(sizes))
    return failure();
  auto spatial = static_cast<int64_t>(sizes->size());
  if (spatial < 2 || spatial > 3 || theta->rank() != 3 || !theta->shape[1].is(spatial) ||
      !theta->shape[2].is(spatial + 1) || !isa<FloatType>(theta->elementType()) ||
      llvm::any_of(*sizes, [](int64_t size) { return size < 1; }))
    return node.error() << "needs the sizes of 2 or 3 dimensions and an affine map of them, not "
                        << theta->type();
  bool alignCorners = node.intAttribute("align_corners", 0) != 0;
  Type element = theta->elementType();
  Dims shape = llvm::map_to_vector(*sizes, [](int64_t size) { return Dim(size); });
  Dims column{*Dim::product(shape), Dim(1)};
  SmallVector<Tensor> columns; // the innermost dimension first, then ones
  for (int64_t dim = spatial - 1; dim >= 0; --dim) {
    auto size = static_cast<double>(shape[dim].value());
    double step = alignCorners ? (size > 1 ? 2 / (size - 1) : 0) : 2 / size;
    double start = alignCorners ? -1 : -1 + step / 2;
    Tensor index = node.cast(node.make<nn::IotaOp>(shape, node.builder.getI64Type(), dim), element);
    auto number = [&](double value) { return repeatLike(node, node.splat(value, element), index); };
    Tensor place = node.binary<nn::AddOp>(node.binary<nn::MulOp>(index, number(step)), number(start));
    columns.push_back(node.reshape(place, column));
  }
  columns.push_back(repeatLike(node, node.splat(1, element), columns.front()));
  FailureOr<Tensor> places = matrixProduct(node, node.concat(columns, 1), node.transpose(*theta, {0, 2, 1}));
  if (failed(places))
    return failure();
  Dims result{theta->shape[0]};
  result.append(shape);
  result.push_back(Dim(spatial));
  return node.set(node.reshape(*places, std::move(result), {*theta}));
}

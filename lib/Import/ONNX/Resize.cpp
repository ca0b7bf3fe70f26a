//===- Resize.cpp - Resize and Upsample -----------------------------------===//
#include "Gathering.h"
#include "OperatorTable.h"
#include "Resampling.h"

#include <cmath>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// What a node says for all of its dimensions.
struct Resizing {
  Resampling common;
  SmallVector<Resampling> dimensions; // one for each dimension that is resized ...
  SmallVector<int64_t> axes;          // ... and which it is
  double extrapolation = 0;
};

LogicalResult readModes(NodeContext &node, Resampling &r) {
  std::string mode = node.stringAttribute("mode", "nearest");
  if (mode == "nearest")
    r.interpolation = Interpolation::Nearest;
  else if (mode == "linear" || mode == "bilinear")
    r.interpolation = Interpolation::Linear;
  else if (mode == "cubic" || mode == "bicubic")
    r.interpolation = Interpolation::Cubic;
  else
    return node.error() << "mode='" << mode << "' is not supported";
  if (node.opset < 11) { // Upsample, and Resize of operator set 10
    r.coordinates = Coordinates::Asymmetric;
    r.rounding = NearestRounding::Floor;
    return success();
  }
  std::string coordinates = node.stringAttribute("coordinate_transformation_mode", "half_pixel");
  constexpr std::pair<StringLiteral, Coordinates> known[] = {
      {"half_pixel", Coordinates::HalfPixel},
      {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric},
      {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
      {"align_corners", Coordinates::AlignCorners},
      {"asymmetric", Coordinates::Asymmetric},
      {"tf_half_pixel_for_nn", Coordinates::TfHalfPixelForNearest},
      {"tf_crop_and_resize", Coordinates::TfCropAndResize}};
  const auto *found = llvm::find_if(known, [&](const auto &entry) { return entry.first == coordinates; });
  if (found == std::end(known))
    return node.error() << "coordinate_transformation_mode='" << coordinates << "' is not supported";
  r.coordinates = found->second;
  std::string rounding = node.stringAttribute("nearest_mode", "round_prefer_floor");
  constexpr std::pair<StringLiteral, NearestRounding> roundings[] = {
      {"round_prefer_floor", NearestRounding::PreferFloor},
      {"round_prefer_ceil", NearestRounding::PreferCeil},
      {"floor", NearestRounding::Floor},
      {"ceil", NearestRounding::Ceil}};
  const auto *named = llvm::find_if(roundings, [&](const auto &entry) { return entry.first == rounding; });
  if (named == std::end(roundings))
    return node.error() << "nearest_mode='" << rounding << "' is not supported";
  r.rounding = named->second;
  r.excludeOutside = node.intAttribute("exclude_outside", 0) != 0;
  r.antialias = node.intAttribute("antialias", 0) != 0;
  r.cubicA = node.floatAttribute("cubic_coeff_a", -0.75f);
  return success();
}

/// The scales: an attribute of Upsample before operator set 9, else an input; none where sizes say them.
FailureOr<std::optional<SmallVector<double>>> readScales(NodeContext &node) {
  if (node.node->op_type() == "Upsample" && node.opset < 9) {
    const onnx::AttributeProto *scales = node.attribute("scales");
    if (!scales) {
      node.error() << "needs scales";
      return failure();
    }
    return std::optional(SmallVector<double>(scales->floats().begin(), scales->floats().end()));
  }
  unsigned index = node.opset < 11 ? 1 : 2;
  if (!node.has(index))
    return std::optional<SmallVector<double>>();
  FailureOr<SmallVector<double>> scales = node.floatNumbers(index, "scales");
  if (failed(scales))
    return failure();
  if (scales->empty())
    return std::optional<SmallVector<double>>();
  return std::optional(std::move(*scales));
}

/// The new sizes as the node says them; none where scales do.
FailureOr<std::optional<Dims>> readSizes(NodeContext &node) {
  if (node.opset < 11 || !node.has(3))
    return std::optional<Dims>();
  FailureOr<Tensor> sizes = node.input(3);
  if (failed(sizes))
    return failure();
  if (!sizes->contents) {
    node.error() << "sizes (input 3) must be constant";
    return failure();
  }
  if (sizes->contents->empty())
    return std::optional<Dims>();
  return sizes->contents;
}

/// The common scale that keeps the proportions, if the node wants them kept.
FailureOr<std::optional<double>> commonScale(NodeContext &node, const Tensor &x, ArrayRef<int64_t> axes,
                                             ArrayRef<Dim> sizes) {
  std::string policy = node.stringAttribute("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch")
    return std::optional<double>();
  if (policy != "not_larger" && policy != "not_smaller") {
    node.error() << "keep_aspect_ratio_policy='" << policy << "' is not supported";
    return failure();
  }
  std::optional<double> scale;
  for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
    if (!size.isStatic() || !x.shape[axis].isStatic()) {
      node.error() << "keeps the proportions of " << x.type() << ", whose sizes are not all known";
      return failure();
    }
    double own = static_cast<double>(size.value()) / static_cast<double>(x.shape[axis].value());
    scale = !scale ? own : policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  return scale;
}

FailureOr<Resizing> readResizing(NodeContext &node, const Tensor &x) {
  Resizing resizing;
  if (failed(readModes(node, resizing.common)))
    return failure();
  resizing.extrapolation = node.floatAttribute("extrapolation_value", 0);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  if (std::optional<SmallVector<int64_t>> given = node.intsAttribute("axes")) {
    axes.clear();
    for (int64_t axis : *given) {
      FailureOr<int64_t> normal = node.axis(axis, x.rank());
      if (failed(normal))
        return failure();
      axes.push_back(*normal);
    }
  }
  FailureOr<std::optional<SmallVector<double>>> scales = readScales(node);
  FailureOr<std::optional<Dims>> sizes = readSizes(node);
  if (failed(scales) || failed(sizes))
    return failure();
  if (scales->has_value() == sizes->has_value()) {
    node.error() << "needs either scales or sizes";
    return failure();
  }
  size_t count = *scales ? (*scales)->size() : (*sizes)->size();
  if (count != axes.size()) {
    node.error() << "has " << count << (*scales ? " scales" : " sizes") << " for " << axes.size()
                 << " dimensions";
    return failure();
  }
  std::optional<double> common;
  if (*sizes) {
    FailureOr<std::optional<double>> kept = commonScale(node, x, axes, **sizes);
    if (failed(kept))
      return failure();
    common = *kept;
  }
  bool crops = resizing.common.coordinates == Coordinates::TfCropAndResize;
  SmallVector<double> crop;
  if (crops) {
    FailureOr<SmallVector<double>> given = node.floatNumbers(1, "roi");
    if (failed(given))
      return failure();
    if (given->size() != 2 * axes.size()) {
      node.error() << "has " << given->size() << " numbers in roi for " << axes.size() << " dimensions";
      return failure();
    }
    crop = std::move(*given);
  }
  for (auto [i, axis] : llvm::enumerate(axes)) {
    const Dim &from = x.shape[axis];
    Resampling r = resizing.common;
    if (crops) {
      r.cropBegin = crop[i];
      r.cropEnd = crop[i + axes.size()];
    }
    bool whole = r.cropBegin == 0 && r.cropEnd == 1;
    bool same = *scales ? (**scales)[i] == 1 : !common && (**sizes)[i] == from;
    if (same && whole)
      continue;
    if (!from.isStatic() || (*sizes && !(**sizes)[i].isStatic())) {
      node.error() << "resizes dimension " << axis << " of " << x.type() << ", whose size is not known";
      return failure();
    }
    r.from = from.value();
    if (*scales) {
      r.scale = (**scales)[i];
      // A float32 scale of, say, 1.2 times 5 must make 6.
      r.to = static_cast<int64_t>(std::floor(static_cast<float>(r.scale) * static_cast<float>(r.from)));
    } else {
      r.to = common ? static_cast<int64_t>(std::floor(*common * static_cast<double>(r.from) + 0.5))
                    : (**sizes)[i].value();
      r.scale = common ? *common : static_cast<double>(r.to) / static_cast<double>(std::max<int64_t>(r.from, 1));
    }
    if (!(r.scale > 0) || r.from < 1 || r.to < 1 || r.to > INT32_MAX) {
      node.error() << "cannot resize " << r.from << " elements of dimension " << axis << " by " << r.scale;
      return failure();
    }
    resizing.axes.push_back(axis);
    resizing.dimensions.push_back(r);
  }
  return resizing;
}

/// x with one dimension resized.
Tensor resample(NodeContext &node, const Tensor &x, int64_t axis, const Taps &taps) {
  std::optional<Tensor> sum;
  for (auto [positions, weights] : llvm::zip_equal(taps.indices, taps.weights)) {
    Tensor part = readPositions(node, x, axis, positions);
    if (llvm::any_of(weights, [](double weight) { return weight != 1; }))
      part = node.binary<nn::MulOp>(part, alongAxis(node, part, axis, weights, part.elementType()));
    sum = sum ? node.binary<nn::AddOp>(*sum, part) : part;
  }
  return *sum;
}

LogicalResult buildResize(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<Resizing> resizing = readResizing(node, *x);
  if (failed(resizing))
    return failure();
  if (resizing->common.interpolation != Interpolation::Nearest && !isa<FloatType>(x->elementType()))
    return node.error() << "interpolates floats only, not " << x->type();
  Tensor result = *x;
  SmallVector<Taps> all;
  // The innermost dimension first.
  for (size_t i = resizing->axes.size(); i-- > 0;) {
    all.push_back(computeTaps(resizing->dimensions[i]));
    result = resample(node, result, resizing->axes[i], all.back());
  }
  for (auto [axis, taps] : llvm::zip_equal(llvm::reverse(resizing->axes), all)) {
    if (!llvm::is_contained(taps.outside, true))
      continue;
    SmallVector<double> inside = llvm::map_to_vector(taps.outside, [](bool is) { return is ? 0.0 : 1.0; });
    Tensor isInside = alongAxis(node, result, axis, inside, node.builder.getI1Type());
    Tensor other = node.broadcastTo(node.splat(resizing->extrapolation, result.elementType()), result.shape,
                                    [&] { return node.shapeOf(result); });
    result = node.make<nn::SelectOp>(result.shape, result.elementType(), isInside.value, result.value,
                                     other.value);
  }
  return node.set(std::move(result));
}

constexpr OperatorRow rows[] = {
    {"Resize", 10, kNewestOpset, buildResize},
    {"Upsample", 7, 9, buildResize},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::resizeOperators() { return rows; }

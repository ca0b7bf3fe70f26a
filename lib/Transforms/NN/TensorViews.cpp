//===- TensorViews.cpp - Tensors as permutations of the elements of others ===//
#include "TensorViews.h"
#include "RaisePatterns.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

ArrayRef<int64_t> zero::shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

static SmallVector<int64_t> denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  return strides;
}

View zero::wholeView(Value value) {
  return {value, 1, SmallVector<int64_t>(shapeOf(value)), denseStrides(shapeOf(value))};
}

std::optional<View> zero::reshapeView(const View &view, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 0), sizes, old;
  for (auto [size, stride] : llvm::zip_equal(view.sizes, view.strides))
    if (size != 1) {
      sizes.push_back(size);
      old.push_back(stride);
    }
  size_t i = 0;
  for (size_t j = 0; j < shape.size();) {
    if (shape[j] == 1) {
      ++j;
      continue;
    }
    if (i == sizes.size())
      return std::nullopt;
    size_t firstI = i, firstJ = j;
    int64_t left = sizes[i++], right = shape[j++];
    while (left != right) {
      if (left < right && i < sizes.size())
        left *= sizes[i++];
      else if (right < left && j < shape.size())
        right *= shape[j++];
      else
        return std::nullopt;
    }
    for (size_t dim = firstI; dim + 1 < i; ++dim)
      if (old[dim] != old[dim + 1] * sizes[dim + 1])
        return std::nullopt; // not one run of elements
    int64_t stride = old[i - 1];
    for (size_t dim = j; dim-- > firstJ; stride *= shape[dim])
      strides[dim] = stride;
  }
  return View{view.base, view.factor, SmallVector<int64_t>(shape), std::move(strides)};
}

View zero::viewOf(Value value) {
  Scaled scaled = stripScale(value);
  if (scaled.rest != value) {
    View view = viewOf(scaled.rest);
    view.factor *= scaled.factor;
    return view;
  }
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    View from = viewOf(transpose.getOperand()), view = from;
    for (auto [to, dim] : llvm::enumerate(transpose.getPermutation())) {
      view.sizes[to] = from.sizes[dim];
      view.strides[to] = from.strides[dim];
    }
    return view;
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>(); reshape && !reshape.getShape())
    if (auto view = reshapeView(viewOf(reshape.getOperand()), reshape.getType().getShape()))
      return *view;
  return wholeView(value);
}

Value zero::materialise(PatternRewriter &rewriter, Location location, const View &view,
                        ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(view.base.getType());
  SmallVector<int64_t> stored(order), wanted;
  // How the elements lie: dimensions by falling stride. A dimension of size 1 lies anywhere: where it is
  // wanted, if the others do so too, else in front.
  SmallVector<int64_t> counting;
  llvm::copy_if(order, std::back_inserter(counting), [&](int64_t dim) { return view.sizes[dim] != 1; });
  bool isStored =
      llvm::is_sorted(counting, [&](int64_t a, int64_t b) { return view.strides[a] > view.strides[b]; });
  if (!isStored)
    llvm::sort(stored, [&](int64_t a, int64_t b) {
      auto place = [&](int64_t dim) {
        return std::tuple(view.sizes[dim] != 1, view.sizes[dim] != 1 ? -view.strides[dim] : 0, dim);
      };
      return place(a) < place(b);
    });
  SmallVector<int64_t> sizes, permutation;
  for (int64_t dim : stored)
    sizes.push_back(view.sizes[dim]);
  Value result = rewriter.createOrFold<ReshapeOp>(location, type.clone(sizes), view.base);
  if (isStored)
    return result;
  for (int64_t dim : order) {
    permutation.push_back(llvm::find(stored, dim) - stored.begin());
    wanted.push_back(view.sizes[dim]);
  }
  return rewriter.createOrFold<TransposeOp>(location, type.clone(wanted), result, permutation);
}

std::optional<std::pair<View, int64_t>> zero::stripRepeat(const View &view, int64_t repeatedDim) {
  auto broadcast = view.base.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return std::nullopt;
  ArrayRef<int64_t> wide = broadcast.getType().getShape();
  SmallVector<int64_t> dense = denseStrides(wide);
  View from = viewOf(broadcast.getOperand());
  // Where each dimension of the broadcast comes from: an own stride, or 0 where it repeats.
  SmallVector<int64_t> strides(wide.size(), 0);
  for (auto [index, dim] : llvm::enumerate(broadcast.getDims()))
    if (from.sizes[index] == wide[dim] && wide[dim] != 1)
      strides[dim] = from.strides[index];
  auto repeats = [&](int64_t dim) { return wide[dim] != 1 && strides[dim] == 0; };
  View narrow{from.base, view.factor * from.factor, view.sizes, SmallVector<int64_t>(view.sizes.size(), 0)};
  int64_t copies = 1, accounted = 1;
  for (int64_t dim = 0, rank = view.sizes.size(); dim < rank; ++dim) {
    if (view.sizes[dim] == 1)
      continue;
    // The run of the broadcast's dimensions that this one is.
    int64_t last = wide.size() - 1;
    while (last >= 0 && (wide[last] == 1 || dense[last] != view.strides[dim]))
      --last;
    int64_t first = last, elements = last < 0 ? 0 : wide[last];
    while (first > 0 && elements < view.sizes[dim])
      elements *= wide[--first];
    if (elements != view.sizes[dim])
      return std::nullopt;
    accounted *= elements;
    // Only the innermost of the run may repeat, and only in the given dimension.
    if (repeats(last)) {
      if (dim != repeatedDim)
        return std::nullopt;
      copies = wide[last];
      narrow.sizes[dim] /= copies;
      elements /= copies;
      do
        --last;
      while (last >= first && wide[last] == 1);
    }
    if (elements == 1)
      continue;
    narrow.strides[dim] = strides[last];
    for (int64_t inner = last, outer = last - 1; outer >= first; --outer) {
      if (wide[outer] == 1)
        continue;
      if (repeats(outer) || strides[outer] != strides[inner] * wide[inner])
        return std::nullopt;
      inner = outer;
    }
  }
  if (copies == 1 || accounted != broadcast.getType().getNumElements())
    return std::nullopt;
  return std::pair(std::move(narrow), copies);
}

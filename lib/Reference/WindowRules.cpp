//===- WindowRules.cpp - Convolutions and pooling -------------------------===//
#include "Indexing.h"
#include "Rules.h"
#include "dialects/NN/Windows.h"

#include <cmath>
#include <optional>

using namespace mlir;
using namespace zero;
using namespace zero::reference;

using nn::Window;

/// Calls visit(spatial position, row-major offset of the window's element) for what the window at `at` reads,
/// in row-major order; the position is none outside the data.
template <typename Visit>
static void forEachInWindow(ArrayRef<Window> windows, ArrayRef<int64_t> spatial, ArrayRef<int64_t> at,
                            Visit visit) {
  Index sizes = llvm::map_to_vector(windows, [](const Window &window) { return window.window; });
  forEachIndex(sizes, [&](int64_t flat, ArrayRef<int64_t> offset) {
    std::optional<int64_t> position = 0;
    for (size_t i = 0; i < windows.size(); ++i) {
      const Window &window = windows[i];
      int64_t place = at[i] * window.stride - window.low + offset[i] * window.dilation;
      if (place < 0 || place >= spatial[i])
        position.reset();
      else if (position)
        position = *position * spatial[i] + place;
    }
    visit(position, flat);
  });
}

/// Calls visit(data element, kernel element, output element) for every product of a convolution.
template <typename Op, typename Visit>
static void forEachProduct(Op op, const HostTensor &data, const HostTensor &kernel, const HostTensor &out,
                           Visit visit) {
  ArrayRef<int64_t> spatial = data.getShape().drop_front(2), sizes = kernel.getShape().drop_front(2);
  int64_t positions = ShapedType::getNumElements(spatial), taps = ShapedType::getNumElements(sizes);
  int64_t channels = data.getShape()[1], filters = kernel.getShape()[0], depth = kernel.getShape()[1];
  auto windows = nn::getWindows(op, sizes);
  forEachIndex(out.getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    int64_t filter = index[1], first = filter / (filters / op.getGroups()) * depth;
    for (int64_t c = 0; c < depth; ++c) {
      int64_t plane = (index[0] * channels + first + c) * positions;
      forEachInWindow(windows, spatial, index.drop_front(2),
                      [&](std::optional<int64_t> position, int64_t tap) {
                        if (position)
                          visit(plane + *position, (filter * depth + c) * taps + tap, flat);
                      });
    }
  });
}

/// Sums are kept in double and rounded once.
static void store(ArrayRef<double> sums, HostTensor &result) {
  for (auto [i, sum] : llvm::enumerate(sums))
    result.setFloat(i, sum);
}

/// One of the three tensors of a convolution as the sum over all products of the other two.
template <typename Op>
static LogicalResult sumProducts(Op op, const HostTensor &data, const HostTensor &kernel, const HostTensor &out,
                                 HostTensor &result) {
  const HostTensor *tensors[] = {&data, &kernel, &out};
  size_t made = llvm::find(tensors, &result) - std::begin(tensors), one = made == 0 ? 1 : 0,
         other = made == 2 ? 1 : 2;
  std::vector<double> sums(result.getNumElements(), 0.0);
  forEachProduct(op, data, kernel, out, [&](auto... positions) {
    const int64_t at[] = {positions...};
    sums[at[made]] += tensors[one]->getFloat(at[one]) * tensors[other]->getFloat(at[other]);
  });
  store(sums, result);
  return success();
}

LogicalResult zero::reference::apply(nn::ConvOp op, Operands operands, Results results) {
  return sumProducts(op, operands[0], operands[1], results[0], results[0]);
}

LogicalResult zero::reference::apply(nn::ConvTransposeOp op, Operands operands, Results results) {
  return sumProducts(op, results[0], operands[1], operands[0], results[0]);
}

LogicalResult zero::reference::apply(nn::ConvWeightGradOp op, Operands operands, Results results) {
  return sumProducts(op, operands[0], results[0], operands[1], results[0]);
}

/// Whether element `a` goes before element `b`, which stands first: larger, or the first NaN.
static bool isLarger(const HostTensor &data, int64_t a, int64_t b) {
  if (!data.isFloat())
    return data.getInt(a) > data.getInt(b);
  return data.getFloat(a) > data.getFloat(b) ||
         (std::isnan(data.getFloat(a)) && !std::isnan(data.getFloat(b)));
}

LogicalResult zero::reference::apply(nn::MaxPoolOp op, Operands operands, Results results) {
  const HostTensor &data = operands[0];
  ArrayRef<int64_t> spatial = data.getShape().drop_front(2);
  int64_t positions = ShapedType::getNumElements(spatial);
  auto windows = nn::getWindows(op, op.getWindow());
  forEachIndex(results[0].getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    int64_t plane = (index[0] * data.getShape()[1] + index[1]) * positions;
    std::optional<int64_t> best;
    forEachInWindow(windows, spatial, index.drop_front(2), [&](std::optional<int64_t> position, int64_t) {
      if (position && (!best || isLarger(data, plane + *position, plane + *best)))
        best = position;
    });
    assert(best && "a verified window has a position inside the data");
    results[0].copyElement(flat, data, plane + *best);
    results[1].setInt(flat, *best);
  });
  return success();
}

LogicalResult zero::reference::apply(nn::SumPoolOp op, Operands operands, Results results) {
  const HostTensor &data = operands[0];
  ArrayRef<int64_t> spatial = data.getShape().drop_front(2);
  int64_t positions = ShapedType::getNumElements(spatial);
  auto windows = nn::getWindows(op, op.getWindow());
  forEachIndex(results[0].getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    int64_t plane = (index[0] * data.getShape()[1] + index[1]) * positions;
    double sum = 0;
    forEachInWindow(windows, spatial, index.drop_front(2), [&](std::optional<int64_t> position, int64_t) {
      if (position)
        sum += data.getFloat(plane + *position);
    });
    results[0].setFloat(flat, sum);
  });
  return success();
}

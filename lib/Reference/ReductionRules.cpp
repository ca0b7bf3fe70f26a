//===- ReductionRules.cpp - Reductions, products and norms over rows ------===//
#include "Indexing.h"
#include "Rules.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zero;
using namespace zero::reference;

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

static double combine(nn::ReduceKind kind, double a, double b) {
  switch (kind) {
  case nn::ReduceKind::sum:
    return a + b;
  case nn::ReduceKind::prod:
    return a * b;
  case nn::ReduceKind::max:
    return maximum(a, b);
  case nn::ReduceKind::min:
    return minimum(a, b);
  }
  llvm_unreachable("unknown kind");
}

/// T is int64_t or, for elements without a sign, uint64_t.
template <typename T> static T combine(nn::ReduceKind kind, T a, T b) {
  switch (kind) {
  case nn::ReduceKind::sum:
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  case nn::ReduceKind::prod:
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  case nn::ReduceKind::max:
    return std::max(a, b);
  case nn::ReduceKind::min:
    return std::min(a, b);
  }
  llvm_unreachable("unknown kind");
}

/// The neutral element: what a reduction of nothing gives. `lowest` and `highest` are those of the element
/// type.
template <typename T> static T neutral(nn::ReduceKind kind, T lowest, T highest) {
  switch (kind) {
  case nn::ReduceKind::sum:
    return 0;
  case nn::ReduceKind::prod:
    return 1;
  case nn::ReduceKind::max:
    return lowest;
  case nn::ReduceKind::min:
    return highest;
  }
  llvm_unreachable("unknown kind");
}

/// Combines all operand elements that fall on one result element, in row-major order.
template <typename T, typename Get>
static std::vector<T> reduce(nn::ReduceOp op, const HostTensor &operand, int64_t count, T start, Get get) {
  std::vector<T> sums(count, start);
  forEachIndex(operand.getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    int64_t to = 0;
    for (auto [dim, position] : llvm::enumerate(index))
      if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(dim)))
        to = to * operand.getShape()[dim] + position;
    sums[to] = combine(op.getKind(), sums[to], get(flat));
  });
  return sums;
}

template <typename T>
static void reduceInts(nn::ReduceOp op, const HostTensor &operand, HostTensor &result, T lowest, T highest) {
  std::vector<T> sums =
      reduce<T>(op, operand, result.getNumElements(), neutral(op.getKind(), lowest, highest),
                [&](int64_t i) { return static_cast<T>(operand.getInt(i)); });
  for (auto [i, sum] : llvm::enumerate(sums))
    result.setInt(i, static_cast<int64_t>(sum));
}

LogicalResult zero::reference::apply(nn::ReduceOp op, Operands operands, Results results) {
  const HostTensor &operand = operands[0];
  HostTensor &result = results[0];
  if (operand.isFloat()) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> sums =
        reduce<double>(op, operand, result.getNumElements(), neutral(op.getKind(), -infinity, infinity),
                       [&](int64_t i) { return operand.getFloat(i); });
    for (auto [i, sum] : llvm::enumerate(sums))
      result.setFloat(i, sum);
    return success();
  }
  unsigned width = operand.getElementType().getIntOrFloatBitWidth();
  if (operand.isUnsigned())
    reduceInts<uint64_t>(op, operand, result, 0, llvm::maxUIntN(width));
  else
    reduceInts<int64_t>(op, operand, result, llvm::minIntN(width), llvm::maxIntN(width));
  return success();
}

LogicalResult zero::reference::apply(nn::CumSumOp op, Operands operands, Results results) {
  const HostTensor &operand = operands[0];
  AxisView view(operand.getShape(), op.getAxis());
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      double floats = 0;
      uint64_t ints = 0;
      for (int64_t step = 0; step < view.size; ++step) {
        int64_t at = view.at(outer, op.getReverse() ? view.size - 1 - step : step, inner);
        double floatsBefore = floats;
        uint64_t intsBefore = ints;
        if (operand.isFloat()) {
          floats += operand.getFloat(at);
          results[0].setFloat(at, op.getExclusive() ? floatsBefore : floats);
        } else {
          ints += static_cast<uint64_t>(operand.getInt(at));
          results[0].setInt(at, static_cast<int64_t>(op.getExclusive() ? intsBefore : ints));
        }
      }
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult zero::reference::apply(nn::MatmulOp op, Operands operands, Results results) {
  const HostTensor &lhs = operands[0], &rhs = operands[1];
  int64_t m = results[0].getShape().end()[-2], n = results[0].getShape().back();
  int64_t k = op.getTransposeLhs() ? lhs.getShape().end()[-2] : lhs.getShape().back();
  int64_t batches = ShapedType::getNumElements(results[0].getShape().drop_back(2));
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t c = 0; c < k; ++c) {
          int64_t left = op.getTransposeLhs() ? (b * k + c) * m + i : (b * m + i) * k + c;
          int64_t right = op.getTransposeRhs() ? (b * n + j) * k + c : (b * k + c) * n + j;
          sum += lhs.getFloat(left) * rhs.getFloat(right);
        }
        results[0].setFloat((b * m + i) * n + j, sum);
      }
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult zero::reference::apply(nn::SoftmaxOp op, Operands operands, Results results) {
  const HostTensor &operand = operands[0];
  AxisView view(operand.getShape(), op.getAxis());
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t i = 0; i < view.size; ++i)
        largest = maximum(largest, operand.getFloat(view.at(outer, i, inner)));
      for (int64_t i = 0; i < view.size; ++i)
        sum += std::exp(operand.getFloat(view.at(outer, i, inner)) - largest);
      for (int64_t i = 0; i < view.size; ++i) {
        int64_t at = view.at(outer, i, inner);
        results[0].setFloat(at, std::exp(operand.getFloat(at) - largest) / sum);
      }
    }
  return success();
}

LogicalResult zero::reference::apply(nn::LayerNormOp op, Operands operands, Results results) {
  const HostTensor &operand = operands[0], &scale = operands[1];
  int64_t width = scale.getNumElements(), rows = results[1].getNumElements();
  for (int64_t row = 0; row < rows; ++row) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < width; ++i)
      mean += operand.getFloat(row * width + i) / width;
    for (int64_t i = 0; i < width; ++i) {
      double distance = operand.getFloat(row * width + i) - mean;
      variance += distance * distance / width;
    }
    double rstd = 1.0 / std::sqrt(variance + op.getEpsilon().convertToDouble());
    results[1].setFloat(row, mean);
    results[2].setFloat(row, rstd);
    for (int64_t i = 0; i < width; ++i) {
      double bias = op.getBias() ? operands[2].getFloat(i) : 0.0;
      results[0].setFloat(row * width + i,
                          (operand.getFloat(row * width + i) - mean) * rstd * scale.getFloat(i) + bias);
    }
  }
  return success();
}

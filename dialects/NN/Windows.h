//===- Windows.h - How windows slide over spatial dimensions --------------===//
#ifndef ZERO_DIALECTS_NN_WINDOWS_H
#define ZERO_DIALECTS_NN_WINDOWS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace zero::nn {

/// One spatial dimension: position o reads o * stride - low + k * dilation for k below `window`.
struct Window {
  int64_t window, stride, low, high, dilation;

  /// Positions over `size` elements; 0 where the window is wider than all of them, none where a number
  /// overflows.
  std::optional<int64_t> countPositions(int64_t size) const;
};

/// The windows of a convolution or pooling op; `sizes` are those of the kernel or window.
template <typename OpTy> llvm::SmallVector<Window, 3> getWindows(OpTy op, llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<Window, 3> windows;
  for (size_t i = 0; i < sizes.size(); ++i)
    windows.push_back(
        {sizes[i], op.getStrides()[i], op.getLow()[i], op.getHigh()[i], op.getDilations()[i]});
  return windows;
}

} // namespace zero::nn

#endif

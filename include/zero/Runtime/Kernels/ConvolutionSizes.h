//===- ConvolutionSizes.h - Shapes, blocks and workspace of convolutions --===//
//
// Standard library only: the compiler includes this to plan what the runtime then uses.
//
// The batch is cut into blocks of images, which are computed one after the other so that their reordered
// copies stay in the cache; parts are ranges of blocks, which threads may run at once. Both are functions of
// the shape alone: no bit of a result depends on the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_CONVOLUTIONSIZES_H
#define ZERO_RUNTIME_KERNELS_CONVOLUTIONSIZES_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace zero {

/// The convolution of data (batch x channels x spatial) by a kernel (filters x channels/groups x window) that
/// gives batch x filters x positions.
struct ConvolutionShape {
  int64_t element = 0, batch = 0, channels = 0, filters = 0, groups = 1;
  std::vector<int64_t> spatial, window, strides, low, high, dilations, positions;

  /// The integers of KernelTable.inc; sizes are not checked. No value where their number does not fit.
  static ConvolutionShape fromIntegers(std::span<const int64_t> integers) {
    ConvolutionShape shape;
    if (integers.size() < 6)
      return shape;
    shape.element = integers[0];
    shape.batch = integers[1];
    shape.channels = integers[2];
    shape.filters = integers[3];
    shape.groups = integers[4];
    int64_t rank = integers[5];
    if (rank < 1 || rank > 3 || static_cast<int64_t>(integers.size()) != 6 + 6 * rank)
      return shape;
    const int64_t *next = integers.data() + 6;
    for (auto *list :
         {&shape.spatial, &shape.window, &shape.strides, &shape.low, &shape.high, &shape.dilations}) {
      list->assign(next, next + rank);
      next += rank;
    }
    for (int64_t i = 0; i < rank; ++i) {
      int64_t room = shape.low[i] + shape.spatial[i] + shape.high[i] - shape.dilations[i] * (shape.window[i] - 1);
      shape.positions.push_back(room < 1 || shape.strides[i] < 1 ? 0 : (room - 1) / shape.strides[i] + 1);
    }
    return shape;
  }

  static int64_t product(const std::vector<int64_t> &sizes) {
    int64_t result = 1;
    for (int64_t size : sizes)
      result *= size;
    return result;
  }
  int64_t dataElements() const { return batch * channels * product(spatial); }
  int64_t outElements() const { return batch * filters * product(positions); }
  int64_t kernelElements() const { return filters * (channels / groups) * product(window); }
  bool isDepthwise() const { return groups > 1 && channels == groups && filters == groups; }

  /// Floats of one image of data and result, and of the kernel, in the layouts of the library: channels come
  /// in whole vectors.
  int64_t dataFloats() const { return roundUp(channels) * product(spatial); }
  int64_t outFloats() const { return roundUp(filters) * product(positions); }
  int64_t kernelFloats() const {
    int64_t taps = product(window);
    return isDepthwise() ? roundUp(groups) * taps
                         : groups * roundUp(filters / groups) * roundUp(channels / groups) * taps;
  }

  /// Elements of a row of data and of results with the zeros around them, for gradients of depthwise kernels:
  /// a vector that begins at any element of a row, moved by any tap, ends in the row.
  int64_t paddedDataRow() const {
    return roundUp(std::max(low.back() + spatial.back(),
                            roundUp(positions.back()) + dilations.back() * (window.back() - 1)));
  }
  int64_t paddedOutRow() const { return roundUp(positions.back()); }
  /// Floats that one channel of such a gradient is computed in.
  int64_t depthwiseFloats() const {
    int64_t rows = product(spatial) / std::max<int64_t>(spatial.back(), 1),
            outRows = product(positions) / std::max<int64_t>(positions.back(), 1);
    return 16 * product(window) + rows * paddedDataRow() + outRows * paddedOutRow();
  }

  static int64_t roundUp(int64_t count) { return (count + 15) / 16 * 16; }
};

/// What a convolution computes; the operand that is missing is the result.
enum class ConvolutionResult { Out, Data, Kernel };

/// Whether oneDNN may have no kernel for blocked channels on one of the instruction sets, so that it unfolds the windows of an image into a
/// matrix. What is said to have one was tried over shapes at random (ConvolutionTest tries some).
inline bool mayUnfold(const ConvolutionShape &shape, ConvolutionResult result) {
  using enum ConvolutionResult;
  constexpr int64_t kVector = 8, kMostWindow = 7, kMostPadding = 3, kMostStride = 2;
  size_t rank = shape.spatial.size();
  if (shape.groups > 1 || rank > 2 || (result == Data && shape.channels % kVector) || (result != Out && shape.filters % kVector))
    return true;
  for (size_t i = 0; i < rank; ++i) {
    int64_t reach = shape.dilations[i] * (shape.window[i] - 1), low = shape.low[i], high = shape.high[i], stride = shape.strides[i];
    if (shape.window[i] > kMostWindow || std::max(low, high) > kMostPadding || 2 * low > reach || 2 * high > reach + 1 || shape.spatial[i] <= reach ||
        shape.positions[i] < 2 || stride > kMostStride)
      return true;
    if (result != Out && shape.dilations[i] > 1)
      return true;
    if (result == Data && (stride > 1 || low != high))
      return true;
    if (result == Kernel && stride != (rank == 1 ? 1 : shape.strides[0])) // a line is a plane of one row
      return true;
  }
  return false;
}

/// Most bytes that oneDNN 2.6 takes as scratch for one image on one thread, whatever the instruction set: lists of elements of the window; of windows of one element
/// with strides what they read; of unfolded windows the matrix of one group and plane, and for the gradient of a kernel as many
/// numbers as the kernel has bytes. A kernel that needs more is refused when it is prepared.
inline int64_t convolutionScratchBytes(const ConvolutionShape &shape, ConvolutionResult result) {
  using enum ConvolutionResult;
  constexpr int64_t kLists = 5120, kPage = 4096, kFloat = 4, kReducedChannels = 144;
  int64_t positions = ConvolutionShape::product(shape.positions), taps = ConvolutionShape::product(shape.window);
  int64_t bytes = kLists + (32 * taps + kPage - 1) / kPage * kPage;
  if (taps == 1 && ConvolutionShape::product(shape.strides) > 1)
    bytes += kFloat * positions * std::max(ConvolutionShape::roundUp(shape.channels), result == Data ? kReducedChannels : 0);
  if (mayUnfold(shape, result)) {
    int64_t plane = shape.spatial.size() < 3 ? positions : shape.positions[1] * shape.positions[2];
    bytes += kFloat * (shape.channels / shape.groups) * taps * plane + (result == Kernel ? kFloat * kFloat * shape.kernelElements() : 0);
  }
  return bytes;
}

/// How a batch is computed, and where in the workspace: copies of the kernel, a copy of a block of data and results for each part, then
/// scratch of oneDNN for as many threads as there are slots.
struct ConvolutionPlan {
  static constexpr int64_t kParts = 8; ///< most threads that work on one convolution
  int64_t images = 1;         ///< of one block; the last may be smaller
  int64_t blocks = 0;         ///< over the batch
  int64_t parts = 0;          ///< ranges of blocks
  int64_t dataFloats = 0;     ///< one part's copy of a block of data
  int64_t outFloats = 0;      ///< one part's copy of a block of results
  int64_t kernelFloats = 0;   ///< one copy of the kernel
  int64_t kernelCopies = 1;   ///< of the whole kernel: one, or two for each part of a kernel's gradient
  int64_t scratchFloats = 0;  ///< of one slot
  int64_t scratchSlots = 0;
  int64_t workspaceFloats = 0;

  ConvolutionPlan(const ConvolutionShape &shape, ConvolutionResult result) {
    const bool forKernel = result == ConvolutionResult::Kernel; // a sum over blocks
    constexpr int64_t kBlockFloats = 1 << 18;    // half of a second-level cache
    constexpr int64_t kGradientFloats = 1 << 21; // for all copies of a kernel's gradient beyond one part's
    constexpr int64_t kScratchFloats = 1 << 21;  // for all slots beyond the first
    dataFloats = shape.dataFloats();
    outFloats = shape.outFloats();
    kernelFloats = shape.kernelFloats();
    int64_t image = std::max<int64_t>(dataFloats + outFloats, 1);
    // Adding a block's gradient must cost little beside reading the block.
    int64_t wanted = forKernel ? std::max(kBlockFloats, 2 * kernelFloats) : kBlockFloats;
    images = std::clamp<int64_t>(wanted / image, 1, std::max<int64_t>(shape.batch, 1));
    blocks = (shape.batch + images - 1) / images;
    parts = std::min(kParts, blocks);
    if (forKernel)
      parts = std::min(parts, std::max<int64_t>(kGradientFloats / std::max<int64_t>(kernelFloats, 1), 1));
    dataFloats *= images;
    outFloats *= images;
    kernelCopies = forKernel ? 2 * parts : 1;
    scratchFloats = ConvolutionShape::roundUp(convolutionScratchBytes(shape, result) / 4 + 1);
    scratchSlots = std::min(parts, std::max<int64_t>(kScratchFloats / scratchFloats, 1));
    workspaceFloats = scratchOffset() + scratchSlots * scratchFloats;
    if (forKernel && shape.isDepthwise()) // channels are the parts, where the library has no fast kernel
      workspaceFloats = std::max(workspaceFloats, std::min(kParts, shape.channels) * shape.depthwiseFloats());
  }
  /// Where the scratch begins.
  int64_t scratchOffset() const { return kernelCopies * kernelFloats + parts * (dataFloats + outFloats); }
};

} // namespace zero

#endif

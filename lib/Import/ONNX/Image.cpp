//===- Image.cpp - Operators that rearrange the elements of images ---===//
#include "OperatorTable.h"
#include "Sliding.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// An image N x C x H x W whose batch alone may be unknown, and how it is cut.
struct BlockImage {
  Tensor x;
  Dim batch;
  int64_t channels, height, width, block;
  bool depthFirst; ///< how channels and the places within a block are ordered: mode DCR, else CRD
};

FailureOr<BlockImage> blockImage(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  int64_t block = node.intAttribute("blocksize", 0);
  if (x->rank() != 4 || llvm::any_of(ArrayRef(x->shape).drop_front(), [](const Dim &d) { return !d.isStatic(); })) {
    node.error() << "needs N x C x H x W with known sizes behind the batch, not " << x->type();
    return failure();
  }
  if (block < 1 || block > INT32_MAX) {
    node.error() << "blocksize is " << block << ", outside [1, " << INT32_MAX << "]";
    return failure();
  }
  std::string mode = node.stringAttribute("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    node.error() << "mode='" << mode << "' is not supported";
    return failure();
  }
  return BlockImage{*x, x->shape[0], x->shape[1].value(), x->shape[2].value(), x->shape[3].value(), block, mode == "DCR"};
}

/// DCR: channels are block x block x the result's; CRD: the result's x block x block.
LogicalResult buildDepthToSpace(NodeContext &node) {
  FailureOr<BlockImage> image = blockImage(node);
  if (failed(image))
    return failure();
  auto &[x, batch, channels, height, width, block, depthFirst] = *image;
  if (channels % (block * block))
    return node.error() << "has " << channels << " channels, not a multiple of the block's " << block * block
                        << " elements";
  int64_t made = channels / (block * block);
  Tensor apart;
  if (depthFirst)
    apart = node.transpose(
        node.reshape(x, {batch, Dim(block), Dim(block), Dim(made), Dim(height), Dim(width)}),
        {0, 3, 4, 1, 5, 2});
  else
    apart = node.transpose(
        node.reshape(x, {batch, Dim(made), Dim(block), Dim(block), Dim(height), Dim(width)}),
        {0, 1, 4, 2, 5, 3});
  return node.set(node.reshape(apart, {batch, Dim(made), Dim(height * block), Dim(width * block)}));
}

/// DCR: the result's channels are block x block x the input's; CRD (operator set 28): the input's x block x block.
LogicalResult buildSpaceToDepth(NodeContext &node) {
  FailureOr<BlockImage> image = blockImage(node);
  if (failed(image))
    return failure();
  auto &[x, batch, channels, height, width, block, depthFirst] = *image;
  if (height % block || width % block)
    return node.error() << "blocks of " << block << " do not divide " << x.type();
  Tensor blocks = node.reshape(
      x, {batch, Dim(channels), Dim(height / block), Dim(block), Dim(width / block), Dim(block)});
  Tensor apart = depthFirst ? node.transpose(blocks, {0, 3, 5, 1, 2, 4})
                             : node.transpose(blocks, {0, 1, 3, 5, 2, 4});
  return node.set(
      node.reshape(apart, {batch, Dim(channels * block * block), Dim(height / block), Dim(width / block)}));
}

/// Adds up overlapping blocks: the transpose of a convolution that takes each element of each window by
/// itself.
LogicalResult buildCol2Im(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  FailureOr<SmallVector<int64_t>> image = node.integerInput(1, "image_shape"),
                                  block = node.integerInput(2, "block_shape");
  if (failed(x) || failed(image) || failed(block))
    return failure();
  if (x->rank() != 3 || !isa<FloatType>(x->elementType()) || !x->shape[1].isStatic() ||
      !x->shape[2].isStatic() || image->empty() || image->size() > 3 || image->size() != block->size())
    return node.error() << "needs floats N x (C x block) x blocks with 1 to 3 spatial dimensions, not "
                        << x->type();
  FailureOr<Sliding> sliding = slide(node, *image, *block);
  if (failed(sliding))
    return failure();
  int64_t taps = 1, positions = 1;
  for (auto [size, count] : llvm::zip_equal(*block, sliding->positions)) {
    taps *= size;
    positions *= count;
  }
  int64_t columns = x->shape[1].value(), channels = columns / taps;
  if (columns % taps || x->shape[2].value() != positions)
    return node.error() << "blocks of " << taps << " elements at " << positions << " positions do not fit "
                        << x->type();
  Dims blocks = withBatch(*x, columns), shape = withBatch(*x, channels), window{Dim(columns), Dim(1)};
  for (auto [i, size] : llvm::enumerate(*image)) {
    blocks.push_back(Dim(sliding->positions[i]));
    shape.push_back(Dim(size));
    window.push_back(Dim((*block)[i]));
  }
  // Filter t of each channel takes element t of the window.
  Dims square{Dim(taps), Dim(taps)}, all{Dim(channels), Dim(taps), Dim(taps)};
  Type i64 = node.builder.getI64Type();
  Tensor filter = node.make<nn::IotaOp>(square, i64, 0), element = node.make<nn::IotaOp>(square, i64, 1);
  Tensor same = node.make<nn::CompareOp>(square, node.builder.getI1Type(), nn::ComparePredicate::eq,
                                         filter.value, element.value);
  Tensor kernel = node.reshape(node.broadcastTo(node.cast(same, x->elementType()), all, nullptr), window);
  return node.set(node.make<nn::ConvTransposeOp>(
      std::move(shape), x->elementType(), node.reshape(*x, std::move(blocks)).value, kernel.value,
      sliding->strides, sliding->low, sliding->high, sliding->dilations, channels));
}

constexpr OperatorRow rows[] = {
    {"Col2Im", 18, kNewestOpset, buildCol2Im},
    {"DepthToSpace", 1, kNewestOpset, buildDepthToSpace},
    {"SpaceToDepth", 1, kNewestOpset, buildSpaceToDepth},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::imageOperators() { return rows; }

//===- RotaryEmbedding.cpp - Rotary positions of operator set 23 ----------===//
//
// Pairs (a, b) of the rotated elements turn by an angle: a cos - b sin, a sin + b cos. A pair is an element
// of the first half and the one beside it in the second, or two neighbours where it is `interleaved`.
//
//===----------------------------------------------------------------------===//
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

class RotaryNode {
public:
  explicit RotaryNode(NodeContext &node) : node(node) {}

  LogicalResult build() {
    if (failed(readInput()))
      return failure();
    FailureOr<Tensor> cosine = angles(1, "cos_cache");
    if (failed(cosine))
      return failure();
    FailureOr<Tensor> sine = angles(2, "sin_cache");
    if (failed(sine))
      return failure();
    bool interleaved = node.intAttribute("interleaved", 0) != 0;
    int64_t half = rotated / 2, step = interleaved ? 2 : 1;
    Tensor a = part(0, half, step), b = part(interleaved ? 1 : half, half, step);
    auto times = [&](const Tensor &x, const Tensor &y) { return node.binary<nn::MulOp>(x, y); };
    Tensor real = node.binary<nn::SubOp>(times(*cosine, a), times(*sine, b));
    Tensor imaginary = node.binary<nn::AddOp>(times(*sine, a), times(*cosine, b));
    Tensor result;
    if (interleaved) {
      Dims single = real.shape, whole = x.shape;
      single.push_back(Dim(1));
      whole.back() = Dim(rotated);
      result = node.concat({node.reshape(real, single, {real}), node.reshape(imaginary, single, {real})}, 4);
      result = node.reshape(result, whole, {real});
    } else {
      result = node.concat({real, imaginary}, 3);
    }
    if (rotated != size)
      result = node.concat({result, part(rotated, size - rotated, 1)}, 3);
    const Tensor &given = node.inputs[0]->tensors.front();
    return node.set(given.rank() == 3 ? node.reshape(result, given.shape, {given})
                                      : node.transpose(result, {0, 2, 1, 3}));
  }

private:
  /// x as batch x length x heads x size.
  LogicalResult readInput() {
    FailureOr<Tensor> given = node.input(0);
    if (failed(given))
      return failure();
    if ((given->rank() != 3 && given->rank() != 4) || !isa<FloatType>(given->elementType()))
      return node.error() << "needs floats of rank 3 or 4, not " << given->type();
    if (!given->shape.back().isStatic() || (given->rank() == 4 && !given->shape[1].isStatic()))
      return node.error() << "needs known heads, not those of " << given->type();
    if (given->rank() == 4) {
      x = node.transpose(*given, {0, 2, 1, 3});
    } else {
      int64_t heads = node.intAttribute("num_heads", 0);
      if (heads < 1 || given->shape[2].value() % heads != 0)
        return node.error() << "num_heads=" << heads << " does not divide dimension 2 of " << given->type();
      x = node.reshape(*given,
                       {given->shape[0], given->shape[1], Dim(heads), Dim(given->shape[2].value() / heads)},
                       {*given});
    }
    size = x.shape[3].value();
    rotated = node.intAttribute("rotary_embedding_dim", 0);
    if (rotated == 0)
      rotated = size;
    if (rotated < 0 || rotated > size || rotated % 2 != 0)
      return node.error() << "rotates " << rotated << " of " << size << " elements in pairs";
    return success();
  }

  /// The cosines or sines of all positions, repeated over the heads: batch x length x heads x pairs.
  FailureOr<Tensor> angles(unsigned index, StringRef name) {
    FailureOr<Tensor> cache = node.input(index);
    if (failed(cache))
      return failure();
    bool gathers = node.has(3);
    if (cache->rank() != (gathers ? 2 : 3) || !cache->shape.back().is(rotated / 2) ||
        cache->elementType() != x.elementType()) {
      node.error() << name << " has type " << cache->type() << ", not "
                   << (gathers
                           ? node.tensorType({cache->shape[0], Dim(rotated / 2)}, x.elementType())
                           : node.tensorType({x.shape[0], x.shape[1], Dim(rotated / 2)}, x.elementType()));
      return failure();
    }
    Tensor rows = *cache;
    if (gathers) {
      FailureOr<Tensor> positions = node.input(3);
      if (failed(positions))
        return failure();
      if (positions->rank() != 2 || !positions->elementType().isSignlessInteger(64)) {
        node.error() << "position_ids has type " << positions->type() << ", not "
                     << node.tensorType({x.shape[0], x.shape[1]}, node.builder.getI64Type());
        return failure();
      }
      rows = node.make<nn::GatherOp>(Dims{positions->shape[0], positions->shape[1], Dim(rotated / 2)},
                                     x.elementType(), cache->value, positions->value, 0);
    }
    Tensor single = node.reshape(rows, {rows.shape[0], rows.shape[1], Dim(1), rows.shape[2]}, {rows});
    Dims whole = x.shape;
    whole[3] = Dim(rotated / 2);
    FailureOr<Dims> fits = node.broadcastShape(whole, single.shape);
    if (failed(fits) || *fits != whole) {
      node.error() << name << " gives positions of type " << rows.type() << " for "
                   << node.inputs[0]->tensors.front().type();
      return failure();
    }
    return node.broadcastTo(single, whole, [&] {
      Tensor lead = node.slice(node.shapeOf(x), {0}, {1}, {Dim(3)});
      return node.concat({lead, node.integers({rotated / 2})}, 0);
    });
  }

  Tensor part(int64_t start, int64_t count, int64_t stride) {
    Dims shape = x.shape;
    shape[3] = Dim(count);
    return node.slice(x, {0, 0, 0, start}, {1, 1, 1, stride}, std::move(shape));
  }

  NodeContext &node;
  Tensor x;
  int64_t size = 0, rotated = 0;
};

LogicalResult buildRotaryEmbedding(NodeContext &node) { return RotaryNode(node).build(); }

constexpr OperatorRow rows[] = {
    {"RotaryEmbedding", 23, kNewestOpset, buildRotaryEmbedding},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::rotaryOperators() { return rows; }

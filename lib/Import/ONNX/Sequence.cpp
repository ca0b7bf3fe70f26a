//===- Sequence.cpp - Sequences of tensors, resolved at import ------------===//
#include "OperatorTable.h"
#include "Split.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// The sequence that an input is.
FailureOr<const Binding *> sequence(NodeContext &node, unsigned index) {
  if (!node.has(index) || !node.inputs[index]->isSequence) {
    node.error() << "input " << index << " is not a sequence";
    return failure();
  }
  return node.inputs[index];
}

/// `split` is one size for all parts (the last may be smaller), a list of sizes, or absent: parts of size 1.
LogicalResult buildSplitToSequence(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", 0), x->rank());
  if (failed(axis))
    return failure();
  const Dim &extent = x->shape[*axis];
  if (!extent.isStatic())
    return node.error() << "splits dimension " << *axis << ", whose size is not known";
  SmallVector<int64_t> sizes;
  int64_t each = 1;
  bool keepDims = true;
  if (node.has(1)) {
    FailureOr<Tensor> split = node.input(1);
    if (failed(split))
      return failure();
    if (split->rank() == 1) {
      FailureOr<SmallVector<int64_t>> list = node.integerInput(1, "split");
      if (failed(list))
        return failure();
      sizes = std::move(*list);
    } else {
      FailureOr<int64_t> size = node.integer(1, "split");
      if (failed(size))
        return failure();
      each = *size;
    }
  } else {
    keepDims = node.intAttribute("keepdims", 1) != 0;
  }
  if (each < 1)
    return node.error() << "splits into parts of size " << each;
  constexpr int64_t kMaxParts = 4096;
  int64_t count = sizes.empty() ? extent.value() / each : 0;
  if (count > kMaxParts)
    return node.error() << "splits into " << count << " tensors; at most " << kMaxParts << " are supported";
  for (int64_t rest = sizes.empty() ? extent.value() : 0; rest > 0; rest -= each)
    sizes.push_back(std::min(each, rest));
  FailureOr<SmallVector<Tensor, 1>> parts = splitTensor(node, *x, *axis, sizes);
  if (failed(parts))
    return failure();
  if (!keepDims)
    for (Tensor &part : *parts) {
      Dims shape = part.shape;
      shape.erase(shape.begin() + *axis);
      part = node.reshape(part, std::move(shape));
    }
  return node.setSequence(std::move(*parts));
}

LogicalResult buildSequenceAt(NodeContext &node) {
  FailureOr<const Binding *> from = sequence(node, 0);
  FailureOr<int64_t> position = node.integer(1, "position");
  if (failed(from) || failed(position))
    return failure();
  int64_t size = static_cast<int64_t>((*from)->tensors.size()), index = *position;
  if (index < -size || index >= size)
    return node.error() << "position " << index << " is outside a sequence of " << size << " tensors";
  return node.set((*from)->tensors[index < 0 ? index + size : index]);
}

LogicalResult buildSequenceConstruct(NodeContext &node) {
  SmallVector<Tensor, 1> tensors;
  for (unsigned i = 0; i < node.inputs.size(); ++i) {
    FailureOr<Tensor> tensor = node.input(i);
    if (failed(tensor))
      return failure();
    tensors.push_back(*tensor);
  }
  return node.setSequence(std::move(tensors));
}

/// The place in a sequence that an input gives, at most `last`; `otherwise` if it is left out.
FailureOr<int64_t> place(NodeContext &node, unsigned index, int64_t size, int64_t last, int64_t otherwise) {
  if (!node.has(index))
    return otherwise;
  FailureOr<int64_t> position = node.integer(index, "position");
  if (failed(position))
    return failure();
  if (*position < -size || *position > last) {
    node.error() << "position " << *position << " is outside a sequence of " << size << " tensors";
    return failure();
  }
  return *position < 0 ? *position + size : *position;
}

LogicalResult buildSequenceEmpty(NodeContext &node) { return node.setSequence({}); }

LogicalResult buildSequenceInsert(NodeContext &node) {
  FailureOr<const Binding *> from = sequence(node, 0);
  FailureOr<Tensor> tensor = failed(from) ? FailureOr<Tensor>(failure()) : node.input(1);
  if (failed(from) || failed(tensor))
    return failure();
  SmallVector<Tensor, 1> tensors((*from)->tensors);
  auto size = static_cast<int64_t>(tensors.size());
  FailureOr<int64_t> at = place(node, 2, size, size, size);
  if (failed(at))
    return failure();
  tensors.insert(tensors.begin() + *at, *tensor);
  return node.setSequence(std::move(tensors));
}

LogicalResult buildSequenceErase(NodeContext &node) {
  FailureOr<const Binding *> from = sequence(node, 0);
  if (failed(from))
    return failure();
  SmallVector<Tensor, 1> tensors((*from)->tensors);
  auto size = static_cast<int64_t>(tensors.size());
  if (size == 0)
    return node.error() << "erases from an empty sequence";
  FailureOr<int64_t> at = place(node, 1, size, size - 1, size - 1);
  if (failed(at))
    return failure();
  tensors.erase(tensors.begin() + *at);
  return node.setSequence(std::move(tensors));
}

LogicalResult buildSequenceLength(NodeContext &node) {
  FailureOr<const Binding *> from = sequence(node, 0);
  if (failed(from))
    return failure();
  return node.set(node.integers({static_cast<int64_t>((*from)->tensors.size())}, /*scalar=*/true));
}

LogicalResult buildConcatFromSequence(NodeContext &node) {
  FailureOr<const Binding *> from = sequence(node, 0);
  if (failed(from))
    return failure();
  if ((*from)->tensors.empty())
    return node.error() << "joins an empty sequence";
  SmallVector<Tensor> parts((*from)->tensors);
  bool isNew = node.intAttribute("new_axis", 0) != 0;
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", 0), parts.front().rank() + isNew);
  if (failed(axis))
    return failure();
  if (isNew)
    for (Tensor &part : parts) {
      Dims shape = part.shape;
      shape.insert(shape.begin() + *axis, Dim(1));
      part = node.reshape(part, std::move(shape));
    }
  FailureOr<Tensor> joined = joinTensors(node, parts, *axis);
  return failed(joined) ? failure() : node.set(std::move(*joined));
}

constexpr OperatorRow rows[] = {
    {"ConcatFromSequence", 11, kNewestOpset, buildConcatFromSequence},
    {"SequenceAt", 11, kNewestOpset, buildSequenceAt},
    {"SequenceConstruct", 11, kNewestOpset, buildSequenceConstruct},
    {"SequenceEmpty", 11, kNewestOpset, buildSequenceEmpty},
    {"SequenceErase", 11, kNewestOpset, buildSequenceErase},
    {"SequenceInsert", 11, kNewestOpset, buildSequenceInsert},
    {"SequenceLength", 11, kNewestOpset, buildSequenceLength},
    {"SplitToSequence", 11, kNewestOpset, buildSplitToSequence},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::sequenceOperators() { return rows; }

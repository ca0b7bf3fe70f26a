//===- Shapes.cpp - Comparing the shapes of nn tensors --------------------===//
#include "dialects/NN/Shapes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace zero::nn;

std::string zero::nn::formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(shape, stream, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      stream << '?';
    else
      stream << size;
  });
  stream << ']';
  return text;
}

bool zero::nn::sizesAgree(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

bool zero::nn::shapesAgree(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip_equal(a, b), [](auto pair) {
           return sizesAgree(std::get<0>(pair), std::get<1>(pair));
         });
}

LogicalResult zero::nn::verifyShape(Operation *op, const Twine &what, ArrayRef<int64_t> actual,
                                    const Twine &source, ArrayRef<int64_t> expected) {
  if (shapesAgree(actual, expected))
    return success();
  return op->emitOpError() << what << " has shape " << formatShape(actual) << " but " << source << " "
                           << formatShape(expected);
}

LogicalResult zero::nn::verifyElementType(Operation *op, const Twine &what, Type actual, const Twine &source,
                                          Type expected) {
  if (actual == expected)
    return success();
  return op->emitOpError() << what << " has element type " << actual << " but " << source << " has "
                           << expected;
}

LogicalResult zero::nn::verifyAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError() << "axis " << axis << " is outside [0, " << rank << ")";
}

LogicalResult zero::nn::verifyIncreasing(Operation *op, StringRef name, ArrayRef<int64_t> values,
                                         int64_t bound) {
  for (auto [i, value] : llvm::enumerate(values)) {
    if (value < 0 || value >= bound)
      return op->emitOpError() << name << "[" << i << "] is " << value << ", outside [0, " << bound << ")";
    if (i > 0 && values[i - 1] >= value)
      return op->emitOpError() << name << " must increase but " << values[i - 1] << " stands before "
                               << value;
  }
  return success();
}

Shape zero::nn::gatherShape(ArrayRef<int64_t> data, ArrayRef<int64_t> indices, int64_t axis) {
  Shape shape(data.take_front(axis));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, data.drop_front(axis + 1));
  return shape;
}

Shape zero::nn::dropAxes(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  Shape kept;
  for (auto [i, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      kept.push_back(size);
  return kept;
}

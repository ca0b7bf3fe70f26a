//===- ConstantEvaluator.h - Values that are known while importing --------===//
#ifndef ZERO_LIB_IMPORT_ONNX_CONSTANTEVALUATOR_H
#define ZERO_LIB_IMPORT_ONNX_CONSTANTEVALUATOR_H

#include "zero/Reference/HostTensor.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <memory>
#include <optional>

namespace zero::onnx_import {

/// Evaluates small tensors that depend on constants alone, with the reference interpreter, when somebody
/// asks: for the condition of an If, the sizes of a Reshape, the axes of a reduction. Bounded in the size of
/// each tensor, in the work of all and in the memory of what it remembers.
class ConstantEvaluator {
public:
  /// `argument`: the elements of a function's argument that is a constant weight; none for others.
  explicit ConstantEvaluator(
      std::function<std::optional<reference::HostTensor>(mlir::BlockArgument)> argument)
      : argument(std::move(argument)) {}

  /// The elements; null if they are not known, or too many.
  const reference::HostTensor *elements(mlir::Value value);

  /// Whether the answer would be null for a known reason: what the value depends on that is not constant (an
  /// argument), or null.
  mlir::Value obstacle(mlir::Value value) const;

private:
  /// Work units: about one element read or written.
  static constexpr int64_t kMaxElements = 1 << 16;
  static constexpr int64_t kMaxWork = 1 << 26;
  static constexpr size_t kMaxBytes = 8 << 20;

  bool mayEvaluate(mlir::Operation *op);
  std::optional<reference::HostTensor> evaluate(mlir::Operation *op);
  void remember(mlir::Value value, std::optional<reference::HostTensor> tensor);

  std::function<std::optional<reference::HostTensor>(mlir::BlockArgument)> argument;
  /// Null: not known.
  llvm::DenseMap<mlir::Value, std::shared_ptr<const reference::HostTensor>> values;
  int64_t work = 0;
  size_t bytes = 0;
};

} // namespace zero::onnx_import

#endif

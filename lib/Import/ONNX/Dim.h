//===- Dim.h - A dimension of an imported tensor: a number or a product with symbols ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_DIM_H
#define ZERO_LIB_IMPORT_ONNX_DIM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace zero::onnx_import {

/// coefficient x symbol x symbol ...: a dimension, or an element of a small integer tensor that dimensions
/// are made of. Two dims that compare equal are equal for every batch; two that do not may still be.
class Dim {
public:
  Dim(int64_t number = 0) : coefficient(number) {}
  static Dim symbol(unsigned id);

  bool isStatic() const { return symbols.empty(); }
  /// True of sizes and their positive multiples; a product of symbols is no less than 0.
  bool isNonNegative() const { return coefficient >= 0; }
  bool is(int64_t number) const { return isStatic() && coefficient == number; }
  /// The number; only for a static dim.
  int64_t value() const { return coefficient; }
  /// The number, or mlir::ShapedType::kDynamic.
  int64_t typeSize() const;

  bool operator==(const Dim &other) const = default;

  /// None where the result is no such product (or overflows).
  static std::optional<Dim> add(const Dim &a, const Dim &b);
  static std::optional<Dim> subtract(const Dim &a, const Dim &b);
  static std::optional<Dim> multiply(const Dim &a, const Dim &b);
  /// Exact quotients only.
  static std::optional<Dim> divide(const Dim &a, const Dim &b);
  static std::optional<Dim> product(llvm::ArrayRef<Dim> dims);

private:
  int64_t coefficient;
  llvm::SmallVector<unsigned, 1> symbols; // sorted, with repetition
};

using Dims = llvm::SmallVector<Dim>;

} // namespace zero::onnx_import

#endif

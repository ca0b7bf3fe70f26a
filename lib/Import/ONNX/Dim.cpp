//===- Dim.cpp - Arithmetic of dimensions ---------------------------------===//
#include "Dim.h"

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace zero::onnx_import;

Dim Dim::symbol(unsigned id) {
  Dim dim(1);
  dim.symbols.push_back(id);
  return dim;
}

int64_t Dim::typeSize() const { return isStatic() ? coefficient : mlir::ShapedType::kDynamic; }

std::optional<Dim> Dim::add(const Dim &a, const Dim &b) {
  if (a.symbols != b.symbols) {
    if (a.is(0))
      return b;
    if (b.is(0))
      return a;
    return std::nullopt;
  }
  Dim sum = a;
  if (llvm::AddOverflow(a.coefficient, b.coefficient, sum.coefficient))
    return std::nullopt;
  if (sum.coefficient == 0)
    sum.symbols.clear();
  return sum;
}

std::optional<Dim> Dim::subtract(const Dim &a, const Dim &b) {
  std::optional<Dim> negative = multiply(b, Dim(-1));
  return negative ? add(a, *negative) : std::nullopt;
}

std::optional<Dim> Dim::multiply(const Dim &a, const Dim &b) {
  Dim result;
  if (llvm::MulOverflow(a.coefficient, b.coefficient, result.coefficient))
    return std::nullopt;
  if (result.coefficient == 0)
    return result;
  constexpr size_t kMaxSymbols = 8; // squares of squares of symbols are nobody's sizes
  if (a.symbols.size() + b.symbols.size() > kMaxSymbols)
    return std::nullopt;
  result.symbols = a.symbols;
  result.symbols.append(b.symbols);
  llvm::sort(result.symbols);
  return result;
}

std::optional<Dim> Dim::divide(const Dim &a, const Dim &b) {
  if (b.is(-1))
    return multiply(a, b);
  // The one quotient of numbers that overflows.
  bool overflows = a.coefficient == INT64_MIN && b.coefficient == -1;
  if (b.coefficient == 0 || overflows || a.coefficient % b.coefficient != 0)
    return std::nullopt;
  if (!std::includes(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end()))
    return std::nullopt;
  Dim result(a.coefficient / b.coefficient);
  std::set_difference(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(),
                      std::back_inserter(result.symbols));
  return result;
}

std::optional<Dim> Dim::product(llvm::ArrayRef<Dim> dims) {
  std::optional<Dim> result = Dim(1);
  for (const Dim &dim : dims)
    if (result)
      result = multiply(*result, dim);
  return result;
}

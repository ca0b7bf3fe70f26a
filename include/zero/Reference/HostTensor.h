//===- HostTensor.h - A tensor in host memory -----------------------------===//
#ifndef ZERO_REFERENCE_HOSTTENSOR_H
#define ZERO_REFERENCE_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cassert>
#include <cstring>
#include <vector>

namespace zero::reference {

/// Row-major little-endian elements of a static tensor type, as the runtime and weight files hold them: one
/// byte for an i1, two for f16 and bf16.
class HostTensor {
public:
  /// All elements zero.
  explicit HostTensor(mlir::RankedTensorType type);

  /// The elements in the storage type of the tensor's elements (uint16_t for f16 and bf16, bool for i1).
  template <typename T> static HostTensor get(mlir::RankedTensorType type, llvm::ArrayRef<T> values) {
    HostTensor tensor(type);
    assert(values.size() * sizeof(T) == tensor.bytes.size() && "values do not fill the tensor");
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    return tensor;
  }

  /// The elements of a constant; fails for attributes whose elements are not in memory (silently: the caller
  /// knows whose attribute it is).
  static llvm::FailureOr<HostTensor> fromAttribute(mlir::ElementsAttr attribute);
  mlir::DenseElementsAttr toAttribute() const;

  mlir::RankedTensorType getType() const { return type; }
  mlir::Type getElementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getRank() const { return type.getRank(); }
  int64_t getNumElements() const { return numElements; }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(getElementType()); }
  /// Whether the elements are integers without a sign (ui8 ... ui64, i1).
  bool isUnsigned() const { return getElementType().isUnsignedInteger() || getElementType().isInteger(1); }

  llvm::ArrayRef<char> getBytes() const { return bytes; }
  llvm::MutableArrayRef<char> getBytes() { return bytes; }
  template <typename T> llvm::ArrayRef<T> getValues() const {
    assert(sizeof(T) == elementBytes && "values have another width");
    return llvm::ArrayRef<T>(reinterpret_cast<const T *>(bytes.data()), numElements);
  }

  /// Element i of a float tensor. Every f16, bf16 and f32 is a double; setFloat rounds once, to nearest even.
  double getFloat(int64_t i) const;
  void setFloat(int64_t i, double value);

  /// Element i of an integer tensor: signed, but for ui8 ... ui64 and i1; of an ui64 the bits. setInt keeps the
  /// low bits.
  int64_t getInt(int64_t i) const;
  void setInt(int64_t i, int64_t value);

  /// Element `from` of a tensor of the same element type becomes element i.
  void copyElement(int64_t i, const HostTensor &source, int64_t from);

private:
  mlir::RankedTensorType type;
  int64_t numElements;
  unsigned elementBytes;
  std::vector<char> bytes;
};

} // namespace zero::reference

#endif

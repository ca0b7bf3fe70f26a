//===- HostTensor.cpp - A tensor in host memory ---------------------------===//
#include "zero/Reference/HostTensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace zero::reference;

static_assert(sizeof(bool) == 1, "an i1 is one byte");

static unsigned bytesPerElement(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }

HostTensor::HostTensor(RankedTensorType type)
    : type(type), numElements(type.getNumElements()), elementBytes(bytesPerElement(type.getElementType())),
      bytes(numElements * elementBytes, 0) {}

FailureOr<HostTensor> HostTensor::fromAttribute(ElementsAttr attribute) {
  auto type = dyn_cast<RankedTensorType>(attribute.getShapedType());
  if (!type || !type.hasStaticShape() || !isa<FloatType, IntegerType>(type.getElementType()))
    return failure();
  HostTensor tensor(type);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || blob->getData().size() != tensor.bytes.size())
      return failure();
    llvm::copy(blob->getData(), tensor.bytes.begin());
    return tensor;
  }
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements)
    return failure();
  if (!elements.isSplat() && !type.getElementType().isInteger(1)) {
    llvm::copy(elements.getRawData(), tensor.bytes.begin());
    return tensor;
  }
  for (int64_t i = 0; i < tensor.numElements; ++i) {
    if (type.getElementType().isInteger(1))
      tensor.bytes[i] = elements.value_begin<bool>()[i];
    else
      std::memcpy(&tensor.bytes[i * tensor.elementBytes], elements.getRawData().data(), tensor.elementBytes);
  }
  return tensor;
}

DenseElementsAttr HostTensor::toAttribute() const {
  if (getElementType().isInteger(1))
    return DenseElementsAttr::get(type, getValues<bool>());
  if (numElements == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  bool isSplat = true;
  for (int64_t i = 1; i < numElements && isSplat; ++i)
    isSplat = std::memcmp(bytes.data(), &bytes[i * elementBytes], elementBytes) == 0;
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef(bytes).take_front(isSplat ? elementBytes : bytes.size()));
}

double HostTensor::getFloat(int64_t i) const {
  auto floatType = cast<FloatType>(getElementType());
  const char *at = &bytes[i * elementBytes];
  if (floatType.isF64()) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  if (floatType.isF32()) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return APFloat(floatType.getFloatSemantics(), APInt(16, bits)).convertToDouble();
}

void HostTensor::setFloat(int64_t i, double value) {
  auto floatType = cast<FloatType>(getElementType());
  char *at = &bytes[i * elementBytes];
  if (floatType.isF64()) {
    std::memcpy(at, &value, sizeof(value));
    return;
  }
  if (floatType.isF32()) {
    auto rounded = static_cast<float>(value);
    std::memcpy(at, &rounded, sizeof(rounded));
    return;
  }
  APFloat rounded(value);
  bool losesInfo;
  rounded.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  auto bits = static_cast<uint16_t>(rounded.bitcastToAPInt().getZExtValue());
  std::memcpy(at, &bits, sizeof(bits));
}

int64_t HostTensor::getInt(int64_t i) const {
  uint64_t bits = 0;
  std::memcpy(&bits, &bytes[i * elementBytes], elementBytes);
  APInt value(getElementType().getIntOrFloatBitWidth(), bits, /*isSigned=*/false, /*implicitTrunc=*/true);
  return isUnsigned() ? static_cast<int64_t>(value.getZExtValue()) : value.getSExtValue();
}

void HostTensor::setInt(int64_t i, int64_t value) {
  if (getElementType().isInteger(1))
    value &= 1;
  std::memcpy(&bytes[i * elementBytes], &value, elementBytes);
}

void HostTensor::copyElement(int64_t i, const HostTensor &source, int64_t from) {
  assert(source.getElementType() == getElementType() && "elements have other types");
  std::memcpy(&bytes[i * elementBytes], &source.bytes[from * elementBytes], elementBytes);
}

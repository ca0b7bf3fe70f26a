//===- ConfigAttribute.cpp - Reads the configuration that a module carries ===//
#include "zero/Analysis/ConfigAttribute.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace zero {

llvm::json::Value convertToJSON(Attribute attribute) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    llvm::json::Object object;
    for (NamedAttribute entry : dictionary)
      object[entry.getName().str()] = convertToJSON(entry.getValue());
    return object;
  }
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    llvm::json::Array elements;
    for (Attribute element : array)
      elements.push_back(convertToJSON(element));
    return elements;
  }
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.str();
  return nullptr;
}

} // namespace zero

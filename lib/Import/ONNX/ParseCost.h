//===- ParseCost.h - What a file would take when parsed -------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_PARSECOST_H
#define ZERO_LIB_IMPORT_ONNX_PARSECOST_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace zero::onnx_import {

/// About the bytes of memory that protobuf needs for a model file: two bytes of file can be an empty message
/// of hundreds in memory. Malformed bytes end the count: the parser finds them.
uint64_t parseCost(llvm::StringRef file);

} // namespace zero::onnx_import

#endif

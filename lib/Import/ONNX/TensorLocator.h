//===- TensorLocator.h - Where the bytes of a model's tensors lie in its file ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_TENSORLOCATOR_H
#define ZERO_LIB_IMPORT_ONNX_TENSORLOCATOR_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

#include "onnx-ml.pb.h"

namespace zero::onnx_import {

/// Offset and length of `raw_data` in the file.
using TensorRanges = llvm::DenseMap<const onnx::TensorProto *, std::pair<uint64_t, uint64_t>>;

/// Walks the bytes that `model` was parsed from and notes where each tensor's `raw_data` lies: those of
/// initializers and of nodes' attributes, in subgraphs and functions too. False if the bytes and the parsed
/// model do not tell the same.
bool locateTensors(llvm::StringRef file, const onnx::ModelProto &model, TensorRanges &ranges);

} // namespace zero::onnx_import

#endif

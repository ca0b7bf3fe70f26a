//===- MovedInitializers.h - Names of initializers inside nodes -----------===//
#ifndef ZERO_LIB_IMPORT_ONNX_MOVEDINITIALIZERS_H
#define ZERO_LIB_IMPORT_ONNX_MOVEDINITIALIZERS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace zero::onnx_import {

/// What the importer calls the initializers of graphs inside nodes, by the first byte of the tensor's message.
using MovedInitializers = llvm::DenseMap<const char *, std::string>;

/// Reads the bytes of a model; names as hoistInitializers gives them.
MovedInitializers movedInitializers(llvm::StringRef model);

} // namespace zero::onnx_import

#endif

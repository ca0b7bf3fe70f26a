//===- ExternalData.h - Tensors whose bytes lie beside the model ----------===//
#ifndef ZERO_LIB_IMPORT_ONNX_EXTERNALDATA_H
#define ZERO_LIB_IMPORT_ONNX_EXTERNALDATA_H

#include "lib/Runtime/Data/MappedFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include "onnx-ml.pb.h"

#include <map>
#include <memory>
#include <string>

namespace zero::onnx_import {

/// Bytes of a tensor as they lie in a file: little-endian, row-major.
struct FileBytes {
  std::string path; // as one can open it
  uint64_t offset = 0;
  llvm::ArrayRef<char> bytes;
};

/// The external files of a model, mapped when they are asked for. Only files in the model's folder or below are
/// opened, by name and after links are followed.
class ExternalData {
public:
  explicit ExternalData(llvm::StringRef modelPath);
  Expected<FileBytes> find(const onnx::TensorProto &tensor);
  /// Why the file of a tensor is not there; empty if it is, or if the tensor says no place where one may be.
  std::string whyMissing(const onnx::TensorProto &tensor) const;
  /// The files that were opened.
  std::vector<std::shared_ptr<const void>> files() const;

private:
  std::string folder;
  std::map<std::string, std::shared_ptr<MappedFile>> mapped;
};

} // namespace zero::onnx_import

#endif

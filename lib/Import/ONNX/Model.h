//===- Model.h - The .onnx file: mapped, parsed, its tensors located ------===//
#ifndef ZERO_LIB_IMPORT_ONNX_MODEL_H
#define ZERO_LIB_IMPORT_ONNX_MODEL_H

#include "ExternalData.h"
#include "TensorLocator.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include "lib/Runtime/Data/MappedFile.h"

#include <memory>
#include <string>

namespace zero::onnx_import {

/// The node's name, or its first output's where it has none.
std::string nodeName(const onnx::NodeProto &node);

class Model {
public:
  /// Maps and parses the file; a file that is no ONNX model is a diagnostic at `location`.
  static std::unique_ptr<Model> open(llvm::StringRef path, mlir::Location location);

  const onnx::ModelProto &proto() const { return *model; }
  const onnx::GraphProto &graph() const { return model->graph(); }
  llvm::StringRef path() const { return file; }
  onnx::GraphProto &mutableGraph() { return *model->mutable_graph(); }
  int64_t fileBytes() const { return static_cast<int64_t>(buffer->getBufferSize()); }
  llvm::StringRef fileContents() const { return buffer->getBuffer(); }
  /// The version of the default operator set.
  int64_t opset() const { return opsetVersion; }
  /// The same for a node: a function's nodes have the function's.
  int64_t opset(const onnx::NodeProto &node) const;
  void setOpset(const onnx::NodeProto &node, int64_t version) { nodeOpsets[&node] = version; }

  /// Where the tensors of a copy lie, from those of the original.
  void copyLocations(const onnx::NodeProto &from, const onnx::NodeProto &to);
  void copyLocations(const onnx::AttributeProto &from, const onnx::AttributeProto &to);
  /// Frees the parsed raw bytes of tensors in functions, which copies would multiply; they lie in the file.
  void dropFunctionBytes();

  /// The bytes of a tensor of this model (an initializer or a node's attribute) that are stored raw, in the
  /// model or in an external file. None if they are stored as numbers; failure (with a diagnostic) if they
  /// cannot be had.
  mlir::FailureOr<std::optional<FileBytes>> rawBytes(const onnx::TensorProto &tensor,
                                                     mlir::Location location);

  /// A file that stays mapped as long as this object lives.
  Expected<MappedFile *> map(const std::string &path);
  /// One more initializer, whose elements are these bytes.
  void addInitializer(onnx::TensorProto tensor, FileBytes bytes);
  /// One more initializer, without elements.
  void addInitializer(onnx::TensorProto tensor) { *model->mutable_graph()->add_initializer() = std::move(tensor); }
  /// Whether an initializer was added with its bytes.
  bool isAdded(const onnx::TensorProto &tensor) const { return added.contains(&tensor); }
  /// Whether bytes of the tensor lie in the model or in a file that was added.
  bool hasRawBytes(const onnx::TensorProto &tensor) const;
  /// Why the external file of a tensor is not there; empty if it is.
  std::string whyExternalMissing(const onnx::TensorProto &tensor) const { return external->whyMissing(tensor); }

private:

  std::string file;
  std::unique_ptr<ExternalData> external;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::unique_ptr<onnx::ModelProto> model;
  int64_t opsetVersion = 0;
  void copyLocations(const onnx::GraphProto &from, const onnx::GraphProto &to);
  void copyLocation(const onnx::TensorProto &from, const onnx::TensorProto &to);
  TensorRanges ranges;
  llvm::DenseMap<const onnx::NodeProto *, int64_t> nodeOpsets;
  llvm::DenseMap<const onnx::TensorProto *, FileBytes> added;
  std::map<std::string, std::unique_ptr<MappedFile>> mapped;
};

} // namespace zero::onnx_import

#endif

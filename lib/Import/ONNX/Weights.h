//===- Weights.h - Where the bytes of the model's tensors are to be found later ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_WEIGHTS_H
#define ZERO_LIB_IMPORT_ONNX_WEIGHTS_H

#include "Model.h"
#include "zero/Import/ONNX.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <vector>

namespace zero::onnx_import {

/// The number of elements by the tensor's dims; none if a dim is negative or the product overflows.
std::optional<int64_t> elementCount(const onnx::TensorProto &tensor);

/// Turns tensors of the model into attributes: small ones inline, others as pointers to bytes in a file.
class Weights {
public:
  Weights(Model &model, const ImportOptions &options) : model(model), options(options) {}

  /// Why the model has no values of this tensor, whose bytes would be in a file that is not there or which is a
  /// shape alone; empty if it has.
  std::string whyMissing(const onnx::TensorProto &tensor) const;
  /// All bytes, little-endian and row-major, of a tensor whose type is `type`; valid while this object lives.
  mlir::FailureOr<llvm::ArrayRef<char>> bytes(const onnx::TensorProto &tensor, mlir::RankedTensorType type,
                                              mlir::Location location);
  /// The elements in the attribute itself; for small tensors.
  mlir::FailureOr<mlir::DenseElementsAttr> inlined(const onnx::TensorProto &tensor,
                                                   mlir::RankedTensorType type, mlir::Location location);
  /// `#nn.external` into the model, an external file or the side file; a dense resource where there is no
  /// side file.
  mlir::FailureOr<mlir::Attribute> stored(const onnx::TensorProto &tensor, llvm::StringRef name,
                                          mlir::RankedTensorType type, mlir::Location location);
  /// The model's file itself.
  mlir::Attribute wholeModel(mlir::MLIRContext *context) const;
  /// Writes the side file if anything belongs there.
  mlir::LogicalResult writeSideFile(mlir::Location location);

private:
  std::string relativePath(llvm::StringRef path) const;
  mlir::FailureOr<std::vector<char>> decode(const onnx::TensorProto &tensor, mlir::Location location);

  Model &model;
  const ImportOptions &options;
  /// Decoded tensors that are not stored raw.
  std::map<const onnx::TensorProto *, std::vector<char>> decoded;
  std::vector<char> side;
};

} // namespace zero::onnx_import

#endif

//===- ParameterRules.h - Which weights are trained, and who reads them ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_PARAMETERRULES_H
#define ZERO_LIB_IMPORT_ONNX_PARAMETERRULES_H

#include "ExportSignature.h"
#include "Model.h"
#include "zero/Import/ONNX.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace zero::onnx_import {

/// Whether the elements are floats of a type that can be trained.
bool isFloatType(int onnxType);
/// Whether the regular expression matches the whole name; an empty one matches nothing.
bool matchesWhole(const std::string &pattern, llvm::StringRef name);
/// What a Constant node of floats holds; none for other nodes.
struct FloatConstant {
  llvm::SmallVector<int64_t> dims;
  int onnxType = 0;
};
std::optional<FloatConstant> floatConstantOf(const onnx::NodeProto &node);

/// Decides which weights are trained (Parameters.cpp).
class ParameterRules {
public:
  ParameterRules(const Model &model, const ImportOptions &options);
  /// Checks the regular expressions; a diagnostic if one is malformed or matches no weight.
  mlir::LogicalResult check(mlir::Location location) const;
  /// Why this initializer is not trained; empty if it is.
  std::string whyNotTrained(const onnx::TensorProto &tensor) const;
  /// Whether this initializer says sizes and holds no data.
  bool saysSizes(llvm::StringRef name) const;
  /// The same for the float tensor of the Constant node whose output is `name`.
  std::string whyConstantNotTrained(llvm::StringRef name) const;
  bool isFrozen(llvm::StringRef name) const { return matchesWhole(freeze, name); }
  /// Whether the exporter says which weights are parameters, and whether it says something of this one.
  bool hasMarks() const { return anyMark; }
  bool isMarked(llvm::StringRef name) const { return kinds.count(name) != 0; }
  /// The parameters that the exporter computed an unmarked initializer from, in quotes; empty if none are known.
  std::string parametersReplacedBy(llvm::StringRef name) const {
    return signature.replacedBy(name, consumersOf(name));
  }

  /// The nodes that read a value.
  llvm::ArrayRef<const onnx::NodeProto *> consumersOf(llvm::StringRef name) const;
  /// How many numbers an element of the layer's output is a sum of, and how many outputs an input goes to.
  struct Fans {
    double in = 1, out = 1;
  };
  Fans fansOf(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) const;

private:
  bool feedsOnlyAngles(llvm::StringRef name) const;
  bool isRecurrentWeight(llvm::StringRef name) const;
  void indexGraph();
  const Model &model;
  std::string train, freeze, trainConstants;
  llvm::StringMap<std::string> kinds; // the exporter's mark by initializer
  bool anyMark = false;
  ExportSignature signature;
  llvm::StringMap<llvm::SmallVector<const onnx::NodeProto *, 1>> consumers;
  llvm::StringSet<> varying;
};

} // namespace zero::onnx_import

#endif

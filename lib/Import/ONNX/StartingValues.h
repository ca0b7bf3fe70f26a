//===- StartingValues.h - Which weights --init gives values, and which ----===//
#ifndef ZERO_LIB_IMPORT_ONNX_STARTINGVALUES_H
#define ZERO_LIB_IMPORT_ONNX_STARTINGVALUES_H

#include "ParameterRules.h"

namespace zero::onnx_import {

/// Gives weights the `#nn.initial` that the --init rules say.
class StartingValues {
public:
  StartingValues(const ParameterRules &rules, const ImportOptions &options)
      : rules(rules), options(options), used(options.init.size(), false) {}

  /// Whether a rule with a regular expression matches: only then is a ConstantOfShape a parameter.
  bool isNamed(llvm::StringRef name) const;

  /// The starting values of a weight; null: none are asked for, so the stored ones are used. `isStored`: whether
  /// there are any.
  mlir::FailureOr<mlir::Attribute> find(llvm::StringRef name, mlir::RankedTensorType type, bool isStored,
                                        mlir::Location location);

  /// A diagnostic if a rule with a regular expression was for no weight.
  mlir::LogicalResult checkUsed(mlir::Location location) const;

private:
  std::optional<size_t> match(llvm::StringRef name, bool onlyNamed) const;
  const ParameterRules &rules;
  const ImportOptions &options;
  std::vector<bool> used;
};

} // namespace zero::onnx_import

#endif

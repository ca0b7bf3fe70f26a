//===- RaisePatterns.h - The patterns of nn-raise-composites --------------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_RAISEPATTERNS_H
#define ZERO_LIB_TRANSFORMS_NN_RAISEPATTERNS_H

#include "dialects/NN/NNOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace zero {

/// Remembers what was found, for --remarks.
class RaiseRemarks {
public:
  /// `op` (or what it stands for) is computed at `location` now; `details` say which variant, and may be empty.
  void raised(mlir::Location location, llvm::StringRef op, const llvm::Twine &details = "");
  /// A remark for each in the order of the module's ops, and one of their numbers.
  void emit(mlir::ModuleOp module) const;

private:
  struct Entry {
    mlir::Location location;
    std::string op, details;
  };
  llvm::SmallVector<Entry> entries;
};

void addRaiseAttentionPatterns(mlir::RewritePatternSet &patterns, RaiseRemarks &remarks);
void addCancelTransposesPatterns(mlir::RewritePatternSet &patterns, RaiseRemarks &remarks);
/// After transposes have gone: slices and concats of a rotation are written in place of what they were.
void addRaiseRotationPatterns(mlir::RewritePatternSet &patterns, RaiseRemarks &remarks);
void addRaiseCrossEntropyPatterns(mlir::RewritePatternSet &patterns, RaiseRemarks &remarks);
void addRaiseGeluPatterns(mlir::RewritePatternSet &patterns, RaiseRemarks &remarks);
/// Run one after the other: a norm with a bias holds one without, and that one without a scale.
void addRaiseBiasedLayerNormPatterns(mlir::RewritePatternSet &patterns, RaiseRemarks &remarks);
void addRaiseScaledLayerNormPatterns(mlir::RewritePatternSet &patterns, RaiseRemarks &remarks);
void addRaiseBareLayerNormPatterns(mlir::RewritePatternSet &patterns, RaiseRemarks &remarks);

/// The number that every element of a float constant is; none for anything else.
std::optional<double> splatNumber(mlir::Value value);

/// `value` = factor * rest: strips multiplications with and divisions by splats.
struct Scaled {
  mlir::Value rest;
  double factor = 1;
};
Scaled stripScale(mlir::Value value);

/// The operand of a broadcast that only adds leading dimensions or repeats dimensions in place; `value`
/// otherwise.
mlir::Value stripBroadcast(mlir::Value value);

/// True where two numbers agree as closely as float32 literals of the same constant do.
bool isAbout(double a, double b);

} // namespace zero

#endif

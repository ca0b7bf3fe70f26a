//===- RaisePatterns.h - The patterns of nn-raise-composites --------------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_RAISEPATTERNS_H
#define ZERO_LIB_TRANSFORMS_NN_RAISEPATTERNS_H

#include "dialects/NN/NNOps.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace zero {

void addRaiseAttentionPatterns(mlir::RewritePatternSet &patterns);
void addRaiseGeluPatterns(mlir::RewritePatternSet &patterns);
void addRaiseLayerNormPatterns(mlir::RewritePatternSet &patterns);

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

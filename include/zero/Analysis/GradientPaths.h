//===- GradientPaths.h - Whose gradient a value can be --------------------===//
//
// Gradients of equal shape are alike to types. What tells them apart is what they are made of. A product of matrices (a convolution,
// a row taken by an index) in the backward pass multiplies the gradient that arrives by a value of the forward pass, which was one
// side of a product there: what comes out is the gradient of the other side. So
//
// - a value is a gradient of a parameter only if each such other side depends on the parameter: all that it is made of lies on
//   the ways from the parameter to the loss;
// - a weight passes on the gradient of which its own is made;
// - a parameter on which the loss does not depend has a gradient of constants.
//
// These are necessary conditions, and cheap: near-linear in the ops. Two parameters that enter between the same two products (a
// bias and the scale of the norm behind it) or the first products of one input are not told apart.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_GRADIENTPATHS_H
#define ZERO_ANALYSIS_GRADIENTPATHS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace zero {

/// What shows that a gradient is another's, and the other place of the error.
struct GradientFault {
  mlir::Location loc;
  std::string message;
  mlir::Location other;
  std::string note;
};

/// Looks at @micro of phase `backward` (parameters are arguments, gradients results, by role) or later (parameters are zero.views,
/// gradients operands of zero.packs, by slot). The first fault, if there is one.
std::optional<GradientFault> findForeignGradient(mlir::func::FuncOp micro);

} // namespace zero

#endif

//===- OptimizerRoles.h - What an optimizer takes and gives, by role ------===//
#ifndef ZERO_ANALYSIS_OPTIMIZERROLES_H
#define ZERO_ANALYSIS_OPTIMIZERROLES_H

#include "dialects/NN/NNOps.h"

namespace zero {

struct OptimizerRoles {
  /// Parameter, gradient and states; learning rate and bias corrections. The gradient's scale and what says whether to skip have no role.
  llvm::SmallVector<std::pair<nn::RoleKind, mlir::Value>> operands;
  /// The new parameter and states.
  llvm::SmallVector<std::pair<nn::RoleKind, mlir::Value>> results;
  mlir::Value scale;
  mlir::Value skip; ///< null: it never skips
};

/// Of an nn.adam or nn.sgd; none of any other op.
std::optional<OptimizerRoles> getOptimizerRoles(mlir::Operation *op);

} // namespace zero

#endif

//===- CommandCost.h - What a command computes and moves ------------------===//
#ifndef ZERO_ANALYSIS_COMMANDCOST_H
#define ZERO_ANALYSIS_COMMANDCOST_H

#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include <array>

namespace zero {

/// Elementwise arithmetic by what it takes: a plain operation is an addition, a product, a comparison, a conversion; rounding is to 16 bits.
enum class Arithmetic : unsigned { Plain, Division, Exponential, Logarithm, Tangent, ErrorFunction, Trigonometric, Rounding };
inline constexpr unsigned kArithmeticKinds = 8;
/// "plain", "division" ...
llvm::StringRef getArithmeticName(Arithmetic kind);

/// Sizes of a matrix product: m x k by k x n. `element` is an ElementType of the container.
struct ProductShape {
  int64_t element = 0, m = 0, n = 0, k = 0;
  bool transposeLhs = false, transposeRhs = false;
};

/// What one run of a command costs on one rank.
struct CommandCost {
  /// Floating-point operations: a product with its sum counts two, elementwise arithmetic one an element whatever the
  /// function; moves, comparisons, selections, conversions and integers none. Causal attention counts the pairs that it sees.
  int64_t flops = 0;
  int64_t bytesRead = 0, bytesWritten = 0; ///< sizes of the slices; workspace and staging excluded
  int64_t bytesMoved = 0;                  ///< both, but of a gather only the rows that it takes
  int64_t wireBytes = 0;                   ///< what the rank sends
  int64_t omittedBytes = 0;                ///< of them, zeros that messages between machines leave out whatever the data (OmittedBytes.h)
  std::array<int64_t, kArithmeticKinds> arithmetic = {}; ///< elements that a generated kernel computes, moves excepted
  ProductShape product;                                  ///< of kernel matmul
  int64_t element = 0; ///< of attention and collectives: the ElementType
  int64_t length = 0;  ///< of attention: its keys; of a generated kernel that reduces over rows: bytes of a row
};

/// Costs of commands; what a generated kernel computes is counted once.
class CommandCosts {
public:
  /// The bodies of generated kernels must still be in the module.
  explicit CommandCosts(mlir::ModuleOp module);
  CommandCost get(mlir::Operation *command) const;
  /// For sums: the name of a library kernel, `update` or `fused` for generated ones, all_gather, reduce_scatter, control_sum, copy,
  /// zero.
  llvm::StringRef getKind(mlir::Operation *command) const;
  int64_t getWorldSize() const { return worldSize; }

private:
  struct GeneratedKernel {
    int64_t flops = 0;
    std::array<int64_t, kArithmeticKinds> arithmetic = {};
    bool updates = false; ///< holds an optimizer's step
    int64_t rowBytes = 0; ///< where it reduces over rows
  };
  llvm::StringMap<GeneratedKernel> kernels;
  llvm::DenseSet<mlir::Attribute> scratch; ///< workspace and staging
  llvm::DenseMap<mlir::Operation *, int64_t> omitted;
  int64_t worldSize = 1;
};

} // namespace zero

#endif

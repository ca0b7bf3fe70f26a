//===- KernelShape.h - The iteration space of a fused kernel --------------===//
//
// A generated kernel walks the points of one iteration space in row-major order. Every value of its body is a
// function of some digits of the point's linear index: all of them (a whole tensor), none (a scalar), or a
// few (what a broadcast repeats, what a reduction leaves). Reshapes change no digit, so they cost nothing
// inside a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_KERNELSHAPE_H
#define ZERO_ANALYSIS_KERNELSHAPE_H

#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace zero {

/// The digit (index / stride) % size of a linear index.
struct IndexDigit {
  int64_t stride;
  int64_t size;
  bool operator==(const IndexDigit &) const = default;
};

/// The digits that a value depends on, outermost first; none has size 1, neighbours that touch are merged.
/// Read as one mixed-radix number they are the value's own row-major index.
using IndexMap = llvm::SmallVector<IndexDigit, 2>;

/// Elements of one vector, of one cell of a flat kernel and of one column tile. Part of what a result's bits
/// depend on.
inline constexpr int64_t kVectorElements = 16;
inline constexpr int64_t kCellElements = 64;

/// What one pass over the points of an item computes.
struct KernelPass {
  llvm::SmallVector<nn::ReduceOp> reductions;
  llvm::SmallVector<unsigned> results;  ///< indices
  llvm::SmallVector<mlir::Value> saved; ///< for later passes; each generator decides on its own
};

/// The iteration space is outer x reduced x inner points.
struct KernelShape {
  enum class Kind {
    Elementwise, ///< no reduction; reduced is 1; outer is 1 where every operand is a whole tensor or a scalar
    Row,         ///< reductions over `inner`, any number after each other; reduced is 1
    Column, ///< reductions over `reduced`: each of the `inner` columns of each outer index has its own sum
    Empty,  ///< an operand has no elements: reductions over it give their neutral element
  };
  Kind kind = Kind::Elementwise;
  int64_t outer = 1, reduced = 1, inner = 1;
  /// The digits of every value that has more than one element (splat constants excepted).
  llvm::DenseMap<mlir::Value, IndexMap> maps;
  /// How many reductions stand one after the other before the value is known.
  llvm::DenseMap<mlir::Value, int> levels;

  int64_t getPoints() const { return outer * reduced * inner; }
  /// The digits of `value`; none for scalars and splat constants.
  llvm::ArrayRef<IndexDigit> getMap(mlir::Value value) const;
  /// The digits of one dimension of `value`.
  IndexMap getAxisDigits(mlir::Value value, int64_t axis) const;
  /// Whether `value` changes along the innermost dimension.
  bool variesInside(mlir::Value value) const;
  /// Independent outputs that threads may split: rows, column tiles, or cells of a flat elementwise kernel.
  int64_t getItems() const;
  /// The passes that `results`, made by `ops`, take, by level; results that do not vary inside are of none.
  llvm::SmallVector<KernelPass> planPasses(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<mlir::Value> results) const;
};

/// How the broadcasts of a kernel read values from outside it.
using OperandMaps = llvm::MapVector<mlir::OpOperand *, IndexMap>;

/// Finds the iteration space of `ops` (in an order in which definitions come first) when `results` are
/// written to memory. Fails where there is none and says in `why` (may be null) which value does not fit.
/// With `operandMaps` broadcasts may read a value from outside along different dimensions, as a kernel can
/// that has it as several operands.
mlir::FailureOr<KernelShape> computeKernelShape(llvm::ArrayRef<mlir::Operation *> ops,
                                                mlir::ValueRange results, std::string *why = nullptr,
                                                OperandMaps *operandMaps = nullptr);

/// The iteration space of a function in primitive ops (flattenKernel).
mlir::FailureOr<KernelShape> computeKernelShape(mlir::func::FuncOp flat, std::string *why = nullptr);

/// Whether the generator has code for this op and its element types; composites count by what they decompose
/// into.
bool isCodegenSupported(mlir::Operation *op, std::string *why = nullptr);
/// Whether one kernel can compute the group.
bool isCodegenSupported(nn::GroupOp group, std::string *why = nullptr);
/// Whether one kernel can compute the function (operands = reads, results = writes).
bool isCodegenSupported(mlir::func::FuncOp function, std::string *why = nullptr);

/// A copy of a kernel's function in primitive ops: composites decomposed, dead ops erased.
mlir::FailureOr<mlir::OwningOpRef<mlir::func::FuncOp>> flattenKernel(mlir::func::FuncOp function,
                                                                     std::string *why = nullptr);

/// The number of independent outputs of the kernel that threads may split; the function must be supported.
int64_t getKernelItems(mlir::func::FuncOp function);

/// Whether the memory of result `result` may be that of operand `operand`: same elements in the same place,
/// and no element of the operand is read after the result's is written. Says nothing of other operands that
/// are views of the same memory.
bool canComputeInPlace(mlir::func::FuncOp function, unsigned operand, unsigned result);

/// Equal for functions that differ in name and locations only: they can share one kernel.
std::string getKernelFingerprint(mlir::func::FuncOp function);

} // namespace zero

#endif

//===- KernelEmitter.h - From a kernel's nn ops to loops over vectors -----===//
#ifndef ZERO_LIB_CODEGEN_KERNELEMITTER_H
#define ZERO_LIB_CODEGEN_KERNELEMITTER_H

#include "Lanes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "zero/Analysis/KernelShape.h"
#include "llvm/ADT/SetVector.h"

namespace zero {

/// Writes one kernel as a function `name(pointers, begin, end)` of scf, arith, math, vector and llvm ops at
/// the builder's insertion point. `flat` holds primitive ops only (flattenKernel).
///
/// Values that do not change along the innermost dimension are scalars: those without digits are computed
/// once, the others at the start of each row or after the pass that reduces them. The rest are vectors of 16
/// elements, computed where a pass over the row reads them. The last vector of a row may be shorter in
/// memory, not in registers.
class KernelEmitter {
public:
  KernelEmitter(mlir::OpBuilder &builder, mlir::func::FuncOp flat, const KernelShape &shape);
  void emit(llvm::StringRef name);

private:
  /// One vector of the innermost dimension.
  struct Chunk {
    Chunk(mlir::Value position, int64_t count, int level) : position(position), count(count), level(level) {}
    mlir::Value position; ///< of its first element in the row
    int64_t count;        ///< elements that memory has
    int level;            ///< the pass: reductions of operands below this level are known
    llvm::DenseMap<mlir::Value, mlir::Value> vectors;
  };
  using Pass = KernelPass;
  struct Scratch {
    mlir::Value pointer;
    int level;
  };

  // Shared by all kernels.
  mlir::Value index(int64_t value);
  Lanes scalars() { return {builder, loc, 1}; }
  Lanes vectors() { return {builder, loc, kVectorElements}; }
  mlir::Value allocate(int64_t bytes);
  mlir::Value load(mlir::Value pointer, mlir::Value offset, mlir::Type element, int64_t width, int64_t count);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value offset, mlir::Type element, int64_t count);
  mlir::Value getOffset(mlir::Value value, mlir::Value row);
  mlir::Value getDigits(llvm::ArrayRef<IndexDigit> digits, mlir::Value row);
  bool isSplat(mlir::Value value) const;
  bool isUniform(mlir::Value value) const;
  static mlir::Type elementOf(mlir::Value value);
  mlir::Value getScalar(mlir::Value value);
  mlir::Value getVector(mlir::Value value, Chunk &chunk);
  mlir::Value emitCompare(nn::CompareOp op, Chunk &chunk);
  mlir::Value emitIota(nn::IotaOp op, Chunk *chunk);
  void emitUniformScalars();
  void emitRowScalars(int level);
  mlir::scf::ForOp openLoop(mlir::Value begin, mlir::Value end, int64_t step, mlir::ValueRange carried = {});
  void closeLoop(mlir::scf::ForOp loop, mlir::ValueRange carried = {});

  // Rows (RowKernel.cpp).
  void planSaved();
  void collectNeeded(mlir::Value value, llvm::SetVector<mlir::Value> &needed);
  void markSaved(mlir::Value value, int level, llvm::DenseMap<mlir::Value, int> &firstPass,
                 llvm::DenseSet<mlir::Value> &seen);
  void emitFlat();
  void emitRows();
  void emitPass(Pass &pass, int level);
  void emitChunk(Pass &pass, Chunk chunk, llvm::MutableArrayRef<mlir::Value> accumulators);
  mlir::Value combineLanes(nn::ReduceOp op, mlir::Value vector);
  void emitEmpty();

  // Columns (ColumnKernel.cpp).
  void emitColumns();
  mlir::Value loadSum(mlir::Value pointer, mlir::Value offset, nn::ReduceOp op);
  void storeSum(mlir::Value pointer, mlir::Value offset, nn::ReduceOp op, mlir::Value sum);
  void forEachSum(mlir::Value position, int64_t elements, llvm::function_ref<void(unsigned, nn::ReduceOp, mlir::Value)> body);
  llvm::SmallVector<mlir::Value> loadPartials(mlir::Value position, int64_t elements);
  void storePartials(mlir::Value position, int64_t elements, llvm::ArrayRef<mlir::Value> sums);
  void emitColumnVectors(mlir::Value tile, int64_t elements, llvm::MutableArrayRef<mlir::Value> sums);
  void emitColumnResults(mlir::Value outerIndex, mlir::Value tile, mlir::Value scratchTile, int64_t elements);
  void forEachTile(mlir::Value begin, mlir::Value end, llvm::function_ref<void(mlir::Value, int64_t)> body);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const KernelShape &shape;
  mlir::Block &body;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> results; // of the body
  llvm::SmallVector<mlir::Value> resultPointers;
  llvm::DenseMap<mlir::Value, mlir::Value> operandPointers;
  mlir::Value beginItem, endItem;
  mlir::Block *entry = nullptr; // where stack memory is allocated, whatever loop is being written

  mlir::Value row;                                  // index of the current row: outer, or outer x reduced
  llvm::DenseMap<mlir::Value, mlir::Value> known;   // scalars by value of the body
  llvm::DenseMap<mlir::Value, mlir::Value> offsets; // of the current row in each operand and result
  llvm::SmallVector<Pass> passes;                   // by level
  llvm::DenseMap<mlir::Value, Scratch> scratch;
  // Column sums of each reduction: of the blocks of rows so far, and of the current one.
  llvm::SmallVector<mlir::Value> totals, partials;
};

} // namespace zero

#endif

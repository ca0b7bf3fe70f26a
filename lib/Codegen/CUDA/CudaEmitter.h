//===- CudaEmitter.h - From a kernel's nn ops to CUDA C++ -----------------===//
#ifndef ZERO_LIB_CODEGEN_CUDA_CUDAEMITTER_H
#define ZERO_LIB_CODEGEN_CUDA_CUDAEMITTER_H

#include "CudaText.h"
#include "zero/Analysis/CudaSchedule.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace zero {

/// What is known of one pointer of a kernel at all its dispatches.
struct CudaPointer {
  int64_t alignment = 16; ///< bytes: a power of two, at most 16
  /// Whether another pointer of the kernel may lead to the same bytes, one of them being written.
  bool overlaps = false;
};

/// Writes one kernel as `extern "C" __global__ void NAME(const T0 *p0, .., Tn *pn)`, operands then results. `flat` holds primitive
/// ops only (flattenKernel).
///
/// Values that do not change along the innermost dimension are scalars: those without digits are computed once by each thread, the
/// others at the start of each row or after the pass that reduces them. The rest are computed element by element, in unrolled
/// loops over the neighbours that a thread has read at once.
class CudaEmitter {
public:
  CudaEmitter(mlir::func::FuncOp flat, const KernelShape &shape, const CudaSchedule &schedule, llvm::ArrayRef<CudaPointer> pointers);
  std::string emit(llvm::StringRef name);

private:
  /// A value's name in registers and, of floats of 16 bits, perhaps that of the form that memory has.
  struct Name {
    std::string value, packed;
  };
  using Pass = KernelPass;
  /// One element of the innermost dimension.
  struct Element {
    int level = 0;        ///< the pass: reductions of operands below this level are known
    std::string position; ///< its index in the row
    llvm::DenseMap<mlir::Value, Name> names;
  };
  /// Registers of a thread that hold its elements of an operand or of a saved value.
  struct Array {
    std::string name;
    int level; ///< of the pass that fills it
  };

  // Values (CudaEmitter.cpp).
  static mlir::Type elementOf(mlir::Value value);
  static bool isSplat(mlir::Value value) { return value.getDefiningOp<nn::ConstantOp>() != nullptr; }
  bool isUniform(mlir::Value value) const { return shape.getMap(value).empty() && shape.levels.lookup(value) == 0; }
  std::string newName(llvm::StringRef prefix) { return prefix.str() + std::to_string(counts[prefix]++); }
  std::string getDigits(llvm::ArrayRef<IndexDigit> digits) const;
  std::string getOffset(mlir::Value value);
  std::string getIota(nn::IotaOp op, const std::string &position);
  Name declare(mlir::Operation *op, llvm::ArrayRef<std::string> operands);
  std::string getScalar(mlir::Value value);
  Name getElement(mlir::Value value, Element &element);
  void emitScalar(mlir::Operation *op);
  void emitUniformScalars();
  void emitRowScalars(int level, int firstPass = 0);
  void emitScalarResults();
  void collectNeeded(mlir::Value value, int level, llvm::SetVector<mlir::Value> &needed) const;
  llvm::SetVector<mlir::Value> collectNeeded(const Pass &pass, int level) const;

  // Vectors of elements (CudaEmitter.cpp).
  std::string getParameters() const;
  std::string getPointer(unsigned index) const { return "p" + std::to_string(index); }
  std::string getAddress(unsigned pointer, mlir::Value value, const std::string &position);
  /// `array` of one element, in the loop over the vector.
  std::string at(const std::string &array) const { return schedule.vector > 1 ? array + "[j]" : array; }
  std::string getDimensions(bool chunked) const;
  std::string getNumber(int64_t value) const { return std::to_string(value) + (index == "u64" ? "ull" : ""); }
  void openVector();
  void closeVector();
  void emitLoad(mlir::Value argument, const std::string &array, const std::string &position);
  void emitLoads(llvm::ArrayRef<mlir::Value> arguments, const std::string &position, const std::string &whole);
  void emitElements(Pass &pass, int level, const std::string &position, const std::string &whole = "");
  void declareAccumulators(Pass &pass);

  // One form each.
  void emitPoints();
  void emitRows();
  void planRowRegisters();
  void emitRow();
  void openChunks();
  void closeChunks();
  void emitRowPass(Pass &pass, int level);
  void emitRowReductions(Pass &pass);
  void emitColumns();
  void emitColumnTotals(Pass &pass);
  void emitFill();

  const KernelShape &shape;
  const CudaSchedule &schedule;
  llvm::ArrayRef<CudaPointer> pointers;
  mlir::Block &body;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> results; // of the body
  llvm::SmallVector<Pass> passes;         // by level
  CudaLines out;
  std::string index; ///< the type of indices
  llvm::StringMap<unsigned> counts;
  llvm::DenseMap<mlir::Value, std::string> known; // scalars
  llvm::StringMap<std::string> offsets;           // of the current row in operands and results, by expression
  llvm::DenseMap<mlir::Value, Array> arrays;
  llvm::DenseMap<mlir::Operation *, std::string> accumulators; // of reductions
  // Of rows.
  int64_t chunks = 1;                   ///< vectors of a row that a thread has
  bool unrolled = false;                ///< they are computed under constant indices
  llvm::SetVector<mlir::Value> kept;    ///< operands that stay in registers from pass to pass
  llvm::DenseMap<mlir::Operation *, std::string> partials; ///< shared memory for the warps' sums
};

} // namespace zero

#endif

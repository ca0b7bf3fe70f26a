//===- CudaText.h - nn ops as expressions of CUDA C++ ---------------------===//
//
// One element at a time: how many of them a thread computes is the emitter's business. An f16 or bf16 is a float in registers,
// computed as such and rounded to its type after each op: the same bits whether the next op reads it from memory or is in the same
// kernel. Names that are not CUDA's stand in Prelude.cuh.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CODEGEN_CUDA_CUDATEXT_H
#define ZERO_LIB_CODEGEN_CUDA_CUDATEXT_H

#include "dialects/NN/NNOps.h"
#include <string>

namespace zero {

/// Lines of code, indented by the braces around them.
class CudaLines {
public:
  void line(const llvm::Twine &text) { lines += std::string(2 * depth, ' ') + text.str() + "\n"; }
  /// A line that begins at the margin.
  void directive(const llvm::Twine &text) { lines += text.str() + "\n"; }
  void open(const llvm::Twine &text) {
    line(text.isTriviallyEmpty() ? "{" : text + " {");
    ++depth;
  }
  void close(const llvm::Twine &text = "") {
    --depth;
    line("}" + text);
  }
  void indent() { ++depth; }
  std::string take() { return std::move(lines); }

private:
  std::string lines;
  unsigned depth = 0;
};

/// The type that an element has in registers, and the one it has in memory.
std::string getRegisterType(mlir::Type element);
std::string getMemoryType(mlir::Type element);
/// Between the two. What is stored is a value of the type.
std::string readMemory(const std::string &text, mlir::Type element);
std::string writeMemory(const std::string &text, mlir::Type element);
/// Whether a value of the type has another form in memory, into which it is rounded.
bool isNarrowFloat(mlir::Type element);

/// A splat's number in registers.
std::string makeLiteral(mlir::Attribute value, mlir::Type element);
/// The result of an elementwise op (not a composite) before it is rounded to its type.
std::string makeElementwise(mlir::Operation *op, llvm::ArrayRef<std::string> operands);
/// Whether that result is a value of its type already.
bool needsRounding(mlir::Operation *op);
std::string makeRounded(const std::string &text, mlir::Type element);

/// How a reduction combines two values, and what it starts from.
std::string makeCombined(nn::ReduceKind kind, const std::string &a, const std::string &b, mlir::Type element);
std::string makeNeutral(nn::ReduceKind kind, mlir::Type element);
/// Of several at once, as a tree.
std::string makeCombined(nn::ReduceKind kind, llvm::ArrayRef<std::string> values, mlir::Type element);

} // namespace zero

#endif

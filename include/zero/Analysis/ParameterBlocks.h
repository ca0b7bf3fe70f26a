//===- ParameterBlocks.h - Which parameters are gathered together ---------===//
#ifndef ZERO_ANALYSIS_PARAMETERBLOCKS_H
#define ZERO_ANALYSIS_PARAMETERBLOCKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <string>

namespace zero {

/// A trained parameter of a function, and the block of the model that it belongs to.
struct ParameterBlock {
  mlir::BlockArgument parameter;
  llvm::StringRef name;
  std::string block;
};

/// The trained parameters of a function of one block (arguments with an `nn.role` of kind parameter), in order of
/// first use, the unused ones last. A block is the name up to its first component that is a number ("h.0" of
/// "h.0.attn.weight"); what follows one another without a number is a block too. In a model without any number it is
/// a module, or, without modules, what follows a matrix up to the next one.
llvm::SmallVector<ParameterBlock> findParameterBlocks(mlir::func::FuncOp function);

/// Keeps a kernel from reading parameters of two blocks of the model: at stage 3 those of the second would be gathered before their time.
class ParameterReads {
public:
  explicit ParameterReads(mlir::func::FuncOp function);
  /// Whether the trained parameters among `operands` are of one block at most. Reshapes, transposes, slices and casts of a parameter
  /// count as the parameter.
  bool areOfOneBlock(llvm::ArrayRef<mlir::Value> operands) const;

private:
  llvm::DenseMap<mlir::Value, unsigned> blocks; ///< numbers, by parameter
};

} // namespace zero

#endif

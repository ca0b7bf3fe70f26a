//===- StepFunctions.h - @micro and @update by the roles of their values --===//
#ifndef ZERO_LIB_TRANSFORMS_ZERO_STEPFUNCTIONS_H
#define ZERO_LIB_TRANSFORMS_ZERO_STEPFUNCTIONS_H

#include "dialects/NN/NNOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zero::sharding {

/// The function of the module, which must have one block; the error names the pass that makes it.
mlir::FailureOr<mlir::func::FuncOp> getStepFunction(mlir::ModuleOp module, llvm::StringRef name);
/// @predict; null where the module has none.
mlir::func::FuncOp getPredict(mlir::ModuleOp module);
/// The functions of a step that the module has (hand-written tests may have any functions).
llvm::SmallVector<mlir::func::FuncOp> getFunctionsOfOneBlock(mlir::ModuleOp module);

/// Null where there is none.
nn::RoleAttr getArgumentRole(mlir::func::FuncOp function, unsigned index);
nn::RoleAttr getResultRole(mlir::func::FuncOp function, unsigned index);
/// The argument of that role and name; null where there is none.
mlir::BlockArgument findArgument(mlir::func::FuncOp function, nn::RoleKind kind, llvm::StringRef name);

/// Parameters, gradients and optimizer states: what buckets hold.
bool isBucketRole(nn::RoleKind kind);

/// The float type of that name (f32, f16, bf16), which option `option` of a pass was given; null where the name is empty. Fails
/// with an error for any other name.
mlir::FailureOr<mlir::Type> parseElement(mlir::ModuleOp module, llvm::StringRef option, llvm::StringRef name);

/// The results of a function with their attributes: read as one, changed, and put back as one.
struct ResultList {
  explicit ResultList(mlir::func::FuncOp function);
  ResultList() = default;
  void add(mlir::Value value, mlir::DictionaryAttr attrs);
  /// Makes these the results of `function`.
  void assignTo(mlir::func::FuncOp function) const;

  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::DictionaryAttr> attrs;
};

/// Arguments to be: added one by one, they would leave a function type and a list of attributes each in the context,
/// all as long as the function has arguments.
struct ArgumentList {
  void add(mlir::Type type, mlir::DictionaryAttr attrs, mlir::Location loc);
  /// Puts them, in order, before argument `index` and returns them.
  mlir::Block::BlockArgListType insertInto(mlir::func::FuncOp function, unsigned index) const;

  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attrs;
  llvm::SmallVector<mlir::Location> locs;
};

/// `{nn.role = #nn.role<kind "name">}`.
mlir::DictionaryAttr makeRole(mlir::MLIRContext *context, nn::RoleKind kind, llvm::StringRef name);

/// The single mesh of the module; null, with an error, where there is none or more than one.
mlir::FailureOr<MeshOp> getMesh(mlir::ModuleOp module);

} // namespace zero::sharding

#endif

//===- PlanBuilder.h - The plan while zero-to-plan makes it ---------------===//
//
// Storages (buffers to be), states and kernels of the whole module; sections are lowered one after the other
// onto them.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CONVERSION_PLANBUILDER_H
#define ZERO_LIB_CONVERSION_PLANBUILDER_H

#include "Layout.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace zero::conversion {

/// A buffer to be.
struct Storage {
  std::string name;
  int64_t bytes = 0;
  plan::ContentClass content = plan::ContentClass::activations;
  int64_t paddingBytes = 0;
  bool state = false;
  std::string label;
  mlir::Location loc;
};

/// Bytes of a storage; `strides` (elements of the value's own shape) are empty where the value is dense.
struct Place {
  unsigned storage = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t rankStride = 0;
  Strides strides;

  bool operator==(const Place &) const = default;
  /// Whether some rank's bytes of both are the same. Ranges of ranks are taken for all ranks at once.
  bool overlaps(const Place &other, int64_t worldSize) const;
  /// This rank's equal share of dense bytes.
  Place ownRange(int64_t worldSize) const;
};

/// A state of the run: what arguments and results of one role and name have in common.
struct State {
  nn::RoleAttr role;
  mlir::Type type;
  Place place;
  mlir::Attribute data;
  bool sharded = false;
  mlir::Location loc;
};

/// A generated kernel and the function that says what it computes.
struct GeneratedKernel {
  mlir::StringAttr name;
  mlir::func::FuncOp body;
};

/// The functions that become sections: a step's two, @predict, or all three. Null where there is none.
struct PlanFunctions {
  mlir::func::FuncOp micro, update, predict;

  llvm::SmallVector<mlir::func::FuncOp, 3> all() const {
    llvm::SmallVector<mlir::func::FuncOp, 3> functions;
    for (mlir::func::FuncOp function : {micro, update, predict})
      if (function)
        functions.push_back(function);
    return functions;
  }
};

class PlanBuilder {
public:
  explicit PlanBuilder(mlir::ModuleOp module);

  /// Makes the states of the arguments and results of all functions. An output is a state only in that a role says
  /// where it lies: its storage is @predict's alone.
  mlir::LogicalResult collectStates(const PlanFunctions &functions);

  mlir::ModuleOp getModule() const { return module; }
  int64_t getWorldSize() const { return worldSize; }
  bool isForCuda() const { return plan::isForCuda(module); }
  bool isDeterministic() const { return module->hasAttr(plan::kDeterministicAttrName); }
  /// Scratch of the library kernel, which is its last write.
  int64_t getWorkspaceBytes(llvm::StringRef name, llvm::ArrayRef<int64_t> integers) const;
  llvm::StringRef getTargetName() const { return isForCuda() ? "cuda" : "cpu"; }
  /// Bytes of a tensor, shard, full or partial (of a future: of its value).
  int64_t getBytes(mlir::Type type) const;
  sharding::BucketOp getBucket(mlir::Type type) const;
  /// The element of a tensor, shard, full or partial (of a future: of its value).
  mlir::Type getElement(mlir::Type type) const;

  unsigned addStorage(Storage storage);
  const Storage &getStorage(unsigned index) const { return storages[index]; }
  /// Gives the storage of a shard, full or partial bucket (or a future of one) its label and padding.
  void describeBucket(unsigned storage, mlir::Type type);
  /// The state of that role and name, or null.
  const State *findState(nn::RoleAttr role) const;
  /// The state of the role on argument or result `index`, or null.
  const State *findArgumentState(mlir::func::FuncOp function, unsigned index) const;
  const State *findResultState(mlir::func::FuncOp function, unsigned index) const;
  /// Where a constant lies: a frozen state, shared by equal constants.
  Place getConstant(nn::ConstantOp constant);
  /// The staging region, made large enough for `bytes`; one region serves all reductions.
  Place getStaging(int64_t bytes, mlir::Location loc);

  /// The kernel of a detached private function; equal functions share one. Takes the function over. Fails
  /// (with an error at `source`) where the generator has no code for it.
  mlir::FailureOr<GeneratedKernel> getKernel(mlir::func::FuncOp body, mlir::Operation *source);

  /// Whether the library has a kernel of that name for these parameters; an error at `source` where it has none.
  mlir::LogicalResult checkKernel(llvm::StringRef name, llvm::ArrayRef<int64_t> integers, llvm::ArrayRef<double> reals,
                                  mlir::Operation *source);
  plan::SliceAttr getSlice(const Place &place) const;
  /// A record of what the executor reads after the step.
  void addStepResult(llvm::StringRef kind, mlir::Type element, const Place &place, mlir::Location loc);

  /// Emits arena, buffers, inputs, outputs, states, step scalars and results at the start of the module.
  mlir::LogicalResult emitRecords(const PlanFunctions &functions);

private:
  mlir::LogicalResult addState(mlir::func::FuncOp function, nn::RoleAttr role, mlir::Type type,
                               mlir::DictionaryAttr attrs, mlir::Location loc);
  void emitInputs(mlir::OpBuilder &builder, const PlanFunctions &functions);
  void emitOutputs(mlir::OpBuilder &builder, mlir::func::FuncOp predict);
  /// The element that the record of a state names; none where its bucket or its data say it.
  mlir::TypeAttr getStatedElement(const State &state, mlir::Attribute data) const;
  mlir::LogicalResult emitStepScalar(mlir::OpBuilder &builder, mlir::func::FuncOp update, unsigned index,
                                     const State &state);

  struct StepResult {
    std::string kind;
    mlir::Type element;
    Place place;
    mlir::Location loc;
  };

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  int64_t worldSize = 1;
  std::vector<Storage> storages;
  llvm::StringMap<unsigned> names; // how often a storage's name was asked for
  llvm::MapVector<mlir::Attribute, State> states;
  llvm::DenseMap<mlir::Attribute, unsigned> constants;
  llvm::StringMap<GeneratedKernel> kernels;
  llvm::StringSet<> checkedKernels; // of the library, with their parameters
  std::optional<unsigned> staging;
  llvm::SmallVector<StepResult> stepResults;
};

} // namespace zero::conversion

#endif

//===- Graph.h - One import from beginning to end -------------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_GRAPH_H
#define ZERO_LIB_IMPORT_ONNX_GRAPH_H

#include "Importer.h"
#include "Weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace zero::onnx_import {

/// An initializer that the loss may read, or a large tensor of a Constant node.
struct Stored {
  const onnx::TensorProto *tensor = nullptr;
  std::string name;
  mlir::RankedTensorType type;
  mlir::BlockArgument argument; // null: inline
  /// Empty: a trained parameter.
  std::string whyNotTrained;
  bool isInitializer = true;
};

/// Decides which initializers are trained (Parameters.cpp).
class ParameterRules {
public:
  ParameterRules(const Model &model, const ImportOptions &options);
  /// Checks the regular expressions; a diagnostic if one is malformed or matches no weight.
  mlir::LogicalResult check(mlir::Location location) const;
  /// Why this float initializer is not trained; empty if it is.
  std::string whyNotTrained(const onnx::TensorProto &tensor) const;

private:
  bool feedsOnlyAngles(llvm::StringRef name) const;
  void indexGraph();
  const Model &model;
  std::string train, freeze;
  llvm::StringMap<std::string> kinds; // the exporter's mark by initializer
  bool anyMark = false;
  llvm::StringMap<llvm::SmallVector<const onnx::NodeProto *, 1>> consumers;
  llvm::StringSet<> varying;
};

/// Warns of initializers that an exporter's optimizer put in the place of several equal ones
/// (MergedWeights.cpp).
void warnOfMergedWeights(const Model &model, Weights &weights, llvm::ArrayRef<Stored *> parameters,
                         mlir::Location location);

class Importer {
public:
  /// `dims`: sizes of symbolic dimensions that bound inputs say.
  Importer(Model &model, const ImportOptions &options, llvm::StringMap<int64_t> dims,
           mlir::MLIRContext *context);
  mlir::OwningOpRef<mlir::ModuleOp> run();

  /// As NodeContext::stored.
  mlir::FailureOr<Tensor> stored(const onnx::TensorProto &tensor, llvm::StringRef name, bool isInitializer);
  /// As NodeContext::dependsOnParameter.
  bool dependsOnParameter(mlir::Value value) const;

private:
  bool hasLoss() const { return options.loss.kind != LossSpec::Kind::None; }
  mlir::LogicalResult findLossOutput();
  void findNeeded();
  mlir::LogicalResult checkOperators();
  std::optional<std::string> whyUnsupported(const onnx::NodeProto &node) const;
  mlir::LogicalResult addInputs();
  mlir::FailureOr<Tensor> addInput(const onnx::ValueInfoProto &input);
  mlir::LogicalResult importNode(const onnx::NodeProto &node);
  /// A node that only outputs need: where it cannot be imported, `missing` says why its values are not there.
  void importOptionalNode(const onnx::NodeProto &node);
  mlir::FailureOr<const Binding *> lookUp(const std::string &name);
  mlir::FailureOr<const Binding *> lookUpOutput(const std::string &name);
  mlir::LogicalResult addLoss();
  mlir::FailureOr<Tensor> addLabels(const Dims &shape, mlir::Type element);
  mlir::FailureOr<Tensor> addCrossEntropyLabels(Tensor &logits);
  /// One result for each output of the graph (Outputs.cpp).
  mlir::LogicalResult addOutputs();
  mlir::LogicalResult addOutput(const std::string &name);
  bool isBatch(const Dim &dim) const;
  void addResult(mlir::Value value, nn::RoleKind role, llvm::StringRef name, bool batched);
  /// The weights that the loss depends on.
  llvm::DenseSet<mlir::Value> findTrainable();
  mlir::LogicalResult finish();
  mlir::BlockArgument addArgument(mlir::RankedTensorType type, nn::RoleKind role, llvm::StringRef name);

  Model &model;
  const ImportOptions &options;
  Weights weights;
  ParameterRules rules;
  mlir::MLIRContext *context;
  mlir::Location location; // of the model
  NodeContext node;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;

  std::string lossOutput;
  /// What the loss depends on (without a loss: what the outputs do), and what outputs need beyond it.
  llvm::StringSet<> neededValues, optionalValues;
  llvm::DenseSet<const onnx::NodeProto *> neededNodes, optionalNodes;
  llvm::StringMap<std::string> missing; // values of optional nodes that could not be imported, with the reason
  std::map<std::string, const onnx::TensorProto *> initializers;
  std::map<std::string, Binding> bindings;
  llvm::StringMap<const onnx::ValueInfoProto *> inputs;
  std::vector<std::unique_ptr<Stored>> storedTensors;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes, resultAttributes;
  llvm::SmallVector<mlir::Value> results;
  Dim batch;
  /// Sizes of symbols that the options give, and those that bound inputs say.
  llvm::StringMap<int64_t> boundDims;
  std::optional<int64_t> fixedBatch; // of a trained model: the first dimension that its inputs fix
  llvm::StringSet<> usedDims, knownDims;
};

} // namespace zero::onnx_import

#endif

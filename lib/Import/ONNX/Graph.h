//===- Graph.h - One import from beginning to end -------------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_GRAPH_H
#define ZERO_LIB_IMPORT_ONNX_GRAPH_H

#include "ConstantEvaluator.h"
#include "Importer.h"
#include "ParameterRules.h"
#include "StartingValues.h"
#include "Weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include <map>

namespace zero::onnx_import {

/// An initializer that the loss may read, a trained or large tensor of a Constant node, or what a ConstantOfShape
/// starts from.
struct Stored {
  const onnx::TensorProto *tensor = nullptr; // null: it has starting values only
  std::string name;
  mlir::RankedTensorType type;
  mlir::BlockArgument argument; // null: inline
  /// Empty: a trained parameter.
  std::string whyNotTrained;
  bool isInitializer = true;
  /// The model names the weight and has no values of it: why.
  std::string missing;
};

/// Warns of initializers that an exporter's optimizer put in the place of several equal ones, or made out of
/// others; `others` are those that are not trained (MergedWeights.cpp).
void warnOfMergedWeights(const Model &model, const ParameterRules &rules, Weights &weights, llvm::ArrayRef<Stored *> parameters,
                         llvm::ArrayRef<Stored *> others, mlir::Location location);

class Importer {
public:
  /// `dims`: sizes of symbolic dimensions that bound inputs say.
  Importer(Model &model, const ImportOptions &options, llvm::StringMap<int64_t> dims,
           mlir::MLIRContext *context);
  mlir::OwningOpRef<mlir::ModuleOp> run();

  /// The float weights of the model as a table. Returns the elements of those that are trained, as far as shapes are known
  /// before import; `unknown` becomes the name of a trained one whose shape is not.
  mlir::FailureOr<int64_t> listParameters(llvm::raw_ostream &os, std::string &unknown);

  /// As NodeContext::stored.
  enum class Origin { Initializer, Constant, Other };
  mlir::FailureOr<Tensor> stored(const onnx::TensorProto &tensor, llvm::StringRef name, Origin origin);
  /// As NodeContext::parameterOfShape.
  mlir::FailureOr<Tensor> storedFloats(llvm::ArrayRef<float> numbers, bool scalar, llvm::StringRef name);
  mlir::FailureOr<std::optional<Tensor>> parameterOfShape(llvm::StringRef name, mlir::RankedTensorType type);
  /// As NodeContext::paddingRow.
  mlir::FailureOr<std::optional<int64_t>> paddingRow(mlir::Value table);
  /// As NodeContext::trains.
  bool hasLoss() const { return options.loss.kind != LossSpec::Kind::None; }
  /// As NodeContext::dependsOnParameter.
  bool dependsOnParameter(mlir::Value value) const;
  /// As NodeContext::isWeight.
  bool isWeight(mlir::Value value) const {
    return llvm::any_of(storedTensors, [&](const auto &entry) { return entry->argument == value; });
  }

  /// Imports the nodes of a branch or of one iteration, in the place of the node at work: its graph's inputs
  /// stand for `inputs`. Gives the graph's outputs. Nodes are named with `scope` in front.
  mlir::FailureOr<llvm::SmallVector<Binding>> importBody(const onnx::GraphProto &graph,
                                                         llvm::ArrayRef<Binding> inputs, std::string scope);
  ConstantEvaluator &constants() { return evaluator; }

private:
  /// What the outputs of a graph that are asked for depend on.
  struct Needed {
    llvm::StringSet<> values;
    llvm::DenseSet<const onnx::NodeProto *> nodes;
  };
  /// Names that the main graph or a body defines, and what they stood for outside.
  struct Scope {
    llvm::StringSet<> defined;
    std::vector<std::pair<std::string, std::optional<Binding>>> hidden;
  };

  mlir::LogicalResult findLossOutput();
  static Needed findNeeded(const onnx::GraphProto &graph, llvm::ArrayRef<std::string> roots);
  mlir::LogicalResult checkOperators(const onnx::GraphProto &graph, const Needed &needed);
  std::optional<std::string> whyUnsupported(const onnx::NodeProto &node) const;
  /// False if the graph at work defines the name already.
  bool define(const std::string &name, Binding binding);
  std::optional<reference::HostTensor> constantArgument(mlir::BlockArgument argument);
  mlir::LogicalResult addInputs();
  mlir::FailureOr<Tensor> addInput(const onnx::ValueInfoProto &input);
  mlir::LogicalResult importNode(const onnx::NodeProto &node, const Needed &needed);
  /// A node that only outputs need: where it cannot be imported, `missing` says why its values are not there.
  void importOptionalNode(const onnx::NodeProto &node);
  mlir::FailureOr<const Binding *> lookUp(const std::string &name);
  mlir::FailureOr<const Binding *> lookUpOutput(const std::string &name);
  mlir::LogicalResult addLoss();
  Dims labelShape(const Dims &shape, mlir::Value prediction);
  mlir::FailureOr<Tensor> addLabels(const Dims &positions, mlir::Type element, mlir::Value prediction);
  mlir::FailureOr<Tensor> addLabelArgument(const Dims &shape, mlir::Type element);
  mlir::LogicalResult checkDeclared(const Tensor &tensor, llvm::StringRef name);
  mlir::FailureOr<Tensor> addCrossEntropyLabels(Tensor &logits);
  /// One result for each output of the graph (Outputs.cpp).
  mlir::LogicalResult addOutputs();
  mlir::LogicalResult addOutput(const std::string &name);
  bool isBatch(const Dim &dim) const;
  void addResult(mlir::Value value, nn::RoleKind role, llvm::StringRef name, bool batched);
  /// The weights that the loss depends on.
  llvm::DenseSet<mlir::Value> findTrainable();
  mlir::LogicalResult finish();
  mlir::LogicalResult checkPaddingRows();
  mlir::LogicalResult explainNoParameter(const std::map<std::string, Stored *> &byName);
  mlir::FailureOr<mlir::Attribute> dataOf(Stored &entry);
  void warnOfMissingValues() const;
  mlir::BlockArgument addArgument(mlir::RankedTensorType type, nn::RoleKind role, llvm::StringRef name);

  Model &model;
  const ImportOptions &options;
  Weights weights;
  ParameterRules rules;
  StartingValues startingValues;
  mlir::MLIRContext *context;
  mlir::Location location; // of the model
  NodeContext node;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;

  std::string lossOutput;
  /// What the loss depends on (without a loss: what the outputs do), and what outputs need beyond it.
  Needed needed, optional;
  llvm::StringMap<std::string> missing; // values of optional nodes that could not be imported, with the reason
  std::map<const onnx::GraphProto *, std::unique_ptr<Needed>> needs; // of bodies
  Scope mainScope;
  Scope *scopeAtWork = &mainScope;
  int64_t importedNodes = 0;
  ConstantEvaluator evaluator;
  std::map<std::string, const onnx::TensorProto *> initializers;
  std::map<std::string, Binding> bindings;
  llvm::StringMap<const onnx::ValueInfoProto *> inputs;
  std::vector<std::unique_ptr<Stored>> storedTensors;
  std::map<const onnx::TensorProto *, Tensor> builtTensors; // of Constant nodes, which a body may hold
  std::map<uint64_t, Stored *> trainedConstants; // by their bytes' place in the model's file
  std::map<const onnx::NodeProto *, onnx::TensorProto> ownTensors; // floats that the model holds as attributes
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes, resultAttributes;
  llvm::SmallVector<mlir::Value> results;
  Dim batch;
  /// Sizes of symbols that the options give, and those that bound inputs say.
  llvm::StringMap<int64_t> boundDims;
  std::optional<int64_t> fixedBatch; // of a trained model: the first dimension that its inputs fix
  llvm::StringSet<> usedDims, knownDims, lookedUp;
};

} // namespace zero::onnx_import

#endif

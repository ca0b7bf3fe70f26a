//===- Importer.h - The state of one import, and what an operator's builder may do ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_IMPORTER_H
#define ZERO_LIB_IMPORT_ONNX_IMPORTER_H

#include "Dim.h"
#include "Model.h"
#include "dialects/NN/NNOps.h"
#include "zero/Reference/HostTensor.h"
#include "zero/Import/ONNX.h"

namespace zero::onnx_import {

/// A value of the graph under construction.
struct Tensor {
  mlir::Value value;
  Dims shape;
  /// The elements of a small integer tensor of rank 0 or 1, where they are known (for every batch).
  std::optional<Dims> contents;

  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  mlir::Type elementType() const { return type().getElementType(); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

/// What an ONNX name stands for: one tensor, or a sequence of them.
struct Binding {
  llvm::SmallVector<Tensor, 1> tensors;
  bool isSequence = false;
  bool isNone = false; // an optional without element
};

/// Builds `nn` ops at the insertion point, with locations of the node at work, and tracks symbolic shapes.
class GraphBuilder {
public:
  explicit GraphBuilder(mlir::MLIRContext *context) : builder(context) {}
  virtual ~GraphBuilder() = default;

  /// An error at the location.
  virtual mlir::InFlightDiagnostic error() { return mlir::emitError(location); }

  mlir::OpBuilder builder;
  mlir::Location location = builder.getUnknownLoc();

  mlir::RankedTensorType tensorType(llvm::ArrayRef<Dim> shape, mlir::Type element) const;
  /// A dimension about which nothing is known.
  Dim freshDim() { return Dim::symbol(nextSymbol++); }

  template <typename OpTy, typename... Args> Tensor make(Dims shape, mlir::Type element, Args &&...args) {
    noteSize(tensorType(shape, element));
    auto op = OpTy::create(builder, location, tensorType(shape, element), std::forward<Args>(args)...);
    return Tensor{op->getResult(0), std::move(shape), std::nullopt};
  }
  /// Larger tensors are not made: no sum of sizes in bytes overflows.
  static constexpr int64_t kMaxElements = int64_t(1) << 48;
  static constexpr int64_t kMaxRank = 64;
  /// The first type that is larger, or null.
  mlir::Type excessiveType() const { return excess; }
  void forgetExcess() { excess = nullptr; }

  template <typename OpTy> Tensor unary(const Tensor &x) {
    return make<OpTy>(x.shape, x.elementType(), x.value);
  }
  template <typename OpTy> Tensor binary(const Tensor &x, const Tensor &y) {
    return make<OpTy>(x.shape, x.elementType(), x.value, y.value);
  }

  Tensor constant(mlir::DenseElementsAttr value);
  /// An i64 tensor of rank 0 (`scalar`) or 1 with these elements.
  Tensor integers(llvm::ArrayRef<int64_t> elements, bool scalar = false);
  /// One number of the given element type, repeated over a static shape.
  Tensor splat(double number, mlir::Type element, llvm::ArrayRef<int64_t> shape = {});

  /// The shape as a 1-d i64 tensor: constants where dims are numbers, `nn.shape_of` elsewhere.
  Tensor shapeOf(const Tensor &x);
  /// Symbols of `shape` are dimensions of x or of `sources`; one more may be what remains.
  Tensor reshape(const Tensor &x, Dims shape, llvm::ArrayRef<Tensor> sources = {});
  /// `shape` is a 1-d i64 tensor that gives `result` at run time.
  Tensor reshapeTo(const Tensor &x, const Tensor &shape, Dims result, bool allowZero);
  Tensor transpose(const Tensor &x, llvm::ArrayRef<int64_t> permutation);
  Tensor cast(const Tensor &x, mlir::Type element);
  Tensor slice(const Tensor &x, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> strides, Dims shape);
  Tensor concat(llvm::ArrayRef<Tensor> parts, int64_t axis);
  Tensor reduce(nn::ReduceKind kind, const Tensor &x, llvm::ArrayRef<int64_t> axes, bool keepDims);
  /// Row-major product of dims [begin, end).
  Dim extent(const Tensor &x, int64_t begin, int64_t end);

  /// Brings tensors to one shape by ONNX's (NumPy's) broadcasting; a diagnostic where they do not fit.
  mlir::LogicalResult broadcast(llvm::MutableArrayRef<Tensor> tensors);
  /// The shape that broadcasting `a` and `b` gives; unknown dims are fresh.
  mlir::FailureOr<Dims> broadcastShape(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);
  /// Repeats x to the given shape, whose value at run time is the shape of `like`, or the 1-d tensor `shape`.
  Tensor broadcastTo(const Tensor &x, Dims result, llvm::function_ref<Tensor()> shape);

  /// The constant's value if `x` is a constant of one element or a splat.
  static std::optional<double> scalarConstant(const Tensor &x);

private:
  void noteSize(mlir::RankedTensorType type);
  unsigned nextSymbol = 0;
  mlir::Type excess;
};

class Importer;

/// One node at work: its inputs, attributes and results, and the builder.
class NodeContext : public GraphBuilder {
public:
  using GraphBuilder::GraphBuilder;
  const onnx::NodeProto *node = nullptr;
  int64_t opset = 0;
  Importer *importer = nullptr;
  std::string scope; // stands before the names of nodes in a branch or an iteration
  llvm::SmallVector<const Binding *> inputs; // null: left out
  llvm::SmallVector<Binding> results;        // one for each output of the node

  /// An error that names the node.
  mlir::InFlightDiagnostic error() override;
  /// The node's name, or its first output's where it has none.
  std::string name() const;

  /// The node at work, while others are imported on its behalf.
  struct State {
    const onnx::NodeProto *node;
    mlir::Location location;
    int64_t opset;
    std::string scope;
    llvm::SmallVector<const Binding *> inputs;
    llvm::SmallVector<Binding> results;
  };
  State save() const { return {node, location, opset, scope, inputs, results}; }
  void restore(const State &state);

  /// The elements of a small tensor that depends on constants alone; null for others. Valid until the next
  /// call.
  const reference::HostTensor *known(const Tensor &tensor);
  /// A diagnostic if a size, which the batch may be part of, depends on data.
  mlir::LogicalResult checkIndependent(const Tensor &size, llvm::StringRef what);
  /// The argument that keeps a tensor from being known, or null.
  mlir::Value obstacle(const Tensor &tensor);
  /// What a tensor that is not known depends on, for a diagnostic.
  std::string dependence(const Tensor &tensor);
  /// The value of a constant of one element or a splat, also of one that has to be computed.
  std::optional<double> scalarConstant(const Tensor &tensor);

  bool has(unsigned index) const { return index < inputs.size() && inputs[index]; }
  /// The input, a tensor; a diagnostic and failure if it is left out or a sequence.
  mlir::FailureOr<Tensor> input(unsigned index);
  /// The same of floats.
  mlir::FailureOr<Tensor> floatInput(unsigned index);
  /// The elements of an integer input known at import from place `from` on, all plain numbers; a diagnostic
  /// that names `what` if they are not.
  mlir::FailureOr<llvm::SmallVector<int64_t>> integerInput(unsigned index, llvm::StringRef what, size_t from = 0);
  /// The same for an input of one element.
  mlir::FailureOr<int64_t> integer(unsigned index, llvm::StringRef what);
  /// The elements of a float input that depends on constants alone.
  mlir::FailureOr<llvm::SmallVector<double>> floatNumbers(unsigned index, llvm::StringRef what);
  /// An input that is a shape: a 1-d i64 tensor of known length.
  mlir::FailureOr<Tensor> shapeInput(unsigned index);
  /// The same without a negative element.
  mlir::FailureOr<Tensor> sizesInput(unsigned index);
  /// Integers that newer operator sets pass as an input and older ones as an attribute; none if neither is
  /// given.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> inputOrAttribute(unsigned index,
                                                                              llvm::StringRef name);

  const onnx::AttributeProto *attribute(llvm::StringRef name) const;
  int64_t intAttribute(llvm::StringRef name, int64_t otherwise) const;
  double floatAttribute(llvm::StringRef name, double otherwise) const;
  std::string stringAttribute(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<llvm::SmallVector<int64_t>> intsAttribute(llvm::StringRef name) const;

  /// Makes an axis non-negative; a diagnostic if it is outside [-rank, rank).
  mlir::FailureOr<int64_t> axis(int64_t axis, int64_t rank);
  mlir::FailureOr<llvm::SmallVector<int64_t>> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  mlir::LogicalResult set(Tensor tensor, unsigned index = 0);
  mlir::LogicalResult setSequence(llvm::SmallVector<Tensor, 1> tensors);

  /// A tensor stored in the model, no parameter: inline if it is small, an argument of the function with its data in a file
  /// otherwise.
  mlir::FailureOr<Tensor> stored(const onnx::TensorProto &tensor, llvm::StringRef name);
  /// The same for the value of a Constant node, which may be a parameter.
  mlir::FailureOr<Tensor> storedConstant(const onnx::TensorProto &tensor);
  /// The same for numbers that stand in the node itself.
  mlir::FailureOr<Tensor> storedConstant(llvm::ArrayRef<float> numbers, bool scalar);
  /// A parameter in the place of this node's output, if the user asks for one.
  mlir::FailureOr<std::optional<Tensor>> parameterOfShape(mlir::RankedTensorType type);
  /// Whether a trained parameter is among what `value` is computed from.
  bool dependsOnParameter(mlir::Value value) const;
  /// Whether the model is imported with a loss, to be trained.
  bool trains() const;
  /// The row of a trained weight that the options keep from the gradients of its look-ups; a diagnostic where it has no such row.
  mlir::FailureOr<std::optional<int64_t>> paddingRow(mlir::Value table);
  /// Whether the value is stored in the model: a weight, trained or not.
  bool isWeight(mlir::Value value) const;
  /// The `nn` element type of an ONNX one; a diagnostic naming it if there is none.
  mlir::FailureOr<mlir::Type> elementType(int onnxType);
};

/// Supported operators: the range of operator-set versions whose meaning the builder knows, and the builder.
struct OperatorRow {
  llvm::StringLiteral name;
  int64_t first, last;
  mlir::LogicalResult (*build)(NodeContext &node);
};
/// Older operator sets are refused: they broadcast otherwise.
inline constexpr int64_t kOldestOpset = 7;
/// The newest operator set whose changes were looked through. In 28 BitShift shifts signed integers,
/// Mod with fmod 0 takes floats and SpaceToDepth has a mode; everything else got more element types only.
inline constexpr int64_t kNewestOpset = 28;
const OperatorRow *findOperator(llvm::StringRef domain, llvm::StringRef name);

} // namespace zero::onnx_import

#endif

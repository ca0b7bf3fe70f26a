//===- FoldConstants.cpp - nn-fold-constants ------------------------------===//
//
//   %0 = nn.constant dense<1> : tensor<64xi64>
//   %1 = nn.cumsum %0 axis 0 {exclusive} : tensor<64xi64>
//   %2 = nn.reshape %1 : tensor<64xi64> to tensor<1x1x1x64xi64>
//   %3 = nn.broadcast %2 dims [0, 1, 2, 3] : tensor<1x1x1x64xi64> to tensor<8x1x64x64xi64>
// becomes
//   %3 = nn.iota axis 3 : tensor<8x1x64x64xi64>
// Test: test/Transforms/NN/fold-constants.mlir
//
// Index patterns are followed as affine forms (IndexForms.h), whatever their size. Other tensors without
// inputs are evaluated by the reference interpreter where the result has no more elements than it is made of:
// constants never grow. A gather by index tuples that is no slice becomes one by linear indices, which has a
// gradient and a kernel.
//
//===----------------------------------------------------------------------===//
#include "IndexForms.h"
#include "LinearIndices.h"
#include "zero/Reference/Interpreter.h"
#include "zero/Transforms/NN/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNFOLDCONSTANTS
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

/// An operand of an op that is evaluated: its elements, and how many numbers they are made of.
struct Known {
  reference::HostTensor tensor;
  int64_t numbers;
};

class NNFoldConstants : public impl::NNFoldConstantsBase<NNFoldConstants> {
public:
  using NNFoldConstantsBase::NNFoldConstantsBase;

  void runOnOperation() override {
    Counts counts;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal()) {
        Block &body = function.getBody().front();
        fold(body, counts);
        if (lowerTuples(body)) // whose arithmetic may fold
          fold(body, counts);
      }
    if (remarks)
      emitRemark(getOperation().getLoc())
          << "folding replaced " << counts.patterns + counts.constants + counts.slices + counts.others
          << " ops: " << counts.constants << " by constants, " << counts.patterns << " by index patterns, "
          << counts.slices << " by slices, " << counts.others << " by other values";
  }

private:
  /// What ops were replaced by.
  struct Counts {
    int64_t constants = 0, patterns = 0, slices = 0, others = 0;
  };

  /// The place in `counts` for a value that replaces another, and its name.
  static std::pair<int64_t *, StringRef> kindOf(Value value, bool isIndexPattern, Counts &counts) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<ConstantOp>(op))
      return {&counts.constants, "a constant"};
    if (isIndexPattern)
      return {&counts.patterns, "an index pattern"};
    if (isa_and_nonnull<SliceOp>(op))
      return {&counts.slices, "a slice"};
    return {&counts.others, "another value"};
  }

  /// Gathers by index tuples that were not found to be slices; true if there are any.
  static bool lowerTuples(Block &body) {
    SmallVector<GatherNDOp> gathers;
    for (GatherNDOp op : body.getOps<GatherNDOp>())
      if (op.getType().hasStaticShape() && op.getData().getType().hasStaticShape() &&
          op.getIndices().getType().hasStaticShape())
        gathers.push_back(op);
    for (GatherNDOp op : gathers) {
      OpBuilder builder(op);
      op.replaceAllUsesWith(gatherByLinearIndex(builder, op));
      op.erase();
    }
    return !gathers.empty();
  }

  void fold(Block &body, Counts &counts) {
    IndexForms forms;
    SmallVector<Operation *> replaced;
    llvm::DenseMap<Operation *, std::pair<OperationName, StringRef>> made;
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      if (isa<ConstantOp, IotaOp>(op) && !isLongProgression(op, forms))
        continue;
      if (Value value = simplify(&op, forms)) {
        auto [count, kind] = kindOf(value, forms.of(op.getResult(0)).has_value(), counts);
        ++*count;
        // That a number repeated is that number is no news.
        if (Operation *into = value.getDefiningOp(); into && !isa<BroadcastOp, ReshapeOp>(op))
          made.try_emplace(into, op.getName(), kind);
        op.getResult(0).replaceAllUsesWith(value);
        replaced.push_back(&op);
      }
    }
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    for (Operation *op = body.getTerminator()->getPrevNode(); op;) {
      Operation *before = op->getPrevNode();
      if (isOpTriviallyDead(op)) {
        made.erase(op);
        op->erase();
      }
      op = before;
    }
    // What is still read, in order: the steps on the way to it are only counted.
    if (remarks)
      for (Operation &op : body)
        if (auto found = made.find(&op); found != made.end())
          emitRemark(op.getLoc()) << "folded " << found->second.first << " to " << found->second.second;
  }

  /// A constant that is better said as an iota: exporters store positions as numbers.
  static bool isLongProgression(Operation &op, IndexForms &forms) {
    constexpr int64_t kShort = 8;
    auto constant = dyn_cast<ConstantOp>(op);
    if (!constant || constant.getType().getNumElements() <= kShort)
      return false;
    const std::optional<IndexForm> &form = forms.of(constant);
    return form && !form->isSplat();
  }

  /// Another value that the op's only result equals, or null.
  Value simplify(Operation *op, IndexForms &forms) {
    if (op->getNumResults() != 1 || !isa_and_nonnull<NNDialect>(op->getDialect()))
      return nullptr;
    OpBuilder builder(op);
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape())
      return nullptr;
    if (const std::optional<IndexForm> &form = forms.of(op->getResult(0)))
      return isBuilt(op, *form) ? nullptr : IndexForms::build(builder, op->getLoc(), *form, type);
    if (Value value = foldByRule(op, builder))
      return value;
    if (Value value = evaluateSplat(op, type, builder))
      return value;
    if (Value value = evaluate(op, type, builder, forms))
      return value;
    if (auto gather = dyn_cast<GatherOp>(op))
      return gatherByPattern(gather, builder, forms);
    if (auto gather = dyn_cast<GatherNDOp>(op))
      return gatherByPattern(gather, builder, forms);
    return nullptr;
  }

  /// True for what IndexForms::build makes.
  static bool isBuilt(Operation *op, const IndexForm &form) {
    if (form.isSplat() || !isa<AddOp, MulOp>(op))
      return false;
    return llvm::all_of(op->getOperands(), [](Value operand) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      return operand.getDefiningOp<IotaOp>() || operand.getDefiningOp<MulOp>() ||
             operand.getDefiningOp<AddOp>() || (constant && isa<SplatElementsAttr>(constant.getValueAttr()));
    });
  }

  /// The op's own folder, where it gives another value or a splat.
  static Value foldByRule(Operation *op, OpBuilder &builder) {
    SmallVector<OpFoldResult> results;
    while (results.empty()) {
      SmallVector<Attribute> operands;
      for (Value operand : op->getOperands()) {
        Attribute value;
        matchPattern(operand, m_Constant(&value));
        operands.push_back(value);
      }
      if (failed(op->fold(operands, results)))
        return nullptr;
      // Success without a result: the op was changed in place and may fold further.
    }
    if (auto value = dyn_cast<Value>(results.front()))
      return value;
    auto splat = dyn_cast<SplatElementsAttr>(cast<Attribute>(results.front()));
    if (!splat)
      return nullptr;
    return ConstantOp::create(builder, op->getLoc(), op->getResult(0).getType(), splat);
  }

  /// An elementwise op of splats is one of numbers, whatever its shape.
  static Value evaluateSplat(Operation *op, RankedTensorType type, OpBuilder &builder) {
    if (!op->hasTrait<ElementwiseOp>() || op->getNumOperands() == 0)
      return nullptr;
    SmallVector<SplatElementsAttr> splats;
    for (Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValueAttr()) : nullptr;
      if (!splat)
        return nullptr;
      splats.push_back(splat);
    }
    SmallVector<Operation *> scalars;
    SmallVector<Value> operands;
    SmallVector<reference::HostTensor> tensors;
    for (SplatElementsAttr splat : splats) {
      auto scalar = RankedTensorType::get({}, splat.getElementType());
      auto constant = ConstantOp::create(builder, op->getLoc(), scalar, splat.resizeSplat(scalar));
      scalars.push_back(constant);
      operands.push_back(constant);
      tensors.push_back(*reference::HostTensor::fromAttribute(constant.getValueAttr()));
    }
    OperationState state(op->getLoc(), op->getName(), operands,
                         RankedTensorType::get({}, type.getElementType()), op->getAttrs());
    Operation *scalar = builder.create(state);
    FailureOr<SmallVector<reference::HostTensor>> results = evaluateQuietly(scalar, tensors);
    scalar->erase();
    for (Operation *constant : scalars)
      constant->erase();
    if (failed(results))
      return nullptr;
    return ConstantOp::create(builder, op->getLoc(), type, results->front().toAttribute().resizeSplat(type));
  }

  /// What has no defined value (a division by zero, an index out of range) stays for the step to report.
  static FailureOr<SmallVector<reference::HostTensor>>
  evaluateQuietly(Operation *op, ArrayRef<reference::HostTensor> operands) {
    ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
    return reference::evaluate(op, operands);
  }

  /// Evaluates an op of constants and index patterns unless the result would be larger than what it is made
  /// of.
  Value evaluate(Operation *op, RankedTensorType type, OpBuilder &builder, IndexForms &forms) {
    if (op->getNumOperands() == 0 || !reference::isEvaluable(op, maxElements))
      return nullptr;
    SmallVector<reference::HostTensor> operands;
    int64_t numbers = 0;
    for (Value operand : op->getOperands()) {
      std::optional<Known> known = elements(operand, forms);
      if (!known)
        return nullptr;
      numbers += known->numbers;
      operands.push_back(std::move(known->tensor));
    }
    if (type.getNumElements() > std::max<int64_t>(numbers, 1))
      return nullptr;
    FailureOr<SmallVector<reference::HostTensor>> results = evaluateQuietly(op, operands);
    if (failed(results))
      return nullptr;
    return ConstantOp::create(builder, op->getLoc(), type, results->front().toAttribute());
  }

  static std::optional<Known> elements(Value value, IndexForms &forms) {
    auto type = cast<RankedTensorType>(value.getType());
    if (auto constant = value.getDefiningOp<ConstantOp>()) {
      FailureOr<reference::HostTensor> tensor = reference::HostTensor::fromAttribute(constant.getValueAttr());
      if (failed(tensor))
        return std::nullopt;
      bool isSplat = isa<SplatElementsAttr>(constant.getValueAttr());
      return Known{std::move(*tensor), isSplat ? 1 : type.getNumElements()};
    }
    const std::optional<IndexForm> &form = forms.of(value);
    if (!form)
      return std::nullopt;
    Known known{reference::HostTensor(type), 1};
    for (int64_t dim : form->varyingDims())
      known.numbers *= type.getDimSize(dim);
    for (int64_t flat = 0; flat < type.getNumElements(); ++flat) {
      int64_t rest = flat, element = form->constant;
      for (int64_t dim = type.getRank() - 1; dim >= 0; rest /= type.getDimSize(dim--))
        element += form->coefficients[dim] * (rest % type.getDimSize(dim));
      if (known.tensor.isFloat())
        known.tensor.setFloat(flat, static_cast<double>(element));
      else
        known.tensor.setInt(flat, element);
    }
    return known;
  }

  /// Reading by positions that step evenly is a slice.
  static Value gatherByPattern(GatherOp op, OpBuilder &builder, IndexForms &forms) {
    const std::optional<IndexForm> &index = forms.of(op.getIndices());
    if (!index || index->varyingDims().size() > 1)
      return nullptr;
    RankedTensorType data = op.getData().getType();
    ArrayRef<int64_t> indexShape = op.getIndices().getType().getShape();
    auto range = index->range(indexShape);
    int64_t axis = op.getAxis();
    if (!range || range->first < 0 || range->second >= data.getDimSize(axis))
      return nullptr;
    SmallVector<int64_t> varying = index->varyingDims();
    int64_t count = varying.empty() ? 1 : indexShape[varying.front()];
    int64_t stride = varying.empty() ? 1 : index->coefficients[varying.front()];
    SmallVector<int64_t> starts(data.getRank(), 0), strides(data.getRank(), 1), sizes(data.getShape());
    starts[axis] = index->constant;
    strides[axis] = stride;
    sizes[axis] = count;
    Value slice =
        builder.createOrFold<SliceOp>(op.getLoc(), data.clone(sizes), op.getData(), starts, strides);
    // The one dimension becomes those of the indices, of which it is the only one that counts.
    SmallVector<int64_t> narrow(data.getShape().take_front(axis));
    for (int64_t dim = 0; dim < static_cast<int64_t>(indexShape.size()); ++dim)
      narrow.push_back(!varying.empty() && dim == varying.front() ? count : 1);
    llvm::append_range(narrow, data.getShape().drop_front(axis + 1));
    return widen(slice, narrow, op.getType(), op.getLoc(), builder);
  }

  /// The same for index tuples, each of whose components steps along a dimension of its own, in order.
  static Value gatherByPattern(GatherNDOp op, OpBuilder &builder, IndexForms &forms) {
    RankedTensorType data = op.getData().getType();
    ArrayRef<int64_t> indexShape = op.getIndices().getType().getShape().drop_back();
    int64_t tuple = op.getIndices().getType().getShape().back();
    if (op.getBatchDims() != 0)
      return nullptr;
    SmallVector<int64_t> starts(data.getRank(), 0), strides(data.getRank(), 1), sizes(data.getShape());
    SmallVector<int64_t> narrow(indexShape.size(), 1);
    int64_t last = -1;
    for (int64_t k = 0; k < tuple; ++k) {
      std::optional<IndexForm> place = forms.component(op.getIndices(), k);
      auto range = place ? place->range(indexShape) : std::nullopt;
      if (!range || range->first < 0 || range->second >= data.getDimSize(k) ||
          place->varyingDims().size() > 1)
        return nullptr;
      starts[k] = place->constant;
      sizes[k] = 1;
      for (int64_t dim : place->varyingDims()) {
        if (dim <= last)
          return nullptr;
        last = dim;
        strides[k] = place->coefficients[dim];
        sizes[k] = narrow[dim] = indexShape[dim];
      }
    }
    llvm::append_range(narrow, data.getShape().drop_front(tuple));
    Value slice =
        builder.createOrFold<SliceOp>(op.getLoc(), data.clone(sizes), op.getData(), starts, strides);
    return widen(slice, narrow, op.getType(), op.getLoc(), builder);
  }

  /// Gives `value` the shape `narrow`, then repeats it to `type`.
  static Value widen(Value value, ArrayRef<int64_t> narrow, RankedTensorType type, Location location,
                     OpBuilder &builder) {
    value = builder.createOrFold<ReshapeOp>(location, type.clone(narrow), value);
    if (value.getType() == type)
      return value;
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    return BroadcastOp::create(builder, location, type, value, dims);
  }
};

} // namespace
} // namespace zero

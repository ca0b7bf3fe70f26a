//===- FuseEpilogues.cpp - nn-fuse-epilogues ------------------------------===//
//
// Of programs for GPUs: puts a product and what cuBLASLt does to it before it is stored into one nn.group.
//
//   %0 = nn.matmul %x, %w                     %2 = nn.group(%a = %x, %c = %w, %d = %b) {
//   %1 = nn.broadcast %b dims [1]      ->       %0 = nn.matmul %a, %c
//   %2 = nn.add %0, %1                          %1 = nn.broadcast %d dims [1]
//                                               %2 = nn.add %0, %1
//                                               nn.yield %2
//                                             }
//
// Nothing else reads what lies between: it is not rounded and not stored. Whether something is fused depends on shapes, types and blocks of
// parameters alone.
//
// Test: test/Transforms/NN/fuse-epilogues.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/IRMapping.h"
#include "zero/Analysis/CudaOptions.h"
#include "zero/Analysis/FusedProduct.h"
#include "zero/Analysis/ParameterBlocks.h"
#include "zero/Transforms/NN/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_NNFUSEEPILOGUES
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// What becomes a group: its results, and the values that it takes.
struct Candidate {
  SmallVector<Value> results, operands;
  /// One of the operands, of which the last result is the sum over the rows: written anew, as it may be of another shape of it.
  Value summedRows = {};
};

class EpilogueFuser {
public:
  explicit EpilogueFuser(func::FuncOp function) : function(function), block(function.front()), parameters(function) {}

  void run() {
    // What takes most first: a GELU takes the sum below it, its gradient the sum of its rows.
    forEach<nn::MulOp>([&](nn::MulOp op) { return fuseGelu(op) || fuseGeluGradient(op); });
    // The last addition takes those before it.
    forEach<nn::AddOp>([&](nn::AddOp op) { return fuseSum(op); });
    forEach<nn::MatmulOp>([&](nn::MatmulOp op) { return fuseRowSum(op); });
  }

private:
  /// From the last one to the first. What is fused dies at once, with all that only it read.
  template <typename Op> void forEach(llvm::function_ref<bool(Op)> fuse) {
    Operation *op = block.empty() ? nullptr : &block.back();
    while (op) {
      Operation *before = op->getPrevNode();
      if (auto typed = dyn_cast<Op>(op); typed && fuse(typed)) {
        // Whatever stood before may be gone.
        eraseDead();
        op = &block.back();
        continue;
      }
      op = before;
    }
  }

  void eraseDead() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  static bool isFusable(nn::MatmulOp product) {
    RankedTensorType type = product.getType();
    Type element = type.getElementType();
    return type.getRank() == 2 && type.hasStaticShape() && type.getNumElements() != 0 && typeOf(product.getLhs()).getNumElements() != 0 &&
           (element.isF32() || element.isF16() || element.isBF16());
  }

  /// `value` as it is stored: itself, or what it is rounded to where nothing else reads it; null else.
  static Value findStored(Value value, Type element) {
    if (typeOf(value).getElementType() == element)
      return value;
    auto rounding = value.hasOneUse() ? dyn_cast<nn::CastOp>(*value.user_begin()) : nn::CastOp();
    return rounding && typeOf(rounding.getResult()).getElementType() == element ? Value(rounding.getResult()) : Value();
  }

  /// Whether nothing outside of the sum reads what lies in it, up to `stored`, which it ends in.
  static bool isReadInside(const ProductSum &sum, Value stored) {
    Value product = nn::MatmulOp(sum.product).getResult();
    if (stored != product && !product.hasOneUse())
      return false;
    bool isInside = false; // the value's op comes first
    for (Operation *op : sum.path) {
      if (isInside && !op->getResult(0).hasOneUse())
        return false;
      isInside |= op->getResult(0) == stored;
    }
    return true;
  }

  bool fuseGelu(nn::MulOp gelu) {
    Value before = matchGelu(gelu.getResult());
    std::optional<ProductSum> sum = before ? matchProductSum(before, /*withAddend=*/false) : std::nullopt;
    if (!sum || !isFusable(sum->product))
      return false;
    const Type element = sum->product.getType().getElementType();
    Value out = findStored(gelu.getResult(), element);
    // What it is applied to, as it would be stored: the innermost value of the element.
    Value stored = sum->product.getResult();
    for (Operation *op : llvm::reverse(sum->path)) {
      const bool isSum = isa<nn::AddOp>(op), isRounding = isa<nn::CastOp>(op) && typeOf(op->getResult(0)).getElementType() == element;
      if ((isSum || isRounding) && typeOf(op->getResult(0)).getElementType() == element)
        stored = op->getResult(0);
    }
    if (!out || !isReadInside(*sum, stored))
      return false;
    Candidate candidate{{out}, getOperands(*sum)};
    if (isReadBeside(out, stored)) {
      if (sum->product.getType().getDimSize(1) % kStoredRowElements)
        return false;
      candidate.results.push_back(stored);
    }
    return fuse(candidate);
  }

  /// Whether ops read `stored`, or what is made of it on the way to `out`, that are not on that way.
  static bool isReadBeside(Value out, Value stored) {
    llvm::SetVector<Operation *> way;
    way.insert(out.getDefiningOp());
    for (size_t i = 0; i < way.size(); ++i)
      for (Value operand : way[i]->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && operand != stored && !isa<nn::ConstantOp>(producer))
          way.insert(producer);
    auto isBeside = [&](Operation *user) { return !way.contains(user); };
    if (llvm::any_of(stored.getUsers(), isBeside))
      return true;
    return llvm::any_of(way.getArrayRef().drop_front(), [&](Operation *op) { return llvm::any_of(op->getUsers(), isBeside); });
  }

  bool fuseGeluGradient(nn::MulOp mul) {
    std::optional<GeluGradient> gradient = matchGeluGradient(mul.getResult());
    std::optional<ProductSum> sum = gradient ? matchProductSum(gradient->gradient, /*withAddend=*/false, /*mostAdditions=*/0) : std::nullopt;
    if (!sum || !isFusable(sum->product) || sum->product.getType().getDimSize(1) % kStoredRowElements)
      return false;
    const Type element = sum->product.getType().getElementType();
    Value out = findStored(mul.getResult(), element), before = findNarrow(gradient->before, element);
    if (!out || !before || !gradient->gradient.hasOneUse() || !isReadInside(*sum, gradient->gradient) || typeOf(before).getNumElements() != sum->product.getType().getNumElements())
      return false;
    Candidate candidate{{out}, getOperands(*sum)};
    candidate.operands.push_back(before);
    if (Value rows = findRowSum(out))
      candidate.results.push_back(rows);
    return fuse(candidate);
  }

  bool fuseSum(nn::AddOp add) {
    std::optional<ProductSum> sum = matchProductSum(add.getResult());
    if (!sum || !isFusable(sum->product))
      return false;
    Value out = findStored(add.getResult(), sum->product.getType().getElementType());
    if (!out || !isReadInside(*sum, add.getResult()))
      return false;
    return fuse({{out}, getOperands(*sum)});
  }

  bool fuseRowSum(nn::MatmulOp product) {
    if (!isFusable(product))
      return false;
    for (auto [operand, sumsRows] : {std::pair(product.getRhs(), !product.getTransposeRhs()), std::pair(product.getLhs(), product.getTransposeLhs())})
      if (Value rows = sumsRows ? findRowSum(operand) : Value())
        return fuse({{product.getResult(), rows}, {product.getLhs(), product.getRhs()}, operand});
    return false;
  }

  /// The sum over the rows of `matrix`, in its element; null where none is computed.
  static Value findRowSum(Value matrix) {
    const Type element = typeOf(matrix).getElementType();
    while (auto reshape = matrix.getDefiningOp<nn::ReshapeOp>()) {
      if (stripShapes(matrix) == matrix)
        break;
      matrix = reshape.getOperand();
    }
    llvm::SetVector<Value> views;
    views.insert(matrix);
    for (size_t i = 0; i < views.size(); ++i)
      for (Operation *user : views[i].getUsers()) {
        if (Value of = matchRowSum(user); of && user->getOperand(0) == of)
          if (Value stored = findStored(user->getResult(0), element))
            return stored;
        // Widened or seen in another shape, not rounded.
        auto widening = dyn_cast<nn::CastOp>(user);
        if ((isa<nn::ReshapeOp>(user) && user->getOperand(0) == views[i]) || (widening && typeOf(widening.getResult()).getElementType().isF32()))
          if (stripShapes(user->getResult(0)) == stripShapes(matrix))
            views.insert(user->getResult(0));
      }
    return {};
  }

  static SmallVector<Value> getOperands(const ProductSum &sum) {
    nn::MatmulOp product = sum.product;
    SmallVector<Value> operands = {product.getLhs(), product.getRhs()};
    for (Value value : {sum.addend, sum.bias})
      if (value)
        operands.push_back(value);
    return operands;
  }

  /// The sum over the rows of a matrix: in f32, then rounded.
  static Value sumRows(OpBuilder &builder, Location loc, Value matrix) {
    RankedTensorType type = typeOf(matrix), wide = type.clone(builder.getF32Type());
    auto cast = [&](Value value, RankedTensorType to) { return value.getType() == to ? value : nn::CastOp::create(builder, loc, to, value).getResult(); };
    Value sum = nn::ReduceOp::create(builder, loc, wide.clone(type.getShape().drop_front()), nn::ReduceKind::sum, cast(matrix, wide), ArrayRef<int64_t>{0});
    return cast(sum, type.clone(type.getShape().drop_front()));
  }

  /// Makes the group, where one op of the block can compute all of it.
  bool fuse(const Candidate &candidate) {
    if (!parameters.areOfOneBlock(candidate.operands))
      return false;
    // What the results are made of, up to the operands.
    llvm::SetVector<Operation *> ops;
    SmallVector<Value> work(candidate.results);
    if (candidate.summedRows)
      work.pop_back();
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (llvm::is_contained(candidate.operands, value))
        continue;
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != &block)
        return false;
      if (ops.insert(op))
        llvm::append_range(work, op->getOperands());
    }
    SmallVector<Operation *> sorted = ops.takeVector();
    llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    // Behind all that it takes, before all that reads it.
    Operation *last = nullptr;
    for (Value operand : candidate.operands)
      if (Operation *producer = operand.getDefiningOp(); producer && (!last || last->isBeforeInBlock(producer)))
        last = producer;
    llvm::SmallPtrSet<Operation *, 16> inside(sorted.begin(), sorted.end());
    for (Value result : candidate.results)
      for (Operation *user : result.getUsers())
        if (!inside.contains(user) && last && (user == last || user->isBeforeInBlock(last)))
          return false;
    SmallVector<Location> locations;
    for (Operation *op : sorted)
      if (!isa<nn::ConstantOp>(op) && !llvm::is_contained(locations, op->getLoc()))
        locations.push_back(op->getLoc());
    OpBuilder builder(function.getContext());
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(&block);
    Location loc = builder.getFusedLoc(locations);
    llvm::SetVector<Value> operands(candidate.operands.begin(), candidate.operands.end());
    auto group = nn::GroupOp::create(builder, loc, ValueRange(candidate.results).getTypes(), operands.getArrayRef());
    Block *body = builder.createBlock(&group.getBody());
    IRMapping mapping;
    for (Value operand : operands)
      mapping.map(operand, body->addArgument(operand.getType(), operand.getLoc()));
    for (Operation *op : sorted)
      builder.clone(*op, mapping);
    if (candidate.summedRows)
      mapping.map(candidate.results.back(), sumRows(builder, candidate.results.back().getLoc(), mapping.lookup(candidate.summedRows)));
    nn::YieldOp::create(builder, loc, llvm::map_to_vector(candidate.results, [&](Value value) { return mapping.lookup(value); }));
    if (!getFusedProduct(group)) {
      group.erase();
      return false;
    }
    for (auto [index, result] : llvm::enumerate(group.getResults()))
      Value(candidate.results[index]).replaceAllUsesWith(result);
    return true;
  }

  func::FuncOp function;
  Block &block;
  ParameterReads parameters;
};

class NNFuseEpilogues : public impl::NNFuseEpiloguesBase<NNFuseEpilogues> {
public:
  using NNFuseEpiloguesBase::NNFuseEpiloguesBase;
  void runOnOperation() override {
    if (!fusesEpilogues(getOperation()))
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        EpilogueFuser(function).run();
  }
};

} // namespace
} // namespace zero

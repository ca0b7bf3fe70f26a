//===- CommandCost.cpp - What a command computes and moves ----------------===//
#include "zero/Analysis/CommandCost.h"
#include "dialects/NN/NNOps.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/KernelShape.h"
#include "zero/Analysis/OmittedBytes.h"
#include "zero/Analysis/PlanMemory.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace zero {

//===----------------------------------------------------------------------===//
// Generated kernels: the nn ops of their bodies
//===----------------------------------------------------------------------===//

static int64_t countFloats(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) ? type.getNumElements() : 0;
}

static int64_t countFlops(Operation *op) {
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<nn::CompareOp, nn::SelectOp, nn::CastOp>([](auto) { return 0; })
      .Case([](nn::ReduceOp reduce) { return countFloats(reduce.getOperand()); })
      // Gradient x scale 1; moments 3 + 4; corrections 2; root, epsilon, quotient 3; step 2; decay 2 (as AdamW) or into the gradient.
      .Case([](nn::AdamOp adam) {
        return countFloats(adam.getParameter()) * (adam.getWeightDecay().isZero() ? 15 : 17);
      })
      // Gradient x scale 1; step 2; momentum 2, again 2 for Nesterov; decay 2.
      .Case([](nn::SgdOp sgd) {
        int64_t each = 3 + (sgd.getMomentumBuffer() ? 2 : 0) + (sgd.getNesterov() ? 2 : 0) + (sgd.getWeightDecay().isZero() ? 0 : 2);
        return countFloats(sgd.getParameter()) * each;
      })
      .Default([](Operation *other) -> int64_t {
        return other->hasTrait<nn::ElementwiseOp>() && other->getNumResults() == 1 ? countFloats(other->getResult(0)) : 0;
      });
}

static bool isNarrowFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) && type.getElementTypeBitWidth() == 16;
}

StringRef getArithmeticName(Arithmetic kind) {
  constexpr StringLiteral kNames[kArithmeticKinds] = {"plain", "division", "exponential", "logarithm", "tangent", "error_function", "trigonometric", "rounding"};
  return kNames[static_cast<unsigned>(kind)];
}

/// Adds what `op` computes to `arithmetic`.
static void countArithmetic(Operation *op, std::array<int64_t, kArithmeticKinds> &arithmetic) {
  auto add = [&](Arithmetic kind, int64_t elements) { arithmetic[static_cast<unsigned>(kind)] += elements; };
  if (isa<nn::AdamOp, nn::SgdOp>(op)) {
    int64_t elements = countFloats(op->getOperand(0)), divisions = isa<nn::AdamOp>(op) ? 2 : 0;
    add(Arithmetic::Division, divisions * elements);
    add(Arithmetic::Plain, countFlops(op) - divisions * elements);
    for (Value result : op->getResults())
      add(Arithmetic::Rounding, isNarrowFloat(result) ? elements : 0);
    return;
  }
  if (auto reduce = dyn_cast<nn::ReduceOp>(op))
    return add(Arithmetic::Plain, cast<RankedTensorType>(reduce.getOperand().getType()).getNumElements());
  if (op->getNumResults() != 1 || !(op->hasTrait<nn::ElementwiseOp>() || isa<nn::CompareOp, nn::SelectOp, nn::CastOp>(op)))
    return;
  int64_t elements = cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  TypeSwitch<Operation *>(op)
      .Case<nn::DivOp, nn::SqrtOp, nn::RsqrtOp, nn::ReciprocalOp, nn::RemOp>([&](auto) { add(Arithmetic::Division, elements); })
      .Case<nn::ExpOp, nn::Expm1Op, nn::SigmoidOp>([&](auto) { add(Arithmetic::Exponential, elements); })
      .Case<nn::LogOp, nn::Log1pOp>([&](auto) { add(Arithmetic::Logarithm, elements); })
      .Case([&](nn::PowOp) {
        add(Arithmetic::Logarithm, elements);
        add(Arithmetic::Exponential, elements);
      })
      .Case([&](nn::TanhOp) { add(Arithmetic::Tangent, elements); })
      .Case([&](nn::ErfOp) { add(Arithmetic::ErrorFunction, elements); })
      .Case<nn::SinOp, nn::CosOp, nn::AtanOp>([&](auto) { add(Arithmetic::Trigonometric, elements); })
      .Case([&](nn::CastOp cast) { add(isNarrowFloat(cast.getResult()) ? Arithmetic::Rounding : Arithmetic::Plain, elements); })
      .Default([&](Operation *) { add(Arithmetic::Plain, elements); });
}

//===----------------------------------------------------------------------===//
// Kernels of the library: their integers (KernelTable.inc)
//===----------------------------------------------------------------------===//

/// Pairs of query and key of one head that attention sees.
static int64_t countPairs(int64_t queries, int64_t keys, bool causal) {
  if (!causal)
    return queries * keys;
  // Query q of T sees the keys up to q + S - T.
  int64_t pairs = 0;
  for (int64_t query = 0; query < queries; ++query)
    pairs += std::clamp<int64_t>(query + keys - queries + 1, 0, keys);
  return pairs;
}

/// `integers` from the rank on: spatial, window, strides, low, high, dilations. Gives positions x window elements.
static int64_t countWindowElements(ArrayRef<int64_t> integers) {
  int64_t rank = integers[0], elements = 1;
  auto at = [&](int64_t list, int64_t i) { return integers[1 + list * rank + i]; };
  for (int64_t i = 0; i < rank; ++i) {
    int64_t extent = (at(1, i) - 1) * at(5, i) + 1, room = at(0, i) + at(3, i) + at(4, i) - extent;
    elements *= at(1, i) * (room < 0 ? 0 : room / at(2, i) + 1);
  }
  return elements;
}

static int64_t countLibraryFlops(StringRef kernel, ArrayRef<int64_t> n) {
  // Integer elements are numbered from i64 on.
  auto floats = [&](size_t element) { return n[element] < 4; };
  if (kernel == "matmul" || kernel == "fused_matmul")
    return floats(0) ? 2 * n[1] * n[2] * n[3] * n[4] : 0;
  if (kernel == "attention" || kernel == "attention_grad") {
    int64_t pairs = n[1] * n[4] * countPairs(n[2], n[3], n[7]), width = n[6];
    // Scores and values; their softmax: scale, maximum, difference, exponential, sum. Backward: scores again, and the
    // gradients of probabilities, values, queries and keys; softmax and its gradient.
    return kernel == "attention" ? pairs * (4 * width + 5) : pairs * (10 * width + 7);
  }
  if (kernel == "conv" || kernel == "conv_transpose" || kernel == "conv_weight_grad")
    return 2 * n[1] * n[3] * (n[2] / n[4]) * countWindowElements(n.drop_front(5));
  if (kernel == "max_pool" || kernel == "sum_pool")
    return floats(0) ? n[1] * countWindowElements(n.drop_front(2)) : 0;
  if (kernel == "scatter_add")
    return floats(0) ? n[2] * n[4] * n[5] : 0;
  if (kernel == "scatter")
    return n[0] != 0 && floats(1) ? n[3] * n[5] * n[6] : 0;
  if (kernel == "cumsum")
    return floats(0) ? n[1] * n[2] * n[3] : 0;
  if (kernel == "sum_squares") {
    int64_t elements = 0;
    for (int64_t each : n.drop_front())
      elements += each;
    return 2 * elements;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// Bytes of a row of the widest operand where the kernel reduces over rows: it then goes down the columns.
static int64_t getRowBytes(func::FuncOp body) {
  if (body.isExternal())
    return 0;
  FailureOr<OwningOpRef<func::FuncOp>> flat = flattenKernel(body);
  if (failed(flat))
    return 0;
  FailureOr<KernelShape> shape = computeKernelShape(**flat);
  if (failed(shape) || shape->kind != KernelShape::Kind::Column)
    return 0;
  int64_t widest = 0;
  for (Type type : body.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getNumElements() == shape->getPoints())
      widest = std::max(widest, getElementBytes(tensor.getElementType()));
  return shape->inner * widest;
}

CommandCosts::CommandCosts(ModuleOp module) : omitted(countOmittedBytes(module)), worldSize(zero::getWorldSize(module)) {
  for (auto kernel : module.getOps<plan::KernelOp>())
    kernels[kernel.getBodyFunction()] = {};
  for (auto body : module.getOps<func::FuncOp>())
    if (auto kernel = kernels.find(body.getSymName()); kernel != kernels.end()) {
      body.walk([&](Operation *op) {
        kernel->second.flops += countFlops(op);
        countArithmetic(op, kernel->second.arithmetic);
        kernel->second.updates |= isa<nn::AdamOp, nn::SgdOp>(op);
      });
      kernel->second.rowBytes = kernel->second.updates ? 0 : getRowBytes(body);
    }
  // Dispatches name the kernel, not its body.
  for (auto kernel : module.getOps<plan::KernelOp>())
    kernels[kernel.getSymName()] = kernels.lookup(kernel.getBodyFunction());
  for (auto buffer : module.getOps<plan::BufferOp>())
    if (buffer.getContent() == plan::ContentClass::workspace || buffer.getContent() == plan::ContentClass::staging)
      scratch.insert(FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
}

StringRef CommandCosts::getKind(Operation *command) const {
  return TypeSwitch<Operation *, StringRef>(command)
      .Case([&](plan::DispatchOp op) -> StringRef {
        auto kernel = kernels.find(op.getKernel());
        return kernel == kernels.end() ? op.getKernel() : kernel->second.updates ? "update" : "fused";
      })
      .Case([](plan::CollectiveOp op) { return plan::stringifyCollectiveKind(op.getKind()); })
      .Case([](plan::CopyOp) { return "copy"; })
      .Case([](plan::ZeroOp) { return "zero"; });
}

CommandCost CommandCosts::get(Operation *command) const {
  CommandCost cost;
  SmallVector<plan::SliceAttr> reads, writes;
  getSlices(command, reads, writes);
  auto sum = [&](ArrayRef<plan::SliceAttr> slices) {
    int64_t bytes = 0;
    for (plan::SliceAttr slice : slices)
      bytes += scratch.contains(slice.getBuffer()) ? 0 : slice.getSize();
    return bytes;
  };
  cost.bytesRead = sum(reads);
  cost.bytesWritten = sum(writes);
  cost.bytesMoved = cost.bytesRead + cost.bytesWritten;
  if (auto dispatch = dyn_cast<plan::DispatchOp>(command)) {
    if (auto kernel = kernels.find(dispatch.getKernel()); kernel != kernels.end()) {
      cost.flops = kernel->second.flops;
      cost.arithmetic = kernel->second.arithmetic;
      cost.length = kernel->second.rowBytes;
      return cost;
    }
    ArrayRef<int64_t> integers = dispatch.getIntegers();
    cost.flops = countLibraryFlops(dispatch.getKernel(), integers);
    if (dispatch.getKernel() == "matmul" || dispatch.getKernel() == "fused_matmul")
      cost.product = {integers[0], integers[2], integers[3], integers[4], integers[5] != 0, integers[6] != 0};
    else if (dispatch.getKernel().starts_with("attention"))
      cost.element = integers[0], cost.length = integers[3];
    else if (dispatch.getKernel() == "sum_squares") // an element takes as long in 16 bits
      cost.element = integers[0];
    else if (dispatch.getKernel() == "gather")
      cost.bytesMoved -= sum(reads[0]) - cost.bytesWritten;
  } else if (auto collective = dyn_cast<plan::CollectiveOp>(command)) {
    cost.wireBytes = collective.getWireBytes();
    cost.omittedBytes = omitted.lookup(command);
    cost.element = getElementNumber(collective.getElement()).value_or(0);
  }
  return cost;
}

} // namespace zero

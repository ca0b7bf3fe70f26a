//===- KernelFunctions.cpp - What may become a generated kernel -----------===//
#include "IndexMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace zero {
namespace {

bool refuse(std::string *why, const Twine &text) {
  if (why)
    *why = text.str();
  return false;
}

std::string describe(Type type) { return llvm::formatv("{0}", type).str(); }

/// Ops that the generator writes out; the rest of the elementwise ops are composites.
bool isPrimitiveElementwise(Operation *op) {
  return isa<nn::NegOp, nn::AbsOp, nn::ExpOp, nn::LogOp, nn::SqrtOp, nn::RsqrtOp, nn::ReciprocalOp,
             nn::Log1pOp, nn::Expm1Op, nn::AtanOp, nn::TanhOp, nn::SigmoidOp, nn::ErfOp, nn::SinOp, nn::CosOp,
             nn::ReluOp, nn::SignOp, nn::FloorOp, nn::CeilOp, nn::RoundOp, nn::NotOp, nn::AddOp, nn::SubOp,
             nn::MulOp, nn::DivOp, nn::MaxOp, nn::MinOp, nn::PowOp, nn::RemOp, nn::ShiftLeftOp,
             nn::ShiftRightOp, nn::AndOp, nn::OrOp, nn::XorOp, nn::CompareOp, nn::SelectOp, nn::CastOp>(op);
}

/// Ops and results of a kernel's block; the terminator's operands are the results.
FailureOr<KernelShape> computeBlockShape(Block &block, std::string *why) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  return computeKernelShape(ops, block.getTerminator()->getOperands(), why);
}

/// The shape of a block that the generator has code for.
FailureOr<KernelShape> computeSupportedShape(Block &block, std::string *why) {
  for (Operation &op : block.without_terminator())
    if (!isCodegenSupported(&op, why))
      return failure();
  return computeBlockShape(block, why);
}

bool isBlockSupported(Block &block, std::string *why) { return succeeded(computeSupportedShape(block, why)); }

} // namespace

FailureOr<KernelShape> computeKernelShape(func::FuncOp flat, std::string *why) {
  return computeBlockShape(flat.getBody().front(), why);
}

bool isCodegenSupported(Operation *op, std::string *why) {
  StringRef name = op->getName().getStringRef();
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return refuse(why, name + ": type " + describe(type) + " has no static shape");
  }
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    return constant.getValue().isSplat() || refuse(why, name + ": only a splat may be inside a kernel");
  if (isa<nn::BroadcastOp, nn::ReshapeOp, nn::IotaOp, nn::ReduceOp>(op) || isPrimitiveElementwise(op))
    return true;
  if (isa<nn::DecomposableOpInterface>(op) &&
      (op->hasTrait<nn::ElementwiseOp>() || isa<nn::AdamOp, nn::SgdOp>(op)))
    return true;
  return refuse(why, name + ": is not elementwise, a broadcast or a reduction");
}

FailureOr<OwningOpRef<func::FuncOp>> flattenKernel(func::FuncOp function, std::string *why) {
  OwningOpRef<func::FuncOp> flat(function.clone());
  Block &block = flat->getBody().front();
  for (Operation *op = block.empty() ? nullptr : &block.front(); op;) {
    Operation *next = op->getNextNode();
    auto composite = dyn_cast<nn::DecomposableOpInterface>(op);
    if (!composite || isPrimitiveElementwise(op)) {
      op = next;
      continue;
    }
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> values = composite.decompose(builder);
    if (failed(values)) {
      refuse(why, op->getName().getStringRef() + ": has no primitive form");
      return failure();
    }
    op->replaceAllUsesWith(*values);
    op->erase();
    // What came out of it may be composite again.
    op = before ? before->getNextNode() : &block.front();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return flat;
}

bool isCodegenSupported(nn::GroupOp group, std::string *why) {
  return isBlockSupported(group.getBody().front(), why);
}

bool isCodegenSupported(func::FuncOp function, std::string *why) {
  FailureOr<OwningOpRef<func::FuncOp>> flat = flattenKernel(function, why);
  return succeeded(flat) && isBlockSupported((*flat)->getBody().front(), why);
}

int64_t getKernelItems(func::FuncOp function) {
  FailureOr<OwningOpRef<func::FuncOp>> flat = flattenKernel(function);
  if (failed(flat))
    return 0;
  FailureOr<KernelShape> shape = computeBlockShape((*flat)->getBody().front(), nullptr);
  return failed(shape) ? 0 : shape->getItems();
}

bool canComputeInPlace(func::FuncOp function, unsigned operandIndex, unsigned resultIndex) {
  FailureOr<OwningOpRef<func::FuncOp>> flat = flattenKernel(function);
  if (failed(flat))
    return false;
  Block &block = (*flat)->getBody().front();
  FailureOr<KernelShape> shape = computeSupportedShape(block, nullptr);
  if (failed(shape) || shape->kind == KernelShape::Kind::Empty)
    return false;
  Value operand = block.getArgument(operandIndex);
  if (operand.use_empty())
    return true;
  Value result = block.getTerminator()->getOperand(resultIndex);
  auto operandType = cast<RankedTensorType>(operand.getType()),
       resultType = cast<RankedTensorType>(result.getType());
  auto bytes = [](RankedTensorType type) { return llvm::divideCeil(type.getElementTypeBitWidth(), 8); };
  if (bytes(operandType) != bytes(resultType) ||
      operandType.getNumElements() != resultType.getNumElements() ||
      shape->getMap(operand) != shape->getMap(result))
    return false;
  if (shape->kind == KernelShape::Kind::Elementwise)
    return true;
  // A row kernel walks its row once per level and writes a result in the pass of the result's level; a column
  // kernel writes whole results in its only pass over the rows, and sums at the end of a tile that others may
  // still read.
  if (shape->kind == KernelShape::Kind::Column && shape->levels.lookup(result) > 0)
    return false;
  if (!shape->variesInside(operand))
    return true;
  return llvm::all_of(block.without_terminator(), [&](Operation &op) {
    return llvm::all_of(op.getResults(), [&](Value value) {
      return !shape->variesInside(value) || shape->levels.lookup(value) <= shape->levels.lookup(result);
    });
  });
}

std::string getKernelFingerprint(func::FuncOp function) {
  // The generic form of the body with numbered values; the function's own name stays out.
  std::string text;
  llvm::raw_string_ostream os(text);
  os << function.getFunctionType() << '\n';
  OwningOpRef<func::FuncOp> copy(function.clone());
  (*copy)->walk([&](Operation *op) { op->setDiscardableAttrs(DictionaryAttr::get(op->getContext())); });
  (*copy).setName("kernel");
  (*copy).removeArgAttrsAttr();
  (*copy).removeResAttrsAttr();
  (*copy)->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  llvm::SHA256 hash;
  hash.update(text);
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 32);
}

} // namespace zero

//===- KernelEmitter.cpp - What row and column kernels share --------------===//
#include "KernelEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace zero {

KernelEmitter::KernelEmitter(OpBuilder &builder, func::FuncOp flat, const KernelShape &shape)
    : builder(builder), loc(flat.getLoc()), shape(shape), body(flat.getBody().front()) {
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  llvm::append_range(results, body.getTerminator()->getOperands());
}

void KernelEmitter::emit(StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType({pointer, i64, i64}, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  builder.setInsertionPoint(func::ReturnOp::create(builder, loc));
  entry = block;
  beginItem = block->getArgument(1), endItem = block->getArgument(2);
  auto loadPointer = [&](int64_t i) -> Value {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, block->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
    return LLVM::LoadOp::create(builder, loc, pointer, slot);
  };
  int64_t slot = 0;
  for (BlockArgument argument : body.getArguments())
    operandPointers[argument] = loadPointer(slot++);
  for (size_t i = 0; i < results.size(); ++i)
    resultPointers.push_back(loadPointer(slot++));
  if (shape.kind == KernelShape::Kind::Empty)
    return emitEmpty();
  emitUniformScalars();
  passes = shape.planPasses(ops, results);
  if (shape.kind != KernelShape::Kind::Column)
    planSaved();
  if (shape.kind == KernelShape::Kind::Column)
    emitColumns();
  else if (shape.kind == KernelShape::Kind::Elementwise && shape.outer == 1 && shape.inner > 1)
    emitFlat();
  else
    emitRows();
}

Value KernelEmitter::index(int64_t value) { return scalars().integer(builder.getI64Type(), value); }

Value KernelEmitter::allocate(int64_t bytes) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(entry);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, builder.getI8Type(), index(bytes), /*alignment=*/64);
}

/// The type of an element in memory: i1 takes a byte, f16 and bf16 are 16 bits there.
static Type storageOf(Type element, OpBuilder &builder) {
  if (isa<IntegerType>(element) || element.isF16() || element.isBF16())
    return builder.getIntegerType(std::max(8u, element.getIntOrFloatBitWidth()));
  return element;
}

static Value addressOf(OpBuilder &builder, Location loc, Value pointer, Value offset, Type storage) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), storage, pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelEmitter::load(Value pointer, Value offset, Type element, int64_t width, int64_t count) {
  Type storage = storageOf(element, builder);
  Type type = count == 1 ? storage : Type(VectorType::get({count}, storage));
  unsigned bytes = storage.getIntOrFloatBitWidth() / 8;
  Value value =
      LLVM::LoadOp::create(builder, loc, type, addressOf(builder, loc, pointer, offset, storage), bytes);
  if (count < width) {
    // The lanes beyond the row hold zeros.
    Lanes lanes(builder, loc, width);
    bool isFloat = isa<FloatType>(storage);
    if (count == 1) {
      Value zeros = isFloat ? lanes.constant(storage, 0.0) : lanes.integer(storage, 0);
      value = vector::InsertOp::create(builder, loc, value, zeros, int64_t(0));
    } else {
      Lanes narrow(builder, loc, count);
      Value zeros = isFloat ? narrow.constant(storage, 0.0) : narrow.integer(storage, 0);
      SmallVector<int64_t> mask;
      for (int64_t i = 0; i < width; ++i)
        mask.push_back(i < count ? i : count);
      value = vector::ShuffleOp::create(builder, loc, value, zeros, mask);
    }
  }
  return Lanes(builder, loc, width).fromMemory(value, element);
}

void KernelEmitter::store(Value value, Value pointer, Value offset, Type element, int64_t count) {
  Type storage = storageOf(element, builder);
  auto vector = dyn_cast<VectorType>(value.getType());
  int64_t width = vector ? vector.getDimSize(0) : 1;
  value = Lanes(builder, loc, width).toMemory(value, element);
  if (count < width) {
    if (count == 1) {
      value = vector::ExtractOp::create(builder, loc, value, int64_t(0));
    } else {
      SmallVector<int64_t> mask = llvm::to_vector(llvm::seq<int64_t>(0, count));
      value = vector::ShuffleOp::create(builder, loc, value, value, mask);
    }
  }
  unsigned bytes = storage.getIntOrFloatBitWidth() / 8;
  LLVM::StoreOp::create(builder, loc, value, addressOf(builder, loc, pointer, offset, storage), bytes);
}

/// The number that `digits` (none inside the innermost dimension) make at a row.
Value KernelEmitter::getDigits(ArrayRef<IndexDigit> digits, Value row) {
  Value sum;
  int64_t weight = 1;
  for (IndexDigit digit : llvm::reverse(digits)) {
    int64_t stride = digit.stride / shape.inner;
    Value value = row;
    if (stride > 1)
      value = arith::DivUIOp::create(builder, loc, value, index(stride));
    if (stride * digit.size < shape.outer * shape.reduced)
      value = arith::RemUIOp::create(builder, loc, value, index(digit.size));
    if (weight > 1)
      value = scalars().mul(value, index(weight));
    weight *= digit.size;
    sum = sum ? scalars().add(sum, value) : value;
  }
  return sum ? sum : index(0);
}

/// Where the row starts in `value`'s memory.
Value KernelEmitter::getOffset(Value value, Value row) {
  IndexMap outside;
  int64_t weight = shape.variesInside(value) ? shape.inner : 1;
  for (IndexDigit digit : shape.getMap(value)) {
    int64_t end = digit.stride * digit.size;
    if (digit.stride >= shape.inner)
      outside.push_back(digit);
    else if (end > shape.inner)
      outside.push_back({shape.inner, end / shape.inner});
  }
  Value offset = getDigits(outside, row);
  return weight > 1 ? scalars().mul(offset, index(weight)) : offset;
}

Type KernelEmitter::elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

bool KernelEmitter::isSplat(Value value) const { return value.getDefiningOp<nn::ConstantOp>() != nullptr; }

bool KernelEmitter::isUniform(Value value) const {
  return shape.getMap(value).empty() && shape.levels.lookup(value) == 0;
}

Value KernelEmitter::getScalar(Value value) {
  if (auto constant = value.getDefiningOp<nn::ConstantOp>())
    return scalars().splat(cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>(),
                           elementOf(value));
  Value scalar = known.lookup(value);
  assert(scalar && "a scalar is computed before it is read");
  return scalar;
}

/// The index along the iota's axis: digits outside the innermost dimension are the row's, those inside the
/// position's.
Value KernelEmitter::emitIota(nn::IotaOp op, Chunk *chunk) {
  Lanes lanes = chunk ? vectors() : scalars();
  RankedTensorType type = op.getResult().getType();
  Type i64 = builder.getI64Type(), element = type.getElementType();
  // Everything about a tensor of one element is 0.
  IndexMap digits;
  if (type.getNumElements() > 1)
    digits = shape.getAxisDigits(op.getResult(), op.getAxis());
  IndexMap outside, inside;
  for (IndexDigit digit : digits) {
    int64_t end = digit.stride * digit.size;
    if (digit.stride >= shape.inner)
      outside.push_back(digit);
    else if (end <= shape.inner)
      inside.push_back(digit);
    else {
      outside.push_back({shape.inner, end / shape.inner});
      inside.push_back({digit.stride, shape.inner / digit.stride});
    }
  }
  int64_t weight = 1;
  Value start = index(0), sum;
  // The common case: the axis is the innermost dimension, or does not touch it.
  if (inside.size() == 1 && inside.front() == IndexDigit{1, shape.inner} && chunk) {
    start = chunk->position;
    weight = shape.inner;
  } else if (!inside.empty()) {
    Lanes wide = lanes;
    Value position = wide.count(chunk->position, i64);
    for (IndexDigit digit : llvm::reverse(inside)) {
      Value value = position;
      if (digit.stride > 1)
        value = arith::DivUIOp::create(builder, loc, value, wide.integer(i64, digit.stride));
      if (digit.stride * digit.size < shape.inner)
        value = arith::RemUIOp::create(builder, loc, value, wide.integer(i64, digit.size));
      if (weight > 1)
        value = wide.mul(value, wide.integer(i64, weight));
      weight *= digit.size;
      sum = sum ? wide.add(sum, value) : value;
    }
  }
  if (!outside.empty()) {
    Value base = getDigits(outside, row);
    start = scalars().add(start, weight > 1 ? scalars().mul(base, index(weight)) : base);
  }
  bool isFloat = isa<FloatType>(element);
  // Indices fit 31 bits nearly always; then the conversion to float has an instruction.
  bool narrow = isFloat ? type.getDimSize(op.getAxis()) <= std::numeric_limits<int32_t>::max()
                        : element.getIntOrFloatBitWidth() < 64;
  Type integer = isFloat ? (narrow ? builder.getI32Type() : i64)
                         : Type(builder.getIntegerType(element.getIntOrFloatBitWidth()));
  auto convert = [&](Value value, Lanes l) -> Value {
    return narrow ? Value(arith::TruncIOp::create(builder, loc, l.typeOf(integer), value)) : value;
  };
  Value result;
  if (sum) {
    result = lanes.add(convert(sum, lanes), lanes.broadcast(convert(start, scalars())));
  } else {
    bool counts = chunk && !inside.empty();
    Value first = convert(start, scalars());
    result = counts ? lanes.count(first, integer) : lanes.broadcast(first);
  }
  return isFloat ? emitCast(lanes, result, integer, element) : result;
}

/// The iota that `value` repeats or reshapes, or null.
static nn::IotaOp findIota(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isa<nn::BroadcastOp, nn::ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<nn::IotaOp>(op);
}

/// An index of the innermost dimension beside a scalar: masks and labels. Both fit 32 bits once the scalar is
/// cut to one beyond the indices, which changes no comparison with them.
Value KernelEmitter::emitCompare(nn::CompareOp op, Chunk &chunk) {
  SmallVector<Value> operands;
  for (auto [value, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    nn::IotaOp iota = findIota(value);
    if (!iota || !shape.variesInside(value) || shape.variesInside(other) ||
        !elementOf(value).isSignlessInteger(64))
      continue;
    RankedTensorType type = iota.getResult().getType();
    IndexMap digits = shape.getAxisDigits(iota.getResult(), iota.getAxis());
    int64_t size = type.getDimSize(iota.getAxis());
    if (digits != IndexMap{{1, shape.inner}} || size > std::numeric_limits<int32_t>::max())
      continue;
    Value low = arith::MaxSIOp::create(builder, loc, getScalar(other), index(-1));
    Value cut = arith::MinSIOp::create(builder, loc, low, index(size));
    auto narrow = [&](Value scalar) -> Value {
      return arith::TruncIOp::create(builder, loc, builder.getI32Type(), scalar);
    };
    Value indices = vectors().count(narrow(chunk.position), builder.getI32Type()),
          scalar = vectors().broadcast(narrow(cut));
    operands =
        value == op.getLhs() ? SmallVector<Value>{indices, scalar} : SmallVector<Value>{scalar, indices};
    return emitElementwise(vectors(), op, operands);
  }
  for (Value operand : op.getOperands())
    operands.push_back(getVector(operand, chunk));
  return emitElementwise(vectors(), op, operands);
}

Value KernelEmitter::getVector(Value value, Chunk &chunk) {
  if (Value vector = chunk.vectors.lookup(value))
    return vector;
  Type element = elementOf(value);
  Operation *op = value.getDefiningOp();
  Value vector;
  auto saved = scratch.find(value);
  if (isSplat(value) || !shape.variesInside(value)) {
    vector = vectors().broadcast(getScalar(value));
  } else if (saved != scratch.end() && saved->second.level < chunk.level) {
    vector = load(saved->second.pointer, chunk.position, element, kVectorElements, kVectorElements);
  } else if (!op) {
    Value offset = scalars().add(offsets.lookup(value), chunk.position);
    vector = load(operandPointers.lookup(value), offset, element, kVectorElements, chunk.count);
  } else if (auto iota = dyn_cast<nn::IotaOp>(op)) {
    vector = emitIota(iota, &chunk);
  } else if (isa<nn::BroadcastOp, nn::ReshapeOp, nn::ReduceOp>(op)) {
    vector = getVector(op->getOperand(0), chunk);
  } else if (auto compare = dyn_cast<nn::CompareOp>(op)) {
    vector = emitCompare(compare, chunk);
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(getVector(operand, chunk));
    vector = emitElementwise(vectors(), op, operands);
  }
  chunk.vectors[value] = vector;
  return vector;
}

/// Computes a value that is a scalar from scalars; reductions are known by other ways.
static bool isComputedHere(Operation *op) {
  auto reduce = dyn_cast<nn::ReduceOp>(op);
  return !isa<nn::ConstantOp>(op) && !(reduce && reduce.getOperand().getType().getNumElements() !=
                                                     reduce.getResult().getType().getNumElements());
}

void KernelEmitter::emitUniformScalars() {
  for (BlockArgument argument : body.getArguments())
    if (isUniform(argument))
      known[argument] = load(operandPointers.lookup(argument), index(0), elementOf(argument), 1, 1);
  for (Operation *op : ops) {
    if (!isUniform(op->getResult(0)) || !isComputedHere(op))
      continue;
    Value result;
    if (auto iota = dyn_cast<nn::IotaOp>(op)) {
      result = emitIota(iota, nullptr);
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(getScalar(operand));
      result = isa<nn::BroadcastOp, nn::ReshapeOp, nn::ReduceOp>(op)
                   ? operands.front()
                   : emitElementwise(scalars(), op, operands);
    }
    known[op->getResult(0)] = result;
  }
}

/// Scalars of the current row that become known once the reductions below `level` are.
void KernelEmitter::emitRowScalars(int level) {
  if (level == 0) {
    for (BlockArgument argument : body.getArguments()) {
      if (isUniform(argument))
        continue;
      if (shape.variesInside(argument))
        offsets[argument] = getOffset(argument, row);
      else
        known[argument] =
            load(operandPointers.lookup(argument), getOffset(argument, row), elementOf(argument), 1, 1);
    }
    for (Value result : results)
      if (shape.variesInside(result))
        offsets[result] = getOffset(result, row);
  }
  for (Operation *op : ops) {
    Value value = op->getResult(0);
    if (shape.variesInside(value) || isUniform(value) || shape.levels.lookup(value) != level ||
        !isComputedHere(op))
      continue;
    if (auto iota = dyn_cast<nn::IotaOp>(op)) {
      known[value] = emitIota(iota, nullptr);
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(getScalar(operand));
    known[value] = isa<nn::BroadcastOp, nn::ReshapeOp, nn::ReduceOp>(op)
                       ? operands.front()
                       : emitElementwise(scalars(), op, operands);
  }
}

scf::ForOp KernelEmitter::openLoop(Value begin, Value end, int64_t step, ValueRange carried) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, index(step), carried,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  builder.setInsertionPointToEnd(loop.getBody());
  return loop;
}

void KernelEmitter::closeLoop(scf::ForOp loop, ValueRange carried) {
  scf::YieldOp::create(builder, loc, carried);
  builder.setInsertionPointAfter(loop);
}

} // namespace zero

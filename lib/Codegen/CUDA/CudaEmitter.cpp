//===- CudaEmitter.cpp - What all forms of CUDA kernels share -------------===//
#include "CudaEmitter.h"

using namespace mlir;

namespace zero {

using Form = CudaSchedule::Form;

CudaEmitter::CudaEmitter(func::FuncOp flat, const KernelShape &shape, const CudaSchedule &schedule, ArrayRef<CudaPointer> pointers)
    : shape(shape), schedule(schedule), pointers(pointers), body(flat.getBody().front()),
      index(shape.getPoints() < (int64_t(1) << 31) ? "u32" : "u64") {
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  llvm::append_range(results, body.getTerminator()->getOperands());
}

std::string CudaEmitter::emit(StringRef name) {
  out.line("// " + std::to_string(shape.outer) + " x " + std::to_string(shape.reduced) + " x " + std::to_string(shape.inner) + " points");
  out.open("extern \"C\" __global__ void __launch_bounds__(" + std::to_string(schedule.threads) + ") " + name.str() + "(" + getParameters() + ")");
  if (schedule.form != Form::Fill) {
    emitUniformScalars();
    passes = shape.planPasses(ops, results);
  }
  switch (schedule.form) {
  case Form::Points:
    emitPoints();
    break;
  case Form::Rows:
    emitRows();
    break;
  case Form::Columns:
    emitColumns();
    break;
  case Form::Fill:
    emitFill();
    break;
  }
  out.close();
  return out.take();
}

std::string CudaEmitter::getParameters() const {
  std::string text;
  for (auto [i, pointer] : llvm::enumerate(pointers)) {
    const bool isOperand = i < body.getNumArguments();
    Value value = isOperand ? Value(body.getArgument(i)) : results[i - body.getNumArguments()];
    text += (i ? ", " : "") + std::string(isOperand ? "const " : "") + getMemoryType(elementOf(value)) + " *" +
            (pointer.overlaps ? "" : "__restrict__ ") + getPointer(i);
  }
  return text;
}

Type CudaEmitter::elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The number that `digits` (none inside the innermost dimension) make at a row; empty for 0.
std::string CudaEmitter::getDigits(ArrayRef<IndexDigit> digits) const {
  std::string sum;
  int64_t weight = 1;
  for (IndexDigit digit : llvm::reverse(digits)) {
    const int64_t stride = digit.stride / shape.inner;
    std::string text = "row";
    if (stride > 1)
      text += " / " + getNumber(stride);
    if (stride * digit.size < shape.outer * shape.reduced)
      text += " % " + getNumber(digit.size);
    if (weight > 1)
      text += " * " + getNumber(weight);
    weight *= digit.size;
    sum += (sum.empty() ? "" : " + ") + text;
  }
  return sum;
}

/// Where the row starts in `value`'s memory; empty for 0.
std::string CudaEmitter::getOffset(Value value) {
  IndexMap outside;
  for (IndexDigit digit : shape.getMap(value)) {
    const int64_t end = digit.stride * digit.size;
    if (digit.stride >= shape.inner)
      outside.push_back(digit);
    else if (end > shape.inner)
      outside.push_back({shape.inner, end / shape.inner});
  }
  std::string text = getDigits(outside);
  if (text.empty())
    return text;
  if (shape.variesInside(value))
    text = (StringRef(text).contains(" + ") ? "(" + text + ")" : text) + " * " + getNumber(shape.inner);
  if (text == "row")
    return text;
  auto [it, isNew] = offsets.try_emplace(text);
  if (isNew) {
    it->second = newName("offset");
    out.line("const " + index + " " + it->second + " = " + text + ";");
  }
  return it->second;
}

std::string CudaEmitter::getAddress(unsigned pointer, Value value, const std::string &position) {
  const std::string offset = getOffset(value);
  return getPointer(pointer) + (offset.empty() ? "" : " + " + offset) + " + " + position;
}

//===----------------------------------------------------------------------===//
// Scalars and elements
//===----------------------------------------------------------------------===//

/// The index along the iota's axis: digits outside the innermost dimension are the row's, those inside the position's.
std::string CudaEmitter::getIota(nn::IotaOp op, const std::string &position) {
  RankedTensorType type = op.getResult().getType();
  IndexMap digits, outside, inside;
  if (type.getNumElements() > 1) // everything about a tensor of one element is 0
    digits = shape.getAxisDigits(op.getResult(), op.getAxis());
  for (IndexDigit digit : digits) {
    const int64_t end = digit.stride * digit.size;
    if (digit.stride >= shape.inner) {
      outside.push_back(digit);
    } else if (end <= shape.inner) {
      inside.push_back(digit);
    } else {
      outside.push_back({shape.inner, end / shape.inner});
      inside.push_back({digit.stride, shape.inner / digit.stride});
    }
  }
  std::string sum;
  int64_t weight = 1;
  for (IndexDigit digit : llvm::reverse(inside)) {
    std::string text = StringRef(position).contains(' ') ? "(" + position + ")" : position;
    if (digit.stride > 1)
      text += " / " + getNumber(digit.stride);
    if (digit.stride * digit.size < shape.inner)
      text += " % " + getNumber(digit.size);
    if (weight > 1)
      text += " * " + getNumber(weight);
    weight *= digit.size;
    sum += (sum.empty() ? "" : " + ") + text;
  }
  if (std::string row = getDigits(outside); !row.empty())
    sum += (sum.empty() ? "" : " + ") + (weight > 1 ? "(" + row + ") * " + getNumber(weight) : row);
  if (sum.empty())
    sum = "0";
  Type element = type.getElementType();
  if (!isNarrowFloat(element))
    return "static_cast<" + getRegisterType(element) + ">(" + sum + ")";
  const bool fits = type.getDimSize(op.getAxis()) <= (1 << 24); // a float
  return makeRounded(fits ? "static_cast<float>(" + sum + ")" : "narrowToOdd(static_cast<double>(" + sum + "))", element);
}

/// A constant that holds the result of `op`.
CudaEmitter::Name CudaEmitter::declare(Operation *op, ArrayRef<std::string> operands) {
  Type element = elementOf(op->getResult(0));
  std::string text = makeElementwise(op, operands);
  if (text == operands.front() && !needsRounding(op))
    return {text, ""}; // a cast that changes nothing in registers
  Name name{newName("v"), ""};
  if (needsRounding(op)) {
    name.packed = newName("h");
    out.line("const " + getMemoryType(element) + " " + name.packed + " = " + writeMemory(text, element) + ";");
    text = readMemory(name.packed, element);
  }
  out.line("const " + getRegisterType(element) + " " + name.value + " = " + text + ";");
  return name;
}

std::string CudaEmitter::getScalar(Value value) {
  if (auto constant = value.getDefiningOp<nn::ConstantOp>())
    return makeLiteral(cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>(), elementOf(value));
  auto it = known.find(value);
  assert(it != known.end() && "a scalar is computed before it is read");
  return it->second;
}

CudaEmitter::Name CudaEmitter::getElement(Value value, Element &element) {
  if (isSplat(value) || !shape.variesInside(value))
    return {getScalar(value), ""};
  if (auto it = element.names.find(value); it != element.names.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  Type type = elementOf(value);
  auto constant = [&](const std::string &text) {
    std::string name = newName("v");
    out.line("const " + getRegisterType(type) + " " + name + " = " + text + ";");
    return name;
  };
  Name name;
  if (auto array = arrays.find(value); array != arrays.end() && (!op || array->second.level < element.level)) {
    std::string memory = at(array->second.name);
    bool direct = getMemoryType(type) == getRegisterType(type);
    name = {direct ? memory : constant(readMemory(memory, type)), isNarrowFloat(type) ? memory : ""};
  } else if (auto iota = dyn_cast_or_null<nn::IotaOp>(op)) {
    name.value = constant(getIota(iota, element.position));
  } else if (auto total = accumulators.find(op); total != accumulators.end() && element.level > shape.levels.lookup(op->getOperand(0))) {
    name.value = isNarrowFloat(type) ? constant(makeRounded(at(total->second), type)) : at(total->second); // of a column
  } else if (isa<nn::BroadcastOp, nn::ReshapeOp, nn::ReduceOp>(op)) {
    name = getElement(op->getOperand(0), element);
  } else {
    SmallVector<std::string> operands;
    for (Value operand : op->getOperands())
      operands.push_back(getElement(operand, element).value);
    name = declare(op, operands);
  }
  element.names[value] = name;
  return name;
}

/// A scalar from scalars.
void CudaEmitter::emitScalar(Operation *op) {
  Value value = op->getResult(0);
  if (auto iota = dyn_cast<nn::IotaOp>(op)) {
    known[value] = newName("v");
    out.line("const " + getRegisterType(elementOf(value)) + " " + known[value] + " = " + getIota(iota, "0") + ";");
    return;
  }
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getScalar(operand));
  known[value] = isa<nn::BroadcastOp, nn::ReshapeOp, nn::ReduceOp>(op) ? operands.front() : declare(op, operands).value;
}

/// Reductions are known by other ways.
static bool isComputedHere(Operation *op) {
  auto reduce = dyn_cast<nn::ReduceOp>(op);
  return !isa<nn::ConstantOp>(op) &&
         !(reduce && reduce.getOperand().getType().getNumElements() != reduce.getResult().getType().getNumElements());
}

void CudaEmitter::emitUniformScalars() {
  for (BlockArgument argument : body.getArguments()) {
    if (!isUniform(argument))
      continue;
    Type element = elementOf(argument);
    known[argument] = newName("v");
    out.line("const " + getRegisterType(element) + " " + known[argument] + " = " + readMemory(getPointer(argument.getArgNumber()) + "[0]", element) +
             ";");
  }
  for (Operation *op : ops)
    if (isUniform(op->getResult(0)) && isComputedHere(op))
      emitScalar(op);
}

/// Scalars of the current row that become known once the reductions below `level` are; `firstPass`: of those that follow.
void CudaEmitter::emitRowScalars(int level, int firstPass) {
  if (level == 0) {
    // All offsets here: what follows may be inside of braces.
    offsets.clear();
    llvm::SetVector<Value> used(results.begin(), results.end());
    for (int pass = firstPass; pass < static_cast<int>(passes.size()); ++pass)
      used.insert_range(collectNeeded(passes[pass], pass));
    for (BlockArgument argument : body.getArguments())
      if (used.contains(argument) || !shape.variesInside(argument))
        getOffset(argument);
    for (unsigned i = 0; i < results.size(); ++i)
      if (!shape.variesInside(results[i]) || shape.levels.lookup(results[i]) >= firstPass)
        getOffset(results[i]);
    for (BlockArgument argument : body.getArguments()) {
      if (isUniform(argument) || shape.variesInside(argument))
        continue;
      Type element = elementOf(argument);
      std::string text = readMemory(getPointer(argument.getArgNumber()) + "[" + getOffset(argument) + "]", element);
      known[argument] = newName("v");
      out.line("const " + getRegisterType(element) + " " + known[argument] + " = " + text + ";");
    }
  }
  for (Operation *op : ops) {
    Value value = op->getResult(0);
    if (!shape.variesInside(value) && !isUniform(value) && shape.levels.lookup(value) == level && isComputedHere(op))
      emitScalar(op);
  }
}

void CudaEmitter::emitScalarResults() {
  for (auto [i, result] : llvm::enumerate(results)) {
    if (shape.variesInside(result))
      continue;
    std::string offset = getOffset(result);
    out.line(getPointer(body.getNumArguments() + i) + "[" + (offset.empty() ? "0" : offset) +
             "] = " + writeMemory(getScalar(result), elementOf(result)) + ";");
  }
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Adds the elements that `value` is computed from in the pass of `level`.
void CudaEmitter::collectNeeded(Value value, int level, llvm::SetVector<Value> &needed) const {
  Operation *op = value.getDefiningOp();
  if (isSplat(value) || !shape.variesInside(value) || !needed.insert(value) || !op)
    return;
  if (auto saved = arrays.find(value); saved != arrays.end() && saved->second.level < level)
    return;
  if (accumulators.contains(op) && shape.levels.lookup(op->getOperand(0)) < level)
    return;
  for (Value operand : op->getOperands())
    collectNeeded(operand, level, needed);
}

llvm::SetVector<Value> CudaEmitter::collectNeeded(const Pass &pass, int level) const {
  llvm::SetVector<Value> needed;
  for (nn::ReduceOp op : pass.reductions)
    collectNeeded(op.getOperand(), level, needed);
  for (unsigned i : pass.results)
    collectNeeded(results[i], level, needed);
  for (Value value : pass.saved)
    collectNeeded(value, level, needed);
  return needed;
}

//===----------------------------------------------------------------------===//
// The neighbours that a thread has
//===----------------------------------------------------------------------===//

std::string CudaEmitter::getDimensions(bool chunked) const {
  return (chunked && chunks > 1 ? "[" + std::to_string(chunks) + "]" : "") + (schedule.vector > 1 ? "[" + std::to_string(schedule.vector) + "]" : "");
}

void CudaEmitter::openVector() {
  if (schedule.vector == 1)
    return;
  out.directive("#pragma unroll");
  out.open("for (int j = 0; j < " + std::to_string(schedule.vector) + "; ++j)");
}
void CudaEmitter::closeVector() {
  if (schedule.vector > 1)
    out.close();
}

void CudaEmitter::emitLoad(Value argument, const std::string &array, const std::string &position) {
  const unsigned pointer = cast<BlockArgument>(argument).getArgNumber();
  const std::string address = getAddress(pointer, argument, position);
  if (schedule.vector == 1)
    out.line(array + " = *(" + address + ");");
  else
    out.line("loadVector<" + std::to_string(pointers[pointer].alignment) + ">(" + array + ", " + address + ");");
}

/// Reads what operands have for this thread. `whole` says whether all neighbours are there; empty: they are.
void CudaEmitter::emitLoads(ArrayRef<Value> arguments, const std::string &position, const std::string &whole) {
  if (arguments.empty())
    return;
  for (Value argument : arguments) {
    arrays[argument] = {newName("a"), -1};
    out.line(getMemoryType(elementOf(argument)) + " " + arrays[argument].name + getDimensions(/*chunked=*/false) + ";");
  }
  if (!whole.empty())
    out.open("if (" + whole + ")");
  for (Value argument : arguments)
    emitLoad(argument, arrays[argument].name, position);
  if (whole.empty())
    return;
  out.close(" else {");
  out.indent();
  for (Value argument : arguments)
    out.line("loadPart(" + arrays[argument].name + ", " + getAddress(cast<BlockArgument>(argument).getArgNumber(), argument, position) + ", " +
             getNumber(shape.inner) + " - " + position + ");");
  out.close();
}

/// Everything that one pass does with the vector at `position`.
void CudaEmitter::emitElements(Pass &pass, int level, const std::string &position, const std::string &whole) {
  SmallVector<Value> loaded;
  for (Value value : collectNeeded(pass, level))
    if (isa<BlockArgument>(value) && !kept.contains(value))
      loaded.push_back(value);
  // Every operand is read before a result that may have its memory is written.
  emitLoads(loaded, position, whole);
  SmallVector<std::string> stored;
  for (unsigned i : pass.results) {
    stored.push_back(newName("r"));
    out.line(getMemoryType(elementOf(results[i])) + " " + stored.back() + getDimensions(/*chunked=*/false) + ";");
  }
  openVector();
  Element element;
  element.level = level;
  element.position = schedule.vector > 1 ? position + " + j" : position;
  auto inMemory = [&](const Name &name, Type type) { return name.packed.empty() ? writeMemory(name.value, type) : name.packed; };
  for (nn::ReduceOp op : pass.reductions) {
    std::string sum = at(accumulators.lookup(op));
    out.line(sum + " = " + makeCombined(op.getKind(), sum, getElement(op.getOperand(), element).value, elementOf(op.getOperand())) + ";");
  }
  for (Value value : pass.saved)
    out.line(at(arrays.lookup(value).name) + " = " + inMemory(getElement(value, element), elementOf(value)) + ";");
  for (auto [i, array] : llvm::zip_equal(pass.results, stored))
    out.line(at(array) + " = " + inMemory(getElement(results[i], element), elementOf(results[i])) + ";");
  closeVector();
  for (Value argument : loaded)
    arrays.erase(argument);

  auto store = [&](bool part) {
    for (auto [i, array] : llvm::zip_equal(pass.results, stored)) {
      const unsigned pointer = body.getNumArguments() + i;
      const std::string address = getAddress(pointer, results[i], position);
      if (part)
        out.line("storePart(" + address + ", " + array + ", " + getNumber(shape.inner) + " - " + position + ");");
      else if (schedule.vector == 1)
        out.line("*(" + address + ") = " + array + ";");
      else
        out.line("storeVector<" + std::to_string(pointers[pointer].alignment) + ">(" + address + ", " + array + ");");
    }
  };
  if (whole.empty() || pass.results.empty())
    return store(/*part=*/false);
  out.open("if (" + whole + ")");
  store(/*part=*/false);
  out.close(" else {");
  out.indent();
  store(/*part=*/true);
  out.close();
}

/// Each neighbour has its own sum.
void CudaEmitter::declareAccumulators(Pass &pass) {
  for (nn::ReduceOp op : pass.reductions) {
    Type element = elementOf(op.getOperand());
    std::string neutral = makeNeutral(op.getKind(), element), name = newName(nn::stringifyReduceKind(op.getKind()));
    if (schedule.vector > 1) {
      std::string list = neutral;
      for (int64_t i = 1; i < schedule.vector; ++i)
        list += ", " + neutral;
      neutral = "{" + list + "}";
    }
    out.line(getRegisterType(element) + " " + name + getDimensions(/*chunked=*/false) + " = " + neutral + ";");
    accumulators[op] = name;
  }
}

//===----------------------------------------------------------------------===//
// Points, and nothing
//===----------------------------------------------------------------------===//

//   for unit in the grid's vectors:            // the loop only where the grid is smaller
//     scalars of the row; read; compute; store
void CudaEmitter::emitPoints() {
  const int64_t vector = schedule.vector, vectors = llvm::divideCeil(shape.inner, vector), units = shape.outer * vectors;
  const int64_t threads = schedule.blocks * schedule.threads;
  const std::string wide = index == "u64" ? "static_cast<u64>(blockIdx.x)" : "blockIdx.x";
  const std::string first = wide + " * " + std::to_string(schedule.threads) + " + threadIdx.x";
  const bool loops = threads < units;
  if (loops) {
    out.open("for (" + index + " unit = " + first + "; unit < " + getNumber(units) + "; unit += " + getNumber(threads) + ")");
  } else {
    out.line("const " + index + " unit = " + first + ";");
    if (threads > units) {
      out.line("if (unit >= " + getNumber(units) + ")");
      out.line("  return;");
    }
  }
  const std::string step = vector > 1 ? " * " + std::to_string(vector) : "";
  std::string whole;
  if (shape.inner == 1) {
    out.line("const " + index + " row = unit;");
  } else if (shape.outer == 1) {
    out.line("const " + index + " position = unit" + step + ";");
    if (shape.inner % vector) {
      whole = "whole";
      out.line("const bool whole = position + " + std::to_string(vector) + " <= " + getNumber(shape.inner) + ";");
    }
  } else {
    out.line("const " + index + " row = unit / " + getNumber(vectors) + ", position = unit % " + getNumber(vectors) + step + ";");
  }
  emitRowScalars(0);
  if (shape.inner > 1)
    emitElements(passes[0], 0, "position", whole);
  else
    emitScalarResults();
  if (loops)
    out.close();
}

/// Reductions over nothing.
void CudaEmitter::emitFill() {
  for (auto [i, result] : llvm::enumerate(results)) {
    const int64_t count = cast<RankedTensorType>(result.getType()).getNumElements();
    if (count == 0)
      continue;
    auto op = result.getDefiningOp<nn::ReduceOp>();
    Type element = elementOf(result);
    std::string neutral = newName("v");
    out.line("const " + getRegisterType(element) + " " + neutral + " = " + makeNeutral(op.getKind(), element) + ";");
    out.line("for (u64 i = threadIdx.x; i < " + std::to_string(count) + "; i += " + std::to_string(schedule.threads) + ")");
    out.line("  " + getPointer(body.getNumArguments() + i) + "[i] = " + writeMemory(neutral, element) + ";");
  }
}

} // namespace zero

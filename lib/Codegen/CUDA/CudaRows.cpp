//===- CudaRows.cpp - CUDA kernels that walk rows -------------------------===//
//
//   for row of this group of lanes:            // a power of two of them: a part of a warp, or the block
//     scalars of the row
//     for each level:                          // once more for each reduction that something waits for
//       for the lane's vectors:                // neighbouring lanes take neighbouring vectors
//         combine into accumulators; store results
//       accumulators -> lanes -> warps         // shuffles, then shared memory
//
// Where a lane has few vectors they stay in registers between passes: loops over them are unrolled, and memory is read once.
// Which lane adds which element, and in which order, depends on the row's length alone.
//
//===----------------------------------------------------------------------===//
#include "CudaEmitter.h"
#include "zero/Analysis/ElementTypes.h"

using namespace mlir;

namespace zero {

/// Costs more to compute than to keep.
static bool isExpensive(Operation *op) {
  return isa_and_nonnull<nn::ExpOp, nn::Expm1Op, nn::LogOp, nn::Log1pOp, nn::AtanOp, nn::SqrtOp, nn::RsqrtOp, nn::ReciprocalOp, nn::TanhOp,
                         nn::SigmoidOp, nn::ErfOp, nn::SinOp, nn::CosOp, nn::PowOp, nn::DivOp, nn::RemOp>(op);
}

/// Chooses the operands and expensive values that stay in registers from one pass to the next.
void CudaEmitter::planRowRegisters() {
  chunks = llvm::divideCeil(shape.inner / schedule.vector, schedule.lanes);
  constexpr int64_t kMostChunks = 4;
  unrolled = chunks <= kMostChunks;
  if (!unrolled) {
    chunks = 1;
    return;
  }
  // A multiprocessor has 65536 registers for at most 2048 threads; what computes needs some, too.
  constexpr int64_t kRegisters = 65536, kOwn = 32, kMost = 96;
  int64_t budget = std::min(kMost, kRegisters / std::max<int64_t>(schedule.threads, 512) - kOwn);
  auto take = [&](Value value) {
    const int64_t taken = llvm::divideCeil(chunks * schedule.vector * getElementBytes(elementOf(value)), 4);
    if (taken > budget)
      return false;
    budget -= taken;
    return true;
  };
  DenseMap<Value, int> first;
  for (auto [level, pass] : llvm::enumerate(passes)) {
    for (Value value : collectNeeded(pass, level))
      first.try_emplace(value, level);
    auto isWorthKeeping = [&](Value value) {
      return first.lookup(value) < static_cast<int>(level) && isExpensive(value.getDefiningOp()) && !arrays.contains(value) && take(value);
    };
    // Outermost first: what they are made of is then not needed again.
    for (bool found = true; found;) {
      llvm::SetVector<Value> needed = collectNeeded(pass, level);
      auto it = llvm::find_if(needed, isWorthKeeping);
      found = it != needed.end();
      if (!found)
        break;
      passes[first.lookup(*it)].saved.push_back(*it);
      arrays[*it] = {"", first.lookup(*it)};
    }
  }
  first.clear();
  for (auto [level, pass] : llvm::enumerate(passes))
    for (Value value : collectNeeded(pass, level))
      if (auto [it, isNew] = first.try_emplace(value, level); !isNew && isa<BlockArgument>(value) && !kept.contains(value) && take(value))
        kept.insert(value);
}

void CudaEmitter::emitRows() {
  planRowRegisters();
  const int64_t lanes = schedule.lanes, rowsPerBlock = schedule.threads / lanes, rows = schedule.blocks * rowsPerBlock;
  const bool isBlock = lanes > kWarpThreads, loops = rows < shape.outer;
  if (schedule.sharedBytes) {
    out.line("extern __shared__ uint4 shared[];");
    int64_t begin = 0;
    for (Pass &pass : passes)
      for (nn::ReduceOp op : pass.reductions) {
        const std::string type = getRegisterType(elementOf(op.getOperand()));
        partials[op] = newName("partial");
        // 8 bytes for each warp of the largest block.
        out.line(type + " *const " + partials[op] + " = reinterpret_cast<" + type + " *>(shared + " + std::to_string(begin) + ");");
        begin += kWarpThreads * 8 / 16;
      }
  }
  if (rowsPerBlock == 1)
    out.line("const u32 lane = threadIdx.x;");
  else if (lanes > 1)
    out.line("const u32 lane = threadIdx.x % " + std::to_string(lanes) + ";");
  else
    out.line("constexpr u32 lane = 0;");
  if (lanes > 1 && lanes < kWarpThreads)
    out.line("const u32 mask = " + std::to_string((uint64_t(1) << lanes) - 1) + "u << (threadIdx.x % 32 - lane);");

  std::string row = index == "u64" ? "static_cast<u64>(blockIdx.x)" : "blockIdx.x";
  if (rowsPerBlock > 1)
    row += " * " + std::to_string(rowsPerBlock) + " + threadIdx.x" + (lanes > 1 ? " / " + std::to_string(lanes) : "");
  if (loops) {
    out.open("for (" + index + " row = " + row + "; row < " + getNumber(shape.outer) + "; row += " + getNumber(rows) + ")");
  } else {
    out.line("const " + index + " row = " + row + ";");
    if (rows > shape.outer) {
      out.line("if (row >= " + getNumber(shape.outer) + ")");
      out.line("  return;");
    }
  }
  emitRow();
  if (loops && isBlock && schedule.sharedBytes)
    out.line("__syncthreads(); // the next row's sums overwrite this one's");
  if (loops)
    out.close();
}

void CudaEmitter::emitRow() {
  emitRowScalars(0);
  if (unrolled && chunks == 1)
    out.line("const " + index + " position = lane" + (schedule.vector > 1 ? " * " + std::to_string(schedule.vector) : "") + ";");
  for (auto [level, pass] : llvm::enumerate(passes)) {
    emitRowPass(pass, level);
    emitRowScalars(level + 1);
  }
  for (Value argument : kept)
    arrays.erase(argument);
  auto isScalar = [&](auto result) { return !shape.variesInside(result.value()); };
  if (llvm::none_of(llvm::enumerate(results), isScalar))
    return;
  // A scalar that is replaced has been read by all.
  const bool overlaps =
      llvm::any_of(llvm::enumerate(results), [&](auto result) { return isScalar(result) && pointers[body.getNumArguments() + result.index()].overlaps; });
  if (overlaps && schedule.lanes > 1)
    out.line(schedule.lanes > kWarpThreads ? "__syncthreads();" : schedule.lanes < kWarpThreads ? "__syncwarp(mask);" : "__syncwarp(0xffffffffu);");
  if (schedule.lanes > 1)
    out.open("if (lane == 0)");
  emitScalarResults();
  if (schedule.lanes > 1)
    out.close();
}

/// The loop over the lane's vectors; `position` is that of the current one, in the row.
void CudaEmitter::openChunks() {
  const std::string step = schedule.vector > 1 ? " * " + std::to_string(schedule.vector) : "";
  const std::string length = getNumber(shape.inner);
  const int64_t width = schedule.lanes * schedule.vector;
  if (!unrolled) {
    out.open("for (" + index + " position = lane" + step + "; position < " + length + "; position += " + getNumber(width) + ")");
    return;
  }
  if (chunks > 1) {
    out.directive("#pragma unroll");
    out.open("for (int c = 0; c < " + std::to_string(chunks) + "; ++c)");
    out.line("const " + index + " position = " +
             (step.empty() ? "c * " + std::to_string(schedule.lanes) + " + lane;" : "(c * " + std::to_string(schedule.lanes) + " + lane)" + step + ";"));
  }
  if (chunks * width > shape.inner)
    out.open("if (position < " + length + ")");
}

void CudaEmitter::closeChunks() {
  if (!unrolled)
    return out.close();
  if (chunks * schedule.lanes * schedule.vector > shape.inner)
    out.close();
  if (chunks > 1)
    out.close();
}

void CudaEmitter::emitRowPass(Pass &pass, int level) {
  if (pass.reductions.empty() && pass.results.empty() && pass.saved.empty())
    return;
  declareAccumulators(pass);
  const std::string chunk = chunks > 1 ? "[c]" : "";
  auto declareKept = [&](Value value, int since) {
    std::string name = newName(isa<BlockArgument>(value) ? "a" : "s");
    out.line(getMemoryType(elementOf(value)) + " " + name + getDimensions(/*chunked=*/true) + ";");
    arrays[value] = {name + chunk, since};
  };
  SmallVector<Value> read;
  for (Value value : collectNeeded(pass, level))
    if (kept.contains(value) && !arrays.contains(value))
      read.push_back(value);
  for (Value value : read)
    declareKept(value, -1);
  for (Value value : pass.saved)
    declareKept(value, level);
  // All reads are on their way before the first is waited for.
  if (!read.empty()) {
    openChunks();
    for (Value value : read)
      emitLoad(value, arrays.lookup(value).name, "position");
    closeChunks();
  }
  openChunks();
  emitElements(pass, level, "position");
  closeChunks();
  emitRowReductions(pass);
}

/// The sum of the lanes' sums, known to all lanes.
void CudaEmitter::emitRowReductions(Pass &pass) {
  if (pass.reductions.empty())
    return;
  SmallVector<std::string> totals;
  for (nn::ReduceOp op : pass.reductions) {
    Type element = elementOf(op.getOperand());
    SmallVector<std::string> own;
    for (int64_t j = 0; j < schedule.vector; ++j)
      own.push_back(accumulators.lookup(op) + (schedule.vector > 1 ? "[" + std::to_string(j) + "]" : ""));
    totals.push_back(newName("total"));
    out.line(getRegisterType(element) + " " + totals.back() + " = " + makeCombined(op.getKind(), own, element) + ";");
  }
  auto shuffle = [&](int64_t lanes) {
    if (lanes < 2)
      return;
    out.directive("#pragma unroll");
    out.open("for (int s = " + std::to_string(lanes / 2) + "; s > 0; s /= 2)");
    for (auto [op, total] : llvm::zip_equal(pass.reductions, totals)) {
      std::string other = "shuffleXor(" + std::string(schedule.lanes < kWarpThreads ? "mask" : "0xffffffffu") + ", " + total + ", s)";
      out.line(total + " = " + makeCombined(op.getKind(), total, other, elementOf(op.getOperand())) + ";");
    }
    out.close();
  };
  shuffle(std::min(schedule.lanes, kWarpThreads));
  if (const int64_t warps = schedule.lanes / kWarpThreads; warps > 1) {
    out.open("if (threadIdx.x % 32 == 0)");
    for (auto [op, total] : llvm::zip_equal(pass.reductions, totals))
      out.line(partials.lookup(op) + "[threadIdx.x / 32] = " + total + ";");
    out.close();
    out.line("__syncthreads();");
    for (auto [op, total] : llvm::zip_equal(pass.reductions, totals))
      out.line(total + " = " + partials.lookup(op) + "[threadIdx.x % " + std::to_string(warps) + "];");
    shuffle(warps);
  }
  for (auto [op, total] : llvm::zip_equal(pass.reductions, totals)) {
    Type element = elementOf(op.getOperand());
    known[op.getResult()] = total;
    if (!isNarrowFloat(element))
      continue;
    known[op.getResult()] = newName("v");
    out.line("const float " + known[op.getResult()] + " = " + makeRounded(total, element) + ";");
  }
}

} // namespace zero

//===- CudaColumns.cpp - CUDA kernels that reduce over rows ---------------===//
//
//   for tile of columns of each outer index:   // a block each
//     for row in group, group + groups, ...:   // a group of lanes reads neighbouring columns
//       combine into accumulators; store whole results
//     groups -> group 0                        // a tree in shared memory
//     results of the totals
//
// Which group adds which rows depends on the numbers of rows and columns alone.
//
//===----------------------------------------------------------------------===//
#include "CudaEmitter.h"

using namespace mlir;

namespace zero {

void CudaEmitter::emitColumns() {
  const int64_t columns = schedule.getTileColumns(), tiles = llvm::divideCeil(shape.inner, columns), items = shape.outer * tiles;
  const bool loops = schedule.blocks < items, masked = shape.inner % columns != 0;
  if (schedule.groups > 1)
    out.line("extern __shared__ uint4 shared[];");
  out.line("const u32 lane = threadIdx.x % " + std::to_string(schedule.lanes) + ", group = threadIdx.x / " + std::to_string(schedule.lanes) + ";");
  if (loops)
    out.open("for (" + index + " tile = blockIdx.x; tile < " + getNumber(items) + "; tile += gridDim.x)");
  else
    out.line("const " + index + " tile = blockIdx.x;");
  const std::string first = tiles == 1 ? "lane" : std::string(shape.outer > 1 ? "(tile % " + getNumber(tiles) + " * " : "(tile * ") +
                                                       std::to_string(schedule.lanes) + " + lane)";
  out.line("const " + index + " position = " + first + (schedule.vector > 1 ? " * " + std::to_string(schedule.vector) : "") + ";");
  const std::string outer = shape.outer == 1 ? "" : (tiles == 1 ? "tile" : "tile / " + getNumber(tiles)) + " * " + getNumber(shape.reduced);

  declareAccumulators(passes[0]);
  if (masked)
    out.open("if (position < " + getNumber(shape.inner) + ")");
  const std::string rows = getNumber(shape.reduced), step = std::to_string(schedule.groups);
  out.directive("#pragma unroll 4");
  if (outer.empty()) {
    out.open("for (" + index + " row = group; row < " + rows + "; row += " + step + ")");
  } else {
    out.open("for (" + index + " i = group; i < " + rows + "; i += " + step + ")");
    out.line("const " + index + " row = " + outer + " + i;");
  }
  emitRowScalars(0);
  emitElements(passes[0], 0, "position");
  out.close();
  if (masked)
    out.close();
  emitColumnTotals(passes[0]);

  if (passes.size() > 1 && !passes[1].results.empty()) {
    std::string guard = schedule.groups > 1 ? "group == 0" : "";
    if (masked)
      guard += (guard.empty() ? "" : " && ") + ("position < " + getNumber(shape.inner));
    out.open(guard.empty() ? "" : "if (" + guard + ")");
    // Of the rows of this outer index nothing depends on which one it is.
    if (!outer.empty())
      out.line("const " + index + " row = " + outer + ";");
    else
      out.line("constexpr " + index + " row = 0;");
    emitRowScalars(0, /*firstPass=*/1);
    emitRowScalars(1);
    emitElements(passes[1], 1, "position");
    out.close();
  }
  if (loops && schedule.groups > 1)
    out.line("__syncthreads(); // the next tile's sums overwrite this one's");
  if (loops)
    out.close();
}

/// The upper half of the groups hands its sums to the lower half, until one group has all.
void CudaEmitter::emitColumnTotals(Pass &pass) {
  if (schedule.groups == 1)
    return;
  const std::string threads = std::to_string(schedule.threads);
  for (auto [number, op] : llvm::enumerate(pass.reductions)) {
    Type element = elementOf(op.getOperand());
    const std::string sum = at(accumulators.lookup(op)), type = getRegisterType(element);
    const std::string slot = schedule.vector > 1 ? "j * " + threads + " + threadIdx.x" : "threadIdx.x";
    if (number > 0)
      out.line("__syncthreads();");
    out.open("");
    out.line(type + " *const partial = reinterpret_cast<" + type + " *>(shared);");
    out.directive("#pragma unroll");
    out.open("for (int s = " + std::to_string(schedule.groups / 2) + "; s > 0; s /= 2)");
    out.open("if (group >= s && group < 2 * s)");
    openVector();
    out.line("partial[" + slot + "] = " + sum + ";");
    closeVector();
    out.close();
    out.line("__syncthreads();");
    out.open("if (group < s)");
    openVector();
    out.line(sum + " = " + makeCombined(op.getKind(), sum, "partial[" + slot + " + s * " + std::to_string(schedule.lanes) + "]", element) + ";");
    closeVector();
    out.close();
    out.close();
    out.close();
  }
}

} // namespace zero

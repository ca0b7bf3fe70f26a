//===- CudaSchedule.cpp - How a generated kernel is spread over a GPU -----===//
#include "zero/Analysis/CudaSchedule.h"
#include "zero/Analysis/ElementTypes.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace zero {
namespace {

using Form = CudaSchedule::Form;

constexpr int64_t kThreads = 256;
/// A few waves of the largest device; threads take what lies a grid further on.
constexpr int64_t kMostBlocks = 4096;
constexpr int64_t kMostRowBlocks = 65535;
/// Bytes of one access of memory.
constexpr int64_t kAccessBytes = 16;
/// Registers that one thread's elements of all operands and results may take.
constexpr int64_t kVectorRegisters = 96;
/// Bytes of a row of memory that are read at once, at least.
constexpr int64_t kSectorBytes = 32;
/// Tiles that fill a large device.
constexpr int64_t kTiles = 128;

int64_t roundUpToPower(int64_t value) { return static_cast<int64_t>(llvm::PowerOf2Ceil(std::max<int64_t>(value, 1))); }

class Scheduler {
public:
  Scheduler(func::FuncOp flat, const KernelShape &shape) : shape(shape), body(flat.getBody().front()) {
    for (Value value : body.getArguments())
      addMemory(value);
    results.assign(body.getTerminator()->operand_begin(), body.getTerminator()->operand_end());
    for (Value value : results)
      addMemory(value);
  }

  CudaSchedule run() {
    switch (shape.kind) {
    case KernelShape::Kind::Empty:
      schedule.form = Form::Fill;
      schedule.threads = kThreads;
      break;
    case KernelShape::Kind::Elementwise:
      // Where a row has a result of its own, its threads are together: no other one may still read what it replaces.
      if (llvm::any_of(results, [&](Value result) { return shape.inner > 1 && !shape.variesInside(result); }))
        scheduleRows();
      else
        schedulePoints();
      break;
    case KernelShape::Kind::Row:
      scheduleRows();
      break;
    case KernelShape::Kind::Column:
      scheduleColumns();
      break;
    }
    return schedule;
  }

private:
  static int64_t bytesOf(Value value) { return getElementBytes(cast<RankedTensorType>(value.getType()).getElementType()); }

  void addMemory(Value value) {
    if (shape.variesInside(value))
      memory.push_back(bytesOf(value));
  }

  /// Elements that fill one access of the narrowest type (bytes count as two of them), as far as registers allow.
  int64_t getWidestVector() const {
    int64_t narrowest = 8;
    for (int64_t bytes : memory)
      narrowest = std::min(narrowest, std::max<int64_t>(bytes, 2));
    int64_t vector = kAccessBytes / narrowest;
    auto registers = [&] {
      int64_t sum = 0;
      for (int64_t bytes : memory)
        sum += llvm::divideCeil(bytes * vector, 4);
      return sum;
    };
    while (vector > 1 && registers() > kVectorRegisters)
      vector /= 2;
    return vector;
  }
  /// Of rows: vectors end where rows do.
  int64_t getRowVector() const { return std::gcd(getWidestVector(), shape.inner); }

  void schedulePoints() {
    schedule.form = Form::Points;
    bool isFlat = shape.outer == 1;
    schedule.vector = isFlat ? getWidestVector() : getRowVector();
    int64_t units = shape.outer * llvm::divideCeil(shape.inner, schedule.vector);
    schedule.threads = std::min<int64_t>(kThreads, llvm::alignTo(units, kWarpThreads));
    schedule.blocks = std::min<int64_t>(kMostBlocks, llvm::divideCeil(units, schedule.threads));
  }

  void scheduleRows() {
    schedule.form = Form::Rows;
    schedule.vector = getRowVector();
    // The length of the row alone decides, so that the number of rows (a batch) changes no bit.
    int64_t vectors = shape.inner / schedule.vector;
    constexpr int64_t kWarpVectors = 4, kMostLanes = 1024;
    if (vectors <= kWarpThreads * kWarpVectors) {
      schedule.lanes = std::min(kWarpThreads, roundUpToPower(vectors));
      schedule.threads = std::min<int64_t>(kThreads, llvm::alignTo(shape.outer * schedule.lanes, kWarpThreads));
      schedule.blocks = std::min<int64_t>(kMostRowBlocks, llvm::divideCeil(shape.outer, schedule.threads / schedule.lanes));
      return;
    }
    schedule.lanes = std::clamp<int64_t>(roundUpToPower(llvm::divideCeil(vectors, kWarpVectors)), 2 * kWarpThreads, kMostLanes);
    schedule.threads = schedule.lanes;
    schedule.blocks = std::min(kMostRowBlocks, shape.outer);
    // A partial result of each warp, 8 bytes apart, for each reduction.
    schedule.sharedBytes = countReductions() * kWarpThreads * 8;
  }

  void scheduleColumns() {
    schedule.form = Form::Columns;
    schedule.vector = getRowVector();
    int64_t vectors = shape.inner / schedule.vector, narrowest = 8, registerBytes = 4;
    for (int64_t bytes : memory)
      narrowest = std::min(narrowest, bytes);
    forEachReduction([&](nn::ReduceOp op) { registerBytes = std::max(registerBytes, bytesOf(op.getOperand())); });
    // Narrow tiles, so that there are many; but whole sectors of memory.
    constexpr int64_t kColumnThreads = 512;
    int64_t least = roundUpToPower(llvm::divideCeil(kSectorBytes, narrowest * schedule.vector)), most = roundUpToPower(vectors);
    int64_t lanes = std::min(kWarpThreads, most);
    while (lanes > least && llvm::divideCeil(vectors, lanes) < kTiles)
      lanes /= 2;
    int64_t groups = std::min(roundUpToPower(shape.reduced), kColumnThreads / lanes);
    // Few rows: the block is filled with columns.
    while (lanes * groups < kThreads / 2 && lanes < most)
      lanes *= 2;
    schedule.lanes = lanes;
    schedule.groups = groups;
    schedule.threads = lanes * groups;
    schedule.blocks = std::min<int64_t>(kMostRowBlocks, shape.outer * llvm::divideCeil(vectors, lanes));
    schedule.sharedBytes = groups > 1 ? schedule.threads * schedule.vector * registerBytes : 0;
  }

  void forEachReduction(llvm::function_ref<void(nn::ReduceOp)> visit) {
    for (Operation &op : body.without_terminator())
      if (auto reduce = dyn_cast<nn::ReduceOp>(op))
        if (reduce.getOperand().getType().getNumElements() != reduce.getResult().getType().getNumElements())
          visit(reduce);
  }
  int64_t countReductions() {
    int64_t count = 0;
    forEachReduction([&](nn::ReduceOp) { ++count; });
    return count;
  }

  const KernelShape &shape;
  Block &body;
  SmallVector<Value> results;
  SmallVector<int64_t> memory; ///< bytes of an element of each operand and result that changes along the innermost dimension
  CudaSchedule schedule;
};

} // namespace

plan::LaunchAttr CudaSchedule::getLaunch(MLIRContext *context) const { return plan::LaunchAttr::get(context, blocks, threads, sharedBytes); }

CudaSchedule computeCudaSchedule(func::FuncOp flat, const KernelShape &shape) { return Scheduler(flat, shape).run(); }

plan::LaunchAttr getCudaLaunch(func::FuncOp function) {
  FailureOr<OwningOpRef<func::FuncOp>> flat = flattenKernel(function);
  if (failed(flat))
    return {};
  FailureOr<KernelShape> shape = computeKernelShape(flat->get());
  return failed(shape) ? plan::LaunchAttr() : computeCudaSchedule(flat->get(), *shape).getLaunch(function.getContext());
}

} // namespace zero

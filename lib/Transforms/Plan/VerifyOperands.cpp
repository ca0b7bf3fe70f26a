//===- VerifyOperands.cpp - The part of plan-verify about one command -----===//
//
// Bytes that a command writes are bytes of no other of its operands. Three exceptions: a generated kernel may write where it reads, where
// no element is read after it was written (canComputeInPlace); a collective's source or target may be the ranks' parts of the other; and
// slices of one buffer that a kernel of the library goes through in strides may interleave, as the parts of a concatenation do.
//
//===----------------------------------------------------------------------===//
#include "VerifyOperands.h"
#include "BufferAddresses.h"
#include "LibraryBytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/KernelShape.h"
#include "zero/Runtime/HAL/RankRange.h"

using namespace mlir;

namespace zero {
namespace {

/// A slice with its place in one space of addresses.
struct Operand : RankAccess {
  plan::SliceAttr slice;
};

class OperandVerifier {
public:
  explicit OperandVerifier(ModuleOp module)
      : symbols(module), memory(module), ranks(memory.getWorldSize()), addresses(getBufferAddresses(module, memory)) {}

  LogicalResult run() {
    for (unsigned section = 0; section < memory.getSections().size(); ++section)
      for (const PlanCommand &command : memory.getCommands(section))
        if (failed(check(command.op)))
          return failure();
    return success();
  }

private:
  LogicalResult check(Operation *command) {
    SmallVector<plan::SliceAttr> reads, writes;
    getSlices(command, reads, writes);
    std::vector<Operand> operands;
    for (auto [write, slices] : {std::pair(false, &reads), std::pair(true, &writes)})
      for (auto [index, slice] : llvm::enumerate(*slices)) {
        const RankRange range{addresses[*memory.findBuffer(slice.getBuffer())] + slice.getOffset(), static_cast<int64_t>(slice.getSize()),
                              static_cast<int64_t>(slice.getRankStride())};
        if (range.size != 0)
          operands.push_back({{range, /*arena=*/0, write, static_cast<unsigned>(index)}, slice});
      }
    return success(forEachOverlap(std::move(operands), ranks, [&](const Operand &a, const Operand &b) {
      return mayOverlap(command, a, b) || succeeded(refuse(command, b, a));
    }));
  }

  bool mayOverlap(Operation *command, const Operand &a, const Operand &b) {
    if (a.slice.getBuffer() != b.slice.getBuffer())
      return false;
    if (isa<plan::ZeroOp>(command))
      return true;
    if (auto collective = dyn_cast<plan::CollectiveOp>(command))
      return a.write != b.write && computesInPlace(collective, a.write ? a : b, a.write ? b : a);
    auto dispatch = dyn_cast<plan::DispatchOp>(command);
    if (!dispatch)
      return false;
    auto kernel = symbols.lookup<plan::KernelOp>(dispatch.getKernel());
    if (!kernel)
      return mayInterleave(dispatch, a, b);
    return a.write != b.write && a.range == b.range && canCompute(kernel, a.write ? b.index : a.index, a.write ? a.index : b.index);
  }

  /// `write` is the target, as the staging is the second write.
  bool computesInPlace(plan::CollectiveOp collective, const Operand &write, const Operand &read) const {
    if (write.index != 0)
      return false;
    switch (collective.getKind()) {
    case plan::CollectiveKind::all_gather:
      return read.range.isOwnPart(write.range, ranks);
    case plan::CollectiveKind::reduce_scatter:
      return write.range.isOwnPart(read.range, ranks);
    case plan::CollectiveKind::control_sum:
      return read.range == write.range;
    }
    return false;
  }

  /// Whether both are elements that the kernel goes through, which it may do in strides, though not from one first element on; its
  /// workspace has none. A sum with a matrix may lie in the matrix's place.
  bool mayInterleave(plan::DispatchOp dispatch, const Operand &a, const Operand &b) const {
    std::optional<LibraryBytes> library = getLibraryBytes(dispatch);
    if (!library)
      return true; // plan-verify-kernels says which kernels there are
    if (a.range.begin == b.range.begin) {
      constexpr unsigned kAddend = 2;
      return dispatch.getKernel() == "fused_matmul" && a.range == b.range && a.write != b.write && (a.write ? b : a).index == kAddend && (a.write ? a : b).index == 0;
    }
    const unsigned last = dispatch.getWrites().size() - 1;
    return library->workspace == 0 || !((a.write && a.index == last) || (b.write && b.index == last));
  }

  bool canCompute(plan::KernelOp kernel, unsigned read, unsigned write) {
    auto [known, isNew] = inPlace.try_emplace({kernel, {read, write}}, false);
    if (isNew)
      if (auto body = symbols.lookup<func::FuncOp>(kernel.getBodyFunction()))
        known->second = canComputeInPlace(body, read, write);
    return known->second;
  }

  std::string describe(const Operand &operand) const {
    const int64_t begin = operand.slice.getOffset();
    return ("bytes " + Twine(begin) + ".." + Twine(begin + operand.slice.getSize()) + " of @" + operand.slice.getBuffer().getValue()).str();
  }

  LogicalResult refuse(Operation *command, const Operand &a, const Operand &b) const {
    const bool second = a.write && b.write && b.index < a.index;
    const Operand &write = a.write && !second ? a : b, &other = a.write && !second ? b : a;
    auto error = command->emitError() << "writes " << describe(write) << " and " << (other.write ? "writes " : "reads ") << describe(other);
    const bool oneBuffer = write.slice.getBuffer() == other.slice.getBuffer();
    if (oneBuffer)
      error << ", and cannot do so in place; zero-to-plan gives each its own bytes";
    else
      error << ", which overlap; plan-assign-offsets keeps apart what lives at once";
    for (const Operand *operand : {&write, &other})
      if (operand == &write || !oneBuffer) {
        plan::BufferOp buffer = memory.getBuffers()[*memory.findBuffer(operand->slice.getBuffer())];
        error.attachNote(buffer.getLoc()) << "@" << buffer.getSymName() << " is here, from byte " << *buffer.getOffset() << " of @" << buffer.getArena();
      }
    return error;
  }

  SymbolTable symbols;
  PlanMemory memory;
  int64_t ranks;
  SmallVector<int64_t> addresses; // of the first byte of each buffer
  DenseMap<std::pair<Operation *, std::pair<unsigned, unsigned>>, bool> inPlace;
};

} // namespace

LogicalResult verifyOperands(ModuleOp module) { return OperandVerifier(module).run(); }

} // namespace zero

//===- BufferAddresses.cpp - Buffers in one space of addresses ------------===//
#include "BufferAddresses.h"

using namespace mlir;

namespace zero {

SmallVector<int64_t> getBufferAddresses(ModuleOp module, const PlanMemory &memory) {
  llvm::StringMap<int64_t> arenaStarts;
  int64_t start = 0;
  for (auto arena : module.getOps<plan::ArenaOp>()) {
    arenaStarts[arena.getSymName()] = start;
    start += arena.getSizeBytes();
  }
  SmallVector<int64_t> addresses;
  for (plan::BufferOp buffer : memory.getBuffers())
    addresses.push_back(arenaStarts.lookup(buffer.getArena()) + *buffer.getOffset());
  return addresses;
}

} // namespace zero

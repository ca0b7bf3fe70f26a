//===- OmittedBytes.cpp - Zeros that need not be sent, as far as a plan shows -===//
#include "zero/Analysis/OmittedBytes.h"
#include "zero/Analysis/PlanMemory.h"
#include "zero/Runtime/HAL/Staging.h"
#include <algorithm>

using namespace mlir;

namespace zero {
namespace {

/// A table in a buffer of which at most `touched` rows hold something.
struct SparseTable {
  int64_t offset, rows, rowBytes, touched;

  int64_t bytes() const { return rows * rowBytes; }
  bool overlaps(plan::SliceAttr slice) const { return slice.getOffset() < offset + bytes() && offset < slice.getOffset() + slice.getSize(); }
  int64_t omitted() const {
    // A row holds parts of blocks at both ends.
    const int64_t block = kZeroBlockBytes, carried = std::min(rows, touched) * (rowBytes + block) + bytes() / (8 * block);
    return carried <= bytes() / 4 * 3 ? bytes() - carried : 0;
  }
};

class OmittedBytes {
public:
  explicit OmittedBytes(ModuleOp module) : worldSize(getWorldSize(module)) {
    for (auto section : module.getOps<plan::SectionOp>())
      for (Operation &command : section.getBody().getOps())
        visit(&command);
  }

  DenseMap<Operation *, int64_t> counts;

private:
  void visit(Operation *command) {
    SmallVector<plan::SliceAttr> reads, writes;
    getSlices(command, reads, writes);
    auto collective = dyn_cast<plan::CollectiveOp>(command);
    SmallVector<SparseTable> sums;
    if (collective && collective.getKind() != plan::CollectiveKind::control_sum) {
      for (const SparseTable &table : tables.lookup(collective.getSource().getBuffer())) {
        // A gather sends one rank's part of what the sum left in the same buffer.
        if (int64_t share = table.omitted() / worldSize * (worldSize - 1); share)
          counts[command] += share;
        if (collective.getKind() == plan::CollectiveKind::reduce_scatter)
          sums.push_back({table.offset, table.rows, table.rowBytes, table.touched * worldSize});
      }
    }
    for (plan::SliceAttr slice : writes)
      if (auto known = tables.find(slice.getBuffer()); known != tables.end())
        llvm::erase_if(known->second, [&](const SparseTable &table) { return table.overlaps(slice); });
    for (SparseTable &sum : sums)
      tables[collective.getTarget().getBuffer()].push_back(sum);
    auto dispatch = dyn_cast<plan::DispatchOp>(command);
    if (!dispatch || dispatch.getKernel() != "scatter_add")
      return;
    // KernelTable.inc: element, index_element, outer, axis_size, inner, count
    ArrayRef<int64_t> integers = dispatch.getIntegers();
    if (integers.size() == 6 && integers[2] == 1)
      tables[writes[0].getBuffer()].push_back({writes[0].getOffset(), integers[3], writes[0].getSize() / std::max<int64_t>(integers[3], 1), integers[5]});
  }

  const int64_t worldSize;
  DenseMap<Attribute, SmallVector<SparseTable>> tables;
};

} // namespace

DenseMap<Operation *, int64_t> countOmittedBytes(ModuleOp module) { return std::move(OmittedBytes(module).counts); }

} // namespace zero

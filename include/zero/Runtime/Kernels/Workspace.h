//===- Workspace.h - Scratch bytes of kernels: arithmetic both sides use --===//
//
// Standard library only: the compiler includes this to plan what the runtime then uses.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_WORKSPACE_H
#define ZERO_RUNTIME_KERNELS_WORKSPACE_H

#include <cstdint>
#include <span>
#include <string_view>

namespace zero {

/// Query rows and key columns of one block of attention.
inline constexpr int64_t kAttentionBlock = 64;

/// Bytes that the kernel `name` with `integers` (KernelTable.inc) needs as its last write; 0 where it takes none.
inline int64_t kernelWorkspaceBytes(std::string_view name, std::span<const int64_t> integers) {
  // Scratch of one block: scores and their gradients, accumulators of D columns for each row.
  if (name == "attention" && integers.size() > 6)
    return 4 * (kAttentionBlock * kAttentionBlock + 4 * kAttentionBlock * (integers[6] + 16));
  if (name == "attention_grad" && integers.size() > 6)
    return 4 * (2 * kAttentionBlock * kAttentionBlock + 6 * kAttentionBlock * (integers[6] + 16)) +
           4 * integers[1] * integers[4] * integers[2];  // one float per (batch, head, row): sum of out * out_gradient
  return 0;
}

} // namespace zero

#endif

//===- SliceBytes.h - How far a kernel of the library reaches -------------===//
//
// Standard library only: the compiler proves with it what the runtime checks again at start.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_SLICEBYTES_H
#define ZERO_RUNTIME_KERNELS_SLICEBYTES_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace zero {

/// For each pointer of the kernel (reads, then writes, as KernelTable.inc lists them) the bytes from it on that a run may touch; the
/// largest number where one lies before it or no number fits. Nothing for a kernel that the library does not have, or integers of
/// which there are too few; what else is wrong with them prepareKernel says.
std::optional<std::vector<uint64_t>> kernelOperandBytes(std::string_view name, std::span<const int64_t> integers);

/// Of its workspace on CPUs (Workspace.h), 0 where it has none; the largest number where none fits. `operands`: of kernelOperandBytes.
uint64_t kernelScratchBytes(std::string_view name, std::span<const int64_t> integers, std::span<const uint64_t> operands);

/// The bytes of both, the workspace last.
std::optional<std::vector<uint64_t>> kernelSliceBytes(std::string_view name, std::span<const int64_t> integers);

} // namespace zero

#endif

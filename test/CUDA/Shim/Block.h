//===- Block.h - Runs the blocks of a kernel ------------------------------===//
//
// The threads of a block are fibers of one thread of the host. As long as a thread meets no barrier it needs none of its own: the fiber
// that ran it goes on with the next thread, so that a kernel without barriers is a plain loop. A thread that has to wait keeps its fiber.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_BLOCK_H
#define ZERO_TEST_CUDA_SHIM_BLOCK_H

#include "test/CUDA/Shim/KernelObject.h"
#include "test/CUDA/Shim/Report.h"
#include "test/CUDA/Shim/Worker.h"

namespace zero::shim {

struct KernelLaunch {
  const zero_shim::Object *object = nullptr;
  const zero_shim::Kernel *kernel = nullptr;
  zero_shim::Coordinates grid = {1, 1, 1}, block = {1, 1, 1};
  unsigned sharedBytes = 0;
};

/// Runs all blocks on the calling thread. `arguments`: the addresses of the arguments' values.
CUresult runKernel(const KernelLaunch &launch, void *const *arguments, const Timing &timing);

/// "thread (3, 0, 0) of block (0, 1, 0)", of the calling thread.
std::string currentThreadText();

// For faults of the calling thread.
bool isKernelStackOverflow(const void *address);
bool isDynamicSharedOverrun(const void *address);
/// Ends the kernel that the calling thread runs, whatever stack it is on: runKernel gives `error`.
[[noreturn]] void abandonKernel(CUresult error);

} // namespace zero::shim

#endif

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
#include <ucontext.h>

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
/// The shared memory of the calling thread's module, null where there is none.
struct SharedBytes {
  std::byte *begin = nullptr;
  uint64_t size = 0;
  bool holds(const void *address) const {
    auto *at = static_cast<const std::byte *>(address);
    return at >= begin && at < begin + size;
  }
};

// For faults of the calling thread.
bool isKernelStackOverflow(const void *address);
bool isDynamicSharedOverrun(const void *address);
/// Makes the interrupted kernel return to runKernel, which gives `error`.
void abandonKernel(CUresult error, ucontext_t *context);

} // namespace zero::shim

#endif

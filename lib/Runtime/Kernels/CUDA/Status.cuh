//===- Status.cuh - What kernels tell the host ----------------------------===//

namespace zero {

/// As in CudaKernels.h; all zeros before a step.
struct CudaStatus {
  u32 raised, kernel;
  u64 command;
  i64 position, index, size;
};

/// Keeps the error of the thread that comes first: of a step that is the one of the first launch with any, and in it any one. The host reads it
/// behind the launch, so that only who comes first needs an atomic's order.
__device__ inline void raiseStatus(CudaStatus *status, u32 kernel, u32 command, i64 position, i64 index, i64 size) {
  if (atomicCAS(&status->raised, 0u, 1u) != 0u)
    return;
  status->kernel = kernel;
  status->command = command;
  status->position = position;
  status->index = index;
  status->size = size;
}

} // namespace zero

//===- Status.cuh - What kernels tell the host ----------------------------===//

namespace zero {

/// As in CudaKernels.h; all zeros before a step.
struct CudaStatus {
  u32 lock, kernel;
  u64 command;
  i64 position, index, size;
};

/// Keeps the error of the lowest command and position, whichever thread comes first.
__device__ inline void raiseStatus(CudaStatus *status, u32 kernel, u32 command, i64 position, i64 index, i64 size) {
  while (atomicCAS(&status->lock, 0u, 1u) != 0u)
    ;
  __threadfence();
  volatile CudaStatus *kept = status;
  if (kept->kernel == 0 || command < kept->command || (command == kept->command && position < kept->position)) {
    kept->kernel = kernel;
    kept->command = command;
    kept->position = position;
    kept->index = index;
    kept->size = size;
  }
  __threadfence();
  atomicExch(&status->lock, 0u);
}

} // namespace zero

//===- KernelObject.h - Between kernels compiled for the host and driver --===//
//
// Seen by both: by the text of kernels, through Emulation.h, and by the simulated driver that runs them. Includes nothing.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_KERNELOBJECT_H
#define ZERO_TEST_CUDA_SHIM_KERNELOBJECT_H

namespace zero_shim {

struct Coordinates {
  unsigned x, y, z;
};

/// The thread of a kernel that the calling thread of the host is just now. A thread of the host runs one block at a time.
struct Thread {
  Coordinates threadIdx, blockIdx, blockDim, gridDim;
  void *dynamicShared;
  /// Name of the kernel; null outside of kernels.
  const char *kernel;
};

struct Parameter {
  unsigned size;
  bool isPointer;
};

struct Kernel {
  const char *name;
  /// Runs the current thread of the block, then all that zero_shim_next makes the current one.
  void (*run)(void *const *arguments);
  unsigned parameterCount;
  const Parameter *parameters;
  /// Of __launch_bounds__; 0: none.
  unsigned mostThreads;
};

/// Every object exports one of these as zero_shim_object.
struct Object {
  /// "sm_90" or "compute_90".
  char architecture[16];
  unsigned kernelCount;
  const Kernel *kernels;
  /// Bytes of shared memory of the calling thread lie around here.
  void *(*touchShared)();
  /// Whether its accesses call zero_shim_access.
  bool checksShared;
};

} // namespace zero_shim

extern "C" {
extern __thread zero_shim::Thread zero_shim_thread __attribute__((tls_model("initial-exec")));

bool zero_shim_next();
/// __syncthreads and its kin: the number of threads whose predicate is not 0.
unsigned zero_shim_barrier(int predicate, const char *operation, int line);
/// Bits of `source`'s value; `source` is a lane of the warp.
unsigned long long zero_shim_exchange(unsigned mask, unsigned long long bits, unsigned source, const char *operation, int line);
/// Lanes of the mask whose predicate is not 0.
unsigned zero_shim_vote(unsigned mask, int predicate, const char *operation, int line);
/// What a device's clock says, which is not the host's.
unsigned long long zero_shim_nanoseconds();
/// Ends the kernel with an error.
void zero_shim_trap(const char *what, int line);
/// Of objects that check shared memory: `size` bytes are read or written.
void zero_shim_access(const void *address, unsigned size, bool isWrite);
}

#endif

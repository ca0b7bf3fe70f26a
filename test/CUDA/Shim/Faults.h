//===- Faults.h - Accesses to memory that are refused ---------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_FAULTS_H
#define ZERO_TEST_CUDA_SHIM_FAULTS_H

namespace zero::shim {

/// Names the faults of the process from now on: accesses of the host to device memory, and those of kernels out of bounds.
void nameFaults();
/// Lets the calling thread run kernels: gives it stacks for that, since a kernel may have used up its own.
void prepareThreadForFaults();

} // namespace zero::shim

#endif

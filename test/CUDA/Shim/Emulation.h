//===- Emulation.h - CUDA C++ on the host ---------------------------------===//
//
// Stands before the text of kernels that the simulated NVRTC compiles. Declares what NVRTC declares on its own, and no more: without any
// header, so that a text which needs one fails here as it does there. __global__, __shared__ and __launch_bounds__ are no macros:
// KernelText.cpp finds and replaces them.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_EMULATION_H
#define ZERO_TEST_CUDA_SHIM_EMULATION_H

#include "KernelObject.h"

#define ZERO_HOST_EMULATION 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1

#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __grid_constant__

#define ZERO_SHIM_INLINE static inline __attribute__((always_inline, unused))

#include "EmulationTypes.h"

#include "EmulationMath.h"

#define threadIdx (const_cast<const uint3 &>(zero_shim_thread.threadIdx))
#define blockIdx (const_cast<const uint3 &>(zero_shim_thread.blockIdx))
#define blockDim (const_cast<const uint3 &>(zero_shim_thread.blockDim))
#define gridDim (const_cast<const uint3 &>(zero_shim_thread.gridDim))
#define warpSize 32

#include "EmulationThreads.h"

#endif

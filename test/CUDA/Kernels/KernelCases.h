//===- KernelCases.h - Kernels of a CUDA device beside those of the CPU ---===//
#ifndef ZERO_TEST_CUDA_KERNELS_KERNELCASES_H
#define ZERO_TEST_CUDA_KERNELS_KERNELCASES_H

#include "zero/Runtime/HAL/Stream.h"
#include "zero/Runtime/Kernels/CudaKernels.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace zero::test {

/// The numbers of ElementType (lib/Container/plan.fbs).
enum Number : int64_t { F32, F64, F16, BF16, I64, I32, I16, I8, U8, I1, U16, U32, U64 };
uint64_t bytesOf(int64_t element);

using Bytes = std::vector<std::byte>;

/// How two results are compared: bit by bit, or numbers whose difference is at most `tolerance` of the largest expected one.
struct Write {
  int64_t element;
  uint64_t count;
  double tolerance = 0; ///< 0: the same bits
};

/// One dispatch: what a plan says of it, without the workspace.
struct Case {
  std::string kernel;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<Bytes> reads;
  std::vector<Write> writes;
  /// Bytes by which every operand lies beside a multiple of 16.
  uint64_t misaligned = 0;
  /// The device's status before it.
  CudaStatus raised = {};
};

/// Numbers between -2 and 2, integers of the whole type.
class Numbers {
public:
  explicit Numbers(unsigned seed) : generator(seed) {}
  int64_t between(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(generator); }
  bool coin() { return between(0, 1) != 0; }
  Bytes elements(int64_t element, uint64_t count);
  /// Of an integer type, within [0, end).
  Bytes indices(int64_t element, uint64_t count, int64_t end);

private:
  std::mt19937_64 generator;
};

/// As doubles.
std::vector<double> numbersOf(int64_t element, const Bytes &bytes);

/// What the CPU's kernel writes.
std::vector<Bytes> runOnHost(const Case &one);

/// The device that kernels are tried on: a simulated one, where ZERO_CUDA_LIBRARY_PATH names it. Null (and the test is skipped) where
/// there is none.
StreamDevice *device();

/// Whether that is a simulated one, whose libraries do what is known.
bool isSimulated();

/// A small workspace for products: tests look at all bytes of what they allocate.
inline CudaOptions smallWorkspace() {
  CudaOptions options;
  options.workspaceBytes = 1 << 16;
  return options;
}

/// Compiles all kernels of the cases as one program, runs each on the device and on the CPU, and compares what they write, and that
/// nothing else was written.
void expectSameOnDevice(const std::vector<Case> &cases, const CudaOptions &options = {});

/// Runs the cases on the device alone; gives what they wrote, and the device's status.
struct DeviceResult {
  std::vector<Bytes> writes;
  Status status;
  std::string algorithm; ///< CudaKernel::algorithmText
};
std::vector<DeviceResult> runOnDevice(const std::vector<Case> &cases, const CudaOptions &options = {});

} // namespace zero::test

#endif

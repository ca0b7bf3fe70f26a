//===- CudnnEngines.h - The engines of the simulated cuDNN ----------------===//
#ifndef ZERO_TEST_CUDA_SHIM_CUDNNENGINES_H
#define ZERO_TEST_CUDA_SHIM_CUDNNENGINES_H

#include "test/CUDA/Shim/CudnnConvolution.h"
#include <span>
#include <vector>

namespace zero::shim {

struct CudnnEngine {
  int64_t number;
  Arithmetic arithmetic;
  uint64_t workspaceBytes;
  std::vector<cudnnBackendNumericalNote_t> numerical;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  bool builds = true;
};

/// What heuristics of that mode name for a problem, best first: those that a careful caller leaves out stand before those that it takes.
/// ZERO_SHIM_CUDNN_ENGINES=N,N...: these alone.
std::vector<CudnnEngine> rankEngines(const ConvolutionProblem &problem, cudnnBackendHeurMode_t mode);

} // namespace zero::shim

#endif

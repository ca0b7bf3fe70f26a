//===- CudnnEngines.cpp - The engines of the simulated cuDNN --------------===//
#include "test/CUDA/Shim/CudnnEngines.h"
#include "test/CUDA/Shim/Report.h"
#include <algorithm>
#include <sstream>

namespace zero::shim {

/// More than a program plans unless it is told to.
constexpr uint64_t kTooMany = (uint64_t{64} << 20) + 4096;

std::vector<CudnnEngine> rankEngines(const ConvolutionProblem &problem, cudnnBackendHeurMode_t mode) {
  const bool isFloat = problem.type == CUDNN_DATA_FLOAT, isNarrow = problem.elementBytes() == 2;
  const CudnnEngine plain = {0, Arithmetic::Plain, 0, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, {}};
  std::vector<CudnnEngine> engines;
  if (mode == CUDNN_HEUR_MODE_FALLBACK) {
    engines = {{1, Arithmetic::AnyOrder, 0, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {}}, plain};
  } else {
    engines.push_back({101, Arithmetic::AnyOrder, 0, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {}});
    engines.push_back({102, Arithmetic::Plain, kTooMany, {}, {}});
    if (isFloat)
      engines.push_back({103, Arithmetic::Narrow, 0, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, {}});
    if (isNarrow)
      engines.push_back({104, Arithmetic::RoundedSums, 0, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, {}});
    engines.push_back({105, Arithmetic::Transformed, 0, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}, {}});
    engines.push_back({106, Arithmetic::Transformed, 0, {CUDNN_NUMERICAL_NOTE_FFT}, {}});
    engines.push_back({107, Arithmetic::Plain, 0, {}, {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION}});
    engines.push_back({108, Arithmetic::Plain, 0, {}, {}, /*builds=*/false});
    engines.push_back({109, isFloat ? Arithmetic::Tf32 : Arithmetic::Plain, 4096, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}});
    engines.push_back({110, Arithmetic::Plain, 512, {}, {}});
  }
  if (std::string wanted = setting("ZERO_SHIM_CUDNN_ENGINES"); !wanted.empty()) {
    std::vector<int64_t> numbers;
    std::istringstream list(wanted);
    for (std::string number; std::getline(list, number, ',');) {
      char *end = nullptr;
      numbers.push_back(std::strtoll(number.c_str(), &end, 10));
      if (number.empty() || *end)
        endProcess("ZERO_SHIM_CUDNN_ENGINES", text("'", number, "' is no number"));
    }
    std::erase_if(engines, [&](const CudnnEngine &engine) { return std::find(numbers.begin(), numbers.end(), engine.number) == numbers.end(); });
  }
  return engines;
}

} // namespace zero::shim

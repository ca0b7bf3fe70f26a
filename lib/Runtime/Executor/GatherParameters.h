//===- GatherParameters.h - Parameters of all ranks into files ------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_GATHERPARAMETERS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_GATHERPARAMETERS_H

#include "zero/Runtime/Base/OutputFile.h"
#include "zero/Runtime/Executor/Executor.h"
#include <vector>

namespace zero {

/// Where a parameter is in its bucket and where it goes in a file; all in bytes.
struct ParameterPlace {
  uint64_t bucketBegin = 0, size = 0;
  OutputFile *file = nullptr;
  uint64_t fileBegin = 0;
};
/// By bucket, in the order of the plan. A parameter may have several places, or none.
using ParameterPlaces = std::vector<std::vector<ParameterPlace>>;

/// Writes the parameters of all ranks to their places, piece by piece. Every rank calls it; only rank 0 has places. `written`:
/// what went wrong on this rank while writing, which is not agreed on yet; the result is the exchange's.
Status gatherParameters(const ParameterPlaces &places, const Executor &executor, Bootstrap &bootstrap, size_t buckets,
                        Status &written);

} // namespace zero

#endif

//===- Export.h - Writes trained parameters -------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_EXPORT_H
#define ZERO_LIB_RUNTIME_EXECUTOR_EXPORT_H

#include "zero/Runtime/Executor/Executor.h"

namespace zero {

/// Gathers the parameters of all ranks into a safetensors file that rank 0 writes, piece by piece; the outcome is agreed on.
Status exportParameters(const std::string &path, const Container &container, const Executor &executor, Bootstrap &bootstrap);

} // namespace zero

#endif

//===- Export.h - Writes trained parameters -------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_EXPORT_H
#define ZERO_LIB_RUNTIME_EXECUTOR_EXPORT_H

#include "zero/Runtime/Executor/Executor.h"

namespace zero {

/// Whether the program can be exported so: an .onnx needs the model that was compiled.
Status checkExport(const std::string &path, const Container &container);

/// Gathers the parameters of all ranks into a file that rank 0 writes, piece by piece; the outcome is agreed on. The suffix of
/// `path` says what is written.
Status exportParameters(const std::string &path, const Container &container, const Executor &executor, Bootstrap &bootstrap);

/// The parameters by name.
Status exportSafetensors(const std::string &path, const Container &container, const Executor &executor, Bootstrap &bootstrap);

/// The model that was compiled, with the trained weights in it. A model of `inlineLimit` bytes or more, which protobuf cannot
/// read, has its larger tensors in `path`.data.
inline constexpr uint64_t kLargestModel = (uint64_t(1) << 31) - 1;
Status exportModel(const std::string &path, const Container &container, const Executor &executor, Bootstrap &bootstrap,
                   uint64_t inlineLimit = kLargestModel);

} // namespace zero

#endif

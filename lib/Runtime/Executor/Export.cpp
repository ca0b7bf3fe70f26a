//===- Export.cpp - What is exported, by the file's suffix ----------------===//
#include "lib/Runtime/Executor/Export.h"
#include "lib/Container/skeleton_generated.h"
#include "zero/Container/PlanView.h"

namespace zero {

static bool isModel(const std::string &path) { return path.ends_with(".onnx"); }

Status checkExport(const std::string &path, const Container &container) {
  if (!isModel(path))
    return {};
  const schema::ModelSkeleton *skeleton = container.skeleton();
  if (!skeleton)
    return Status::badInput("cannot export '" + path + "': '" + container.path() +
                            "' holds no ONNX model; --export=FILE.safetensors writes the parameters by name");
  if (!text(skeleton->missing()).empty())
    return Status::badInput("cannot export '" + path + "': when '" + container.path() + "' was compiled, " +
                            std::string(text(skeleton->missing())) +
                            "; compile it again, or write the parameters by name with --export=FILE.safetensors");
  return {};
}

Status exportParameters(const std::string &path, const Container &container, const Executor &executor, Bootstrap &bootstrap) {
  return isModel(path) ? exportModel(path, container, executor, bootstrap)
                       : exportSafetensors(path, container, executor, bootstrap);
}

} // namespace zero

//===- RecordedTarget.cpp - The target as attributes of the module --------===//
#include "zero/Pipelines/Pipelines.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace zero {

/// A module that has a configuration has a target: cpu where nothing says another.
static LogicalResult checkAgainstRecorded(ModuleOp module, const TargetRequest &request) {
  const bool isCuda = plan::isForCuda(module);
  auto contradiction = [&](const Twine &flag, const Twine &has) {
    return module.emitError() << flag << " is given but the module was compiled for target " << has;
  };
  if (request.target && (*request.target == Target::Cuda) != isCuda)
    return contradiction(*request.target == Target::Cuda ? "--target=cuda" : "--target=cpu", isCuda ? "cuda" : "cpu");
  for (auto [asked, flag, name] : {std::tuple(request.deterministic, "--deterministic", plan::kDeterministicAttrName),
                                   std::tuple(request.fast, "--fast", plan::kFastAttrName),
                                   std::tuple(request.tf32, "--tf32", plan::kTf32AttrName)})
    if (asked && !module->hasAttr(name))
      return contradiction(flag, isCuda ? "cuda without it" : "cpu");
  if (request.epilogues && (!isCuda || *request.epilogues == module->hasAttr(plan::kPlainProductsAttrName)))
    return contradiction(*request.epilogues ? "--cuda-epilogues" : "--cuda-epilogues=false", !isCuda ? "cpu" : *request.epilogues ? "cuda without them" : "cuda with them");
  const bool hasCudnn = module->hasAttr(plan::kCudnnConvolutionsAttrName);
  if (request.cudnnConvolutions && (!isCuda || *request.cudnnConvolutions != hasCudnn))
    return contradiction(*request.cudnnConvolutions ? "--cuda-convolutions=cudnn" : "--cuda-convolutions=generated",
                         !isCuda ? "cpu" : hasCudnn ? "cuda with those of cuDNN" : "cuda with generated ones");
  auto bytes = module->getAttrOfType<IntegerAttr>(plan::kCudaWorkspaceAttrName);
  if (request.cudaWorkspaceBytes && (!bytes || bytes.getInt() != *request.cudaWorkspaceBytes))
    return contradiction("--cuda-workspace-bytes=" + Twine(*request.cudaWorkspaceBytes), bytes ? "cuda with " + Twine(bytes.getInt()) : Twine("cpu"));
  return success();
}

LogicalResult resolveTarget(ModuleOp module, const TargetRequest &request, const TrainingConfig &config) {
  if (module->hasAttr(kConfigAttrName) || module->hasAttr(plan::kTargetAttrName))
    return checkAgainstRecorded(module, request);
  if (request.target != Target::Cuda)
    return success();
  Builder builder(module.getContext());
  module->setAttr(plan::kTargetAttrName, builder.getStringAttr("cuda"));
  if (request.deterministic)
    module->setAttr(plan::kDeterministicAttrName, builder.getUnitAttr());
  if (request.fast)
    module->setAttr(plan::kFastAttrName, builder.getUnitAttr());
  if (config.allowTf32)
    module->setAttr(plan::kTf32AttrName, builder.getUnitAttr());
  if (!request.epilogues.value_or(true))
    module->setAttr(plan::kPlainProductsAttrName, builder.getUnitAttr());
  if (request.cudnnConvolutions.value_or(true))
    module->setAttr(plan::kCudnnConvolutionsAttrName, builder.getUnitAttr());
  module->setAttr(plan::kCudaWorkspaceAttrName,
                  builder.getI64IntegerAttr(request.cudaWorkspaceBytes.value_or(TargetRequest::kCudaWorkspaceBytes)));
  return success();
}

} // namespace zero

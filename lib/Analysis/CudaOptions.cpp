//===- CudaOptions.cpp - How the kernels of a plan compute on GPUs --------===//
#include "zero/Analysis/CudaOptions.h"
#include "dialects/Plan/PlanOps.h"

using namespace mlir;

namespace zero {

CudaOptions getCudaOptions(ModuleOp module) {
  CudaOptions options;
  options.workspaceBytes = plan::getCudaWorkspaceBytes(module);
  options.tf32 = module->hasAttr(plan::kTf32AttrName);
  options.cudnnConvolutions = module->hasAttr(plan::kCudnnConvolutionsAttrName);
  options.fast = module->hasAttr(plan::kFastAttrName);
  return options;
}

bool fusesEpilogues(ModuleOp module) { return plan::isForCuda(module) && !module->hasAttr(plan::kPlainProductsAttrName); }

} // namespace zero

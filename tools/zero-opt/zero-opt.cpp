//===- zero-opt.cpp - mlir-opt with zero's dialects, passes and pipelines -===//
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Conversion/Passes.h"
#include "zero/Transforms/NN/Passes.h"
#include "zero/Transforms/Plan/Passes.h"
#include "zero/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, zero::nn::NNDialect, zero::sharding::ZeroDialect, zero::plan::PlanDialect>();
  mlir::registerTransformsPasses();
  zero::registerNNPasses();
  zero::registerZeroPasses();
  zero::registerPlanPasses();
  zero::registerConversionPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "zero-opt: mlir-opt with zero's dialects and passes\n", registry));
}

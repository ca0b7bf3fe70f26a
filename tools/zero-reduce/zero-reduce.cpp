//===- zero-reduce.cpp - The smallest module that still shows a fault -----===//
#include "zero/Pipelines/Pipelines.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  zero::registerDialects(registry);
  zero::registerPasses(); // for --opt-reduction-pass
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}

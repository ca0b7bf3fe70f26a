//===- OptimizerTypes.h - How nn.adam and nn.sgd spell their types --------===//
#ifndef ZERO_DIALECTS_NN_OPTIMIZERTYPES_H
#define ZERO_DIALECTS_NN_OPTIMIZERTYPES_H

#include "mlir/IR/OpImplementation.h"

namespace zero::nn {

/// `T (gradient G)? (master M)?`: the parameter's type, the gradient's where it is another, the master's where there is
/// one.
mlir::ParseResult parseUpdateTypes(mlir::OpAsmParser &parser, mlir::Type &parameter, mlir::Type &gradient,
                                   mlir::Type &master, mlir::Type &newParameter, mlir::Type &newMaster);
void printUpdateTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type parameter, mlir::Type gradient,
                      mlir::Type master, mlir::Type newParameter, mlir::Type newMaster);

/// The same; the moments have the master's type, else the parameter's.
mlir::ParseResult parseAdamTypes(mlir::OpAsmParser &parser, mlir::Type &parameter, mlir::Type &gradient,
                                 mlir::Type &master, mlir::Type &expAvg, mlir::Type &expAvgSq,
                                 mlir::Type &newParameter, mlir::Type &newMaster, mlir::Type &newExpAvg,
                                 mlir::Type &newExpAvgSq);
void printAdamTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type parameter, mlir::Type gradient,
                    mlir::Type master, mlir::Type expAvg, mlir::Type expAvgSq, mlir::Type newParameter,
                    mlir::Type newMaster, mlir::Type newExpAvg, mlir::Type newExpAvgSq);

} // namespace zero::nn

#endif

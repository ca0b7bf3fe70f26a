//===- OptimizerTypes.cpp - How nn.adam and nn.sgd spell their types ------===//
#include "dialects/NN/OptimizerTypes.h"

using namespace mlir;

namespace zero::nn {

ParseResult parseUpdateTypes(OpAsmParser &parser, Type &parameter, Type &gradient, Type &master, Type &newParameter,
                             Type &newMaster) {
  if (parser.parseType(parameter))
    return failure();
  gradient = newParameter = parameter;
  if (succeeded(parser.parseOptionalKeyword("gradient")) && parser.parseType(gradient))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("master")) && parser.parseType(master))
    return failure();
  newMaster = master;
  return success();
}

void printUpdateTypes(OpAsmPrinter &printer, Operation *, Type parameter, Type gradient, Type master, Type, Type) {
  printer << parameter;
  if (gradient != parameter)
    printer << " gradient " << gradient;
  if (master)
    printer << " master " << master;
}

ParseResult parseAdamTypes(OpAsmParser &parser, Type &parameter, Type &gradient, Type &master, Type &expAvg,
                           Type &expAvgSq, Type &newParameter, Type &newMaster, Type &newExpAvg, Type &newExpAvgSq) {
  if (parseUpdateTypes(parser, parameter, gradient, master, newParameter, newMaster))
    return failure();
  expAvg = expAvgSq = newExpAvg = newExpAvgSq = master ? master : parameter;
  return success();
}

void printAdamTypes(OpAsmPrinter &printer, Operation *op, Type parameter, Type gradient, Type master, Type, Type,
                    Type newParameter, Type newMaster, Type, Type) {
  printUpdateTypes(printer, op, parameter, gradient, master, newParameter, newMaster);
}

} // namespace zero::nn

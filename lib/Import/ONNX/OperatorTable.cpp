//===- OperatorTable.cpp - Finds an operator's row ------------------------===//
#include "OperatorTable.h"

using namespace zero::onnx_import;

const OperatorRow *zero::onnx_import::findOperator(llvm::StringRef domain, llvm::StringRef name) {
  if (!domain.empty())
    return nullptr;
  static const llvm::StringMap<const OperatorRow *> table = [] {
    llvm::StringMap<const OperatorRow *> rows;
    for (llvm::ArrayRef<OperatorRow> family :
         {elementwiseOperators(), constantOperators(), shapeOperators(), indexingOperators(),
          reductionOperators(), contractionOperators(), normalizationOperators(), sequenceOperators(),
          recurrentOperators(), convolutionOperators(), poolingOperators()})
      for (const OperatorRow &row : family)
        rows[row.name] = &row;
    return rows;
  }();
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

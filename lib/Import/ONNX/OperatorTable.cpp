//===- OperatorTable.cpp - Finds an operator's row ------------------------===//
#include "OperatorTable.h"

using namespace zero::onnx_import;

/// Operators of onnxruntime's own domain that are the standard ones of the same name, version 1 of each.
static const OperatorRow *findOnnxruntimeOperator(llvm::StringRef name) {
  static const llvm::StringMap<OperatorRow> table = [] {
    llvm::StringMap<OperatorRow> rows;
    for (llvm::StringLiteral same : {llvm::StringLiteral("Gelu"), llvm::StringLiteral("Trilu")})
      rows.try_emplace(same, OperatorRow{same, 1, 1, findOperator("", same)->build});
    return rows;
  }();
  auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

const OperatorRow *zero::onnx_import::findOperator(llvm::StringRef domain, llvm::StringRef name) {
  if (domain == "com.microsoft")
    return findOnnxruntimeOperator(name);
  static const llvm::StringMap<const OperatorRow *> table = [] {
    llvm::StringMap<const OperatorRow *> rows;
    for (llvm::ArrayRef<OperatorRow> family : {
             elementwiseOperators(),
             functionOperators(),
             activationOperators(),
             quantizationOperators(),
             integerProductOperators(),
             signalOperators(),
             constantOperators(),
             shapeOperators(),
             partOperators(),
             indexingOperators(),
             orderingOperators(),
             reductionOperators(),
             contractionOperators(),
             einsumOperators(),
             lossOperators(),
             normalizationOperators(),
             sequenceOperators(),
             recurrentOperators(),
             convolutionOperators(),
             poolingOperators(),
             attentionOperators(),
             rotaryOperators(),
             optionalOperators(),
             controlFlowOperators(),
             dataDependentOperators(),
             trainingOperators(),
             channelNormalizationOperators(),
             resizeOperators(),
             paddingOperators(),
             imageOperators(),
         })
      for (const OperatorRow &row : family)
        rows[row.name] = &row;
    return rows;
  }();
  auto found = table.find(domain.empty() ? name.str() : (domain + "." + name).str());
  return found == table.end() ? nullptr : found->second;
}

//===- OperatorTable.h - The families of operators ------------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_OPERATORTABLE_H
#define ZERO_LIB_IMPORT_ONNX_OPERATORTABLE_H

#include "Importer.h"

namespace zero::onnx_import {

// One file each; a new operator is a row and a function there.
llvm::ArrayRef<OperatorRow> elementwiseOperators();
llvm::ArrayRef<OperatorRow> functionOperators();
llvm::ArrayRef<OperatorRow> activationOperators();
llvm::ArrayRef<OperatorRow> quantizationOperators();
llvm::ArrayRef<OperatorRow> integerProductOperators();
llvm::ArrayRef<OperatorRow> signalOperators();
llvm::ArrayRef<OperatorRow> constantOperators();
llvm::ArrayRef<OperatorRow> shapeOperators();
llvm::ArrayRef<OperatorRow> partOperators();
llvm::ArrayRef<OperatorRow> indexingOperators();
llvm::ArrayRef<OperatorRow> orderingOperators();
llvm::ArrayRef<OperatorRow> reductionOperators();
llvm::ArrayRef<OperatorRow> contractionOperators();
llvm::ArrayRef<OperatorRow> einsumOperators();
llvm::ArrayRef<OperatorRow> lossOperators();
llvm::ArrayRef<OperatorRow> normalizationOperators();
llvm::ArrayRef<OperatorRow> sequenceOperators();
llvm::ArrayRef<OperatorRow> recurrentOperators();
llvm::ArrayRef<OperatorRow> convolutionOperators();
llvm::ArrayRef<OperatorRow> poolingOperators();
llvm::ArrayRef<OperatorRow> attentionOperators();
llvm::ArrayRef<OperatorRow> rotaryOperators();
llvm::ArrayRef<OperatorRow> optionalOperators();
llvm::ArrayRef<OperatorRow> controlFlowOperators();
llvm::ArrayRef<OperatorRow> channelNormalizationOperators();
llvm::ArrayRef<OperatorRow> resizeOperators();
llvm::ArrayRef<OperatorRow> paddingOperators();
llvm::ArrayRef<OperatorRow> imageOperators();
llvm::ArrayRef<OperatorRow> dataDependentOperators();
llvm::ArrayRef<OperatorRow> trainingOperators();

/// Why an operator without a row cannot be supported, in the words of a message; null: nobody wrote it yet.
const char *reasonAgainst(llvm::StringRef fullName);

} // namespace zero::onnx_import

#endif

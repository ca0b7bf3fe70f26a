//===- NNInterfaces.td - What a pass may ask of an nn op ------------------===//
#ifndef ZERO_DIALECTS_NN_NNINTERFACES_TD
#define ZERO_DIALECTS_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::zero::nn";
  let description = [{
    Reverse-mode rule of one op (vector-Jacobian product). An op without this interface has the trait `NoGradient`:
    its results are constant in its operands, or not differentiable.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands. `resultGradients[i]` is the gradient of result i, of that result's type,
      or null where result i does not reach the loss. Returns one value per operand, of the operand's type, or null
      where the operand has no gradient (integers, masks) or `needed[i]` is false.
    }], "::llvm::SmallVector<::mlir::Value>", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients, "::llvm::ArrayRef<bool>":$needed)>
  ];
}

def NN_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::zero::nn";
  let description = "A composite that can be written in primitive nn ops.";
  let methods = [
    InterfaceMethod<"Builds the primitive form; one value per result.",
    "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def NN_LossOpInterface : OpInterface<"LossOpInterface"> {
  let cppNamespace = "::zero::nn";
  let description = [{
    A loss: result 0 is the sum over counted positions (a 0-d float), result 1 the number of counted positions
    (a 0-d i64).
  }];
  let methods = [
    InterfaceMethod<"The number of positions of one micro-batch, counted or not; static shapes only.", "int64_t", "getPositions">
  ];
}

// The op's result does not depend differentiably on its operands.
def NN_NoGradient : NativeOpTrait<"NoGradient"> { let cppNamespace = "::zero::nn"; }
// Result element i depends on element i of each operand only; all shapes are equal.
def NN_ElementwiseOp : NativeOpTrait<"ElementwiseOp"> { let cppNamespace = "::zero::nn"; }

#endif

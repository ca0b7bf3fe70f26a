//===- NNOps.td - The primitive ops of the nn dialect ---------------------===//
#ifndef ZERO_DIALECTS_NN_NNOPS_TD
#define ZERO_DIALECTS_NN_NNOPS_TD

include "dialects/NN/NNDialect.td"
include "dialects/NN/NNInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def NN_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def NN_Int : AnyTypeOf<[I1, I8, UI8, I16, UI16, I32, UI32, I64, UI64]>;
def NN_Tensor : RankedTensorOf<[F16, BF16, F32, F64, I1, I8, UI8, I16, UI16, I32, UI32, I64, UI64]>;
def NN_FloatTensor : RankedTensorOf<[F16, BF16, F32, F64]>;
def NN_IntTensor : RankedTensorOf<[I8, UI8, I16, UI16, I32, UI32, I64, UI64]>;
def NN_BitsTensor : RankedTensorOf<[I1, I8, UI8, I16, UI16, I32, UI32, I64, UI64]>;
def NN_BoolTensor : RankedTensorOf<[I1]>;
def NN_Scalar : 0DTensorOf<[F32, F64]>;

class NN_Op<string mnemonic, list<Trait> traits = []> : Op<NN_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class NN_Unary<string mnemonic, string text, TypeConstraint type, list<Trait> traits = [], string element = "f32">
    : NN_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType, NN_ElementwiseOp], traits)> {
  let summary = text;
  let description = [{
    ```mlir
    func.func @each(%x: tensor<8x}] # element # [{>) -> tensor<8x}] # element # [{> {
      %0 = nn.}] # mnemonic # [{ %x : tensor<8x}] # element # [{>
      return %0 : tensor<8x}] # element # [{>
    }
    ```
  }];
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
class NN_DiffUnary<string mnemonic, string text, TypeConstraint type = NN_FloatTensor>
    : NN_Unary<mnemonic, text, type, [DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]>;
class NN_ConstUnary<string mnemonic, string text, TypeConstraint type = NN_FloatTensor, string element = "f32">
    : NN_Unary<mnemonic, text, type, [NN_NoGradient], element>;

def NN_NegOp : NN_DiffUnary<"neg", "-x", NN_Tensor>;
def NN_AbsOp : NN_DiffUnary<"abs", "|x|; its gradient at 0 is 0", NN_Tensor>;
def NN_ExpOp : NN_DiffUnary<"exp", "e^x">;
def NN_LogOp : NN_DiffUnary<"log", "natural logarithm">;
def NN_SqrtOp : NN_DiffUnary<"sqrt", "square root">;
def NN_RsqrtOp : NN_DiffUnary<"rsqrt", "1 / sqrt(x)">;
def NN_Log1pOp : NN_DiffUnary<"log1p", "log(1 + x), exact near 0">;
def NN_Expm1Op : NN_DiffUnary<"expm1", "e^x - 1, exact near 0">;
def NN_ReciprocalOp : NN_DiffUnary<"reciprocal", "1 / x">;
def NN_TanhOp : NN_DiffUnary<"tanh", "hyperbolic tangent">;
def NN_SigmoidOp : NN_DiffUnary<"sigmoid", "1 / (1 + e^-x)">;
def NN_ErfOp : NN_DiffUnary<"erf", "error function">;
def NN_SinOp : NN_DiffUnary<"sin", "sine">;
def NN_CosOp : NN_DiffUnary<"cos", "cosine">;
def NN_AtanOp : NN_DiffUnary<"atan", "arc tangent">;
def NN_ReluOp : NN_DiffUnary<"relu", "max(x, 0); its gradient at 0 is 0">;
def NN_SignOp : NN_ConstUnary<"sign", "-1, 0 or 1; 0 of NaN", NN_Tensor>;
def NN_FloorOp : NN_ConstUnary<"floor", "largest integer not above x">;
def NN_CeilOp : NN_ConstUnary<"ceil", "smallest integer not below x">;
def NN_RoundOp : NN_ConstUnary<"round", "nearest integer, halves to even">;
def NN_NotOp : NN_ConstUnary<"not", "bitwise complement; logical not of i1", NN_BitsTensor, "i1">;

class NN_Binary<string mnemonic, string text, TypeConstraint type, list<Trait> traits = []>
    : NN_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType, NN_ElementwiseOp], traits)> {
  let summary = text;
  let description = [{
    ```mlir
    func.func @both(%x: tensor<8xi32>, %y: tensor<8xi32>) -> tensor<8xi32> {
      %0 = nn.}] # mnemonic # [{ %x, %y : tensor<8xi32>
      return %0 : tensor<8xi32>
    }
    ```
  }];
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
class NN_DiffBinary<string mnemonic, string text, list<Trait> traits = []>
    : NN_Binary<mnemonic, text, NN_Tensor, !listconcat([DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>], traits)>;

def NN_AddOp : NN_DiffBinary<"add", "x + y", [Commutative]> { let hasFolder = 1; let hasCanonicalizer = 1; }
def NN_SubOp : NN_DiffBinary<"sub", "x - y"> { let hasFolder = 1; }
def NN_MulOp : NN_DiffBinary<"mul", "x * y", [Commutative]> { let hasFolder = 1; }
def NN_DivOp : NN_DiffBinary<"div", "x / y; integers truncate towards zero"> { let hasFolder = 1; }
def NN_MaxOp : NN_DiffBinary<"max", "the larger, NaN if one is, +0 above -0; the gradient of equal operands is halved between them", [Commutative]>;
def NN_MinOp : NN_DiffBinary<"min", "the smaller, NaN if one is, -0 below +0; the gradient of equal operands is halved between them", [Commutative]>;
def NN_PowOp : NN_DiffBinary<"pow", "x^y"> { let hasFolder = 1; }
def NN_RemOp : NN_DiffBinary<"rem", "remainder with the sign of the dividend (C's fmod and %); its jumps have no gradient">;
class NN_Logical<string mnemonic, string text>
    : NN_Binary<mnemonic, text, NN_BitsTensor, [NN_NoGradient, Commutative]>;
def NN_AndOp : NN_Logical<"and", "bitwise and; logical and of i1"> { let hasFolder = 1; }
def NN_OrOp : NN_Logical<"or", "bitwise or; logical or of i1"> { let hasFolder = 1; }
def NN_XorOp : NN_Logical<"xor", "bitwise exclusive or">;
class NN_Shift<string mnemonic, string text> : NN_Binary<mnemonic, text, NN_IntTensor, [NN_NoGradient]>;
def NN_ShiftLeftOp : NN_Shift<"shift_left", "x * 2^y, low bits kept; 0 where y is not below the width">;
def NN_ShiftRightOp : NN_Shift<"shift_right", "x / 2^y rounded down; 0 or, of a negative x, -1 where y is not below the width">;

def NN_StopGradientOp : NN_Op<"stop_gradient", [Pure, NN_NoGradient, NN_ElementwiseOp, SameOperandsAndResultType]> {
  let summary = "x, behind which no gradient flows: what PyTorch calls `detach`. `nn-build-backward` takes it out.";
  let description = [{
    ```mlir
    // Rows whose index is 1 are looked up, and get no gradient: PyTorch's `padding_idx`.
    func.func @padded(%row: tensor<8xf32>, %is_padding: tensor<8xi1>) -> tensor<8xf32> {
      %0 = nn.stop_gradient %row : tensor<8xf32>
      %1 = nn.select %is_padding, %0, %row : tensor<8xi1>, tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasFolder = 1;
}

def NN_CompareOp : NN_Op<"compare", [Pure, NN_NoGradient, NN_ElementwiseOp, SameOperandsAndResultShape, SameTypeOperands]> {
  let summary = "Compares element by element; comparisons with NaN are false except `ne`.";
  let description = [{
    ```mlir
    func.func @leaky_relu(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %zero = nn.constant dense<0.0> : tensor<8xf32>
      %0 = nn.compare gt %x, %zero : tensor<8xf32> -> tensor<8xi1>
      %1 = nn.select %0, %x, %y : tensor<8xi1>, tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins NN_ComparePredicateAttr:$predicate, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def NN_SelectOp : NN_Op<"select", [Pure, NN_ElementwiseOp, AllTypesMatch<["on_true", "on_false", "result"]>,
                                   AllShapesMatch<["condition", "result"]>,
                                   DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "condition ? on_true : on_false, element by element.";
  let arguments = (ins NN_BoolTensor:$condition, NN_Tensor:$on_true, NN_Tensor:$on_false);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
  let hasFolder = 1;
}

def NN_CastOp : NN_Op<"cast", [Pure, NN_ElementwiseOp, SameOperandsAndResultShape,
                               DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Converts elements: float to integer truncates, to a narrower float rounds to nearest even, to i1 compares with 0.";
  let description = [{
    A float that the integer type cannot hold becomes its nearest number, NaN 0. Integers keep their low bits.

    ```mlir
    func.func @half(%x: tensor<8xf32>) -> tensor<8xbf16> {
      %0 = nn.cast %x : tensor<8xf32> to tensor<8xbf16>
      return %0 : tensor<8xbf16>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def NN_BroadcastOp : NN_Op<"broadcast", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Repeats a tensor along new or size-1 dimensions.";
  let description = [{
    Operand dimension i becomes result dimension `dims[i]`; `dims` is strictly increasing. The operand's size there
    is the result's or 1.

    ```mlir
    func.func @bias(%b: tensor<64xf32>) -> tensor<8x64xf32> {
      %0 = nn.broadcast %b dims [1] : tensor<64xf32> to tensor<8x64xf32>
      return %0 : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_ReshapeOp : NN_Op<"reshape", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "The same elements in row-major order under another shape.";
  let description = [{
    Before `nn-bind-batch` the new shape may be an operand (a 1-d i64 tensor; -1 once: what remains; 0: the operand's
    dimension at that place unless `allow_zero`); afterwards the result type is static and says it alone.

    ```mlir
    func.func @heads(%x: tensor<?x8x64xf32>, %other: tensor<?x3xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x?xf32>) {
      %0 = nn.reshape %x : tensor<?x8x64xf32> to tensor<?x8x4x16xf32>
      %shape = nn.shape_of %other : tensor<?x3xf32> -> tensor<2xi64>
      %1 = nn.reshape %x shape %shape : tensor<2xi64>, : tensor<?x8x64xf32> to tensor<?x?xf32>
      return %0, %1 : tensor<?x8x4x16xf32>, tensor<?x?xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, Optional<1DTensorOf<[I64]>>:$shape, UnitAttr:$allow_zero);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand (`shape` $shape^ `:` type($shape) `,`)? attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$operand), [{
    build($_builder, $_state, type, operand, ::mlir::Value(), false);
  }]>];
}

def NN_ShapeOfOp : NN_Op<"shape_of", [Pure, NN_NoGradient]> {
  let summary = "The shape as a 1-d i64 tensor; gone after `nn-bind-batch`.";
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs 1DTensorOf<[I64]>:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_BroadcastToOp : NN_Op<"broadcast_to", [Pure, NN_NoGradient]> {
  let summary = "ONNX Expand: broadcast both ways against a shape operand; gone after `nn-bind-batch`.";
  let description = [{
    ```mlir
    func.func @expand(%x: tensor<1x8xf32>, %shape: tensor<2xi64>) -> tensor<?x8xf32> {
      %0 = nn.broadcast_to %x shape %shape : tensor<2xi64>, : tensor<1x8xf32> to tensor<?x8xf32>
      return %0 : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, 1DTensorOf<[I64]>:$shape);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `shape` $shape `:` type($shape) `,` attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
}

def NN_TransposeOp : NN_Op<"transpose", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Permutes dimensions: result dimension i is operand dimension permutation[i].";
  let description = [{
    ```mlir
    func.func @channels_last(%x: tensor<8x3x32x48xf32>) -> tensor<8x32x48x3xf32> {
      %0 = nn.transpose %x [0, 2, 3, 1] : tensor<8x3x32x48xf32> to tensor<8x32x48x3xf32>
      return %0 : tensor<8x32x48x3xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_SliceOp : NN_Op<"slice", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Elements starts + i * strides for i below the result's sizes; strides may be negative.";
  let description = [{
    ```mlir
    func.func @last_three_backwards(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
      %0 = nn.slice %x starts [0, 7] strides [1, -1] : tensor<4x8xf32> to tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$strides);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `starts` $starts `strides` $strides attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_PadOp : NN_Op<"pad", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Puts `low`, `high` and, between neighbours, `interior` copies of `value` around the elements; none is negative.";
  let description = [{
    ```mlir
    func.func @spread(%x: tensor<3xf32>) -> tensor<8xf32> {
      %0 = nn.pad %x low [1] high [2] interior [1] {value = -1.0 : f64} : tensor<3xf32> to tensor<8xf32>
      return %0 : tensor<8xf32>  // -1 x0 -1 x1 -1 x2 -1 -1
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior,
                       DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `low` $low `high` $high `interior` $interior attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
}

def NN_ConcatOp : NN_Op<"concat", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Joins tensors along `axis`.";
  let description = [{
    ```mlir
    func.func @join(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x4xf32> {
      %0 = nn.concat %x, %y axis 1 : tensor<2x3xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
      return %0 : tensor<2x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<NN_Tensor>:$operands, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operands `axis` $axis attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

def NN_GatherOp : NN_Op<"gather", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Takes slices of `data` along `axis` by index; an index outside [0, size) ends the step with an error.";
  let description = [{
    Result shape: data[:axis] ++ indices ++ data[axis+1:]. ONNX's negative indices are made non-negative at import.

    ```mlir
    func.func @embedding(%table: tensor<256x64xf32>, %ids: tensor<8x16xi64>) -> tensor<8x16x64xf32> {
      %0 = nn.gather %table[%ids] axis 0 : tensor<256x64xf32>, tensor<8x16xi64> -> tensor<8x16x64xf32>
      return %0 : tensor<8x16x64xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$data, NN_IntTensor:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$data `[` $indices `]` `axis` $axis attr-dict `:` type($data) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def NN_ScatterAddOp : NN_Op<"scatter_add", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "The transpose of gather: zeros of the result type with `updates` added at `indices`, in index order.";
  let description = [{
    ```mlir
    func.func @embedding_gradient(%g: tensor<8x16x64xf32>, %ids: tensor<8x16xi64>) -> tensor<256x64xf32> {
      %0 = nn.scatter_add %g[%ids] axis 0 : tensor<8x16x64xf32>, tensor<8x16xi64> -> tensor<256x64xf32>
      return %0 : tensor<256x64xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$updates, NN_IntTensor:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$updates `[` $indices `]` `axis` $axis attr-dict `:` type($updates) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def NN_GatherNDOp : NN_Op<"gather_nd", [Pure, NN_NoGradient]> {
  let summary = "ONNX GatherND: takes slices of `data` by index tuples (the last dimension of `indices`).";
  let description = [{
    Result shape: indices[:-1] ++ data[batch_dims + tuple size:].

    ```mlir
    func.func @points(%image: tensor<32x48x3xf32>, %at: tensor<7x2xi64>) -> tensor<7x3xf32> {
      %0 = nn.gather_nd %image[%at] : tensor<32x48x3xf32>, tensor<7x2xi64> -> tensor<7x3xf32>
      return %0 : tensor<7x3xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$data, NN_IntTensor:$indices, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$data `[` $indices `]` attr-dict `:` type($data) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def NN_ScatterOp : NN_Op<"scatter", [Pure, AllTypesMatch<["data", "result"]>,
                                     DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "`data` with `updates` put in (`assign`: the last one counts) or combined at `indices` along `axis`, in index order.";
  let description = [{
    Shapes as of `nn.gather`: updates have data[:axis] ++ indices ++ data[axis+1:]; an index outside [0, size) ends the
    step with an error. Gradients: elements that `assign` replaces have none; where `max` and `min` meet equals, they
    share it evenly; of equal indices under `assign` the last has all of it.

    ```mlir
    func.func @put(%cache: tensor<2x16x64xf32>, %new: tensor<2x3x64xf32>, %at: tensor<3xi64>) -> tensor<2x16x64xf32> {
      %0 = nn.scatter assign %cache, %new[%at] axis 1 : tensor<2x16x64xf32>, tensor<2x3x64xf32>, tensor<3xi64>
      return %0 : tensor<2x16x64xf32>
    }
    ```
  }];
  let arguments = (ins NN_ScatterKindAttr:$kind, NN_Tensor:$data, NN_Tensor:$updates, NN_IntTensor:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$kind $data `,` $updates `[` $indices `]` `axis` $axis attr-dict `:` type($data) `,` type($updates) `,` type($indices)";
  let hasVerifier = 1;
}

def NN_TopKOp : NN_Op<"top_k", [Pure, NN_NoGradient]> {
  let summary = "Indices of the `k` largest (or `smallest`) elements along `axis`, best first; of equals the lower index first, NaN counts as largest.";
  let description = [{
    The values are a gather by these indices, which is also where their gradient comes from.

    ```mlir
    func.func @experts(%router: tensor<8x64xf32>) -> tensor<8x2xi64> {
      %0 = nn.top_k %router axis 1 : tensor<8x64xf32> -> tensor<8x2xi64>
      return %0 : tensor<8x2xi64>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, I64Attr:$axis, UnitAttr:$smallest);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$operand `axis` $axis (`smallest` $smallest^)? attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

def NN_ReduceOp : NN_Op<"reduce", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Combines the elements along `axes`, which vanish from the shape.";
  let description = [{
    `max` and `min` pass the gradient to the extreme elements, equal ones share it evenly.

    ```mlir
    func.func @sum_rows(%x: tensor<8x64xf32>) -> tensor<8xf32> {
      %0 = nn.reduce sum %x axes [1] : tensor<8x64xf32> to tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$operand, DenseI64ArrayAttr:$axes);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$kind $operand `axes` $axes attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_CumSumOp : NN_Op<"cumsum", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>, SameOperandsAndResultType]> {
  let summary = "Running sum along `axis`: up to and with (`exclusive`: without) each element, from the end if `reverse`.";
  let description = [{
    ```mlir
    func.func @starts(%lengths: tensor<8xi64>) -> tensor<8xi64> {
      %0 = nn.cumsum %lengths axis 0 {exclusive} : tensor<8xi64>
      return %0 : tensor<8xi64>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_MatmulOp : NN_Op<"matmul", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Batched matrix product of equal rank (2 or more) and equal batch dimensions.";
  let description = [{
    result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]; `transpose_lhs` / `transpose_rhs` read the last two
    dimensions of that operand exchanged. A weight shared over batch dimensions is a reshape to two dimensions first.

    ```mlir
    func.func @linear(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
      %0 = nn.matmul %x, %w transpose_rhs : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
      return %0 : tensor<8x32xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$lhs, NN_FloatTensor:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_lhs` $transpose_lhs^)? (`transpose_rhs` $transpose_rhs^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Convolution and pooling
//
// Data is N x C x D1 x ... x Dr with r of 1 to 3. Position o of the result's spatial dimension i reads the positions
// o * strides[i] - low[i] + k * dilations[i] for k below the kernel's or window's size; `low` and `high` positions
// lie before and behind the data. Result size: floor((low + D + high - dilation * (size - 1) - 1) / stride) + 1.
//===----------------------------------------------------------------------===//

// The three ops are one trilinear form, so each is the gradient of the others.
class NN_Conv<string mnemonic, string text, string example>
    : NN_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = text;
  let description = "```mlir\n" # example # "```\n";
  let arguments = (ins NN_FloatTensor:$lhs, NN_FloatTensor:$rhs, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilations, DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `strides` $strides `low` $low `high` $high `dilations` $dilations (`groups` $groups^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}
def NN_ConvOp : NN_Conv<"conv",
    "Convolution (cross-correlation) of N x C x ... by a kernel K x C/groups x ... to N x K x ...", [{
    func.func @stem(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>) -> tensor<8x16x16x16xf32> {
      %0 = nn.conv %x, %w strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
          : tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32> -> tensor<8x16x16x16xf32>
      return %0 : tensor<8x16x16x16xf32>
    }
    }]>;
def NN_ConvTransposeOp : NN_Conv<"conv_transpose",
    "The transpose of `nn.conv` in its data: from N x K x ... and the kernel K x C/groups x ... to N x C x ...", [{
    func.func @upsample(%y: tensor<8x16x16x16xf32>, %w: tensor<16x3x3x3xf32>) -> tensor<8x3x32x32xf32> {
      %0 = nn.conv_transpose %y, %w strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
          : tensor<8x16x16x16xf32>, tensor<16x3x3x3xf32> -> tensor<8x3x32x32xf32>
      return %0 : tensor<8x3x32x32xf32>
    }
    }]>;
def NN_ConvWeightGradOp : NN_Conv<"conv_weight_grad",
    "The transpose of `nn.conv` in its kernel: from data N x C x ... and a gradient N x K x ... to K x C/groups x ...", [{
    func.func @kernel_gradient(%x: tensor<8x3x32x32xf32>, %g: tensor<8x16x16x16xf32>) -> tensor<16x3x3x3xf32> {
      %0 = nn.conv_weight_grad %x, %g strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
          : tensor<8x3x32x32xf32>, tensor<8x16x16x16xf32> -> tensor<16x3x3x3xf32>
      return %0 : tensor<16x3x3x3xf32>
    }
    }]>;

def NN_MaxPoolOp : NN_Op<"max_pool", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "The largest element of each window and where it lies; positions outside the data do not count.";
  let description = [{
    `indices` are row-major within the spatial dimensions of one N and C; of equal elements the first counts, a NaN
    counts as largest. Every window must have a position inside the data. Only `result` has a gradient: it goes to the element
    at the index.

    ```mlir
    func.func @halve(%x: tensor<8x16x8x8xf32>) -> tensor<8x16x4x4xf32> {
      %0, %indices = nn.max_pool %x window [2, 2] strides [2, 2] low [0, 0] high [0, 0] dilations [1, 1]
          : tensor<8x16x8x8xf32> -> tensor<8x16x4x4xf32>, tensor<8x16x4x4xi64>
      return %0 : tensor<8x16x4x4xf32>
    }
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilations);
  let results = (outs NN_Tensor:$result, RankedTensorOf<[I64]>:$indices);
  let assemblyFormat = [{
    $operand `window` $window `strides` $strides `low` $low `high` $high `dilations` $dilations attr-dict
    `:` type($operand) `->` type($result) `,` type($indices)
  }];
  let hasVerifier = 1;
}

def NN_SumPoolOp : NN_Op<"sum_pool", [Pure, DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "The sum of each window; positions outside the data count as 0.";
  let description = [{
    ```mlir
    func.func @halve(%x: tensor<8x16x8x8xf32>) -> tensor<8x16x4x4xf32> {
      %0 = nn.sum_pool %x window [2, 2] strides [2, 2] low [0, 0] high [0, 0] dilations [1, 1]
          : tensor<8x16x8x8xf32> to tensor<8x16x4x4xf32>
      return %0 : tensor<8x16x4x4xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilations);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $operand `window` $window `strides` $strides `low` $low `high` $high `dilations` $dilations attr-dict
    `:` type($operand) `to` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def NN_ConstantOp : NN_Op<"constant", [Pure, ConstantLike, NN_NoGradient, AllTypesMatch<["value", "result"]>]> {
  let summary = "A small constant or a splat.";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def NN_IotaOp : NN_Op<"iota", [Pure, NN_NoGradient]> {
  let summary = "The index along `axis` at each element.";
  let description = [{
    ```mlir
    func.func @causal_mask() -> tensor<4x4xi1> {
      %row = nn.iota axis 0 : tensor<4x4xi64>
      %column = nn.iota axis 1 : tensor<4x4xi64>
      %0 = nn.compare le %column, %row : tensor<4x4xi64> -> tensor<4x4xi1>
      return %0 : tensor<4x4xi1>
    }
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

def NN_GroupOp : NN_Op<"group", [Pure, NN_NoGradient, IsolatedFromAbove, SingleBlock]> {
  let summary = "Ops that one kernel computes: a generated one (`nn-form-groups`), or a product with what follows it (`nn-fuse-epilogues`).";
  let description = [{
    The body's arguments are the operands in order; `nn.yield` gives the results. Nothing inside is materialised but
    the results. Which groups exist depends on shapes and types only, never on stage, bucket or world size.

    ```mlir
    func.func @bias_relu(%x: tensor<8x64xf32>, %b: tensor<64xf32>) -> tensor<8x64xf32> {
      %0 = nn.group(%a = %x : tensor<8x64xf32>, %c = %b : tensor<64xf32>) -> (tensor<8x64xf32>) {
        %1 = nn.broadcast %c dims [1] : tensor<64xf32> to tensor<8x64xf32>
        %2 = nn.add %a, %1 : tensor<8x64xf32>
        %3 = nn.relu %2 : tensor<8x64xf32>
        nn.yield %3 : tensor<8x64xf32>
      }
      return %0 : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<NN_Tensor>:$operands);
  let results = (outs Variadic<NN_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def NN_YieldOp : NN_Op<"yield", [Pure, NN_NoGradient, Terminator, ReturnLike, ParentOneOf<["GroupOp"]>]> {
  let summary = "The results of the enclosing group.";
  let arguments = (ins Variadic<NN_Tensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif

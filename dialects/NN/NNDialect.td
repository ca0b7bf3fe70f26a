//===- NNDialect.td - The nn dialect: whole tensors on one device ---------===//
#ifndef ZERO_DIALECTS_NN_NNDIALECT_TD
#define ZERO_DIALECTS_NN_NNDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::zero::nn";
  let summary = "Neural network computation on whole tensors, on one device.";
  let description = [{
    A small orthogonal set of operations with value semantics plus the few composites worth keeping whole. The
    dialect knows no rank, no memory and no time. Broadcasting is always explicit (`nn.broadcast`). See
    dialects/NN/README.md.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  // nn.role and nn.data (Roles.cpp).
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def NN_RoleKind : I32EnumAttr<"RoleKind", "what a function argument or result means to a training step", [
  I32EnumAttrCase<"Input", 0, "input">,                        // a model input, by its name in the data
  I32EnumAttrCase<"Label", 1, "label">,                        // the labels, by their name in the data
  I32EnumAttrCase<"Parameter", 2, "parameter">,                // a trained tensor
  I32EnumAttrCase<"Frozen", 3, "frozen">,                      // a weight that is read and never trained
  I32EnumAttrCase<"Gradient", 4, "gradient">,                  // accumulated over micro-batches
  I32EnumAttrCase<"ExpAvg", 5, "exp_avg">,                     // Adam's first moment
  I32EnumAttrCase<"ExpAvgSq", 6, "exp_avg_sq">,                // Adam's second moment
  I32EnumAttrCase<"Momentum", 7, "momentum">,                  // SGD's momentum buffer
  I32EnumAttrCase<"LossSum", 8, "loss_sum">,                   // accumulated over micro-batches
  I32EnumAttrCase<"LabelCount", 9, "label_count">,             // accumulated over micro-batches
  I32EnumAttrCase<"Loss", 10, "loss">,                         // the mean loss of the step, the same on all ranks
  I32EnumAttrCase<"GradNorm", 11, "grad_norm">,                // the global gradient norm before clipping
  I32EnumAttrCase<"LearningRate", 12, "learning_rate">,        // a step input
  I32EnumAttrCase<"BiasCorrection1", 13, "bias_correction1">,  // a step input: 1 - beta1^t
  I32EnumAttrCase<"BiasCorrection2", 14, "bias_correction2">,  // a step input: 1 - beta2^t
  I32EnumAttrCase<"Output", 15, "output">,                     // a model output, by its name in the graph
  I32EnumAttrCase<"SkipNonFinite", 16, "skip_non_finite">,     // a step input: not 0 where a non-finite loss or norm holds the update back
  I32EnumAttrCase<"Skipped", 17, "skipped">,                   // not 0 where the update was held back, the same on all ranks
  I32EnumAttrCase<"Master", 18, "master">,                     // what a parameter of 16 bits is rounded from
  I32EnumAttrCase<"LossScale", 19, "loss_scale">,              // a state: what the seed of the gradients is multiplied by
  I32EnumAttrCase<"ScaleWindowSteps", 20, "scale_window_steps">, // a state: steps since the loss scale changed or a step was skipped
  I32EnumAttrCase<"ScaleHysteresis", 21, "scale_hysteresis">,  // a state: skipped steps, this one included, until the loss scale falls
]> {
  let cppNamespace = "::zero::nn";
  let genSpecializedAttr = 0;
}

class NN_Attr<string name, string attrMnemonic> : AttrDef<NN_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def NN_RoleAttr : NN_Attr<"Role", "role"> {
  let summary = "What an argument or result of a step's function is; a result writes the state of the same role and name.";
  let description = [{
    Stored as the argument or result attribute `nn.role`. A result whose role and name equal those of an argument
    (of this or of another function of the step) is the new value of that state: aliasing is this attribute.

    Example: `#nn.role<parameter "h.0.attn.q.weight">`
  }];
  let parameters = (ins EnumParameter<NN_RoleKind>:$kind, StringRefParameter<"the user's own name, or a bucket's">:$name);
  let assemblyFormat = "`<` $kind $name `>`";
}

def NN_ExternalAttr : NN_Attr<"External", "external"> {
  let summary = "Bytes of a tensor that stay in a file.";
  let description = [{
    Stored as the argument attribute `nn.data` of parameters and frozen weights. `file` is relative to the folder
    of the `.mlir` that holds it; `offset` and `length` are bytes; `checksum` is XXH3-64 of these bytes; the layout
    is little-endian row-major.

    Example: `#nn.external<"gpt2.onnx", 4096, 65536, 0x1234>`
  }];
  let parameters = (ins StringRefParameter<"path relative to the module's file">:$file,
                        "uint64_t":$offset, "uint64_t":$length, "uint64_t":$checksum);
  let assemblyFormat = "`<` $file `,` $offset `,` $length `,` $checksum `>`";
}

def NN_InitialKind : I32EnumAttr<"InitialKind", "how the starting values of a weight are made", [
  I32EnumAttrCase<"normal", 0>,     // with mean 0 and this standard deviation
  I32EnumAttrCase<"uniform", 1>,    // between minus and plus this number
  I32EnumAttrCase<"constant", 2>]> {  // this number
  let cppNamespace = "::zero::nn";
  let genSpecializedAttr = 0;
}

def NN_InitialAttr : NN_Attr<"Initial", "initial"> {
  let summary = "Starting values that no file holds.";
  let description = [{
    Stored as the argument attribute `nn.data` of a float weight. Each element depends on `number`, `seed` and its own
    row-major index alone (InitialValues.cpp), so any part can be made anywhere.

    Example: `#nn.initial<normal 2.0e-2 : f64 seed 7 : f32>`
  }];
  let parameters = (ins EnumParameter<NN_InitialKind>:$kind, "::mlir::FloatAttr":$number, "uint64_t":$seed,
                        "::mlir::Type":$element);
  let assemblyFormat = "`<` $kind $number `seed` $seed `:` $element `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Writes the elements from number `first` on until `bytes` is full.
    void fill(uint64_t first, ::llvm::MutableArrayRef<char> bytes) const;
  }];
}

def NN_MissingAttr : NN_Attr<"Missing", "missing"> {
  let summary = "Values of a weight that the model names and does not have.";
  let description = [{
    Stored as the argument attribute `nn.data`: such a module is planned, but no program is written from it.

    Example: `#nn.missing<"weights.bin: No such file or directory">`
  }];
  let parameters = (ins StringRefParameter<"why">:$reason);
  let assemblyFormat = "`<` $reason `>`";
}

def NN_ComparePredicate : I32EnumAttr<"ComparePredicate", "comparison of two elements", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::zero::nn";
  let genSpecializedAttr = 0;
}
def NN_ComparePredicateAttr : EnumAttr<NN_Dialect, NN_ComparePredicate, "predicate">;

def NN_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"min", 2>, I32EnumAttrCase<"prod", 3>]> {
  let cppNamespace = "::zero::nn";
  let genSpecializedAttr = 0;
}
def NN_ReduceKindAttr : EnumAttr<NN_Dialect, NN_ReduceKind, "reduce_kind">;

def NN_ScatterKind : I32EnumAttr<"ScatterKind", "how an update meets the element at its index", [
  I32EnumAttrCase<"assign", 0>, I32EnumAttrCase<"add", 1>, I32EnumAttrCase<"mul", 2>, I32EnumAttrCase<"max", 3>, I32EnumAttrCase<"min", 4>]> {
  let cppNamespace = "::zero::nn";
  let genSpecializedAttr = 0;
}
def NN_ScatterKindAttr : EnumAttr<NN_Dialect, NN_ScatterKind, "scatter_kind">;

def NN_GeluKind : I32EnumAttr<"GeluKind", "exact (erf) or the tanh approximation", [
  I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"tanh", 1>]> {
  let cppNamespace = "::zero::nn";
  let genSpecializedAttr = 0;
}
def NN_GeluKindAttr : EnumAttr<NN_Dialect, NN_GeluKind, "gelu_kind">;

#endif

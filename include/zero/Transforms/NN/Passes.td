//===- Passes.td - Passes over the nn dialect -----------------------------===//
#ifndef ZERO_TRANSFORMS_NN_PASSES_TD
#define ZERO_TRANSFORMS_NN_PASSES_TD
include "mlir/Pass/PassBase.td"

// In the order of the pipeline: bind, fold, raise, verify (phase import); mix precision, differentiate, update, verify, widen, decompose, fuse epilogues, form groups,
// verify kernels (phase backward).

def NNBindBatch : Pass<"nn-bind-batch", "::mlir::ModuleOp"> {
  let summary = "Gives every symbolic first dimension its size and infers all shapes.";
  let description = [{
    The first dimension of inputs and labels becomes `micro-batch`; one that is fixed to another size, and any other
    unknown dimension of an argument, is an error. Types are inferred op by op in order; a shape operand is evaluated
    by the reference interpreter from shapes and constants. Afterwards all types are static and `nn.shape_of`,
    `nn.broadcast_to` and shape operands are gone.

    Input:  `@forward(%x: tensor<?x64xf32>) { nn.broadcast_to %b shape (nn.shape_of %x) : tensor<64xf32> to tensor<?x64xf32> }`
    Output: `@forward(%x: tensor<8x64xf32>) { nn.broadcast %b dims [1] : tensor<64xf32> to tensor<8x64xf32> }`
    (* example: test/Transforms/NN/bind-batch.mlir *)
  }];
  let options = [Option<"microBatch", "micro-batch", "int64_t", "1", "Samples of one micro-batch.">];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNFoldConstants : Pass<"nn-fold-constants", "::mlir::ModuleOp"> {
  let summary = "Evaluates what depends on no input; index patterns stay in closed form.";
  let description = [{
    A tensor whose elements are affine in their index becomes iotas and splats; comparisons of such tensors become
    constants where they come out the same everywhere and stay comparisons of iotas elsewhere. Reading by positions
    becomes a slice. Other ops without inputs are evaluated by the reference interpreter where the result has at most
    `max-elements` elements and no more than what it is made of: constants never grow.

    Input:  `nn.gather_nd` of positions by batch and row, compared with the same by batch and column
    Output: `nn.compare le (nn.iota axis 3), (nn.iota axis 2)`
    (* example: test/Transforms/NN/fold-constants.mlir *)
  }];
  let options = [Option<"maxElements", "max-elements", "int64_t", "65536", "Largest constant that may be made.">,
                 Option<"remarks", "remarks", "bool", "false", "Say what was folded to what, and where.">];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNRaiseComposites : Pass<"nn-raise-composites", "::mlir::ModuleOp"> {
  let summary = "Recognises spelled-out attention, rotations, GELU and norms.";
  let description = [{
    Attention's transposes, scales, masks and guard against rows of NaN become operands and attributes of `nn.attention`;
    a mask only where its gradient is not needed, and rows without an entry are told apart where no proof says that there
    is none. Repeated keys and values become groups. Transposes that cancel over layout-free ops go, and rotary
    embeddings become one sum. What does not match stays as it is.

    Input:  `nn.matmul (nn.softmax (nn.add (nn.matmul %q, %k), %mask) axis 3), %v`
    Output: `nn.attention %q, %k, %v scale 0.25 causal`
    (* example: test/Transforms/NN/raise-composites.mlir *)
  }];
  let options = [Option<"remarks", "remarks", "bool", "false", "Say what was found, and where.">];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNVerifyImport : Pass<"nn-verify-import", "::mlir::ModuleOp"> {
  let summary = "The contract of phase import: static shapes, one loss, roles on all arguments.";
  let description = [{
    Changes nothing. Each error names what is wrong and, where a pass should have prevented it, the pass.

    Input:  any module
    Output: the same, or an error
    (* example: test/Transforms/NN/verify-import.mlir *)
  }];
}
def NNMixPrecision : Pass<"nn-mix-precision", "::mlir::ModuleOp"> {
  let summary = "Makes parameters and the tensors between ops 16-bit; arithmetic stays f32.";
  let description = [{
    f32 parameters become arguments of `element`, and so do frozen weights that nothing reads in f32; their `nn.data`
    stays what the file holds. Products (matmul, convolution, attention) and ops that only move elements take and give 16
    bits. Every other op is computed in f32 between casts and rounds its result once. Not rounded are results of one element,
    what only other ops of the same operator of the model read (ops with its name: a batch normalization is several ops, and
    rounds at its end), and what norms are made of: terms that a sum alone reads, sums over at least eight elements each and what is computed of
    such alone. The loss reads f32 and gives f32, outputs keep their types. Float inputs stay f32 and are cast where they
    are read. What depends on no parameter and no float input (positions, tables, masks) stays f32 until it meets what
    does; finite constants beyond the range of 16 bits that go into it become the largest finite number there. A model whose
    parameters have `element` themselves is mixed as one of f32 with such weights; other parameters are refused.

    Input:  `nn.gelu none (nn.matmul %x, %w : tensor<8x64xf32>, tensor<64x64xf32>) : tensor<8x64xf32>`
    Output: `nn.cast (nn.gelu none (nn.cast (nn.matmul (nn.cast %x to bf16), %w) to f32)) to bf16`
    (* example: test/Transforms/NN/mix-precision.mlir *)
  }];
  let options = [Option<"element", "element", "std::string", "\"bf16\"", "The 16-bit type: bf16 or f16.">];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNBuildBackward : Pass<"nn-build-backward", "::mlir::ModuleOp"> {
  let summary = "Turns @forward into @micro: loss and the gradient of each parameter, of one micro-batch.";
  let description = [{
    Differentiates by the rules of `DifferentiableOpInterface` in reverse program order; values of the forward pass are
    reused. The gradient of a parameter with several uses is the sum over them, the last use first. `loss_sum` and all
    gradients carry the static factor 1 / (loss-divisor x positions); `@update` turns it into the mean over counted
    labels; with `scale-loss` gradients carry the argument `loss_scale` as well. Ops between a parameter and the loss that have no gradient are all reported; parameters that do not reach
    the loss become frozen weights, with a warning. `nn.stop_gradient` passes none, without a word, and is gone then. With `save-rounded` (mixed precision) a gradient that reads an f32 value which
    the forward pass rounds to 16 bits reads the rounded one.

    Input:  `@forward(x, y, w) -> (loss_sum, label_count)`
    Output: `@micro(x, y, w) -> (loss_sum, label_count, gradient "w")`
    (* example: test/Transforms/NN/build-backward.mlir *)
  }];
  let options = [Option<"lossDivisor", "loss-divisor", "int64_t", "1",
                        "Micro-batches of one step over all ranks (A x N); the backward pass is seeded with 1 / (this x positions).">,
                 Option<"scaleLoss", "scale-loss", "bool", "false",
                        "@micro takes the state loss_scale, and its gradients are multiplied by it.">,
                 Option<"saveRounded", "save-rounded", "bool", "false",
                        "Gradients read what the forward pass rounds to 16 bits as it was rounded, so that this is what is saved.">];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNAppendOptimizer : Pass<"nn-append-optimizer", "::mlir::ModuleOp"> {
  let summary = "Adds @update: mean over counted labels, gradient norm, clipping, optimizer.";
  let description = [{
    The step's second function takes and returns all state explicitly; equal roles and names are the same state.
    `factor` = (loss-divisor x positions) / label_count; the norm is that of the mean gradients before clipping; the
    clip scale min(1, gradient-clipping / (norm + 1e-6)) and `factor` reach the optimizer as one scalar. The arguments
    `learning_rate`, `bias_correction1` and `bias_correction2` carry what they are computed from (the base rate, beta1,
    beta2) as `nn.data`. Where the loss or the norm is not finite and the argument `skip_non_finite` is not 0, the optimizer
    leaves every state as it is and `skipped` is not 0: a value like any other, alike on all ranks, no branch.

    With `masters` the optimizer's step is that of the f32 `master`, and the parameter is the master rounded. With a loss
    scale the norm and the gradients are divided by it; with a window it is a state that follows DeepSpeed's rule: halved
    (hysteresis allowing) where the loss or the norm is not finite, doubled after a window of steps where both are.

    Input:  `@micro(.., w) -> (loss_sum, label_count, gradient "w")`
    Output: the same and `@update(w, gradient "w", exp_avg "w", exp_avg_sq "w", loss_sum, label_count, learning_rate,
            bias_correction1, bias_correction2, skip_non_finite) -> (parameter "w", exp_avg "w", exp_avg_sq "w", loss,
            grad_norm, skipped)`
    (* example: test/Transforms/NN/append-optimizer.mlir *)
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw, adam or sgd.">,
    Option<"learningRate", "learning-rate", "double", "1e-3", "Base learning rate.">,
    Option<"beta1", "beta1", "double", "0.9", "Adam's decay of the first moment.">,
    Option<"beta2", "beta2", "double", "0.999", "Adam's decay of the second moment.">,
    Option<"epsilon", "epsilon", "double", "1e-8", "Adam's epsilon.">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "Weight decay.">,
    Option<"momentum", "momentum", "double", "0.0", "SGD's momentum.">,
    Option<"nesterov", "nesterov", "bool", "false", "SGD with Nesterov momentum.">,
    Option<"gradientClipping", "gradient-clipping", "double", "0.0", "Largest global gradient norm; 0 is off.">,
    Option<"lossDivisor", "loss-divisor", "int64_t", "1", "As of nn-build-backward.">,
    Option<"masters", "masters", "bool", "false", "Parameters of 16 bits have masters of f32.">,
    Option<"gradientElement", "gradient-element", "std::string", "\"\"",
           "Element type of the gradients that @update takes: f32, f16 or bf16; empty: the parameters'.">,
    Option<"lossScale", "loss-scale", "double", "0.0",
           "What the loss scale is, or starts with; 0: there is none. As scale-loss of nn-build-backward says.">,
    Option<"lossScaleWindow", "loss-scale-window", "int64_t", "0",
           "Steps without overflow after which the loss scale doubles; 0: it stays as it is.">,
    Option<"hysteresis", "hysteresis", "int64_t", "1", "Overflows until the loss scale halves.">,
    Option<"consecutiveHysteresis", "consecutive-hysteresis", "bool", "false",
           "Refill the hysteresis after each step without overflow, not when the loss scale doubles.">,
    Option<"minLossScale", "min-loss-scale", "double", "1.0", "The loss scale does not fall below this.">];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNVerifyTrainingGraph : Pass<"nn-verify-training-graph", "::mlir::ModuleOp"> {
  let summary = "The contract of phase backward: every parameter has a gradient of its type and an update.";
  let description = [{
    Edits nothing. Checks that @micro and @update are there and hold nn ops of static shape only; that every parameter
    of @micro has one gradient of its type; that @update takes each parameter and gradient with @micro's types, and
    returns each parameter as an optimizer op computes it from that parameter and that gradient; that every state it
    returns it also takes, with one type; that no gradient is another parameter's, as far as what it is made of tells
    (zero/Analysis/GradientPaths.h). Each error names the pass that should have prevented it.

    Input:  phase backward before decomposition and grouping
    Output: the same
    (* example: test/Transforms/NN/verify-training-graph.mlir *)
  }];
}
def NNWidenFloats : Pass<"nn-widen-floats", "::mlir::ModuleOp"> {
  let summary = "Computes in f32 what has no kernel for f16 and bf16.";
  let description = [{
    Scatters that combine with data, running sums and pooling are kernels of the library, which has them for wider floats:
    operands are cast to f32, results back, rounded once. So are sums and products of a reduction, whose parts are not
    rounded, and convolutions, which are fast for f32 alone. Products, attention and scatter_add of the library and generated
    code compute in either type.

    Input:  `nn.cumsum %a axis 1 : tensor<8x4xbf16>`
    Output: `nn.cast (nn.cumsum (nn.cast %a to f32) axis 1) to bf16`
    (* example: test/Transforms/NN/widen-floats.mlir *)
  }];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNDecomposeComposites : Pass<"nn-decompose-composites", "::mlir::ModuleOp"> {
  let summary = "Writes composites without a kernel of their own in primitive ops.";
  let description = [{
    Calls `decompose` of every composite that `keep` does not name or that has no kernel for its element types, and
    erases formulas of results that nobody reads.
    After differentiation: gradient rules of composites are better than those of their parts.

    Input:  `y = nn.softmax x axis 1`
    Output: `m = nn.reduce max x; e = nn.exp (x - m); y = e / nn.reduce sum e`
    (* example: test/Transforms/NN/decompose-composites.mlir *)
  }];
  let options = [ListOption<"keep", "keep", "std::string", "Composites to leave whole, by op name.">];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNFuseEpilogues : Pass<"nn-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Puts what cuBLASLt does to a product before it stores it into one group with the product.";
  let description = [{
    Of modules for target cuda, products of matrices of f32, f16 and bf16. A sum with a matrix that is computed before, a bias along the rows, GELU in its tanh form (with what it is
    applied to, where that is read elsewhere), its gradient with the sum over the rows of that, or the sum over the rows of an
    operand that a weight's gradient is made of. What lies between the product and the result is read by nothing else; it is not rounded, as the body says,
    but kept in f32. GELU by erf stays, and so do matrices beside a GELU whose rows are no multiple of 8 elements, and what
    would read parameters of two blocks of the model.

    Input:  `%0 = nn.matmul %x, %w; %1 = nn.broadcast %b dims [1]; %2 = nn.add %0, %1`
    Output: `%2 = nn.group(%x, %w, %b) { nn.matmul; nn.broadcast; nn.add; nn.yield }`
    (* example: test/Transforms/NN/fuse-epilogues.mlir *)
  }];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNFormGroups : Pass<"nn-form-groups", "::mlir::ModuleOp"> {
  let summary = "Collects elementwise ops and reductions into groups that one generated kernel computes.";
  let description = [{
    A group holds elementwise ops, broadcasts, iotas, splats, reshapes between them, and reductions along one run of
    neighbouring dimensions. What the groups are depends only on shapes, element types and the blocks of parameters
    (zero/Analysis/ParameterBlocks.h): a group reads parameters of one block at most, so that no block is gathered
    before its time. Reshapes, transposes, slices and casts of parameters stay outside: they are cloned beside each
    gather. Values of 16 bits are widened inside, and f32 values are computed again from rounded ones rather than kept between
    groups. Reductions along separate runs of dimensions become reductions one after the other.

    Input:  `%m = nn.reduce max %x; %b = nn.broadcast %m; %d = nn.sub %x, %b; %y = nn.exp %d`
    Output: `%y = nn.group(%x) { nn.reduce; nn.broadcast; nn.sub; nn.exp; nn.yield }`
    (* example: test/Transforms/NN/form-groups.mlir *)
  }];
  let statistics = [Statistic<"joinSteps", "join-steps", "Ops looked at to find out what may be joined">];
  let dependentDialects = ["::zero::nn::NNDialect"];
}
def NNVerifyKernels : Pass<"nn-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "What no generated kernel computes has a kernel of the library.";
  let description = [{
    Edits nothing. Errors name the op, the element type and those that there are kernels for.

    Input:  a module after nn-form-groups
    Output: the same, or errors
    (* example: test/Transforms/NN/verify-kernels.mlir *)
  }];
}
#endif

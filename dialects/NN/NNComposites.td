//===- NNComposites.td - Composite ops kept whole for numerics and speed --===//
#ifndef ZERO_DIALECTS_NN_NNCOMPOSITES_TD
#define ZERO_DIALECTS_NN_NNCOMPOSITES_TD

include "dialects/NN/NNOps.td"

class NN_Composite<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<NN_DecomposableOpInterface>], traits)>;

def NN_GeluOp : NN_Composite<"gelu", [SameOperandsAndResultType, NN_ElementwiseOp,
                                      DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "x * Phi(x); `tanh`: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (arXiv 1606.08415).";
  let description = [{
    ```mlir
    func.func @activate(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = nn.gelu tanh %x : tensor<8x64xf32>
      return %0 : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins NN_GeluKindAttr:$approximate, NN_FloatTensor:$operand);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$approximate $operand attr-dict `:` type($result)";
}

def NN_SoftmaxOp : NN_Composite<"softmax", [SameOperandsAndResultType,
                                            DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "exp(x - max) / sum over `axis`; a row of -inf only gives NaN, as in PyTorch.";
  let description = [{
    ```mlir
    func.func @probabilities(%x: tensor<8x10xf32>) -> tensor<8x10xf32> {
      %0 = nn.softmax %x axis 1 : tensor<8x10xf32>
      return %0 : tensor<8x10xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand, I64Attr:$axis);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$operand `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_LayerNormOp : NN_Composite<"layer_norm", [DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "Normalises each row over the trailing dimensions that `scale` has (arXiv 1607.06450, ONNX LayerNormalization-17).";
  let description = [{
    result = (x - mean) * rstd * scale + bias with rstd = 1 / sqrt(var + epsilon), var biased. `mean` and `rstd` have
    the leading dimensions of x and are what the gradient reads.

    ```mlir
    func.func @norm(%x: tensor<8x16x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<8x16x64xf32> {
      %0:3 = nn.layer_norm %x scale %w bias %b epsilon 1.0e-5
          : tensor<8x16x64xf32>, tensor<64xf32>, tensor<64xf32> -> tensor<8x16x64xf32>, tensor<8x16xf32>, tensor<8x16xf32>
      return %0#0 : tensor<8x16x64xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand, NN_FloatTensor:$scale, Optional<NN_FloatTensor>:$bias, F64Attr:$epsilon);
  let results = (outs NN_FloatTensor:$result, NN_FloatTensor:$mean, NN_FloatTensor:$rstd);
  let assemblyFormat = [{
    $operand `scale` $scale (`bias` $bias^)? `epsilon` $epsilon attr-dict
    `:` type($operand) `,` type($scale) (`,` type($bias)^)? `->` type($result) `,` type($mean) `,` type($rstd)
  }];
  let hasVerifier = 1;
}

def NN_AttentionOp : NN_Composite<"attention", [DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>]> {
  let summary = "softmax(scale * q k^T + mask) v for each head (arXiv 1706.03762), without storing the scores.";
  let description = [{
    Shapes: query B x T x H x D; key, value B x S x G x D with G dividing H (query head h reads group h / (H / G));
    result B x T x H x D; `log_sum_exp` B x H x T, which the gradient reads. `causal`: position t sees s <= t + S - T.
    `mask` (B or 1) x (H or 1) x T x S is added to the scores; it has no gradient.

    ```mlir
    func.func @heads(%q: tensor<2x16x8x64xf32>, %k: tensor<2x16x2x64xf32>, %v: tensor<2x16x2x64xf32>) -> tensor<2x16x8x64xf32> {
      %0, %log_sum_exp = nn.attention %q, %k, %v scale 0.125 causal
          : tensor<2x16x8x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32> -> tensor<2x16x8x64xf32>, tensor<2x8x16xf32>
      return %0 : tensor<2x16x8x64xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$query, NN_FloatTensor:$key, NN_FloatTensor:$value, Optional<NN_FloatTensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs NN_FloatTensor:$result, NN_FloatTensor:$log_sum_exp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? `scale` $scale (`causal` $causal^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) (`,` type($mask)^)? `->` type($result) `,` type($log_sum_exp)
  }];
  let hasVerifier = 1;
}

// The results' types are inferred from the last operand listed: one whose position does not depend on `mask`.
def NN_AttentionGradOp : NN_Composite<"attention_grad", [NN_NoGradient,
    AllTypesMatch<["result", "result_gradient", "query", "query_gradient"]>,
    AllTypesMatch<["key", "value", "key_gradient", "value_gradient"]>]> {
  let summary = "Gradients of query, key and value; the probabilities are computed again from `log_sum_exp` (arXiv 2205.14135, algorithm 4).";
  let description = [{
    ```mlir
    func.func @heads_gradient(%q: tensor<2x16x8x64xf32>, %k: tensor<2x16x2x64xf32>, %o: tensor<2x16x8x64xf32>,
                              %lse: tensor<2x8x16xf32>, %do: tensor<2x16x8x64xf32>) -> tensor<2x16x8x64xf32> {
      %dq, %dk, %dv = nn.attention_grad %q, %k, %k result %o, %lse gradient %do scale 0.125 causal
          : tensor<2x16x8x64xf32>, tensor<2x16x2x64xf32>, tensor<2x8x16xf32>
      return %dq : tensor<2x16x8x64xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$query, NN_FloatTensor:$key, NN_FloatTensor:$value, Optional<NN_FloatTensor>:$mask,
                       NN_FloatTensor:$result, NN_FloatTensor:$log_sum_exp, NN_FloatTensor:$result_gradient,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs NN_FloatTensor:$query_gradient, NN_FloatTensor:$key_gradient, NN_FloatTensor:$value_gradient);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? `result` $result `,` $log_sum_exp `gradient` $result_gradient `scale` $scale
    (`causal` $causal^)? attr-dict
    `:` type($query) `,` type($key) `,` type($log_sum_exp) (`,` type($mask)^)?
  }];
  let hasVerifier = 1;
}

def NN_CrossEntropyOp : NN_Composite<"cross_entropy", [DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>,
                                                       DeclareOpInterfaceMethods<NN_LossOpInterface>]> {
  let summary = "Sum over counted labels of log(sum(exp(logits))) - logits[label]; classes are the last dimension.";
  let description = [{
    Labels equal to `ignore_index` do not count; any other label outside [0, classes) ends the step with an error.
    `log_sum_exp` has the labels' shape and is what the gradient reads. Only `loss_sum` has a gradient.

    ```mlir
    func.func @loss(%logits: tensor<8x10xf32>, %labels: tensor<8xi64>) -> (tensor<f32>, tensor<i64>) {
      %sum, %count, %lse = nn.cross_entropy %logits, %labels
          : tensor<8x10xf32>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<8xf32>
      return %sum, %count : tensor<f32>, tensor<i64>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$logits, NN_IntTensor:$labels, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs 0DTensorOf<[F32, F64]>:$loss_sum, 0DTensorOf<[I64]>:$count, NN_FloatTensor:$log_sum_exp);
  let assemblyFormat = [{
    $logits `,` $labels attr-dict
    `:` type($logits) `,` type($labels) `->` type($loss_sum) `,` type($count) `,` type($log_sum_exp)
  }];
  let hasVerifier = 1;
}

def NN_MseLossOp : NN_Composite<"mse_loss", [DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>,
                                             DeclareOpInterfaceMethods<NN_LossOpInterface>]> {
  let summary = "Sum of (prediction - target)^2; every element counts.";
  let description = [{
    ```mlir
    func.func @loss(%p: tensor<8x3xf32>, %t: tensor<8x3xf32>) -> (tensor<f32>, tensor<i64>) {
      %sum, %count = nn.mse_loss %p, %t : tensor<8x3xf32>, tensor<8x3xf32> -> tensor<f32>, tensor<i64>
      return %sum, %count : tensor<f32>, tensor<i64>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$prediction, NN_FloatTensor:$target);
  let results = (outs 0DTensorOf<[F32, F64]>:$loss_sum, 0DTensorOf<[I64]>:$count);
  let assemblyFormat = "$prediction `,` $target attr-dict `:` type($prediction) `,` type($target) `->` type($loss_sum) `,` type($count)";
  let hasVerifier = 1;
}

def NN_OutputLossOp : NN_Composite<"output_loss", [DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>,
                                                   DeclareOpInterfaceMethods<NN_LossOpInterface>]> {
  let summary = "A loss that the model computes itself (one element); it counts as one position.";
  let description = [{
    ```mlir
    func.func @loss(%own: tensor<1xf32>) -> (tensor<f32>, tensor<i64>) {
      %sum, %count = nn.output_loss %own : tensor<1xf32> -> tensor<f32>, tensor<i64>
      return %sum, %count : tensor<f32>, tensor<i64>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand);
  let results = (outs 0DTensorOf<[F32, F64]>:$loss_sum, 0DTensorOf<[I64]>:$count);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($loss_sum) `,` type($count)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Optimizers: the definition, per parameter, on whole tensors
//===----------------------------------------------------------------------===//

def NN_GlobalNormOp : NN_Op<"global_norm", [Pure, NN_NoGradient]> {
  let summary = "sqrt of the sum of squares of all elements, the same bits for every layout.";
  let description = [{
    Cells of 64 consecutive elements of one operand are summed in one fixed order, the cells' sums exactly.

    ```mlir
    func.func @norm(%g0: tensor<8x64xf32>, %g1: tensor<64xf32>) -> tensor<f32> {
      %0 = nn.global_norm %g0, %g1 : tensor<8x64xf32>, tensor<64xf32> -> tensor<f32>
      return %0 : tensor<f32>
    }
    ```
  }];
  let arguments = (ins Variadic<NN_FloatTensor>:$operands);
  let results = (outs 0DTensorOf<[F32, F64]>:$result);
  let assemblyFormat = "$operands attr-dict `:` type($operands) `->` type($result)";
}

def NN_AdamOp : NN_Composite<"adam", [NN_NoGradient, AttrSizedOperandSegments,
    AllTypesMatch<["gradient_scale", "learning_rate", "bias_correction1", "bias_correction2"]>]> {
  let summary = "One Adam step (arXiv 1412.6980); with `decoupled` weight decay AdamW (arXiv 1711.05101).";
  let description = [{
    g = gradient * gradient_scale; without `decoupled` g += weight_decay * p, with it p *= 1 - lr * weight_decay.
    m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
    p -= lr / bias_correction1 * m / (sqrt(v) / sqrt(bias_correction2) + epsilon). As torch.optim computes it.
    Results: the new parameter, exp_avg, exp_avg_sq; where `skip` is not 0, the old ones, bit for bit, whatever the
    gradient holds. exp_avg and exp_avg_sq have the parameter's type, and the 0-d scalars have one type; the gradient
    may have another float type.

    With a `master` p is the master, which has a wider type, and so have exp_avg and exp_avg_sq. The second result is
    the new master and the first that master rounded to the parameter's type: the old parameter is not read.

    ```mlir
    func.func @step(%p: tensor<64xf32>, %g: tensor<64xf32>, %m: tensor<64xf32>, %v: tensor<64xf32>,
                    %scale: tensor<f32>, %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>,
                    %skip: tensor<f32>) -> tensor<64xf32> {
      %0:3 = nn.adam %p, %g, %m, %v scale %scale lr %lr correction %c1, %c2 skip %skip : tensor<f32>
          {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64, decoupled}
          : tensor<64xf32>, tensor<f32>
      return %0#0 : tensor<64xf32>
    }
    func.func @mixed(%p: tensor<64xbf16>, %g: tensor<64xbf16>, %w: tensor<64xf32>, %m: tensor<64xf32>, %v: tensor<64xf32>,
                     %s: tensor<f32>) -> (tensor<64xbf16>, tensor<64xf32>) {
      %0:4 = nn.adam %p, %g master %w, %m, %v scale %s lr %s correction %s, %s
          {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64, decoupled}
          : tensor<64xbf16> master tensor<64xf32>, tensor<f32>
      return %0#0, %0#1 : tensor<64xbf16>, tensor<64xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$parameter, NN_FloatTensor:$gradient, Optional<NN_FloatTensor>:$master,
                       NN_FloatTensor:$exp_avg, NN_FloatTensor:$exp_avg_sq,
                       NN_Scalar:$gradient_scale, NN_Scalar:$learning_rate, NN_Scalar:$bias_correction1, NN_Scalar:$bias_correction2,
                       Optional<NN_Scalar>:$skip, F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay, UnitAttr:$decoupled);
  let results = (outs NN_FloatTensor:$new_parameter, Optional<NN_FloatTensor>:$new_master,
                      NN_FloatTensor:$new_exp_avg, NN_FloatTensor:$new_exp_avg_sq);
  let assemblyFormat = [{
    $parameter `,` $gradient (`master` $master^)? `,` $exp_avg `,` $exp_avg_sq `scale` $gradient_scale `lr` $learning_rate
    `correction` $bias_correction1 `,` $bias_correction2 (`skip` $skip^ `:` type($skip))? attr-dict
    `:` custom<AdamTypes>(type($parameter), type($gradient), type($master), type($exp_avg), type($exp_avg_sq),
                          type($new_parameter), type($new_master), type($new_exp_avg), type($new_exp_avg_sq))
    `,` type($gradient_scale)
  }];
  let hasVerifier = 1;
}

def NN_SgdOp : NN_Composite<"sgd", [NN_NoGradient, AttrSizedOperandSegments, AttrSizedResultSegments,
    AllTypesMatch<["gradient_scale", "learning_rate"]>]> {
  let summary = "One SGD step as torch.optim.SGD computes it; `momentum_buffer` is absent where momentum is 0.";
  let description = [{
    g = gradient * gradient_scale + weight_decay * p; with momentum: buffer = momentum * buffer + g, g = buffer
    (`nesterov`: g + momentum * buffer); p -= lr * g. Results: the new parameter and, with momentum, the new buffer;
    where `skip` is not 0, the old ones, bit for bit, whatever the gradient holds. Types and `master` as in nn.adam;
    the new master stands before the new buffer.

    ```mlir
    func.func @step(%p: tensor<64xf32>, %g: tensor<64xf32>, %m: tensor<64xf32>, %scale: tensor<f32>, %lr: tensor<f32>)
        -> tensor<64xf32> {
      %0:2 = nn.sgd %p, %g momentum %m scale %scale lr %lr {momentum = 0.9 : f64, weight_decay = 0.0 : f64}
          : tensor<64xf32>, tensor<f32>, tensor<64xf32> -> tensor<64xf32>
      return %0#0 : tensor<64xf32>
    }
    ```
  }];
  let arguments = (ins NN_FloatTensor:$parameter, NN_FloatTensor:$gradient, Optional<NN_FloatTensor>:$master,
                       Optional<NN_FloatTensor>:$momentum_buffer, NN_Scalar:$gradient_scale, NN_Scalar:$learning_rate,
                       Optional<NN_Scalar>:$skip, F64Attr:$momentum, F64Attr:$weight_decay, UnitAttr:$nesterov);
  let results = (outs NN_FloatTensor:$new_parameter, Optional<NN_FloatTensor>:$new_master,
                      Optional<NN_FloatTensor>:$new_momentum_buffer);
  let assemblyFormat = [{
    $parameter `,` $gradient (`master` $master^)? (`momentum` $momentum_buffer^)? `scale` $gradient_scale `lr` $learning_rate
    (`skip` $skip^ `:` type($skip))? attr-dict
    `:` custom<UpdateTypes>(type($parameter), type($gradient), type($master), type($new_parameter), type($new_master))
    `,` type($gradient_scale) (`,` type($momentum_buffer)^)? (`->` type($new_momentum_buffer)^)?
  }];
  let hasVerifier = 1;
}

#endif

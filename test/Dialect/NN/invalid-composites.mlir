// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @layer_norm_scale_rank(%x: tensor<3x4xf32>, %s: tensor<1x3x4xf32>) {
  // expected-error @+1 {{scale has 3 dimensions, outside [1, 2]}}
  %0:3 = nn.layer_norm %x scale %s epsilon 1.0e-5 : tensor<3x4xf32>, tensor<1x3x4xf32> -> tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @layer_norm_result(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{result has shape [4, 3] but the operand has [3, 4]}}
  %0:3 = nn.layer_norm %x scale %s epsilon 1.0e-5 : tensor<3x4xf32>, tensor<4xf32> -> tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @layer_norm_scale(%x: tensor<3x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{scale has shape [3] but the operand's trailing dimensions are [4]}}
  %0:3 = nn.layer_norm %x scale %s epsilon 1.0e-5 : tensor<3x4xf32>, tensor<3xf32> -> tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @layer_norm_bias(%x: tensor<3x4xf32>, %s: tensor<4xf32>, %b: tensor<1xf32>) {
  // expected-error @+1 {{bias has shape [1] but scale has [4]}}
  %0:3 = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5 : tensor<3x4xf32>, tensor<4xf32>, tensor<1xf32> -> tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @layer_norm_mean(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{mean has shape [4] but the operand's leading dimensions are [3]}}
  %0:3 = nn.layer_norm %x scale %s epsilon 1.0e-5 : tensor<3x4xf32>, tensor<4xf32> -> tensor<3x4xf32>, tensor<4xf32>, tensor<3xf32>
  return
}

// -----

func.func @layer_norm_rstd(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{rstd has element type 'f16' but the operand has 'f32'}}
  %0:3 = nn.layer_norm %x scale %s epsilon 1.0e-5 : tensor<3x4xf32>, tensor<4xf32> -> tensor<3x4xf32>, tensor<3xf32>, tensor<3xf16>
  return
}

// -----

func.func @layer_norm_epsilon(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{epsilon is -1.000000e+00, below 0 or not finite}}
  %0:3 = nn.layer_norm %x scale %s epsilon -1.0 : tensor<3x4xf32>, tensor<4xf32> -> tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @attention_rank(%q: tensor<2x3x8xf32>) {
  // expected-error @+1 {{query has 3 dimensions but attention takes 4}}
  %0:2 = nn.attention %q, %q, %q scale 1.0 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32> -> tensor<2x3x8xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @attention_key(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x6xf32>) {
  // expected-error @+1 {{key has shape [2, 3, 4, 6] but query gives [2, ?, ?, 8]}}
  %0:2 = nn.attention %q, %k, %k scale 1.0 : tensor<2x3x4x8xf32>, tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  return
}

// -----

func.func @attention_value(%q: tensor<2x3x4x8xf32>, %v: tensor<2x5x4x8xf32>) {
  // expected-error @+1 {{value has shape [2, 5, 4, 8] but key has [2, 3, 4, 8]}}
  %0:2 = nn.attention %q, %q, %v scale 1.0 : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x5x4x8xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  return
}

// -----

func.func @attention_groups(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x3x8xf32>) {
  // expected-error @+1 {{query has 4 heads, which the 3 of key do not divide}}
  %0:2 = nn.attention %q, %k, %k scale 1.0 : tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<2x3x4x8xf32>, %m: tensor<1x2x3x3xf32>) {
  // expected-error @+1 {{mask has shape [1, 2, 3, 3] but query and key give [1, 4, 3, 3]}}
  %0:2 = nn.attention %q, %q, %q mask %m scale 1.0 : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<1x2x3x3xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  return
}

// -----

func.func @attention_result(%q: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{result has shape [2, 3, 4, 9] but query has [2, 3, 4, 8]}}
  %0:2 = nn.attention %q, %q, %q scale 1.0 : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32> -> tensor<2x3x4x9xf32>, tensor<2x4x3xf32>
  return
}

// -----

func.func @attention_log_sum_exp(%q: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{log_sum_exp has shape [2, 3, 4] but query gives [2, 4, 3]}}
  %0:2 = nn.attention %q, %q, %q scale 1.0 : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32> -> tensor<2x3x4x8xf32>, tensor<2x3x4xf32>
  return
}

// -----

func.func @attention_element(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xbf16>) {
  // expected-error @+1 {{key has element type 'bf16' but query has 'f32'}}
  %0:2 = nn.attention %q, %k, %k scale 1.0 : tensor<2x3x4x8xf32>, tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  return
}

// -----

func.func @attention_grad_log_sum_exp(%q: tensor<2x3x4x8xf32>, %l: tensor<2x3x4xf32>) {
  // expected-error @+1 {{log_sum_exp has shape [2, 3, 4] but query gives [2, 4, 3]}}
  %0:3 = nn.attention_grad %q, %q, %q result %q, %l gradient %q scale 1.0 : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4xf32>
  return
}

// -----

func.func @cross_entropy_rank(%x: tensor<f32>, %y: tensor<i64>) {
  // expected-error @+1 {{logits have 0 dimensions but classes are the last of at least 1}}
  %0:3 = nn.cross_entropy %x, %y : tensor<f32>, tensor<i64> -> tensor<f32>, tensor<i64>, tensor<f32>
  return
}

// -----

func.func @cross_entropy_labels(%x: tensor<8x4xf32>, %y: tensor<4xi64>) {
  // expected-error @+1 {{labels has shape [4] but logits without classes have [8]}}
  %0:3 = nn.cross_entropy %x, %y : tensor<8x4xf32>, tensor<4xi64> -> tensor<f32>, tensor<i64>, tensor<8xf32>
  return
}

// -----

func.func @cross_entropy_log_sum_exp(%x: tensor<8x4xf32>, %y: tensor<8xi64>) {
  // expected-error @+1 {{log_sum_exp has shape [4] but labels have [8]}}
  %0:3 = nn.cross_entropy %x, %y : tensor<8x4xf32>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<4xf32>
  return
}

// -----

func.func @cross_entropy_sum(%x: tensor<8x4xf64>, %y: tensor<8xi64>) {
  // expected-error @+1 {{loss_sum has element type 'f32' but logits has 'f64'}}
  %0:3 = nn.cross_entropy %x, %y : tensor<8x4xf64>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<8xf64>
  return
}

// -----

func.func @mse_shape(%x: tensor<8x4xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{target has shape [8] but prediction has [8, 4]}}
  %0:2 = nn.mse_loss %x, %y : tensor<8x4xf32>, tensor<8xf32> -> tensor<f32>, tensor<i64>
  return
}

// -----

func.func @mse_element(%x: tensor<8xf32>, %y: tensor<8xf64>) {
  // expected-error @+1 {{target has element type 'f64' but prediction has 'f32'}}
  %0:2 = nn.mse_loss %x, %y : tensor<8xf32>, tensor<8xf64> -> tensor<f32>, tensor<i64>
  return
}

// -----

func.func @output_loss_elements(%x: tensor<2xf32>) {
  // expected-error @+1 {{operand has 2 elements but a loss has 1}}
  %0:2 = nn.output_loss %x : tensor<2xf32> -> tensor<f32>, tensor<i64>
  return
}

// -----

func.func @adam_beta(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{beta2 is 1.000000e+00, outside [0.000000e+00, 1.000000e+00)}}
  %0:3 = nn.adam %p, %p, %p, %p scale %s lr %s correction %s, %s {beta1 = 0.9 : f64, beta2 = 1.0 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @adam_weight_decay(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{weight_decay is -1.000000e+00, outside [0.000000e+00, INF)}}
  %0:3 = nn.adam %p, %p, %p, %p scale %s lr %s correction %s, %s {beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = -1.0 : f64} : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @adam_gradient_shape(%p: tensor<4xf32>, %g: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{gradient has type 'tensor<5xf32>' but the parameter has 'tensor<4xf32>'}}
  %0:3 = nn.adam %p, %g, %p, %p scale %s lr %s correction %s, %s {beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<4xf32> gradient tensor<5xf32>, tensor<f32>
  return
}

// -----

func.func @adam_narrow_master(%p: tensor<4xbf16>, %w: tensor<4xf16>, %s: tensor<f32>) {
  // expected-error @+1 {{master has type 'tensor<4xf16>', which is not wider than the parameter's 'tensor<4xbf16>'}}
  %0:4 = nn.adam %p, %p master %w, %w, %w scale %s lr %s correction %s, %s {beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<4xbf16> master tensor<4xf16>, tensor<f32>
  return
}

// -----

func.func @sgd_master_shape(%p: tensor<4xbf16>, %w: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{master has type 'tensor<5xf32>', which is not wider than the parameter's 'tensor<4xbf16>'}}
  %0:2 = nn.sgd %p, %p master %w scale %s lr %s {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<4xbf16> master tensor<5xf32>, tensor<f32>
  return
}

// -----

func.func @sgd_master_buffer(%p: tensor<4xbf16>, %w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{momentum buffer has type 'tensor<4xbf16>' but the master has 'tensor<4xf32>'}}
  %0:3 = nn.sgd %p, %p master %w momentum %p scale %s lr %s {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : tensor<4xbf16> master tensor<4xf32>, tensor<f32>, tensor<4xbf16> -> tensor<4xf32>
  return
}

// -----

func.func @adam_master_lost(%p: tensor<4xbf16>, %w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{takes and gives a master, or neither}}
  %0:3 = "nn.adam"(%p, %p, %w, %w, %w, %s, %s, %s, %s) <{beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 0>}>
      : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adam_new_parameter(%p: tensor<4xbf16>, %w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{new parameter has type 'tensor<4xf32>' but the parameter has 'tensor<4xbf16>'}}
  %0:4 = "nn.adam"(%p, %p, %w, %w, %w, %s, %s, %s, %s) <{beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 0>}>
      : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adam_new_master(%p: tensor<4xbf16>, %w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{new master has type 'tensor<4xf64>' but the master has 'tensor<4xf32>'}}
  %0:4 = "nn.adam"(%p, %p, %w, %w, %w, %s, %s, %s, %s) <{beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 0>}>
      : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xbf16>, tensor<4xf64>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adam_moment(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{new exp_avg has type 'tensor<4xf64>' but the parameter has 'tensor<4xf32>'}}
  %0:3 = "nn.adam"(%p, %p, %p, %p, %s, %s, %s, %s) <{beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1, 1, 1, 1, 1, 0>}>
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>)
  return
}

// -----

func.func @adam_skip(%p: tensor<4xf32>, %s: tensor<f32>, %k: tensor<f64>) {
  // expected-error @+1 {{skip has type 'tensor<f64>' but the other scalars have 'tensor<f32>'}}
  %0:3 = nn.adam %p, %p, %p, %p scale %s lr %s correction %s, %s skip %k : tensor<f64> {beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @sgd_skip(%p: tensor<4xf32>, %s: tensor<f32>, %k: tensor<f64>) {
  // expected-error @+1 {{skip has type 'tensor<f64>' but the other scalars have 'tensor<f32>'}}
  %0 = nn.sgd %p, %p scale %s lr %s skip %k : tensor<f64> {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @sgd_no_buffer(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{momentum is 9.000000e-01 but there is no momentum buffer}}
  %0 = nn.sgd %p, %p scale %s lr %s {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @sgd_no_momentum(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{momentum is 0.000000e+00 but there is a momentum buffer}}
  %0:2 = nn.sgd %p, %p momentum %p scale %s lr %s {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @sgd_half(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{takes and gives a momentum buffer, or neither}}
  %0 = nn.sgd %p, %p momentum %p scale %s lr %s {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>, tensor<4xf32>
  return
}

// -----

func.func @sgd_nesterov(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{nesterov needs a momentum but it is 0}}
  %0 = nn.sgd %p, %p scale %s lr %s {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov} : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @sgd_buffer_type(%p: tensor<4xf32>, %b: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{momentum buffer has type 'tensor<5xf32>' but the parameter has 'tensor<4xf32>'}}
  %0:2 = nn.sgd %p, %p momentum %b scale %s lr %s {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>, tensor<5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @group_arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{body takes 0 arguments but there are 1 operands}}
  "nn.group"(%x) ({
    "nn.yield"() : () -> ()
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @group_argument_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{body argument #0 has type 'tensor<5xf32>' but operand #0 has 'tensor<4xf32>'}}
  "nn.group"(%x) ({
  ^bb0(%a: tensor<5xf32>):
    "nn.yield"() : () -> ()
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @group_yield_count(%x: tensor<4xf32>) {
  nn.group(%a = %x : tensor<4xf32>) -> () {
    // expected-error @+1 {{yields 1 values but the group has 0 results}}
    nn.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @group_yield_type(%x: tensor<4xf32>) {
  %0 = nn.group(%a = %x : tensor<4xf32>) -> (tensor<5xf32>) {
    // expected-error @+1 {{value #0 has type 'tensor<4xf32>' but the group's result #0 has 'tensor<5xf32>'}}
    nn.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @group_foreign(%x: tensor<4xf32>) {
  // expected-note @+1 {{group is here}}
  nn.group(%a = %x : tensor<4xf32>) -> () {
    // expected-error @+1 {{does not belong in an nn.group}}
    nn.group() -> () {
      nn.yield
    }
    nn.yield
  }
  return
}

// -----

func.func @group_end(%x: tensor<4xf32>) {
  // expected-error @+1 {{body ends in 'func.return' but must end in 'nn.yield'}}
  "nn.group"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "func.return"() : () -> ()
  }) : (tensor<4xf32>) -> ()
  return
}

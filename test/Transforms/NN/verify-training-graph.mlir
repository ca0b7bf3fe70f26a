// RUN: split-file %s %t
// RUN: zero-opt %t/does.mlir --nn-build-backward --nn-append-optimizer -o %t/graph.mlir
// RUN: zero-opt %t/graph.mlir --nn-verify-training-graph -o %t/verified.mlir
// RUN: diff %t/graph.mlir %t/verified.mlir
// RUN: zero-opt %t/does.mlir --nn-build-backward --nn-append-optimizer='optimizer=sgd momentum=0.9' --nn-verify-training-graph --nn-decompose-composites=keep=nn.sgd --nn-verify-training-graph
// RUN: zero-opt %t/does.mlir --nn-mix-precision=element=f16 --nn-build-backward=scale-loss=true --nn-append-optimizer='masters=true gradient-element=f32 loss-scale=8 loss-scale-window=9' --nn-verify-training-graph
// RUN: zero-opt %t/refuses.mlir --split-input-file --verify-diagnostics --nn-verify-training-graph

// It accepts what the two passes make and leaves it alone, also decomposed.
//--- does.mlir
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %y: tensor<8xi64> {nn.role = #nn.role<label "y">},
                   %w: tensor<10x4xf32> {nn.role = #nn.role<parameter "w">}, %b: tensor<10xf32> {nn.role = #nn.role<frozen "b">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.matmul %x, %w transpose_rhs : tensor<8x4xf32>, tensor<10x4xf32> -> tensor<8x10xf32>
  %1 = nn.broadcast %b dims [1] : tensor<10xf32> to tensor<8x10xf32>
  %2 = nn.add %0, %1 : tensor<8x10xf32>
  %sum, %count, %lse = nn.cross_entropy %2, %y : tensor<8x10xf32>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<8xf32>
  return %sum, %count : tensor<f32>, tensor<i64>
}

//--- refuses.mlir
// expected-error @+1 {{module has no function @micro; run nn-build-backward}}
module {
}

// -----

// expected-error @+1 {{module has no function @update; run nn-append-optimizer}}
module {
  func.func @micro() {
    return
  }
}

// -----

// expected-error @+1 {{@micro has 2 blocks, expected 1}}
func.func @micro() {
  return
^unreachable:
  return
}

// -----

func.func @micro() {
  // expected-error @+1 {{'func.call' op does not belong in @micro: phase backward holds nn ops only}}
  func.call @update() : () -> ()
  return
}
func.func @update() {
  return
}

// -----

func.func @micro(%x: tensor<?xf32>) {
  // expected-error @+1 {{has the type 'tensor<?xf32>' whose shape is not static; nn-bind-batch should have bound it}}
  %0 = nn.neg %x : tensor<?xf32>
  return
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{argument #0 of @micro has no role}}
func.func @micro(%x: tensor<f32>) {
  return
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{argument #1 of @micro has the role parameter 'p' a second time}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %q: tensor<f32> {nn.role = #nn.role<parameter "p">}) {
  return
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{@micro returns no loss_sum; nn-build-backward should have added it}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}) {
  return
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{@micro returns no label_count; nn-build-backward should have added it}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  return %p : tensor<f32>
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{@micro takes exp_avg 'p', expected inputs, labels, parameters, frozen weights and a loss scale only}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<exp_avg "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  return %p, %c : tensor<f32>, tensor<i64>
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{parameter 'p' has no gradient; nn-build-backward should have built it}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  return %p, %c : tensor<f32>, tensor<i64>
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{parameter 'p' has type 'tensor<f32>' but its gradient has type 'tensor<f64>'}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">}, %g: tensor<f64> {nn.role = #nn.role<input "g">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f64> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %g : tensor<f32>, tensor<i64>, tensor<f64>
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{@micro returns gradient 'q' but takes no parameter of that name}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<frozen "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "q">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{@micro returns exp_avg 'p', expected loss_sum, label_count and gradients only}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<frozen "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<exp_avg "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
func.func @update() {
  return
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
// expected-error @+1 {{@update returns no loss; nn-append-optimizer should have added it}}
func.func @update(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}) -> (tensor<f32> {nn.role = #nn.role<grad_norm "">}) {
  return %p : tensor<f32>
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
// expected-error @+1 {{@update returns no grad_norm; nn-append-optimizer should have added it}}
func.func @update(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}) -> (tensor<f32> {nn.role = #nn.role<loss "">}) {
  return %p : tensor<f32>
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
// expected-error @+1 {{@update takes gradient 'q', which @micro does not have}}
func.func @update(%g: tensor<f32> {nn.role = #nn.role<gradient "q">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}) {
  return %g, %g : tensor<f32>, tensor<f32>
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
// expected-error @+1 {{gradient 'p' has type 'tensor<f64>' in @update and 'tensor<f32>' in @micro}}
func.func @update(%g: tensor<f64> {nn.role = #nn.role<gradient "p">})
    -> (tensor<f64> {nn.role = #nn.role<loss "">}, tensor<f64> {nn.role = #nn.role<grad_norm "">}) {
  return %g, %g : tensor<f64>, tensor<f64>
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
// expected-error @+1 {{@update returns exp_avg 'p' but does not take it}}
func.func @update(%g: tensor<f32> {nn.role = #nn.role<gradient "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<exp_avg "p">}) {
  return %g, %g, %g : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
// expected-error @+1 {{@update takes exp_avg 'p' as 'tensor<1xf32>' and returns it as 'tensor<f32>'}}
func.func @update(%g: tensor<f32> {nn.role = #nn.role<gradient "p">}, %m: tensor<1xf32> {nn.role = #nn.role<exp_avg "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<exp_avg "p">}) {
  return %g, %g, %g : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{parameter 'p' has no update; nn-append-optimizer should have built it}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
func.func @update(%g: tensor<f32> {nn.role = #nn.role<gradient "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}) {
  return %g, %g : tensor<f32>, tensor<f32>
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
// expected-error @+1 {{new parameter 'p' is not the first result of an optimizer op}}
func.func @update(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %g: tensor<f32> {nn.role = #nn.role<gradient "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<parameter "p">}) {
  %0 = nn.sub %p, %g : tensor<f32>
  return %g, %g, %0 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Two gradients exchanged.
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %q: tensor<f32> {nn.role = #nn.role<parameter "q">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}, tensor<f32> {nn.role = #nn.role<gradient "q">}) {
  return %p, %c, %p, %q : tensor<f32>, tensor<i64>, tensor<f32>, tensor<f32>
}
func.func @update(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %q: tensor<f32> {nn.role = #nn.role<parameter "q">}, %gp: tensor<f32> {nn.role = #nn.role<gradient "p">}, %gq: tensor<f32> {nn.role = #nn.role<gradient "q">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<parameter "p">}, tensor<f32> {nn.role = #nn.role<parameter "q">}) {
  // expected-error @+1 {{new parameter 'p' is not computed from parameter 'p' and its gradient}}
  %0 = nn.sgd %p, %gq scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<f32>, tensor<f32>
  %1 = nn.sgd %q, %gp scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<f32>, tensor<f32>
  return %gp, %gp, %0, %1 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A master that is none of the parameter's.
func.func @micro(%p: tensor<bf16> {nn.role = #nn.role<parameter "p">}, %l: tensor<f32> {nn.role = #nn.role<input "l">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<bf16> {nn.role = #nn.role<gradient "p">}) {
  return %l, %c, %p : tensor<f32>, tensor<i64>, tensor<bf16>
}
func.func @update(%p: tensor<bf16> {nn.role = #nn.role<parameter "p">}, %g: tensor<bf16> {nn.role = #nn.role<gradient "p">}, %w: tensor<f32> {nn.role = #nn.role<master "q">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<bf16> {nn.role = #nn.role<parameter "p">}) {
  // expected-error @+1 {{new parameter 'p' is not computed from master 'p'}}
  %0:2 = nn.sgd %p, %g master %w scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<bf16> master tensor<f32>, tensor<f32>
  return %lr, %lr, %0#0 : tensor<f32>, tensor<f32>, tensor<bf16>
}

// -----

// A master that stays as it was.
func.func @micro(%p: tensor<bf16> {nn.role = #nn.role<parameter "p">}, %l: tensor<f32> {nn.role = #nn.role<input "l">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<bf16> {nn.role = #nn.role<gradient "p">}) {
  return %l, %c, %p : tensor<f32>, tensor<i64>, tensor<bf16>
}
// expected-error @+1 {{@update does not return the new master 'p' of its optimizer op}}
func.func @update(%p: tensor<bf16> {nn.role = #nn.role<parameter "p">}, %g: tensor<bf16> {nn.role = #nn.role<gradient "p">}, %w: tensor<f32> {nn.role = #nn.role<master "p">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<bf16> {nn.role = #nn.role<parameter "p">}, tensor<f32> {nn.role = #nn.role<master "p">}) {
  %0:2 = nn.sgd %p, %g master %w scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<bf16> master tensor<f32>, tensor<f32>
  return %lr, %lr, %0#0, %w : tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>
}

// -----

// A loss scale that the gradients do not carry.
func.func @micro(%p: tensor<bf16> {nn.role = #nn.role<parameter "p">}, %l: tensor<f32> {nn.role = #nn.role<input "l">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<bf16> {nn.role = #nn.role<gradient "p">}) {
  return %l, %c, %p : tensor<f32>, tensor<i64>, tensor<bf16>
}
// expected-error @+1 {{@update takes loss_scale, which @micro does not have}}
func.func @update(%g: tensor<bf16> {nn.role = #nn.role<gradient "p">}, %s: tensor<f32> {nn.role = #nn.role<loss_scale "">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}) {
  return %s, %s : tensor<f32>, tensor<f32>
}

// -----

// @predict alone is enough where nothing is trained; it takes inputs and frozen weights and returns outputs.
func.func @predict(%x: tensor<f32> {nn.role = #nn.role<input "x">}, %f: tensor<f32> {nn.role = #nn.role<frozen "f">, nn.data = dense<1.0> : tensor<f32>})
    -> (tensor<f32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.add %x, %f : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @+1 {{@predict takes parameter 'p', expected inputs and frozen weights only}}
func.func @predict(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}) -> (tensor<f32> {nn.role = #nn.role<output "y">}) {
  return %p : tensor<f32>
}

// -----

// expected-error @+1 {{@predict returns loss, expected outputs only}}
func.func @predict(%x: tensor<f32> {nn.role = #nn.role<input "x">}) -> (tensor<f32> {nn.role = #nn.role<loss "">}) {
  return %x : tensor<f32>
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
func.func @update(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %g: tensor<f32> {nn.role = #nn.role<gradient "p">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<parameter "p">}) {
  %0 = nn.sgd %p, %g scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<f32>, tensor<f32>
  return %g, %g, %0 : tensor<f32>, tensor<f32>, tensor<f32>
}
// expected-error @+1 {{@predict takes parameter 'q', which @micro does not have}}
func.func @predict(%q: tensor<f32> {nn.role = #nn.role<parameter "q">}) -> (tensor<f32> {nn.role = #nn.role<output "y">}) {
  return %q : tensor<f32>
}

// -----

func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %c: tensor<i64> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  return %p, %c, %p : tensor<f32>, tensor<i64>, tensor<f32>
}
func.func @update(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %g: tensor<f32> {nn.role = #nn.role<gradient "p">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<parameter "p">}) {
  %0 = nn.sgd %p, %g scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<f32>, tensor<f32>
  return %g, %g, %0 : tensor<f32>, tensor<f32>, tensor<f32>
}
// expected-error @+1 {{input 'c' has type 'tensor<i32>' in @predict and 'tensor<i64>' in @micro}}
func.func @predict(%c: tensor<i32> {nn.role = #nn.role<input "c">}) -> (tensor<i32> {nn.role = #nn.role<output "y">}) {
  return %c : tensor<i32>
}

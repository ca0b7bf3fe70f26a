// RUN: zero-opt %s --split-input-file --verify-diagnostics --nn-build-backward=loss-divisor=4 | FileCheck %s
// RUN: zero-opt %s --split-input-file --verify-diagnostics --nn-build-backward=scale-loss=true | FileCheck %s --check-prefix=SCALE
// RUN: zero-opt %s --split-input-file --verify-diagnostics --nn-build-backward=save-rounded=true | FileCheck %s --check-prefix=ROUNDED
// RUN: not zero-opt %s --split-input-file --nn-build-backward=loss-divisor=0 2>&1 | FileCheck %s --check-prefix=DIVISOR

// DIVISOR: error: loss-divisor is 0, expected at least 1

// With a loss scale: what flows back carries it, the sum of losses does not.
// SCALE-LABEL: func.func @micro
// SCALE-SAME:    tensor<10xf32> {nn.role = #nn.role<parameter "b">}, %[[S:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<loss_scale "">})
// SCALE:         %[[SUM:.*]], %[[COUNT:.*]], %[[LSE:.*]] = nn.cross_entropy
// SCALE:         %[[SEED:.*]] = nn.constant dense<1.250000e-01> : tensor<f32>
// SCALE:         %[[LOSS:.*]] = nn.mul %[[SUM]], %[[SEED]]
// SCALE:         %[[SCALED:.*]] = nn.mul %[[SEED]], %[[S]]
// SCALE:         nn.broadcast %[[SCALED]]
// SCALE-NOT:     %[[SEED]]
// SCALE:         return %[[LOSS]], %[[COUNT]]

// It does: loss and gradients in argument order, all scaled by 1 / (4 x 8 positions).
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:.*]]: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %[[Y:.*]]: tensor<8xi64> {{{.*}}nn.role = #nn.role<label "y">}
// CHECK-SAME:    %[[W:.*]]: tensor<10x4xf32> {nn.role = #nn.role<parameter "w">}, %[[B:.*]]: tensor<10xf32> {nn.role = #nn.role<parameter "b">}
// CHECK-SAME:    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<10x4xf32> {nn.role = #nn.role<gradient "w">}, tensor<10xf32> {nn.role = #nn.role<gradient "b">})
// CHECK:         %[[SUM:.*]], %[[COUNT:.*]], %[[LSE:.*]] = nn.cross_entropy
// CHECK:         %[[SEED:.*]] = nn.constant dense<3.125000e-02> : tensor<f32>
// CHECK:         %[[LOSS:.*]] = nn.mul %[[SUM]], %[[SEED]]
// CHECK:         %[[DZ:.*]] = nn.mul {{.*}} : tensor<8x10xf32>
// CHECK:         %[[DB:.*]] = nn.reduce sum %[[DZ]] axes [0]
// CHECK:         %[[DW:.*]] = nn.matmul %[[DZ]], %[[X]] transpose_lhs
// CHECK-NOT:     nn.matmul
// CHECK:         return %[[LOSS]], %[[COUNT]], %[[DW]], %[[DB]]
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %y: tensor<8xi64> {nn.role = #nn.role<label "y">},
                   %w: tensor<10x4xf32> {nn.role = #nn.role<parameter "w">}, %b: tensor<10xf32> {nn.role = #nn.role<parameter "b">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.matmul %x, %w transpose_rhs : tensor<8x4xf32>, tensor<10x4xf32> -> tensor<8x10xf32>
  %1 = nn.broadcast %b dims [1] : tensor<10xf32> to tensor<8x10xf32>
  %2 = nn.add %0, %1 : tensor<8x10xf32>
  %sum, %count, %lse = nn.cross_entropy %2, %y : tensor<8x10xf32>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<8xf32>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// A tied parameter: the sum over its uses, the last use first.
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[IDS:.*]]: tensor<6xi64> {nn.role = #nn.role<input "ids">}
// CHECK:         %[[HEAD:.*]] = nn.matmul %{{.*}}, %{{.*}} transpose_lhs : tensor<6x10xf32>, tensor<6x4xf32> -> tensor<10x4xf32>
// CHECK:         %[[EMBEDDING:.*]] = nn.scatter_add %{{.*}}[%[[IDS]]] axis 0 : tensor<6x4xf32>, tensor<6xi64> -> tensor<10x4xf32>
// CHECK:         %[[TOTAL:.*]] = nn.add %[[HEAD]], %[[EMBEDDING]] : tensor<10x4xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[TOTAL]]
func.func @forward(%ids: tensor<6xi64> {nn.role = #nn.role<input "ids">}, %y: tensor<6xi64> {nn.role = #nn.role<label "y">},
                   %w: tensor<10x4xf32> {nn.role = #nn.role<parameter "wte">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.gather %w[%ids] axis 0 : tensor<10x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
  %1 = nn.matmul %0, %w transpose_rhs : tensor<6x4xf32>, tensor<10x4xf32> -> tensor<6x10xf32>
  %sum, %count, %lse = nn.cross_entropy %1, %y : tensor<6x10xf32>, tensor<6xi64> -> tensor<f32>, tensor<i64>, tensor<6xf32>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// Each block's weight gradient stands beside its activation gradient.
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D1:.*]] = nn.matmul %[[DY:.*]], %{{.*}} transpose_rhs
// CHECK-NEXT:    %[[DW2:.*]] = nn.matmul %[[T:.*]], %[[DY]] transpose_lhs
// CHECK:         %[[DW1:.*]] = nn.matmul %{{.*}}, %{{.*}} transpose_lhs
// CHECK-NEXT:    return %{{.*}}, %{{.*}}, %[[DW1]], %[[DW2]]
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %y: tensor<8x4xf32> {nn.role = #nn.role<label "y">},
                   %w1: tensor<4x4xf32> {nn.role = #nn.role<parameter "w1">}, %w2: tensor<4x4xf32> {nn.role = #nn.role<parameter "w2">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.matmul %x, %w1 : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = nn.tanh %0 : tensor<8x4xf32>
  %2 = nn.matmul %1, %w2 : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %sum, %count = nn.mse_loss %2, %y : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// The seed has the loss's float type. Ops off the path stay as they are: `floor` of an input, `round` that nobody reads.
// CHECK-LABEL: func.func @micro
// CHECK:         nn.floor
// CHECK:         nn.round
// CHECK:         %[[SEED:.*]] = nn.constant dense<2.500000e-01> : tensor<f64>
// CHECK:         %[[DP:.*]] = nn.mul %[[SEED]], %{{.*}} : tensor<f64>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DP]] : tensor<f64>, tensor<i64>, tensor<f64>
func.func @forward(%x: tensor<f64> {nn.role = #nn.role<input "x">}, %p: tensor<f64> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f64> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.floor %x : tensor<f64>
  %1 = nn.round %p : tensor<f64>
  %2 = nn.mul %p, %0 : tensor<f64>
  %sum, %count = nn.output_loss %2 : tensor<f64> -> tensor<f64>, tensor<i64>
  return %sum, %count : tensor<f64>, tensor<i64>
}

// -----

// It leaves alone what the loss does not depend on: frozen weights, and one warning with all names.
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %{{.*}}: tensor<3xf32> {nn.role = #nn.role<frozen "u">}, %{{.*}}: tensor<0xf32> {nn.role = #nn.role<frozen "v">}
// CHECK-SAME:    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">})
// expected-warning @+1 {{no gradient reaches, so these weights are not trained: 'u', 'v'}}
func.func @forward(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %u: tensor<3xf32> {nn.role = #nn.role<parameter "u">},
                   %v: tensor<0xf32> {nn.role = #nn.role<parameter "v">}, %f: tensor<f32> {nn.role = #nn.role<frozen "f">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.mul %p, %f : tensor<f32>
  %sum, %count = nn.output_loss %0 : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// It refuses a loss that depends on no parameter by a gradient: integers have none.
// expected-warning @+2 {{no gradient passes, as it is zero almost everywhere: 'nn.cast'}}
// expected-error @+1 {{no gradient reaches any parameter, so there is nothing to train: 'p'}}
func.func @forward(%p: tensor<f32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.cast %p : tensor<f32> to tensor<i32>
  %1 = nn.cast %0 : tensor<i32> to tensor<f32>
  %sum, %count = nn.output_loss %1 : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// It refuses: all ops without a gradient at once, with the names of their nodes.
// expected-error @+1 {{2 ops between the parameters and the loss cannot be differentiated}}
func.func @forward(%p: tensor<2xf32> {nn.role = #nn.role<parameter "p">}, %q: tensor<2xf32> {nn.role = #nn.role<parameter "q">},
                   %i: tensor<2x1xi64> {nn.role = #nn.role<input "i">}, %j: tensor<1x1xi64> {nn.role = #nn.role<input "j">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  // expected-note @unknown {{'nn.gather_nd' of node 'swap' stands between parameter 'p' and the loss}}
  %0 = nn.gather_nd %p[%i] : tensor<2xf32>, tensor<2x1xi64> -> tensor<2xf32> loc("swap")
  %1 = nn.mul %0, %q : tensor<2xf32> loc("scale")
  // expected-note @unknown {{'nn.gather_nd' of node 'pick', 'again' stands between parameter 'p' and the loss}}
  %2 = nn.gather_nd %1[%j] : tensor<2xf32>, tensor<1x1xi64> -> tensor<1xf32> loc(fused["pick", "again"])
  %3 = nn.reduce sum %2 axes [0] : tensor<1xf32> to tensor<f32>
  // Off the path to the loss nothing is asked.
  %4 = nn.gather_nd %q[%i] : tensor<2xf32>, tensor<2x1xi64> -> tensor<2xf32> loc("unused")
  %sum, %count = nn.output_loss %3 : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// Where a gradient is zero almost everywhere it ends, and one warning names the nodes: those that it passes on
// another way (the comparison of a leaky ReLU) and those that it does not reach are no news.
// CHECK-LABEL: func.func @micro
// CHECK:         nn.output_loss
// CHECK-NOT:     nn.{{floor|ceil|round|compare}}
// CHECK:         return
// expected-warning @+1 {{no gradient passes, as it is zero almost everywhere: 'nn.floor' of node 'step', 'nn.round' of node 'quantize', 'nn.compare' of node 'mask'}}
func.func @forward(%p: tensor<4xf32> {nn.role = #nn.role<parameter "p">}, %x: tensor<4xf32> {nn.role = #nn.role<input "x">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %zero = nn.constant dense<0.0> : tensor<4xf32>
  %0 = nn.compare lt %p, %zero : tensor<4xf32> -> tensor<4xi1> loc("leaky")
  %1 = nn.mul %p, %x : tensor<4xf32> loc("leaky")
  %2 = nn.select %0, %1, %p : tensor<4xi1>, tensor<4xf32> loc("leaky")
  %3 = nn.floor %2 : tensor<4xf32> loc("step")
  %4 = nn.ceil %3 : tensor<4xf32> loc("behind")
  %5 = nn.round %2 : tensor<4xf32> loc("quantize")
  %6 = nn.cast %5 : tensor<4xf32> to tensor<4xi8> loc("quantize")
  %7 = nn.cast %6 : tensor<4xi8> to tensor<4xf32> loc("dequantize")
  %8 = nn.compare gt %2, %x : tensor<4xf32> -> tensor<4xi1> loc("mask")
  %9 = nn.select %8, %2, %x : tensor<4xi1>, tensor<4xf32> loc("where")
  %10 = nn.floor %x : tensor<4xf32> loc("of an input")
  %11 = nn.floor %p : tensor<4xf32> loc("off the path")
  %12 = nn.add %4, %7 : tensor<4xf32>
  %13 = nn.add %9, %10 : tensor<4xf32>
  %14 = nn.add %12, %13 : tensor<4xf32>
  %15 = nn.reduce sum %14 axes [0] : tensor<4xf32> to tensor<f32>
  %sum, %count = nn.output_loss %15 : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

func.func @forward(%x: tensor<1x2x1x4xf32> {nn.role = #nn.role<input "x">}, %m: tensor<1x1x2x2xf32> {nn.role = #nn.role<parameter "bias">},
                   %p: tensor<1x2x1x4xf32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  // expected-error @+1 {{'nn.attention' op has no gradient for its operand #3, which depends on parameter 'bias'}}
  %0, %lse = nn.attention %p, %x, %x mask %m scale 5.0e-1 : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2x2xf32> -> tensor<1x2x1x4xf32>, tensor<1x1x2xf32>
  %sum, %count = nn.mse_loss %0, %x : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// expected-error @+1 {{parameter 'k' has type 'tensor<i64>', which has no gradient; expected a tensor of floats}}
func.func @forward(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %k: tensor<i64> {nn.role = #nn.role<parameter "k">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %count = nn.output_loss %p : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// expected-error @+1 {{@forward has no parameter: nothing to differentiate by}}
func.func @forward(%p: tensor<f32> {nn.role = #nn.role<input "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %count = nn.output_loss %p : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// expected-error @+1 {{@forward has no result with the role label_count}}
func.func @forward(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  %sum, %count = nn.output_loss %p : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum : tensor<f32>
}

// -----

// expected-error @+1 {{result #1 of @forward is neither loss_sum nor label_count}}
func.func @forward(%p: tensor<f32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64>) {
  %sum, %count = nn.output_loss %p : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

func.func @forward(%p: tensor<f32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %count = nn.output_loss %p : tensor<f32> -> tensor<f32>, tensor<i64>
  %0 = nn.neg %sum : tensor<f32>
  // expected-error @+1 {{loss_sum and label_count are not the results 0 and 1 of one loss op}}
  return %0, %count : tensor<f32>, tensor<i64>
}

// -----

func.func @forward(%x: tensor<0x3xf32> {nn.role = #nn.role<input "x">}, %p: tensor<0x3xf32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  // expected-error @+1 {{loss has 0 positions: there is no mean over them}}
  %sum, %count = nn.mse_loss %p, %x : tensor<0x3xf32>, tensor<0x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

func.func @forward(%x: tensor<?x3xf32> {nn.role = #nn.role<input "x">}, %y: tensor<?x5xf32> {nn.role = #nn.role<label "y">}, %p: tensor<3x5xf32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.matmul %x, %p : tensor<?x3xf32>, tensor<3x5xf32> -> tensor<?x5xf32>
  // expected-error @+1 {{has the type 'tensor<?x5xf32>' whose shape is not static; run nn-bind-batch first}}
  %sum, %count = nn.mse_loss %0, %y : tensor<?x5xf32>, tensor<?x5xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// expected-error @+1 {{module has no function @forward to differentiate}}
module {
}

// -----

// expected-error @+1 {{module has @forward and @micro; it is differentiated already}}
func.func @forward() {
  return
}
// expected-note @+1 {{@micro is here}}
func.func @micro() {
  return
}

// -----

// expected-error @+1 {{@forward has 2 blocks, expected 1}}
func.func @forward() {
  return
^unreachable:
  return
}

// -----

// Outputs are split off as @predict: what they need and nothing else, no label; it takes all parameters. @micro loses what only they need.
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %{{.*}}: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %{{.*}}: tensor<8xf32> {nn.role = #nn.role<input "mask">}
// CHECK-SAME:    %{{.*}}: tensor<8x4xf32> {nn.role = #nn.role<label "y">}
// CHECK-NOT:     #nn.role<frozen "f">
// CHECK-SAME:    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<4x4xf32> {nn.role = #nn.role<gradient "w">}, tensor<4xf32> {nn.role = #nn.role<gradient "b">})
// CHECK-NOT:     nn.tanh
// CHECK-LABEL: func.func @predict
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %[[W:[^:]*]]: tensor<4x4xf32> {nn.role = #nn.role<parameter "w">}, %{{[^:]*}}: tensor<4xf32> {nn.role = #nn.role<parameter "b">}, %[[F:[^:]*]]: tensor<8x4xf32> {{{.*}}nn.role = #nn.role<frozen "f">})
// CHECK-SAME:    -> (tensor<8x4xf32> {nn.batched, nn.role = #nn.role<output "t">}, tensor<8x4xf32> {nn.role = #nn.role<output "f">})
// CHECK-NEXT:    %[[M:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK-NEXT:    %[[T:.*]] = nn.tanh %[[M]]
// CHECK-NEXT:    return %[[T]], %[[F]]
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %mask: tensor<8xf32> {nn.role = #nn.role<input "mask">},
                   %y: tensor<8x4xf32> {nn.role = #nn.role<label "y">},
                   %w: tensor<4x4xf32> {nn.role = #nn.role<parameter "w">}, %b: tensor<4xf32> {nn.role = #nn.role<parameter "b">},
                   %f: tensor<8x4xf32> {nn.role = #nn.role<frozen "f">, nn.data = dense<1.0> : tensor<8x4xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<8x4xf32> {nn.batched, nn.role = #nn.role<output "t">}, tensor<8x4xf32> {nn.role = #nn.role<output "f">}) {
  %0 = nn.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = nn.broadcast %b dims [1] : tensor<4xf32> to tensor<8x4xf32>
  %2 = nn.add %0, %1 : tensor<8x4xf32>
  %3 = nn.tanh %0 : tensor<8x4xf32>
  %sum, %count = nn.mse_loss %2, %y : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count, %3, %f : tensor<f32>, tensor<i64>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Outputs alone: @forward is @predict, without inputs that it does not read.
// CHECK-LABEL: func.func @predict
// CHECK-SAME:    (%[[X:[^:]*]]: tensor<4xf32> {nn.role = #nn.role<input "x">}) -> (tensor<4xf32> {nn.role = #nn.role<output "y">})
// CHECK-NEXT:    %[[Y:.*]] = nn.neg %[[X]]
// CHECK-NEXT:    return %[[Y]]
// CHECK-NOT:   func.func
func.func @forward(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}, %unread: tensor<f32> {nn.role = #nn.role<input "unread">})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{module has @forward and @predict; it is differentiated already}}
func.func @forward() {
  return
}
// expected-note @below {{@predict is here}}
func.func @predict() {
  return
}

// -----

// Mixed precision saves what is rounded: the gradient of tanh reads its result, of which there are 16 bits; that of the first
// multiplication reads a value that nothing rounds.
// CHECK-LABEL: func.func @micro
// ROUNDED-LABEL: func.func @micro(%{{.*}}: tensor<8xf32> {nn.role = #nn.role<parameter "rounded">}
// ROUNDED:         %[[Q:.*]] = nn.mul %[[W:.*]], %[[W]]
// ROUNDED:         %[[T:.*]] = nn.tanh %[[Q]]
// ROUNDED:         %[[N:.*]] = nn.cast %[[T]] : tensor<8xf32> to tensor<8xbf16>
// ROUNDED:         nn.output_loss
// ROUNDED:         %[[SAVED:.*]] = nn.cast %[[N]] : tensor<8xbf16> to tensor<8xf32>
// ROUNDED-NOT:     %[[T]]{{[ ,]}}
// ROUNDED:         nn.mul %[[SAVED]], %[[SAVED]]
// ROUNDED-NOT:     %[[T]]{{[ ,]}}
// ROUNDED:         return
func.func @forward(%w: tensor<8xf32> {nn.role = #nn.role<parameter "rounded">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.mul %w, %w : tensor<8xf32>
  %1 = nn.tanh %0 : tensor<8xf32>
  %2 = nn.cast %1 : tensor<8xf32> to tensor<8xbf16>
  %3 = nn.cast %2 : tensor<8xbf16> to tensor<8xf32>
  %4 = nn.reduce sum %3 axes [0] : tensor<8xf32> to tensor<f32>
  %sum, %count = nn.output_loss %4 : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// Behind nn.stop_gradient no gradient flows, without a warning; then it is gone, from outputs too: what was chosen between it and its operand is the operand.
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[P:[a-z0-9]+]]: tensor<4xf32> {nn.role = #nn.role<parameter "p">}, %[[Q:[a-z0-9]+]]: tensor<4xf32> {nn.role = #nn.role<parameter "q">}
// CHECK-NOT:     nn.stop_gradient
// CHECK:         %[[M:.*]] = nn.mul %[[P]], %[[P]]
// CHECK:         nn.select %{{.*}}, %[[M]], %[[M]]
// CHECK:         nn.output_loss
// CHECK-NOT:     nn.stop_gradient
// CHECK:         %[[G:.*]] = nn.broadcast
// CHECK:         %[[ZERO:.*]] = nn.constant dense<0.000000e+00>
// CHECK:         %[[DM:.*]] = nn.select %{{.*}}, %[[ZERO]], %{{.*}}
// CHECK:         %[[DP:.*]] = nn.mul %[[DM]], %[[P]]
// CHECK-LABEL: func.func @predict
// CHECK-NOT:     nn.stop_gradient
// expected-warning @+1 {{no gradient reaches, so these weights are not trained: 'r'}}
func.func @forward(%mask: tensor<4xi1> {nn.role = #nn.role<input "mask">}, %p: tensor<4xf32> {nn.role = #nn.role<parameter "p">},
                   %q: tensor<4xf32> {nn.role = #nn.role<parameter "q">}, %r: tensor<4xf32> {nn.role = #nn.role<parameter "r">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %s = nn.stop_gradient %p : tensor<4xf32>
  %0 = nn.mul %p, %s : tensor<4xf32>
  %1 = nn.stop_gradient %0 : tensor<4xf32>
  %2 = nn.select %mask, %1, %0 : tensor<4xi1>, tensor<4xf32>
  %floor = nn.floor %r : tensor<4xf32>
  %3 = nn.stop_gradient %floor : tensor<4xf32>
  %4 = nn.mul %2, %3 : tensor<4xf32>
  %5 = nn.add %4, %q : tensor<4xf32>
  %6 = nn.reduce sum %5 axes [0] : tensor<4xf32> to tensor<f32>
  %sum, %count = nn.output_loss %6 : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count, %1 : tensor<f32>, tensor<i64>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @predict
// CHECK-NEXT:    return %{{.*}} : tensor<4xf32>
func.func @forward(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}) -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.stop_gradient %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

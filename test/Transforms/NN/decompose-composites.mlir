// RUN: split-file %s %t
// RUN: zero-opt %t/does.mlir --nn-decompose-composites | FileCheck %t/does.mlir
// RUN: zero-opt %t/does.mlir --nn-decompose-composites=keep=nn.attention,nn.softmax,nn.adam | FileCheck %s --check-prefix=KEEP
// RUN: not zero-opt %t/does.mlir --nn-decompose-composites=keep=nn.add 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not zero-opt %t/does.mlir --nn-decompose-composites=keep=softmax 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: zero-opt %t/refuses.mlir --verify-diagnostics --nn-decompose-composites

// NAME: error: keep names '{{nn.add|softmax}}', which is not a composite op

// It leaves alone what keep names, and primitives.
// KEEP-LABEL: @softmax
// KEEP-NEXT:    nn.softmax
// KEEP-NEXT:    return
// KEEP-LABEL: @layer_norm
// KEEP-NOT:     nn.layer_norm
// KEEP-LABEL: @attention
// KEEP-NEXT:    nn.attention
// KEEP-LABEL: @adam_0d
// KEEP-NEXT:    nn.adam
// There is no kernel for attention of f64.
// KEEP-LABEL: @attention_f64
// KEEP-NOT:     nn.attention
// KEEP:         nn.matmul

//--- does.mlir
// CHECK-LABEL: @softmax
// CHECK:         %[[M:.*]] = nn.reduce max %arg0 axes [0] : tensor<3x4xf32> to tensor<4xf32>
// CHECK:         %[[MB:.*]] = nn.broadcast %[[M]] dims [1]
// CHECK:         %[[D:.*]] = nn.sub %arg0, %[[MB]]
// CHECK:         %[[E:.*]] = nn.exp %[[D]]
// CHECK:         %[[S:.*]] = nn.reduce sum %[[E]] axes [0]
// CHECK:         %[[SB:.*]] = nn.broadcast %[[S]] dims [1]
// CHECK:         %[[Y:.*]] = nn.div %[[E]], %[[SB]]
// CHECK:         return %[[Y]]
func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = nn.softmax %x axis 0 : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Half precision is computed in float32 and rounded once.
// CHECK-LABEL: @gelu_bf16
// CHECK:         nn.cast %arg0 : tensor<4xbf16> to tensor<4xf32>
// CHECK:         nn.erf %{{.*}} : tensor<4xf32>
// CHECK:         %[[Y:.*]] = nn.cast %{{.*}} : tensor<4xf32> to tensor<4xbf16>
// CHECK:         return %[[Y]]
func.func @gelu_bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = nn.gelu none %x : tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: @gelu_tanh
// CHECK:         nn.tanh
// CHECK-NOT:     nn.gelu
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.gelu tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @layer_norm
// CHECK:         %[[SUM:.*]] = nn.reduce sum %arg0 axes [1]
// CHECK:         %[[MEAN:.*]] = nn.div %[[SUM]]
// CHECK:         %[[RSTD:.*]] = nn.rsqrt
// CHECK:         return %{{.*}}, %[[MEAN]], %[[RSTD]]
func.func @layer_norm(%x: tensor<3x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0, %1, %2 = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>
  return %0, %1, %2 : tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>
}

// Four query heads share two groups of keys: one matmul of 2 x 5 rows per group. The mask of causality is a comparison
// of indices. Nobody reads log_sum_exp, so there is no logarithm.
// CHECK-LABEL: @attention
// CHECK:         %[[QK:.*]] = nn.matmul %{{.*}}, %{{.*}} transpose_rhs : tensor<1x2x10x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x2x10x5xf32>
// CHECK:         %[[T:.*]] = nn.iota axis 2 : tensor<1x4x5x5xi64>
// CHECK:         %[[S:.*]] = nn.iota axis 3 : tensor<1x4x5x5xi64>
// CHECK:         nn.compare le %[[S]], %[[T]]
// CHECK-NOT:     nn.log
// CHECK:         nn.matmul %{{.*}}, %{{.*}} : tensor<1x2x10x5xf32>, tensor<1x2x5x8xf32> -> tensor<1x2x10x8xf32>
func.func @attention(%q: tensor<1x5x4x8xf32>, %k: tensor<1x5x2x8xf32>, %v: tensor<1x5x2x8xf32>) -> tensor<1x5x4x8xf32> {
  %0, %1 = nn.attention %q, %k, %v scale 5.0e-1 causal : tensor<1x5x4x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32> -> tensor<1x5x4x8xf32>, tensor<1x4x5xf32>
  return %0 : tensor<1x5x4x8xf32>
}

// CHECK-LABEL: @attention_grad
// CHECK-NOT:     nn.attention_grad
// CHECK:         return %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x5x4x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>
func.func @attention_grad(%q: tensor<1x5x4x8xf32>, %k: tensor<1x5x2x8xf32>, %v: tensor<1x5x2x8xf32>, %lse: tensor<1x4x5xf32>)
    -> (tensor<1x5x4x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) {
  %0, %1, %2 = nn.attention_grad %q, %k, %v result %q, %lse gradient %q scale 5.0e-1 : tensor<1x5x4x8xf32>, tensor<1x5x2x8xf32>, tensor<1x4x5xf32>
  return %0, %1, %2 : tensor<1x5x4x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>
}

// CHECK-LABEL: @cross_entropy
// CHECK:         %[[INDEX:.*]] = nn.iota axis 1 : tensor<8x10xi64>
// CHECK:         %[[LABEL:.*]] = nn.broadcast %arg1 dims [0] : tensor<8xi64> to tensor<8x10xi64>
// CHECK:         nn.compare eq %[[INDEX]], %[[LABEL]]
// CHECK:         %[[IGNORE:.*]] = nn.constant dense<-100> : tensor<8xi64>
// CHECK:         %[[COUNTED:.*]] = nn.compare ne %arg1, %[[IGNORE]]
// CHECK:         %[[LOSS:.*]] = nn.reduce sum %{{.*}} axes [0] : tensor<8xf32> to tensor<f32>
// CHECK:         %[[ONES:.*]] = nn.cast %[[COUNTED]] : tensor<8xi1> to tensor<8xi64>
// CHECK:         %[[COUNT:.*]] = nn.reduce sum %[[ONES]] axes [0] : tensor<8xi64> to tensor<i64>
// CHECK:         return %[[LOSS]], %[[COUNT]]
func.func @cross_entropy(%x: tensor<8x10xf32>, %y: tensor<8xi64>) -> (tensor<f32>, tensor<i64>) {
  %0, %1, %2 = nn.cross_entropy %x, %y : tensor<8x10xf32>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<8xf32>
  return %0, %1 : tensor<f32>, tensor<i64>
}

// CHECK-LABEL: @losses
// CHECK:         %[[COUNT:.*]] = nn.constant dense<6> : tensor<i64>
// CHECK:         %[[L:.*]] = nn.reshape %arg2 : tensor<1x1xf32> to tensor<f32>
// CHECK:         %[[ONE:.*]] = nn.constant dense<1> : tensor<i64>
// CHECK:         return %{{.*}}, %[[COUNT]], %[[L]], %[[ONE]]
func.func @losses(%p: tensor<2x3xf32>, %t: tensor<2x3xf32>, %l: tensor<1x1xf32>) -> (tensor<f32>, tensor<i64>, tensor<f32>, tensor<i64>) {
  %0, %1 = nn.mse_loss %p, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  %2, %3 = nn.output_loss %l : tensor<1x1xf32> -> tensor<f32>, tensor<i64>
  return %0, %1, %2, %3 : tensor<f32>, tensor<i64>, tensor<f32>, tensor<i64>
}

// The body of a zero.update has 0-d tensors: nothing is broadcast.
// CHECK-LABEL: @adam_0d
// CHECK-NOT:     nn.broadcast
// CHECK:         return
func.func @adam_0d(%p: tensor<f32>, %g: tensor<f32>, %m: tensor<f32>, %v: tensor<f32>, %s: tensor<f32>, %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0, %1, %2 = nn.adam %p, %g, %m, %v scale %s lr %lr correction %c1, %c2 {beta1 = 9.0e-1, beta2 = 9.9e-1, epsilon = 1.0e-8, weight_decay = 1.0e-1, decoupled} : tensor<f32>, tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: @sgd
// CHECK:         %[[B:.*]] = nn.add
// CHECK:         %[[P:.*]] = nn.sub %arg0
// CHECK:         return %[[P]], %[[B]]
func.func @sgd(%p: tensor<4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<f32>, %lr: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = nn.sgd %p, %g momentum %b scale %s lr %lr {momentum = 9.0e-1, weight_decay = 0.0} : tensor<4xf32>, tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Where the flag is not 0, the states as they were.
// CHECK-LABEL: @sgd_skip
// CHECK:         %[[FLAG:.*]] = nn.compare ne %arg5, %{{.*}} : tensor<f32>
// CHECK:         %[[HELD:.*]] = nn.broadcast %[[FLAG]] dims [] : tensor<i1> to tensor<4xi1>
// CHECK:         %[[B:.*]] = nn.select %[[HELD]], %arg2, %{{.*}} :
// CHECK:         %[[P:.*]] = nn.select %[[HELD]], %arg0, %{{.*}} :
// CHECK:         return %[[P]], %[[B]]
func.func @sgd_skip(%p: tensor<4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<f32>, %lr: tensor<f32>, %k: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = nn.sgd %p, %g momentum %b scale %s lr %lr skip %k : tensor<f32> {momentum = 9.0e-1, weight_decay = 0.0} : tensor<4xf32>, tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// The new parameter is the new master, held back or not, rounded; the old one is not read.
// CHECK-LABEL: @adam_master
// CHECK:         %[[HELD:.*]] = nn.broadcast
// CHECK-NOT:     %arg0
// CHECK:         %[[G:.*]] = nn.cast %arg1 : tensor<4xbf16> to tensor<4xf32>
// CHECK-NOT:     %arg0
// CHECK:         %[[W:.*]] = nn.select %[[HELD]], %arg2, %{{.*}} :
// CHECK:         %[[P:.*]] = nn.cast %[[W]] : tensor<4xf32> to tensor<4xbf16>
// CHECK:         return %[[P]], %[[W]]
func.func @adam_master(%p: tensor<4xbf16>, %g: tensor<4xbf16>, %w: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %s: tensor<f32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0:4 = nn.adam %p, %g master %w, %m, %v scale %s lr %s correction %s, %s skip %s : tensor<f32> {beta1 = 9.0e-1, beta2 = 9.9e-1, epsilon = 1.0e-8, weight_decay = 1.0e-1} : tensor<4xbf16> master tensor<4xf32>, tensor<f32>
  return %0#0, %0#1 : tensor<4xbf16>, tensor<4xf32>
}

// CHECK-LABEL: @attention_f64
// CHECK-NOT:     nn.attention
// CHECK:         return
func.func @attention_f64(%q: tensor<1x5x4x8xf64>) -> tensor<1x5x4x8xf64> {
  %0, %1 = nn.attention %q, %q, %q scale 0.5 : tensor<1x5x4x8xf64>, tensor<1x5x4x8xf64>, tensor<1x5x4x8xf64> -> tensor<1x5x4x8xf64>, tensor<1x4x5xf64>
  return %0 : tensor<1x5x4x8xf64>
}

//--- refuses.mlir
func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{has the type 'tensor<?x4xf32>' whose shape is not static; run nn-bind-batch first}}
  %0 = nn.softmax %x axis 1 : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

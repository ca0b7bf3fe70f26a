// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// one nn.attention_grad gives all three
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = nn.attention_grad %arg0, %arg1, %arg2 result %result, %log_sum_exp gradient %[[G]] scale 3.500000e-01 causal
// CHECK:         return %{{.*}}, %{{.*}}, %[[DQ]], %[[DK]], %[[DV]]
func.func @forward(%q: tensor<2x5x4x8xf32> {nn.role = #nn.role<parameter "q">}, %k: tensor<2x5x2x8xf32> {nn.role = #nn.role<parameter "k">}, %v: tensor<2x5x2x8xf32> {nn.role = #nn.role<parameter "v">}, %t: tensor<2x5x4x8xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y, %lse = nn.attention %q, %k, %v scale 3.5e-1 causal : tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32> -> tensor<2x5x4x8xf32>, tensor<2x4x5xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// the mask is passed on and has no gradient
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]], %{{.*}}, %{{.*}} = nn.attention_grad %arg0, %arg2, %arg2 mask %arg3 result
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%q: tensor<2x5x4x8xf32> {nn.role = #nn.role<parameter "q">}, %t: tensor<2x5x4x8xf32> {nn.role = #nn.role<input "t">}, %k: tensor<2x5x2x8xf32> {nn.role = #nn.role<input "k">}, %m: tensor<1x1x5x5xf32> {nn.role = #nn.role<input "m">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y, %lse = nn.attention %q, %k, %k mask %m scale 3.5e-1 : tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<1x1x5x5xf32> -> tensor<2x5x4x8xf32>, tensor<2x4x5xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

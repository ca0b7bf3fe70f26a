// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// d x = label counts ? seed (exp(x - lse) - onehot(label)) : 0
// CHECK-LABEL: func.func @micro
// CHECK:         %[[IGNORE:.*]] = nn.constant dense<7> : tensor<2x4xi32>
// CHECK:         %[[LSE:.*]] = nn.broadcast %log_sum_exp dims [0, 1]
// CHECK:         %[[C:.*]] = nn.sub %arg0, %[[LSE]]
// CHECK:         %[[P:.*]] = nn.exp %[[C]]
// CHECK:         %[[COUNTED:.*]] = nn.compare ne %arg1, %[[IGNORE]]
// CHECK:         %[[W:.*]] = nn.select %[[COUNTED]]
// CHECK:         %[[I:.*]] = nn.iota axis 2 : tensor<2x4x9xi32>
// CHECK:         %[[L:.*]] = nn.broadcast %arg1 dims [0, 1]
// CHECK:         %[[ONEHOT:.*]] = nn.compare eq %[[I]], %[[L]]
// CHECK:         %[[WB:.*]] = nn.broadcast %[[W]] dims [0, 1]
// CHECK:         %[[P1:.*]] = nn.add %[[P]], %{{.*}}
// CHECK:         %[[D:.*]] = nn.select %[[ONEHOT]], %[[P1]], %[[P]]
// CHECK:         %[[DX:.*]] = nn.mul %[[WB]], %[[D]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x4x9xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x4xi32> {nn.role = #nn.role<input "y">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %count, %lse = nn.cross_entropy %x, %y {ignore_index = 7} : tensor<2x4x9xf32>, tensor<2x4xi32> -> tensor<f32>, tensor<i64>, tensor<2x4xf32>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d prediction = 2 g (prediction - target) = -d target
// CHECK-LABEL: func.func @micro
// CHECK:         %[[D:.*]] = nn.sub %arg0, %arg1
// CHECK:         %[[DX:.*]] = nn.mul %[[D]], %{{.*}}
// CHECK:         %[[DT:.*]] = nn.neg %[[DX]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DT]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<parameter "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %count = nn.mse_loss %x, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g
// CHECK-LABEL: func.func @micro
// CHECK:         %[[DX:.*]] = nn.constant dense<1.000000e+00> : tensor<1x1xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<1x1xf32> {nn.role = #nn.role<parameter "x">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %count = nn.output_loss %x : tensor<1x1xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

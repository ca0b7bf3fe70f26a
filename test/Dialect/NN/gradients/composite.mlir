// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// d x = y (g - sum(g y))
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[GY:.*]] = nn.mul %[[G]], %[[Y:.*]] :
// CHECK:         %[[S:.*]] = nn.reduce sum %[[GY]] axes [1]
// CHECK:         %[[SB:.*]] = nn.broadcast %[[S]] dims [0]
// CHECK:         %[[C:.*]] = nn.sub %[[G]], %[[SB]]
// CHECK:         %[[DX:.*]] = nn.mul %[[Y]], %[[C]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.softmax %x axis 1 : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g (Phi(x) + x phi(x))
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         nn.erf
// CHECK:         nn.exp
// CHECK:         %[[S:.*]] = nn.add %{{.*}}, %{{.*}}
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %[[S]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.gelu none %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// the tanh approximation
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         nn.tanh
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %{{.*}}
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.gelu tanh %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// mean and rstd are read, not computed again
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[RSTD:.*]] = nn.broadcast %rstd dims [0, 1]
// CHECK:         %[[MEAN:.*]] = nn.broadcast %mean dims [0, 1]
// CHECK:         %[[C:.*]] = nn.sub %arg0, %[[MEAN]]
// CHECK:         %[[N:.*]] = nn.mul %[[C]], %[[RSTD]]
// CHECK:         %[[GN:.*]] = nn.mul %[[G]], %[[N]]
// CHECK:         %[[DS:.*]] = nn.reduce sum %[[GN]] axes [0, 1]
// CHECK:         %[[DB:.*]] = nn.reduce sum %[[G]] axes [0, 1]
// CHECK:         %[[DX:.*]] = nn.mul %[[RSTD]], %{{.*}}
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DS]], %[[DB]]
func.func @forward(%x: tensor<2x5x3xf32> {nn.role = #nn.role<parameter "x">}, %s: tensor<3xf32> {nn.role = #nn.role<parameter "s">}, %b: tensor<3xf32> {nn.role = #nn.role<parameter "b">}, %t: tensor<2x5x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y, %mean, %rstd = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5 : tensor<2x5x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x5x3xf32>, tensor<2x5xf32>, tensor<2x5xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

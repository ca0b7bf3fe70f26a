// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// d x = scatter_add(g, indices)
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.scatter_add %[[G]][%arg2] axis 0 : tensor<2x3x4xf32>, tensor<2x3xi64> -> tensor<10x4xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<10x4xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3x4xf32> {nn.role = #nn.role<input "t">}, %i: tensor<2x3xi64> {nn.role = #nn.role<input "i">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.gather %x[%i] axis 0 : tensor<10x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// along another axis
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.scatter_add %[[G]][%arg2] axis 1
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<4x10xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<4x3xf32> {nn.role = #nn.role<input "t">}, %i: tensor<3xi64> {nn.role = #nn.role<input "i">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.gather %x[%i] axis 1 : tensor<4x10xf32>, tensor<3xi64> -> tensor<4x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// the transpose of a transpose
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.gather %[[G]][%arg2] axis 0 : tensor<10x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<3x4xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<10x4xf32> {nn.role = #nn.role<input "t">}, %i: tensor<3xi64> {nn.role = #nn.role<input "i">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.scatter_add %x[%i] axis 0 : tensor<3x4xf32>, tensor<3xi64> -> tensor<10x4xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<10x4xf32>, tensor<10x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// A value repeated n times receives the sum over the n copies; a new and a size-1 dimension at once
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[S:.*]] = nn.reduce sum %[[G]] axes [1, 2] : tensor<2x4x3xf32> to tensor<2xf32>
// CHECK:         %[[DX:.*]] = nn.reshape %[[S]] : tensor<2xf32> to tensor<2x1xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x1xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x4x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.broadcast %x dims [0, 2] : tensor<2x1xf32> to tensor<2x4x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x4x3xf32>, tensor<2x4x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// reshape back
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.reshape %[[G]] : tensor<3x4xf32> to tensor<2x6xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x6xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<3x4xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.reshape %x : tensor<2x6xf32> to tensor<3x4xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// the inverse permutation
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.transpose %[[G]] [2, 0, 1]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3x4xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<3x4x2xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.transpose %x [1, 2, 0] : tensor<2x3x4xf32> to tensor<3x4x2xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<3x4x2xf32>, tensor<3x4x2xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// zeros around and between
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.pad %[[G]] low [1, 0] high [1, 0] interior [2, 0]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<9x4xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<3x4xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.slice %x starts [1, 0] strides [3, 1] : tensor<9x4xf32> to tensor<3x4xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// A dimension read backwards is turned round first
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[T:.*]] = nn.slice %[[G]] starts [2] strides [-1]
// CHECK:         %[[DX:.*]] = nn.pad %[[T]] low [2] high [1] interior [1]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<8xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.slice %x starts [6] strides [-2] : tensor<8xf32> to tensor<3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<3xf32>, tensor<3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x[i] = g[low + i (interior + 1)]
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.slice %[[G]] starts [1, 0] strides [2, 1] : tensor<8x3xf32> to tensor<3x2xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<3x2xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<8x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.pad %x low [1, 0] high [2, 1] interior [1, 0] {value = 5.0} : tensor<3x2xf32> to tensor<8x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<8x3xf32>, tensor<8x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// each operand receives its slice
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DA:.*]] = nn.slice %[[G]] starts [0, 0] strides [1, 1] : tensor<2x7xf32> to tensor<2x3xf32>
// CHECK:         %[[DB:.*]] = nn.slice %[[G]] starts [0, 3] strides [1, 1] : tensor<2x7xf32> to tensor<2x4xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DA]], %[[DB]]
func.func @forward(%a: tensor<2x3xf32> {nn.role = #nn.role<parameter "a">}, %b: tensor<2x4xf32> {nn.role = #nn.role<parameter "b">}, %t: tensor<2x7xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.concat %a, %b axis 1 : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<2x7xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x7xf32>, tensor<2x7xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// Y = A B: d A = G B^T, d B = A^T G, no transpose op
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DA:.*]] = nn.matmul %[[G]], %arg1 transpose_rhs :
// CHECK:         %[[DB:.*]] = nn.matmul %arg0, %[[G]] transpose_lhs :
// CHECK-NOT:     nn.transpose
// CHECK:         return %{{.*}}, %{{.*}}, %[[DA]], %[[DB]]
func.func @forward(%a: tensor<5x2x3xf32> {nn.role = #nn.role<parameter "a">}, %b: tensor<5x3x4xf32> {nn.role = #nn.role<parameter "b">}, %t: tensor<5x2x4xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.matmul %a, %b : tensor<5x2x3xf32>, tensor<5x3x4xf32> -> tensor<5x2x4xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<5x2x4xf32>, tensor<5x2x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// as stored: transpose_rhs
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DA:.*]] = nn.matmul %[[G]], %arg1 :
// CHECK:         %[[DB:.*]] = nn.matmul %[[G]], %arg0 transpose_lhs :
// CHECK-NOT:     nn.transpose
// CHECK:         return %{{.*}}, %{{.*}}, %[[DA]], %[[DB]]
func.func @forward(%a: tensor<5x2x3xf32> {nn.role = #nn.role<parameter "a">}, %b: tensor<5x4x3xf32> {nn.role = #nn.role<parameter "b">}, %t: tensor<5x2x4xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.matmul %a, %b transpose_rhs : tensor<5x2x3xf32>, tensor<5x4x3xf32> -> tensor<5x2x4xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<5x2x4xf32>, tensor<5x2x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// as stored: transpose_lhs
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DA:.*]] = nn.matmul %arg1, %[[G]] transpose_rhs :
// CHECK:         %[[DB:.*]] = nn.matmul %arg0, %[[G]] :
// CHECK-NOT:     nn.transpose
// CHECK:         return %{{.*}}, %{{.*}}, %[[DA]], %[[DB]]
func.func @forward(%a: tensor<5x3x2xf32> {nn.role = #nn.role<parameter "a">}, %b: tensor<5x3x4xf32> {nn.role = #nn.role<parameter "b">}, %t: tensor<5x2x4xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.matmul %a, %b transpose_lhs : tensor<5x3x2xf32>, tensor<5x3x4xf32> -> tensor<5x2x4xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<5x2x4xf32>, tensor<5x2x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// as stored: transpose_lhs transpose_rhs
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DA:.*]] = nn.matmul %arg1, %[[G]] transpose_lhs transpose_rhs :
// CHECK:         %[[DB:.*]] = nn.matmul %[[G]], %arg0 transpose_lhs transpose_rhs :
// CHECK-NOT:     nn.transpose
// CHECK:         return %{{.*}}, %{{.*}}, %[[DA]], %[[DB]]
func.func @forward(%a: tensor<5x3x2xf32> {nn.role = #nn.role<parameter "a">}, %b: tensor<5x4x3xf32> {nn.role = #nn.role<parameter "b">}, %t: tensor<5x2x4xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.matmul %a, %b transpose_lhs transpose_rhs : tensor<5x3x2xf32>, tensor<5x4x3xf32> -> tensor<5x2x4xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<5x2x4xf32>, tensor<5x2x4xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

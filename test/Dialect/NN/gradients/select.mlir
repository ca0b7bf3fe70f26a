// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// d on_true = condition ? g : 0, d on_false = condition ? 0 : g
// CHECK-LABEL: func.func @micro
// CHECK:         %[[ZERO:.*]] = nn.constant dense<0.000000e+00>
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.select %arg3, %[[G]], %[[ZERO]]
// CHECK:         %[[DY:.*]] = nn.select %arg3, %[[ZERO]], %[[G]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DY]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x3xf32> {nn.role = #nn.role<parameter "y">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">}, %c: tensor<2x3xi1> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %z = nn.select %c, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>
  %sum, %count = nn.mse_loss %z, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = cast g
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.cast %[[G]] : tensor<2x3xf32> to tensor<2x3xbf16>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xbf16> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.cast %x : tensor<2x3xbf16> to tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// d x = g
// CHECK-LABEL: func.func @micro
// CHECK:         %[[Y:.*]] = nn.reduce
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.broadcast %[[G]] dims [1] : tensor<3xf32> to tensor<2x3x4xf32>
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3x4xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.reduce sum %x axes [0, 2] : tensor<2x3x4xf32> to tensor<3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<3xf32>, tensor<3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// equal extremes share evenly
// CHECK-LABEL: func.func @micro
// CHECK:         %[[Y:.*]] = nn.reduce
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[YB:.*]] = nn.broadcast %[[Y]] dims [0]
// CHECK:         %[[EQ:.*]] = nn.compare eq %arg0, %[[YB]]
// CHECK:         %[[ONES:.*]] = nn.cast %[[EQ]]
// CHECK:         %[[N:.*]] = nn.reduce sum %[[ONES]] axes [1]
// CHECK:         %[[SHARE:.*]] = nn.div %[[G]], %[[N]]
// CHECK:         %[[SB:.*]] = nn.broadcast %[[SHARE]] dims [0]
// CHECK:         %[[DX:.*]] = nn.select %[[EQ]], %[[SB]], %{{.*}}
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<3x2xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.reduce max %x axes [1] : tensor<3x2xf32> to tensor<3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<3xf32>, tensor<3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// the product of the others, with zeros
// CHECK-LABEL: func.func @micro
// CHECK:         %[[Y:.*]] = nn.reduce
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         nn.compare eq %arg0
// CHECK:         %[[P:.*]] = nn.reduce prod
// CHECK:         nn.mul %[[G]], %[[P]]
// CHECK:         nn.div
// CHECK:         %[[DX:.*]] = nn.select
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<3x2xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.reduce prod %x axes [1] : tensor<3x2xf32> to tensor<3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<3xf32>, tensor<3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// the running sum from the other end
// CHECK-LABEL: func.func @micro
// CHECK:         %[[Y:.*]] = nn.cumsum
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.cumsum %[[G]] axis 1 {exclusive, reverse}
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.cumsum %x axis 1 {exclusive} : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

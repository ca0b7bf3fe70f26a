// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// d x = -g
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.neg %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.neg %[[G]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.neg %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g sign(x)
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.abs %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[S:.*]] = nn.sign %[[X]]
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %[[S]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.abs %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g y
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.exp %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %[[Y]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.exp %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g / x
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.log %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.div %[[G]], %[[X]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.log %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g / (2 y)
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.sqrt %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[Y2:.*]] = nn.mul %[[Y]], %{{.*}}
// CHECK:         %[[DX:.*]] = nn.div %[[G]], %[[Y2]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.sqrt %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = -1/2 g y^3
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.rsqrt %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[H:.*]] = nn.mul %[[G]], %{{.*}}
// CHECK:         %[[Y2:.*]] = nn.mul %[[Y]], %[[Y]]
// CHECK:         %[[Y3:.*]] = nn.mul %[[Y2]], %[[Y]]
// CHECK:         %[[DX:.*]] = nn.mul %[[H]], %[[Y3]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.rsqrt %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = -g y^2
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.reciprocal %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[N:.*]] = nn.neg %[[G]]
// CHECK:         %[[Y2:.*]] = nn.mul %[[Y]], %[[Y]]
// CHECK:         %[[DX:.*]] = nn.mul %[[N]], %[[Y2]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.reciprocal %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g (1 - y^2)
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.tanh %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[Y2:.*]] = nn.mul %[[Y]], %[[Y]]
// CHECK:         %[[S:.*]] = nn.sub %{{.*}}, %[[Y2]]
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %[[S]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.tanh %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g y (1 - y)
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.sigmoid %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[C:.*]] = nn.sub %{{.*}}, %[[Y]]
// CHECK:         %[[S:.*]] = nn.mul %[[Y]], %[[C]]
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %[[S]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.sigmoid %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g 2/sqrt(pi) exp(-x^2)
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.erf %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[C:.*]] = nn.mul %[[G]], %{{.*}}
// CHECK:         %[[X2:.*]] = nn.mul %[[X]], %[[X]]
// CHECK:         %[[N:.*]] = nn.neg %[[X2]]
// CHECK:         %[[E:.*]] = nn.exp %[[N]]
// CHECK:         %[[DX:.*]] = nn.mul %[[C]], %[[E]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.erf %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g cos(x)
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.sin %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[C:.*]] = nn.cos %[[X]]
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %[[C]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.sin %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = -g sin(x)
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.cos %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[S:.*]] = nn.sin %[[X]]
// CHECK:         %[[M:.*]] = nn.mul %[[G]], %[[S]]
// CHECK:         %[[DX:.*]] = nn.neg %[[M]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.cos %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = y <= 0 ? 0 : g
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Y:.*]] = nn.relu %[[X]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[Z:.*]] = nn.compare le %[[Y]], %{{.*}}
// CHECK:         %[[DX:.*]] = nn.select %[[Z]], %{{.*}}, %[[G]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.relu %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

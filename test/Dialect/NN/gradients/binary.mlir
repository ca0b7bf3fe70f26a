// RUN: zero-opt %s --split-input-file --nn-build-backward --canonicalize --cse | FileCheck %s

// d x = d y = g
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32> {{[^,]*}}, %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Z:.*]] = nn.add %[[X]], %[[Y]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[G]], %[[G]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x3xf32> {nn.role = #nn.role<parameter "y">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %z = nn.add %x, %y : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %z, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g, d y = -g
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32> {{[^,]*}}, %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Z:.*]] = nn.sub %[[X]], %[[Y]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DY:.*]] = nn.neg %[[G]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[G]], %[[DY]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x3xf32> {nn.role = #nn.role<parameter "y">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %z = nn.sub %x, %y : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %z, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g y, d y = g x
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32> {{[^,]*}}, %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Z:.*]] = nn.mul %[[X]], %[[Y]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %[[Y]]
// CHECK:         %[[DY:.*]] = nn.mul %[[G]], %[[X]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DY]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x3xf32> {nn.role = #nn.role<parameter "y">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %z = nn.mul %x, %y : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %z, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = g / y, d y = -g z / y
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32> {{[^,]*}}, %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Z:.*]] = nn.div %[[X]], %[[Y]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.div %[[G]], %[[Y]]
// CHECK:         %[[Q:.*]] = nn.div %[[Z]], %[[Y]]
// CHECK:         %[[M:.*]] = nn.mul %[[G]], %[[Q]]
// CHECK:         %[[DY:.*]] = nn.neg %[[M]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DY]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x3xf32> {nn.role = #nn.role<parameter "y">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %z = nn.div %x, %y : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %z, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = x loses ? 0 : x == y ? g / 2 : g
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32> {{[^,]*}}, %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Z:.*]] = nn.max %[[X]], %[[Y]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[EQ:.*]] = nn.compare eq %[[X]], %[[Y]]
// CHECK:         %[[HALF:.*]] = nn.mul %[[G]], %{{.*}}
// CHECK:         %[[S:.*]] = nn.select %[[EQ]], %[[HALF]], %[[G]]
// CHECK:         %[[XL:.*]] = nn.compare lt %[[X]], %[[Y]]
// CHECK:         %[[DX:.*]] = nn.select %[[XL]], %{{.*}}, %[[S]]
// CHECK:         %[[YL:.*]] = nn.compare gt %[[X]], %[[Y]]
// CHECK:         %[[DY:.*]] = nn.select %[[YL]], %{{.*}}, %[[S]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DY]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x3xf32> {nn.role = #nn.role<parameter "y">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %z = nn.max %x, %y : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %z, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// d x = x loses ? 0 : x == y ? g / 2 : g
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32> {{[^,]*}}, %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Z:.*]] = nn.min %[[X]], %[[Y]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[EQ:.*]] = nn.compare eq %[[X]], %[[Y]]
// CHECK:         %[[HALF:.*]] = nn.mul %[[G]], %{{.*}}
// CHECK:         %[[S:.*]] = nn.select %[[EQ]], %[[HALF]], %[[G]]
// CHECK:         %[[XL:.*]] = nn.compare gt %[[X]], %[[Y]]
// CHECK:         %[[DX:.*]] = nn.select %[[XL]], %{{.*}}, %[[S]]
// CHECK:         %[[YL:.*]] = nn.compare lt %[[X]], %[[Y]]
// CHECK:         %[[DY:.*]] = nn.select %[[YL]], %{{.*}}, %[[S]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DY]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x3xf32> {nn.role = #nn.role<parameter "y">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %z = nn.min %x, %y : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %z, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// z = x^y: d x = y == 0 ? 0 : g y x^(y-1), d y = x == 0 and y >= 0 ? 0 : g z log(x)
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32> {{[^,]*}}, %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK:         %[[Z:.*]] = nn.pow %[[X]], %[[Y]]
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[Y1:.*]] = nn.add %[[Y]], %{{.*}}
// CHECK:         %[[P:.*]] = nn.pow %[[X]], %[[Y1]]
// CHECK:         %[[S:.*]] = nn.mul %[[Y]], %[[P]]
// CHECK:         %[[FLAT:.*]] = nn.compare eq %[[Y]], %{{.*}}
// CHECK:         %[[M:.*]] = nn.mul %[[G]], %[[S]]
// CHECK:         %[[DX:.*]] = nn.select %[[FLAT]], %{{.*}}, %[[M]]
// CHECK:         %[[L:.*]] = nn.log %[[X]]
// CHECK:         %[[ZL:.*]] = nn.mul %[[Z]], %[[L]]
// CHECK:         %[[GZL:.*]] = nn.mul %[[G]], %[[ZL]]
// CHECK:         %[[DY:.*]] = nn.select %{{.*}}, %{{.*}}, %[[GZL]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]], %[[DY]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %y: tensor<2x3xf32> {nn.role = #nn.role<parameter "y">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %z = nn.pow %x, %y : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %z, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// A constant exponent: d x = g c x^(c-1)
// CHECK-LABEL: func.func @micro
// CHECK:         %[[TWO:.*]] = nn.constant dense<2.000000e+00> : tensor<2x3xf32>
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[P:.*]] = nn.pow %{{.*}}, %[[TWO]]
// CHECK:         %[[S:.*]] = nn.mul %[[P]], %{{.*}}
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %[[S]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %c = nn.constant dense<3.0> : tensor<2x3xf32>
  %y = nn.pow %x, %c : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// An operand used twice: the sum of both uses
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[A:.*]] = nn.mul %[[G]], %arg0
// CHECK:         %[[DX:.*]] = nn.add %[[A]], %[[A]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[DX]]
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.mul %x, %x : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// Only what is needed: the input c has no gradient
// CHECK-LABEL: func.func @micro
// CHECK:         nn.mse_loss
// CHECK:         %[[D:.*]] = nn.sub
// CHECK:         %[[G:.*]] = nn.mul %[[D]]
// CHECK:         %[[DX:.*]] = nn.mul %[[G]], %arg2
// CHECK-NEXT:    return %{{.*}}, %{{.*}}, %[[DX]] :
func.func @forward(%x: tensor<2x3xf32> {nn.role = #nn.role<parameter "x">}, %t: tensor<2x3xf32> {nn.role = #nn.role<input "t">}, %c: tensor<2x3xf32> {nn.role = #nn.role<input "c">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %y = nn.mul %x, %c : tensor<2x3xf32>
  %sum, %count = nn.mse_loss %y, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

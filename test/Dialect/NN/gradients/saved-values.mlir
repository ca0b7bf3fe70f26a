// RUN: zero-opt %s --split-input-file --nn-build-backward --nn-decompose-composites --canonicalize --cse --nn-form-groups | FileCheck %s

// What depends on forward values alone is computed once, and one value is saved in the place of the operand.

// gelu: its slope.
// CHECK-LABEL: func.func @micro
// CHECK:         %[[F:.*]]:2 = nn.group{{.*}} -> (tensor<64x32xf32>, tensor<64x32xf32>)
// CHECK:         nn.tanh
// CHECK-NOT:     nn.tanh
// CHECK:         nn.matmul %[[F]]#
// CHECK:         nn.group({{.*}}%[[F]]#{{.*}}) -> (tensor<64x32xf32>)
// CHECK-NEXT:      nn.mul
// CHECK-NEXT:      nn.yield
func.func @forward(%x: tensor<64x32xf32> {nn.role = #nn.role<parameter "x">}, %w: tensor<32x16xf32> {nn.role = #nn.role<input "w">}, %t: tensor<64x16xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.gelu tanh %x : tensor<64x32xf32>
  %1 = nn.matmul %0, %w : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
  %sum, %count = nn.mse_loss %1, %t : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// layer_norm: the normalised rows, and rstd.
// CHECK-LABEL: func.func @micro
// CHECK:         nn.group{{.*}} -> (tensor<64xf32>, tensor<64x32xf32>, tensor<64x32xf32>)
// CHECK:           nn.rsqrt
// CHECK:         nn.matmul
// CHECK:         nn.matmul
// CHECK-NOT:     %arg0 : tensor<64x32xf32>
// CHECK:         return
func.func @forward(%x: tensor<64x32xf32> {nn.role = #nn.role<parameter "x">}, %s: tensor<32xf32> {nn.role = #nn.role<parameter "s">}, %w: tensor<32x16xf32> {nn.role = #nn.role<input "w">}, %t: tensor<64x16xf32> {nn.role = #nn.role<input "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0, %mean, %rstd = nn.layer_norm %x scale %s epsilon 1.0e-5 : tensor<64x32xf32>, tensor<32xf32> -> tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>
  %1 = nn.matmul %0, %w : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
  %sum, %count = nn.mse_loss %1, %t : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// cross_entropy: one kernel from the logits to their gradient; its only result of their size.
// CHECK-LABEL: func.func @micro
// CHECK:         nn.matmul
// CHECK:         nn.group({{[^()]*}}) -> (tensor<64xf32>, tensor<64x16xf32>)
// CHECK:           nn.iota
// CHECK:         nn.matmul
// CHECK-NOT:     tensor<64x16xf32>) ->
// CHECK:         return
func.func @forward(%x: tensor<64x32xf32> {nn.role = #nn.role<parameter "x">}, %w: tensor<32x16xf32> {nn.role = #nn.role<input "w">}, %t: tensor<64xi64> {nn.role = #nn.role<label "t">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %1 = nn.matmul %x, %w : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
  %sum, %count, %lse = nn.cross_entropy %1, %t : tensor<64x16xf32>, tensor<64xi64> -> tensor<f32>, tensor<i64>, tensor<64xf32>
  return %sum, %count : tensor<f32>, tensor<i64>
}

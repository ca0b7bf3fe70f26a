// RUN: split-file %s %t
// RUN: zero-opt %t/trains.mlir --nn-leave-out-outputs --verify-diagnostics | FileCheck %s
// RUN: zero-opt %t/none-left.mlir --nn-leave-out-outputs --verify-diagnostics | FileCheck %s --check-prefix=NONE
// RUN: zero-opt %t/alone.mlir --nn-leave-out-outputs --verify-diagnostics | FileCheck %s --check-prefix=ALONE

//--- trains.mlir
// CHECK-LABEL: func.func @predict
// CHECK-SAME:    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}, tensor<4xf32> {nn.role = #nn.role<output "x">})
// CHECK-NEXT:    %[[Y:.*]] = nn.relu
// CHECK-NEXT:    return %[[Y]]
// CHECK-NOT:   module
func.func @micro() {
  return
}
func.func @predict(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}, %i: tensor<2x1xi64> {nn.role = #nn.role<input "i">})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}, tensor<2xf32> {nn.role = #nn.role<output "g">}, tensor<4xf32> {nn.role = #nn.role<output "x">}) {
  %0 = nn.relu %x : tensor<4xf32>
  // expected-remark @+1 {{output 'g' is left out of predictions: no kernel for 'nn.gather_nd' on target cpu}}
  %1 = nn.gather_nd %0[%i] : tensor<4xf32>, tensor<2x1xi64> -> tensor<2xf32>
  return %0, %1, %x : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
}

//--- none-left.mlir
// NONE: func.func @micro
// NONE-NOT: func.func @predict
func.func @micro() {
  return
}
func.func @predict(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}, %i: tensor<2x1xi64> {nn.role = #nn.role<input "i">})
    -> (tensor<2xf32> {nn.role = #nn.role<output "g">}) {
  // expected-remark @+1 {{output 'g' is left out of predictions: no kernel for 'nn.gather_nd' on target cpu}}
  %1 = nn.gather_nd %x[%i] : tensor<4xf32>, tensor<2x1xi64> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

//--- alone.mlir
// ALONE: nn.gather_nd
func.func @predict(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}, %i: tensor<2x1xi64> {nn.role = #nn.role<input "i">})
    -> (tensor<2xf32> {nn.role = #nn.role<output "g">}) {
  %1 = nn.gather_nd %x[%i] : tensor<4xf32>, tensor<2x1xi64> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

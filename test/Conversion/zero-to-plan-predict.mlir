// RUN: split-file %s %t
// RUN: zero-opt %t/alone.mlir --zero-to-plan | FileCheck %s
// RUN: zero-opt %t/alone.mlir --zero-to-plan --plan-assign-offsets --plan-insert-events --plan-verify -o /dev/null
// RUN: zero-opt %t/positions.mlir --zero-to-plan --plan-assign-offsets --plan-insert-events --plan-verify | FileCheck %t/positions.mlir --check-prefix=POSITIONS
// RUN: not zero-opt %t/half.mlir --zero-to-plan 2>&1 | FileCheck %s --check-prefix=HALF

// HALF: error: module has no function @update; zero-to-plan takes a module of phase schedule

//--- alone.mlir
// An output has a buffer of its own, where its value is computed if it can be: an input, a weight, a constant and a second use of
// a value are copied. Batched and unbatched inputs are told apart.
// CHECK:     plan.buffer @input.x in @device {{.*}}state}
// CHECK:     plan.buffer @output.y in @device
// CHECK-NOT: state
// CHECK-SAME: size_bytes = 16 : i64}
// CHECK:     plan.input "x" : tensor<4xf32> at <@input.x, 0, 16> {predict}
// CHECK:     plan.input "s" : tensor<f32> at <@input.s, 0, 4> {predict, unbatched}
// CHECK:     plan.output "y" : tensor<4xf32> at <@output.y, 0, 16> {batched}
// CHECK:     plan.output "again" : tensor<4xf32> at <@output.again, 0, 16> {batched}
// CHECK:     plan.output "s" : tensor<f32> at <@output.s, 0, 4>
// CHECK:     plan.output "w" : tensor<4xf32> at <@output.w, 0, 16>
// CHECK:     plan.output "c" : tensor<2xi64> at <@output.c, 0, 16>
// CHECK:     plan.output "none" : tensor<0x4xf32> at <@output.none, 0, 0>
// CHECK-NOT: plan.state "output"
// CHECK:     plan.section @predict {
// CHECK:       plan.dispatch {{.*}} writes [#plan.slice<@output.y, 0, 16>]
// CHECK-DAG:   plan.copy on compute <@output.y, 0, 16> to <@output.again, 0, 16> {{.*}}reason = "output 'again' cannot be computed in its own buffer"
// CHECK-DAG:   plan.copy on compute <@input.s, 0, 4> to <@output.s, 0, 4>
// CHECK-DAG:   plan.copy on compute <@frozen.w, 0, 16> to <@output.w, 0, 16>
// CHECK-DAG:   plan.copy on compute <@constant.0, 0, 16> to <@output.c, 0, 16>
zero.mesh @dp {size = 1 : i64}
func.func @predict(%x: tensor<4xf32> {nn.batched, nn.role = #nn.role<input "x">}, %s: tensor<f32> {nn.role = #nn.role<input "s">},
                   %w: tensor<4xf32> {nn.role = #nn.role<frozen "w">, nn.data = dense<1.0> : tensor<4xf32>})
    -> (tensor<4xf32> {nn.batched, nn.role = #nn.role<output "y">}, tensor<4xf32> {nn.batched, nn.role = #nn.role<output "again">},
        tensor<f32> {nn.role = #nn.role<output "s">}, tensor<4xf32> {nn.role = #nn.role<output "w">},
        tensor<2xi64> {nn.role = #nn.role<output "c">}, tensor<0x4xf32> {nn.role = #nn.role<output "none">}) {
  %c = nn.constant dense<[3, 4]> : tensor<2xi64>
  %none = nn.constant dense<0.0> : tensor<0x4xf32>
  %0 = nn.add %x, %w : tensor<4xf32>
  return %0, %0, %s, %w, %c, %none : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<2xi64>, tensor<0x4xf32>
}

//--- positions.mlir
// Whatever reads an input as positions bounds it, through reshapes: the smallest axis counts.
// POSITIONS: plan.input "at" : tensor<2xi64> at {{.*}} {limit = 4 : i64, predict, unbatched}
// POSITIONS: plan.input "into" : tensor<2xi64> at {{.*}} {limit = 5 : i64, predict, unbatched}
zero.mesh @dp {size = 1 : i64}
func.func @predict(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}, %at: tensor<2xi64> {nn.role = #nn.role<input "at">},
                   %into: tensor<2xi64> {nn.role = #nn.role<input "into">})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}, tensor<5xf32> {nn.role = #nn.role<output "z">}) {
  %wide = nn.pad %x low [0] high [4] interior [0] : tensor<4xf32> to tensor<8xf32>
  %first = nn.gather %wide[%at] axis 0 : tensor<8xf32>, tensor<2xi64> -> tensor<2xf32>
  %flat = nn.reshape %at : tensor<2xi64> to tensor<2xi64>
  %y = nn.scatter assign %x, %first[%flat] axis 0 : tensor<4xf32>, tensor<2xf32>, tensor<2xi64>
  %z = nn.scatter_add %first[%into] axis 0 : tensor<2xf32>, tensor<2xi64> -> tensor<5xf32>
  return %y, %z : tensor<4xf32>, tensor<5xf32>
}

//--- half.mlir
func.func @micro() {
  return
}
func.func @predict() {
  return
}

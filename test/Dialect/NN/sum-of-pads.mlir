// RUN: zero-opt %s --canonicalize | FileCheck %s

// The gradient of a tensor that is read in three slices.
// CHECK-LABEL: func.func @slices(
// CHECK-SAME: %[[A:[^:]*]]: tensor<4x2xf32>, %[[B:[^:]*]]: tensor<4x3xf32>, %[[C:[^:]*]]: tensor<4x1xf32>)
func.func @slices(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>, %c: tensor<4x1xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %[[R:.*]] = nn.concat %[[A]], %[[B]], %[[C]] axis 1
  // CHECK-NEXT: return %[[R]]
  %0 = nn.pad %c low [0, 5] high [0, 0] interior [0, 0] : tensor<4x1xf32> to tensor<4x6xf32>
  %1 = nn.pad %a low [0, 0] high [0, 4] interior [0, 0] : tensor<4x2xf32> to tensor<4x6xf32>
  %2 = nn.pad %b low [0, 2] high [0, 1] interior [0, 0] : tensor<4x3xf32> to tensor<4x6xf32>
  %3 = nn.add %0, %1 : tensor<4x6xf32>
  %4 = nn.add %3, %2 : tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}

// Left alone: slices that overlap, a gap, another axis, another value, a pad that is read elsewhere.
// CHECK-LABEL: func.func @overlap
// CHECK: nn.add
func.func @overlap(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<6xf32> {
  %0 = nn.pad %a low [0] high [2] interior [0] : tensor<4xf32> to tensor<6xf32>
  %1 = nn.pad %b low [2] high [0] interior [0] : tensor<4xf32> to tensor<6xf32>
  %2 = nn.add %0, %1 : tensor<6xf32>
  return %2 : tensor<6xf32>
}
// CHECK-LABEL: func.func @gap
// CHECK: nn.add
func.func @gap(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<6xf32> {
  %0 = nn.pad %a low [0] high [4] interior [0] : tensor<2xf32> to tensor<6xf32>
  %1 = nn.pad %b low [4] high [0] interior [0] : tensor<2xf32> to tensor<6xf32>
  %2 = nn.add %0, %1 : tensor<6xf32>
  return %2 : tensor<6xf32>
}
// CHECK-LABEL: func.func @axes
// CHECK: nn.add
func.func @axes(%a: tensor<1x2xf32>, %b: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %0 = nn.pad %a low [0, 0] high [1, 0] interior [0, 0] : tensor<1x2xf32> to tensor<2x2xf32>
  %1 = nn.pad %b low [0, 1] high [0, 0] interior [0, 0] : tensor<2x1xf32> to tensor<2x2xf32>
  %2 = nn.add %0, %1 : tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
// CHECK-LABEL: func.func @ones
// CHECK: nn.add
func.func @ones(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<4xf32> {
  %0 = nn.pad %a low [0] high [2] interior [0] {value = 1.0 : f64} : tensor<2xf32> to tensor<4xf32>
  %1 = nn.pad %b low [2] high [0] interior [0] : tensor<2xf32> to tensor<4xf32>
  %2 = nn.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
// CHECK-LABEL: func.func @read_twice
// CHECK: nn.add
func.func @read_twice(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.pad %a low [0] high [2] interior [0] : tensor<2xf32> to tensor<4xf32>
  %1 = nn.pad %b low [2] high [0] interior [0] : tensor<2xf32> to tensor<4xf32>
  %2 = nn.add %0, %1 : tensor<4xf32>
  return %2, %0 : tensor<4xf32>, tensor<4xf32>
}

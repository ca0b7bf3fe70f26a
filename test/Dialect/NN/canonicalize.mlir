// RUN: zero-opt %s -canonicalize -split-input-file | FileCheck %s

// Ops that move elements: identities go, chains join, small constants and splats are computed.

// CHECK-LABEL: func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[D:.*]]: tensor<?x?xf32>)
func.func @identities(%x: tensor<2x3xf32>, %d: tensor<?x?xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<?x?xf32>) {
  %0 = nn.broadcast %x dims [0, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  %1 = nn.reshape %x : tensor<2x3xf32> to tensor<2x3xf32>
  %2 = nn.transpose %x [0, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  %3 = nn.slice %x starts [0, 0] strides [1, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  %4 = nn.concat %x axis 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = nn.reduce sum %x axes [] : tensor<2x3xf32> to tensor<2x3xf32>
  // Equal types with unknown sizes are not yet equal shapes.
  // CHECK: %[[R:.*]] = nn.reshape %[[D]]
  %6 = nn.reshape %d : tensor<?x?xf32> to tensor<?x?xf32>
  // CHECK: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[R]]
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func @chains
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[Y:.*]]: tensor<3xf32>)
func.func @chains(%x: tensor<2x3x4xf32>, %y: tensor<3xf32>) -> (tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<5x2x3xf32>) {
  // CHECK-DAG: %[[A:.*]] = nn.reshape %[[X]] : tensor<2x3x4xf32> to tensor<24xf32>
  %0 = nn.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %1 = nn.reshape %0 : tensor<6x4xf32> to tensor<24xf32>
  %2 = nn.transpose %x [2, 0, 1] : tensor<2x3x4xf32> to tensor<4x2x3xf32>
  %3 = nn.transpose %2 [1, 2, 0] : tensor<4x2x3xf32> to tensor<2x3x4xf32>
  // CHECK-DAG: %[[B:.*]] = nn.transpose %[[X]] [2, 0, 1] : tensor<2x3x4xf32> to tensor<4x2x3xf32>
  %4 = nn.transpose %x [0, 2, 1] : tensor<2x3x4xf32> to tensor<2x4x3xf32>
  %5 = nn.transpose %4 [1, 0, 2] : tensor<2x4x3xf32> to tensor<4x2x3xf32>
  // CHECK-DAG: %[[C:.*]] = nn.broadcast %[[Y]] dims [2] : tensor<3xf32> to tensor<5x2x3xf32>
  %6 = nn.broadcast %y dims [1] : tensor<3xf32> to tensor<2x3xf32>
  %7 = nn.broadcast %6 dims [1, 2] : tensor<2x3xf32> to tensor<5x2x3xf32>
  // CHECK: return %[[A]], %[[X]], %[[B]], %[[C]]
  return %1, %3, %5, %7 : tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<5x2x3xf32>
}

// -----

// CHECK-LABEL: func @known_shape
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[S:.*]]: tensor<1xi64>)
func.func @known_shape(%x: tensor<2x3xf32>, %s: tensor<1xi64>) -> (tensor<6xf32>, tensor<2xi64>) {
  // CHECK-DAG: %[[K:.*]] = nn.constant dense<[2, 3]> : tensor<2xi64>
  %0 = nn.shape_of %x : tensor<2x3xf32> -> tensor<2xi64>
  // CHECK: %[[R:.*]] = nn.reshape %[[X]] : tensor<2x3xf32> to tensor<6xf32>
  %1 = nn.reshape %x shape %s : tensor<1xi64>, : tensor<2x3xf32> to tensor<6xf32>
  // CHECK: return %[[R]], %[[K]]
  return %1, %0 : tensor<6xf32>, tensor<2xi64>
}

// -----

// What is not known stays.
// CHECK-LABEL: func @unknown_shape
func.func @unknown_shape(%x: tensor<?x3xf32>, %s: tensor<1xi64>) -> (tensor<?xf32>, tensor<2xi64>) {
  // CHECK: nn.shape_of
  %0 = nn.shape_of %x : tensor<?x3xf32> -> tensor<2xi64>
  // CHECK: nn.reshape %{{.*}} shape
  %1 = nn.reshape %x shape %s : tensor<1xi64>, : tensor<?x3xf32> to tensor<?xf32>
  return %1, %0 : tensor<?xf32>, tensor<2xi64>
}

// -----

// A shape operand may refer to the inner result's dimensions.
// CHECK-LABEL: func @shape_refers_to_inner
func.func @shape_refers_to_inner(%x: tensor<2x3xf32>, %s: tensor<1xi64>) -> tensor<?xf32> {
  // CHECK: nn.reshape
  %0 = nn.reshape %x : tensor<2x3xf32> to tensor<6xf32>
  // CHECK: nn.reshape
  %1 = nn.reshape %0 shape %s : tensor<1xi64>, : tensor<6xf32> to tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// CHECK-LABEL: func @moved_constants
func.func @moved_constants() -> (tensor<3x2xi32>, tensor<2xi32>, tensor<6xi32>, tensor<3x3xi32>, tensor<9x9xf32>, tensor<4096x7xf32>, tensor<0x3xi32>) {
  %c = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %r = nn.constant dense<[[7, 8, 9]]> : tensor<1x3xi32>
  %s = nn.constant dense<1.0> : tensor<9xf32>
  // CHECK-DAG: %[[A:.*]] = nn.constant dense<{{\[}}[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  %0 = nn.transpose %c [1, 0] : tensor<2x3xi32> to tensor<3x2xi32>
  // CHECK-DAG: %[[B:.*]] = nn.constant dense<[6, 4]> : tensor<2xi32>
  %1 = nn.slice %c starts [1, 2] strides [1, -2] : tensor<2x3xi32> to tensor<1x2xi32>
  %2 = nn.reshape %1 : tensor<1x2xi32> to tensor<2xi32>
  // CHECK-DAG: %[[C:.*]] = nn.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %3 = nn.reshape %c : tensor<2x3xi32> to tensor<6xi32>
  // CHECK-DAG: %[[D:.*]] = nn.constant dense<{{\[}}[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %4 = nn.concat %c, %r axis 0 : tensor<2x3xi32>, tensor<1x3xi32> -> tensor<3x3xi32>
  // CHECK-DAG: %[[E:.*]] = nn.constant dense<1.000000e+00> : tensor<9x9xf32>
  %5 = nn.broadcast %s dims [1] : tensor<9xf32> to tensor<9x9xf32>
  // CHECK-DAG: %[[F:.*]] = nn.constant dense<1.000000e+00> : tensor<4096x7xf32>
  %6 = nn.slice %s starts [0] strides [1] : tensor<9xf32> to tensor<7xf32>
  %7 = nn.broadcast %6 dims [1] : tensor<7xf32> to tensor<4096x7xf32>
  // CHECK-DAG: %[[G:.*]] = nn.constant dense<> : tensor<0x3xi32>
  %8 = nn.slice %c starts [0, 0] strides [1, 1] : tensor<2x3xi32> to tensor<0x3xi32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]], %[[G]]
  return %0, %2, %3, %4, %5, %7, %8 : tensor<3x2xi32>, tensor<2xi32>, tensor<6xi32>, tensor<3x3xi32>, tensor<9x9xf32>, tensor<4096x7xf32>, tensor<0x3xi32>
}

// -----

// A broadcast stays in closed form; so does what would be a large constant.
// CHECK-LABEL: func @closed_form
func.func @closed_form() -> (tensor<4096x2xi32>, tensor<4096x2xi32>) {
  %c = nn.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK: nn.broadcast
  %0 = nn.broadcast %c dims [1] : tensor<2xi32> to tensor<4096x2xi32>
  // CHECK: nn.iota
  %1 = nn.iota axis 0 : tensor<4096x2xi32>
  return %0, %1 : tensor<4096x2xi32>, tensor<4096x2xi32>
}

// -----

// CHECK-LABEL: func @reduced_constants
func.func @reduced_constants() -> (tensor<2xi64>, tensor<i64>, tensor<3xui8>, tensor<f32>, tensor<f32>) {
  %c = nn.constant dense<[[1, 2, 3], [4, 5, -6]]> : tensor<2x3xi64>
  %u = nn.constant dense<[[1, 200, 3], [4, 5, 6]]> : tensor<2x3xui8>
  %f = nn.constant dense<1.0> : tensor<8xf32>
  // CHECK-DAG: %[[A:.*]] = nn.constant dense<[6, 3]> : tensor<2xi64>
  %0 = nn.reduce sum %c axes [1] : tensor<2x3xi64> to tensor<2xi64>
  // CHECK-DAG: %[[B:.*]] = nn.constant dense<-720> : tensor<i64>
  %1 = nn.reduce prod %c axes [0, 1] : tensor<2x3xi64> to tensor<i64>
  // CHECK-DAG: %[[C:.*]] = nn.constant dense<[4, 200, 6]> : tensor<3xui8>
  %2 = nn.reduce max %u axes [0] : tensor<2x3xui8> to tensor<3xui8>
  // CHECK-DAG: %[[D:.*]] = nn.constant dense<1.000000e+00> : tensor<f32>
  %3 = nn.reduce min %f axes [0] : tensor<8xf32> to tensor<f32>
  // The order of a float sum is the kernel's.
  // CHECK: %[[E:.*]] = nn.reduce sum
  %4 = nn.reduce sum %f axes [0] : tensor<8xf32> to tensor<f32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]
  return %0, %1, %2, %3, %4 : tensor<2xi64>, tensor<i64>, tensor<3xui8>, tensor<f32>, tensor<f32>
}

// RUN: not nn-eval %s 1000 2>&1 | FileCheck %s

// What has no value is an error that names the element.

func.func @gather() -> tensor<2xf32> {
  %x = nn.constant dense<1.0> : tensor<3xf32>
  %i = nn.constant dense<[2, 3]> : tensor<2xi64>
  // CHECK: error: 'nn.gather' op index element 1 is 3, outside [0, 3)
  %0 = nn.gather %x[%i] axis 0 : tensor<3xf32>, tensor<2xi64> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

func.func @scatter_add() -> tensor<3xf32> {
  %x = nn.constant dense<1.0> : tensor<2xf32>
  %i = nn.constant dense<[-1, 0]> : tensor<2xi64>
  // CHECK: error: 'nn.scatter_add' op index element 0 is -1, outside [0, 3)
  %0 = nn.scatter_add %x[%i] axis 0 : tensor<2xf32>, tensor<2xi64> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

func.func @scatter() -> tensor<3xf32> {
  %x = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %u = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = nn.constant dense<[0, 3]> : tensor<2xi8>
  // CHECK: error: 'nn.scatter' op index element 1 is 3, outside [0, 3)
  %0 = nn.scatter add %x, %u[%i] axis 0 : tensor<3xf32>, tensor<2xf32>, tensor<2xi8>
  return %0 : tensor<3xf32>
}

func.func @gather_nd() -> tensor<1xf32> {
  %x = nn.constant dense<1.0> : tensor<3x2xf32>
  %i = nn.constant dense<[[0, 2]]> : tensor<1x2xi64>
  // CHECK: error: 'nn.gather_nd' op index element 1 is 2, outside [0, 2)
  %0 = nn.gather_nd %x[%i] : tensor<3x2xf32>, tensor<1x2xi64> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

func.func @label() -> tensor<f32> {
  %x = nn.constant dense<1.0> : tensor<2x3xf32>
  %y = nn.constant dense<[-100, 3]> : tensor<2xi64>
  // CHECK: error: 'nn.cross_entropy' op label 1 is 3, neither -100 (ignored) nor inside [0, 3)
  %0:3 = nn.cross_entropy %x, %y : tensor<2x3xf32>, tensor<2xi64> -> tensor<f32>, tensor<i64>, tensor<2xf32>
  return %0#0 : tensor<f32>
}

func.func @division() -> tensor<2xi32> {
  %x = nn.constant dense<[4, 5]> : tensor<2xi32>
  %y = nn.constant dense<[1, 0]> : tensor<2xi32>
  // CHECK: error: 'nn.div' op division of 5 by 0 has no value
  %0 = nn.div %x, %y : tensor<2xi32>
  return %0 : tensor<2xi32>
}

func.func @remainder() -> tensor<2xi32> {
  %x = nn.constant dense<[4, 5]> : tensor<2xi32>
  %y = nn.constant dense<[1, 0]> : tensor<2xi32>
  // CHECK: error: 'nn.rem' op remainder of 5 by 0 has no value
  %0 = nn.rem %x, %y : tensor<2xi32>
  return %0 : tensor<2xi32>
}

func.func @power() -> tensor<2xi32> {
  %x = nn.constant dense<[4, 5]> : tensor<2xi32>
  %y = nn.constant dense<[1, -1]> : tensor<2xi32>
  // CHECK: error: 'nn.pow' op power of 5 by -1 has no value
  %0 = nn.pow %x, %y : tensor<2xi32>
  return %0 : tensor<2xi32>
}

func.func @reshape() -> tensor<6xf32> {
  %x = nn.constant dense<1.0> : tensor<2x3xf32>
  %s = nn.constant dense<[5]> : tensor<1xi64>
  // CHECK: error: 'nn.reshape' op cannot reshape [2, 3] to [5]
  %0 = nn.reshape %x shape %s : tensor<1xi64>, : tensor<2x3xf32> to tensor<6xf32>
  return %0 : tensor<6xf32>
}

func.func @reshape_type() -> tensor<2x3xf32> {
  %x = nn.constant dense<1.0> : tensor<6xf32>
  %s = nn.constant dense<[3, -1]> : tensor<2xi64>
  // CHECK: error: 'nn.reshape' op shape operand gives [3, 2] but the result has [2, 3]
  %0 = nn.reshape %x shape %s : tensor<2xi64>, : tensor<6xf32> to tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

func.func @broadcast_to() -> tensor<3xf32> {
  %x = nn.constant dense<1.0> : tensor<3xf32>
  %s = nn.constant dense<[2]> : tensor<1xi64>
  // CHECK: error: 'nn.broadcast_to' op cannot broadcast [3] and [2]
  %0 = nn.broadcast_to %x shape %s : tensor<1xi64>, : tensor<3xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}

func.func @broadcast_to_type() -> tensor<2x3xf32> {
  %x = nn.constant dense<1.0> : tensor<3xf32>
  %s = nn.constant dense<[1, 1]> : tensor<2xi64>
  // CHECK: error: 'nn.broadcast_to' op shape operand gives [1, 3] but the result has [2, 3]
  %0 = nn.broadcast_to %x shape %s : tensor<2xi64>, : tensor<3xf32> to tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

func.func @limit() -> tensor<1001xf32> {
  %x = nn.constant dense<1.0> : tensor<1xf32>
  // CHECK: error: 'nn.broadcast' op result #0 has 1001 elements but at most 1000 are evaluated
  %0 = nn.broadcast %x dims [0] : tensor<1xf32> to tensor<1001xf32>
  return %0 : tensor<1001xf32>
}

func.func @dynamic() -> tensor<?xf32> {
  %x = nn.constant dense<1.0> : tensor<1xf32>
  // CHECK: error: 'nn.broadcast' op result #0 has type 'tensor<?xf32>'; only static tensors are evaluated
  %0 = nn.broadcast %x dims [0] : tensor<1xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @foreign() {
  // CHECK: error: 'func.call' op has no meaning to the reference interpreter
  func.call @foreign() : () -> ()
  return
}

// CHECK: error: 'func.func' op takes 1 arguments but 0 are given
func.func @arguments(%x: tensor<1xf32>) {
  return
}

// CHECK: error: 'func.func' op has no body of one block to evaluate
func.func private @external()

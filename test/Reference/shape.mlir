// RUN: nn-eval %s | FileCheck %s

func.func @sources() -> (tensor<2x3xi32>, tensor<2x3xf32>, tensor<9xi1>) {
  // CHECK: @sources: tensor<2x3xi32> [0, 1, 2, 0, 1, 2]
  %0 = nn.iota axis 1 : tensor<2x3xi32>
  // CHECK-NEXT: @sources: tensor<2x3xf32> [0, 0, 0, 1, 1, 1]
  %1 = nn.iota axis 0 : tensor<2x3xf32>
  // CHECK-NEXT: [1, 0, 1, 1, 0, 0, 0, 1, 1]
  %2 = nn.constant dense<[true, false, true, true, false, false, false, true, true]> : tensor<9xi1>
  return %0, %1, %2 : tensor<2x3xi32>, tensor<2x3xf32>, tensor<9xi1>
}

func.func @broadcast() -> (tensor<2x3xi32>, tensor<2x3xi32>, tensor<2xf32>) {
  %r = nn.constant dense<[1, 2, 3]> : tensor<3xi32>
  %c = nn.constant dense<[[4], [5]]> : tensor<2x1xi32>
  %s = nn.constant dense<1.5> : tensor<f32>
  // CHECK: @broadcast: tensor<2x3xi32> [1, 2, 3, 1, 2, 3]
  %0 = nn.broadcast %r dims [1] : tensor<3xi32> to tensor<2x3xi32>
  // CHECK-NEXT: [4, 4, 4, 5, 5, 5]
  %1 = nn.broadcast %c dims [0, 1] : tensor<2x1xi32> to tensor<2x3xi32>
  // CHECK-NEXT: [1.5, 1.5]
  %2 = nn.broadcast %s dims [] : tensor<f32> to tensor<2xf32>
  return %0, %1, %2 : tensor<2x3xi32>, tensor<2x3xi32>, tensor<2xf32>
}

func.func @broadcast_to() -> (tensor<2x3xi32>, tensor<2x3xi32>) {
  %c = nn.constant dense<[[4], [5]]> : tensor<2x1xi32>
  %s = nn.constant dense<[1, 3]> : tensor<2xi64>
  %t = nn.constant dense<[3]> : tensor<1xi64>
  // CHECK: @broadcast_to: tensor<2x3xi32> [4, 4, 4, 5, 5, 5]
  %0 = nn.broadcast_to %c shape %s : tensor<2xi64>, : tensor<2x1xi32> to tensor<2x3xi32>
  // CHECK-NEXT: [4, 4, 4, 5, 5, 5]
  %1 = nn.broadcast_to %c shape %t : tensor<1xi64>, : tensor<2x1xi32> to tensor<2x3xi32>
  return %0, %1 : tensor<2x3xi32>, tensor<2x3xi32>
}

func.func @reshape() -> (tensor<3x2xi32>, tensor<1x6xi32>, tensor<2x3x1xi32>, tensor<0x5xi32>, tensor<2xi64>) {
  %x = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %empty = nn.constant dense<> : tensor<0x3xi32>
  %s = nn.constant dense<[1, -1]> : tensor<2xi64>
  %z = nn.constant dense<[0, 0, 1]> : tensor<3xi64>
  %a = nn.constant dense<[0, 5]> : tensor<2xi64>
  // CHECK: @reshape: tensor<3x2xi32> [1, 2, 3, 4, 5, 6]
  %0 = nn.reshape %x : tensor<2x3xi32> to tensor<3x2xi32>
  // CHECK-NEXT: tensor<1x6xi32> [1, 2, 3, 4, 5, 6]
  %1 = nn.reshape %x shape %s : tensor<2xi64>, : tensor<2x3xi32> to tensor<1x6xi32>
  // CHECK-NEXT: tensor<2x3x1xi32> [1, 2, 3, 4, 5, 6]
  %2 = nn.reshape %x shape %z : tensor<3xi64>, : tensor<2x3xi32> to tensor<2x3x1xi32>
  // CHECK-NEXT: tensor<0x5xi32> []
  %3 = nn.reshape %empty shape %a : tensor<2xi64>, {allow_zero} : tensor<0x3xi32> to tensor<0x5xi32>
  // CHECK-NEXT: tensor<2xi64> [2, 3]
  %4 = nn.shape_of %x : tensor<2x3xi32> -> tensor<2xi64>
  return %0, %1, %2, %3, %4 : tensor<3x2xi32>, tensor<1x6xi32>, tensor<2x3x1xi32>, tensor<0x5xi32>, tensor<2xi64>
}

func.func @transpose() -> (tensor<3x2xi32>, tensor<3x1x2xi32>) {
  %x = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // CHECK: @transpose: tensor<3x2xi32> [1, 4, 2, 5, 3, 6]
  %0 = nn.transpose %x [1, 0] : tensor<2x3xi32> to tensor<3x2xi32>
  %1 = nn.reshape %x : tensor<2x3xi32> to tensor<1x2x3xi32>
  // CHECK-NEXT: [1, 4, 2, 5, 3, 6]
  %2 = nn.transpose %1 [2, 0, 1] : tensor<1x2x3xi32> to tensor<3x1x2xi32>
  return %0, %2 : tensor<3x2xi32>, tensor<3x1x2xi32>
}

func.func @slice() -> (tensor<1x2xi32>, tensor<0x3xi32>) {
  %x = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // CHECK: @slice: tensor<1x2xi32> [6, 4]
  %0 = nn.slice %x starts [1, 2] strides [1, -2] : tensor<2x3xi32> to tensor<1x2xi32>
  // CHECK-NEXT: tensor<0x3xi32> []
  %1 = nn.slice %x starts [0, 0] strides [1, 1] : tensor<2x3xi32> to tensor<0x3xi32>
  return %0, %1 : tensor<1x2xi32>, tensor<0x3xi32>
}

func.func @pad() -> (tensor<8xf32>, tensor<3x3xi32>) {
  %x = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %i = nn.constant dense<[[1, 2]]> : tensor<1x2xi32>
  // CHECK: @pad: tensor<8xf32> [-1, 1, -1, 2, -1, 3, -1, -1]
  %0 = nn.pad %x low [1] high [2] interior [1] {value = -1.0 : f64} : tensor<3xf32> to tensor<8xf32>
  // CHECK-NEXT: tensor<3x3xi32> [7, 7, 7, 1, 2, 7, 7, 7, 7]
  %1 = nn.pad %i low [1, 0] high [1, 1] interior [0, 0] {value = 7.0 : f64} : tensor<1x2xi32> to tensor<3x3xi32>
  return %0, %1 : tensor<8xf32>, tensor<3x3xi32>
}

func.func @concat() -> (tensor<2x3xi32>, tensor<3x2xi32>) {
  %x = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = nn.constant dense<[[5], [6]]> : tensor<2x1xi32>
  %z = nn.constant dense<[[7, 8]]> : tensor<1x2xi32>
  // CHECK: @concat: tensor<2x3xi32> [1, 2, 5, 3, 4, 6]
  %0 = nn.concat %x, %y axis 1 : tensor<2x2xi32>, tensor<2x1xi32> -> tensor<2x3xi32>
  // CHECK-NEXT: tensor<3x2xi32> [7, 8, 1, 2, 3, 4]
  %1 = nn.concat %z, %x axis 0 : tensor<1x2xi32>, tensor<2x2xi32> -> tensor<3x2xi32>
  return %0, %1 : tensor<2x3xi32>, tensor<3x2xi32>
}

func.func @gather() -> (tensor<2x2xf32>, tensor<2x3xf32>, tensor<3x2xf32>) {
  %x = nn.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %i = nn.constant dense<[2, 0]> : tensor<2xi64>
  %j = nn.constant dense<[1, 0, 1]> : tensor<3xi32>
  // CHECK: @gather: tensor<2x2xf32> [5, 6, 1, 2]
  %0 = nn.gather %x[%i] axis 0 : tensor<3x2xf32>, tensor<2xi64> -> tensor<2x2xf32>
  %t = nn.slice %x starts [0, 0] strides [1, 1] : tensor<3x2xf32> to tensor<2x2xf32>
  // CHECK-NEXT: tensor<2x3xf32> [2, 1, 2, 4, 3, 4]
  %1 = nn.gather %t[%j] axis 1 : tensor<2x2xf32>, tensor<3xi32> -> tensor<2x3xf32>
  // Rows 2 and 0, row 2 twice.
  %u = nn.constant dense<[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]> : tensor<3x2xf32>
  %k = nn.constant dense<[2, 0, 2]> : tensor<3xi64>
  // CHECK-NEXT: tensor<3x2xf32> [10, 20, 0, 0, 101, 202]
  %2 = nn.scatter_add %u[%k] axis 0 : tensor<3x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
  return %0, %1, %2 : tensor<2x2xf32>, tensor<2x3xf32>, tensor<3x2xf32>
}

func.func @gather_nd() -> (tensor<2xf32>, tensor<2x2xf32>, tensor<3x1xf32>) {
  %x = nn.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %i = nn.constant dense<[[2, 0], [0, 1]]> : tensor<2x2xi64>
  %r = nn.constant dense<[[2], [1]]> : tensor<2x1xi64>
  %b = nn.constant dense<[[[1]], [[0]], [[1]]]> : tensor<3x1x1xi64>
  // CHECK: @gather_nd: tensor<2xf32> [5, 2]
  %0 = nn.gather_nd %x[%i] : tensor<3x2xf32>, tensor<2x2xi64> -> tensor<2xf32>
  // CHECK-NEXT: tensor<2x2xf32> [5, 6, 3, 4]
  %1 = nn.gather_nd %x[%r] : tensor<3x2xf32>, tensor<2x1xi64> -> tensor<2x2xf32>
  // CHECK-NEXT: tensor<3x1xf32> [2, 3, 6]
  %2 = nn.gather_nd %x[%b] {batch_dims = 1 : i64} : tensor<3x2xf32>, tensor<3x1x1xi64> -> tensor<3x1xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2x2xf32>, tensor<3x1xf32>
}

func.func @scatter() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x3xi32>, tensor<2xui8>, tensor<2xi1>) {
  %x = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %u = nn.constant dense<[10.0, -2.0, 0.5]> : tensor<3xf32>
  %i = nn.constant dense<[3, 0, 3]> : tensor<3xi64>
  // CHECK: @scatter: tensor<4xf32> [-2, 2, 3, 0.5]
  %0 = nn.scatter assign %x, %u[%i] axis 0 : tensor<4xf32>, tensor<3xf32>, tensor<3xi64>
  // CHECK-NEXT: [-1, 2, 3, 14.5]
  %1 = nn.scatter add %x, %u[%i] axis 0 : tensor<4xf32>, tensor<3xf32>, tensor<3xi64>
  // CHECK-NEXT: [-2, 2, 3, 20]
  %2 = nn.scatter mul %x, %u[%i] axis 0 : tensor<4xf32>, tensor<3xf32>, tensor<3xi64>
  // CHECK-NEXT: [1, 2, 3, 10]
  %3 = nn.scatter max %x, %u[%i] axis 0 : tensor<4xf32>, tensor<3xf32>, tensor<3xi64>
  // CHECK-NEXT: [-2, 2, 3, 0.5]
  %4 = nn.scatter min %x, %u[%i] axis 0 : tensor<4xf32>, tensor<3xf32>, tensor<3xi64>
  // Columns 2 and 0 of each row.
  %m = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %v = nn.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
  %j = nn.constant dense<[2, 0]> : tensor<2xui8>
  // CHECK-NEXT: tensor<2x3xi32> [21, 2, 13, 44, 5, 36]
  %5 = nn.scatter add %m, %v[%j] axis 1 : tensor<2x3xi32>, tensor<2x2xi32>, tensor<2xui8>
  // Without a sign, and wrapping around.
  %b = nn.constant dense<[200, 100]> : tensor<2xui8>
  %c = nn.constant dense<[100, 200]> : tensor<2xui8>
  %k = nn.constant dense<[0, 1]> : tensor<2xi64>
  // CHECK-NEXT: tensor<2xui8> [44, 44]
  %6 = nn.scatter add %b, %c[%k] axis 0 : tensor<2xui8>, tensor<2xui8>, tensor<2xi64>
  %p = nn.constant dense<[true, false]> : tensor<2xi1>
  %q = nn.constant dense<[false, true]> : tensor<2xi1>
  // CHECK-NEXT: tensor<2xi1> [0, 1]
  %7 = nn.scatter assign %p, %q[%k] axis 0 : tensor<2xi1>, tensor<2xi1>, tensor<2xi64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x3xi32>, tensor<2xui8>, tensor<2xi1>
}

// Of equals the lower index first; NaN is the largest.
func.func @top_k() -> (tensor<2x3xi64>, tensor<2x3xi64>, tensor<1x4xi64>, tensor<2xi64>) {
  %x = nn.constant dense<[[1.0, 3.0, 3.0, 0x7FC00000], [0.0, -0.0, -1.0, 2.0]]> : tensor<2x4xf32>
  // CHECK: @top_k: tensor<2x3xi64> [3, 1, 2, 3, 0, 1]
  %0 = nn.top_k %x axis 1 : tensor<2x4xf32> -> tensor<2x3xi64>
  // CHECK-NEXT: [0, 1, 2, 2, 0, 1]
  %1 = nn.top_k %x axis 1 smallest : tensor<2x4xf32> -> tensor<2x3xi64>
  // CHECK-NEXT: [0, 0, 0, 0]
  %2 = nn.top_k %x axis 0 : tensor<2x4xf32> -> tensor<1x4xi64>
  // No sign: 2^64 - 1 is the largest.
  %u = nn.constant dense<[1, 18446744073709551615]> : tensor<2xui64>
  // CHECK-NEXT: [1, 0]
  %3 = nn.top_k %u axis 0 : tensor<2xui64> -> tensor<2xi64>
  return %0, %1, %2, %3 : tensor<2x3xi64>, tensor<2x3xi64>, tensor<1x4xi64>, tensor<2xi64>
}

// RUN: nn-eval %s | FileCheck %s

func.func @reduce() -> (tensor<2xf32>, tensor<3xf32>, tensor<f32>, tensor<2xf32>, tensor<2xi8>, tensor<2xui8>, tensor<2xf32>) {
  %x = nn.constant dense<[[1.0, 2.0, 3.0], [-1.0, 0.0, 4.0]]> : tensor<2x3xf32>
  // CHECK: @reduce: tensor<2xf32> [6, 3]
  %0 = nn.reduce sum %x axes [1] : tensor<2x3xf32> to tensor<2xf32>
  // CHECK-NEXT: tensor<3xf32> [1, 2, 4]
  %1 = nn.reduce max %x axes [0] : tensor<2x3xf32> to tensor<3xf32>
  // CHECK-NEXT: tensor<f32> [-1]
  %2 = nn.reduce min %x axes [0, 1] : tensor<2x3xf32> to tensor<f32>
  // CHECK-NEXT: tensor<2xf32> [6, -0]
  %3 = nn.reduce prod %x axes [1] : tensor<2x3xf32> to tensor<2xf32>
  %i = nn.constant dense<[[1, 127], [-128, -3]]> : tensor<2x2xi8>
  // CHECK-NEXT: tensor<2xi8> [-128, 125]
  %4 = nn.reduce sum %i axes [1] : tensor<2x2xi8> to tensor<2xi8>
  %u = nn.constant dense<[[1, 200], [0, 3]]> : tensor<2x2xui8>
  // CHECK-NEXT: tensor<2xui8> [200, 3]
  %5 = nn.reduce max %u axes [1] : tensor<2x2xui8> to tensor<2xui8>
  %n = nn.constant dense<[[1.0, 0x7FC00000], [0.0, -0.0]]> : tensor<2x2xf32>
  // CHECK-NEXT: tensor<2xf32> [nan, 0]
  %6 = nn.reduce max %n axes [1] : tensor<2x2xf32> to tensor<2xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2xf32>, tensor<3xf32>, tensor<f32>, tensor<2xf32>, tensor<2xi8>, tensor<2xui8>, tensor<2xf32>
}

// A reduction of nothing gives the neutral element.
func.func @reduce_nothing() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xi8>) {
  %x = nn.constant dense<> : tensor<1x0xf32>
  %i = nn.constant dense<> : tensor<1x0xi8>
  // CHECK: @reduce_nothing: tensor<1xf32> [0]
  %0 = nn.reduce sum %x axes [1] : tensor<1x0xf32> to tensor<1xf32>
  // CHECK-NEXT: tensor<1xf32> [-inf]
  %1 = nn.reduce max %x axes [1] : tensor<1x0xf32> to tensor<1xf32>
  // CHECK-NEXT: tensor<1xi8> [127]
  %2 = nn.reduce min %i axes [1] : tensor<1x0xi8> to tensor<1xi8>
  return %0, %1, %2 : tensor<1xf32>, tensor<1xf32>, tensor<1xi8>
}

func.func @cumsum() -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xi32>) {
  %x = nn.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %i = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // CHECK: @cumsum: tensor<2x3xf32> [1, 3, 6, 4, 9, 15]
  %0 = nn.cumsum %x axis 1 : tensor<2x3xf32>
  // CHECK-NEXT: [0, 1, 3, 0, 4, 9]
  %1 = nn.cumsum %x axis 1 {exclusive} : tensor<2x3xf32>
  // CHECK-NEXT: [5, 3, 0, 11, 6, 0]
  %2 = nn.cumsum %x axis 1 {exclusive, reverse} : tensor<2x3xf32>
  // CHECK-NEXT: tensor<2x3xi32> [1, 2, 3, 5, 7, 9]
  %3 = nn.cumsum %i axis 0 : tensor<2x3xi32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xi32>
}

func.func @matmul() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<3x3xf32>, tensor<2x1x1xf32>) {
  %a = nn.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = nn.constant dense<[[1.0, 0.0], [-1.0, 2.0], [0.5, 1.0]]> : tensor<3x2xf32>
  // CHECK: @matmul: tensor<2x2xf32> [0.5, 7, 2, 16]
  %0 = nn.matmul %a, %b : tensor<2x3xf32>, tensor<3x2xf32> -> tensor<2x2xf32>
  %at = nn.transpose %a [1, 0] : tensor<2x3xf32> to tensor<3x2xf32>
  %bt = nn.transpose %b [1, 0] : tensor<3x2xf32> to tensor<2x3xf32>
  // CHECK-NEXT: [0.5, 7, 2, 16]
  %1 = nn.matmul %at, %b transpose_lhs : tensor<3x2xf32>, tensor<3x2xf32> -> tensor<2x2xf32>
  // CHECK-NEXT: [0.5, 7, 2, 16]
  %2 = nn.matmul %a, %bt transpose_rhs : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xf32>
  // CHECK-NEXT: [1, 7, 4.5, 2, 8, 6, 3, 9, 7.5]
  %3 = nn.matmul %a, %b transpose_lhs transpose_rhs : tensor<2x3xf32>, tensor<3x2xf32> -> tensor<3x3xf32>
  %l = nn.reshape %a : tensor<2x3xf32> to tensor<2x1x3xf32>
  %r = nn.reshape %b : tensor<3x2xf32> to tensor<2x3x1xf32>
  // CHECK-NEXT: tensor<2x1x1xf32> [-2, 16.5]
  %4 = nn.matmul %l, %r : tensor<2x1x3xf32>, tensor<2x3x1xf32> -> tensor<2x1x1xf32>
  return %0, %1, %2, %3, %4 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<3x3xf32>, tensor<2x1x1xf32>
}

func.func @softmax() -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) {
  %x = nn.constant dense<[[1.0, 2.0, 3.0], [-1.0, 0.0, 4.0]]> : tensor<2x3xf32>
  // CHECK: @softmax: tensor<2x3xf32> [0.0900306, 0.244728, 0.665241, 0.00657326, 0.017868, 0.975559]
  %0 = nn.softmax %x axis 1 : tensor<2x3xf32>
  // CHECK-NEXT: [0.880797, 0.880797, 0.268941, 0.119203, 0.119203, 0.731059]
  %1 = nn.softmax %x axis 0 : tensor<2x3xf32>
  %i = nn.constant dense<0xFF800000> : tensor<2xf32>
  // CHECK-NEXT: [{{-?}}nan, {{-?}}nan]
  %2 = nn.softmax %i axis 0 : tensor<2xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>
}

func.func @layer_norm() -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>) {
  %x = nn.constant dense<[[1.0, 2.0, 3.0], [-1.0, 0.0, 4.0]]> : tensor<2x3xf32>
  %s = nn.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf32>
  %b = nn.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf32>
  // CHECK: @layer_norm: tensor<2x3xf32> [-1.14208, 1, -0.42896, -0.916057, 0.0839428, -0.312957]
  // CHECK-NEXT: tensor<2xf32> [2, 1]
  // CHECK-NEXT: tensor<2xf32> [1.14208, 0.458029]
  %0:3 = nn.layer_norm %x scale %s bias %b epsilon 0.1 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>
  // CHECK-NEXT: [-1.14208, 0, 0.57104, -0.916057, -0.916057, 0.687043]
  %1:3 = nn.layer_norm %x scale %s epsilon 0.1 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>
  return %0#0, %0#1, %0#2, %1#0 : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>
}

// RUN: nn-eval %s | FileCheck %s
// Numbers from PyTorch's conv1d, conv2d, conv3d, conv_transpose1d, max_pool2d and avg_pool2d.

func.func @conv() -> (tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x1x1x2xf32>) {
  %x = nn.constant dense<[[[1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 2.0, 5.0]]]> : tensor<1x2x4xf32>
  %w = nn.constant dense<[[[1.0, -1.0], [2.0, 0.5]], [[0.0, 3.0], [1.0, 1.0]]]> : tensor<2x2x2xf32>
  // CHECK: @conv: tensor<1x2x3xf32> [-3, 0, 5.5, 5, 11, 19]
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<1x2x4xf32>, tensor<2x2x2xf32> -> tensor<1x2x3xf32>
  %d = nn.constant dense<[[[1.0, -1.0]], [[0.0, 3.0]]]> : tensor<2x1x2xf32>
  // Each channel by itself, two apart, from one before the data on.
  // CHECK-NEXT: tensor<1x2x2xf32> [-2, -2, 0, 15]
  %1 = nn.conv %x, %d strides [2] low [1] high [0] dilations [2] groups 2 : tensor<1x2x4xf32>, tensor<2x1x2xf32> -> tensor<1x2x2xf32>
  %i = nn.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]]> : tensor<1x1x2x3xf32>
  %k = nn.constant dense<[[[[1.0, 10.0], [100.0, 1000.0]]]]> : tensor<1x1x2x2xf32>
  // CHECK-NEXT: tensor<1x1x2x2xf32> [5421, 6532, 54, 65]
  %2 = nn.conv %i, %k strides [1, 1] low [0, 0] high [1, 0] dilations [1, 1] : tensor<1x1x2x3xf32>, tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32>
  %v = nn.reshape %i : tensor<1x1x2x3xf32> to tensor<1x1x1x2x3xf32>
  %c = nn.reshape %k : tensor<1x1x2x2xf32> to tensor<1x1x1x2x2xf32>
  // CHECK-NEXT: tensor<1x1x1x1x2xf32> [5421, 6532]
  %3 = nn.conv %v, %c strides [1, 1, 1] low [0, 0, 0] high [0, 0, 0] dilations [1, 1, 1] : tensor<1x1x1x2x3xf32>, tensor<1x1x1x2x2xf32> -> tensor<1x1x1x1x2xf32>
  return %0, %1, %2, %3 : tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x1x1x2xf32>
}

func.func @transposes() -> (tensor<1x2x4xf32>, tensor<1x1x5xf32>, tensor<2x2x2xf32>) {
  %y = nn.constant dense<[[[1.0, 2.0, -1.0], [0.5, 0.0, 4.0]]]> : tensor<1x2x3xf32>
  %w = nn.constant dense<[[[1.0, -1.0], [2.0, 0.5]], [[0.0, 3.0], [1.0, 1.0]]]> : tensor<2x2x2xf32>
  // CHECK: @transposes: tensor<1x2x4xf32> [1, 2.5, -3, 13, 2.5, 5, 3, 3.5]
  %0 = nn.conv_transpose %y, %w strides [1] low [0] high [0] dilations [1] : tensor<1x2x3xf32>, tensor<2x2x2xf32> -> tensor<1x2x4xf32>
  %one = nn.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %k = nn.constant dense<[[[1.0, 10.0, 100.0]]]> : tensor<1x1x3xf32>
  // CHECK-NEXT: tensor<1x1x5xf32> [10, 102, 20, 200, 0]
  %1 = nn.conv_transpose %one, %k strides [2] low [1] high [0] dilations [1] : tensor<1x1x2xf32>, tensor<1x1x3xf32> -> tensor<1x1x5xf32>
  %x = nn.constant dense<[[[1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 2.0, 5.0]]]> : tensor<1x2x4xf32>
  // CHECK-NEXT: tensor<2x2x2xf32> [2, 4, -3, -1, 12.5, 17, 7.5, 20]
  %2 = nn.conv_weight_grad %x, %y strides [1] low [0] high [0] dilations [1] : tensor<1x2x4xf32>, tensor<1x2x3xf32> -> tensor<2x2x2xf32>
  return %0, %1, %2 : tensor<1x2x4xf32>, tensor<1x1x5xf32>, tensor<2x2x2xf32>
}

// Positions outside the data count for nothing, not even for the largest of negative numbers.
func.func @max_pool() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>, tensor<1x1x2xui8>, tensor<1x1x2xi64>, tensor<1x1x2xf32>, tensor<1x1x2xi64>) {
  %x = nn.constant dense<[[[[-1.0, -2.0, -3.0], [-4.0, -5.0, -1.0]]]]> : tensor<1x1x2x3xf32>
  // CHECK: @max_pool: tensor<1x1x2x2xf32> [-1, -2, -1, -1]
  // CHECK-NEXT: tensor<1x1x2x2xi64> [0, 1, 0, 5]
  %0:2 = nn.max_pool %x window [2, 2] strides [1, 1] low [1, 0] high [0, 0] dilations [1, 1] : tensor<1x1x2x3xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>
  // The first of equals.
  %u = nn.constant dense<[[[200, 3, 200, 7, 9]]]> : tensor<1x1x5xui8>
  // CHECK-NEXT: tensor<1x1x2xui8> [200, 200]
  // CHECK-NEXT: tensor<1x1x2xi64> [0, 2]
  %1:2 = nn.max_pool %u window [2] strides [2] low [0] high [0] dilations [2] : tensor<1x1x5xui8> -> tensor<1x1x2xui8>, tensor<1x1x2xi64>
  // The first NaN.
  %n = nn.constant dense<[[[9.0, 0x7FC00000, 0x7FC00000, 1.0]]]> : tensor<1x1x4xf32>
  // CHECK-NEXT: tensor<1x1x2xf32> [nan, nan]
  // CHECK-NEXT: tensor<1x1x2xi64> [1, 1]
  %2:2 = nn.max_pool %n window [3] strides [1] low [0] high [0] dilations [1] : tensor<1x1x4xf32> -> tensor<1x1x2xf32>, tensor<1x1x2xi64>
  return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>, tensor<1x1x2xui8>, tensor<1x1x2xi64>, tensor<1x1x2xf32>, tensor<1x1x2xi64>
}

func.func @sum_pool() -> (tensor<1x1x2x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x0xf32>) {
  %x = nn.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]]> : tensor<1x1x2x3xf32>
  // CHECK: @sum_pool: tensor<1x1x2x2xf32> [3, 5, 12, 16]
  %0 = nn.sum_pool %x window [2, 2] strides [1, 1] low [1, 0] high [0, 0] dilations [1, 1] : tensor<1x1x2x3xf32> to tensor<1x1x2x2xf32>
  %y = nn.constant dense<[[[1.0, 2.0, 4.0, 8.0, 16.0]]]> : tensor<1x1x5xf32>
  // CHECK-NEXT: tensor<1x1x2xf32> [2, 9]
  %1 = nn.sum_pool %y window [2] strides [2] low [2] high [0] dilations [3] : tensor<1x1x5xf32> to tensor<1x1x2xf32>
  // Negative padding leaves elements out.
  // CHECK-NEXT: tensor<1x1x2xf32> [6, 12]
  %2 = nn.sum_pool %y window [2] strides [1] low [-1] high [-1] dilations [1] : tensor<1x1x5xf32> to tensor<1x1x2xf32>
  // CHECK-NEXT: tensor<1x1x0xf32> []
  %3 = nn.sum_pool %y window [9] strides [1] low [0] high [0] dilations [1] : tensor<1x1x5xf32> to tensor<1x1x0xf32>
  return %0, %1, %2, %3 : tensor<1x1x2x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x0xf32>
}

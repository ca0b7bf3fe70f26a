// RUN: nn-eval %s | FileCheck %s

func.func @unary() -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
  %x = nn.constant dense<[-2.0, -0.5, 0.0, 0.25, 3.0]> : tensor<5xf32>
  // CHECK: @unary: tensor<5xf32> [2, 0.5, -0, -0.25, -3]
  %0 = nn.neg %x : tensor<5xf32>
  // CHECK-NEXT: @unary: tensor<5xf32> [2, 0.5, 0, 0.25, 3]
  %1 = nn.abs %x : tensor<5xf32>
  // CHECK-NEXT: [0.135335, 0.606531, 1, 1.28403, 20.0855]
  %2 = nn.exp %x : tensor<5xf32>
  // CHECK-NEXT: [-0.964028, -0.462117, 0, 0.244919, 0.995055]
  %3 = nn.tanh %x : tensor<5xf32>
  // CHECK-NEXT: [0.119203, 0.377541, 0.5, 0.562177, 0.952574]
  %4 = nn.sigmoid %x : tensor<5xf32>
  // CHECK-NEXT: [-0.995322, -0.5205, 0, 0.276326, 0.999978]
  %5 = nn.erf %x : tensor<5xf32>
  // CHECK-NEXT: [-0.909297, -0.479426, 0, 0.247404, 0.14112]
  %6 = nn.sin %x : tensor<5xf32>
  // CHECK-NEXT: [-0.416147, 0.877583, 1, 0.968912, -0.989992]
  %7 = nn.cos %x : tensor<5xf32>
  // CHECK-NEXT: [0, 0, 0, 0.25, 3]
  %8 = nn.relu %x : tensor<5xf32>
  // CHECK-NEXT: [-1, -1, 0, 1, 1]
  %9 = nn.sign %x : tensor<5xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

func.func @gelu() -> (tensor<5xf32>, tensor<5xf32>) {
  %x = nn.constant dense<[-2.0, -0.5, 0.0, 0.25, 3.0]> : tensor<5xf32>
  // CHECK: @gelu: tensor<5xf32> [-0.0455003, -0.154269, 0, 0.149677, 2.99595]
  %0 = nn.gelu none %x : tensor<5xf32>
  // CHECK-NEXT: [-0.0454023, -0.154286, 0, 0.149675, 2.99636]
  %1 = nn.gelu tanh %x : tensor<5xf32>
  return %0, %1 : tensor<5xf32>, tensor<5xf32>
}

func.func @roots() -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %x = nn.constant dense<[0.25, 1.0, 4.0]> : tensor<3xf64>
  // CHECK: @roots: tensor<3xf64> [-1.38629, 0, 1.38629]
  %0 = nn.log %x : tensor<3xf64>
  // CHECK-NEXT: [0.5, 1, 2]
  %1 = nn.sqrt %x : tensor<3xf64>
  // CHECK-NEXT: [2, 1, 0.5]
  %2 = nn.rsqrt %x : tensor<3xf64>
  // CHECK-NEXT: [4, 1, 0.25]
  %3 = nn.reciprocal %x : tensor<3xf64>
  return %0, %1, %2, %3 : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}

func.func @roundings() -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %x = nn.constant dense<[-1.5, -0.5, 0.5, 1.5, 2.5, 2.75]> : tensor<6xf32>
  // CHECK: @roundings: tensor<6xf32> [-2, -1, 0, 1, 2, 2]
  %0 = nn.floor %x : tensor<6xf32>
  // CHECK-NEXT: [-1, -0, 1, 2, 3, 3]
  %1 = nn.ceil %x : tensor<6xf32>
  // CHECK-NEXT: [-2, -0, 0, 2, 2, 3]
  %2 = nn.round %x : tensor<6xf32>
  // CHECK-NEXT: [-1.5, -0.5, 0.5, 1.5, 2.5, 2.75]
  %3 = nn.stop_gradient %x : tensor<6xf32>
  return %0, %1, %2, %3 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

func.func @binary() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %x = nn.constant dense<[5.5, -5.5, 2.0, -0.0]> : tensor<4xf32>
  %y = nn.constant dense<[2.0, 2.0, 0x7FC00000, 0.0]> : tensor<4xf32>
  // CHECK: @binary: tensor<4xf32> [7.5, -3.5, nan, 0]
  %0 = nn.add %x, %y : tensor<4xf32>
  // CHECK-NEXT: [3.5, -7.5, nan, -0]
  %1 = nn.sub %x, %y : tensor<4xf32>
  // CHECK-NEXT: [11, -11, nan, -0]
  %2 = nn.mul %x, %y : tensor<4xf32>
  // CHECK-NEXT: [2.75, -2.75, nan, {{-?}}nan]
  %3 = nn.div %x, %y : tensor<4xf32>
  // CHECK-NEXT: [5.5, 2, nan, 0]
  %4 = nn.max %x, %y : tensor<4xf32>
  // CHECK-NEXT: [2, -5.5, nan, -0]
  %5 = nn.min %x, %y : tensor<4xf32>
  // CHECK-NEXT: [30.25, 30.25, nan, 1]
  %6 = nn.pow %x, %y : tensor<4xf32>
  // CHECK-NEXT: [1.5, -1.5, nan, {{-?}}nan]
  %7 = nn.rem %x, %y : tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Integers wrap around; ui8 and i1 have no sign.
func.func @integers() -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<2xui8>, tensor<2xui8>) {
  %x = nn.constant dense<[100, -128, 7, -7]> : tensor<4xi8>
  %y = nn.constant dense<[100, -1, 2, 2]> : tensor<4xi8>
  %u = nn.constant dense<[200, 1]> : tensor<2xui8>
  %v = nn.constant dense<[100, 2]> : tensor<2xui8>
  // CHECK: @integers: tensor<4xi8> [-56, 127, 9, -5]
  %0 = nn.add %x, %y : tensor<4xi8>
  // CHECK-NEXT: [1, -128, 3, -3]
  %1 = nn.div %x, %y : tensor<4xi8>
  // CHECK-NEXT: [0, 0, 1, -1]
  %2 = nn.rem %x, %y : tensor<4xi8>
  // CHECK-NEXT: [100, -128, 7, 7]
  %3 = nn.abs %x : tensor<4xi8>
  // CHECK-NEXT: [-101, 127, -8, 6]
  %4 = nn.not %x : tensor<4xi8>
  // CHECK-NEXT: [0, 127, 5, -5]
  %5 = nn.xor %x, %y : tensor<4xi8>
  // CHECK-NEXT: [200, 2]
  %6 = nn.max %u, %v : tensor<2xui8>
  // CHECK-NEXT: [44, 3]
  %7 = nn.add %u, %v : tensor<2xui8>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<2xui8>, tensor<2xui8>
}

func.func @integer_power() -> (tensor<3xi64>) {
  %x = nn.constant dense<[3, -2, 0]> : tensor<3xi64>
  %y = nn.constant dense<[4, 3, 0]> : tensor<3xi64>
  // CHECK: @integer_power: tensor<3xi64> [81, -8, 1]
  %0 = nn.pow %x, %y : tensor<3xi64>
  return %0 : tensor<3xi64>
}

func.func @logical() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %x = nn.constant dense<[true, true, false, false]> : tensor<4xi1>
  %y = nn.constant dense<[true, false, true, false]> : tensor<4xi1>
  // CHECK: @logical: tensor<4xi1> [1, 0, 0, 0]
  %0 = nn.and %x, %y : tensor<4xi1>
  // CHECK-NEXT: [1, 1, 1, 0]
  %1 = nn.or %x, %y : tensor<4xi1>
  // CHECK-NEXT: [0, 1, 1, 0]
  %2 = nn.xor %x, %y : tensor<4xi1>
  // CHECK-NEXT: [0, 0, 1, 1]
  %3 = nn.not %x : tensor<4xi1>
  return %0, %1, %2, %3 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// Comparisons with NaN are false except ne.
func.func @compare() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>) {
  %x = nn.constant dense<[1.0, 2.0, 3.0, 0x7FC00000]> : tensor<4xf32>
  %y = nn.constant dense<2.0> : tensor<4xf32>
  // CHECK: @compare: tensor<4xi1> [0, 1, 0, 0]
  %0 = nn.compare eq %x, %y : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: [1, 0, 1, 1]
  %1 = nn.compare ne %x, %y : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: [1, 0, 0, 0]
  %2 = nn.compare lt %x, %y : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: [1, 1, 0, 0]
  %3 = nn.compare le %x, %y : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: [0, 0, 1, 0]
  %4 = nn.compare gt %x, %y : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: [0, 1, 1, 0]
  %5 = nn.compare ge %x, %y : tensor<4xf32> -> tensor<4xi1>
  %i = nn.constant dense<[-1, 200]> : tensor<2xi16>
  %z = nn.constant dense<1> : tensor<2xi16>
  %u = nn.constant dense<[255, 0]> : tensor<2xui8>
  %w = nn.constant dense<1> : tensor<2xui8>
  // CHECK-NEXT: [1, 0]
  %6 = nn.compare lt %i, %z : tensor<2xi16> -> tensor<2xi1>
  // CHECK-NEXT: [0, 1]
  %7 = nn.compare lt %u, %w : tensor<2xui8> -> tensor<2xi1>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>
}

func.func @select() -> (tensor<2xf32>) {
  %c = nn.constant dense<[true, false]> : tensor<2xi1>
  %x = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = nn.constant dense<[3.0, 4.0]> : tensor<2xf32>
  // CHECK: @select: tensor<2xf32> [1, 4]
  %0 = nn.select %c, %x, %y : tensor<2xi1>, tensor<2xf32>
  return %0 : tensor<2xf32>
}

func.func @cast() -> (tensor<4xi32>, tensor<4xi1>, tensor<4xbf16>, tensor<4xf16>, tensor<2xf32>, tensor<2xi8>, tensor<2xi64>, tensor<2xf64>) {
  %x = nn.constant dense<[1.75, -1.75, 0.0, 257.0]> : tensor<4xf32>
  // CHECK: @cast: tensor<4xi32> [1, -1, 0, 257]
  %0 = nn.cast %x : tensor<4xf32> to tensor<4xi32>
  // CHECK-NEXT: tensor<4xi1> [1, 1, 0, 1]
  %1 = nn.cast %x : tensor<4xf32> to tensor<4xi1>
  // 257 lies between 256 and 258: to even.
  // CHECK-NEXT: tensor<4xbf16> [1.75, -1.75, 0, 256]
  %2 = nn.cast %x : tensor<4xf32> to tensor<4xbf16>
  // CHECK-NEXT: tensor<4xf16> [1.75, -1.75, 0, 257]
  %3 = nn.cast %x : tensor<4xf32> to tensor<4xf16>
  // Rounded once, to even (the unit test of casts looks at the bits).
  %big = nn.constant dense<[16777217, 18014399583223809]> : tensor<2xi64>
  // CHECK-NEXT: tensor<2xf32> [1.67772e+07, 1.80144e+16]
  %4 = nn.cast %big : tensor<2xi64> to tensor<2xf32>
  %i = nn.constant dense<[257, -1]> : tensor<2xi32>
  // CHECK-NEXT: tensor<2xi8> [1, -1]
  %5 = nn.cast %i : tensor<2xi32> to tensor<2xi8>
  %u = nn.constant dense<[255, 1]> : tensor<2xui8>
  // CHECK-NEXT: tensor<2xi64> [255, 1]
  %6 = nn.cast %u : tensor<2xui8> to tensor<2xi64>
  // CHECK-NEXT: tensor<2xf64> [257, -1]
  %7 = nn.cast %i : tensor<2xi32> to tensor<2xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4xi32>, tensor<4xi1>, tensor<4xbf16>, tensor<4xf16>, tensor<2xf32>, tensor<2xi8>, tensor<2xi64>, tensor<2xf64>
}

// A float that the integer type cannot hold becomes the nearest number that it can, NaN 0.
func.func @cast_far() -> (tensor<5xi8>, tensor<5xui32>, tensor<5xi64>, tensor<5xui64>) {
  %x = nn.constant dense<[127.9, 128.0, -1.0e+30, 0x7FC00000, 0x7F800000]> : tensor<5xf32>
  // CHECK: @cast_far: tensor<5xi8> [127, 127, -128, 0, 127]
  %0 = nn.cast %x : tensor<5xf32> to tensor<5xi8>
  // CHECK-NEXT: tensor<5xui32> [127, 128, 0, 0, 4294967295]
  %1 = nn.cast %x : tensor<5xf32> to tensor<5xui32>
  // CHECK-NEXT: tensor<5xi64> [127, 128, -9223372036854775808, 0, 9223372036854775807]
  %2 = nn.cast %x : tensor<5xf32> to tensor<5xi64>
  // CHECK-NEXT: tensor<5xui64> [127, 128, 0, 0, 18446744073709551615]
  %3 = nn.cast %x : tensor<5xf32> to tensor<5xui64>
  return %0, %1, %2, %3 : tensor<5xi8>, tensor<5xui32>, tensor<5xi64>, tensor<5xui64>
}

// Numbers beyond those of i64.
func.func @wide_unsigned() -> (tensor<2xui64>, tensor<2xui64>, tensor<2xui64>, tensor<2xui64>, tensor<2xi1>, tensor<2xf64>, tensor<2xi64>, tensor<ui64>, tensor<ui64>) {
  %x = nn.constant dense<[18446744073709551615, 10]> : tensor<2xui64>
  %y = nn.constant dense<[3, 9223372036854775808]> : tensor<2xui64>
  // CHECK: @wide_unsigned: tensor<2xui64> [6148914691236517205, 0]
  %0 = nn.div %x, %y : tensor<2xui64>
  // CHECK-NEXT: [0, 10]
  %1 = nn.rem %x, %y : tensor<2xui64>
  // CHECK-NEXT: [18446744073709551615, 9223372036854775808]
  %2 = nn.max %x, %y : tensor<2xui64>
  // CHECK-NEXT: [3, 10]
  %3 = nn.min %x, %y : tensor<2xui64>
  // CHECK-NEXT: [0, 1]
  %4 = nn.compare lt %x, %y : tensor<2xui64> -> tensor<2xi1>
  // CHECK-NEXT: tensor<2xf64> [1.84467e+19, 10]
  %5 = nn.cast %x : tensor<2xui64> to tensor<2xf64>
  // CHECK-NEXT: tensor<2xi64> [-1, 10]
  %6 = nn.cast %x : tensor<2xui64> to tensor<2xi64>
  // CHECK-NEXT: tensor<ui64> [18446744073709551615]
  %7 = nn.reduce max %x axes [0] : tensor<2xui64> to tensor<ui64>
  // CHECK-NEXT: tensor<ui64> [10]
  %8 = nn.reduce min %x axes [0] : tensor<2xui64> to tensor<ui64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2xui64>, tensor<2xui64>, tensor<2xui64>, tensor<2xui64>, tensor<2xi1>, tensor<2xf64>, tensor<2xi64>, tensor<ui64>, tensor<ui64>
}

func.func @shifts() -> (tensor<5xi8>, tensor<5xi8>, tensor<4xui16>, tensor<4xui16>) {
  %x = nn.constant dense<[1, -1, -128, 5, -5]> : tensor<5xi8>
  %n = nn.constant dense<[7, 1, 2, 8, 100]> : tensor<5xi8>
  // CHECK: @shifts: tensor<5xi8> [-128, -2, 0, 0, 0]
  %0 = nn.shift_left %x, %n : tensor<5xi8>
  // CHECK-NEXT: [0, -1, -32, 0, -1]
  %1 = nn.shift_right %x, %n : tensor<5xi8>
  %u = nn.constant dense<[65535, 3, 40000, 1]> : tensor<4xui16>
  %m = nn.constant dense<[15, 1, 16, 0]> : tensor<4xui16>
  // CHECK-NEXT: [32768, 6, 0, 1]
  %2 = nn.shift_left %u, %m : tensor<4xui16>
  // CHECK-NEXT: [1, 1, 0, 1]
  %3 = nn.shift_right %u, %m : tensor<4xui16>
  return %0, %1, %2, %3 : tensor<5xi8>, tensor<5xi8>, tensor<4xui16>, tensor<4xui16>
}

func.func @near_zero() -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %x = nn.constant dense<[1.0e-12, -0.5, 2.0, -0.0]> : tensor<4xf64>
  // CHECK: @near_zero: tensor<4xf64> [1e-12, -0.693147, 1.09861, -0]
  %0 = nn.log1p %x : tensor<4xf64>
  // CHECK-NEXT: [1e-12, -0.393469, 6.38906, -0]
  %1 = nn.expm1 %x : tensor<4xf64>
  // CHECK-NEXT: [1e-12, -0.463648, 1.10715, -0]
  %2 = nn.atan %x : tensor<4xf64>
  return %0, %1, %2 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}

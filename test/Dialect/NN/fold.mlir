// RUN: zero-opt %s -canonicalize -split-input-file | FileCheck %s

// What folds, and beside it what must not: a fold keeps every bit.

// CHECK-LABEL: func @add_zero
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
func.func @add_zero(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %minus = nn.constant dense<-0.0> : tensor<4xf32>
  %plus = nn.constant dense<0.0> : tensor<4xf32>
  %zero = nn.constant dense<0> : tensor<4xi32>
  %0 = nn.add %minus, %x : tensor<4xf32>
  // -0.0 + 0.0 is 0.0.
  // CHECK: %[[KEPT:.*]] = nn.add %[[X]]
  %1 = nn.add %x, %plus : tensor<4xf32>
  %2 = nn.add %i, %zero : tensor<4xi32>
  // CHECK: return %[[X]], %[[KEPT]], %[[I]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: func @sub
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
func.func @sub(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %minus = nn.constant dense<-0.0> : tensor<4xf32>
  %plus = nn.constant dense<0.0> : tensor<4xf32>
  // CHECK-DAG: %[[Z:.*]] = nn.constant dense<0> : tensor<4xi32>
  %0 = nn.sub %x, %plus : tensor<4xf32>
  // CHECK: %[[A:.*]] = nn.sub %[[X]]
  %1 = nn.sub %x, %minus : tensor<4xf32>
  // x may be NaN or infinite.
  // CHECK: %[[B:.*]] = nn.sub %[[X]], %[[X]]
  %2 = nn.sub %x, %x : tensor<4xf32>
  %3 = nn.sub %i, %i : tensor<4xi32>
  // CHECK: return %[[X]], %[[A]], %[[B]], %[[Z]]
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: func @mul
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>, %[[D:.*]]: tensor<?xi32>)
func.func @mul(%x: tensor<4xf32>, %i: tensor<4xi32>, %d: tensor<?xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %zero = nn.constant dense<0.0> : tensor<4xf32>
  %izero = nn.constant dense<0> : tensor<4xi32>
  // CHECK-DAG: %[[Z:.*]] = nn.constant dense<0> : tensor<4xi32>
  %0 = nn.mul %one, %x : tensor<4xf32>
  // CHECK: %[[A:.*]] = nn.mul %[[X]]
  %1 = nn.mul %x, %zero : tensor<4xf32>
  %2 = nn.mul %i, %izero : tensor<4xi32>
  // CHECK: return %[[X]], %[[A]], %[[Z]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: func @div_pow
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @div_pow(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %0 = nn.div %x, %one : tensor<4xf32>
  %1 = nn.pow %x, %one : tensor<4xf32>
  // CHECK: %[[A:.*]] = nn.div %[[X]], %[[X]]
  %2 = nn.div %x, %x : tensor<4xf32>
  // CHECK: return %[[X]], %[[X]], %[[A]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @logical
// CHECK-SAME: (%[[B:.*]]: tensor<4xi1>)
func.func @logical(%b: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %true = nn.constant dense<true> : tensor<4xi1>
  %false = nn.constant dense<false> : tensor<4xi1>
  // CHECK-DAG: %[[T:.*]] = nn.constant dense<true>
  // CHECK-DAG: %[[F:.*]] = nn.constant dense<false>
  %0 = nn.and %b, %true : tensor<4xi1>
  %1 = nn.and %b, %false : tensor<4xi1>
  %2 = nn.or %b, %true : tensor<4xi1>
  %3 = nn.or %b, %false : tensor<4xi1>
  %4 = nn.and %b, %b : tensor<4xi1>
  %5 = nn.or %b, %b : tensor<4xi1>
  // CHECK: return %[[B]], %[[F]], %[[T]], %[[B]], %[[B]], %[[B]]
  return %0, %1, %2, %3, %4, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// -----

// CHECK-LABEL: func @constants
func.func @constants() -> (tensor<2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<4000xf32>, tensor<2xbf16>) {
  %a = nn.constant dense<[1.5, 2.0]> : tensor<2xf32>
  %b = nn.constant dense<[0.5, -4.0]> : tensor<2xf32>
  %i = nn.constant dense<[7, -7]> : tensor<2xi64>
  %j = nn.constant dense<2> : tensor<2xi64>
  %s = nn.constant dense<0.1> : tensor<4000xf32>
  %t = nn.constant dense<0.2> : tensor<4000xf32>
  %p = nn.constant dense<[1.0, 256.0]> : tensor<2xbf16>
  %q = nn.constant dense<[0.00390625, 1.0]> : tensor<2xbf16>
  // CHECK-DAG: %[[A:.*]] = nn.constant dense<[3.000000e+00, -5.000000e-01]> : tensor<2xf32>
  %0 = nn.div %a, %b : tensor<2xf32>
  // CHECK-DAG: %[[B:.*]] = nn.constant dense<[3, -3]> : tensor<2xi64>
  %1 = nn.div %i, %j : tensor<2xi64>
  // CHECK-DAG: %[[C:.*]] = nn.constant dense<[9, -5]> : tensor<2xi64>
  %2 = nn.add %i, %j : tensor<2xi64>
  // Rounded as float32: in float64 this is 0.30000000000000004.
  // CHECK-DAG: %[[D:.*]] = nn.constant dense<3.000000e-01> : tensor<4000xf32>
  %3 = nn.add %s, %t : tensor<4000xf32>
  // Half way: to even.
  // CHECK-DAG: %[[E:.*]] = nn.constant dense<[1.000000e+00, 2.560000e+02]> : tensor<2xbf16>
  %4 = nn.add %p, %q : tensor<2xbf16>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]
  return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<4000xf32>, tensor<2xbf16>
}

// -----

// No value is made up.
// CHECK-LABEL: func @no_value
func.func @no_value() -> (tensor<2xi64>, tensor<f32>, tensor<bf16>) {
  %i = nn.constant dense<[7, -7]> : tensor<2xi64>
  %z = nn.constant dense<[1, 0]> : tensor<2xi64>
  %f = nn.constant dense<0.0> : tensor<f32>
  %nan = nn.constant dense<0x7FC00000> : tensor<f32>
  // CHECK: nn.div
  %0 = nn.div %i, %z : tensor<2xi64>
  // CHECK: nn.div
  %1 = nn.div %f, %f : tensor<f32>
  // CHECK: nn.cast
  %2 = nn.cast %nan : tensor<f32> to tensor<bf16>
  return %0, %1, %2 : tensor<2xi64>, tensor<f32>, tensor<bf16>
}

// -----

// CHECK-LABEL: func @select
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>, %[[C:.*]]: tensor<2xi1>)
func.func @select(%x: tensor<2xf32>, %y: tensor<2xf32>, %c: tensor<2xi1>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %true = nn.constant dense<true> : tensor<2xi1>
  %mixed = nn.constant dense<[true, false]> : tensor<2xi1>
  %a = nn.constant dense<1.0> : tensor<2xf32>
  %b = nn.constant dense<2.0> : tensor<2xf32>
  %0 = nn.select %true, %x, %y : tensor<2xi1>, tensor<2xf32>
  %1 = nn.select %c, %y, %y : tensor<2xi1>, tensor<2xf32>
  // CHECK-DAG: %[[K:.*]] = nn.constant dense<[1.000000e+00, 2.000000e+00]>
  %2 = nn.select %mixed, %a, %b : tensor<2xi1>, tensor<2xf32>
  // CHECK: %[[S:.*]] = nn.select
  %3 = nn.select %mixed, %x, %y : tensor<2xi1>, tensor<2xf32>
  // CHECK: return %[[X]], %[[Y]], %[[K]], %[[S]]
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// A constant has no gradient that could be stopped.
// CHECK-LABEL: func @stop_gradient
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>)
func.func @stop_gradient(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK-DAG: %[[K:.*]] = nn.constant dense<[1.000000e+00, 2.000000e+00]>
  %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = nn.stop_gradient %c : tensor<2xf32>
  // CHECK-DAG: %[[S:.*]] = nn.stop_gradient %[[X]]
  %1 = nn.stop_gradient %x : tensor<2xf32>
  // CHECK: return %[[K]], %[[S]]
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// A choice between true and false is its condition; the other way round it is not.
// CHECK-LABEL: func @select_bool
// CHECK-SAME: (%[[C:.*]]: tensor<3000xi1>)
func.func @select_bool(%c: tensor<3000xi1>) -> (tensor<3000xi1>, tensor<3000xi1>) {
  %true = nn.constant dense<true> : tensor<3000xi1>
  %false = nn.constant dense<false> : tensor<3000xi1>
  %0 = nn.select %c, %true, %false : tensor<3000xi1>, tensor<3000xi1>
  // CHECK: %[[S:.*]] = nn.select
  %1 = nn.select %c, %false, %true : tensor<3000xi1>, tensor<3000xi1>
  // CHECK: return %[[C]], %[[S]]
  return %0, %1 : tensor<3000xi1>, tensor<3000xi1>
}

// -----

// CHECK-LABEL: func @cast
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>, %[[H:.*]]: tensor<2xbf16>, %[[B:.*]]: tensor<2xi1>)
func.func @cast(%x: tensor<2xf32>, %h: tensor<2xbf16>, %b: tensor<2xi1>) -> (tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>, tensor<2xi1>, tensor<2xbf16>) {
  %0 = nn.cast %x : tensor<2xf32> to tensor<2xf32>
  %1 = nn.cast %h : tensor<2xbf16> to tensor<2xf32>
  %2 = nn.cast %1 : tensor<2xf32> to tensor<2xbf16>
  // Narrowing loses bits.
  // CHECK: %[[N:.*]] = nn.cast %[[X]] : tensor<2xf32> to tensor<2xbf16>
  %3 = nn.cast %x : tensor<2xf32> to tensor<2xbf16>
  // CHECK: %[[W:.*]] = nn.cast %[[N]]
  %4 = nn.cast %3 : tensor<2xbf16> to tensor<2xf32>
  %5 = nn.cast %b : tensor<2xi1> to tensor<2xi64>
  %6 = nn.cast %5 : tensor<2xi64> to tensor<2xi1>
  // Neither of f16 and bf16 holds the other.
  // CHECK: nn.cast
  %7 = nn.cast %h : tensor<2xbf16> to tensor<2xf16>
  // CHECK: %[[F:.*]] = nn.cast
  %8 = nn.cast %7 : tensor<2xf16> to tensor<2xbf16>
  // CHECK: return %[[X]], %[[H]], %[[W]], %[[B]], %[[F]]
  return %0, %2, %4, %6, %8 : tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>, tensor<2xi1>, tensor<2xbf16>
}

// -----

// CHECK-LABEL: func @cast_constants
func.func @cast_constants() -> (tensor<3xi32>, tensor<2xi1>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<2xi8>, tensor<4xui8>, tensor<2xf64>, tensor<2xui64>) {
  %f = nn.constant dense<[1.9, -1.9, 0.0]> : tensor<3xf32>
  %h = nn.constant dense<[0.5, -0.0]> : tensor<2xf32>
  %b = nn.constant dense<[true, false]> : tensor<2xi1>
  %big = nn.constant dense<16777217> : tensor<1xi64>
  %u = nn.constant dense<[255, 1]> : tensor<2xui8>
  %i = nn.constant dense<[257, -1]> : tensor<2xi32>
  // CHECK-DAG: dense<[1, -1, 0]> : tensor<3xi32>
  %0 = nn.cast %f : tensor<3xf32> to tensor<3xi32>
  // CHECK-DAG: dense<[true, false]> : tensor<2xi1>
  %1 = nn.cast %h : tensor<2xf32> to tensor<2xi1>
  // CHECK-DAG: dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>
  %2 = nn.cast %b : tensor<2xi1> to tensor<2xf32>
  // CHECK-DAG: dense<0x4B800000> : tensor<1xf32>
  %3 = nn.cast %big : tensor<1xi64> to tensor<1xf32>
  // CHECK-DAG: dense<[2.550000e+02, 1.000000e+00]> : tensor<2xf32>
  %4 = nn.cast %u : tensor<2xui8> to tensor<2xf32>
  // CHECK-DAG: dense<[1, -1]> : tensor<2xi8>
  %5 = nn.cast %i : tensor<2xi32> to tensor<2xi8>
  // The nearest number of the type.
  %far = nn.constant dense<[300.0, -1.0, 0x7FC00000, 0x7F800000]> : tensor<4xf32>
  // CHECK-DAG: dense<[255, 0, 0, 255]> : tensor<4xui8>
  %6 = nn.cast %far : tensor<4xf32> to tensor<4xui8>
  %wide = nn.constant dense<[18446744073709551615, 1]> : tensor<2xui64>
  // CHECK-DAG: dense<[1.8446744073709552E+19, 1.000000e+00]> : tensor<2xf64>
  %7 = nn.cast %wide : tensor<2xui64> to tensor<2xf64>
  // CHECK-DAG: dense<[257, 18446744073709551615]> : tensor<2xui64>
  %8 = nn.cast %i : tensor<2xi32> to tensor<2xui64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<3xi32>, tensor<2xi1>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<2xi8>, tensor<4xui8>, tensor<2xf64>, tensor<2xui64>
}

// -----

// What a group yields is computed there: a constant would be a result that no kernel writes.
// CHECK-LABEL: func @yielded_splat
func.func @yielded_splat(%w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // CHECK: nn.group
  // CHECK: %[[B:.*]] = nn.broadcast
  // CHECK: nn.yield %[[B]]
  %0 = nn.group() -> (tensor<4x8xf32>) {
    %zero = nn.constant dense<0.0> : tensor<f32>
    %1 = nn.broadcast %zero dims [] : tensor<f32> to tensor<4x8xf32>
    nn.yield %1 : tensor<4x8xf32>
  }
  %2 = nn.matmul %0, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

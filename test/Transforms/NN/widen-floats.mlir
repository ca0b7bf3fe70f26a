// RUN: zero-opt %s --nn-widen-floats | FileCheck %s

// CHECK-LABEL: @scatter
// CHECK:         %[[X:.*]] = nn.cast %arg0 : tensor<8x6xbf16> to tensor<8x6xf32>
// CHECK:         %[[U:.*]] = nn.cast %arg1 : tensor<2x6xbf16> to tensor<2x6xf32>
// CHECK:         %[[P:.*]] = nn.scatter add %[[X]], %[[U]][%arg2] axis 0 : tensor<8x6xf32>, tensor<2x6xf32>, tensor<2xi64>
// CHECK:         %[[Y:.*]] = nn.cast %[[P]] : tensor<8x6xf32> to tensor<8x6xbf16>
// CHECK:         nn.neg %[[Y]] : tensor<8x6xbf16>
func.func @scatter(%x: tensor<8x6xbf16>, %u: tensor<2x6xbf16>, %i: tensor<2xi64>) -> tensor<8x6xbf16> {
  %0 = nn.scatter add %x, %u[%i] axis 0 : tensor<8x6xbf16>, tensor<2x6xbf16>, tensor<2xi64>
  %1 = nn.neg %0 : tensor<8x6xbf16>
  return %1 : tensor<8x6xbf16>
}

// Of several results the floats alone.
// CHECK-LABEL: @max_pool
// CHECK:         %[[V:.*]], %[[I:.*]] = nn.max_pool %{{.*}} : tensor<1x1x4xf32> -> tensor<1x1x2xf32>, tensor<1x1x2xi64>
// CHECK:         %[[H:.*]] = nn.cast %[[V]] : tensor<1x1x2xf32> to tensor<1x1x2xf16>
// CHECK:         return %[[H]], %[[I]]
func.func @max_pool(%x: tensor<1x1x4xf16>) -> (tensor<1x1x2xf16>, tensor<1x1x2xi64>) {
  %0, %1 = nn.max_pool %x window [2] strides [2] low [0] high [0] dilations [1]
    : tensor<1x1x4xf16> -> tensor<1x1x2xf16>, tensor<1x1x2xi64>
  return %0, %1 : tensor<1x1x2xf16>, tensor<1x1x2xi64>
}

// A sum is rounded at its end; a maximum is no sum.
// CHECK-LABEL: @reduce
// CHECK:         %[[W:.*]] = nn.cast %arg0 : tensor<4x8x2xbf16> to tensor<4x8x2xf32>
// CHECK:         %[[S:.*]] = nn.reduce sum %[[W]] axes [0, 2] : tensor<4x8x2xf32> to tensor<8xf32>
// CHECK:         %[[R:.*]] = nn.cast %[[S]] : tensor<8xf32> to tensor<8xbf16>
// CHECK:         %[[M:.*]] = nn.reduce max %arg0 axes [0, 2] : tensor<4x8x2xbf16> to tensor<8xbf16>
// CHECK:         return %[[R]], %[[M]]
func.func @reduce(%x: tensor<4x8x2xbf16>) -> (tensor<8xbf16>, tensor<8xbf16>) {
  %0 = nn.reduce sum %x axes [0, 2] : tensor<4x8x2xbf16> to tensor<8xbf16>
  %1 = nn.reduce max %x axes [0, 2] : tensor<4x8x2xbf16> to tensor<8xbf16>
  return %0, %1 : tensor<8xbf16>, tensor<8xbf16>
}

// CHECK-LABEL: @conv
// CHECK:         nn.conv {{.*}} : tensor<1x2x8xf32>, tensor<4x2x3xf32> -> tensor<1x4x6xf32>
func.func @conv(%x: tensor<1x2x8xbf16>, %k: tensor<4x2x3xbf16>) -> tensor<1x4x6xbf16> {
  %0 = nn.conv %x, %k strides [1] low [0] high [0] dilations [1] : tensor<1x2x8xbf16>, tensor<4x2x3xbf16> -> tensor<1x4x6xbf16>
  return %0 : tensor<1x4x6xbf16>
}

// What generated code and kernels of the library compute, what moves elements and wide floats stay.
// CHECK-LABEL: @leaves
// CHECK-NOT:     nn.cast
// CHECK:         return
func.func @leaves(%x: tensor<4xf16>, %i: tensor<2xi64>, %u: tensor<2xf16>, %d: tensor<2x2xf64>, %h: tensor<2x2xf16>, %q: tensor<1x2x2x4xbf16>)
    -> (tensor<4xf16>, tensor<2xf16>, tensor<2x2xf64>, tensor<2x2xf16>, tensor<1x2x2x4xbf16>, tensor<9xf16>) {
  %0 = nn.exp %x : tensor<4xf16>
  %1 = nn.scatter assign %0, %u[%i] axis 0 : tensor<4xf16>, tensor<2xf16>, tensor<2xi64>
  %2 = nn.gather %x[%i] axis 0 : tensor<4xf16>, tensor<2xi64> -> tensor<2xf16>
  %3 = nn.matmul %d, %d : tensor<2x2xf64>, tensor<2x2xf64> -> tensor<2x2xf64>
  %4 = nn.matmul %h, %h : tensor<2x2xf16>, tensor<2x2xf16> -> tensor<2x2xf16>
  %5, %6 = nn.attention %q, %q, %q scale 0.5 causal
    : tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16> -> tensor<1x2x2x4xbf16>, tensor<1x2x2xf32>
  %7 = nn.scatter_add %u[%i] axis 0 : tensor<2xf16>, tensor<2xi64> -> tensor<9xf16>
  return %1, %2, %3, %4, %5, %7 : tensor<4xf16>, tensor<2xf16>, tensor<2x2xf64>, tensor<2x2xf16>, tensor<1x2x2x4xbf16>, tensor<9xf16>
}

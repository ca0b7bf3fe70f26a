// RUN: zero-opt %s --nn-fold-constants --split-input-file | FileCheck %s
// RUN: zero-opt %s --nn-fold-constants=max-elements=2 --split-input-file | FileCheck %s --check-prefix=SMALL

// Positions through views, sums and gathers stay an iota, whatever the size.
// CHECK-LABEL: func @positions(
// CHECK-NEXT:    %[[I:.*]] = nn.iota axis 3 : tensor<8x1x64x64xi64>
// CHECK-NEXT:    return %[[I]]
func.func @positions() -> tensor<8x1x64x64xi64> {
  %0 = nn.constant dense<1> : tensor<64xi64>
  %1 = nn.cumsum %0 axis 0 {exclusive} : tensor<64xi64>
  %2 = nn.reshape %1 : tensor<64xi64> to tensor<1x1x1x64xi64>
  %3 = nn.broadcast %2 dims [0, 1, 2, 3] : tensor<1x1x1x64xi64> to tensor<8x1x64x64xi64>
  return %3 : tensor<8x1x64x64xi64>
}

// -----

// A mask is a comparison of iotas: no constant of its size.
// CHECK-LABEL: func @mask(
// CHECK-DAG:     %[[S:.*]] = nn.iota axis 2 : tensor<8x64x64xi64>
// CHECK-DAG:     %[[T:.*]] = nn.iota axis 1 : tensor<8x64x64xi64>
// CHECK-NEXT:    %[[M:.*]] = nn.compare le %[[S]], %[[T]]
// CHECK-NEXT:    return %[[M]]
func.func @mask() -> tensor<8x64x64xi1> {
  %table = nn.iota axis 1 : tensor<8x64xi64>
  %batch = nn.iota axis 0 : tensor<8x64x64x1xi64>
  %row = nn.iota axis 1 : tensor<8x64x64x1xi64>
  %column = nn.iota axis 2 : tensor<8x64x64x1xi64>
  %rows = nn.concat %batch, %row axis 3 : tensor<8x64x64x1xi64>, tensor<8x64x64x1xi64> -> tensor<8x64x64x2xi64>
  %columns = nn.concat %batch, %column axis 3 : tensor<8x64x64x1xi64>, tensor<8x64x64x1xi64> -> tensor<8x64x64x2xi64>
  %t = nn.gather_nd %table[%rows] : tensor<8x64xi64>, tensor<8x64x64x2xi64> -> tensor<8x64x64xi64>
  %s = nn.gather_nd %table[%columns] : tensor<8x64xi64>, tensor<8x64x64x2xi64> -> tensor<8x64x64xi64>
  %le = nn.compare le %s, %t : tensor<8x64x64xi64> -> tensor<8x64x64xi1>
  %all = nn.constant dense<true> : tensor<8x64x64xi1>
  %m = nn.and %all, %le : tensor<8x64x64xi1>
  return %m : tensor<8x64x64xi1>
}

// -----

// Document ids of a model that has one document: positions differ by 1 everywhere, so no document begins.
// CHECK-LABEL: func @documents(
// CHECK-NEXT:    %[[C:.*]] = nn.constant dense<0> : tensor<8x64xi64>
// CHECK-NEXT:    return %[[C]]
func.func @documents() -> tensor<8x64xi64> {
  %p = nn.iota axis 1 : tensor<8x64xi64>
  %one = nn.constant dense<1> : tensor<8x1xi64>
  %first = nn.slice %p starts [0, 0] strides [1, 1] : tensor<8x64xi64> to tensor<8x1xi64>
  %before = nn.sub %first, %one : tensor<8x1xi64>
  %all = nn.concat %before, %p axis 1 : tensor<8x1xi64>, tensor<8x64xi64> -> tensor<8x65xi64>
  %low = nn.slice %all starts [0, 0] strides [1, 1] : tensor<8x65xi64> to tensor<8x64xi64>
  %high = nn.slice %all starts [0, 1] strides [1, 1] : tensor<8x65xi64> to tensor<8x64xi64>
  %step = nn.sub %high, %low : tensor<8x64xi64>
  %ones = nn.constant dense<1> : tensor<8x64xi64>
  %same = nn.compare eq %step, %ones : tensor<8x64xi64> -> tensor<8x64xi1>
  %begins = nn.not %same : tensor<8x64xi1>
  %n = nn.cast %begins : tensor<8x64xi1> to tensor<8x64xi64>
  %ids = nn.cumsum %n axis 1 : tensor<8x64xi64>
  return %ids : tensor<8x64xi64>
}

// -----

// Elementwise ops of splats are one number, whatever the shape.
// CHECK-LABEL: func @splat(
// CHECK-NEXT:    nn.constant dense<5.000000e-01> : tensor<1024x1024x64xf32>
// CHECK-NEXT:    return
func.func @splat() -> tensor<1024x1024x64xf32> {
  %0 = nn.constant dense<0.25> : tensor<1024x1024x64xf32>
  %1 = nn.sqrt %0 : tensor<1024x1024x64xf32>
  return %1 : tensor<1024x1024x64xf32>
}

// -----

// Numbers are evaluated; within max-elements, and never to more of them.
// CHECK-LABEL: func @numbers(
// CHECK:         nn.constant dense<[1.000000e+00, 1.41421354, 2.000000e+00]> : tensor<3xf32>
// CHECK-NOT:     nn.sqrt
// SMALL-LABEL: func @numbers(
// SMALL:         nn.sqrt
func.func @numbers() -> tensor<3xf32> {
  %0 = nn.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %1 = nn.sqrt %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// An outer product is larger than its factors: it stays.
// CHECK-LABEL: func @outer(
// CHECK:         nn.matmul
func.func @outer() -> tensor<3x3xf32> {
  %0 = nn.constant dense<[[1.0], [2.0], [4.0]]> : tensor<3x1xf32>
  %1 = nn.constant dense<[[1.0, 2.0, 4.0]]> : tensor<1x3xf32>
  %2 = nn.matmul %0, %1 : tensor<3x1xf32>, tensor<1x3xf32> -> tensor<3x3xf32>
  return %2 : tensor<3x3xf32>
}

// -----

// Positions that a model stores as numbers are an iota again.
// CHECK-LABEL: func @stored(
// CHECK:         %[[I:.*]] = nn.iota axis 1 : tensor<1x10xi64>
// CHECK:         %[[C:.*]] = nn.constant dense<2> : tensor<1x10xi64>
// CHECK:         %[[M:.*]] = nn.mul %[[I]], %[[C]]
// CHECK:         return %[[M]]
func.func @stored() -> tensor<1x10xi64> {
  %0 = nn.constant dense<[[0, 2, 4, 6, 8, 10, 12, 14, 16, 18]]> : tensor<1x10xi64>
  return %0 : tensor<1x10xi64>
}

// -----

// Reading by positions is a slice.
// CHECK-LABEL: func @rows(
// CHECK-NEXT:    %[[S:.*]] = nn.slice %{{.*}} starts [1, 0] strides [2, 1] : tensor<64x16xf32> to tensor<8x16xf32>
// CHECK-NEXT:    %[[R:.*]] = nn.reshape %[[S]] : tensor<8x16xf32> to tensor<1x8x16xf32>
// CHECK-NEXT:    return %[[R]]
func.func @rows(%t: tensor<64x16xf32>) -> tensor<1x8x16xf32> {
  %0 = nn.iota axis 1 : tensor<1x8xi64>
  %1 = nn.constant dense<2> : tensor<1x8xi64>
  %2 = nn.mul %0, %1 : tensor<1x8xi64>
  %3 = nn.constant dense<1> : tensor<1x8xi64>
  %4 = nn.add %2, %3 : tensor<1x8xi64>
  %5 = nn.gather %t[%4] axis 0 : tensor<64x16xf32>, tensor<1x8xi64> -> tensor<1x8x16xf32>
  return %5 : tensor<1x8x16xf32>
}

// -----

// So is reading an input by index tuples of positions.
// CHECK-LABEL: func @pairs(
// CHECK-NEXT:    %[[R:.*]] = nn.reshape %{{.*}} : tensor<8x64xi1> to tensor<8x1x64xi1>
// CHECK-NEXT:    %[[B:.*]] = nn.broadcast %[[R]] dims [0, 1, 2] : tensor<8x1x64xi1> to tensor<8x5x64xi1>
// CHECK-NEXT:    return %[[B]]
func.func @pairs(%x: tensor<8x64xi1>) -> tensor<8x5x64xi1> {
  %0 = nn.iota axis 0 : tensor<8x5x64x1xi64>
  %1 = nn.iota axis 2 : tensor<8x5x64x1xi64>
  %2 = nn.concat %0, %1 axis 3 : tensor<8x5x64x1xi64>, tensor<8x5x64x1xi64> -> tensor<8x5x64x2xi64>
  %3 = nn.gather_nd %x[%2] : tensor<8x64xi1>, tensor<8x5x64x2xi64> -> tensor<8x5x64xi1>
  return %3 : tensor<8x5x64xi1>
}

// -----

// What depends on an input, and what has no defined value, is left alone.
// CHECK-LABEL: func @leaves(
// CHECK:         nn.add %arg0, %arg0
// CHECK:         nn.div
// CHECK:         nn.gather
// CHECK:         nn.compare eq
func.func @leaves(%x: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<1xi64>, tensor<4x4xi1>) {
  %0 = nn.add %x, %x : tensor<4xi64>
  %1 = nn.constant dense<0> : tensor<4xi64>
  %2 = nn.div %1, %1 : tensor<4xi64>
  %3 = nn.constant dense<4> : tensor<1xi64>
  %4 = nn.gather %1[%3] axis 0 : tensor<4xi64>, tensor<1xi64> -> tensor<1xi64>
  %5 = nn.iota axis 0 : tensor<4x4xi64>
  %6 = nn.iota axis 1 : tensor<4x4xi64>
  %7 = nn.compare eq %5, %6 : tensor<4x4xi64> -> tensor<4x4xi1>
  return %0, %2, %4, %7 : tensor<4xi64>, tensor<4xi64>, tensor<1xi64>, tensor<4x4xi1>
}

// -----

// Index tuples that are no positions become linear indices: dimensions 0 (the batch), 1 and 2 are one, and what is outside
// one of them is outside the whole.
// CHECK-LABEL: func @tuples(
// CHECK-SAME:      %[[X:.*]]: tensor<3x5x4x2xf32>, %[[I:.*]]: tensor<3x2xi64>)
// CHECK-NOT:     nn.gather_nd
// CHECK:         %[[OUTSIDE:.*]] = nn.constant dense<-1> : tensor<3xi64>
// CHECK-NEXT:    %[[LINEAR:.*]] = nn.select %{{.*}}, %{{.*}}, %[[OUTSIDE]] : tensor<3xi1>, tensor<3xi64>
// CHECK-NEXT:    %[[FLAT:.*]] = nn.reshape %[[X]] : tensor<3x5x4x2xf32> to tensor<60x2xf32>
// CHECK-NEXT:    nn.gather %[[FLAT]][%[[LINEAR]]] axis 0 : tensor<60x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
func.func @tuples(%x: tensor<3x5x4x2xf32>, %i: tensor<3x2xi64>) -> tensor<3x2xf32> {
  %0 = nn.gather_nd %x[%i] {batch_dims = 1} : tensor<3x5x4x2xf32>, tensor<3x2xi64> -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// Scatters and orders of constants are evaluated.
// CHECK-LABEL: func @evaluated(
// CHECK-DAG:     nn.constant dense<[2, 0]> : tensor<2xi64>
// CHECK-DAG:     nn.constant dense<[7, 2, 8]> : tensor<3xi64>
// CHECK-NEXT:    return
func.func @evaluated() -> (tensor<2xi64>, tensor<3xi64>) {
  %x = nn.constant dense<[3, 2, 5]> : tensor<3xi64>
  %u = nn.constant dense<[8, 7]> : tensor<2xi64>
  %0 = nn.top_k %x axis 0 : tensor<3xi64> -> tensor<2xi64>
  %1 = nn.scatter assign %x, %u[%0] axis 0 : tensor<3xi64>, tensor<2xi64>, tensor<2xi64>
  return %0, %1 : tensor<2xi64>, tensor<3xi64>
}

// RUN: zero-opt %s --nn-form-groups --split-input-file --verify-diagnostics | FileCheck %s

// A softmax is one group: reductions along the row and what is repeated over it.
// CHECK-LABEL: func @softmax
// CHECK-NEXT:    %[[Y:.*]] = nn.group(%[[A:.*]] = %{{.*}} : tensor<4x8x10xf32>) -> (tensor<4x8x10xf32>) {
// CHECK-NEXT:      %[[M:.*]] = nn.reduce max %[[A]]
// CHECK-NEXT:      %[[B:.*]] = nn.broadcast %[[M]]
// CHECK-NEXT:      %[[D:.*]] = nn.sub %[[A]], %[[B]]
// CHECK-NEXT:      %[[E:.*]] = nn.exp %[[D]]
// CHECK-NEXT:      %[[S:.*]] = nn.reduce sum %[[E]]
// CHECK-NEXT:      %[[R:.*]] = nn.reshape %[[S]]
// CHECK-NEXT:      %[[C:.*]] = nn.broadcast %[[R]]
// CHECK-NEXT:      %[[P:.*]] = nn.div %[[E]], %[[C]]
// CHECK-NEXT:      nn.yield %[[P]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @softmax(%x: tensor<4x8x10xf32>) -> tensor<4x8x10xf32> {
  %m = nn.reduce max %x axes [2] : tensor<4x8x10xf32> to tensor<4x8xf32>
  %b = nn.broadcast %m dims [0, 1] : tensor<4x8xf32> to tensor<4x8x10xf32>
  %d = nn.sub %x, %b : tensor<4x8x10xf32>
  %e = nn.exp %d : tensor<4x8x10xf32>
  %s = nn.reduce sum %e axes [2] : tensor<4x8x10xf32> to tensor<4x8xf32>
  %r = nn.reshape %s : tensor<4x8xf32> to tensor<4x8x1xf32>
  %c = nn.broadcast %r dims [0, 1, 2] : tensor<4x8x1xf32> to tensor<4x8x10xf32>
  %y = nn.div %e, %c : tensor<4x8x10xf32>
  return %y : tensor<4x8x10xf32>
}

// -----

// The reshape of a parameter stays outside; so do the matmul and its result's reshape. The sum over the leading dimensions is in
// the group of the gradient that it sums.
// CHECK-LABEL: func @linear
// CHECK:         %[[MM:.*]] = nn.matmul
// CHECK:         %[[X:.*]] = nn.reshape %[[MM]]
// CHECK:         %[[BIAS:.*]] = nn.reshape %{{.*}} : tensor<32xf32> to tensor<1x32xf32>
// CHECK:         %[[G:.*]]:3 = nn.group(%{{.*}} = %[[BIAS]] : tensor<1x32xf32>, %{{.*}} = %[[X]] : tensor<2x4x32xf32>,
// CHECK:           nn.broadcast
// CHECK:           nn.tanh
// CHECK:           nn.constant
// CHECK:           nn.reduce sum %{{.*}} axes [0, 1]
// CHECK:           nn.yield
// CHECK:         %[[R:.*]] = nn.reshape %[[G]]#1
// CHECK:         nn.matmul %{{.*}}, %[[R]] transpose_lhs
func.func @linear(%x: tensor<8x16xf32>, %w: tensor<16x32xf32> {nn.role = #nn.role<parameter "w">},
                  %b: tensor<32xf32> {nn.role = #nn.role<parameter "b">}, %g: tensor<2x4x32xf32>)
    -> (tensor<2x4x32xf32>, tensor<32xf32>, tensor<16x32xf32>) {
  %0 = nn.matmul %x, %w : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %1 = nn.reshape %0 : tensor<8x32xf32> to tensor<2x4x32xf32>
  %r = nn.reshape %b : tensor<32xf32> to tensor<1x32xf32>
  %2 = nn.broadcast %r dims [1, 2] : tensor<1x32xf32> to tensor<2x4x32xf32>
  %3 = nn.add %1, %2 : tensor<2x4x32xf32>
  %4 = nn.tanh %3 : tensor<2x4x32xf32>
  %t2 = nn.mul %4, %4 : tensor<2x4x32xf32>
  %one = nn.constant dense<1.0> : tensor<2x4x32xf32>
  %u = nn.sub %one, %t2 : tensor<2x4x32xf32>
  %dg = nn.mul %g, %u : tensor<2x4x32xf32>
  %db = nn.reduce sum %dg axes [0, 1] : tensor<2x4x32xf32> to tensor<32xf32>
  %dgr = nn.reshape %dg : tensor<2x4x32xf32> to tensor<8x32xf32>
  %dw = nn.matmul %x, %dgr transpose_lhs : tensor<8x16xf32>, tensor<8x32xf32> -> tensor<16x32xf32>
  return %4, %db, %dw : tensor<2x4x32xf32>, tensor<32xf32>, tensor<16x32xf32>
}

// -----

// The add could join the tanh but for the matmul between them.
// CHECK-LABEL: func @no_cycle
// CHECK:         nn.group
// CHECK-NEXT:      nn.tanh
// CHECK-NEXT:      nn.yield
// CHECK:         nn.matmul
// CHECK:         nn.group
// CHECK-NEXT:      nn.add
// CHECK-NEXT:      nn.yield
func.func @no_cycle(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.tanh %x : tensor<8x8xf32>
  %1 = nn.matmul %0, %0 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %2 = nn.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Sums over separate dimensions: the inner one first, then the outer, in two kernels.
// CHECK-LABEL: func @separate_axes
// CHECK:         nn.group
// CHECK:           nn.reduce sum %{{.*}} axes [2] : tensor<3x4x5xf32> to tensor<3x4xf32>
// CHECK:         nn.group
// CHECK:           nn.reduce sum %{{.*}} axes [0] : tensor<3x4xf32> to tensor<4xf32>
func.func @separate_axes(%x: tensor<3x4x5xf32>) -> tensor<4xf32> {
  %0 = nn.reduce sum %x axes [0, 2] : tensor<3x4x5xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Two sums over the same tensor read it once; they are siblings, neither reads the other.
// CHECK-LABEL: func @siblings
// CHECK:         %[[G:.*]]:2 = nn.group(%{{.*}} = %{{.*}} : tensor<64x32xf32>, %{{.*}} = %{{.*}} : tensor<64x32xf32>)
// CHECK-NOT:     nn.group
// CHECK:         return %[[G]]#0, %[[G]]#1
func.func @siblings(%x: tensor<64x32xf32>, %g: tensor<64x32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %0 = nn.reduce sum %g axes [0] : tensor<64x32xf32> to tensor<32xf32>
  %1 = nn.mul %x, %g : tensor<64x32xf32>
  %2 = nn.reduce sum %1 axes [0] : tensor<64x32xf32> to tensor<32xf32>
  return %0, %2 : tensor<32xf32>, tensor<32xf32>
}

// -----

// What a matmul or the caller reads is written to memory, also where it is but a broadcast or a splat; a scalar constant stays.
// CHECK-LABEL: func @sources
// CHECK:         %[[B:.*]] = nn.group(%{{.*}} = %{{.*}} : tensor<4xf32>) -> (tensor<4x4xf32>)
// CHECK:         %[[M:.*]] = nn.matmul %{{.*}}, %[[B]]
// CHECK:         %[[Z:.*]] = nn.group() -> (tensor<4x4xf32>)
// CHECK:         %[[S:.*]] = nn.constant dense<2.000000e+00> : tensor<f32>
// CHECK:         return %[[M]], %[[Z]], %[[S]]
func.func @sources(%x: tensor<4x4xf32>, %b: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> to tensor<4x4xf32>
  %1 = nn.matmul %x, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = nn.constant dense<0.0> : tensor<4x4xf32>
  %3 = nn.constant dense<2.0> : tensor<f32>
  return %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
}

// -----

// A mask in closed form is computed where it is read.
// CHECK-LABEL: func @mask
// CHECK:         nn.group(%{{.*}} = %{{.*}} : tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>)
// CHECK:           nn.iota
// CHECK:           nn.select
func.func @mask(%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  %i = nn.iota axis 0 : tensor<4x4xi64>
  %j = nn.iota axis 1 : tensor<4x4xi64>
  %c = nn.compare le %j, %i : tensor<4x4xi64> -> tensor<4x4xi1>
  %b = nn.broadcast %c dims [1, 2] : tensor<4x4xi1> to tensor<2x4x4xi1>
  %n = nn.constant dense<0xFF800000> : tensor<2x4x4xf32>
  %0 = nn.select %b, %x, %n : tensor<2x4x4xi1>, tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}

// -----

// The gradients of a layer norm: both kernels compute the normalised rows from the input, so that nothing writes them.
// CHECK-LABEL: func @copies
// CHECK:         nn.group
// CHECK:           nn.sub
// CHECK:           nn.mul
// CHECK:           nn.reduce sum %{{.*}} axes [1]
// CHECK:           nn.yield %{{[0-9]+}} : tensor<64xf32>
// CHECK:         nn.group
// CHECK:           nn.sub
// CHECK:           nn.mul
// CHECK:           nn.reduce sum %{{.*}} axes [0]
// CHECK:           nn.yield %{{[0-9]+}} : tensor<32xf32>
func.func @copies(%x: tensor<64x32xf32>, %g: tensor<64x32xf32>, %mean: tensor<64xf32>, %rstd: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<32xf32>) {
  %0 = nn.broadcast %mean dims [0] : tensor<64xf32> to tensor<64x32xf32>
  %1 = nn.sub %x, %0 : tensor<64x32xf32>
  %2 = nn.broadcast %rstd dims [0] : tensor<64xf32> to tensor<64x32xf32>
  %3 = nn.mul %1, %2 : tensor<64x32xf32>
  %4 = nn.mul %3, %g : tensor<64x32xf32>
  %5 = nn.reduce sum %4 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %6 = nn.mul %3, %g : tensor<64x32xf32>
  %7 = nn.reduce sum %6 axes [0] : tensor<64x32xf32> to tensor<32xf32>
  return %5, %7 : tensor<64xf32>, tensor<32xf32>
}

// -----

// Nothing to group: the optimizer has a kernel of its own, views of parameters follow their gather.
// CHECK-LABEL: func @untouched
// CHECK-NOT:     nn.group
func.func @untouched(%x: tensor<8x16xf32>, %w: tensor<32x16xf32> {nn.role = #nn.role<parameter "w">}) -> tensor<8x32xf32> {
  %0 = nn.transpose %w [1, 0] : tensor<32x16xf32> to tensor<16x32xf32>
  %1 = nn.matmul %x, %0 : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

func.func @any_length(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{'nn.tanh' op cannot be computed by a generated kernel: nn.tanh: type tensor<?xf32> has no static shape}}
  %0 = nn.tanh %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Rows of 10 elements that repeat every 5: no kernel sums them as it makes them.
// CHECK-LABEL: func @part_of_a_row
// CHECK:         %[[R:.*]] = nn.group
// CHECK-NEXT:      nn.broadcast
// CHECK-NEXT:      nn.reshape
// CHECK-NEXT:      nn.yield
// CHECK:         nn.group(%{{.*}} = %[[R]] : tensor<4x10xf32>)
// CHECK-NEXT:      nn.reduce
func.func @part_of_a_row(%x: tensor<5xf32>) -> tensor<4xf32> {
  %0 = nn.broadcast %x dims [1] : tensor<5xf32> to tensor<8x5xf32>
  %1 = nn.reshape %0 : tensor<8x5xf32> to tensor<4x10xf32>
  %2 = nn.reduce sum %1 axes [1] : tensor<4x10xf32> to tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A sum over pairs whose terms repeat the other of the pair: its dimension goes behind, and one kernel has it.
// CHECK-LABEL: func @moved_sum(
// CHECK:         nn.group
// CHECK:           nn.broadcast %{{.*}} dims [0, 2, 3] : tensor<8x2x32xf32> to tensor<8x2x2x32xf32>
// CHECK:           nn.reduce sum %{{.*}} axes [2] : tensor<8x2x2x32xf32> to tensor<8x2x32xf32>
// CHECK-NOT:     nn.group
// CHECK:         return
func.func @moved_sum(%x: tensor<8x2x32xf32>, %f: tensor<2x2x32xf32>) -> tensor<8x2x32xf32> {
  %w = nn.broadcast %x dims [0, 1, 3] : tensor<8x2x32xf32> to tensor<8x2x2x32xf32>
  %i = nn.iota axis 1 : tensor<8x2x2x32xi64>
  %j = nn.iota axis 2 : tensor<8x2x2x32xi64>
  %same = nn.compare eq %i, %j : tensor<8x2x2x32xi64> -> tensor<8x2x2x32xi1>
  %n = nn.neg %w : tensor<8x2x2x32xf32>
  %p = nn.select %same, %w, %n : tensor<8x2x2x32xi1>, tensor<8x2x2x32xf32>
  %s = nn.reduce sum %p axes [1] : tensor<8x2x2x32xf32> to tensor<8x2x32xf32>
  return %s : tensor<8x2x32xf32>
}

// -----

// A group reads parameters of one block at most: the next block is not gathered while the last bias of this one is used.
// CHECK-LABEL: func @blocks
// CHECK:         nn.group(%{{.*}} = %arg1 : tensor<8xf32>, %{{.*}} = %arg0 : tensor<4x8xf32>, %{{.*}} = %arg2 : tensor<8xf32>) -> (tensor<4x8xf32>)
// CHECK:         nn.yield
// CHECK:         nn.group(%{{.*}} = %arg3 : tensor<8xf32>, %{{.*}} = %{{.*}} : tensor<4x8xf32>) -> (tensor<4x8xf32>)
// CHECK-NOT:     nn.group
func.func @blocks(%x: tensor<4x8xf32>, %scale: tensor<8xf32> {nn.role = #nn.role<parameter "h.0.scale">},
                  %bias: tensor<8xf32> {nn.role = #nn.role<parameter "h.0.bias">},
                  %next: tensor<8xf32> {nn.role = #nn.role<parameter "h.1.scale">}) -> tensor<4x8xf32> {
  %s = nn.broadcast %scale dims [1] : tensor<8xf32> to tensor<4x8xf32>
  %a = nn.mul %x, %s : tensor<4x8xf32>
  %b = nn.broadcast %bias dims [1] : tensor<8xf32> to tensor<4x8xf32>
  %c = nn.add %a, %b : tensor<4x8xf32>
  %n = nn.broadcast %next dims [1] : tensor<8xf32> to tensor<4x8xf32>
  %d = nn.mul %c, %n : tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// -----

// What lies between groups is of 16 bits: each widens what it reads, and what is f32 is computed again from rounded values, here an
// exponential. The weight of a broadcast is read in its 16 bits.
// CHECK-LABEL: func.func @narrow
// CHECK:         %[[G:.*]]:2 = nn.group(%{{.*}} : tensor<64x32xbf16>, %{{.*}} : tensor<32xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>) {
// CHECK-COUNT-2:   nn.cast {{.*}}xbf16> to tensor<{{.*}}xf32>
// CHECK:           %[[H:.*]] = nn.cast %{{.*}} : tensor<64x32xf32> to tensor<64x32xbf16>
// CHECK:           nn.tanh
// CHECK-NOT:       nn.exp
// CHECK:           nn.yield %[[H]], %{{.*}} : tensor<64x32xbf16>, tensor<64x32xbf16>
// CHECK:         nn.matmul %[[G]]#1
// CHECK:         nn.group(%{{.*}} = %[[G]]#0 : tensor<64x32xbf16>, %{{.*}} : tensor<64x32xbf16>) -> (tensor<64x32xbf16>) {
// CHECK:           nn.exp
func.func @narrow(%x: tensor<64x32xbf16>, %b: tensor<32xbf16> {nn.role = #nn.role<parameter "b">}, %w: tensor<32x32xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>) {
  %xw = nn.cast %x : tensor<64x32xbf16> to tensor<64x32xf32>
  %bw = nn.cast %b : tensor<32xbf16> to tensor<32xf32>
  %bb = nn.broadcast %bw dims [1] : tensor<32xf32> to tensor<64x32xf32>
  %0 = nn.add %xw, %bb : tensor<64x32xf32>
  %1 = nn.cast %0 : tensor<64x32xf32> to tensor<64x32xbf16>
  %2 = nn.cast %1 : tensor<64x32xbf16> to tensor<64x32xf32>
  %t = nn.tanh %2 : tensor<64x32xf32>
  %3 = nn.cast %t : tensor<64x32xf32> to tensor<64x32xbf16>
  %4 = nn.matmul %3, %w : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xbf16>
  %5 = nn.cast %4 : tensor<64x32xbf16> to tensor<64x32xf32>
  %one = nn.constant dense<1.0> : tensor<64x32xf32>
  %e = nn.exp %2 : tensor<64x32xf32>
  %6 = nn.sub %one, %e : tensor<64x32xf32>
  %7 = nn.mul %5, %6 : tensor<64x32xf32>
  %8 = nn.cast %7 : tensor<64x32xf32> to tensor<64x32xbf16>
  return %4, %8 : tensor<64x32xbf16>, tensor<64x32xbf16>
}

// -----

// A kernel of the library that reads a parameter widened reads a value of its own, outside; the group widens for itself.
// CHECK-LABEL: func.func @outside
// CHECK:         %[[W:.*]] = nn.cast %arg0 : tensor<64xbf16> to tensor<64xf32>
// CHECK:         nn.cumsum %[[W]]
// CHECK:         nn.group(%{{.*}} = %arg0 : tensor<64xbf16>) -> (tensor<64xf32>) {
// CHECK-NEXT:      nn.cast
// CHECK-NEXT:      nn.neg
func.func @outside(%w: tensor<64xbf16> {nn.role = #nn.role<parameter "w">}) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = nn.cast %w : tensor<64xbf16> to tensor<64xf32>
  %1 = nn.cumsum %0 axis 0 : tensor<64xf32>
  %2 = nn.neg %0 : tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}

// -----

// Each reader of the library widens for itself, right before it: a convolution's gradient keeps 16 bits of input and weight.
// CHECK-LABEL: func.func @readers
// CHECK:         %[[X:.*]] = nn.group
// CHECK-DAG:     %[[W1:.*]] = nn.cast %arg1 : tensor<4x3x1xbf16> to tensor<4x3x1xf32>
// CHECK-DAG:     %[[X1:.*]] = nn.group(%{{.*}} = %[[X]] : tensor<2x3x8xbf16>) -> (tensor<2x3x8xf32>) {
// CHECK:         nn.conv %[[X1]], %[[W1]]
// CHECK:         nn.cumsum
// CHECK-DAG:     %[[W2:.*]] = nn.cast %arg1 : tensor<4x3x1xbf16> to tensor<4x3x1xf32>
// CHECK-DAG:     %[[X2:.*]] = nn.group(%{{.*}} = %[[X]] : tensor<2x3x8xbf16>) -> (tensor<2x3x8xf32>) {
// CHECK:         nn.conv %[[X2]], %[[W2]]
func.func @readers(%x: tensor<2x3x8xf32>, %w: tensor<4x3x1xbf16> {nn.role = #nn.role<parameter "w">}) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %0 = nn.cast %x : tensor<2x3x8xf32> to tensor<2x3x8xbf16>
  %1 = nn.cast %0 : tensor<2x3x8xbf16> to tensor<2x3x8xf32>
  %2 = nn.cast %w : tensor<4x3x1xbf16> to tensor<4x3x1xf32>
  %3 = nn.conv %1, %2 strides [1] low [0] high [0] dilations [1] : tensor<2x3x8xf32>, tensor<4x3x1xf32> -> tensor<2x4x8xf32>
  %4 = nn.cumsum %3 axis 2 : tensor<2x4x8xf32>
  %5 = nn.conv %1, %2 strides [1] low [0] high [0] dilations [1] : tensor<2x3x8xf32>, tensor<4x3x1xf32> -> tensor<2x4x8xf32>
  return %4, %5 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

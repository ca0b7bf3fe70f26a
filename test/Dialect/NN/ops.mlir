// RUN: zero-opt %s | zero-opt | FileCheck %s
// RUN: zero-opt %s --mlir-print-op-generic | zero-opt | FileCheck %s

// Every op of the dialect parses, prints and parses again.

// CHECK-LABEL: func @unary
func.func @unary(%x: tensor<4x?xf32>, %i: tensor<3xi32>, %b: tensor<i1>) {
  // CHECK-NEXT: nn.neg %{{.*}} : tensor<4x?xf32>
  %0 = nn.neg %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.neg %{{.*}} : tensor<3xi32>
  %1 = nn.neg %i : tensor<3xi32>
  // CHECK-NEXT: nn.abs
  %2 = nn.abs %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.exp
  %3 = nn.exp %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.log
  %4 = nn.log %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.sqrt
  %5 = nn.sqrt %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.rsqrt
  %6 = nn.rsqrt %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.reciprocal
  %7 = nn.reciprocal %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.tanh
  %8 = nn.tanh %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.sigmoid
  %9 = nn.sigmoid %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.erf
  %10 = nn.erf %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.sin
  %11 = nn.sin %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.cos
  %12 = nn.cos %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.relu
  %13 = nn.relu %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.sign %{{.*}} : tensor<3xi32>
  %14 = nn.sign %i : tensor<3xi32>
  // CHECK-NEXT: nn.floor
  %15 = nn.floor %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.ceil
  %16 = nn.ceil %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.round
  %17 = nn.round %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.stop_gradient %{{.*}} : tensor<4x?xf32>
  %stopped = nn.stop_gradient %x : tensor<4x?xf32>
  // CHECK-NEXT: nn.not %{{.*}} : tensor<i1>
  %18 = nn.not %b : tensor<i1>
  return
}

// CHECK-LABEL: func @binary
func.func @binary(%x: tensor<4xbf16>, %y: tensor<4xbf16>, %i: tensor<2xui8>) {
  // CHECK-NEXT: nn.add %{{.*}}, %{{.*}} : tensor<4xbf16>
  %0 = nn.add %x, %y : tensor<4xbf16>
  // CHECK-NEXT: nn.sub
  %1 = nn.sub %x, %y : tensor<4xbf16>
  // CHECK-NEXT: nn.mul
  %2 = nn.mul %x, %y : tensor<4xbf16>
  // CHECK-NEXT: nn.div
  %3 = nn.div %x, %y : tensor<4xbf16>
  // CHECK-NEXT: nn.max
  %4 = nn.max %x, %y : tensor<4xbf16>
  // CHECK-NEXT: nn.min
  %5 = nn.min %x, %y : tensor<4xbf16>
  // CHECK-NEXT: nn.pow
  %6 = nn.pow %x, %y : tensor<4xbf16>
  // CHECK-NEXT: nn.rem %{{.*}}, %{{.*}} : tensor<2xui8>
  %7 = nn.rem %i, %i : tensor<2xui8>
  // CHECK-NEXT: nn.and
  %8 = nn.and %i, %i : tensor<2xui8>
  // CHECK-NEXT: nn.or
  %9 = nn.or %i, %i : tensor<2xui8>
  // CHECK-NEXT: nn.xor
  %10 = nn.xor %i, %i : tensor<2xui8>
  // CHECK-NEXT: nn.compare le %{{.*}}, %{{.*}} : tensor<4xbf16> -> tensor<4xi1>
  %11 = nn.compare le %x, %y : tensor<4xbf16> -> tensor<4xi1>
  // CHECK-NEXT: nn.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xbf16>
  %12 = nn.select %11, %x, %y : tensor<4xi1>, tensor<4xbf16>
  // CHECK-NEXT: nn.cast %{{.*}} : tensor<4xbf16> to tensor<4xf64>
  %13 = nn.cast %x : tensor<4xbf16> to tensor<4xf64>
  return
}

// CHECK-LABEL: func @shape
func.func @shape(%x: tensor<?x6xf32>, %s: tensor<3xi64>) {
  // CHECK-NEXT: nn.broadcast %{{.*}} dims [1, 2] : tensor<?x6xf32> to tensor<4x?x6xf32>
  %0 = nn.broadcast %x dims [1, 2] : tensor<?x6xf32> to tensor<4x?x6xf32>
  // CHECK-NEXT: nn.reshape %{{.*}} : tensor<?x6xf32> to tensor<?x2x3xf32>
  %1 = nn.reshape %x : tensor<?x6xf32> to tensor<?x2x3xf32>
  // CHECK-NEXT: nn.reshape %{{.*}} shape %{{.*}} : tensor<3xi64>, {allow_zero} : tensor<?x6xf32> to tensor<?x?x?xf32>
  %2 = nn.reshape %x shape %s : tensor<3xi64>, {allow_zero} : tensor<?x6xf32> to tensor<?x?x?xf32>
  // CHECK-NEXT: nn.shape_of %{{.*}} : tensor<?x6xf32> -> tensor<2xi64>
  %3 = nn.shape_of %x : tensor<?x6xf32> -> tensor<2xi64>
  // CHECK-NEXT: nn.broadcast_to %{{.*}} shape %{{.*}} : tensor<3xi64>, : tensor<?x6xf32> to tensor<?x?x6xf32>
  %4 = nn.broadcast_to %x shape %s : tensor<3xi64>, : tensor<?x6xf32> to tensor<?x?x6xf32>
  // CHECK-NEXT: nn.transpose %{{.*}} [1, 0] : tensor<?x6xf32> to tensor<6x?xf32>
  %5 = nn.transpose %x [1, 0] : tensor<?x6xf32> to tensor<6x?xf32>
  // CHECK-NEXT: nn.slice %{{.*}} starts [0, 5] strides [1, -2] : tensor<?x6xf32> to tensor<?x3xf32>
  %6 = nn.slice %x starts [0, 5] strides [1, -2] : tensor<?x6xf32> to tensor<?x3xf32>
  // CHECK-NEXT: nn.pad %{{.*}} low [0, 1] high [0, 2] interior [0, 1] {value = -1.000000e+00 : f64} : tensor<?x6xf32> to tensor<?x14xf32>
  %7 = nn.pad %x low [0, 1] high [0, 2] interior [0, 1] {value = -1.0 : f64} : tensor<?x6xf32> to tensor<?x14xf32>
  // CHECK-NEXT: nn.concat %{{.*}}, %{{.*}} axis 1 : tensor<?x6xf32>, tensor<?x6xf32> -> tensor<?x12xf32>
  %8 = nn.concat %x, %x axis 1 : tensor<?x6xf32>, tensor<?x6xf32> -> tensor<?x12xf32>
  return
}

// CHECK-LABEL: func @indexing
func.func @indexing(%d: tensor<5x7xf32>, %i: tensor<2x3xi64>) {
  // CHECK-NEXT: nn.gather %{{.*}}[%{{.*}}] axis 0 : tensor<5x7xf32>, tensor<2x3xi64> -> tensor<2x3x7xf32>
  %0 = nn.gather %d[%i] axis 0 : tensor<5x7xf32>, tensor<2x3xi64> -> tensor<2x3x7xf32>
  // CHECK-NEXT: nn.scatter_add %{{.*}}[%{{.*}}] axis 0 : tensor<2x3x7xf32>, tensor<2x3xi64> -> tensor<5x7xf32>
  %1 = nn.scatter_add %0[%i] axis 0 : tensor<2x3x7xf32>, tensor<2x3xi64> -> tensor<5x7xf32>
  %t = nn.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  // CHECK: nn.gather_nd %{{.*}}[%{{.*}}] : tensor<5x7xf32>, tensor<2x2xi64> -> tensor<2xf32>
  %2 = nn.gather_nd %d[%t] : tensor<5x7xf32>, tensor<2x2xi64> -> tensor<2xf32>
  %at = nn.constant dense<[6, 0]> : tensor<2xui16>
  %u = nn.gather %d[%at] axis 1 : tensor<5x7xf32>, tensor<2xui16> -> tensor<5x2xf32>
  // CHECK: nn.scatter assign %{{.*}}, %{{.*}}[%{{.*}}] axis 1 : tensor<5x7xf32>, tensor<5x2xf32>, tensor<2xui16>
  %3 = nn.scatter assign %d, %u[%at] axis 1 : tensor<5x7xf32>, tensor<5x2xf32>, tensor<2xui16>
  // CHECK-NEXT: nn.scatter max %{{.*}}, %{{.*}}[%{{.*}}] axis 1 : tensor<5x7xf32>, tensor<5x2xf32>, tensor<2xui16>
  %4 = nn.scatter max %3, %u[%at] axis 1 : tensor<5x7xf32>, tensor<5x2xf32>, tensor<2xui16>
  // CHECK-NEXT: nn.top_k %{{.*}} axis 1 : tensor<5x7xf32> -> tensor<5x3xi64>
  %5 = nn.top_k %4 axis 1 : tensor<5x7xf32> -> tensor<5x3xi64>
  // CHECK-NEXT: nn.top_k %{{.*}} axis 0 smallest : tensor<5x7xf32> -> tensor<0x7xi64>
  %6 = nn.top_k %4 axis 0 smallest : tensor<5x7xf32> -> tensor<0x7xi64>
  return
}

// CHECK-LABEL: func @reductions
func.func @reductions(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // CHECK-NEXT: nn.reduce max %{{.*}} axes [0, 1] : tensor<4x8xf32> to tensor<f32>
  %0 = nn.reduce max %x axes [0, 1] : tensor<4x8xf32> to tensor<f32>
  // CHECK-NEXT: nn.cumsum %{{.*}} axis 1 {exclusive, reverse} : tensor<4x8xf32>
  %1 = nn.cumsum %x axis 1 {exclusive, reverse} : tensor<4x8xf32>
  // CHECK-NEXT: nn.matmul %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %2 = nn.matmul %x, %y : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  // CHECK-NEXT: nn.matmul %{{.*}}, %{{.*}} transpose_lhs transpose_rhs : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %3 = nn.matmul %x, %y transpose_lhs transpose_rhs : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func @sources
func.func @sources() {
  // CHECK-NEXT: nn.constant dense<[1, 2]> : tensor<2xi64>
  %0 = nn.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK-NEXT: nn.iota axis 1 : tensor<3x4xi32>
  %1 = nn.iota axis 1 : tensor<3x4xi32>
  return
}

// CHECK-LABEL: func @group
func.func @group(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[R:.*]]:2 = nn.group(%[[A:.*]] = %{{.*}} : tensor<8xf32>, %[[B:.*]] = %{{.*}} : tensor<8xf32>) attributes {note = "x"} -> (tensor<8xf32>, tensor<8xf32>) {
  %r:2 = nn.group(%a = %x : tensor<8xf32>, %b = %y : tensor<8xf32>) attributes {note = "x"} -> (tensor<8xf32>, tensor<8xf32>) {
    // CHECK-NEXT: %[[S:.*]] = nn.add %[[A]], %[[B]]
    %0 = nn.add %a, %b : tensor<8xf32>
    // CHECK-NEXT: nn.yield %[[S]], %[[A]] : tensor<8xf32>, tensor<8xf32>
    nn.yield %0, %a : tensor<8xf32>, tensor<8xf32>
  }
  // CHECK: nn.group() -> () {
  // CHECK-NEXT: nn.yield
  nn.group() -> () {
    nn.yield
  }
  return %r#1 : tensor<8xf32>
}

// CHECK-LABEL: func @norms
func.func @norms(%x: tensor<2x4xf32>, %w: tensor<4xf32>) {
  // CHECK-NEXT: nn.gelu none %{{.*}} : tensor<2x4xf32>
  %0 = nn.gelu none %x : tensor<2x4xf32>
  // CHECK-NEXT: nn.gelu tanh
  %1 = nn.gelu tanh %x : tensor<2x4xf32>
  // CHECK-NEXT: nn.softmax %{{.*}} axis 1 : tensor<2x4xf32>
  %2 = nn.softmax %x axis 1 : tensor<2x4xf32>
  // CHECK-NEXT: nn.layer_norm %{{.*}} scale %{{.*}} epsilon 1.000000e-05 : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>
  %3:3 = nn.layer_norm %x scale %w epsilon 1.0e-05 : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>
  // CHECK-NEXT: nn.layer_norm %{{.*}} scale %{{.*}} bias %{{.*}} epsilon 1.000000e-05 : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32> ->
  %4:3 = nn.layer_norm %x scale %w bias %w epsilon 1.0e-05 : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>, %m: tensor<1x4x3x5xf32>) {
  // CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale 3.535500e-01 : tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<1x4x3x5xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  %o, %l = nn.attention %q, %k, %k mask %m scale 0.35355 : tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<1x4x3x5xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  // CHECK-NEXT: nn.attention %{{.*}} scale 1.000000e+00 causal :
  %o2, %l2 = nn.attention %q, %k, %k scale 1.0 causal : tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  // CHECK-NEXT: nn.attention_grad %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} result %{{.*}}, %{{.*}} gradient %{{.*}} scale 3.535500e-01 : tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x4x3xf32>, tensor<1x4x3x5xf32>
  %g:3 = nn.attention_grad %q, %k, %k mask %m result %o, %l gradient %o scale 0.35355 : tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x4x3xf32>, tensor<1x4x3x5xf32>
  // CHECK-NEXT: nn.attention_grad {{.*}} scale 1.000000e+00 causal :
  %g2:3 = nn.attention_grad %q, %k, %k result %o, %l gradient %o scale 1.0 causal : tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x4x3xf32>
  return
}

// CHECK-LABEL: func @windows
func.func @windows(%x: tensor<?x4x9x6xf32>, %w: tensor<8x2x3x3xf32>, %y: tensor<?x8x4x6xf32>, %u: tensor<2x3x7xui8>) {
  // CHECK-NEXT: nn.conv %{{.*}}, %{{.*}} strides [2, 1] low [0, 1] high [0, 1] dilations [1, 1] groups 2 : tensor<?x4x9x6xf32>, tensor<8x2x3x3xf32> -> tensor<?x8x4x6xf32>
  %0 = nn.conv %x, %w strides [2, 1] low [0, 1] high [0, 1] dilations [1, 1] groups 2 : tensor<?x4x9x6xf32>, tensor<8x2x3x3xf32> -> tensor<?x8x4x6xf32>
  // CHECK-NEXT: nn.conv_transpose %{{.*}}, %{{.*}} strides [2, 1] low [0, 1] high [0, 1] dilations [1, 1] groups 2 : tensor<?x8x4x6xf32>, tensor<8x2x3x3xf32> -> tensor<?x4x9x6xf32>
  %1 = nn.conv_transpose %y, %w strides [2, 1] low [0, 1] high [0, 1] dilations [1, 1] groups 2 : tensor<?x8x4x6xf32>, tensor<8x2x3x3xf32> -> tensor<?x4x9x6xf32>
  // Nine rows have four windows as ten do: the type says which it is.
  // CHECK-NEXT: nn.conv_transpose {{.*}} -> tensor<?x4x10x6xf32>
  %2 = nn.conv_transpose %y, %w strides [2, 1] low [0, 1] high [0, 1] dilations [1, 1] groups 2 : tensor<?x8x4x6xf32>, tensor<8x2x3x3xf32> -> tensor<?x4x10x6xf32>
  // CHECK-NEXT: nn.conv_weight_grad %{{.*}}, %{{.*}} strides [2, 1] low [0, 1] high [0, 1] dilations [1, 1] groups 2 : tensor<?x4x9x6xf32>, tensor<?x8x4x6xf32> -> tensor<8x2x3x3xf32>
  %3 = nn.conv_weight_grad %x, %y strides [2, 1] low [0, 1] high [0, 1] dilations [1, 1] groups 2 : tensor<?x4x9x6xf32>, tensor<?x8x4x6xf32> -> tensor<8x2x3x3xf32>
  // CHECK-NEXT: nn.max_pool %{{.*}} window [3] strides [2] low [1] high [0] dilations [2] : tensor<2x3x7xui8> -> tensor<2x3x2xui8>, tensor<2x3x2xi64>
  %4:2 = nn.max_pool %u window [3] strides [2] low [1] high [0] dilations [2] : tensor<2x3x7xui8> -> tensor<2x3x2xui8>, tensor<2x3x2xi64>
  // CHECK-NEXT: nn.sum_pool %{{.*}} window [2, 2] strides [1, 1] low [-1, 0] high [0, -2] dilations [1, 3] : tensor<?x4x9x6xf32> to tensor<?x4x7x1xf32>
  %5 = nn.sum_pool %x window [2, 2] strides [1, 1] low [-1, 0] high [0, -2] dilations [1, 3] : tensor<?x4x9x6xf32> to tensor<?x4x7x1xf32>
  return
}

// CHECK-LABEL: func @losses
func.func @losses(%x: tensor<?x4xf32>, %y: tensor<?xi64>, %o: tensor<1x1xf32>) {
  // CHECK-NEXT: nn.cross_entropy %{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>, tensor<i64>, tensor<?xf32>
  %0:3 = nn.cross_entropy %x, %y : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>, tensor<i64>, tensor<?xf32>
  // CHECK-NEXT: nn.cross_entropy %{{.*}}, %{{.*}} {ignore_index = 7 : i64} :
  %1:3 = nn.cross_entropy %x, %y {ignore_index = 7 : i64} : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>, tensor<i64>, tensor<?xf32>
  // CHECK-NEXT: nn.mse_loss %{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<f32>, tensor<i64>
  %2:2 = nn.mse_loss %x, %x : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<f32>, tensor<i64>
  // CHECK-NEXT: nn.output_loss %{{.*}} : tensor<1x1xf32> -> tensor<f32>, tensor<i64>
  %3:2 = nn.output_loss %o : tensor<1x1xf32> -> tensor<f32>, tensor<i64>
  return
}

// CHECK-LABEL: func @optimizers
func.func @optimizers(%p: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %s: tensor<f32>) {
  // CHECK-NEXT: nn.global_norm %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  %0 = nn.global_norm %p, %g : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  // CHECK-NEXT: nn.adam %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} scale %{{.*}} lr %{{.*}} correction %{{.*}}, %{{.*}} {beta1 = {{.*}}, beta2 = {{.*}}, decoupled, epsilon = {{.*}}, weight_decay = {{.*}}} : tensor<4xf32>, tensor<f32>
  %1:3 = nn.adam %p, %g, %m, %m scale %s lr %s correction %s, %s {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64, decoupled} : tensor<4xf32>, tensor<f32>
  // CHECK-NEXT: nn.sgd %{{.*}}, %{{.*}} scale %{{.*}} lr %{{.*}} {momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64} : tensor<4xf32>, tensor<f32>
  %2 = nn.sgd %p, %g scale %s lr %s {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>
  // CHECK-NEXT: nn.sgd %{{.*}}, %{{.*}} momentum %{{.*}} scale %{{.*}} lr %{{.*}} {momentum = {{.*}}, nesterov, weight_decay = {{.*}}} : tensor<4xf32>, tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %3:2 = nn.sgd %p, %g momentum %m scale %s lr %s {momentum = 0.9 : f64, weight_decay = 0.0 : f64, nesterov} : tensor<4xf32>, tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: nn.adam %{{.*}} correction %{{.*}}, %{{.*}} skip %{{.*}} : tensor<f32> {beta1 = {{.*}}} : tensor<4xf32>, tensor<f32>
  %4:3 = nn.adam %p, %g, %m, %m scale %s lr %s correction %s, %s skip %s : tensor<f32> {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>
  // CHECK-NEXT: nn.sgd %{{.*}} lr %{{.*}} skip %{{.*}} : tensor<f32> {momentum = {{.*}}} : tensor<4xf32>, tensor<f32>
  %5 = nn.sgd %p, %g scale %s lr %s skip %s : tensor<f32> {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<4xf32>, tensor<f32>
  return
}

// The type of the gradient is written where it is not the parameter's.
// CHECK-LABEL: func @masters
func.func @masters(%p: tensor<4xbf16>, %g: tensor<4xf16>, %w: tensor<4xf32>, %s: tensor<f32>) {
  // CHECK-NEXT: nn.adam %{{.*}}, %{{.*}} master %{{.*}}, %{{.*}}, %{{.*}} scale %{{.*}} correction %{{.*}}, %{{.*}} skip %{{.*}} : tensor<f32> {beta1 = {{.*}}} : tensor<4xbf16> master tensor<4xf32>, tensor<f32>
  %0:4 = nn.adam %p, %p master %w, %w, %w scale %s lr %s correction %s, %s skip %s : tensor<f32> {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<4xbf16> master tensor<4xf32>, tensor<f32>
  // CHECK-NEXT: nn.adam %{{.*}} : tensor<4xbf16> gradient tensor<4xf32> master tensor<4xf32>, tensor<f32>
  %1:4 = nn.adam %p, %w master %w, %w, %w scale %s lr %s correction %s, %s {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<4xbf16> gradient tensor<4xf32> master tensor<4xf32>, tensor<f32>
  // CHECK-NEXT: nn.sgd %{{.*}}, %{{.*}} master %{{.*}} momentum %{{.*}} scale {{.*}} : tensor<4xbf16> gradient tensor<4xf16> master tensor<4xf32>, tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %2:3 = nn.sgd %p, %g master %w momentum %w scale %s lr %s {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : tensor<4xbf16> gradient tensor<4xf16> master tensor<4xf32>, tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: nn.sgd %{{.*}}, %{{.*}} scale {{.*}} : tensor<4xf32> gradient tensor<4xbf16>, tensor<f32>
  %3 = nn.sgd %w, %p scale %s lr %s {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<4xf32> gradient tensor<4xbf16>, tensor<f32>
  return
}

// What a file holds in a wider float is rounded where it is read; states start with a number.
// CHECK-LABEL: func @narrowed
// CHECK-SAME: tensor<2xbf16> {nn.data = #nn.external<"w.bin", 0, 8, 4660>, nn.role = #nn.role<parameter "w">}
// CHECK-SAME: tensor<2xf16> {nn.data = #nn.external<"w.bin", 0, 16, 4660>, nn.role = #nn.role<frozen "d">}
// CHECK-SAME: tensor<2xbf16> {nn.data = dense<1.000000e+00> : tensor<2xf32>, nn.role = #nn.role<frozen "c">}
// CHECK-SAME: tensor<2xbf16> {nn.data = #nn.initial<{{.*}} : f32>, nn.role = #nn.role<parameter "i">}
// CHECK-SAME: tensor<f32> {nn.data = 6.553600e+04 : f64, nn.role = #nn.role<loss_scale "">}
// CHECK-SAME: tensor<i64> {nn.data = 0 : i64, nn.role = #nn.role<scale_window_steps "">}
// CHECK-SAME: tensor<i64> {nn.data = 2 : i64, nn.role = #nn.role<scale_hysteresis "">}
func.func @narrowed(%w: tensor<2xbf16> {nn.role = #nn.role<parameter "w">, nn.data = #nn.external<"w.bin", 0, 8, 0x1234>},
                    %d: tensor<2xf16> {nn.role = #nn.role<frozen "d">, nn.data = #nn.external<"w.bin", 0, 16, 0x1234>},
                    %c: tensor<2xbf16> {nn.role = #nn.role<frozen "c">, nn.data = dense<1.0> : tensor<2xf32>},
                    %i: tensor<2xbf16> {nn.role = #nn.role<parameter "i">, nn.data = #nn.initial<normal 1.0 seed 7 : f32>},
                    %m: tensor<2xf32> {nn.role = #nn.role<master "w">},
                    %l: tensor<f32> {nn.role = #nn.role<loss_scale "">, nn.data = 65536.0 : f64},
                    %s: tensor<i64> {nn.role = #nn.role<scale_window_steps "">, nn.data = 0 : i64},
                    %h: tensor<i64> {nn.role = #nn.role<scale_hysteresis "">, nn.data = 2 : i64}) {
  return
}

// CHECK-LABEL: func @roles
// CHECK-SAME: nn.data = #nn.external<"w.bin", 0, 8, 4660>, nn.role = #nn.role<parameter "h.0.w">
// CHECK-SAME: nn.data = dense<1.000000e+00> : tensor<2xf32>, nn.role = #nn.role<frozen "c">
// CHECK-SAME: nn.role = #nn.role<loss_sum "">
func.func @roles(%w: tensor<2xf32> {nn.role = #nn.role<parameter "h.0.w">, nn.data = #nn.external<"w.bin", 0, 8, 0x1234>},
                 %c: tensor<2xf32> {nn.role = #nn.role<frozen "c">, nn.data = dense<1.0> : tensor<2xf32>},
                 %l: tensor<f32>) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  return %l : tensor<f32>
}

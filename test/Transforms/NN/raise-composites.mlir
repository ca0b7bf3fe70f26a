// RUN: zero-opt %s --nn-raise-composites --split-input-file | FileCheck %s

// As exporters spell attention: scale on q and on k, k transposed through three dimensions, a causal mask added, a guard
// against rows of NaN. The transposes around cancel.
// CHECK-LABEL: func @exported(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<8x64x64xf32>, %[[K:[^:]*]]: tensor<8x64x64xf32>, %[[V:[^:]*]]: tensor<8x64x64xf32>
// CHECK-DAG:     %[[Q4:.*]] = nn.reshape %[[Q]] : tensor<8x64x64xf32> to tensor<8x64x4x16xf32>
// CHECK-DAG:     %[[K4:.*]] = nn.reshape %[[K]] : tensor<8x64x64xf32> to tensor<8x64x4x16xf32>
// CHECK-DAG:     %[[V4:.*]] = nn.reshape %[[V]] : tensor<8x64x64xf32> to tensor<8x64x4x16xf32>
// CHECK:         %[[R:.*]], %{{.*}} = nn.attention %[[Q4]], %[[K4]], %[[V4]] scale 2.500000e-01 causal
// CHECK-NEXT:    %[[O:.*]] = nn.reshape %[[R]] : tensor<8x64x4x16xf32> to tensor<8x64x64xf32>
// CHECK-NEXT:    return %[[O]]
func.func @exported(%q: tensor<8x64x64xf32>, %k: tensor<8x64x64xf32>, %v: tensor<8x64x64xf32>) -> tensor<8x64x64xf32> {
  %q0 = nn.reshape %q : tensor<8x64x64xf32> to tensor<8x64x4x16xf32>
  %q1 = nn.transpose %q0 [0, 2, 1, 3] : tensor<8x64x4x16xf32> to tensor<8x4x64x16xf32>
  %half = nn.constant dense<0.5> : tensor<8x4x64x16xf32>
  %q2 = nn.mul %q1, %half : tensor<8x4x64x16xf32>
  %k0 = nn.reshape %k : tensor<8x64x64xf32> to tensor<8x64x4x16xf32>
  %k1 = nn.transpose %k0 [0, 2, 1, 3] : tensor<8x64x4x16xf32> to tensor<8x4x64x16xf32>
  %k2 = nn.reshape %k1 : tensor<8x4x64x16xf32> to tensor<32x64x16xf32>
  %k3 = nn.transpose %k2 [0, 2, 1] : tensor<32x64x16xf32> to tensor<32x16x64xf32>
  %k4 = nn.reshape %k3 : tensor<32x16x64xf32> to tensor<8x4x16x64xf32>
  %halfk = nn.constant dense<0.5> : tensor<8x4x16x64xf32>
  %k5 = nn.mul %k4, %halfk : tensor<8x4x16x64xf32>
  %v0 = nn.reshape %v : tensor<8x64x64xf32> to tensor<8x64x4x16xf32>
  %v1 = nn.transpose %v0 [0, 2, 1, 3] : tensor<8x64x4x16xf32> to tensor<8x4x64x16xf32>
  %s = nn.iota axis 3 : tensor<8x1x64x64xi64>
  %t = nn.iota axis 2 : tensor<8x1x64x64xi64>
  %seen = nn.compare le %s, %t : tensor<8x1x64x64xi64> -> tensor<8x1x64x64xi1>
  %zero = nn.constant dense<0.0> : tensor<8x1x64x64xf32>
  %low = nn.constant dense<-3.40282347E+38> : tensor<8x1x64x64xf32>
  %m = nn.select %seen, %zero, %low : tensor<8x1x64x64xi1>, tensor<8x1x64x64xf32>
  %mask = nn.broadcast %m dims [0, 1, 2, 3] : tensor<8x1x64x64xf32> to tensor<8x4x64x64xf32>
  %scores = nn.matmul %q2, %k5 : tensor<8x4x64x16xf32>, tensor<8x4x16x64xf32> -> tensor<8x4x64x64xf32>
  %masked = nn.add %scores, %mask : tensor<8x4x64x64xf32>
  %p = nn.softmax %masked axis 3 : tensor<8x4x64x64xf32>
  %nan = nn.compare ne %p, %p : tensor<8x4x64x64xf32> -> tensor<8x4x64x64xi1>
  %zeros = nn.constant dense<0.0> : tensor<8x4x64x64xf32>
  %guarded = nn.select %nan, %zeros, %p : tensor<8x4x64x64xi1>, tensor<8x4x64x64xf32>
  %o = nn.matmul %guarded, %v1 : tensor<8x4x64x64xf32>, tensor<8x4x64x16xf32> -> tensor<8x4x64x16xf32>
  %o1 = nn.transpose %o [0, 2, 1, 3] : tensor<8x4x64x16xf32> to tensor<8x64x4x16xf32>
  %o2 = nn.reshape %o1 : tensor<8x64x4x16xf32> to tensor<8x64x64xf32>
  return %o2 : tensor<8x64x64xf32>
}

// -----

// A mask that is selected, scores that are divided, operands that have the heads outside already.
// CHECK-LABEL: func @selected(
// CHECK-DAG:     %[[Q:.*]] = nn.transpose %arg0 [0, 2, 1, 3] : tensor<2x4x8x16xf32> to tensor<2x8x4x16xf32>
// CHECK-DAG:     %[[K:.*]] = nn.transpose %arg1 [0, 2, 1, 3]
// CHECK-DAG:     %[[V:.*]] = nn.transpose %arg2 [0, 2, 1, 3]
// CHECK:         %[[R:.*]], %{{.*}} = nn.attention %[[Q]], %[[K]], %[[V]] scale 2.500000e-01 causal
// CHECK:         nn.transpose %[[R]] [0, 2, 1, 3]
func.func @selected(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x12x16xf32>, %v: tensor<2x4x12x16xf32>) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x12x16xf32> -> tensor<2x4x8x12xf32>
  %four = nn.constant dense<4.0> : tensor<2x4x8x12xf32>
  %scaled = nn.div %scores, %four : tensor<2x4x8x12xf32>
  %s = nn.iota axis 1 : tensor<8x12xi64>
  %t = nn.iota axis 0 : tensor<8x12xi64>
  %offset = nn.constant dense<5> : tensor<8x12xi64>
  %end = nn.add %t, %offset : tensor<8x12xi64>
  %hidden = nn.compare ge %s, %end : tensor<8x12xi64> -> tensor<8x12xi1>
  %all = nn.broadcast %hidden dims [2, 3] : tensor<8x12xi1> to tensor<2x4x8x12xi1>
  %low = nn.constant dense<0xFF800000> : tensor<2x4x8x12xf32>
  %masked = nn.select %all, %low, %scaled : tensor<2x4x8x12xi1>, tensor<2x4x8x12xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x12xf32>
  %o = nn.matmul %p, %v : tensor<2x4x8x12xf32>, tensor<2x4x12x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// Another mask stays a mask, in the smallest shape it has.
// CHECK-LABEL: func @masked(
// CHECK:         %[[M:.*]] = nn.reshape %arg3 : tensor<8x8xf32> to tensor<1x1x8x8xf32>
// CHECK:         nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[M]] scale 1.000000e+00 :
func.func @masked(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>,
                  %m: tensor<8x8xf32> {nn.role = #nn.role<input "m">}) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %mask = nn.broadcast %m dims [2, 3] : tensor<8x8xf32> to tensor<2x4x8x8xf32>
  %masked = nn.add %mask, %scores : tensor<2x4x8x8xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x8xf32>
  %o = nn.matmul %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// A mask that is trained has a gradient, which attention would not give: left alone.
// CHECK-LABEL: func @trained_mask(
// CHECK:         nn.softmax
// CHECK-NOT:     nn.attention
func.func @trained_mask(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>,
                        %m: tensor<2x4x8x8xf32> {nn.role = #nn.role<parameter "m">}) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %masked = nn.add %scores, %m : tensor<2x4x8x8xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x8xf32>
  %o = nn.matmul %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// A mask off by one position is not causal, and no proof that every row has an entry: rows without one are guarded.
// CHECK-LABEL: func @strict(
// CHECK:         %[[LT:.*]] = nn.compare lt
// CHECK:         %[[SEEN:.*]] = nn.select %[[LT]], %{{.*}}, %{{.*}} : tensor<1x1x8x8xi1>
// CHECK:         %[[BEST:.*]] = nn.reduce max %[[SEEN]] axes [3] : tensor<1x1x8x8xf32> to tensor<1x1x8xf32>
// CHECK:         %[[ENTRY:.*]] = nn.compare gt %[[BEST]]
// CHECK:         %[[MASK:.*]] = nn.select %{{.*}}, %[[SEEN]], %{{.*}} : tensor<1x1x8x8xi1>
// CHECK:         %[[R:.*]], %{{.*}} = nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[MASK]] scale 1.000000e+00 :
// CHECK:         nn.select %{{.*}}, %[[R]], %{{.*}} : tensor<2x8x4x16xi1>
func.func @strict(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %s = nn.iota axis 3 : tensor<2x4x8x8xi64>
  %t = nn.iota axis 2 : tensor<2x4x8x8xi64>
  %seen = nn.compare lt %s, %t : tensor<2x4x8x8xi64> -> tensor<2x4x8x8xi1>
  %low = nn.constant dense<0xFF800000> : tensor<2x4x8x8xf32>
  %masked = nn.select %seen, %scores, %low : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x8xf32>
  %nan = nn.compare ne %p, %p : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xi1>
  %zero = nn.constant dense<0.0> : tensor<2x4x8x8xf32>
  %guarded = nn.select %nan, %zero, %p : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %o = nn.matmul %guarded, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// A guard beside a mask that may hide whole rows does something: such rows give 0.
// CHECK-LABEL: func @guarded(
// CHECK:         %[[BEST:.*]] = nn.reduce max %arg3 axes [3] : tensor<2x4x8x8xf32> to tensor<2x4x8xf32>
// CHECK:         %[[R:.*]], %{{.*}} = nn.attention
// CHECK:         nn.select %{{.*}}, %[[R]], %{{.*}} : tensor<2x8x4x16xi1>
func.func @guarded(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>,
                   %m: tensor<2x4x8x8xf32> {nn.role = #nn.role<input "m">}) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %masked = nn.add %scores, %m : tensor<2x4x8x8xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x8xf32>
  %nan = nn.compare ne %p, %p : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xi1>
  %zero = nn.constant dense<0.0> : tensor<2x4x8x8xf32>
  %g = nn.select %nan, %zero, %p : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %o = nn.matmul %g, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// A mask whose numbers are finite needs no guard.
// CHECK-LABEL: func @finite(
// CHECK:         %[[M:.*]] = nn.broadcast %{{.*}} dims [0, 1, 2, 3] : tensor<2x1x1x8xf32> to tensor<2x1x8x8xf32>
// CHECK:         %[[R:.*]], %{{.*}} = nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[M]] scale 1.000000e+00 :
// CHECK-NEXT:    %[[T:.*]] = nn.transpose %[[R]]
// CHECK-NEXT:    return %[[T]]
func.func @finite(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>,
                  %m: tensor<2x8xi1> {nn.role = #nn.role<input "m">}) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %all = nn.broadcast %m dims [0, 3] : tensor<2x8xi1> to tensor<2x4x8x8xi1>
  %zero = nn.constant dense<0.0> : tensor<2x4x8x8xf32>
  %low = nn.constant dense<-3.40282347E+38> : tensor<2x4x8x8xf32>
  %mask = nn.select %all, %zero, %low : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %masked = nn.add %scores, %mask : tensor<2x4x8x8xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x8xf32>
  %nan = nn.compare ne %p, %p : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xi1>
  %g = nn.select %nan, %zero, %p : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %o = nn.matmul %g, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// Numbers selected in place of scores: a row without an entry passes no gradient to query and key.
// CHECK-LABEL: func @filled(
// CHECK:         %[[M:.*]] = nn.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x1x1x8xi1>, tensor<2x1x1x8xf32>
// CHECK:         %[[BEST:.*]] = nn.reduce max %[[M]] axes [3] : tensor<2x1x1x8xf32> to tensor<2x1x1xf32>
// CHECK:         %[[ENTRY:.*]] = nn.compare eq %[[BEST]]
// CHECK:         %[[Q:.*]] = nn.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x8x4x16xi1>, tensor<2x8x4x16xf32>
// CHECK:         nn.attention %[[Q]],
func.func @filled(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %all = nn.broadcast %m dims [0, 3] : tensor<2x8xi1> to tensor<2x4x8x8xi1>
  %low = nn.constant dense<-1.0e9> : tensor<2x4x8x8xf32>
  %masked = nn.select %all, %scores, %low : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x8xf32>
  %o = nn.matmul %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// What is selected must be low enough to hide: -100 leaves a share.
// CHECK-LABEL: func @high(
// CHECK:         nn.softmax
// CHECK-NOT:     nn.attention
func.func @high(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x8xi1>) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %all = nn.broadcast %m dims [0, 3] : tensor<2x8xi1> to tensor<2x4x8x8xi1>
  %low = nn.constant dense<-1.0e2> : tensor<2x4x8x8xf32>
  %masked = nn.select %all, %scores, %low : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x8xf32>
  %o = nn.matmul %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// A second mask below a finite causal one would show what the causal one hides: left alone.
// CHECK-LABEL: func @finite_and_added(
// CHECK:         nn.softmax
// CHECK-NOT:     nn.attention
func.func @finite_and_added(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>,
                            %m: tensor<2x4x8x8xf32> {nn.role = #nn.role<input "m">}) -> tensor<2x4x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %s = nn.iota axis 3 : tensor<2x4x8x8xi64>
  %t = nn.iota axis 2 : tensor<2x4x8x8xi64>
  %seen = nn.compare le %s, %t : tensor<2x4x8x8xi64> -> tensor<2x4x8x8xi1>
  %low = nn.constant dense<-1.0e9> : tensor<2x4x8x8xf32>
  %causal = nn.select %seen, %scores, %low : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %masked = nn.add %causal, %m : tensor<2x4x8x8xf32>
  %p = nn.softmax %masked axis 3 : tensor<2x4x8x8xf32>
  %o = nn.matmul %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// Scores that another op reads would be computed twice: left alone.
// CHECK-LABEL: func @read_outside(
// CHECK:         nn.softmax
// CHECK-NOT:     nn.attention
func.func @read_outside(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x8xf32>) {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %p = nn.softmax %scores axis 3 : tensor<2x4x8x8xf32>
  %o = nn.matmul %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %o, %scores : tensor<2x4x8x16xf32>, tensor<2x4x8x8xf32>
}

// -----

// Another axis of softmax is no attention; nor are values of another size than keys.
// CHECK-LABEL: func @other_axis(
// CHECK-COUNT-2: nn.softmax
// CHECK-NOT:     nn.attention
func.func @other_axis(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %w: tensor<2x4x8x12xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x12xf32>) {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %p = nn.softmax %scores axis 2 : tensor<2x4x8x8xf32>
  %o = nn.matmul %p, %k : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  %again = nn.matmul %k, %q transpose_rhs : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  %r = nn.softmax %again axis 3 : tensor<2x4x8x8xf32>
  %u = nn.matmul %r, %w : tensor<2x4x8x8xf32>, tensor<2x4x8x12xf32> -> tensor<2x4x8x12xf32>
  return %o, %u : tensor<2x4x8x16xf32>, tensor<2x4x8x12xf32>
}

// -----

// Batch and heads in one dimension, time first: heads lie beside each other in the last dimension.
// CHECK-LABEL: func @merged_heads(
// CHECK-DAG:     %[[Q:.*]] = nn.reshape %arg0 : tensor<8x2x64xf32> to tensor<8x2x4x16xf32>
// CHECK-DAG:     %[[QT:.*]] = nn.transpose %[[Q]] [1, 0, 2, 3] : tensor<8x2x4x16xf32> to tensor<2x8x4x16xf32>
// CHECK:         nn.attention %[[QT]], %{{.*}}, %{{.*}} scale 2.500000e-01 : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
func.func @merged_heads(%q: tensor<8x2x64xf32>, %k: tensor<8x2x64xf32>, %v: tensor<8x2x64xf32>) -> tensor<8x8x16xf32> {
  %q0 = nn.reshape %q : tensor<8x2x64xf32> to tensor<8x8x16xf32>
  %k0 = nn.reshape %k : tensor<8x2x64xf32> to tensor<8x8x16xf32>
  %v0 = nn.reshape %v : tensor<8x2x64xf32> to tensor<8x8x16xf32>
  %q1 = nn.transpose %q0 [1, 0, 2] : tensor<8x8x16xf32> to tensor<8x8x16xf32>
  %k1 = nn.transpose %k0 [1, 2, 0] : tensor<8x8x16xf32> to tensor<8x16x8xf32>
  %v1 = nn.transpose %v0 [1, 0, 2] : tensor<8x8x16xf32> to tensor<8x8x16xf32>
  %scale = nn.constant dense<0.25> : tensor<8x8x16xf32>
  %q2 = nn.mul %q1, %scale : tensor<8x8x16xf32>
  %scores = nn.matmul %q2, %k1 : tensor<8x8x16xf32>, tensor<8x16x8xf32> -> tensor<8x8x8xf32>
  %p = nn.softmax %scores axis 2 : tensor<8x8x8xf32>
  %o = nn.matmul %p, %v1 : tensor<8x8x8xf32>, tensor<8x8x16xf32> -> tensor<8x8x16xf32>
  return %o : tensor<8x8x16xf32>
}

// -----

// A single head has three dimensions too.
// CHECK-LABEL: func @one_head(
// CHECK:         nn.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.000000e+00 : tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>
func.func @one_head(%q: tensor<2x8x16xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x8x16xf32>, tensor<2x8x16xf32> -> tensor<2x8x8xf32>
  %p = nn.softmax %scores axis 2 : tensor<2x8x8xf32>
  %o = nn.matmul %p, %v : tensor<2x8x8xf32>, tensor<2x8x16xf32> -> tensor<2x8x16xf32>
  return %o : tensor<2x8x16xf32>
}

// -----

// Attention has a kernel for float32.
// CHECK-LABEL: func @doubles(
// CHECK:         nn.softmax
// CHECK-NOT:     nn.attention
func.func @doubles(%q: tensor<2x8x16xf64>, %k: tensor<2x8x16xf64>, %v: tensor<2x8x16xf64>) -> tensor<2x8x16xf64> {
  %scores = nn.matmul %q, %k transpose_rhs : tensor<2x8x16xf64>, tensor<2x8x16xf64> -> tensor<2x8x8xf64>
  %p = nn.softmax %scores axis 2 : tensor<2x8x8xf64>
  %o = nn.matmul %p, %v : tensor<2x8x8xf64>, tensor<2x8x16xf64> -> tensor<2x8x16xf64>
  return %o : tensor<2x8x16xf64>
}

// -----

// A rotation of pairs that lie half a row apart is a sum over the two of a pair.
// CHECK-LABEL: func @rotary(
// CHECK-COUNT-2: nn.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x8x2x2x4xi1>, tensor<2x8x2x2x4xf32>
// CHECK:         %[[X:.*]] = nn.broadcast %{{.*}} dims [0, 1, 3, 4] : tensor<2x8x2x4xf32> to tensor<2x8x2x2x4xf32>
// CHECK:         %[[P:.*]] = nn.mul %[[X]], %{{.*}} : tensor<2x8x2x2x4xf32>
// CHECK:         nn.reduce sum %[[P]] axes [3] : tensor<2x8x2x2x4xf32> to tensor<2x8x2x4xf32>
// CHECK-NOT:     nn.concat
func.func @rotary(%x: tensor<2x8x8xf32>, %cos: tensor<8x8xf32>, %sin: tensor<8x8xf32>) -> tensor<2x8x8xf32> {
  %c = nn.broadcast %cos dims [1, 2] : tensor<8x8xf32> to tensor<2x8x8xf32>
  %s = nn.broadcast %sin dims [1, 2] : tensor<8x8xf32> to tensor<2x8x8xf32>
  %low = nn.slice %x starts [0, 0, 0] strides [1, 1, 1] : tensor<2x8x8xf32> to tensor<2x8x4xf32>
  %high = nn.slice %x starts [0, 0, 4] strides [1, 1, 1] : tensor<2x8x8xf32> to tensor<2x8x4xf32>
  %n = nn.neg %high : tensor<2x8x4xf32>
  %t = nn.concat %n, %low axis 2 : tensor<2x8x4xf32>, tensor<2x8x4xf32> -> tensor<2x8x8xf32>
  %0 = nn.mul %x, %c : tensor<2x8x8xf32>
  %1 = nn.mul %t, %s : tensor<2x8x8xf32>
  %2 = nn.add %0, %1 : tensor<2x8x8xf32>
  return %2 : tensor<2x8x8xf32>
}

// -----

// Of another tensor, or of quarters, it is none.
// CHECK-LABEL: func @no_rotary(
// CHECK-NOT:     nn.reduce
// CHECK:         return
func.func @no_rotary(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %c: tensor<8x8xf32>, %s: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %low = nn.slice %x starts [0, 0] strides [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
  %high = nn.slice %x starts [0, 4] strides [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
  %n = nn.neg %high : tensor<8x4xf32>
  %t = nn.concat %n, %low axis 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %0 = nn.mul %y, %c : tensor<8x8xf32>
  %1 = nn.mul %t, %s : tensor<8x8xf32>
  %2 = nn.add %0, %1 : tensor<8x8xf32>
  %few = nn.slice %x starts [0, 0] strides [1, 1] : tensor<8x8xf32> to tensor<8x2xf32>
  %many = nn.slice %x starts [0, 2] strides [1, 1] : tensor<8x8xf32> to tensor<8x6xf32>
  %m = nn.neg %many : tensor<8x6xf32>
  %u = nn.concat %m, %few axis 1 : tensor<8x6xf32>, tensor<8x2xf32> -> tensor<8x8xf32>
  %3 = nn.mul %x, %c : tensor<8x8xf32>
  %4 = nn.mul %u, %s : tensor<8x8xf32>
  %5 = nn.add %3, %4 : tensor<8x8xf32>
  return %2, %5 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Transposes cancel over what works in any layout.
// CHECK-LABEL: func @cancel(
// CHECK-NOT:     nn.transpose
// CHECK:         nn.slice %arg0 starts [0, 0, 2] strides [1, 1, 1] : tensor<2x3x4xf32> to tensor<2x3x2xf32>
// CHECK:         nn.broadcast %arg1 dims [1] : tensor<3xf32> to tensor<2x3x4xf32>
// CHECK-NOT:     nn.transpose
// CHECK:         return
func.func @cancel(%x: tensor<2x3x4xf32>, %b: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %t = nn.transpose %x [1, 0, 2] : tensor<2x3x4xf32> to tensor<3x2x4xf32>
  %low = nn.slice %t starts [0, 0, 0] strides [1, 1, 1] : tensor<3x2x4xf32> to tensor<3x2x2xf32>
  %high = nn.slice %t starts [0, 0, 2] strides [1, 1, 1] : tensor<3x2x4xf32> to tensor<3x2x2xf32>
  %c = nn.concat %high, %low axis 2 : tensor<3x2x2xf32>, tensor<3x2x2xf32> -> tensor<3x2x4xf32>
  %w = nn.broadcast %b dims [0] : tensor<3xf32> to tensor<3x2x4xf32>
  %s = nn.add %c, %w : tensor<3x2x4xf32>
  %r = nn.transpose %s [1, 0, 2] : tensor<3x2x4xf32> to tensor<2x3x4xf32>
  return %r : tensor<2x3x4xf32>
}

// -----

// Where something else reads what is between, or a leaf is neither transposed nor free, they stay.
// CHECK-LABEL: func @no_cancel(
// CHECK-COUNT-4: nn.transpose
func.func @no_cancel(%x: tensor<2x3x4xf32>, %y: tensor<3x2x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x2x4xf32>, tensor<2x3x4xf32>) {
  %t = nn.transpose %x [1, 0, 2] : tensor<2x3x4xf32> to tensor<3x2x4xf32>
  %e = nn.exp %t : tensor<3x2x4xf32>
  %r = nn.transpose %e [1, 0, 2] : tensor<3x2x4xf32> to tensor<2x3x4xf32>
  %z = nn.neg %x : tensor<2x3x4xf32>
  %u = nn.transpose %z [1, 0, 2] : tensor<2x3x4xf32> to tensor<3x2x4xf32>
  %a = nn.add %u, %y : tensor<3x2x4xf32>
  %q = nn.transpose %a [1, 0, 2] : tensor<3x2x4xf32> to tensor<2x3x4xf32>
  return %r, %e, %q : tensor<2x3x4xf32>, tensor<3x2x4xf32>, tensor<2x3x4xf32>
}

// -----

// log_softmax, the label's element of each row, a sum: cross-entropy, of no label that could be ignored.
// CHECK-LABEL: func @own_loss(
// CHECK-NEXT:    %[[S:.*]], %{{.*}}, %{{.*}} = nn.cross_entropy %arg0, %arg1 {ignore_index = -2147483648 : i64} : tensor<6x5xf32>, tensor<6xi64>
// CHECK-NEXT:    %[[N:.*]] = nn.neg %[[S]]
// CHECK-NEXT:    return %[[N]]
func.func @own_loss(%x: tensor<6x5xf32>, %l: tensor<6xi64>) -> tensor<f32> {
  %m = nn.reduce max %x axes [1] : tensor<6x5xf32> to tensor<6xf32>
  %mb = nn.broadcast %m dims [0] : tensor<6xf32> to tensor<6x5xf32>
  %d = nn.sub %x, %mb : tensor<6x5xf32>
  %e = nn.exp %d : tensor<6x5xf32>
  %s = nn.reduce sum %e axes [1] : tensor<6x5xf32> to tensor<6xf32>
  %s1 = nn.reshape %s : tensor<6xf32> to tensor<6x1xf32>
  %g = nn.log %s1 : tensor<6x1xf32>
  %gb = nn.broadcast %g dims [0, 1] : tensor<6x1xf32> to tensor<6x5xf32>
  %p = nn.sub %d, %gb : tensor<6x5xf32>
  %flat = nn.reshape %p : tensor<6x5xf32> to tensor<30xf32>
  %five = nn.constant dense<5> : tensor<6xi64>
  %i = nn.iota axis 0 : tensor<6xi64>
  %start = nn.mul %i, %five : tensor<6xi64>
  %at = nn.add %start, %l : tensor<6xi64>
  %zero = nn.constant dense<0> : tensor<6xi64>
  %none = nn.constant dense<-1> : tensor<6xi64>
  %low = nn.compare ge %l, %zero : tensor<6xi64> -> tensor<6xi1>
  %high = nn.compare lt %l, %five : tensor<6xi64> -> tensor<6xi1>
  %in = nn.and %low, %high : tensor<6xi1>
  %index = nn.select %in, %at, %none : tensor<6xi1>, tensor<6xi64>
  %t = nn.gather %flat[%index] axis 0 : tensor<30xf32>, tensor<6xi64> -> tensor<6xf32>
  %r = nn.reduce sum %t axes [0] : tensor<6xf32> to tensor<f32>
  return %r : tensor<f32>
}

// -----

// Other elements than each row's own: left alone.
// CHECK-LABEL: func @other_loss(
// CHECK-NOT:     nn.cross_entropy
// CHECK:         nn.gather
func.func @other_loss(%x: tensor<6x5xf32>, %l: tensor<6xi64>) -> tensor<f32> {
  %m = nn.reduce max %x axes [1] : tensor<6x5xf32> to tensor<6xf32>
  %mb = nn.broadcast %m dims [0] : tensor<6xf32> to tensor<6x5xf32>
  %d = nn.sub %x, %mb : tensor<6x5xf32>
  %e = nn.exp %d : tensor<6x5xf32>
  %s = nn.reduce sum %e axes [1] : tensor<6x5xf32> to tensor<6xf32>
  %s1 = nn.reshape %s : tensor<6xf32> to tensor<6x1xf32>
  %g = nn.log %s1 : tensor<6x1xf32>
  %gb = nn.broadcast %g dims [0, 1] : tensor<6x1xf32> to tensor<6x5xf32>
  %p = nn.sub %d, %gb : tensor<6x5xf32>
  %flat = nn.reshape %p : tensor<6x5xf32> to tensor<30xf32>
  %five = nn.constant dense<4> : tensor<6xi64>
  %i = nn.iota axis 0 : tensor<6xi64>
  %start = nn.mul %i, %five : tensor<6xi64>
  %at = nn.add %start, %l : tensor<6xi64>
  %zero = nn.constant dense<0> : tensor<6xi64>
  %none = nn.constant dense<-1> : tensor<6xi64>
  %low = nn.compare ge %l, %zero : tensor<6xi64> -> tensor<6xi1>
  %high = nn.compare lt %l, %five : tensor<6xi64> -> tensor<6xi1>
  %in = nn.and %low, %high : tensor<6xi1>
  %index = nn.select %in, %at, %none : tensor<6xi1>, tensor<6xi64>
  %t = nn.gather %flat[%index] axis 0 : tensor<30xf32>, tensor<6xi64> -> tensor<6xf32>
  %r = nn.reduce sum %t axes [0] : tensor<6xf32> to tensor<f32>
  return %r : tensor<f32>
}

// -----

// An index below 0 counts from the end of all 30 elements: no label is one.
// CHECK-LABEL: func @loss_from_end(
// CHECK-NEXT:    nn.cross_entropy %arg0, %arg1
func.func @loss_from_end(%x: tensor<6x5xf32>, %l: tensor<6xi64>) -> tensor<f32> {
  %m = nn.reduce max %x axes [1] : tensor<6x5xf32> to tensor<6xf32>
  %mb = nn.broadcast %m dims [0] : tensor<6xf32> to tensor<6x5xf32>
  %d = nn.sub %x, %mb : tensor<6x5xf32>
  %e = nn.exp %d : tensor<6x5xf32>
  %s = nn.reduce sum %e axes [1] : tensor<6x5xf32> to tensor<6xf32>
  %g = nn.log %s : tensor<6xf32>
  %gb = nn.broadcast %g dims [0] : tensor<6xf32> to tensor<6x5xf32>
  %p = nn.sub %d, %gb : tensor<6x5xf32>
  %flat = nn.reshape %p : tensor<6x5xf32> to tensor<30xf32>
  %five = nn.constant dense<5> : tensor<6xi64>
  %i = nn.iota axis 0 : tensor<6xi64>
  %start = nn.mul %i, %five : tensor<6xi64>
  %at = nn.add %start, %l : tensor<6xi64>
  %zero = nn.constant dense<0> : tensor<6xi64>
  %size = nn.constant dense<30> : tensor<6xi64>
  %below = nn.compare lt %at, %zero : tensor<6xi64> -> tensor<6xi1>
  %back = nn.add %at, %size : tensor<6xi64>
  %index = nn.select %below, %back, %at : tensor<6xi1>, tensor<6xi64>
  %t = nn.gather %flat[%index] axis 0 : tensor<30xf32>, tensor<6xi64> -> tensor<6xf32>
  %r = nn.reduce sum %t axes [0] : tensor<6xf32> to tensor<f32>
  return %r : tensor<f32>
}

// -----

// By another number it would read another element: left alone.
// CHECK-LABEL: func @loss_from_elsewhere(
// CHECK-NOT:     nn.cross_entropy
// CHECK:         nn.gather
func.func @loss_from_elsewhere(%x: tensor<6x5xf32>, %l: tensor<6xi64>) -> tensor<f32> {
  %m = nn.reduce max %x axes [1] : tensor<6x5xf32> to tensor<6xf32>
  %mb = nn.broadcast %m dims [0] : tensor<6xf32> to tensor<6x5xf32>
  %d = nn.sub %x, %mb : tensor<6x5xf32>
  %e = nn.exp %d : tensor<6x5xf32>
  %s = nn.reduce sum %e axes [1] : tensor<6x5xf32> to tensor<6xf32>
  %g = nn.log %s : tensor<6xf32>
  %gb = nn.broadcast %g dims [0] : tensor<6xf32> to tensor<6x5xf32>
  %p = nn.sub %d, %gb : tensor<6x5xf32>
  %flat = nn.reshape %p : tensor<6x5xf32> to tensor<30xf32>
  %five = nn.constant dense<5> : tensor<6xi64>
  %i = nn.iota axis 0 : tensor<6xi64>
  %start = nn.mul %i, %five : tensor<6xi64>
  %at = nn.add %start, %l : tensor<6xi64>
  %zero = nn.constant dense<0> : tensor<6xi64>
  %size = nn.constant dense<25> : tensor<6xi64>
  %below = nn.compare lt %at, %zero : tensor<6xi64> -> tensor<6xi1>
  %back = nn.add %at, %size : tensor<6xi64>
  %index = nn.select %below, %back, %at : tensor<6xi1>, tensor<6xi64>
  %t = nn.gather %flat[%index] axis 0 : tensor<30xf32>, tensor<6xi64> -> tensor<6xf32>
  %r = nn.reduce sum %t axes [0] : tensor<6xf32> to tensor<f32>
  return %r : tensor<f32>
}

// -----

// CHECK-LABEL: func @gelu_tanh(
// CHECK-NEXT:    %[[Y:.*]] = nn.gelu tanh %arg0 : tensor<8x16xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @gelu_tanh(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %half = nn.constant dense<0.5> : tensor<8x16xf32>
  %three = nn.constant dense<3.0> : tensor<8x16xf32>
  %c = nn.constant dense<0.044715> : tensor<8x16xf32>
  %k = nn.constant dense<0.797884583> : tensor<8x16xf32>
  %one = nn.constant dense<1.0> : tensor<8x16xf32>
  %0 = nn.mul %x, %half : tensor<8x16xf32>
  %1 = nn.pow %x, %three : tensor<8x16xf32>
  %2 = nn.mul %1, %c : tensor<8x16xf32>
  %3 = nn.add %x, %2 : tensor<8x16xf32>
  %4 = nn.mul %3, %k : tensor<8x16xf32>
  %5 = nn.tanh %4 : tensor<8x16xf32>
  %6 = nn.add %5, %one : tensor<8x16xf32>
  %7 = nn.mul %0, %6 : tensor<8x16xf32>
  return %7 : tensor<8x16xf32>
}

// -----

// CHECK-LABEL: func @gelu_erf(
// CHECK-NEXT:    %[[Y:.*]] = nn.gelu none %arg0 : tensor<8x16xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @gelu_erf(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %root = nn.constant dense<1.41421354> : tensor<8x16xf32>
  %one = nn.constant dense<1.0> : tensor<8x16xf32>
  %half = nn.constant dense<0.5> : tensor<8x16xf32>
  %0 = nn.div %x, %root : tensor<8x16xf32>
  %1 = nn.erf %0 : tensor<8x16xf32>
  %2 = nn.add %one, %1 : tensor<8x16xf32>
  %3 = nn.mul %x, %2 : tensor<8x16xf32>
  %4 = nn.mul %3, %half : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// -----

// Almost a GELU: another factor.
// CHECK-LABEL: func @no_gelu(
// CHECK:         nn.erf
// CHECK-NOT:     nn.gelu
func.func @no_gelu(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %one = nn.constant dense<1.0> : tensor<8x16xf32>
  %half = nn.constant dense<0.5> : tensor<8x16xf32>
  %1 = nn.erf %x : tensor<8x16xf32>
  %2 = nn.add %1, %one : tensor<8x16xf32>
  %3 = nn.mul %x, %2 : tensor<8x16xf32>
  %4 = nn.mul %3, %half : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// -----

// CHECK-LABEL: func @layer_norm(
// CHECK-NEXT:    %[[Y:.*]], %{{.*}}, %{{.*}} = nn.layer_norm %arg0 scale %arg1 bias %arg2 epsilon 9.9999997{{.*}}E-6
// CHECK-NEXT:    return %[[Y]]
func.func @layer_norm(%x: tensor<8x5x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<8x5x4xf32> {
  %0 = nn.reduce sum %x axes [2] : tensor<8x5x4xf32> to tensor<8x5xf32>
  %1 = nn.reshape %0 : tensor<8x5xf32> to tensor<8x5x1xf32>
  %n = nn.constant dense<4.0> : tensor<8x5x1xf32>
  %2 = nn.div %1, %n : tensor<8x5x1xf32>
  %3 = nn.broadcast %2 dims [0, 1, 2] : tensor<8x5x1xf32> to tensor<8x5x4xf32>
  %4 = nn.sub %x, %3 : tensor<8x5x4xf32>
  %two = nn.constant dense<2.0> : tensor<8x5x4xf32>
  %5 = nn.pow %4, %two : tensor<8x5x4xf32>
  %6 = nn.reduce sum %5 axes [2] : tensor<8x5x4xf32> to tensor<8x5xf32>
  %7 = nn.reshape %6 : tensor<8x5xf32> to tensor<8x5x1xf32>
  %8 = nn.div %7, %n : tensor<8x5x1xf32>
  %e = nn.constant dense<1.0e-5> : tensor<8x5x1xf32>
  %9 = nn.add %8, %e : tensor<8x5x1xf32>
  %10 = nn.sqrt %9 : tensor<8x5x1xf32>
  %11 = nn.broadcast %10 dims [0, 1, 2] : tensor<8x5x1xf32> to tensor<8x5x4xf32>
  %12 = nn.div %4, %11 : tensor<8x5x4xf32>
  %13 = nn.broadcast %w dims [2] : tensor<4xf32> to tensor<8x5x4xf32>
  %14 = nn.mul %12, %13 : tensor<8x5x4xf32>
  %15 = nn.broadcast %b dims [2] : tensor<4xf32> to tensor<8x5x4xf32>
  %16 = nn.add %14, %15 : tensor<8x5x4xf32>
  return %16 : tensor<8x5x4xf32>
}

// -----

// Over other dimensions than the last it stands between transposes.
// CHECK-LABEL: func @other_norm(
// CHECK-NEXT:    %[[T:.*]] = nn.transpose %arg0 [1, 0] : tensor<8x4xf32> to tensor<4x8xf32>
// CHECK-NEXT:    %[[Y:.*]], %{{.*}}, %{{.*}} = nn.layer_norm %[[T]] scale %arg1 epsilon
// CHECK-NEXT:    %[[R:.*]] = nn.transpose %[[Y]] [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
// CHECK-NEXT:    return %[[R]]
func.func @other_norm(%x: tensor<8x4xf32>, %w: tensor<8xf32>) -> tensor<8x4xf32> {
  %0 = nn.reduce sum %x axes [0] : tensor<8x4xf32> to tensor<4xf32>
  %n = nn.constant dense<8.0> : tensor<4xf32>
  %1 = nn.div %0, %n : tensor<4xf32>
  %2 = nn.broadcast %1 dims [1] : tensor<4xf32> to tensor<8x4xf32>
  %3 = nn.sub %x, %2 : tensor<8x4xf32>
  %4 = nn.mul %3, %3 : tensor<8x4xf32>
  %5 = nn.reduce sum %4 axes [0] : tensor<8x4xf32> to tensor<4xf32>
  %6 = nn.div %5, %n : tensor<4xf32>
  %e = nn.constant dense<1.0e-5> : tensor<4xf32>
  %7 = nn.add %6, %e : tensor<4xf32>
  %8 = nn.sqrt %7 : tensor<4xf32>
  %9 = nn.broadcast %8 dims [1] : tensor<4xf32> to tensor<8x4xf32>
  %10 = nn.div %3, %9 : tensor<8x4xf32>
  %11 = nn.broadcast %w dims [0] : tensor<8xf32> to tensor<8x4xf32>
  %12 = nn.mul %10, %11 : tensor<8x4xf32>
  return %12 : tensor<8x4xf32>
}

// -----

// A weight of the dimensions that are not normalised is not the norm's.
// CHECK-LABEL: func @other_weight(
// CHECK:         %[[Y:.*]], %{{.*}}, %{{.*}} = nn.layer_norm %{{.*}} scale %{{[a-z_0-9]+}} epsilon
// CHECK:         nn.mul
func.func @other_weight(%x: tensor<8x4xf32>, %w: tensor<8xf32>) -> tensor<8x4xf32> {
  %0 = nn.reduce sum %x axes [1] : tensor<8x4xf32> to tensor<8xf32>
  %n = nn.constant dense<4.0> : tensor<8xf32>
  %1 = nn.div %0, %n : tensor<8xf32>
  %2 = nn.broadcast %1 dims [0] : tensor<8xf32> to tensor<8x4xf32>
  %3 = nn.sub %x, %2 : tensor<8x4xf32>
  %4 = nn.mul %3, %3 : tensor<8x4xf32>
  %5 = nn.reduce sum %4 axes [1] : tensor<8x4xf32> to tensor<8xf32>
  %6 = nn.div %5, %n : tensor<8xf32>
  %e = nn.constant dense<1.0e-5> : tensor<8xf32>
  %7 = nn.add %6, %e : tensor<8xf32>
  %8 = nn.sqrt %7 : tensor<8xf32>
  %9 = nn.broadcast %8 dims [0] : tensor<8xf32> to tensor<8x4xf32>
  %10 = nn.div %3, %9 : tensor<8x4xf32>
  %11 = nn.broadcast %w dims [0] : tensor<8xf32> to tensor<8x4xf32>
  %12 = nn.mul %10, %11 : tensor<8x4xf32>
  return %12 : tensor<8x4xf32>
}

// -----

// A row's mean that is repeated along the other dimension belongs to other rows.
// CHECK-LABEL: func @crossed_norm(
// CHECK:         nn.sqrt
// CHECK-NOT:     nn.layer_norm
func.func @crossed_norm(%x: tensor<4x4xf32>, %w: tensor<4xf32>) -> tensor<4x4xf32> {
  %0 = nn.reduce sum %x axes [1] : tensor<4x4xf32> to tensor<4xf32>
  %n = nn.constant dense<4.0> : tensor<4xf32>
  %1 = nn.div %0, %n : tensor<4xf32>
  %2 = nn.broadcast %1 dims [1] : tensor<4xf32> to tensor<4x4xf32>
  %3 = nn.sub %x, %2 : tensor<4x4xf32>
  %4 = nn.mul %3, %3 : tensor<4x4xf32>
  %5 = nn.reduce sum %4 axes [1] : tensor<4x4xf32> to tensor<4xf32>
  %6 = nn.div %5, %n : tensor<4xf32>
  %e = nn.constant dense<1.0e-5> : tensor<4xf32>
  %7 = nn.add %6, %e : tensor<4xf32>
  %8 = nn.sqrt %7 : tensor<4xf32>
  %9 = nn.broadcast %8 dims [0] : tensor<4xf32> to tensor<4x4xf32>
  %10 = nn.div %3, %9 : tensor<4x4xf32>
  %11 = nn.broadcast %w dims [1] : tensor<4xf32> to tensor<4x4xf32>
  %12 = nn.mul %10, %11 : tensor<4x4xf32>
  return %12 : tensor<4x4xf32>
}

// -----

// The norm alone; a bias without a scale is added to it.
// CHECK-LABEL: func @bare_norm(
// CHECK:         %[[ONE:.*]] = nn.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK:         %[[Y:.*]], %{{.*}}, %{{.*}} = nn.layer_norm %arg0 scale %[[ONE]] epsilon
// CHECK:         nn.add %[[Y]]
func.func @bare_norm(%x: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = nn.reduce sum %x axes [1] : tensor<8x4xf32> to tensor<8xf32>
  %n = nn.constant dense<2.5e-1> : tensor<8xf32>
  %1 = nn.mul %0, %n : tensor<8xf32>
  %2 = nn.broadcast %1 dims [0] : tensor<8xf32> to tensor<8x4xf32>
  %3 = nn.sub %x, %2 : tensor<8x4xf32>
  %4 = nn.mul %3, %3 : tensor<8x4xf32>
  %5 = nn.reduce sum %4 axes [1] : tensor<8x4xf32> to tensor<8xf32>
  %6 = nn.mul %5, %n : tensor<8xf32>
  %e = nn.constant dense<1.0e-5> : tensor<8xf32>
  %7 = nn.add %6, %e : tensor<8xf32>
  %8 = nn.rsqrt %7 : tensor<8xf32>
  %9 = nn.broadcast %8 dims [0] : tensor<8xf32> to tensor<8x4xf32>
  %10 = nn.mul %3, %9 : tensor<8x4xf32>
  %11 = nn.broadcast %b dims [1] : tensor<4xf32> to tensor<8x4xf32>
  %12 = nn.add %10, %11 : tensor<8x4xf32>
  return %12 : tensor<8x4xf32>
}

// -----

// Transposes of matrices are how matmul reads them.
// CHECK-LABEL: func @transposed(
// CHECK-NEXT:    nn.matmul %arg0, %arg1 transpose_rhs : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
// CHECK-NEXT:    return
func.func @transposed(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>) -> tensor<8x6xf32> {
  %0 = nn.transpose %w [1, 0] : tensor<6x4xf32> to tensor<4x6xf32>
  %1 = nn.matmul %x, %0 : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}

// -----

// Keys and values that are repeated for groups of query heads are read as groups.
// CHECK-LABEL: func @grouped(
// CHECK-DAG:     %[[K:.*]] = nn.transpose %arg1 [0, 2, 1, 3] : tensor<2x2x8x16xf32> to tensor<2x8x2x16xf32>
// CHECK-DAG:     %[[V:.*]] = nn.reshape %arg2 : tensor<2x8x32xf32> to tensor<2x8x2x16xf32>
// CHECK:         nn.attention %{{.*}}, %[[K]], %[[V]] scale 1.000000e+00 : tensor<2x8x6x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>
func.func @grouped(%q: tensor<2x6x8x16xf32>, %k: tensor<2x2x8x16xf32>, %v: tensor<2x8x32xf32>) -> tensor<2x6x8x16xf32> {
  %k0 = nn.reshape %k : tensor<2x2x8x16xf32> to tensor<2x2x1x8x16xf32>
  %k1 = nn.broadcast %k0 dims [0, 1, 2, 3, 4] : tensor<2x2x1x8x16xf32> to tensor<2x2x3x8x16xf32>
  %k2 = nn.reshape %k1 : tensor<2x2x3x8x16xf32> to tensor<2x6x8x16xf32>
  %v0 = nn.reshape %v : tensor<2x8x32xf32> to tensor<2x8x2x16xf32>
  %v1 = nn.transpose %v0 [0, 2, 1, 3] : tensor<2x8x2x16xf32> to tensor<2x2x8x16xf32>
  %v2 = nn.reshape %v1 : tensor<2x2x8x16xf32> to tensor<2x2x1x8x16xf32>
  %v3 = nn.broadcast %v2 dims [0, 1, 2, 3, 4] : tensor<2x2x1x8x16xf32> to tensor<2x2x3x8x16xf32>
  %v4 = nn.reshape %v3 : tensor<2x2x3x8x16xf32> to tensor<2x6x8x16xf32>
  %scores = nn.matmul %q, %k2 transpose_rhs : tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32> -> tensor<2x6x8x8xf32>
  %p = nn.softmax %scores axis 3 : tensor<2x6x8x8xf32>
  %o = nn.matmul %p, %v4 : tensor<2x6x8x8xf32>, tensor<2x6x8x16xf32> -> tensor<2x6x8x16xf32>
  return %o : tensor<2x6x8x16xf32>
}

// -----

// A square is a product; a reshape that puts ones in is part of the broadcast.
// CHECK-LABEL: func @simpler(
// CHECK-NEXT:    %[[B:.*]] = nn.broadcast %arg1 dims [1] : tensor<4xf32> to tensor<8x4xf32>
// CHECK-NEXT:    %[[P:.*]] = nn.mul %arg0, %arg0 : tensor<8x4xf32>
// CHECK-NEXT:    nn.add %[[P]], %[[B]]
func.func @simpler(%x: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = nn.reshape %b : tensor<4xf32> to tensor<1x4xf32>
  %1 = nn.broadcast %0 dims [0, 1] : tensor<1x4xf32> to tensor<8x4xf32>
  %two = nn.constant dense<2.0> : tensor<8x4xf32>
  %2 = nn.pow %x, %two : tensor<8x4xf32>
  %3 = nn.add %2, %1 : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

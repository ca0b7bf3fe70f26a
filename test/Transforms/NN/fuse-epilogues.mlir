// RUN: zero-opt %s --nn-fuse-epilogues --split-input-file | FileCheck %s

// Bias and residual: the last addition takes those before it, through reshapes that leave the rows.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @sum(
// CHECK-SAME:    %[[X:.*]]: tensor<12x8xf32>, %[[W:.*]]: tensor<8x10xf32>, %[[B:.*]]: tensor<10xf32>, %[[R:.*]]: tensor<3x4x10xf32>)
// CHECK-NEXT:    %[[Y:.*]] = nn.group(%[[A0:.*]] = %[[X]] : tensor<12x8xf32>, %[[A1:.*]] = %[[W]] : tensor<8x10xf32>, %[[A2:.*]] = %[[R]] : tensor<3x4x10xf32>, %[[A3:.*]] = %[[B]] : tensor<10xf32>) -> (tensor<3x4x10xf32>) {
// CHECK-NEXT:      %[[P:.*]] = nn.matmul %[[A0]], %[[A1]]
// CHECK-NEXT:      %[[V:.*]] = nn.broadcast %[[A3]] dims [1]
// CHECK-NEXT:      %[[S:.*]] = nn.add %[[P]], %[[V]]
// CHECK-NEXT:      %[[T:.*]] = nn.reshape %[[S]]
// CHECK-NEXT:      %[[U:.*]] = nn.add %[[A2]], %[[T]]
// CHECK-NEXT:      nn.yield %[[U]] : tensor<3x4x10xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @sum(%x: tensor<12x8xf32>, %w: tensor<8x10xf32>, %b: tensor<10xf32>, %r: tensor<3x4x10xf32>) -> tensor<3x4x10xf32> {
  %0 = nn.matmul %x, %w : tensor<12x8xf32>, tensor<8x10xf32> -> tensor<12x10xf32>
  %1 = nn.broadcast %b dims [1] : tensor<10xf32> to tensor<12x10xf32>
  %2 = nn.add %0, %1 : tensor<12x10xf32>
  %3 = nn.reshape %2 : tensor<12x10xf32> to tensor<3x4x10xf32>
  %4 = nn.add %r, %3 : tensor<3x4x10xf32>
  return %4 : tensor<3x4x10xf32>
}
}

// -----

// In 16 bits what is rounded on the way is not stored, and not rounded.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @narrow(
// CHECK-NEXT:    %[[Y:.*]] = nn.group(%{{.*}} = %{{.*}} : tensor<12x8xbf16>, %{{.*}} = %{{.*}} : tensor<8x10xbf16>, %{{.*}} = %{{.*}} : tensor<12x10xbf16>, %{{.*}} = %{{.*}} : tensor<10xbf16>) -> (tensor<12x10xbf16>) {
// CHECK:           nn.matmul
// CHECK:           nn.yield %{{.*}} : tensor<12x10xbf16>
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @narrow(%x: tensor<12x8xbf16>, %w: tensor<8x10xbf16>, %b: tensor<10xbf16>, %r: tensor<12x10xbf16>) -> tensor<12x10xbf16> {
  %0 = nn.matmul %x, %w : tensor<12x8xbf16>, tensor<8x10xbf16> -> tensor<12x10xbf16>
  %1 = nn.cast %0 : tensor<12x10xbf16> to tensor<12x10xf32>
  %2 = nn.broadcast %b dims [1] : tensor<10xbf16> to tensor<12x10xbf16>
  %3 = nn.cast %2 : tensor<12x10xbf16> to tensor<12x10xf32>
  %4 = nn.add %1, %3 : tensor<12x10xf32>
  %5 = nn.cast %4 : tensor<12x10xf32> to tensor<12x10xbf16>
  %6 = nn.cast %5 : tensor<12x10xbf16> to tensor<12x10xf32>
  %7 = nn.cast %r : tensor<12x10xbf16> to tensor<12x10xf32>
  %8 = nn.add %6, %7 : tensor<12x10xf32>
  %9 = nn.cast %8 : tensor<12x10xf32> to tensor<12x10xbf16>
  return %9 : tensor<12x10xbf16>
}
}

// -----

// Two products: the later one takes the other's result.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @two_products(
// CHECK-NEXT:    %[[A:.*]] = nn.matmul %arg0, %arg1
// CHECK-NEXT:    %[[Y:.*]] = nn.group(%{{.*}} = %arg2 : tensor<6x4xf32>, %{{.*}} = %arg3 : tensor<4x8xf32>, %{{.*}} = %[[A]] : tensor<6x8xf32>)
func.func @two_products(%x: tensor<6x5xf32>, %w: tensor<5x8xf32>, %y: tensor<6x4xf32>, %v: tensor<4x8xf32>) -> tensor<6x8xf32> {
  %0 = nn.matmul %x, %w : tensor<6x5xf32>, tensor<5x8xf32> -> tensor<6x8xf32>
  %1 = nn.matmul %y, %v : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %2 = nn.add %1, %0 : tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}
}

// -----

// GELU in its tanh form, with what it is applied to, where that is read elsewhere; below it its gradient, with the sum of its rows.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @gelu(
// CHECK:         %[[G:.*]]:2 = nn.group(%{{.*}} = %arg0 : tensor<6x4xf32>, %{{.*}} = %arg1 : tensor<4x8xf32>, %{{.*}} = %arg2 : tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK:           nn.matmul
// CHECK:           nn.tanh
// CHECK:         %[[D:.*]]:2 = nn.group(%{{.*}} = %arg3 : tensor<6x5xf32>, %{{.*}} = %arg4 : tensor<8x5xf32>, %{{.*}} = %[[G]]#1 : tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8xf32>)
// CHECK:           nn.matmul %{{.*}}, %{{.*}} transpose_rhs
// CHECK:           nn.reduce sum
// CHECK-NOT:     nn.tanh %{{.*}} : tensor<6x8xf32>
// CHECK:         return %[[G]]#0, %[[D]]#0, %[[D]]#1
func.func @gelu(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %g: tensor<6x5xf32>, %v: tensor<8x5xf32>)
    -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<8xf32>) {
  %half = nn.constant dense<5.000000e-01> : tensor<6x8xf32>
  %one = nn.constant dense<1.000000e+00> : tensor<6x8xf32>
  %triple = nn.constant dense<1.341450e-01> : tensor<6x8xf32>
  %root = nn.constant dense<0.797884583> : tensor<6x8xf32>
  %cubic = nn.constant dense<4.471500e-02> : tensor<6x8xf32>
  %0 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %1 = nn.broadcast %b dims [1] : tensor<8xf32> to tensor<6x8xf32>
  %2 = nn.add %0, %1 : tensor<6x8xf32>
  %3 = nn.mul %2, %2 : tensor<6x8xf32>
  %4 = nn.mul %3, %2 : tensor<6x8xf32>
  %5 = nn.mul %4, %cubic : tensor<6x8xf32>
  %6 = nn.add %2, %5 : tensor<6x8xf32>
  %7 = nn.mul %6, %root : tensor<6x8xf32>
  %8 = nn.tanh %7 : tensor<6x8xf32>
  %9 = nn.mul %2, %half : tensor<6x8xf32>
  %10 = nn.add %8, %one : tensor<6x8xf32>
  %11 = nn.mul %9, %10 : tensor<6x8xf32>
  %12 = nn.matmul %g, %v transpose_rhs : tensor<6x5xf32>, tensor<8x5xf32> -> tensor<6x8xf32>
  %13 = nn.mul %3, %triple : tensor<6x8xf32>
  %14 = nn.add %13, %one : tensor<6x8xf32>
  %15 = nn.mul %14, %root : tensor<6x8xf32>
  %16 = nn.mul %8, %8 : tensor<6x8xf32>
  %17 = nn.sub %one, %16 : tensor<6x8xf32>
  %18 = nn.mul %9, %17 : tensor<6x8xf32>
  %19 = nn.mul %18, %15 : tensor<6x8xf32>
  %20 = nn.mul %10, %half : tensor<6x8xf32>
  %21 = nn.add %20, %19 : tensor<6x8xf32>
  %22 = nn.mul %12, %21 : tensor<6x8xf32>
  %23 = nn.reduce sum %22 axes [0] : tensor<6x8xf32> to tensor<8xf32>
  return %11, %22, %23 : tensor<6x8xf32>, tensor<6x8xf32>, tensor<8xf32>
}
}

// -----

// Nothing else reads what it is applied to.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @gelu_alone(
// CHECK-NEXT:    %[[G:.*]] = nn.group(%{{.*}} = %arg0 : tensor<6x4xf32>, %{{.*}} = %arg1 : tensor<4x6xf32>) -> (tensor<6x6xf32>)
func.func @gelu_alone(%x: tensor<6x4xf32>, %w: tensor<4x6xf32>) -> tensor<6x6xf32> {
  %half = nn.constant dense<5.000000e-01> : tensor<6x6xf32>
  %one = nn.constant dense<1.000000e+00> : tensor<6x6xf32>
  %root = nn.constant dense<0.797884583> : tensor<6x6xf32>
  %cubic = nn.constant dense<4.471500e-02> : tensor<6x6xf32>
  %2 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x6xf32> -> tensor<6x6xf32>
  %3 = nn.mul %2, %2 : tensor<6x6xf32>
  %4 = nn.mul %3, %2 : tensor<6x6xf32>
  %5 = nn.mul %4, %cubic : tensor<6x6xf32>
  %6 = nn.add %2, %5 : tensor<6x6xf32>
  %7 = nn.mul %6, %root : tensor<6x6xf32>
  %8 = nn.tanh %7 : tensor<6x6xf32>
  %9 = nn.mul %2, %half : tensor<6x6xf32>
  %10 = nn.add %8, %one : tensor<6x6xf32>
  %11 = nn.mul %9, %10 : tensor<6x6xf32>
  return %11 : tensor<6x6xf32>
}
}

// -----

// It would have to be stored, and its rows are no multiple of 8: the bias alone is taken.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @short_rows(
// CHECK:         %[[S:.*]] = nn.group(%{{.*}} = %arg0 : tensor<6x4xf32>, %{{.*}} = %arg1 : tensor<4x6xf32>, %{{.*}} = %arg2 : tensor<6xf32>) -> (tensor<6x6xf32>)
// CHECK:         nn.tanh %{{.*}} : tensor<6x6xf32>
// CHECK:         return %{{.*}}, %[[S]]
func.func @short_rows(%x: tensor<6x4xf32>, %w: tensor<4x6xf32>, %b: tensor<6xf32>) -> (tensor<6x6xf32>, tensor<6x6xf32>) {
  %half = nn.constant dense<5.000000e-01> : tensor<6x6xf32>
  %one = nn.constant dense<1.000000e+00> : tensor<6x6xf32>
  %root = nn.constant dense<0.797884583> : tensor<6x6xf32>
  %cubic = nn.constant dense<4.471500e-02> : tensor<6x6xf32>
  %0 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x6xf32> -> tensor<6x6xf32>
  %1 = nn.broadcast %b dims [1] : tensor<6xf32> to tensor<6x6xf32>
  %2 = nn.add %0, %1 : tensor<6x6xf32>
  %3 = nn.mul %2, %2 : tensor<6x6xf32>
  %4 = nn.mul %3, %2 : tensor<6x6xf32>
  %5 = nn.mul %4, %cubic : tensor<6x6xf32>
  %6 = nn.add %2, %5 : tensor<6x6xf32>
  %7 = nn.mul %6, %root : tensor<6x6xf32>
  %8 = nn.tanh %7 : tensor<6x6xf32>
  %9 = nn.mul %2, %half : tensor<6x6xf32>
  %10 = nn.add %8, %one : tensor<6x6xf32>
  %11 = nn.mul %9, %10 : tensor<6x6xf32>
  return %11, %2 : tensor<6x6xf32>, tensor<6x6xf32>
}
}

// -----

// GELU by erf is a kernel of its own.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @gelu_by_erf(
// CHECK-NOT:     nn.group
func.func @gelu_by_erf(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>) -> tensor<6x8xf32> {
  %half = nn.constant dense<5.000000e-01> : tensor<6x8xf32>
  %one = nn.constant dense<1.000000e+00> : tensor<6x8xf32>
  %root = nn.constant dense<0.707106769> : tensor<6x8xf32>
  %2 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %7 = nn.mul %2, %root : tensor<6x8xf32>
  %8 = nn.erf %7 : tensor<6x8xf32>
  %9 = nn.mul %2, %half : tensor<6x8xf32>
  %10 = nn.add %8, %one : tensor<6x8xf32>
  %11 = nn.mul %9, %10 : tensor<6x8xf32>
  return %11 : tensor<6x8xf32>
}
}

// -----

// The gradients of a weight and a bias: what is summed is the operand that the output's gradient is, in any shape.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @gradients(
// CHECK:         %[[B:.*]]:2 = nn.group(%[[B0:.*]] = %arg2 : tensor<12x8xf32>, %{{.*}} = %arg3 : tensor<12x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>) {
// CHECK:           nn.reduce sum %[[B0]] axes [0]
// CHECK:         %[[G:.*]] = nn.reshape %arg1
// CHECK:         %[[A:.*]]:2 = nn.group(%[[A0:.*]] = %arg0 : tensor<12x4xbf16>, %[[A1:.*]] = %[[G]] : tensor<12x6xbf16>) -> (tensor<4x6xbf16>, tensor<6xbf16>) {
// CHECK-NEXT:      %[[P:.*]] = nn.matmul %[[A0]], %[[A1]] transpose_lhs
// CHECK-NEXT:      %[[C:.*]] = nn.cast %[[A1]]
// CHECK-NEXT:      %[[S:.*]] = nn.reduce sum %[[C]] axes [0]
// CHECK-NEXT:      %[[N:.*]] = nn.cast %[[S]]
// CHECK-NEXT:      nn.yield %[[P]], %[[N]]
// CHECK:         return %[[A]]#0, %[[A]]#1, %[[B]]#0, %[[B]]#1
func.func @gradients(%x: tensor<12x4xbf16>, %g: tensor<3x4x6xbf16>, %h: tensor<12x8xf32>, %y: tensor<12x4xf32>)
    -> (tensor<4x6xbf16>, tensor<6xbf16>, tensor<8x4xf32>, tensor<8xf32>) {
  %0 = nn.cast %g : tensor<3x4x6xbf16> to tensor<3x4x6xf32>
  %1 = nn.reduce sum %0 axes [0, 1] : tensor<3x4x6xf32> to tensor<6xf32>
  %2 = nn.cast %1 : tensor<6xf32> to tensor<6xbf16>
  %3 = nn.reshape %g : tensor<3x4x6xbf16> to tensor<12x6xbf16>
  %4 = nn.matmul %x, %3 transpose_lhs : tensor<12x4xbf16>, tensor<12x6xbf16> -> tensor<4x6xbf16>
  %5 = nn.matmul %h, %y transpose_lhs : tensor<12x8xf32>, tensor<12x4xf32> -> tensor<8x4xf32>
  %6 = nn.reduce sum %h axes [0] : tensor<12x8xf32> to tensor<8xf32>
  return %4, %2, %5, %6 : tensor<4x6xbf16>, tensor<6xbf16>, tensor<8x4xf32>, tensor<8xf32>
}
}

// -----

// What is added comes later: the product would keep what it takes until then.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @later(
// CHECK-NOT:     nn.group
func.func @later(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %u: tensor<5x8xf32>, %i: tensor<5xi64>) -> tensor<6x8xf32> {
  %0 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %1 = nn.scatter_add %u[%i] axis 0 : tensor<5x8xf32>, tensor<5xi64> -> tensor<6x8xf32>
  %2 = nn.add %0, %1 : tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}
}

// -----

// What something else reads is stored as it is; what is of other types, of batches or beside the rows has no epilogue.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @leaves_alone(
// CHECK-NOT:     nn.group
func.func @leaves_alone(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %c: tensor<6xf32>, %d: tensor<4x8xf64>, %e: tensor<6x4xf64>, %f: tensor<6x8xf64>,
                        %q: tensor<2x6x4xf32>, %k: tensor<2x4x8xf32>, %m: tensor<2x6x8xf32>)
    -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf64>, tensor<2x6x8xf32>) {
  %0 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %1 = nn.broadcast %b dims [1] : tensor<8xf32> to tensor<6x8xf32>
  %2 = nn.add %0, %1 : tensor<6x8xf32>
  %3 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %4 = nn.mul %3, %1 : tensor<6x8xf32>
  %5 = nn.matmul %e, %d : tensor<6x4xf64>, tensor<4x8xf64> -> tensor<6x8xf64>
  %6 = nn.add %5, %f : tensor<6x8xf64>
  %7 = nn.matmul %q, %k : tensor<2x6x4xf32>, tensor<2x4x8xf32> -> tensor<2x6x8xf32>
  %8 = nn.add %7, %m : tensor<2x6x8xf32>
  return %0, %2, %4, %6, %8 : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf64>, tensor<2x6x8xf32>
}
}

// -----

// A residual that is a parameter of another block would be gathered before its time: the bias alone is taken.
module attributes {plan.target = "cuda"} {
// CHECK-LABEL: func.func @another_block(
// CHECK:         %[[S:.*]] = nn.group(%{{.*}} = %arg0 : tensor<6x4xf32>, %{{.*}} = %arg1 : tensor<4x8xf32>, %{{.*}} = %arg2 : tensor<8xf32>) -> (tensor<6x8xf32>)
// CHECK:         nn.add %[[S]], %arg3
func.func @another_block(%x: tensor<6x4xf32> {nn.role = #nn.role<input "x">}, %w: tensor<4x8xf32> {nn.role = #nn.role<parameter "h.0.w">},
                         %b: tensor<8xf32> {nn.role = #nn.role<parameter "h.0.b">}, %r: tensor<6x8xf32> {nn.role = #nn.role<parameter "h.1.r">}) -> tensor<6x8xf32> {
  %0 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %1 = nn.broadcast %b dims [1] : tensor<8xf32> to tensor<6x8xf32>
  %2 = nn.add %0, %1 : tensor<6x8xf32>
  %3 = nn.add %2, %r : tensor<6x8xf32>
  return %3 : tensor<6x8xf32>
}
}

// -----

// Neither for CPUs nor where products are to be plain.
// CHECK-LABEL: func.func @for_cpus(
// CHECK-NOT:     nn.group
func.func @for_cpus(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<6x8xf32> {
  %0 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %1 = nn.broadcast %b dims [1] : tensor<8xf32> to tensor<6x8xf32>
  %2 = nn.add %0, %1 : tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}

// -----

module attributes {plan.target = "cuda", plan.plain_products} {
// CHECK-LABEL: func.func @plain(
// CHECK-NOT:     nn.group
func.func @plain(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<6x8xf32> {
  %0 = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  %1 = nn.broadcast %b dims [1] : tensor<8xf32> to tensor<6x8xf32>
  %2 = nn.add %0, %1 : tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}
}

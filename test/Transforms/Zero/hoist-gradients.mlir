// RUN: zero-opt %s --zero-hoist-gradients=report=true 2>&1 | FileCheck %s
// RUN: zero-opt %s --zero-hoist-gradients --zero-hoist-gradients=report=true 2>&1 | FileCheck %s --check-prefix=AGAIN

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8, 8]>, #zero.slot<"v0", offset = 64, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8, 8]>]}

// CHECK: remark: moved 8 ops up
// What has been moved leaves itself alone.
// AGAIN: remark: moved 0 ops up

// The gradient of a matrix comes before that of what it was multiplied with, its reduction right behind it.
// CHECK-LABEL: func.func @product
// CHECK-NEXT: %[[DW:.*]] = nn.matmul %arg0, %arg1
// CHECK-NEXT: %[[P:.*]] = zero.pack @b1(%[[DW]])
// CHECK-NEXT: %[[F:.*]] = zero.reduce_scatter_start %[[P]]
// CHECK-NEXT: %[[DX:.*]] = nn.matmul %arg1, %arg2
// CHECK-NEXT: %[[R:.*]] = zero.wait %[[F]]
// CHECK-NEXT: return %[[DX]], %[[R]]
func.func @product(%xt: tensor<8x4xf32>, %dy: tensor<4x8xf32>, %wt: tensor<8x8xf32>) -> (tensor<4x8xf32>, !zero.shard<@b1>) {
  %dx = nn.matmul %dy, %wt : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %dw = nn.matmul %xt, %dy : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %p = zero.pack @b1(%dw) : (tensor<8x8xf32>) -> !zero.partial<@b1>
  %f = zero.reduce_scatter_start %p : !zero.partial<@b1> -> !zero.future<!zero.shard<@b1>>
  %r = zero.wait %f : !zero.future<!zero.shard<@b1>> -> !zero.shard<@b1>
  return %dx, %r : tensor<4x8xf32>, !zero.shard<@b1>
}

// Two gradients of one bucket keep their order; the reduction waits for both. One whose operand comes late stays behind it.
// CHECK-LABEL: func.func @two
// CHECK-NEXT: %[[DW:.*]] = nn.matmul %arg0, %arg1
// CHECK-NEXT: %[[DX:.*]] = nn.matmul %arg1, %arg2
// CHECK-NEXT: %[[DV:.*]] = nn.reduce sum %[[DX]]
// CHECK-NEXT: %[[P:.*]] = zero.pack @b0(%[[DW]], %[[DV]])
// CHECK-NEXT: %[[C:.*]] = zero.convert %[[P]]
// CHECK-NEXT: %[[F:.*]] = zero.all_reduce_start %[[C]]
// CHECK-NEXT: %[[E:.*]] = nn.exp %[[DX]]
// CHECK-NEXT: zero.wait %[[F]]
func.func @two(%xt: tensor<8x4xf32>, %dy: tensor<4x8xf32>, %wt: tensor<8x8xf32>) -> (tensor<4x8xf32>, !zero.full<@b0>) {
  %dx = nn.matmul %dy, %wt : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e = nn.exp %dx : tensor<4x8xf32>
  %dw = nn.matmul %xt, %dy : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %dv = nn.reduce sum %dx axes [0] : tensor<4x8xf32> to tensor<8xf32>
  %p = zero.pack @b0(%dw, %dv) : (tensor<8x8xf32>, tensor<8xf32>) -> !zero.partial<@b0>
  %c = zero.convert %p : !zero.partial<@b0> to !zero.partial<@b0, bf16>
  %f = zero.all_reduce_start %c : !zero.partial<@b0, bf16> -> !zero.future<!zero.full<@b0>>
  %r = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %e, %r : tensor<4x8xf32>, !zero.full<@b0>
}

// What is accumulated is not sent yet.
// CHECK-LABEL: func.func @accumulated
// CHECK-NEXT: nn.exp
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: zero.pack
func.func @accumulated(%xt: tensor<8x4xf32>, %dy: tensor<4x8xf32>, %acc: !zero.partial<@b1>) -> (tensor<4x8xf32>, !zero.partial<@b1>) {
  %e = nn.exp %dy : tensor<4x8xf32>
  %dw = nn.matmul %xt, %dy : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %p = zero.pack @b1(%dw) : (tensor<8x8xf32>) -> !zero.partial<@b1>
  %a = zero.accumulate %acc, %p : !zero.partial<@b1>
  return %e, %a : tensor<4x8xf32>, !zero.partial<@b1>
}

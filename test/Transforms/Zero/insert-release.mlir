// RUN: zero-opt %s --zero-insert-release | FileCheck %s
// RUN: zero-opt %s --zero-insert-release --cse --canonicalize --zero-insert-release | FileCheck %s

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}

// Behind the last use of any view.
// CHECK-LABEL: func.func @last_use
// CHECK:      %[[B:.*]] = zero.wait
// CHECK:      nn.matmul
// CHECK-NEXT: zero.view %[[B]]["v"]
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: zero.release %[[B]] : !zero.full<@b0>
// CHECK-NEXT: nn.exp
func.func @last_use(%x: tensor<4x8xf32>, %s: !zero.shard<@b0>) -> tensor<4x8xf32> {
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w = zero.view %b["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %v = zero.view %b["v"] : !zero.full<@b0> -> tensor<8x8xf32>
  %z = nn.matmul %y, %v : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e = nn.exp %z : tensor<4x8xf32>
  return %e : tensor<4x8xf32>
}

// A chain may be a way to read the bucket itself: its uses count. Folders may have moved a use past an old release.
// CHECK-LABEL: func.func @chain
// CHECK:      %[[T:.*]] = nn.transpose
// CHECK-NOT:  zero.release
// CHECK:      nn.neg
// CHECK-NEXT: nn.matmul %{{.*}}, %[[T]]
// CHECK-NEXT: zero.release
// CHECK-NEXT: return
func.func @chain(%x: tensor<4x8xf32>, %s: !zero.shard<@b0>) -> tensor<4x8xf32> {
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w = zero.view %b["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  %t = nn.transpose %w [1, 0] : tensor<8x8xf32> to tensor<8x8xf32>
  zero.release %b : !zero.full<@b0>
  %y = nn.neg %x : tensor<4x8xf32>
  %z = nn.matmul %y, %t : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// What only a release kept alive dies with it.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: return
func.func @dead(%s: !zero.shard<@b0>) {
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w = zero.view %b["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  zero.release %b : !zero.full<@b0>
  return
}

// New parameters stay; so does a bucket that was never gathered.
// CHECK-LABEL: func.func @leaves_alone
// CHECK-NOT: zero.release
// CHECK:     return
func.func @leaves_alone(%s: !zero.shard<@b0>, %p: !zero.full<@b0>) -> (!zero.full<@b0>, tensor<8x8xf32>) {
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w = zero.view %p["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  %n = nn.neg %w : tensor<8x8xf32>
  return %b, %n : !zero.full<@b0>, tensor<8x8xf32>
}

// RUN: zero-opt %s --cse --canonicalize | FileCheck %s
// RUN: zero-opt %s --canonicalize --cse | FileCheck %s

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}

// The backward pass gathers again what the forward pass gathered: merging the two would keep every bucket alive from
// its first use to its last, which is to undo stage 3.
// CHECK-LABEL: func.func @two_gathers_survive
func.func @two_gathers_survive(%s: !zero.shard<@b0>, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-COUNT-2: zero.all_gather_start
  // CHECK-NOT: zero.all_gather_start
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  %y = nn.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %f1 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w1 = zero.view %b1["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  %z = nn.matmul %y, %w1 transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @dead_pair_dies
func.func @dead_pair_dies(%s: !zero.shard<@b0>, %p: !zero.partial<@b0>) -> !zero.shard<@b0> {
  // CHECK-NEXT: return
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  %f1 = zero.reduce_scatter_start %p : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %f2 = zero.all_reduce_start %p : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
  return %s : !zero.shard<@b0>
}

// A released gather is used by its release: dead code goes before releases are inserted.
// CHECK-LABEL: func.func @released_pair_stays
func.func @released_pair_stays(%s: !zero.shard<@b0>) {
  // CHECK: zero.all_gather_start
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  // CHECK: zero.release
  zero.release %b0 : !zero.full<@b0>
  return
}

// Reductions and sums over ranks are never merged either: on all ranks the same collectives run in the same order.
// CHECK-LABEL: func.func @sums_survive
func.func @sums_survive(%c: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  // CHECK-COUNT-2: zero.control_sum
  %a = zero.control_sum %c on @dp : tensor<i64>
  %b = zero.control_sum %c on @dp : tensor<i64>
  return %a, %b : tensor<i64>, tensor<i64>
}

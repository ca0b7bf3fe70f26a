// RUN: split-file %s %t
// RUN: zero-opt %t/layers.mlir --zero-prefetch-gathers='prefetch-elements=256 report=true' 2>&1 | FileCheck %s
// RUN: zero-opt %t/layers.mlir --zero-prefetch-gathers='prefetch-elements=10000 report=true' 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: zero-opt %t/layers.mlir --zero-prefetch-gathers='prefetch-elements=10000 max-live-elements=256 report=true' 2>&1 | FileCheck %s --check-prefix=LIVE
// RUN: zero-opt %t/layers.mlir --zero-prefetch-gathers='prefetch-elements=0 report=true' 2>&1 | FileCheck %s --check-prefix=NOOP
// RUN: zero-opt %t/update.mlir --zero-prefetch-gathers=prefetch-elements=1 | FileCheck %s --check-prefix=UPDATE
// RUN: zero-opt %t/update.mlir --zero-prefetch-gathers=prefetch-elements=0 | FileCheck %s --check-prefix=UPDATE
// RUN: not zero-opt %t/layers.mlir --zero-prefetch-gathers='prefetch-elements=256 max-live-elements=127' 2>&1 | FileCheck %s --check-prefix=NEED
// RUN: zero-opt %t/layers.mlir --zero-prefetch-gathers='prefetch-elements=256 max-live-elements=128 report=true' 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: not zero-opt %t/two-at-once.mlir --zero-prefetch-gathers='max-live-elements=255' 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not zero-opt %t/layers.mlir --zero-prefetch-gathers=prefetch-elements=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// NEED: error: 'zero.all_gather_start' op of bucket @b0 brings the elements that block 'h.0' needs at once to 128, but max-live-elements (stage3_max_live_parameters) is 127; the smallest legal value is 128
// TWO:  error: 'zero.all_gather_start' op of bucket @b1 brings the elements that block 'h.1' needs at once to 256, but max-live-elements (stage3_max_live_parameters) is 255; the smallest legal value is 256
// NEGATIVE: error: prefetch-elements is -1, expected 0 or more

//--- layers.mlir
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8, 8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8, 8]>]}
zero.bucket @b2 on @dp {block = "h.2", element = f32, elements = 128 : i64, slots = [#zero.slot<"w2", offset = 0, shape = [8, 8]>]}

// Two buckets may be in flight: the third starts when the first has been waited for.
// CHECK: remark: moved 2 gathers, kept 1 back by a limit
// CHECK-LABEL: func @layers
// CHECK:      %[[F0:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// CHECK-NEXT: %[[F1:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// CHECK-NEXT: %[[B0:.*]] = zero.wait %[[F0]]
// CHECK-NEXT: %[[F2:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b2>
// CHECK-NEXT: zero.view %[[B0]]
// CHECK-NEXT: nn.matmul
// Waits stay where they are.
// CHECK-NEXT: zero.wait %[[F1]]
// CHECK-NEXT: zero.view
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: zero.wait %[[F2]]

// ALL: remark: moved 2 gathers, kept 0 back by a limit
// ALL-LABEL: func @layers
// ALL:      zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// ALL-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// ALL-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b2>
// ALL-NEXT: zero.wait

// Two buckets may be alive: the third starts when the first has been read.
// LIVE: remark: moved 2 gathers, kept 1 back by a limit
// LIVE-LABEL: func @layers
// LIVE:      zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// LIVE-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// LIVE-NEXT: zero.wait
// LIVE-NEXT: zero.view
// LIVE-NEXT: nn.matmul
// LIVE-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b2>
// LIVE-NEXT: zero.wait

// NOOP: remark: moved 0 gathers, kept 0 back by a limit
// NOOP-LABEL: func @layers
// NOOP:      zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// NOOP-NEXT: zero.wait
// NOOP-NEXT: zero.view
// NOOP-NEXT: nn.matmul
// NOOP-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b1>

// One bucket alive: every gather stays.
// LEAST: remark: moved 0 gathers, kept 2 back by a limit
func.func @layers(%x: tensor<4x8xf32>, %s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>, %s2: !zero.shard<@b2>) -> tensor<4x8xf32> {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w0"] : !zero.full<@b0> -> tensor<8x8xf32>
  %y0 = nn.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %w1 = zero.view %b1["w1"] : !zero.full<@b1> -> tensor<8x8xf32>
  %y1 = nn.matmul %y0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %f2 = zero.all_gather_start %s2 : !zero.shard<@b2> -> !zero.future<!zero.full<@b2>>
  %b2 = zero.wait %f2 : !zero.future<!zero.full<@b2>> -> !zero.full<@b2>
  %w2 = zero.view %b2["w2"] : !zero.full<@b2> -> tensor<8x8xf32>
  %y2 = nn.matmul %y1, %w2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %y2 : tensor<4x8xf32>
}

//--- update.mlir
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8, 8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8, 8]>]}
// New parameters stay: no limit, 0 neither, holds their gathers back, each starts behind its bucket's update.
// UPDATE-LABEL: func @update
// UPDATE:      %[[U0:.*]] = zero.update @b0
// UPDATE:      }
// UPDATE-NEXT: %[[F0:.*]] = zero.all_gather_start %[[U0]]
// UPDATE-NEXT: %[[U1:.*]] = zero.update @b1
// UPDATE:      }
// UPDATE-NEXT: %[[F1:.*]] = zero.all_gather_start %[[U1]]
// UPDATE-NEXT: zero.wait %[[F0]]
// UPDATE-NEXT: zero.wait %[[F1]]
func.func @update(%s0: !zero.shard<@b0>, %g0: !zero.shard<@b0>, %s1: !zero.shard<@b1>, %g1: !zero.shard<@b1>) -> (!zero.full<@b0>, !zero.full<@b1>) {
  %u0 = zero.update @b0(%s0, %g0 : !zero.shard<@b0>, !zero.shard<@b0>) scalars() -> !zero.shard<@b0> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    zero.yield %g : tensor<f32>
  }
  %u1 = zero.update @b1(%s1, %g1 : !zero.shard<@b1>, !zero.shard<@b1>) scalars() -> !zero.shard<@b1> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    zero.yield %g : tensor<f32>
  }
  %f0 = zero.all_gather_start %u0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %f1 = zero.all_gather_start %u1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  return %b0, %b1 : !zero.full<@b0>, !zero.full<@b1>
}

//--- two-at-once.mlir
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8]>]}
func.func @micro(%s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w0"] : !zero.full<@b0> -> tensor<8xf32>
  %y0 = nn.neg %w0 : tensor<8xf32>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %w1 = zero.view %b1["w1"] : !zero.full<@b1> -> tensor<8xf32>
  %y1 = nn.add %y0, %w1 : tensor<8xf32>
  %y2 = nn.add %y1, %w0 : tensor<8xf32>
  return %y2 : tensor<8xf32>
}

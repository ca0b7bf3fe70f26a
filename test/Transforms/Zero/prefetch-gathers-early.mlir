// RUN: zero-opt %s --split-input-file --zero-prefetch-gathers=prefetch-elements=256 | FileCheck %s

// What comes to the start of @micro starts in the @update before; what a limit keeps back does not.
// CHECK-LABEL: func.func @micro
// CHECK-NEXT: zero.all_gather_start %{{.*}} {early} : !zero.shard<@b0>
// CHECK-NEXT: zero.all_gather_start %{{.*}} {early} : !zero.shard<@b1>
// CHECK-NEXT: zero.wait
// CHECK-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b2>
// @predict runs after no update.
// CHECK-LABEL: func.func @predict
// CHECK-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b0>
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8]>]}
zero.bucket @b2 on @dp {block = "h.2", element = f32, elements = 128 : i64, slots = [#zero.slot<"w2", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32>, %s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>, %s2: !zero.shard<@b2>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w0"] : !zero.full<@b0> -> tensor<8xf32>
  %y0 = nn.add %x, %w0 : tensor<8xf32>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %w1 = zero.view %b1["w1"] : !zero.full<@b1> -> tensor<8xf32>
  %y1 = nn.add %y0, %w1 : tensor<8xf32>
  %f2 = zero.all_gather_start %s2 : !zero.shard<@b2> -> !zero.future<!zero.full<@b2>>
  %b2 = zero.wait %f2 : !zero.future<!zero.full<@b2>> -> !zero.full<@b2>
  %w2 = zero.view %b2["w2"] : !zero.full<@b2> -> tensor<8xf32>
  %y2 = nn.add %y1, %w2 : tensor<8xf32>
  return %y2 : tensor<8xf32>
}
func.func @predict(%x: tensor<8xf32>, %s0: !zero.shard<@b0>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w0"] : !zero.full<@b0> -> tensor<8xf32>
  %y0 = nn.add %x, %w0 : tensor<8xf32>
  return %y0 : tensor<8xf32>
}
func.func @update() {
  return
}

// -----

// Leaves alone: the channel is @update's.
// CHECK-LABEL: func.func @micro
// CHECK-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b0>
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32>, %s0: !zero.shard<@b0>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w0"] : !zero.full<@b0> -> tensor<8xf32>
  %y0 = nn.add %x, %w0 : tensor<8xf32>
  return %y0 : tensor<8xf32>
}
func.func @update(%s1: !zero.shard<@b1>) -> !zero.full<@b1> {
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  return %b1 : !zero.full<@b1>
}

// RUN: zero-opt %s --split-input-file --zero-sink-waits | FileCheck %s

// New parameters are waited for in the next step, by whoever reads them there.
// CHECK-LABEL: func.func @update
// CHECK: zero.wait %{{.*}} {next_step} : !zero.future<!zero.full<@b0>>
// CHECK-NEXT: zero.wait %{{.*}} {next_step} : !zero.future<!zero.full<@b1>>
// CHECK-NEXT: return
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8]>]}
func.func @update(%s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>)
    -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, !zero.full<@b1> {nn.role = #nn.role<parameter "b1">}) {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  return %b0, %b1 : !zero.full<@b0>, !zero.full<@b1>
}

// -----

// Leaves alone: where @update reads one of what it gathers, the channel runs them all for this step.
// CHECK-LABEL: func.func @update
// CHECK-NOT: next_step
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8]>]}
func.func @update(%s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, tensor<8xf32>) {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %w1 = zero.view %b1["w1"] : !zero.full<@b1> -> tensor<8xf32>
  %y = nn.neg %w1 : tensor<8xf32>
  return %b0, %y : !zero.full<@b0>, tensor<8xf32>
}

// -----

// Leaves alone: what another function gathers and returns.
// CHECK-LABEL: func.func @micro
// CHECK-NOT: next_step
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8]>]}
func.func @micro(%s0: !zero.shard<@b0>) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %b0 : !zero.full<@b0>
}

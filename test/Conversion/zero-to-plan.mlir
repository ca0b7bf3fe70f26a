// RUN: zero-opt %s --split-input-file --zero-to-plan | FileCheck %s --implicit-check-not=plan.copy
// RUN: zero-opt %s --split-input-file --zero-to-plan --plan-assign-offsets --plan-insert-events --plan-verify

// y = x w', gradients of w (y' x) and v (x' x): their producers write into the gradient's bucket, without copies, at every stage.

// Stage 0: gradients are computed in their bucket and all-reduced there: reduce-scatter into the own range, then all-gather.
// CHECK:      plan.state "parameter" "b0" at <@parameter.b0, 0, 512>
// CHECK-NEXT: plan.state "gradient" "b0" at <@gradient.b0, 0, 512>
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@gradient.b0, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@gradient.b0, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@gradient.b0, 128, 128>]
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@gradient.b0, 0, 512> to <@gradient.b0, 0, 256, rank_stride = 256> staging <@staging, 0, 256> waits [] {awaited_at = 6
// CHECK-NEXT: plan.collective all_gather f32 on reduce <@gradient.b0, 0, 256, rank_stride = 256> to <@gradient.b0, 0, 512> waits [] {awaited_at = 6
// CHECK:      plan.section @update {
// CHECK-NEXT: plan.dispatch "update_0" on compute reads [#plan.slice<@parameter.b0, 0, 512>, #plan.slice<@gradient.b0, 0, 512>, #plan.slice<@learning_rate, 0, 4>] writes [#plan.slice<@parameter.b0, 0, 512>]
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">})
      -> (!zero.full<@b0> {nn.role = #nn.role<gradient "b0">}) {
    %w = zero.view %p["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %dv = nn.matmul %x, %x transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    %reducing = zero.all_reduce_start %g : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    return %reduced : !zero.full<@b0>
  }
  func.func @update(%p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %new = zero.update @b0(%p, %g : !zero.full<@b0>, !zero.full<@b0>) scalars(%lr : tensor<f32>) -> !zero.full<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    return %new : !zero.full<@b0>
  }
}

// -----

// Stage 0, accumulation: the first micro-batch writes the accumulator, the next ones add; reduced once, in @update.
// CHECK:      plan.state "parameter" "b0" at <@parameter.b0, 0, 512>
// CHECK-NEXT: plan.state "gradient" "b0" at <@gradient.b0, 0, 512>
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@gradient.b0, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@gradient.b0, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@gradient.b0, 128, 128>]
// CHECK:      plan.section @micro_next {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.4.pack, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.4.pack, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@micro_next.4.pack, 128, 128>]
// CHECK-NEXT: plan.dispatch "accumulate_0" on compute reads [#plan.slice<@gradient.b0, 0, 512>, #plan.slice<@micro_next.4.pack, 0, 512>] writes [#plan.slice<@gradient.b0, 0, 512>]
// CHECK:      plan.section @update {
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@gradient.b0, 0, 512> to <@gradient.b0, 0, 256, rank_stride = 256> staging <@staging, 0, 256> waits [] {awaited_at = 2
// CHECK-NEXT: plan.collective all_gather f32 on reduce <@gradient.b0, 0, 256, rank_stride = 256> to <@gradient.b0, 0, 512> waits [] {awaited_at = 2
// CHECK-NEXT: plan.dispatch "update_1" on compute reads [#plan.slice<@parameter.b0, 0, 512>, #plan.slice<@gradient.b0, 0, 512>, #plan.slice<@learning_rate, 0, 4>] writes [#plan.slice<@parameter.b0, 0, 512>]
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %acc: !zero.partial<@b0> {nn.role = #nn.role<gradient "b0">})
      -> (!zero.partial<@b0> {nn.role = #nn.role<gradient "b0">}) {
    %w = zero.view %p["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %dv = nn.matmul %x, %x transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    %sum = zero.accumulate %acc, %g : !zero.partial<@b0>
    return %sum : !zero.partial<@b0>
  }
  func.func @update(%p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.partial<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %reducing = zero.all_reduce_start %g : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    %new = zero.update @b0(%p, %reduced : !zero.full<@b0>, !zero.full<@b0>) scalars(%lr : tensor<f32>) -> !zero.full<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    return %new : !zero.full<@b0>
  }
}

// -----

// Stage 1: the whole local bucket is kept, reduced into the own range of it; the updated range is gathered in place, for the next step.
// CHECK:      plan.state "parameter" "b0" at <@parameter.b0, 0, 512>
// CHECK-NEXT: plan.state "gradient" "b0" at <@gradient.b0, 0, 256, rank_stride = 256> {sharded}
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@gradient.b0, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@gradient.b0, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@gradient.b0, 128, 128>]
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@gradient.b0, 0, 512> to <@gradient.b0, 0, 256, rank_stride = 256> staging <@staging, 0, 256> waits [] {awaited_at = 5
// CHECK:      plan.section @update {
// CHECK-NEXT: plan.dispatch "update_0" on compute reads [#plan.slice<@parameter.b0, 0, 256, rank_stride = 256>, #plan.slice<@gradient.b0, 0, 256, rank_stride = 256>, #plan.slice<@learning_rate, 0, 4>] writes [#plan.slice<@parameter.b0, 0, 256, rank_stride = 256>]
// CHECK-NEXT: plan.collective all_gather f32 on gather <@parameter.b0, 0, 256, rank_stride = 256> to <@parameter.b0, 0, 512> waits [] {awaited_at = 2 : i64, label = "b0", outlasts,
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">})
      -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">, zero.whole_buffer}) {
    %w = zero.view %p["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %dv = nn.matmul %x, %x transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    %reducing = zero.reduce_scatter_start %g : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
    return %reduced : !zero.shard<@b0>
  }
  func.func @update(%p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %own = zero.shard_of %p : !zero.full<@b0> -> !zero.shard<@b0>
    %new = zero.update @b0(%own, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    %gathering = zero.all_gather_start %new : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
    %gathered = zero.wait %gathering {next_step} : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    return %gathered : !zero.full<@b0>
  }
}

// -----

// Stage 1, accumulation.
// CHECK:      plan.state "parameter" "b0" at <@parameter.b0, 0, 512>
// CHECK-NEXT: plan.state "gradient" "b0" at <@gradient.b0, 0, 512>
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@gradient.b0, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@gradient.b0, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@gradient.b0, 128, 128>]
// CHECK:      plan.section @micro_next {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.4.pack, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.4.pack, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@micro_next.4.pack, 128, 128>]
// CHECK-NEXT: plan.dispatch "accumulate_0" on compute reads [#plan.slice<@gradient.b0, 0, 512>, #plan.slice<@micro_next.4.pack, 0, 512>] writes [#plan.slice<@gradient.b0, 0, 512>]
// CHECK:      plan.section @update {
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@gradient.b0, 0, 512> to <@gradient.b0, 0, 256, rank_stride = 256> staging <@staging, 0, 256> waits [] {awaited_at = 1
// CHECK-NEXT: plan.dispatch "update_1" on compute reads [#plan.slice<@parameter.b0, 0, 256, rank_stride = 256>, #plan.slice<@gradient.b0, 0, 256, rank_stride = 256>, #plan.slice<@learning_rate, 0, 4>] writes [#plan.slice<@parameter.b0, 0, 256, rank_stride = 256>]
// CHECK-NEXT: plan.collective all_gather f32 on gather <@parameter.b0, 0, 256, rank_stride = 256> to <@parameter.b0, 0, 512> waits [] {awaited_at = 3
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %acc: !zero.partial<@b0> {nn.role = #nn.role<gradient "b0">})
      -> (!zero.partial<@b0> {nn.role = #nn.role<gradient "b0">}) {
    %w = zero.view %p["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %dv = nn.matmul %x, %x transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    %sum = zero.accumulate %acc, %g : !zero.partial<@b0>
    return %sum : !zero.partial<@b0>
  }
  func.func @update(%p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.partial<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %reducing = zero.reduce_scatter_start %g : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
    %own = zero.shard_of %p : !zero.full<@b0> -> !zero.shard<@b0>
    %new = zero.update @b0(%own, %reduced : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    %gathering = zero.all_gather_start %new : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
    %gathered = zero.wait %gathering : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    return %gathered : !zero.full<@b0>
  }
}

// -----

// Stage 2: contributions lie in a bucket that dies with its reduction; the state is the own range.
// CHECK:      plan.state "parameter" "b0" at <@parameter.b0, 0, 512>
// CHECK-NEXT: plan.state "gradient" "b0" at <@gradient.b0, 0, 256> {sharded}
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.4.pack, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.4.pack, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@micro_first.4.pack, 128, 128>]
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@micro_first.4.pack, 0, 512> to <@gradient.b0, 0, 256> staging <@staging, 0, 256> waits [] {awaited_at = 5
// CHECK:      plan.section @update {
// CHECK-NEXT: plan.dispatch "update_0" on compute reads [#plan.slice<@parameter.b0, 0, 256, rank_stride = 256>, #plan.slice<@gradient.b0, 0, 256>, #plan.slice<@learning_rate, 0, 4>] writes [#plan.slice<@parameter.b0, 0, 256, rank_stride = 256>]
// CHECK-NEXT: plan.collective all_gather f32 on gather <@parameter.b0, 0, 256, rank_stride = 256> to <@parameter.b0, 0, 512> waits [] {awaited_at = 2
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">})
      -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
    %w = zero.view %p["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %dv = nn.matmul %x, %x transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    %reducing = zero.reduce_scatter_start %g : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
    return %reduced : !zero.shard<@b0>
  }
  func.func @update(%p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %own = zero.shard_of %p : !zero.full<@b0> -> !zero.shard<@b0>
    %new = zero.update @b0(%own, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    %gathering = zero.all_gather_start %new : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
    %gathered = zero.wait %gathering : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    return %gathered : !zero.full<@b0>
  }
}

// -----

// Stage 2, accumulation: each micro-batch is reduced, then added.
// CHECK:      plan.state "parameter" "b0" at <@parameter.b0, 0, 512>
// CHECK-NEXT: plan.state "gradient" "b0" at <@gradient.b0, 0, 256> {sharded}
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.4.pack, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.4.pack, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@micro_first.4.pack, 128, 128>]
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@micro_first.4.pack, 0, 512> to <@gradient.b0, 0, 256> staging <@staging, 0, 256> waits [] {awaited_at = 5
// CHECK:      plan.section @micro_next {
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.1.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.4.pack, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.4.pack, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@micro_next.4.pack, 128, 128>]
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@micro_next.4.pack, 0, 512> to <@micro_next.4.pack, 0, 256, rank_stride = 256> staging <@staging, 0, 256> waits [] {awaited_at = 5
// CHECK-NEXT: plan.dispatch "accumulate_0" on compute reads [#plan.slice<@gradient.b0, 0, 256>, #plan.slice<@micro_next.4.pack, 0, 256, rank_stride = 256>] writes [#plan.slice<@gradient.b0, 0, 256>]
// CHECK:      plan.section @update {
// CHECK-NEXT: plan.dispatch "update_1" on compute reads [#plan.slice<@parameter.b0, 0, 256, rank_stride = 256>, #plan.slice<@gradient.b0, 0, 256>, #plan.slice<@learning_rate, 0, 4>] writes [#plan.slice<@parameter.b0, 0, 256, rank_stride = 256>]
// CHECK-NEXT: plan.collective all_gather f32 on gather <@parameter.b0, 0, 256, rank_stride = 256> to <@parameter.b0, 0, 512> waits [] {awaited_at = 2
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %acc: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">})
      -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
    %w = zero.view %p["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %dv = nn.matmul %x, %x transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    %reducing = zero.reduce_scatter_start %g : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
    %sum = zero.accumulate %acc, %reduced : !zero.shard<@b0>
    return %sum : !zero.shard<@b0>
  }
  func.func @update(%p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %own = zero.shard_of %p : !zero.full<@b0> -> !zero.shard<@b0>
    %new = zero.update @b0(%own, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    %gathering = zero.all_gather_start %new : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
    %gathered = zero.wait %gathering : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    return %gathered : !zero.full<@b0>
  }
}

// -----

// Stage 3: parameters are gathered into a bucket that dies after its last use; views of it are read in place.
// CHECK:      plan.state "parameter" "b0" at <@parameter.b0, 0, 256> {sharded}
// CHECK-NEXT: plan.state "gradient" "b0" at <@gradient.b0, 0, 256> {sharded}
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.collective all_gather f32 on gather <@parameter.b0, 0, 256> to <@micro_first.0.all_gather_start, 0, 512> waits [] {awaited_at = 1
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.3.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.6.pack, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.6.pack, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@micro_first.6.pack, 128, 128>]
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@micro_first.6.pack, 0, 512> to <@gradient.b0, 0, 256> staging <@staging, 0, 256> waits [] {awaited_at = 6
// CHECK:      plan.section @update {
// CHECK-NEXT: plan.dispatch "update_0" on compute reads [#plan.slice<@parameter.b0, 0, 256>, #plan.slice<@gradient.b0, 0, 256>, #plan.slice<@learning_rate, 0, 4>] writes [#plan.slice<@parameter.b0, 0, 256>]
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">})
      -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
    %future = zero.all_gather_start %p : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
    %full = zero.wait %future : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    %w = zero.view %full["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %dv = nn.matmul %x, %x transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    zero.release %full : !zero.full<@b0>
    %reducing = zero.reduce_scatter_start %g : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
    return %reduced : !zero.shard<@b0>
  }
  func.func @update(%p: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %new = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    return %new : !zero.shard<@b0>
  }
}

// -----

// Stage 3, gathers that start early: a bucket's second one comes behind its first, on the same queue, and starts with the section.
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.collective all_gather f32 on gather <@parameter.b0, 0, 256> to <@micro_first.0.all_gather_start, 0, 512> waits [] {{{.*}}early = array<i64>,
// CHECK-NOT:  early
// CHECK:      plan.collective all_gather f32 on gather <@parameter.b0, 0, 256> to <@micro_first.1.all_gather_start, 0, 512>
// CHECK-NOT:  early
// CHECK:      plan.section @update {
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">})
      -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
    %future = zero.all_gather_start %p {early} : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
    %again = zero.all_gather_start %p {early} : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
    %full = zero.wait %future : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    %w = zero.view %full["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    zero.release %full : !zero.full<@b0>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %whole = zero.wait %again : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    %v = zero.view %whole["v"] : !zero.full<@b0> -> tensor<8x8xf32>
    %z = nn.matmul %x, %v transpose_rhs : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
    zero.release %whole : !zero.full<@b0>
    %dv = nn.matmul %x, %z transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    %reducing = zero.reduce_scatter_start %g : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
    return %reduced : !zero.shard<@b0>
  }
  func.func @update(%p: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %new = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    return %new : !zero.shard<@b0>
  }
}

// -----

// Stage 3, accumulation.
// CHECK:      plan.state "parameter" "b0" at <@parameter.b0, 0, 256> {sharded}
// CHECK-NEXT: plan.state "gradient" "b0" at <@gradient.b0, 0, 256> {sharded}
// CHECK:      plan.section @micro_first {
// CHECK-NEXT: plan.collective all_gather f32 on gather <@parameter.b0, 0, 256> to <@micro_first.0.all_gather_start, 0, 512> waits [] {awaited_at = 1
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.3.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.6.pack, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_first.6.pack, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@micro_first.6.pack, 128, 128>]
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@micro_first.6.pack, 0, 512> to <@gradient.b0, 0, 256> staging <@staging, 0, 256> waits [] {awaited_at = 6
// CHECK:      plan.section @micro_next {
// CHECK-NEXT: plan.collective all_gather f32 on gather <@parameter.b0, 0, 256> to <@micro_next.0.all_gather_start, 0, 512> waits [] {awaited_at = 1
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.3.matmul, 0, 32>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.6.pack, 0, 128>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" on compute reads {{.*}} writes [#plan.slice<@micro_next.6.pack, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.zero on compute [#plan.slice<@micro_next.6.pack, 128, 128>]
// CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@micro_next.6.pack, 0, 512> to <@micro_next.6.pack, 0, 256, rank_stride = 256> staging <@staging, 0, 256> waits [] {awaited_at = 6
// CHECK-NEXT: plan.dispatch "accumulate_0" on compute reads [#plan.slice<@gradient.b0, 0, 256>, #plan.slice<@micro_next.6.pack, 0, 256, rank_stride = 256>] writes [#plan.slice<@gradient.b0, 0, 256>]
// CHECK:      plan.section @update {
// CHECK-NEXT: plan.dispatch "update_1" on compute reads [#plan.slice<@parameter.b0, 0, 256>, #plan.slice<@gradient.b0, 0, 256>, #plan.slice<@learning_rate, 0, 4>] writes [#plan.slice<@parameter.b0, 0, 256>]
module {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [4, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
  func.func @micro(%x: tensor<2x8xf32> {nn.role = #nn.role<input "x">}, %p: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %acc: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">})
      -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
    %future = zero.all_gather_start %p : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
    %full = zero.wait %future : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    %w = zero.view %full["w"] : !zero.full<@b0> -> tensor<4x8xf32>
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
    %dw = nn.matmul %y, %x transpose_lhs : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %dv = nn.matmul %x, %x transpose_lhs : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<8x8xf32>
    %g = zero.pack @b0(%dw, %dv) : (tensor<4x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
    zero.release %full : !zero.full<@b0>
    %reducing = zero.reduce_scatter_start %g : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
    %reduced = zero.wait %reducing : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
    %sum = zero.accumulate %acc, %reduced : !zero.shard<@b0>
    return %sum : !zero.shard<@b0>
  }
  func.func @update(%p: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
                    %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = 0.5 : f64}) -> (!zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) {
    %new = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
    ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %rate: tensor<f32>):
      %0 = nn.mul %ge, %rate : tensor<f32>
      %1 = nn.sub %pe, %0 : tensor<f32>
      zero.yield %1 : tensor<f32>
    }
    return %new : !zero.shard<@b0>
  }
}

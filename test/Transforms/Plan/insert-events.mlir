// RUN: zero-opt %s --split-input-file --verify-diagnostics --plan-insert-events | FileCheck %s
// RUN: zero-opt %s --split-input-file --verify-diagnostics --plan-insert-events | zero-opt --split-input-file --plan-insert-events | FileCheck %s

// What is read after another queue has written it, what is written after another queue has read it, and nothing else. Events
// that were there before go.
// CHECK-LABEL: module @hazards
// CHECK:      plan.collective all_gather {{.*}} to <@bucket, 0, 128> waits [] records 0 {
// CHECK-NEXT: plan.dispatch "independent" {{.*}} waits [] {
// CHECK-NEXT: plan.dispatch "read" {{.*}} waits [0] records 1 {
// CHECK-NEXT: plan.collective all_gather {{.*}} to <@bucket, 0, 128> waits [1] {
module @hazards {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.dispatch "independent" on compute reads [#plan.slice<@w, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [0] records 7 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "read" on compute reads [#plan.slice<@bucket, 64, 32>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [7] {label = "b0", sequence = 1 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// Bytes count, not names: @b lies where @a lay. Two queues that a third has waited for are not waited for again.
// CHECK-LABEL: module @implied
// CHECK:      plan.dispatch "write" {{.*}} waits [] records 0 {
// CHECK-NEXT: plan.collective reduce_scatter {{.*}} waits [0] records 1 {
// CHECK-NEXT: plan.collective all_gather {{.*}} on gather {{.*}} waits [1] records 2 {
// CHECK-NEXT: plan.dispatch "both" {{.*}} waits [2] {
// CHECK-NEXT: plan.dispatch "again" {{.*}} waits [] {
module @implied {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 256 : i64}
  plan.buffer @a in @device {content = #plan<content buckets>, label = "", offset = 0 : i64, size_bytes = 128 : i64}
  plan.buffer @b in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 64 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 128 : i64, size_bytes = 128 : i64, state}
  plan.section @micro_first {
    plan.dispatch "write" on compute reads [] writes [#plan.slice<@a, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@a, 0, 128> to <@w, 0, 64, rank_stride = 64> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.collective all_gather f32 on gather <@w, 0, 64, rank_stride = 64> to <@w, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.dispatch "both" on compute reads [#plan.slice<@w, 0, 128>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "again" on compute reads [#plan.slice<@w, 0, 128>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// One after another on one queue needs no event; neither do reads of the same bytes on two.
// CHECK-LABEL: module @alone
// CHECK-NOT: records
module @alone {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 64 : i64, size_bytes = 64 : i64}
  plan.buffer @c in @device {content = #plan<content buckets>, label = "", offset = 128 : i64, size_bytes = 128 : i64}
  plan.section @micro_first {
    plan.copy on compute <@a, 0, 64> to <@b, 0, 64> waits [] {reason = "test"}
    plan.collective all_gather f32 on gather <@a, 0, 64> to <@c, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.copy on compute <@b, 0, 64> to <@b, 0, 64> waits [] {reason = "test"}
  }
}

// -----

module {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 64 : i64}
  // expected-error @+1 {{buffer @a has no offset; plan-assign-offsets comes first}}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
}

// -----

// What outlasts @update is ordered with the commands of micro_first: the first reader of each bucket waits for its gather, which another one
// implies where it comes later on the channel. Commands of its own channel stand behind it, and bring it along.
// CHECK-LABEL: module @carried
// CHECK: plan.section @micro_first
// CHECK-NEXT: plan.dispatch "first" {{.*}} waits [] {carried = array<i64: 1>,
// CHECK-NEXT: plan.dispatch "first_again" {{.*}} waits [] {integers
// CHECK-NEXT: plan.dispatch "third" {{.*}} waits [] {carried = array<i64: 5>,
// CHECK-NEXT: plan.dispatch "second" {{.*}} waits [] {integers
// CHECK-NEXT: plan.dispatch "other_queue" on reduce {{.*}} waits [] records 0 {carried = array<i64: 3>,
// CHECK-NEXT: plan.collective all_gather f32 on gather {{.*}} waits [0] records 1 {awaited_at
// CHECK-NEXT: plan.dispatch "of_gather" on reduce {{.*}} waits [1] {integers
// CHECK: plan.section @micro_next
// CHECK-NEXT: plan.dispatch "idle" {{.*}} waits [] {integers
// CHECK: plan.section @update
// CHECK-NEXT: plan.dispatch "update" {{.*}} waits [] records 0 {integers
// CHECK-NEXT: plan.collective all_gather {{.*}} to <@p0, 0, 128> waits [0] records 1 {label
// CHECK-NEXT: plan.dispatch "update" {{.*}} waits [] records 2 {integers
module @carried {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 640 : i64}
  plan.buffer @p0 in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 128 : i64, state}
  plan.buffer @p1 in @device {content = #plan<content parameters>, label = "", offset = 128 : i64, size_bytes = 128 : i64, state}
  plan.buffer @p2 in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @y in @device {content = #plan<content activations>, label = "", offset = 384 : i64, size_bytes = 128 : i64}
  plan.buffer @z in @device {content = #plan<content activations>, label = "", offset = 512 : i64, size_bytes = 128 : i64}
  plan.section @micro_first {
    plan.dispatch "first" on compute reads [#plan.slice<@p0, 0, 64>] writes [#plan.slice<@y, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "first_again" on compute reads [#plan.slice<@p0, 64, 64>] writes [#plan.slice<@y, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "third" on compute reads [#plan.slice<@p2, 0, 64>] writes [#plan.slice<@y, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "second" on compute reads [#plan.slice<@p1, 0, 64>] writes [#plan.slice<@y, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "other_queue" on reduce reads [#plan.slice<@p1, 0, 64>] writes [#plan.slice<@z, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@p0, 0, 64, rank_stride = 64> to <@z, 0, 128> waits [] {awaited_at = 6 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.dispatch "of_gather" on reduce reads [#plan.slice<@z, 0, 64>, #plan.slice<@p2, 0, 64>] writes [#plan.slice<@z, 64, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "idle" on compute reads [#plan.slice<@p0, 0, 64>] writes [#plan.slice<@y, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "update" on compute reads [] writes [#plan.slice<@p0, 0, 64, rank_stride = 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@p0, 0, 64, rank_stride = 64> to <@p0, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64, outlasts}
    plan.dispatch "update" on compute reads [] writes [#plan.slice<@p1, 0, 64, rank_stride = 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@p1, 0, 64, rank_stride = 64> to <@p1, 0, 128> waits [] {label = "b1", sequence = 1 : i64, wire_bytes = 64 : i64, outlasts}
    plan.dispatch "update" on compute reads [] writes [#plan.slice<@p2, 0, 64, rank_stride = 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@p2, 0, 64, rank_stride = 64> to <@p2, 0, 128> waits [] {label = "b2", sequence = 2 : i64, wire_bytes = 64 : i64, outlasts}
  }
}

// -----

// An early gather waits in @update for what writes its shard, and for the last user of bytes that it takes over.
// CHECK-LABEL: module @early
// CHECK: plan.section @micro_first
// CHECK-NEXT: plan.collective all_gather {{.*}} to <@p0, 0, 128> waits [] {early = array<i64: 0>,
// CHECK-NEXT: plan.collective all_gather {{.*}} to <@p1, 0, 128> waits [] records 0 {early = array<i64: 2>,
// CHECK-NEXT: plan.dispatch "read" {{.*}} waits [0]
// CHECK: plan.section @update
// CHECK-NEXT: plan.dispatch "update" {{.*}} records 0
// CHECK-NEXT: plan.dispatch "other" on reduce {{.*}} waits [] records 1
// CHECK-NEXT: plan.dispatch "update" {{.*}} waits [1] records 2
module @early {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 448 : i64}
  plan.buffer @s0 in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @s1 in @device {content = #plan<content parameters>, label = "", offset = 64 : i64, size_bytes = 64 : i64, state}
  plan.buffer @p0 in @device {content = #plan<content buckets>, label = "", offset = 128 : i64, size_bytes = 128 : i64}
  plan.buffer @p1 in @device {content = #plan<content buckets>, label = "", offset = 256 : i64, size_bytes = 128 : i64}
  plan.buffer @y in @device {content = #plan<content activations>, label = "", offset = 384 : i64, size_bytes = 64 : i64}
  plan.buffer @t in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@s0, 0, 64> to <@p0, 0, 128> waits [] {early = array<i64>, label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.collective all_gather f32 on gather <@s1, 0, 64> to <@p1, 0, 128> waits [] {early = array<i64>, label = "b1", sequence = 1 : i64, wire_bytes = 64 : i64}
    plan.dispatch "read" on compute reads [#plan.slice<@p0, 0, 64>, #plan.slice<@p1, 0, 64>] writes [#plan.slice<@y, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "update" on compute reads [] writes [#plan.slice<@s0, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "other" on reduce reads [] writes [#plan.slice<@t, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "update" on compute reads [#plan.slice<@t, 0, 64>] writes [#plan.slice<@s1, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// One that the update does nothing for starts with its section, and so do those behind it.
// CHECK-LABEL: module @idle
// CHECK-NOT: early
module @idle {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 384 : i64}
  plan.buffer @s0 in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @s1 in @device {content = #plan<content parameters>, label = "", offset = 64 : i64, size_bytes = 64 : i64, state}
  plan.buffer @p0 in @device {content = #plan<content buckets>, label = "", offset = 128 : i64, size_bytes = 128 : i64}
  plan.buffer @p1 in @device {content = #plan<content buckets>, label = "", offset = 256 : i64, size_bytes = 128 : i64}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@s0, 0, 64> to <@p0, 0, 128> waits [] {early = array<i64>, label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.collective all_gather f32 on gather <@s1, 0, 64> to <@p1, 0, 128> waits [] {early = array<i64>, label = "b1", sequence = 1 : i64, wire_bytes = 64 : i64}
  }
  plan.section @update {
    plan.dispatch "update" on compute reads [] writes [#plan.slice<@s1, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

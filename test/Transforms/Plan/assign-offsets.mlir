// RUN: zero-opt %s --split-input-file --plan-assign-offsets | FileCheck %s

// States first, each at a multiple of 64; c takes the bytes of a, which is dead. x is larger than what is free before it.
// CHECK-LABEL: module @reuse
// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 448 : i64}
// CHECK: plan.buffer @w {{.*}}, offset = 0 : i64,
// CHECK: plan.buffer @v {{.*}}, offset = 128 : i64,
// CHECK: plan.buffer @a {{.*}}, offset = [[A:[0-9]+]] : i64,
// CHECK: plan.buffer @b {{.*}}, offset = [[B:[0-9]+]] : i64,
// CHECK: plan.buffer @c {{.*}}, offset = [[A]] : i64,
module @reuse {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", size_bytes = 72 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", size_bytes = 64 : i64, state}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.section @micro_first {
    plan.dispatch "f" on compute reads [#plan.slice<@w, 0, 72>] writes [#plan.slice<@a, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "g" on compute reads [#plan.slice<@a, 0, 128>] writes [#plan.slice<@b, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "h" on compute reads [#plan.slice<@b, 0, 128>] writes [#plan.slice<@c, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "h" on compute reads [#plan.slice<@c, 0, 128>] writes [#plan.slice<@v, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Sections use the same bytes, one after the other. An arena of another kind has bytes of its own.
// CHECK-LABEL: module @sections
// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 256 : i64}
// CHECK: plan.arena @pinned {kind = #plan<memory_kind host_pinned>, size_bytes = 64 : i64}
// CHECK: plan.buffer @a {{.*}}, offset = 0 : i64,
// CHECK: plan.buffer @b {{.*}}, offset = 0 : i64,
// CHECK: plan.buffer @p in @pinned {{.*}}, offset = 0 : i64,
module @sections {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
  plan.arena @pinned {kind = #plan<memory_kind host_pinned>, size_bytes = 0 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", size_bytes = 256 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", size_bytes = 192 : i64}
  plan.buffer @p in @pinned {content = #plan<content activations>, label = "", size_bytes = 8 : i64}
  plan.section @micro_first {
    plan.zero on compute [#plan.slice<@a, 0, 256>, #plan.slice<@p, 0, 8>] waits []
  }
  plan.section @update {
    plan.zero on compute [#plan.slice<@b, 0, 192>] waits []
  }
}

// -----

// A collective has its bytes until the program waits for it (before command 2): @b cannot have those of @source, @c can.
// CHECK-LABEL: module @collective
// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 384 : i64}
// CHECK: plan.buffer @source {{.*}}, offset = [[S:[0-9]+]] : i64,
// CHECK: plan.buffer @b {{.*}}, offset = [[B:[0-9]+]] : i64,
// CHECK: plan.buffer @c {{.*}}, offset = [[S]] : i64,
module @collective {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
  plan.buffer @w in @device {content = #plan<content gradients>, label = "", size_bytes = 64 : i64, state}
  plan.buffer @source in @device {content = #plan<content buckets>, label = "", size_bytes = 128 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", size_bytes = 64 : i64}
  plan.section @micro_first {
    plan.zero on compute [#plan.slice<@source, 0, 128>] waits []
    plan.collective reduce_scatter f32 on reduce <@source, 0, 128> to <@w, 0, 64> staging <@staging, 0, 64> waits []
        {awaited_at = 3 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.zero on compute [#plan.slice<@b, 0, 128>] waits []
    plan.copy on compute <@b, 0, 128> to <@c, 0, 128> waits [] {reason = "test"}
  }
}

// -----

// A buffer that lies long between two that come and go, one that nothing touches, and one without bytes.
// CHECK-LABEL: module @unused
// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 128 : i64}
module @unused {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
  plan.buffer @long in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.buffer @unused in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.buffer @empty in @device {content = #plan<content activations>, label = "", size_bytes = 0 : i64}
  plan.buffer @first in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.buffer @second in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.section @micro_first {
    plan.zero on compute [#plan.slice<@long, 0, 64>, #plan.slice<@first, 0, 64>, #plan.slice<@empty, 0, 0>] waits []
    plan.zero on compute [#plan.slice<@second, 0, 64>] waits []
    plan.copy on compute <@long, 0, 64> to <@second, 0, 64> waits [] {reason = "test"}
  }
}

// -----

// An output lives to the end of section predict: @b cannot have its bytes, @c has those of @b. What predict needs moves nothing of
// the step's: here it is the larger one.
// CHECK-LABEL: module @predicts
// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 192 : i64}
// CHECK: plan.buffer @m {{.*}}, offset = 0 : i64,
// CHECK: plan.buffer @y {{.*}}, offset = [[Y:[0-9]+]] : i64,
// CHECK-NOT: offset = [[Y]] : i64
// CHECK: plan.section
module @predicts {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
  plan.buffer @m in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.buffer @y in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.output "y" : tensor<32xf32> at <@y, 0, 128> {batched}
  plan.section @update {
    plan.zero on compute [#plan.slice<@m, 0, 64>] waits []
  }
  plan.section @predict {
    plan.zero on compute [#plan.slice<@y, 0, 128>] waits []
    plan.zero on compute [#plan.slice<@b, 0, 64>] waits []
    plan.zero on compute [#plan.slice<@c, 0, 64>] waits []
  }
}

// -----

// Whichever of size, bytes x lifetime, lifetime and start orders them, placing these once takes 640 bytes: what ends highest is placed earlier, and all
// again. 512 bytes live at the last command.
// CHECK-LABEL: module @again
// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 512 : i64}
module @again {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", size_bytes = 192 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", size_bytes = 256 : i64}
  plan.buffer @d in @device {content = #plan<content activations>, label = "", size_bytes = 256 : i64}
  plan.buffer @e in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.section @micro_first {
    plan.zero on compute [#plan.slice<@a, 0, 128>, #plan.slice<@d, 0, 256>] waits []
    plan.dispatch "f" on compute reads [#plan.slice<@a, 0, 128>] writes [#plan.slice<@e, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "f" on compute reads [#plan.slice<@a, 0, 128>] writes [#plan.slice<@b, 0, 192>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "f" on compute reads [#plan.slice<@b, 0, 192>, #plan.slice<@e, 0, 64>] writes [#plan.slice<@c, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// What an early gather fills lives in @update behind the last write to what it gathers: @p0 and @p1 have bytes of @before, which is dead then, @p1 those
// of @between, too; @after lies beside both.
// CHECK-LABEL: module @early
// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 448 : i64}
// CHECK: plan.buffer @p0 {{.*}}, offset = [[P0:[0-9]+]] : i64,
// CHECK: plan.buffer @p1 {{.*}}, offset = [[P1:[0-9]+]] : i64,
// CHECK: plan.buffer @before {{.*}}, offset = 128 : i64,
// CHECK: plan.buffer @between {{.*}}, offset = [[P1]] : i64,
// CHECK-NOT: offset = [[P0]] : i64
// CHECK-NOT: offset = [[P1]] : i64
// CHECK: plan.section
module @early {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
  plan.buffer @s0 in @device {content = #plan<content parameters>, label = "", size_bytes = 64 : i64, state}
  plan.buffer @s1 in @device {content = #plan<content parameters>, label = "", size_bytes = 64 : i64, state}
  plan.buffer @p0 in @device {content = #plan<content buckets>, label = "", size_bytes = 128 : i64}
  plan.buffer @p1 in @device {content = #plan<content buckets>, label = "", size_bytes = 128 : i64}
  plan.buffer @before in @device {content = #plan<content activations>, label = "", size_bytes = 256 : i64}
  plan.buffer @between in @device {content = #plan<content activations>, label = "", size_bytes = 128 : i64}
  plan.buffer @after in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@s0, 0, 64> to <@p0, 0, 128> waits [] {early = array<i64>, awaited_at = 2 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.collective all_gather f32 on gather <@s1, 0, 64> to <@p1, 0, 128> waits [] {early = array<i64>, awaited_at = 2 : i64, label = "b1", sequence = 1 : i64, wire_bytes = 64 : i64}
    plan.dispatch "f" on compute reads [#plan.slice<@p0, 0, 128>, #plan.slice<@p1, 0, 128>] writes [] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.zero on compute [#plan.slice<@before, 0, 256>] waits []
    plan.dispatch "g" on compute reads [#plan.slice<@before, 0, 256>] writes [#plan.slice<@s0, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.zero on compute [#plan.slice<@between, 0, 128>] waits []
    plan.dispatch "g" on compute reads [#plan.slice<@between, 0, 128>] writes [#plan.slice<@s1, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.zero on compute [#plan.slice<@after, 0, 64>] waits []
  }
}

// -----

// On GPUs buffers start at multiples of 256, states too.
// CHECK-LABEL: module @gpu
// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
// CHECK: plan.buffer @w {{.*}}, offset = 0 : i64,
// CHECK: plan.buffer @v {{.*}}, offset = 256 : i64,
// CHECK: plan.buffer @a {{.*}}, offset = [[A:512|768]] : i64,
// CHECK: plan.buffer @b {{.*}}, offset = {{512|1024}} : i64,
// CHECK: plan.buffer @c {{.*}}, offset = [[A]] : i64,
module @gpu attributes {plan.target = "cuda"} {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", size_bytes = 72 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", size_bytes = 64 : i64, state}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", size_bytes = 320 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", size_bytes = 320 : i64}
  plan.section @micro_first {
    plan.dispatch "f" on compute reads [#plan.slice<@w, 0, 72>] writes [#plan.slice<@a, 0, 320>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "g" on compute reads [#plan.slice<@a, 0, 320>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "h" on compute reads [#plan.slice<@b, 0, 64>] writes [#plan.slice<@c, 0, 320>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

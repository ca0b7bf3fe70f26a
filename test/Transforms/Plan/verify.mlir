// RUN: zero-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --plan-verify

// In order: nothing to say. Queues run on; what they share is ordered, directly or by way of another queue.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [1] {label = "b0", sequence = 1 : i64, wire_bytes = 64 : i64}
    plan.dispatch "g" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "own" on gather reads [#plan.slice<@w, 0, 32, rank_stride = 32>] writes [] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Read after write.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @+1 {{the earlier command is here}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    // expected-error @+1 {{reads bytes 32..64 of @bucket, which an earlier command of queue gather writes, and no event orders them}}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 32, 32>] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Write after read.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    // expected-note @+1 {{the earlier command is here}}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [0] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 0..64 of @bucket, which an earlier command of queue compute reads, and no event orders them}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 1 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// The event is that of an earlier command than the one to wait for.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    // expected-note @+1 {{the earlier command is here}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 1 : i64, wire_bytes = 64 : i64}
    // expected-error @+1 {{reads bytes 0..64 of @bucket, which an earlier command of queue gather writes, and no event orders them}}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [0] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Each rank writes its own range: the whole bucket is written.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @+1 {{the earlier command is here}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@bucket, 0, 64, rank_stride = 64>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 0..128 of @bucket, which an earlier command of queue compute writes, and no event orders them}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// The same bytes under two names.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 64 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @+1 {{the earlier command is here}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    // expected-error @+1 {{writes bytes 0..64 of @a, which an earlier command of queue gather writes as @bucket, and no event orders them}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// On one queue, but @a has overwritten what @bucket held.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 64 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{it is written here}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{reads bytes 0..64 of @bucket, which hold what was written to @a}}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 0, 128>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Padding that nobody has zeroed.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@bucket, 0, 96>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{reads bytes 96..128 of @bucket, which no earlier command of section @micro_first writes}}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 0, 128>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  // expected-note @+1 {{the buffer is here}}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{has a slice that ends at byte 96 of buffer @w, which has 64}}
    plan.dispatch "f" on compute reads [#plan.slice<@w, 32, 64>] writes [] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// The last rank's range ends behind the buffer.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  // expected-note @+1 {{the buffer is here}}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{has a slice that ends at byte 96 of buffer @w, which has 64}}
    plan.dispatch "f" on compute reads [#plan.slice<@w, 0, 48, rank_stride = 48>] writes [] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{has a slice of @w with offset -4, size 8 and rank stride 0, none of which may be negative}}
    plan.dispatch "f" on compute reads [#plan.slice<@w, -4, 8>] writes [] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{names buffer @nowhere, which is not there}}
    plan.dispatch "f" on compute reads [#plan.slice<@nowhere, 0, 8>] writes [] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  // expected-error @+1 {{buffer @b is in arena @host, which is not there}}
  plan.buffer @b in @host {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  // expected-note @+1 {{the arena is here}}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  // expected-error @+1 {{buffer @b ends at byte 384 of arena @device, which has 320}}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 128 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  // expected-error @+1 {{buffer @b has no offset; plan-assign-offsets gives it one}}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
  }
}

// -----

// Nothing may lie in a state.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 256 : i64}
  // expected-note @+1 {{the other buffer is here}}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  // expected-error @+1 {{buffer @b begins at byte 0, before @w ends at 64, and @w is a state}}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{waits for event 0, which no earlier command of section @micro_first records}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [0] {integers = array<i64>, reals = array<f64>}
    // expected-note @below {{it is recorded here, later}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @below {{it is recorded here}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{waits for event 0 of its own queue}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [0] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @+1 {{it is recorded here already}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{records event 0 again}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @below {{the collective before it is here}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    // expected-error @+1 {{has sequence number 2 on the channel of queue gather, which is at 1}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 2 : i64, wire_bytes = 64 : i64}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{'test.other' is no command}}
    "test.other"() : () -> ()
  }
}

// -----

// A record of what the runtime reads.
module {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 64 : i64}
  // expected-note @+1 {{the buffer is here}}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 4 : i64, state}
  // expected-error @+1 {{has a slice that ends at byte 8 of buffer @loss, which has 4}}
  plan.step_result "loss" f32 at <@loss, 4, 4>
}

// -----

// What is read after section predict is what was written to the output last.
module {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 128 : i64}
  plan.buffer @y in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 128 : i64}
  plan.buffer @z in @device {content = #plan<content activations>, label = "", offset = 64 : i64, size_bytes = 64 : i64}
  // expected-error @+1 {{output 'y' is read from bytes 64..128 of @y, which hold what was written to @z}}
  plan.output "y" : tensor<32xf32> at <@y, 0, 128>
  plan.section @predict {
    plan.zero on compute [#plan.slice<@y, 0, 128>] waits []
    // expected-note @+1 {{it is written here}}
    plan.zero on compute [#plan.slice<@z, 0, 64>] waits []
  }
}

// -----

module {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 128 : i64}
  plan.buffer @y in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 128 : i64}
  // expected-error @+1 {{output 'y' is read from bytes 64..128 of @y, which no earlier command of section @predict writes}}
  plan.output "y" : tensor<32xf32> at <@y, 0, 128>
  plan.section @predict {
    plan.zero on compute [#plan.slice<@y, 0, 64>] waits []
  }
}

// -----

module {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 128 : i64}
  // expected-note @+1 {{the buffer is here}}
  plan.buffer @y in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 64 : i64}
  // expected-error @+1 {{has a slice that ends at byte 128 of buffer @y, which has 64}}
  plan.output "y" : tensor<32xf32> at <@y, 0, 128>
  plan.section @predict {
  }
}

// -----

// An event that another brings along.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @+1 {{the event is recorded here}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.dispatch "f" on reduce reads [#plan.slice<@bucket, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{waits for event 0, which its other waits and its queue imply; plan-insert-events leaves such out}}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 0, 64>, #plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [0, 1] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// An event that the queue has waited for before.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @+1 {{the event is recorded here}}
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [0] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{waits for event 0, which its other waits and its queue imply}}
    plan.dispatch "f" on compute reads [#plan.slice<@bucket, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [0] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// An event of a command that has nothing to do with it.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @+1 {{the event is recorded here}}
    plan.dispatch "f" on reduce reads [] writes [#plan.slice<@a, 0, 64>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{waits for event 0 of a command that it shares no bytes with; plan-insert-events orders accesses to the same bytes alone}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@b, 0, 64>] waits [0] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Two that read the same bytes have no order.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-note @+1 {{the event is recorded here}}
    plan.dispatch "f" on reduce reads [#plan.slice<@w, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{waits for event 0 of a command that it shares no bytes with}}
    plan.dispatch "f" on compute reads [#plan.slice<@w, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [0] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// An event that nobody waits for.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{records event 0, which nobody waits for; plan-insert-events records what is waited for}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Order by way of a third queue, and of the events of one command alone.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@w, 0, 64> to <@bucket, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.dispatch "f" on reduce reads [#plan.slice<@bucket, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "f" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [1] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// What is there, under its name.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  // expected-error @+1 {{section @micro is none of micro_first, micro_next, update, predict}}
  plan.section @micro {
  }
}

// -----

// A copy to a place of another size.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{copies 64 bytes to 32}}
    plan.copy on compute <@w, 0, 64> to <@a, 0, 32> waits [] {reason = ""}
  }
}

// -----

// Collectives that would not be the same on all ranks, or not fit.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{sums elements of type 'f64' over the ranks}}
    plan.collective reduce_scatter f64 on reduce <@bucket, 0, 128> to <@a, 0, 64> staging <@b, 0, 64> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 0 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 128 : i64, size_bytes = 128 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.section @micro_first {
    plan.zero on compute [#plan.slice<@bucket, 0, 128>] waits [] records 0
    // expected-error @+1 {{sums elements of type 'bf16' over the ranks to another type}}
    plan.collective reduce_scatter bf16 as f64 on reduce <@bucket, 0, 32> to <@a, 0, 64> staging <@b, 0, 16> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 16 : i64}
  }
}

// -----

// A sum of 32 elements that are sent as bf16 and kept as f32: half of the bytes on the wire.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 0 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 128 : i64, size_bytes = 128 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.section @micro_first {
    plan.zero on compute [#plan.slice<@bucket, 0, 128>] waits [] records 0
    plan.collective reduce_scatter bf16 as f32 on reduce <@bucket, 0, 128> to <@a, 0, 128> staging <@b, 0, 64> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    // expected-error @+1 {{says that it sends 128 bytes and sends 64}}
    plan.collective reduce_scatter bf16 as f32 on reduce <@bucket, 0, 128> to <@a, 0, 128> staging <@b, 0, 64> waits [] {label = "b0", sequence = 1 : i64, wire_bytes = 128 : i64}
  }
}

// -----

module {
  zero.mesh @dp {size = 2 : i64}
  // expected-note @+1 {{the bucket is here}}
  zero.bucket @b0 on @dp {block = "h", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [128]>]}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 128 : i64}
  plan.buffer @w in @device {content = #plan<content optimizer>, label = "", offset = 0 : i64, size_bytes = 128 : i64, state}
  // expected-error @+1 {{master 'b0' has 128 bytes, but is 64 elements of 'f32'}}
  plan.state "master" "b0" at <@w, 0, 128> {element = f32, sharded}
}

// -----

// Sizes.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{goes from 64 to 64 bytes on 2 ranks}}
    plan.collective all_gather f32 on reduce <@w, 0, 64> to <@a, 0, 64> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// Sizes of a reduction.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{goes from 64 to 64 bytes on 2 ranks}}
    plan.collective reduce_scatter f32 on reduce <@w, 0, 64> to <@a, 0, 64> staging <@b, 0, 64> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// Sizes of a sum.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{goes from 64 to 32 bytes on 2 ranks}}
    plan.collective control_sum i64 on reduce <@w, 0, 64> to <@a, 0, 32> staging <@b, 0, 64> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// Half an element.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{moves 6 to 12 bytes, a part of an element of type}}
    plan.collective all_gather f32 on reduce <@w, 0, 6> to <@a, 0, 12> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 6 : i64}
  }
}

// -----

// Staging for fewer peers than there are.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{has 32 bytes of staging and needs 64}}
    plan.collective reduce_scatter f32 on reduce <@bucket, 0, 128> to <@a, 0, 64> staging <@b, 0, 32> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// No staging.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{has 0 bytes of staging and needs 64}}
    plan.collective control_sum f32 on reduce <@w, 0, 64> to <@a, 0, 64> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// What is counted as sent.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{says that it sends 128 bytes and sends 64}}
    plan.collective all_gather f32 on reduce <@w, 0, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// Awaited before it starts.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{is command 0 of 1 and awaited at 0, which must lie behind it}}
    plan.collective all_gather f32 on reduce <@w, 0, 64> to <@bucket, 0, 128> waits [] {awaited_at = 0 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// Awaited behind the section.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{is command 0 of 1 and awaited at 2, which must lie behind it}}
    plan.collective all_gather f32 on reduce <@w, 0, 64> to <@bucket, 0, 128> waits [] {awaited_at = 2 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// What a generated kernel takes.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @k {body_function = @body, items = 1 : i64}
  func.func private @body(%x: tensor<16xf32>) -> tensor<8xf32> {
    %0 = nn.slice %x starts [0] strides [1] : tensor<16xf32> to tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  plan.section @micro_first {
    plan.dispatch "k" on compute reads [#plan.slice<@w, 0, 64>] writes [#plan.slice<@a, 0, 32>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Fewer slices than it reads.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @k {body_function = @body, items = 1 : i64}
  func.func private @body(%x: tensor<16xf32>) -> tensor<8xf32> {
    %0 = nn.slice %x starts [0] strides [1] : tensor<16xf32> to tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  plan.section @micro_first {
    // expected-error @+1 {{reads 0 slices, but kernel @k reads 1}}
    plan.dispatch "k" on compute reads [] writes [#plan.slice<@a, 0, 32>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Fewer bytes than it writes.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @k {body_function = @body, items = 1 : i64}
  func.func private @body(%x: tensor<16xf32>) -> tensor<8xf32> {
    %0 = nn.slice %x starts [0] strides [1] : tensor<16xf32> to tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  plan.section @micro_first {
    // expected-error @+1 {{writes slice #0 of 16 bytes, but kernel @k writes 32}}
    plan.dispatch "k" on compute reads [#plan.slice<@w, 0, 64>] writes [#plan.slice<@a, 0, 16>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// A kernel without a body.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  // expected-error @+1 {{kernel @k has no function @body}}
  plan.kernel @k {body_function = @body, items = 1 : i64}
  plan.section @micro_first {
    plan.dispatch "k" on compute reads [#plan.slice<@w, 0, 64>] writes [#plan.slice<@a, 0, 32>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Numbers that no address reaches.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  // expected-note @+1 {{the buffer is here}}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{has a slice that ends at byte 9223372036854775807 of buffer @a, which has 64}}
    plan.dispatch "f" on compute reads [] writes [#plan.slice<@a, 8, 64, rank_stride = 9223372036854775807>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// A buffer before its arena.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  // expected-error @+1 {{buffer @b begins at byte -64 of arena @device, before its start}}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = -64 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
}

// -----

// A kernel of the library that reaches further than its slice.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{gives kernel 'matmul' slice #2 of 28 bytes, but it reaches over 32; zero-to-plan makes slices of what kernels touch}}
    plan.dispatch "matmul" on compute reads [#plan.slice<@w, 0, 32>, #plan.slice<@w, 32, 16>] writes [#plan.slice<@a, 0, 28>, #plan.slice<@scratch, 0, 9216>] waits [] {integers = array<i64: 0, 1, 4, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2>, reals = array<f64>}
  }
}

// -----

// One whose workspace is smaller than what the library may need of it.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{gives kernel 'matmul' slice #3 of 9152 bytes, but it reaches over 9216; zero-to-plan makes slices of what kernels touch}}
    plan.dispatch "matmul" on compute reads [#plan.slice<@w, 0, 32>, #plan.slice<@w, 32, 16>] writes [#plan.slice<@a, 0, 32>, #plan.slice<@scratch, 0, 9152>] waits [] {integers = array<i64: 0, 1, 4, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2>, reals = array<f64>}
  }
}

// -----

// One that gets too few slices.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{gives kernel 'matmul' 2 slices, but it takes 4}}
    plan.dispatch "matmul" on compute reads [#plan.slice<@w, 0, 32>] writes [#plan.slice<@a, 0, 32>] waits [] {integers = array<i64: 0, 1, 4, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2>, reals = array<f64>}
  }
}

// RUN: zero-opt %s --split-input-file --verify-diagnostics --plan-verify

// Gathers at the start of micro_first that start in @update already.

// A gather that starts in @update, behind the update of its shard: nothing to say.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// It reads what the update writes.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{reads bytes 0..128 of @w, which an earlier command of queue compute writes, and no event orders them; plan-insert-events makes one}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 1>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    // expected-note @+1 {{the earlier command is here}}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on reduce reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] records 1 {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// It takes over bytes that the update still uses.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{writes bytes 0..128 of @whole, which an earlier command of queue compute writes as @u, and no event orders them}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{the earlier command is here}}
    plan.dispatch "scratch" on compute reads [#plan.slice<@g, 0, 128>] writes [#plan.slice<@u, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128>, #plan.slice<@u, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// A wait that others imply.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{waits for event 0 of @update, which its other waits and its queue imply; plan-insert-events leaves such out}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0, 1>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    // expected-note @+1 {{the event is recorded here}}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>, #plan.slice<@u, 0, 128>] waits [] records 1 {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// No event of the update.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{is early and waits for event 3 of @update, which no command records}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 3>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// No wait at all.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{is early, but waits for no event of @update; plan-insert-events makes one of the shard's update}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Behind another command.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "first" on compute reads [#plan.slice<@x, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{is early, but not at the start of section @micro_first, behind an update; zero-prefetch-gathers starts early what is}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// In another section.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @micro_next {
    // expected-error @+1 {{is early, but not at the start of section @micro_first, behind an update}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Before no update.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{is early, but not at the start of section @micro_first, behind an update}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// Of what is no parameter.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{is early, but is no gather of a parameter's state on queue gather that waits for nothing in its section}}
    plan.collective all_gather f32 on gather <@g, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// The update uses its channel.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 128 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 384 : i64, size_bytes = 128 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 128 : i64, state}
  plan.buffer @whole in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 256 : i64}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @u in @device {content = #plan<content buckets>, label = "", offset = 640 : i64, size_bytes = 128 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 128> {sharded}
  plan.state "parameter" "b1" at <@v, 0, 128> {sharded}
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{is early, but section @update uses queue gather, too}}
    plan.collective all_gather f32 on gather <@w, 0, 128> to <@whole, 0, 256> waits [] records 0 {early = array<i64: 0>, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@whole, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{it is used here}}
    plan.dispatch "sgd" on gather reads [#plan.slice<@v, 0, 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

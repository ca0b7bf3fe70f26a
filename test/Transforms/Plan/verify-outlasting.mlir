// RUN: zero-opt %s --split-input-file --verify-diagnostics --plan-verify

// Gathers of new parameters that outlast @update and end in micro_first of the next step.

// Gathers that end in the next step, each before its first reader: nothing to say.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
    plan.dispatch "backward" on compute reads [#plan.slice<@t, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {carried = array<i64: 3>, integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// A reader that does not wait.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{reads bytes 0..256 of @v, which a command of queue gather that outlasts @update writes, and no event orders them; plan-insert-events makes one}}
    plan.dispatch "backward" on compute reads [#plan.slice<@t, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{the earlier command is here}}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// One that writes what is still sent.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{writes bytes 0..128 of @w, which a command of queue gather that outlasts @update writes, and no event orders them}}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>] writes [#plan.slice<@w, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "backward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{the earlier command is here}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// A wait that the queue implies: what comes later on the channel was waited for.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 3>, integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{waits for event 1 of @update, which its other waits and its queue imply; plan-insert-events leaves such out}}
    plan.dispatch "backward" on compute reads [#plan.slice<@t, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{the event is recorded here}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// A wait for what it has nothing to do with.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{waits for event 1 of @update of a command that it shares no bytes with; plan-insert-events orders accesses to the same bytes alone}}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
    plan.dispatch "backward" on compute reads [#plan.slice<@t, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {carried = array<i64: 3>, integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{the event is recorded here}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// An event that nobody waits for.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 3>, integers = array<i64>, reals = array<f64>}
    plan.dispatch "backward" on compute reads [#plan.slice<@t, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{records event 1, which nobody waits for; plan-insert-events records what is waited for}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// An event of update that nothing which outlasts it records.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{waits for event 2 of @update, which no command that outlasts it records}}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 2>, integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// The channel itself stands behind them.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    // expected-error @+1 {{waits for event 1 of @update of its own queue}}
    plan.dispatch "forward" on gather reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// All queues are idle before any other section.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
    plan.dispatch "backward" on compute reads [#plan.slice<@t, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {carried = array<i64: 3>, integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @micro_next {
    // expected-error @+1 {{waits for event 1 of @update in section @micro_next, before which all queues are idle}}
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// All of a queue, or none.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "backward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {carried = array<i64: 3>, integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{is awaited in section @update, but 'b1' on the same queue outlasts it; zero-sink-waits leaves all gathers of new parameters to the next step, or none}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{it is here}}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// Only states of parameters are nobody's while a step begins.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{outlasts section @update, but is no gather of a parameter's state on queue gather}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@t, 0, 256> waits [0] records 1 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// Nor does a reduction.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    // expected-error @+1 {{outlasts section @update, but is no gather of a parameter's state on queue gather}}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

// -----

// Another section is waited for.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{outlasts section @micro_first, but only what micro_first waits for outlasts @update}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128>, #plan.slice<@x, 0, 128>] writes [#plan.slice<@t, 0, 128>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// The schedule waits for it in its section.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1280 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 896 : i64, size_bytes = 256 : i64}
  plan.buffer @s in @device {content = #plan<content staging>, label = "", offset = 1152 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128> {sharded}
  plan.section @micro_first {
    plan.dispatch "forward" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {carried = array<i64: 1>, integers = array<i64>, reals = array<f64>}
    plan.dispatch "backward" on compute reads [#plan.slice<@t, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] records 0 {carried = array<i64: 3>, integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@t, 0, 256> to <@g, 0, 128> staging <@s, 0, 128> waits [0] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{outlasts section @update, but is awaited at command 3 of 4}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [0] records 1 {awaited_at = 3 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64, outlasts}
    plan.dispatch "sgd" on compute reads [#plan.slice<@v, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>] writes [#plan.slice<@v, 0, 128, rank_stride = 128>] waits [] records 2 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@v, 0, 128, rank_stride = 128> to <@v, 0, 256> waits [2] records 3 {label = "b1", sequence = 1 : i64, wire_bytes = 128 : i64, outlasts}
  }
}

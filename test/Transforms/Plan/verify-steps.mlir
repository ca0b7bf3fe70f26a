// RUN: zero-opt %s --split-input-file --verify-diagnostics --plan-verify

// What holds over the sections of a step, and from one step to the next.

// A step of two ranks at stage 1, with accumulation: nothing to say.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// An accumulator that the first micro-batch did not write holds what the last step left.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{reads bytes 0..4 of @loss_sum, which hold nothing at this point of a step: the file and the runtime give nothing, and no earlier command of the step writes them}}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// What @update sums was written in no section.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>] writes [#plan.slice<@loss, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    // expected-error @+1 {{reads bytes 0..4 of @loss_sum, which hold nothing at this point of a step}}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// The learning rate is written for @update alone.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{reads bytes 0..4 of @lr, which hold nothing at this point of a step}}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// The last micro-batch's inputs are no inputs of @update.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    // expected-error @+1 {{reads bytes 0..4 of @x, which hold nothing at this point of a step}}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@x, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// The other ranks' ranges of a reduced gradient hold parts of it.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    // expected-note @+1 {{it is written here}}
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    // expected-error @+1 {{reads bytes 0..128 of @g, of which each rank has written its own range alone}}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// A gradient that is gathered instead of reduced.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-note @below {{it is written here}}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    // expected-error @+1 {{gathers 'b0' from what the ranks' own data give; zero-insert-collectives reduces it first}}
    plan.collective all_gather f32 on reduce <@g, 0, 128, rank_stride = 128> to <@g, 0, 256> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// A gradient that nobody reduces makes every rank its own parameters.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 0 : i64, wire_bytes = 4 : i64}
    // expected-note @below {{it is written here}}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [] records 1 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{gathers 'b0' from what the ranks' own data give; zero-insert-collectives reduces it first}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// The same without a gather.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  // expected-error @+1 {{parameter 'b0' is made from this rank's own data after section @update: bytes 0..256 of @w}}
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 0 : i64, wire_bytes = 4 : i64}
    // expected-note @+1 {{it is written here}}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 256>, #plan.slice<@g, 0, 256>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// New parameters that are not gathered.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  // expected-error @+1 {{parameter 'b0' is not the same on all ranks after section @update: bytes 0..256 of @w}}
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    // expected-note @+1 {{it is written here}}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// A gradient that is reduced twice.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    // expected-note @below {{it is written here}}
    plan.collective all_gather f32 on reduce <@g, 0, 128, rank_stride = 128> to <@g, 0, 256> waits [] {label = "b0", sequence = 1 : i64, wire_bytes = 128 : i64}
    // expected-error @+1 {{sums 'b0' over the ranks, which is a sum over them already; zero-insert-collectives reduces once}}
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 2 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 3 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// A loss that is summed twice.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    // expected-note @below {{it is written here}}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss_sum, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    // expected-error @+1 {{sums 'loss_sum' over the ranks, which is a sum over them already; zero-insert-collectives reduces once}}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 2 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// An update that reads no reduced gradient.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  // expected-error @+1 {{parameter 'b0' gets no value from a sum of its gradients over the ranks in section @update: bytes 0..256 of @w}}
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>] waits [] records 1 {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{it is written here}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// Parameters that no command updates.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  // expected-error @+1 {{parameter 'b0' gets no value from a sum of its gradients over the ranks in section @update: bytes 0..256 of @w}}
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
  }
}

// -----

// One rank's loss is not that of all.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  // expected-error @+1 {{step result 'loss' is read from bytes 0..4 of @loss, which are not the same on all ranks}}
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    // expected-note @+1 {{it is written here}}
    plan.dispatch "mean" on compute reads [#plan.slice<@loss_sum, 0, 4>] writes [#plan.slice<@loss, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// A loss that nobody writes.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  // expected-error @+1 {{step result 'loss' is read from bytes 0..4 of @loss, which hold nothing at this point of a step}}
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// The third micro-batch would find what the second did not.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  // expected-error @+1 {{leaves bytes 0..256 of @g otherwise than it finds them, but runs again}}
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-note @+1 {{they are written here}}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 128, rank_stride = 128>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// A factor that each rank has its own of.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 128, rank_stride = 128> {sharded}
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    // expected-note @below {{it is written here}}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@loss_sum, 0, 4>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    // expected-error @+1 {{gathers 'b0' from what the ranks' own data give}}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// On one rank a part is the whole.
module {
  zero.mesh @dp {size = 1 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1472 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "mean" on compute reads [#plan.slice<@loss_sum, 0, 4>] writes [#plan.slice<@loss, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 256>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// A norm of what is still to be summed.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1664 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m in @device {content = #plan<content optimizer>, label = "", offset = 768 : i64, size_bytes = 128 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 896 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 960 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @t in @device {content = #plan<content buckets>, label = "", offset = 1088 : i64, size_bytes = 256 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 1344 : i64, size_bytes = 128 : i64}
  plan.buffer @sq in @device {content = #plan<content activations>, label = "", offset = 1472 : i64, size_bytes = 192 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 256>
  plan.state "momentum" "b0" at <@m, 0, 128> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @micro_next {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>] writes [#plan.slice<@t, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    // expected-note @below {{it is written here}}
    plan.dispatch "add" on compute reads [#plan.slice<@g, 0, 256>, #plan.slice<@t, 0, 256>] writes [#plan.slice<@g, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add_loss" on compute reads [#plan.slice<@loss_sum, 0, 4>, #plan.slice<@x, 0, 256>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    // expected-error @+1 {{counts bytes 0..256 of @g, which are no sum over the ranks yet; zero-insert-collectives reduces first}}
    plan.dispatch "sum_squares" on compute reads [#plan.slice<@g, 0, 256>] writes [#plan.slice<@sq, 0, 192>] waits [] records 2 {integers = array<i64: 0, 64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@g, 0, 256> to <@g, 0, 128, rank_stride = 128> staging <@staging, 0, 128> waits [2] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@g, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 128, rank_stride = 128>, #plan.slice<@m, 0, 128>] waits [0] records 1 {integers = array<i64>, reals = array<f64>}
    plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  }
}

// -----

// On one rank there is no sum, but every parameter gets a new value.
module {
  zero.mesh @dp {size = 1 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1152 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 256 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 256 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 1024 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 1088 : i64, size_bytes = 4 : i64, state}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "parameter" "b0" at <@w, 0, 256>
  // expected-error @+1 {{parameter 'b1' gets no new value in section @update: bytes 0..256 of @v; zero-partition-state updates all, zero-insert-collectives reduces first}}
  plan.state "parameter" "b1" at <@v, 0, 256>
  plan.state "gradient" "b0" at <@g, 0, 256>
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@w, 0, 256>, #plan.slice<@v, 0, 256>] writes [#plan.slice<@g, 0, 256>, #plan.slice<@loss, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "sgd" on compute reads [#plan.slice<@w, 0, 256>, #plan.slice<@g, 0, 256>, #plan.slice<@lr, 0, 4>] writes [#plan.slice<@w, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// A loss scale that changes does so in every step.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 640 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 256 : i64, state}
  plan.buffer @scale in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 4 : i64, state}
  plan.buffer @window in @device {content = #plan<content activations>, label = "", offset = 320 : i64, size_bytes = 8 : i64, state}
  plan.buffer @loss_sum in @device {content = #plan<content activations>, label = "", offset = 384 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 448 : i64, size_bytes = 4 : i64, state}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 512 : i64, size_bytes = 128 : i64}
  plan.input "x" : tensor<64xf32> at <@x, 0, 256>
  plan.state "loss_scale" "" at <@scale, 0, 4> {data = dense<8.0> : tensor<f32>}
  // expected-error @+1 {{scale_window_steps '' gets no new value in section @update: bytes 0..8 of @window; nn-append-optimizer gives each}}
  plan.state "scale_window_steps" "" at <@window, 0, 8> {data = dense<0> : tensor<i64>}
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.section @micro_first {
    plan.dispatch "loss" on compute reads [#plan.slice<@x, 0, 256>, #plan.slice<@scale, 0, 4>] writes [#plan.slice<@loss_sum, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.collective control_sum f32 on reduce <@loss_sum, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] records 0 {label = "loss_sum", sequence = 0 : i64, wire_bytes = 4 : i64}
    plan.dispatch "scale" on compute reads [#plan.slice<@loss, 0, 4>, #plan.slice<@scale, 0, 4>, #plan.slice<@window, 0, 8>] writes [#plan.slice<@scale, 0, 4>] waits [0] {integers = array<i64>, reals = array<f64>}
  }
}

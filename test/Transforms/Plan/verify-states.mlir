// Bytes of equal size are alike to a race checker: plan-verify knows which state each buffer is. The plan below is right (two
// ranks, two buckets, stage 3 with accumulation); each line exchanges something in it.
// RUN: zero-opt %s --plan-verify -o /dev/null
// RUN: sed '/"step" on.*@w0/s/@g0/@g1/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=GRADIENT
// RUN: sed '/"step" on.*@w0/s/@m0, 0, 256>, #plan.slice<@v0/@v0, 0, 256>, #plan.slice<@m0/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: sed '/"step" on.*@w0/s/@m0/@f0/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=NO-STATE
// RUN: sed '/"step" on.*@w0/s/, #plan.slice<@m0, 0, 256>, #plan.slice<@v0, 0, 256>\] waits/, #plan.slice<@v0, 0, 256>, #plan.slice<@m0, 0, 256>] waits/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=WRITES
// RUN: sed '/"step" on.*@w0/s/@lr, 0, 4>, #plan.slice<@c1/@c1, 0, 4>, #plan.slice<@lr/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: sed '/"step" on.*@w0/s/@sc/@lr/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: sed '/"step" on.*@w0/p' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: sed '/all_gather.*@w0/s/"b0"/"b1"/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=LABEL
// RUN: sed '/all_gather.*@w0/s/@w0/@m0/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=GATHER
// RUN: sed 's/to <@g0/to <@m0/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=REDUCE
// RUN: sed '/"add".*@g0/s/@d0/@d1/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=OTHER-SUM
// RUN: sed '/"add".*@g0/s/@g0, 0, 256>, /@d0, 0, 256, rank_stride = 256>, /' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed '/"add".*@g0/d' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=LOST
// RUN: sed '/"add".*@g0/p' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed '/"add".*@ls/s/@ls, 0, 4>, /@one, 0, 4>, /' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=NO-LOSS
// RUN: sed '/sum_squares" on/s/, #plan.slice<@g1, 0, 256>//; s/i64: 0, 64, 64/i64: 0, 64/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=MISSED
// RUN: sed '/sum_squares" on/s/@g1/@g0/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=COUNTED
// RUN: sed 's/plan.state "exp_avg" "b0"/plan.state "exp_avgs" "b0"/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: sed '/plan.state "parameter" "b0"/p' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: sed '/plan.state "exp_avg_sq" "b0"/s/@v0/@m0/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: sed '/plan.input "x"/p' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: sed '/plan.step_scalar "learning_rate"/p' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: sed '/plan.step_scalar "learning_rate"/s/0.5/0x7FF8000000000000/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: sed '/plan.step_result "loss"/p' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: sed '/plan.step_result "grad_norm"/s/@gn/@loss/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=ONE-PLACE
// RUN: sed 's/world_size = 2/world_size = 4/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: sed 's/items = 1/items = 2/' %s > %t && not zero-opt %t --plan-verify 2>&1 | FileCheck %s --check-prefix=ITEMS

// GRADIENT: error: updates parameter 'b0' with the gradient 'b1'; zero-to-plan gives each bucket its own
// GRADIENT: note: it is here
// PLACE: error: takes exp_avg_sq 'b0' as the exp_avg of its update; zero-to-plan gives each state its place
// PLACE: note: it is here
// NO-STATE: error: takes @f0 as the exp_avg of its update; zero-to-plan gives each state its place
// NO-STATE: note: it is here
// WRITES: error: writes the new exp_avg of 'b0' to @v0, not to where it was read; zero-to-plan updates in place
// WRITES: note: the parameter is here
// RATE: error: takes step scalar 'bias_correction1' as its learning_rate; zero-to-plan gives each its place
// RATE: note: it is here
// SCALE: error: takes step scalar 'learning_rate' as the scale of its gradient; zero-to-plan gives each its place
// SCALE: note: it is here
// AGAIN: error: updates parameter 'b0' a second time; zero-partition-state updates it once
// AGAIN: note: the first time is here
// LABEL: error: of bucket 'b1' moves the parameter 'b0'; zero-to-plan moves the bucket's own
// LABEL: note: the state is here
// GATHER: error: gathers the exp_avg 'b0'; zero-insert-collectives gathers parameters and reduces gradients
// GATHER: note: the state is here
// REDUCE: error: reduces the exp_avg 'b0'; zero-insert-collectives gathers parameters and reduces gradients
// REDUCE: note: the state is here
// OTHER-SUM: error: gives gradient 'b0' the sum of bucket 'b1'; zero-to-plan gives each bucket its own
// OTHER-SUM: note: it is reduced here
// ALONE: error: of section @micro_next writes to @g0 without what is there; zero-to-plan adds micro-batches up
// ALONE: note: the first micro-batch's is written here
// LOST: error: adds nothing to bytes 0..256 of @g0, which a step sums over its micro-batches; zero-insert-collectives adds them up
// LOST: note: the first micro-batch's is written here
// TWICE: error: adds to bytes 0..256 of @g0 a second time; zero-to-plan adds each micro-batch once
// TWICE: note: the first time is here
// NO-LOSS: error: of section @micro_next writes to @ls without what is there; zero-to-plan adds micro-batches up
// NO-LOSS: note: the first micro-batch's is written here
// MISSED: error: leaves the gradient 'b1' out; zero-partition-state counts all
// MISSED: note: it is here
// COUNTED: error: counts @g0 a second time; zero-partition-state counts each gradient once
// COUNTED: note: the first time is here
// ROLE: error: state 'b0' has role 'exp_avgs', which is none of parameter, frozen, gradient, master, exp_avg, exp_avg_sq, momentum, loss_scale, scale_window_steps, scale_hysteresis
// STATE: error: parameter 'b0' is there a second time; zero-to-plan makes one
// STATE: note: the first is here
// SHARED: error: exp_avg_sq 'b0' is in buffer @m0 of another state; zero-to-plan gives each its own
// SHARED: note: the other state is here
// INPUT: error: input 'x' is there a second time; zero-to-plan makes one
// INPUT: note: the first is here
// SCALAR: error: step scalar 'learning_rate' is there a second time; zero-to-plan makes one
// SCALAR: note: the first is here
// NAN: error: step scalar 'learning_rate' is not finite
// RESULT: error: step result 'loss' is there a second time; zero-to-plan makes one
// RESULT: note: the first is here
// ONE-PLACE: error: step result 'grad_norm' is read from where 'loss' is; zero-to-plan gives each its own place
// ONE-PLACE: note: the other is here
// ITEMS: error: kernel @step says that it has 2 items and has 1
// RANKS: error: the plan is for 2 ranks, its configuration for world_size 4

module attributes {zero.config = {world_size = 2 : i64}} {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 5568 : i64}
  plan.buffer @x in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 512 : i64, state}
  plan.buffer @w0 in @device {content = #plan<content parameters>, label = "", offset = 512 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g0 in @device {content = #plan<content gradients>, label = "", offset = 768 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m0 in @device {content = #plan<content optimizer>, label = "", offset = 1024 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v0 in @device {content = #plan<content optimizer>, label = "", offset = 1280 : i64, size_bytes = 256 : i64, state}
  plan.buffer @w1 in @device {content = #plan<content parameters>, label = "", offset = 1536 : i64, size_bytes = 256 : i64, state}
  plan.buffer @g1 in @device {content = #plan<content gradients>, label = "", offset = 1792 : i64, size_bytes = 256 : i64, state}
  plan.buffer @m1 in @device {content = #plan<content optimizer>, label = "", offset = 2048 : i64, size_bytes = 256 : i64, state}
  plan.buffer @v1 in @device {content = #plan<content optimizer>, label = "", offset = 2304 : i64, size_bytes = 256 : i64, state}
  plan.buffer @ls in @device {content = #plan<content activations>, label = "", offset = 2560 : i64, size_bytes = 4 : i64, state}
  plan.buffer @lr in @device {content = #plan<content activations>, label = "", offset = 2624 : i64, size_bytes = 4 : i64, state}
  plan.buffer @c1 in @device {content = #plan<content activations>, label = "", offset = 2688 : i64, size_bytes = 4 : i64, state}
  plan.buffer @c2 in @device {content = #plan<content activations>, label = "", offset = 2752 : i64, size_bytes = 4 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "", offset = 2816 : i64, size_bytes = 4 : i64, state}
  plan.buffer @gn in @device {content = #plan<content activations>, label = "", offset = 2880 : i64, size_bytes = 4 : i64, state}
  plan.buffer @f0 in @device {content = #plan<content buckets>, label = "", offset = 2944 : i64, size_bytes = 512 : i64}
  plan.buffer @d0 in @device {content = #plan<content buckets>, label = "", offset = 3456 : i64, size_bytes = 512 : i64}
  plan.buffer @f1 in @device {content = #plan<content buckets>, label = "", offset = 3968 : i64, size_bytes = 512 : i64}
  plan.buffer @d1 in @device {content = #plan<content buckets>, label = "", offset = 4480 : i64, size_bytes = 512 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "", offset = 4992 : i64, size_bytes = 256 : i64}
  plan.buffer @sq in @device {content = #plan<content activations>, label = "", offset = 5248 : i64, size_bytes = 192 : i64}
  plan.buffer @one in @device {content = #plan<content activations>, label = "", offset = 5440 : i64, size_bytes = 4 : i64}
  plan.buffer @sc in @device {content = #plan<content activations>, label = "", offset = 5504 : i64, size_bytes = 4 : i64}
  plan.input "x" : tensor<128xf32> at <@x, 0, 512>
  plan.state "parameter" "b0" at <@w0, 0, 256> {sharded}
  plan.state "gradient" "b0" at <@g0, 0, 256> {sharded}
  plan.state "exp_avg" "b0" at <@m0, 0, 256> {sharded}
  plan.state "exp_avg_sq" "b0" at <@v0, 0, 256> {sharded}
  plan.state "parameter" "b1" at <@w1, 0, 256> {sharded}
  plan.state "gradient" "b1" at <@g1, 0, 256> {sharded}
  plan.state "exp_avg" "b1" at <@m1, 0, 256> {sharded}
  plan.state "exp_avg_sq" "b1" at <@v1, 0, 256> {sharded}
  plan.step_scalar "learning_rate" 0.5 at <@lr, 0, 4>
  plan.step_scalar "bias_correction1" 0.9 at <@c1, 0, 4>
  plan.step_scalar "bias_correction2" 0.999 at <@c2, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.step_result "grad_norm" f32 at <@gn, 0, 4>
  plan.kernel @step {body_function = @step_body, items = 1 : i64}
  func.func private @step_body(%w: tensor<64xf32>, %g: tensor<64xf32>, %m: tensor<64xf32>, %v: tensor<64xf32>, %k: tensor<f32>, %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %nw, %nm, %nv = nn.adam %w, %g, %m, %v scale %k lr %lr correction %c1, %c2 {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<64xf32>, tensor<f32>
    return %nw, %nm, %nv : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  plan.section @micro_first {
    plan.collective all_gather f32 on gather <@w0, 0, 256> to <@f0, 0, 512> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 256 : i64}
    plan.collective all_gather f32 on gather <@w1, 0, 256> to <@f1, 0, 512> waits [] records 1 {label = "b1", sequence = 1 : i64, wire_bytes = 256 : i64}
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 512>, #plan.slice<@f0, 0, 512>] writes [#plan.slice<@d0, 0, 512>] waits [0] records 2 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 512>, #plan.slice<@f1, 0, 512>] writes [#plan.slice<@d1, 0, 512>] waits [1] records 3 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "lossk" on compute reads [#plan.slice<@x, 0, 512>] writes [#plan.slice<@ls, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@d0, 0, 512> to <@g0, 0, 256> staging <@staging, 0, 256> waits [2] {label = "b0", sequence = 0 : i64, wire_bytes = 256 : i64}
    plan.collective reduce_scatter f32 on reduce <@d1, 0, 512> to <@g1, 0, 256> staging <@staging, 0, 256> waits [3] {label = "b1", sequence = 1 : i64, wire_bytes = 256 : i64}
  }
  plan.section @micro_next {
    plan.collective all_gather f32 on gather <@w0, 0, 256> to <@f0, 0, 512> waits [] records 0 {label = "b0", sequence = 0 : i64, wire_bytes = 256 : i64}
    plan.collective all_gather f32 on gather <@w1, 0, 256> to <@f1, 0, 512> waits [] records 1 {label = "b1", sequence = 1 : i64, wire_bytes = 256 : i64}
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 512>, #plan.slice<@f0, 0, 512>] writes [#plan.slice<@d0, 0, 512>] waits [0] records 2 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "grad" on compute reads [#plan.slice<@x, 0, 512>, #plan.slice<@f1, 0, 512>] writes [#plan.slice<@d1, 0, 512>] waits [1] records 3 {integers = array<i64>, reals = array<f64>}
    plan.dispatch "lossk" on compute reads [#plan.slice<@x, 0, 512>] writes [#plan.slice<@one, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@ls, 0, 4>, #plan.slice<@one, 0, 4>] writes [#plan.slice<@ls, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@d0, 0, 512> to <@d0, 0, 256, rank_stride = 256> staging <@staging, 0, 256> waits [2] {label = "b0", sequence = 0 : i64, wire_bytes = 256 : i64}
    plan.collective reduce_scatter f32 on reduce <@d1, 0, 512> to <@d1, 0, 256, rank_stride = 256> staging <@staging, 0, 256> waits [3] records 4 {label = "b1", sequence = 1 : i64, wire_bytes = 256 : i64}
    plan.dispatch "add" on compute reads [#plan.slice<@g1, 0, 256>, #plan.slice<@d1, 0, 256, rank_stride = 256>] writes [#plan.slice<@g1, 0, 256>] waits [4] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "add" on compute reads [#plan.slice<@g0, 0, 256>, #plan.slice<@d0, 0, 256, rank_stride = 256>] writes [#plan.slice<@g0, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
  plan.section @update {
    plan.dispatch "sum_squares" on compute reads [#plan.slice<@g0, 0, 256>, #plan.slice<@g1, 0, 256>] writes [#plan.slice<@sq, 0, 192>] waits [] records 0 {integers = array<i64: 0, 64, 64>, reals = array<f64>}
    plan.collective control_sum i64 on reduce <@sq, 0, 192> to <@sq, 0, 192> staging <@staging, 0, 192> waits [0] records 1 {label = "sum_squares", sequence = 0 : i64, wire_bytes = 192 : i64}
    plan.dispatch "norm" on compute reads [#plan.slice<@sq, 0, 192>] writes [#plan.slice<@gn, 0, 4>] waits [1] {integers = array<i64>, reals = array<f64>}
    plan.collective control_sum f32 on reduce <@ls, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "scale" on compute reads [#plan.slice<@gn, 0, 4>] writes [#plan.slice<@sc, 0, 4>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "step" on compute reads [#plan.slice<@w0, 0, 256>, #plan.slice<@g0, 0, 256>, #plan.slice<@m0, 0, 256>, #plan.slice<@v0, 0, 256>, #plan.slice<@sc, 0, 4>, #plan.slice<@lr, 0, 4>, #plan.slice<@c1, 0, 4>, #plan.slice<@c2, 0, 4>] writes [#plan.slice<@w0, 0, 256>, #plan.slice<@m0, 0, 256>, #plan.slice<@v0, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "step" on compute reads [#plan.slice<@w1, 0, 256>, #plan.slice<@g1, 0, 256>, #plan.slice<@m1, 0, 256>, #plan.slice<@v1, 0, 256>, #plan.slice<@sc, 0, 4>, #plan.slice<@lr, 0, 4>, #plan.slice<@c1, 0, 4>, #plan.slice<@c2, 0, 4>] writes [#plan.slice<@w1, 0, 256>, #plan.slice<@m1, 0, 256>, #plan.slice<@v1, 0, 256>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

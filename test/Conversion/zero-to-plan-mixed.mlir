// 16-bit parameters with float32 masters: what is sent has the wire's element, sums are rounded to the gradient's, a sum over
// micro-batches of another element is converted where it is first written, and the loss scale starts from its number.
// RUN: zero-opt %S/../Transforms/Zero/mixed-states.mlir --zero-partition-state=stage=0 --zero-insert-collectives --zero-to-plan | FileCheck %s --check-prefix=S0
// RUN: zero-opt %S/../Transforms/Zero/mixed-states.mlir --zero-partition-state=stage=1 --zero-insert-collectives=stage=1 --zero-to-plan | FileCheck %s --check-prefix=S1
// RUN: zero-opt %S/../Transforms/Zero/mixed-states.mlir --zero-partition-state=stage=3 --zero-insert-collectives='stage=3 wire-element=f32' --zero-to-plan | FileCheck %s --check-prefix=WIRE
// RUN: sed 's/%%dw: tensor<8x8xbf16>/%%dw: tensor<8x8xf32>/; s/tensor<8x8xbf16> master/tensor<8x8xbf16> gradient tensor<8x8xf32> master/; s/global_norm %%dw : tensor<8x8xbf16>/global_norm %%dw : tensor<8x8xf32>/' %S/../Transforms/Zero/mixed-states.mlir > %t.f32.mlir
// RUN: zero-opt %t.f32.mlir --zero-partition-state=stage=1 --zero-insert-collectives='stage=1 accumulation-steps=2' --zero-to-plan | FileCheck %s --check-prefix=KEPT
// RUN: zero-opt %t.f32.mlir --zero-partition-state=stage=1 --zero-insert-collectives='stage=1 accumulation-steps=2' --zero-to-plan --plan-assign-offsets --plan-insert-events --plan-verify -o /dev/null
// RUN: zero-opt %t.f32.mlir --zero-partition-state=stage=0 --zero-insert-collectives --zero-to-plan | FileCheck %s --check-prefix=KEPT0
// RUN: sed 's/nn.data = 1024.0 : f64, //' %S/../Transforms/Zero/mixed-states.mlir | not zero-opt - --zero-partition-state --zero-insert-collectives --zero-to-plan 2>&1 | FileCheck %s --check-prefix=NUMBER

// NUMBER: error: loss_scale has no number in 'nn.data' to start from

// A sum of what is sent lies in place.
// S0-DAG:  plan.state "gradient" "b0" at <@gradient.b0, 0, 256>
// S0-DAG:  plan.state "master" "b0" at <@master.b0, 0, 512> {element = f32}
// S0-DAG:  plan.state "loss_scale" "" at <@loss_scale, 0, 4> {data = dense<1.024000e+03> : tensor<f32>}
// S0-DAG:  plan.step_result "loss_scale" f32 at <@loss_scale, 0, 4>
// S0:      plan.collective reduce_scatter bf16 on reduce <@gradient.b0, 0, 256> to <@gradient.b0, 0, 128, rank_stride = 128> staging <@staging, 0, 128> {{.*}}wire_bytes = 128
// S0-NEXT: plan.collective all_gather bf16 on reduce <@gradient.b0, 0, 128, rank_stride = 128> to <@gradient.b0, 0, 256> {{.*}}wire_bytes = 128
// S0:      plan.section @update
// S0:      plan.dispatch "sum_squares" {{.*}}integers = array<i64: 3, 128>
// S0:      reads [#plan.slice<@parameter.b0, 0, 256>, #plan.slice<@gradient.b0, 0, 256>, #plan.slice<@master.b0, 0, 512>, #plan.slice<@exp_avg.b0, 0, 512>, #plan.slice<@exp_avg_sq.b0, 0, 512>, {{.*}}] writes [#plan.slice<@parameter.b0, 0, 256>, #plan.slice<@master.b0, 0, 512>, #plan.slice<@exp_avg.b0, 0, 512>, #plan.slice<@exp_avg_sq.b0, 0, 512>]

// S1-DAG:  plan.buffer @gradient.b0 {{.*}}size_bytes = 256
// S1-DAG:  plan.state "gradient" "b0" at <@gradient.b0, 0, 128, rank_stride = 128> {sharded}
// S1-DAG:  plan.state "master" "b0" at <@master.b0, 0, 256> {element = f32, sharded}
// S1:      plan.collective reduce_scatter bf16 on reduce <@gradient.b0, 0, 256> to <@gradient.b0, 0, 128, rank_stride = 128>
// S1:      func.func private @{{.*}}: tensor<64xbf16>, %{{.*}}: tensor<64xbf16>, %{{.*}}: tensor<64xf32>, %{{.*}}: tensor<64xf32>, %{{.*}}: tensor<64xf32>, {{.*}} -> (tensor<64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
// S1:      plan.collective all_gather bf16 on gather <@parameter.b0, 0, 128, rank_stride = 128> to <@parameter.b0, 0, 256> {{.*}}wire_bytes = 128

// WIRE:      plan.dispatch "convert_{{.*}} reads [#plan.slice<@micro_first.[[P:[0-9]+]].pack, 0, 256>] writes [#plan.slice<@micro_first.[[C:[0-9]+]].convert, 0, 512>]
// WIRE-NEXT: plan.collective reduce_scatter f32 as bf16 on reduce <@micro_first.[[C]].convert, 0, 512> to <@gradient.b0, 0, 128> staging <@staging, 0, 256> {{.*}}wire_bytes = 256

// The first micro-batch's is not added to anything.
// KEPT:      plan.section @micro_first
// KEPT:      plan.dispatch "accumulate_{{.*}} reads [#plan.slice<@micro_first.[[P:[0-9]+]].pack, 0, 256>] writes [#plan.slice<@gradient.b0, 0, 512>]
// KEPT-NOT:  plan.copy
// KEPT:      plan.section @micro_next
// KEPT:      plan.dispatch "accumulate_{{.*}} reads [#plan.slice<@gradient.b0, 0, 512>, #plan.slice<@micro_next.{{[0-9]+}}.pack, 0, 256>] writes [#plan.slice<@gradient.b0, 0, 512>]
// KEPT:      plan.section @update
// KEPT:      plan.dispatch "convert_{{.*}} reads [#plan.slice<@gradient.b0, 0, 512>] writes [#plan.slice<@update.0.convert, 0, 256>]
// KEPT-NEXT: plan.collective reduce_scatter bf16 as f32 on reduce <@update.0.convert, 0, 256> to <@update.1.reduce_scatter_start, 0, 256> staging <@staging, 0, 128> {{.*}}wire_bytes = 128

// A whole sum is gathered as it was rounded, so that all stages have the same bits.
// KEPT0:      plan.collective reduce_scatter bf16 as f32 on reduce <@micro_first.{{[0-9]+}}.pack, 0, 256> to <@gradient.b0, 0, 256, rank_stride = 256> {{.*}}wire_bytes = 128
// KEPT0-NEXT: plan.collective all_gather f32 on reduce <@gradient.b0, 0, 256, rank_stride = 256> to <@gradient.b0, 0, 512> {{.*}}wire_bytes = 256

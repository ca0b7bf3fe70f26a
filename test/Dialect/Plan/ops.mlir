// RUN: zero-opt %s | zero-opt | FileCheck %s
// RUN: zero-opt %s --mlir-print-op-generic | zero-opt | FileCheck %s

// CHECK: plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1024 : i64}
plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 1024 : i64}
// CHECK: plan.arena @pinned {kind = #plan<memory_kind host_pinned>, size_bytes = 0 : i64}
plan.arena @pinned {kind = #plan<memory_kind host_pinned>, size_bytes = 0 : i64}

// CHECK: plan.buffer @w in @device {content = #plan<content parameters>, label = "layer.weight", offset = 0 : i64, padding_bytes = 12 : i64, size_bytes = 256 : i64, state}
plan.buffer @w in @device {content = #plan<content parameters>, label = "layer.weight", offset = 0 : i64, padding_bytes = 12 : i64, size_bytes = 256 : i64, state}
// CHECK: plan.buffer @x in @device {content = #plan<content activations>, label = "x", size_bytes = 64 : i64}
plan.buffer @x in @device {content = #plan<content activations>, label = "x", size_bytes = 64 : i64}

// CHECK: plan.input "x" : tensor<2x8xi64> at <@x, 0, 64> {ignore_index = -100 : i64, label, limit = 10 : i64}
plan.input "x" : tensor<2x8xi64> at <@x, 0, 64> {ignore_index = -100 : i64, label, limit = 10 : i64}
// CHECK: plan.state "parameter" "b0" at <@w, 0, 128, rank_stride = 128> {data = [#nn.external<"m.onnx", 0, 256, 1>], sharded}
plan.state "parameter" "b0" at <@w, 0, 128, rank_stride = 128> {data = [#nn.external<"m.onnx", 0, 256, 1>], sharded}
// CHECK: plan.step_scalar "learning_rate" 1.000000e-03 at <@x, 0, 4>
plan.step_scalar "learning_rate" 1.0e-3 at <@x, 0, 4>
// CHECK: plan.step_result "loss" f32 at <@x, 4, 4>
plan.step_result "loss" f32 at <@x, 4, 4>

// CHECK: plan.kernel @double {body_function = @double_body, items = 8 : i64}
plan.kernel @double {body_function = @double_body, items = 8 : i64}
// CHECK: plan.kernel @half {body_function = @double_body, items = 8 : i64, launch = #plan.launch<4, 256, 128>}
plan.kernel @half {body_function = @double_body, items = 8 : i64, launch = #plan.launch<4, 256, 128>}

// CHECK: module attributes {plan.cuda_workspace_bytes = 33554432 : i64, plan.deterministic, plan.target = "cuda"}
module attributes {plan.cuda_workspace_bytes = 33554432 : i64, plan.deterministic, plan.target = "cuda"} {
}

// CHECK: plan.section @micro_first {
plan.section @micro_first {
  // CHECK-NEXT: plan.zero on compute [#plan.slice<@x, 0, 8>, #plan.slice<@x, 16, 8>] waits [] records 0
  plan.zero on compute [#plan.slice<@x, 0, 8>, #plan.slice<@x, 16, 8>] waits [] records 0
  // CHECK-NEXT: plan.collective reduce_scatter f32 on reduce <@w, 0, 256> to <@w, 0, 128, rank_stride = 128> staging <@x, 0, 64> waits [0] records 1
  // CHECK-SAME: {awaited_at = 3 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  plan.collective reduce_scatter f32 on reduce <@w, 0, 256> to <@w, 0, 128, rank_stride = 128> staging <@x, 0, 64> waits [0] records 1
      {awaited_at = 3 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  // CHECK-NEXT: plan.collective reduce_scatter bf16 as f32 on reduce <@x, 0, 64> to <@w, 0, 64, rank_stride = 64> staging <@x, 0, 64> waits []
  plan.collective reduce_scatter bf16 as f32 on reduce <@x, 0, 64> to <@w, 0, 64, rank_stride = 64> staging <@x, 0, 64> waits [] {label = "b0", sequence = 1 : i64, wire_bytes = 32 : i64}
  // CHECK-NEXT: plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1]
  plan.collective all_gather f32 on gather <@w, 0, 128, rank_stride = 128> to <@w, 0, 256> waits [1] {label = "b0", sequence = 0 : i64, wire_bytes = 128 : i64}
  // CHECK-NEXT: plan.dispatch "double" on compute reads [#plan.slice<@x, 0, 32>] writes [#plan.slice<@x, 32, 32>] waits [0, 1] {integers = array<i64: 1, 2>, reals = array<f64: 5.000000e-01>}
  plan.dispatch "double" on compute reads [#plan.slice<@x, 0, 32>] writes [#plan.slice<@x, 32, 32>] waits [0, 1] {integers = array<i64: 1, 2>, reals = array<f64: 0.5>}
  // CHECK-NEXT: plan.copy on compute <@x, 32, 32> to <@x, 0, 32> waits [] {reason = "it is read later"}
  plan.copy on compute <@x, 32, 32> to <@x, 0, 32> waits [] {reason = "it is read later"}
}

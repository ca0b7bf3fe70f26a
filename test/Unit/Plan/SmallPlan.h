//===- SmallPlan.h - A hand-written plan for tests ------------------------===//
//
// Two ranks, one bucket (w in a file, v in the module), one frozen tensor and a constant; offsets and events are assigned.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_UNIT_PLAN_SMALLPLAN_H
#define ZERO_TEST_UNIT_PLAN_SMALLPLAN_H

#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <string>

namespace zero::test {

inline void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<nn::NNDialect, sharding::ZeroDialect, plan::PlanDialect, mlir::func::FuncDialect>();
}

/// `w` is the data of parameter w: 2 x 48 floats.
inline std::string smallPlan(const std::string &w) {
  return R"mlir(
module @small attributes {zero.config = {gradient_accumulation_steps = 3 : i64, train_micro_batch_size_per_gpu = 2 : i64,
                                         zero_optimization = {stage = 2 : i64}}} {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 256 : i64,
                          slots = [#zero.slot<"w", offset = 0, shape = [2, 48]>, #zero.slot<"v", offset = 128, shape = [2]>]}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 4352 : i64}
  plan.buffer @input.x in @device {content = #plan<content activations>, label = "x", offset = 0 : i64, size_bytes = 16 : i64, state}
  plan.buffer @parameter.b0 in @device {content = #plan<content parameters>, label = "w", offset = 64 : i64, padding_bytes = 632 : i64, size_bytes = 1024 : i64, state}
  plan.buffer @gradient.b0 in @device {content = #plan<content gradients>, label = "w", offset = 1088 : i64, size_bytes = 512 : i64, state}
  plan.buffer @momentum.b0 in @device {content = #plan<content optimizer>, label = "w", offset = 1600 : i64, size_bytes = 512 : i64, state}
  plan.buffer @mask in @device {content = #plan<content parameters>, label = "mask", offset = 2112 : i64, size_bytes = 3 : i64, state}
  plan.buffer @constant.0 in @device {content = #plan<content parameters>, label = "constant", offset = 2176 : i64, size_bytes = 16 : i64, state}
  plan.buffer @loss in @device {content = #plan<content activations>, label = "loss", offset = 2240 : i64, size_bytes = 4 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "w", offset = 2304 : i64, padding_bytes = 632 : i64, size_bytes = 1024 : i64}
  plan.buffer @staging in @device {content = #plan<content staging>, label = "staging", offset = 3328 : i64, size_bytes = 512 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "a", offset = 3840 : i64, size_bytes = 500 : i64}
  plan.buffer @later in @device {content = #plan<content activations>, label = "later", offset = 2304 : i64, size_bytes = 64 : i64}
  plan.input "x" : tensor<2xi64> at <@input.x, 0, 16> {label, limit = 7 : i64, ignore_index = -100 : i64}
  plan.state "parameter" "b0" at <@parameter.b0, 0, 1024> {data = [)mlir" + w + R"mlir(, dense<2.0> : tensor<2xf32>]}
  plan.state "gradient" "b0" at <@gradient.b0, 0, 512> {sharded}
  plan.state "momentum" "b0" at <@momentum.b0, 0, 512> {sharded}
  plan.state "frozen" "mask" at <@mask, 0, 3> {data = dense<[true, false, true]> : tensor<3xi1>}
  plan.state "frozen" "constant.0" at <@constant.0, 0, 16> {data = dense<[5, 6]> : tensor<2xi64>}
  plan.step_scalar "learning_rate" 0.5 at <@loss, 0, 4>
  plan.step_result "loss" f32 at <@loss, 0, 4>
  plan.kernel @group_0 {body_function = @group_0_body, items = 4 : i64}
  func.func private @group_0_body(tensor<2xi64>) -> (tensor<256xf32>, tensor<125xf32>)
  plan.section @micro_first {
    plan.dispatch "group_0" on compute reads [#plan.slice<@input.x, 0, 16>] writes [#plan.slice<@bucket, 0, 1024>, #plan.slice<@a, 0, 500>] waits [] records 0 {integers = array<i64>, reals = array<f64>}
    plan.collective reduce_scatter f32 on reduce <@bucket, 0, 1024> to <@gradient.b0, 0, 512> staging <@staging, 0, 512> waits [0] {awaited_at = 3 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 512 : i64}
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 500>] waits [] {carried = array<i64: 0>, integers = array<i64: 0, 125>, reals = array<f64: 0.5>}
  }
  plan.section @micro_next {
    plan.zero on compute [#plan.slice<@bucket, 0, 1024>] waits [] records 0
    plan.collective reduce_scatter f32 on reduce <@bucket, 0, 1024> to <@gradient.b0, 0, 512> staging <@staging, 0, 512> waits [0] {awaited_at = 2 : i64, label = "b0", sequence = 0 : i64, wire_bytes = 512 : i64}
  }
  plan.section @update {
    plan.collective control_sum f32 on reduce <@loss, 0, 4> to <@loss, 0, 4> staging <@staging, 0, 4> waits [] {label = "loss_sum", sequence = 0 : i64, wire_bytes = 4 : i64}
    plan.copy on compute <@gradient.b0, 0, 64> to <@later, 0, 64> waits [] {reason = "test"}
    plan.collective all_gather f32 on gather <@parameter.b0, 0, 512, rank_stride = 512> to <@parameter.b0, 0, 1024> waits [] records 0 {label = "b0", outlasts, sequence = 0 : i64, wire_bytes = 512 : i64}
  }
}
)mlir";
}

} // namespace zero::test

#endif

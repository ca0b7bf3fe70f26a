// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=1 --world-size=2 2>/dev/null | FileCheck %s

// The optimizer state is sharded: each rank updates its range, new parameters are gathered. The state of the gradients is whole.
// CHECK-LABEL: func.func @micro
// CHECK-COUNT-4: {nn.role = #nn.role<gradient "b{{[0-3]}}">, zero.whole_buffer}
// CHECK-NOT:     zero.all_gather_start
// CHECK:         zero.pack @b3
// CHECK-NEXT:    %[[F3:.*]] = zero.reduce_scatter_start %{{.*}} : !zero.partial<@b3> -> !zero.future<!zero.shard<@b3>>
// CHECK:         zero.pack @b2
// CHECK-NEXT:    zero.wait %[[F3]]
// CHECK-NEXT:    zero.reduce_scatter_start
// CHECK-COUNT-2: zero.reduce_scatter_start
// CHECK-NOT:     zero.reduce_scatter_start
// CHECK-LABEL: func.func @update
// CHECK-NEXT:    %[[Q:.*]] = zero.sum_squares %{{.*}} : !zero.shard<@b0>, !zero.shard<@b1>, !zero.shard<@b2>, !zero.shard<@b3> -> tensor<24xi64>
// CHECK-NEXT:    %[[T:.*]] = zero.control_sum %[[Q]] on @dp : tensor<24xi64>
// CHECK-NEXT:    zero.norm %[[T]]
// CHECK-COUNT-2: zero.control_sum
// CHECK:         zero.shard_of %{{.*}} : !zero.full<@b0> -> !zero.shard<@b0>
// CHECK-NEXT:    %[[U0:.*]]:3 = zero.update @b0
// Each gather stands behind its update and is waited for in the next step.
// CHECK:         %[[F0:.*]] = zero.all_gather_start %[[U0]]#0 : !zero.shard<@b0>
// CHECK:         %[[U3:.*]]:3 = zero.update @b3
// CHECK:         zero.all_gather_start %[[U3]]#0 : !zero.shard<@b3>
// CHECK-NEXT:    %[[P0:.*]] = zero.wait %[[F0]] {next_step}
// CHECK-COUNT-3: zero.wait %{{.*}} {next_step}
// CHECK-NEXT:    return %[[P0]]
// CHECK-NOT:     zero.release

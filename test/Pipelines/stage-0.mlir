// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=0 --world-size=2 2>/dev/null | FileCheck %s
// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=0 --world-size=2 --prefetch 2>/dev/null | FileCheck %s
// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=0 --world-size=1 2>/dev/null | FileCheck %s --check-prefix=ONE

// Nothing is sharded: gradients are summed whole, each while the backward pass of the block before runs; every rank updates all. The
// gradient that is complete last stays in ranges until other updates hide its gather; the norm is of ranges.
// CHECK-LABEL: func.func @micro
// CHECK-NOT:     zero.all_gather_start
// CHECK:         zero.pack @b3
// CHECK-NEXT:    %[[F3:.*]] = zero.all_reduce_start %{{.*}} : !zero.partial<@b3> -> !zero.future<!zero.full<@b3>>
// CHECK:         nn.matmul
// CHECK:         zero.pack @b2
// CHECK-NEXT:    %[[G3:.*]] = zero.wait %[[F3]]
// CHECK-NEXT:    %[[F2:.*]] = zero.all_reduce_start
// CHECK:         zero.pack @b1
// CHECK-NEXT:    %[[G2:.*]] = zero.wait %[[F2]]
// CHECK-NEXT:    %[[F1:.*]] = zero.all_reduce_start
// CHECK:         zero.pack @b0
// CHECK-NEXT:    %[[G1:.*]] = zero.wait %[[F1]]
// CHECK-NEXT:    %[[F0:.*]] = zero.reduce_scatter_start
// CHECK:         %[[G0:.*]] = zero.wait %[[F0]]
// CHECK-NEXT:    return %{{.*}}, %{{.*}}, %[[G0]], %[[G1]], %[[G2]], %[[G3]]
// CHECK-LABEL: func.func @update
// CHECK-SAME:    %[[G0:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}
// CHECK-COUNT-3: zero.shard_of
// CHECK-NEXT:    %[[Q:.*]] = zero.sum_squares %[[G0]], %{{.*}} : !zero.shard<@b0>, !zero.shard<@b1>, !zero.shard<@b2>, !zero.shard<@b3> -> tensor<24xi64>
// CHECK-NEXT:    %[[S:.*]] = zero.control_sum %[[Q]]
// CHECK-NEXT:    zero.norm %[[S]]
// CHECK-COUNT-2: zero.control_sum
// CHECK:         %[[F:.*]] = zero.all_gather_start %[[G0]] : !zero.shard<@b0>
// CHECK-COUNT-3: zero.update @b{{[123]}}
// CHECK:         %[[W:.*]] = zero.wait %[[F]]
// CHECK-NEXT:    zero.update @b0(%{{.*}}, %[[W]],
// CHECK-NOT:     zero.{{all_gather_start|all_reduce_start|reduce_scatter_start|release|control_sum}}

// One rank: no collective.
// ONE-LABEL: func.func @micro
// ONE-NOT:     zero.{{all_gather_start|all_reduce_start|reduce_scatter_start|release|control_sum|wait}}
// ONE-COUNT-4: zero.alias {{.*}} : !zero.partial<@{{.*}}> to !zero.full<@{{.*}}>
// ONE-LABEL: func.func @update
// ONE-NOT:     zero.{{all_gather_start|all_reduce_start|reduce_scatter_start|release|control_sum|wait}}

// RUN: rm -rf %t && mkdir %t
// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=3 --world-size=2 --dump-phases=%t -o %t/out.mlir 2>/dev/null
// RUN: FileCheck %s < %t/out.mlir
// Whatever other passes do to a dump, each bucket is still gathered twice and everything verifies.
// RUN: zero-opt %t/1-import.mlir --cse --canonicalize -o %t/i.mlir && zero-opt %t/i.mlir --compile-to=schedule | FileCheck %s
// RUN: zero-opt %t/2-backward.mlir --cse --canonicalize -o %t/b.mlir && zero-opt %t/b.mlir --compile-to=schedule | FileCheck %s
// RUN: zero-opt %t/3-partition.mlir --cse --canonicalize -o %t/p.mlir && zero-opt %t/p.mlir --compile-to=schedule | FileCheck %s
// RUN: zero-opt %t/4-schedule.mlir --cse --canonicalize -o %t/s.mlir && zero-opt %t/s.mlir --compile-to=schedule | FileCheck %s

// Everything is sharded: parameters are gathered where a block reads them, in each pass, and given back after.
// CHECK-LABEL: func.func @micro
// CHECK:         %[[F0:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// CHECK-NEXT:    %[[B0:.*]] = zero.wait %[[F0]]
// CHECK:         nn.gather
// CHECK-NEXT:    zero.release %[[B0]] : !zero.full<@b0>
// CHECK:         zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// CHECK:         zero.release %{{.*}} : !zero.full<@b1>
// CHECK:         zero.all_gather_start %{{.*}} : !zero.shard<@b2>
// CHECK:         zero.all_gather_start %{{.*}} : !zero.shard<@b3>
// The tied head: its backward pass follows at once and shares the gather.
// CHECK:         %[[F4:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// CHECK-NEXT:    %[[B4:.*]] = zero.wait %[[F4]]
// CHECK-NEXT:    %[[W4:.*]] = zero.view %[[B4]]["m.wte"]
// CHECK-NEXT:    nn.matmul %{{.*}}, %[[W4]] transpose_rhs
// CHECK:         nn.matmul %{{.*}}, %[[W4]] :
// CHECK-NEXT:    zero.release %[[B4]] : !zero.full<@b0>
// A gradient that reads no parameter comes first, and is reduced while the parameter is gathered.
// CHECK:         %[[R3:.*]] = zero.reduce_scatter_start %{{.*}} : !zero.partial<@b3>
// CHECK:         zero.all_gather_start %{{.*}} : !zero.shard<@b3>
// CHECK:         zero.pack @b2
// CHECK-NEXT:    zero.wait %[[R3]]
// CHECK-NEXT:    zero.reduce_scatter_start %{{.*}} : !zero.partial<@b2>
// CHECK:         zero.all_gather_start %{{.*}} : !zero.shard<@b2>
// CHECK:         zero.reduce_scatter_start %{{.*}} : !zero.partial<@b1>
// CHECK:         zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// The embedding's gradient reads no parameter: no third gather.
// CHECK-NOT:     zero.all_gather_start
// CHECK:         zero.reduce_scatter_start %{{.*}} : !zero.partial<@b0>
// CHECK-LABEL: func.func @update
// CHECK:         zero.control_sum %{{.*}} on @dp : tensor<24xi64>
// CHECK-COUNT-4: zero.update @{{.*}} -> !zero.shard<@{{.*}}>, !zero.shard<@{{.*}}>, !zero.shard<@{{.*}}>
// CHECK-NOT:     zero.{{all_gather_start|release|shard_of}}

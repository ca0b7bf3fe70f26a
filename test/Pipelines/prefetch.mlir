// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=3 --prefetch --world-size=2 2>/dev/null | FileCheck %s
// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=1 --prefetch --world-size=2 2>/dev/null | FileCheck %s --check-prefix=UPDATE
// RUN: echo '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 256}}' > %t.json
// RUN: zero-opt %S/Inputs/tied.mlir --config=%t.json --world-size=2 2>/dev/null | FileCheck %s --check-prefix=TWO
// RUN: echo '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "reduce_bucket_size": 128, "stage3_prefetch_bucket_size": 0}}' > %t.json
// RUN: zero-opt %S/Inputs/tables.mlir --config=%t.json --world-size=2 2>/dev/null | FileCheck %s --check-prefix=TURN
// RUN: echo '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "reduce_bucket_size": 128, "stage3_prefetch_bucket_size": 256}}' > %t.json
// RUN: zero-opt %S/Inputs/tables.mlir --config=%t.json --world-size=2 2>/dev/null | FileCheck %s --check-prefix=BOTH
// RUN: echo '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "overlap_comm": false}}' > %t.json
// RUN: zero-opt %S/Inputs/tied.mlir --config=%t.json --world-size=2 2>/dev/null | FileCheck %s --check-prefix=OFF
// RUN: echo '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "reduce_bucket_size": 128, "stage3_max_live_parameters": 255}}' > %t.json
// RUN: not zero-opt %S/Inputs/tables.mlir --config=%t.json --world-size=2 2>&1 | FileCheck %s --check-prefix=LIVE

// All of a small model fits in flight: gathers start before anything runs and are waited for where they are needed.
// CHECK-LABEL: func.func @micro
// CHECK-NEXT:    %[[F0:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// CHECK-NEXT:    %[[F1:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// CHECK-COUNT-6: zero.all_gather_start
// CHECK-NOT:     zero.all_gather_start
// CHECK:         %[[B0:.*]] = zero.wait %[[F0]]
// CHECK:         nn.gather
// CHECK-NEXT:    zero.release %[[B0]]
// CHECK:         zero.wait %[[F1]]
// CHECK:         nn.matmul

// New parameters are gathered while the next bucket is updated.
// UPDATE-LABEL: func.func @update
// UPDATE:         %[[U0:.*]]:3 = zero.update @b0
// UPDATE:         zero.yield
// UPDATE-NEXT:    }
// UPDATE-NEXT:    %[[F0:.*]] = zero.all_gather_start %[[U0]]#0
// UPDATE:         zero.update @b1
// UPDATE:         zero.update @b3
// UPDATE:         zero.wait %[[F0]]

// Two buckets of 128 elements in flight: the next starts when one has been waited for.
// TWO-LABEL: func.func @micro
// TWO-NEXT:    %[[F0:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// TWO-NEXT:    %[[F1:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// TWO-NOT:     zero.all_gather_start
// TWO:         zero.wait %[[F0]]
// TWO-NEXT:    %[[F2:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b2>
// TWO:         zero.wait %[[F1]]
// TWO-NEXT:    zero.all_gather_start %{{.*}} : !zero.shard<@b3>

// One in flight at a time: the wait for what is used last does not sink behind the start of the other gather.
// TURN-LABEL: func.func @micro
// TURN:         %[[F0:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// TURN-NEXT:    zero.wait %[[F0]]
// TURN-NEXT:    %[[F1:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// TURN-NEXT:    zero.wait %[[F1]]
// BOTH-LABEL: func.func @micro
// BOTH:         %[[F0:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// BOTH-NEXT:    %[[F1:.*]] = zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// BOTH:         zero.wait %[[F1]]
// BOTH:         nn.slice
// BOTH-NEXT:    zero.wait %[[F0]]

// Each wait directly after its start.
// OFF-LABEL: func.func @micro
// OFF:         zero.pack
// OFF-NEXT:    %[[F:.*]] = zero.reduce_scatter_start
// OFF-NEXT:    zero.wait %[[F]]
// OFF:         zero.pack
// OFF-NEXT:    %[[F:.*]] = zero.reduce_scatter_start
// OFF-NEXT:    zero.wait %[[F]]

// LIVE: error: 'zero.all_gather_start' op of bucket @b{{[01]}} brings the elements that block 'h.0' needs at once to 256, but max-live-elements (stage3_max_live_parameters) is 255; the smallest legal value is 256

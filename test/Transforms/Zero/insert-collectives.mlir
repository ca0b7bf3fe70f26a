// RUN: split-file %s %t
// RUN: zero-opt %t/stage3.mlir --zero-insert-collectives=stage=3 | FileCheck %s --check-prefix=S3
// RUN: zero-opt %t/last-block.mlir --zero-insert-collectives=stage=3 | FileCheck %s --check-prefix=LAST
// RUN: zero-opt %t/dead.mlir --zero-insert-collectives=stage=3 | FileCheck %s --check-prefix=DEAD
// RUN: zero-opt %t/chains.mlir --zero-insert-collectives=stage=3 | FileCheck %s --check-prefix=CHAINS
// RUN: zero-opt %t/stage1.mlir --zero-insert-collectives=stage=1 | FileCheck %s --check-prefixes=S1,S1-ONCE
// RUN: zero-opt %t/stage1.mlir --zero-insert-collectives='stage=1 accumulation-steps=2' | FileCheck %s --check-prefixes=S1,S1-STEP
// RUN: zero-opt %t/stage1.mlir --zero-insert-collectives='stage=1 accumulation-steps=2 reduce-at=micro_batch' | FileCheck %s --check-prefixes=S1,S1-MICRO
// RUN: zero-opt %t/stage0.mlir --zero-insert-collectives=stage=0 | FileCheck %s --check-prefix=S0
// RUN: zero-opt %t/stage0.mlir --zero-insert-collectives='stage=0 accumulation-steps=2' | FileCheck %s --check-prefix=S0-STEP
// RUN: sed 's/size = 2/size = 1/' %t/stage0.mlir > %t/one-rank.mlir
// RUN: zero-opt %t/one-rank.mlir --zero-insert-collectives='accumulation-steps=2 reduce-at=step' | FileCheck %s --check-prefix=ONE
// RUN: zero-opt %t/one-rank.mlir --zero-insert-collectives='accumulation-steps=2 stage=3' | FileCheck %s --check-prefix=ONE
// RUN: zero-opt %t/refuses.mlir --split-input-file --verify-diagnostics --zero-insert-collectives
// RUN: not zero-opt %t/stage0.mlir --zero-insert-collectives=stage=4 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not zero-opt %t/stage0.mlir --zero-insert-collectives=accumulation-steps=0 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not zero-opt %t/stage0.mlir --zero-insert-collectives=reduce-at=epoch 2>&1 | FileCheck %s --check-prefix=AT
// RUN: not zero-opt %t/stage0.mlir --zero-insert-collectives='stage=2 reduce-at=step' 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: zero-opt %t/predict.mlir --zero-insert-collectives=stage=3 | FileCheck %s --check-prefix=PREDICT
// RUN: cat %t/last-block.mlir %t/predict-too.mlir > %t/both.mlir
// RUN: zero-opt %t/both.mlir --zero-insert-collectives=stage=3 | FileCheck %s --check-prefix=TOO

// STAGE: error: stage is 4, expected 0 to 3
// STEPS: error: accumulation-steps is 0, expected at least 1
// AT:    error: reduce-at is 'epoch', expected 'step' or 'micro_batch'
// STEP:  error: reduce-at is 'step', but stage 2 shards gradients, which are reduced in each micro-batch

//--- stage3.mlir
// A tied bucket @e (read first and last in the forward pass, then at once in the backward pass) and a block @h between.
zero.mesh @dp {size = 2 : i64}
zero.bucket @e on @dp {block = "e", element = f32, elements = 128 : i64, slots = [#zero.slot<"e", offset = 0, shape = [8, 8]>]}
zero.bucket @h on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"v", offset = 64, shape = [8, 8]>]}
// S3-LABEL: func.func @micro
// S3-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// S3-SAME: %[[E:[a-z0-9]+]]: !zero.shard<@e>
// S3-SAME: %[[H:[a-z0-9]+]]: !zero.shard<@h>
// Gathers stand where the bucket is read first, and are waited for at once.
// S3-NEXT: %[[F0:.*]] = zero.all_gather_start %[[E]]
// S3-NEXT: %[[B0:.*]] = zero.wait %[[F0]]
// S3-NEXT: %[[V0:.*]] = zero.view %[[B0]]["e"]
// S3-NEXT: %[[A:.*]] = nn.matmul %[[X]], %[[V0]]
// S3-NEXT: %[[F1:.*]] = zero.all_gather_start %[[H]]
// S3-NEXT: %[[B1:.*]] = zero.wait %[[F1]]
// S3-NEXT: %[[W1:.*]] = zero.view %[[B1]]["w"]
// S3-NEXT: nn.matmul %[[A]], %[[W1]]
// One gather serves a block in one pass.
// S3-NEXT: %[[VV1:.*]] = zero.view %[[B1]]["v"]
// S3-NEXT: nn.matmul %{{.*}}, %[[VV1]]
// S3-NEXT: %[[F2:.*]] = zero.all_gather_start %[[E]]
// S3-NEXT: %[[B2:.*]] = zero.wait %[[F2]]
// S3-NEXT: %[[V2:.*]] = zero.view %[[B2]]["e"]
// S3-NEXT: nn.matmul %{{.*}}, %[[V2]]
// S3-NEXT: nn.reduce
// The backward pass begins here; nothing was read since the head, whose gather goes on.
// S3-NEXT: nn.constant
// S3-NEXT: nn.neg
// S3-NEXT: nn.matmul %{{.*}}, %[[V2]] transpose_rhs
// S3-NEXT: %[[F3:.*]] = zero.all_gather_start %[[H]]
// S3-NEXT: %[[B3:.*]] = zero.wait %[[F3]]
// S3-NEXT: %[[VV3:.*]] = zero.view %[[B3]]["v"]
// S3-NEXT: nn.matmul %{{.*}}, %[[VV3]] transpose_rhs
// S3-NEXT: %[[W3:.*]] = zero.view %[[B3]]["w"]
// S3-NEXT: nn.matmul %{{.*}}, %[[W3]] transpose_rhs
// A bucket is reduced when its last gradient is complete.
// S3-NEXT: nn.matmul
// S3-NEXT: nn.matmul
// S3-NEXT: %[[P0:.*]] = zero.pack @h
// S3-NEXT: %[[R0:.*]] = zero.reduce_scatter_start %[[P0]]
// S3-NEXT: %[[G0:.*]] = zero.wait %[[R0]]
// S3-NEXT: nn.matmul
// S3-NEXT: %[[P1:.*]] = zero.pack @e
// S3-NEXT: %[[R1:.*]] = zero.reduce_scatter_start %[[P1]]
// S3-NEXT: %[[G1:.*]] = zero.wait %[[R1]]
// S3-NEXT: return %{{.*}}, %{{.*}}, %[[G1]], %[[G0]]
func.func @micro(%x: tensor<4x8xf32> {nn.role = #nn.role<input "x">},
                 %es: !zero.shard<@e> {nn.role = #nn.role<parameter "e">}, %hs: !zero.shard<@h> {nn.role = #nn.role<parameter "h">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        !zero.shard<@e> {nn.role = #nn.role<gradient "e">}, !zero.shard<@h> {nn.role = #nn.role<gradient "h">}) {
  %ef = builtin.unrealized_conversion_cast %es : !zero.shard<@e> to !zero.full<@e>
  %e = zero.view %ef["e"] : !zero.full<@e> -> tensor<8x8xf32>
  %hf = builtin.unrealized_conversion_cast %hs : !zero.shard<@h> to !zero.full<@h>
  %w = zero.view %hf["w"] : !zero.full<@h> -> tensor<8x8xf32>
  %v = zero.view %hf["v"] : !zero.full<@h> -> tensor<8x8xf32>
  %0 = nn.matmul %x, %e : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = nn.matmul %0, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = nn.matmul %1, %v : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %3 = nn.matmul %2, %e : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %s = nn.reduce sum %3 axes [0, 1] : tensor<4x8xf32> to tensor<f32>
  %c = nn.constant dense<4> : tensor<i64>
  %d3 = nn.neg %3 : tensor<4x8xf32>
  %d2 = nn.matmul %d3, %e transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %d1 = nn.matmul %d2, %v transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %d0 = nn.matmul %d1, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %gw = nn.matmul %0, %d1 transpose_lhs : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %gv = nn.matmul %1, %d2 transpose_lhs : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %ge = nn.matmul %x, %d0 transpose_lhs : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %pe = zero.pack @e(%ge) : (tensor<8x8xf32>) -> !zero.partial<@e>
  %re = builtin.unrealized_conversion_cast %pe : !zero.partial<@e> to !zero.shard<@e>
  %ph = zero.pack @h(%gw, %gv) : (tensor<8x8xf32>, tensor<8x8xf32>) -> !zero.partial<@h>
  %rh = builtin.unrealized_conversion_cast %ph : !zero.partial<@h> to !zero.shard<@h>
  return %s, %c, %re, %rh : tensor<f32>, tensor<i64>, !zero.shard<@e>, !zero.shard<@h>
}
// S3-LABEL: func.func @update
// The loss and the count are this rank's until they are summed; so are sums of squares of shards.
// S3-SAME: %[[GE:[a-z0-9]+]]: !zero.shard<@e>, %[[GH:[a-z0-9]+]]: !zero.shard<@h>, %[[LOSS:[a-z0-9]+]]: tensor<f32> {{.*}}, %[[COUNT:[a-z0-9]+]]: tensor<i64>
// S3-NEXT: %[[C:.*]] = zero.control_sum %[[COUNT]] on @dp : tensor<i64>
// S3-NEXT: nn.cast %[[C]]
// S3-NEXT: %[[L:.*]] = zero.control_sum %[[LOSS]] on @dp : tensor<f32>
// S3-NEXT: nn.mul %[[L]]
// S3-NEXT: %[[Q:.*]] = zero.sum_squares %[[GE]], %[[GH]]
// S3-NEXT: %[[T:.*]] = zero.control_sum %[[Q]] on @dp : tensor<24xi64>
// S3-NEXT: zero.norm %[[T]]
func.func @update(%ge: !zero.shard<@e>, %gh: !zero.shard<@h>, %l: tensor<f32> {nn.role = #nn.role<loss_sum "">},
                  %c: tensor<i64> {nn.role = #nn.role<label_count "">}) -> (tensor<f32>, tensor<f32>) {
  %0 = nn.cast %c : tensor<i64> to tensor<f32>
  %1 = nn.mul %l, %0 : tensor<f32>
  %2 = zero.sum_squares %ge, %gh : !zero.shard<@e>, !zero.shard<@h> -> tensor<24xi64>
  %3 = zero.norm %2 : tensor<24xi64> -> tensor<f32>
  return %1, %3 : tensor<f32>, tensor<f32>
}

//--- last-block.mlir
// The only reads are one run across both passes: cut, so that what both passes read is gathered twice.
zero.mesh @dp {size = 2 : i64}
zero.bucket @h on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}
// LAST-LABEL: func.func @micro
// LAST: zero.all_gather_start
// LAST: nn.matmul
// LAST: nn.reduce
// LAST: zero.all_gather_start
// LAST: nn.matmul
// LAST-NOT: zero.all_gather_start
func.func @micro(%x: tensor<4x8xf32>, %hs: !zero.shard<@h> {nn.role = #nn.role<parameter "h">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<4x8xf32>) {
  %hf = builtin.unrealized_conversion_cast %hs : !zero.shard<@h> to !zero.full<@h>
  %w = zero.view %hf["w"] : !zero.full<@h> -> tensor<8x8xf32>
  %0 = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %s = nn.reduce sum %0 axes [0, 1] : tensor<4x8xf32> to tensor<f32>
  %1 = nn.matmul %0, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %s, %1 : tensor<f32>, tensor<4x8xf32>
}
func.func @update() {
  return
}

//--- dead.mlir
// What the backward pass does not read is not gathered again; what nothing reads is not gathered.
zero.mesh @dp {size = 2 : i64}
zero.bucket @h on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}
zero.bucket @u on @dp {block = "u", element = f32, elements = 128 : i64, slots = [#zero.slot<"u", offset = 0, shape = [8]>]}
// DEAD-LABEL: func.func @micro
// DEAD-NOT: unrealized_conversion_cast
// DEAD: zero.all_gather_start %{{.*}} : !zero.shard<@h>
// DEAD-NOT: zero.all_gather_start
// DEAD: return
func.func @micro(%x: tensor<4x8xf32>, %hs: !zero.shard<@h> {nn.role = #nn.role<parameter "h">}, %us: !zero.shard<@u> {nn.role = #nn.role<parameter "u">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  %hf = builtin.unrealized_conversion_cast %hs : !zero.shard<@h> to !zero.full<@h>
  %uf = builtin.unrealized_conversion_cast %us : !zero.shard<@u> to !zero.full<@u>
  %w = zero.view %hf["w"] : !zero.full<@h> -> tensor<8x8xf32>
  %t = nn.transpose %w [1, 0] : tensor<8x8xf32> to tensor<8x8xf32>
  %0 = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %s = nn.reduce sum %0 axes [0, 1] : tensor<4x8xf32> to tensor<f32>
  return %s : tensor<f32>
}
func.func @update() {
  return
}

//--- chains.mlir
// CSE has merged the transposes of both passes; each gather gets its own again. A join of two buckets is of both.
zero.mesh @dp {size = 2 : i64}
zero.bucket @g on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}
zero.bucket @h on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"v", offset = 0, shape = [8, 8]>]}
// CHAINS-LABEL: func.func @micro
// CHAINS-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@g>
// CHAINS-NEXT: %[[G0:.*]] = zero.wait
// CHAINS-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@h>
// CHAINS-NEXT: %[[H0:.*]] = zero.wait
// CHAINS-NEXT: %[[W0:.*]] = zero.view %[[G0]]["w"]
// CHAINS-NEXT: %[[T0:.*]] = nn.transpose %[[W0]]
// CHAINS-NEXT: %[[V0:.*]] = zero.view %[[H0]]["v"]
// CHAINS-NEXT: %[[J0:.*]] = nn.concat %[[T0]], %[[V0]]
// CHAINS-NEXT: %[[Y:.*]] = nn.matmul %{{.*}}, %[[J0]] :
// CHAINS-NEXT: nn.reduce
// CHAINS-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@g>
// CHAINS-NEXT: %[[G1:.*]] = zero.wait
// CHAINS-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@h>
// CHAINS-NEXT: %[[H1:.*]] = zero.wait
// CHAINS-NEXT: %[[W1:.*]] = zero.view %[[G1]]["w"]
// CHAINS-NEXT: %[[T1:.*]] = nn.transpose %[[W1]]
// CHAINS-NEXT: %[[V1:.*]] = zero.view %[[H1]]["v"]
// CHAINS-NEXT: %[[J1:.*]] = nn.concat %[[T1]], %[[V1]]
// CHAINS-NEXT: nn.matmul %[[Y]], %[[J1]] transpose_rhs
// CHAINS-NEXT: return
func.func @micro(%x: tensor<4x8xf32>, %gs: !zero.shard<@g> {nn.role = #nn.role<parameter "g">}, %hs: !zero.shard<@h> {nn.role = #nn.role<parameter "h">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<4x8xf32>) {
  %gf = builtin.unrealized_conversion_cast %gs : !zero.shard<@g> to !zero.full<@g>
  %hf = builtin.unrealized_conversion_cast %hs : !zero.shard<@h> to !zero.full<@h>
  %w = zero.view %gf["w"] : !zero.full<@g> -> tensor<8x8xf32>
  %v = zero.view %hf["v"] : !zero.full<@h> -> tensor<8x8xf32>
  %t = nn.transpose %w [1, 0] : tensor<8x8xf32> to tensor<8x8xf32>
  %j = nn.concat %t, %v axis 1 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x16xf32>
  %0 = nn.matmul %x, %j : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s = nn.reduce sum %0 axes [0, 1] : tensor<4x16xf32> to tensor<f32>
  %1 = nn.matmul %0, %j transpose_rhs : tensor<4x16xf32>, tensor<8x16xf32> -> tensor<4x8xf32>
  return %s, %1 : tensor<f32>, tensor<4x8xf32>
}
func.func @update() {
  return
}

//--- stage1.mlir
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// S1-LABEL: func.func @micro
// S1-ONCE-NOT:   zero.accumulate
// S1-ONCE-SAME:  -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">, zero.whole_buffer}, tensor<f32>
// S1-STEP-SAME:  %[[ACC:[a-z0-9]+]]: !zero.partial<@b0> {nn.role = #nn.role<gradient "b0">}, %[[LACC:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<loss_sum "">}) -> (!zero.partial<@b0> {nn.role = #nn.role<gradient "b0">}, tensor<f32>
// S1-MICRO-SAME: %[[ACC:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %[[LACC:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<loss_sum "">}) -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">, zero.whole_buffer}, tensor<f32>
// S1:            %[[P:.*]] = zero.pack @b0
// S1-ONCE-NEXT:  %[[F:.*]] = zero.reduce_scatter_start %[[P]]
// S1-ONCE-NEXT:  zero.wait %[[F]]
// S1-STEP-NEXT:  %[[A:.*]] = zero.accumulate %[[ACC]], %[[P]] : !zero.partial<@b0>
// S1-STEP:       %[[LS:.*]] = zero.accumulate %[[LACC]], %{{.*}} : tensor<f32>
// S1-STEP-NEXT:  return %[[A]], %[[LS]]
// S1-MICRO-NEXT: %[[F:.*]] = zero.reduce_scatter_start %[[P]]
// S1-MICRO-NEXT: %[[G:.*]] = zero.wait %[[F]]
// S1-MICRO-NEXT: %[[A:.*]] = zero.accumulate %[[ACC]], %[[G]] : !zero.shard<@b0>
func.func @micro(%w: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">})
    -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">, zero.whole_buffer}, tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  %0 = zero.view %w["w"] : !zero.full<@b0> -> tensor<8xf32>
  %1 = nn.neg %0 : tensor<8xf32>
  %2 = nn.reduce sum %1 axes [0] : tensor<8xf32> to tensor<f32>
  %p = zero.pack @b0(%1) : (tensor<8xf32>) -> !zero.partial<@b0>
  %r = builtin.unrealized_conversion_cast %p : !zero.partial<@b0> to !zero.shard<@b0>
  return %r, %2 : !zero.shard<@b0>, tensor<f32>
}
// S1-LABEL: func.func @update
// S1-ONCE-SAME:  %[[G:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}
// S1-ONCE-NEXT:  zero.shard_of
// S1-MICRO-SAME: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}
// S1-MICRO-NEXT: zero.shard_of
// S1-STEP-SAME:  %[[G:[a-z0-9]+]]: !zero.partial<@b0> {nn.role = #nn.role<gradient "b0">}
// S1-STEP-NEXT:  %[[F:.*]] = zero.reduce_scatter_start %[[G]]
// S1-STEP-NEXT:  %[[R:.*]] = zero.wait %[[F]]
// S1-STEP-NEXT:  zero.shard_of
// The new parameters are gathered at the end; zero-prefetch-gathers moves that up.
// S1:      %[[U:.*]] = zero.update
// S1:      }
// S1-NEXT: nn.neg
// S1-NEXT: %[[F1:.*]] = zero.all_gather_start %[[U]] : !zero.shard<@b0>
// S1-NEXT: %[[N:.*]] = zero.wait %[[F1]]
// S1-NEXT: return %[[N]]
func.func @update(%w: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
                  %lr: tensor<f32>) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, tensor<f32>) {
  %s = zero.shard_of %w : !zero.full<@b0> -> !zero.shard<@b0>
  %u = zero.update @b0(%s, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %le: tensor<f32>):
    %0 = nn.sub %pe, %ge : tensor<f32>
    zero.yield %0 : tensor<f32>
  }
  %x = nn.neg %lr : tensor<f32>
  %f = builtin.unrealized_conversion_cast %u : !zero.shard<@b0> to !zero.full<@b0>
  return %f, %x : !zero.full<@b0>, tensor<f32>
}

//--- stage0.mlir
// Whole gradients: an all-reduce, and their sum of squares is complete on every rank. One rank: an alias, no sum at all.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// S0-LABEL: func.func @micro
// S0: %[[P:.*]] = zero.pack
// S0-NEXT: %[[F:.*]] = zero.all_reduce_start %[[P]] : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
// S0-NEXT: %[[R:.*]] = zero.wait %[[F]]
// S0-NEXT: return %[[R]]
// S0-STEP-LABEL: func.func @micro
// S0-STEP: zero.pack
// S0-STEP-NEXT: zero.accumulate {{.*}} : !zero.partial<@b0>
// ONE-LABEL: func.func @micro
// ONE-SAME: %[[ACC:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">}
// ONE: %[[P:.*]] = zero.pack
// ONE-NEXT: %[[A:.*]] = zero.alias %[[P]] : !zero.partial<@b0> to !zero.full<@b0>
// ONE-NEXT: zero.accumulate %[[ACC]], %[[A]] : !zero.full<@b0>
func.func @micro(%w: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) -> (!zero.full<@b0> {nn.role = #nn.role<gradient "b0">}) {
  %0 = zero.view %w["w"] : !zero.full<@b0> -> tensor<8xf32>
  %1 = nn.neg %0 : tensor<8xf32>
  %p = zero.pack @b0(%1) : (tensor<8xf32>) -> !zero.partial<@b0>
  %r = builtin.unrealized_conversion_cast %p : !zero.partial<@b0> to !zero.full<@b0>
  return %r : !zero.full<@b0>
}
// S0-LABEL: func.func @update
// S0-NEXT: zero.control_sum %{{.*}} on @dp : tensor<f32>
// S0-NEXT: nn.neg
// S0-NEXT: zero.sum_squares
// S0-NEXT: return
// S0-STEP-LABEL: func.func @update
// S0-STEP-SAME: %[[G:[a-z0-9]+]]: !zero.partial<@b0>
// S0-STEP-NEXT: %[[F:.*]] = zero.all_reduce_start %[[G]]
// S0-STEP-NEXT: %[[R:.*]] = zero.wait %[[F]]
// S0-STEP: zero.sum_squares %[[R]]
// ONE-LABEL: func.func @update
// ONE-NEXT: nn.neg
// ONE-NEXT: zero.sum_squares
// ONE-NEXT: return
func.func @update(%g: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">}, %l: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<24xi64>, tensor<f32>) {
  %0 = nn.neg %l : tensor<f32>
  %1 = zero.sum_squares %g : !zero.full<@b0> -> tensor<24xi64>
  return %1, %0 : tensor<24xi64>, tensor<f32>
}

//--- refuses.mlir
zero.mesh @dp {size = 2 : i64}
func.func @micro() {
  return
}
func.func @update(%c: tensor<i64>) -> tensor<i64> {
  // expected-error @below {{is there already; zero-insert-collectives runs once}}
  %0 = zero.control_sum %c on @dp : tensor<i64>
  return %0 : tensor<i64>
}

// -----

zero.mesh @dp {size = 2 : i64}
// expected-error @below {{parameter 'w' is a tensor, not a bucket; run zero-partition-state first}}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}) {
  return
}
func.func @update() {
  return
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%p: !zero.partial<@b0>) -> !zero.shard<@b0> {
  // expected-error @below {{takes contributions that are no zero.pack; zero-partition-state packs gradients}}
  %0 = builtin.unrealized_conversion_cast %p : !zero.partial<@b0> to !zero.shard<@b0>
  return %0 : !zero.shard<@b0>
}
func.func @update() {
  return
}

//--- predict.mlir
// Nothing is trained: nothing is laid out, shared or gathered.
// PREDICT: zero.mesh @dp {size = 2 : i64}
// PREDICT-NOT: zero.
// PREDICT-LABEL: func.func @predict
// PREDICT-NOT: zero.
zero.mesh @dp {size = 2 : i64}
func.func @predict(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}, %w: tensor<4xf32> {nn.role = #nn.role<frozen "w">, nn.data = dense<1.0> : tensor<4xf32>})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.add %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- predict-too.mlir
// @predict has no backward pass: one gather for the run of reads, and no gather is said to be dead.
// TOO:       zero.bucket @h
// TOO-NOT:   dead_gathers
// TOO-LABEL: func.func @predict
// TOO:       zero.all_gather_start
// TOO-NOT:   zero.all_gather_start
// TOO:       return
func.func @predict(%x: tensor<4x8xf32> {nn.role = #nn.role<input "x">}, %hs: !zero.shard<@h> {nn.role = #nn.role<parameter "h">})
    -> (tensor<4x8xf32> {nn.batched, nn.role = #nn.role<output "y">}, tensor<8x8xf32> {nn.role = #nn.role<output "w">}) {
  %hf = builtin.unrealized_conversion_cast %hs : !zero.shard<@h> to !zero.full<@h>
  %w = zero.view %hf["w"] : !zero.full<@h> -> tensor<8x8xf32>
  %0 = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = nn.matmul %0, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %1, %w : tensor<4x8xf32>, tensor<8x8xf32>
}

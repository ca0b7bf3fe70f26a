// Shards of a bucket have one type, whatever state they are of: zero-verify-schedule knows which state each is, and what
// scalars are made of. The program below is right (two buckets, two micro-batches a step, stage 3 but for the new
// parameters of @b1, which are gathered as at stage 1); each line exchanges something in it.
// RUN: zero-opt %s --zero-verify-schedule -o /dev/null
// RUN: sed 's/b0(%w0, %g0, %m0, %v0 /b0(%w0, %g0, %v0, %m0 /; s/%n0#1, %n0#2, /%n0#2, %n0#1, /' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=SWAPPED
// RUN: sed 's/b0(%w0, %g0, %m0, %v0 /b0(%m0, %g0, %w0, %v0 /; s/%n0#0, %n0#1, /%n0#1, %n0#0, /' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/%n0#0, %n0#1, /%n0#1, %n0#0, /' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=RETURN
// RUN: sed 's/zero.yield %np, %nm, %nv/zero.yield %nm, %np, %nv/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=YIELD
// RUN: sed 's/^  %own = /  %gm = zero.all_gather_start %m1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>\n  %bm = zero.wait %gm : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>\n  zero.release %bm : !zero.full<@b1>\n&/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=GATHER
// RUN: sed 's/^  %a1 = /  %gm = zero.all_gather_start %acc1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>\n  %bm = zero.wait %gm : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>\n  zero.release %bm : !zero.full<@b1>\n&/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=GATHER-SUM
// RUN: sed 's/squares %g0, %g1 : !zero.shard<@b0>, !zero.shard<@b1>/squares %g0 : !zero.shard<@b0>/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=MISSED
// RUN: sed 's/^  %whole = /  %again = zero.sum_squares %g1 : !zero.shard<@b1> -> tensor<24xi64>\n&/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: sed 's/lr %rate correction %c1, %c2/lr %c1 correction %rate, %c2/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: sed 's/scalars(%f#2, %lr/scalars(%lr, %lr/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: sed 's/scalars(%f#2, %lr, %k1/scalars(%f#0, %lr, %k1/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=PRINTED
// RUN: sed 's/scalars(%f#2, %lr, %k1/scalars(%f#2, %f#1, %k1/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=PRINTED-RATE
// RUN: sed 's/scalars(%f#2, %lr, %k1/scalars(%f#2, %f#2, %k1/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: sed 's/nn.yield %norm1, %mean, %factor/nn.yield %norm1, %norm1, %factor/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: sed 's/nn.yield %norm1, %mean, %factor/nn.yield %mean, %mean, %factor/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=NORM
// RUN: sed 's/return %losses, %labels, %a0, %a1/return %losses, %labels, %r0, %a1/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: sed 's/return %losses, %labels, %a0, %a1/return %losses, %labels, %acc0, %a1/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: sed 's/accumulate %acc0, %r0/accumulate %r0, %r0/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: sed 's/accumulate %acc0, %r0/accumulate %acc0, %acc0/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: sed 's/return %losses,/return %loss,/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=LAST-LOSS
// RUN: sed 's/return %losses, %labels,/return %losses, %count,/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=LAST-COUNT
// RUN: sed 's/, %acc1: .*) -> (tensor/) -> (tensor/; /^  %a1 = /d; s/%a0, %a1 :/%a0, %r1 :/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed 's/, !zero.shard<@b1> {nn.role = #nn.role<momentum "b1">}, tensor<f32> {nn.role = #nn.role<loss "">}/, tensor<f32> {nn.role = #nn.role<loss "">}/; s/%new, %n1#1, %f#1/%new, %f#1/; s/!zero.full<@b1>, !zero.shard<@b1>, tensor<f32>, tensor<f32>$/!zero.full<@b1>, tensor<f32>, tensor<f32>/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/world_size = 2/world_size = 4/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=RANKS

// SWAPPED: error: 'zero.update' op of bucket @b0 takes the exp_avg_sq 'b0' as its exp_avg; zero-partition-state gives each state its place
// SWAPPED: note: it comes from here
// OTHER: error: 'zero.update' op of bucket @b0 takes the exp_avg 'b0' as its parameter
// RETURN: error: 'func.return' op gives the new exp_avg 'b0' as the parameter 'b0'; zero-partition-state returns each state as itself
// RETURN: note: it comes from here
// YIELD: error: 'func.return' op gives the exp_avg 'b0' as the parameter 'b0'; zero-partition-state returns each state as what it is
// GATHER: error: 'zero.all_gather_start' op gathers the momentum 'b1' where parameters are gathered; zero-insert-collectives gathers parameters
// GATHER: note: it comes from here
// GATHER-SUM: error: 'zero.all_gather_start' op gathers the gradient 'b1' where parameters are gathered; zero-insert-collectives gathers parameters
// MISSED: error: 'zero.sum_squares' op leaves the gradients of bucket @b1 out; zero-partition-state counts all
// MISSED: note: they are here
// AGAIN: error: 'zero.sum_squares' op counts the gradients of bucket @b1 a second time; zero-partition-state counts them once
// AGAIN: note: the first time is here
// RATE: error: 'zero.update' op of bucket @b0 takes the bias_correction1 as its learning_rate; zero-partition-state gives each state its place
// SCALE: error: 'zero.update' op of bucket @b0 scales its gradient by what does not depend on the label_count; nn-append-optimizer divides by it
// SCALE: note: the label_count is here
// PRINTED: error: 'zero.update' op of bucket @b0 takes the grad_norm as its gradient's scale; zero-partition-state gives each its place
// PRINTED: note: it comes from here
// PRINTED-RATE: error: 'zero.update' op of bucket @b0 takes the loss as its learning_rate; zero-partition-state gives each its place
// MADE: error: 'zero.update' op of bucket @b0 takes as its learning_rate what does not depend on the learning_rate; zero-partition-state gives each its place
// MADE: note: the learning_rate is here
// LOSS: error: 'func.return' op gives as the loss what does not depend on the loss_sum of the micro-batches; nn-append-optimizer makes it of that
// LOSS: note: the loss_sum is here
// NORM: error: 'func.return' op gives as the grad_norm what does not depend on the sum of squares; zero-partition-state makes it of that
// NORM: note: the sum of squares is here
// LAST: error: 'func.return' op gives as the gradient 'b0' what is not its accumulator and this micro-batch's, added once; zero-insert-collectives adds them up
// LAST: note: the accumulator is here
// LAST-LOSS: error: 'func.return' op gives as the loss_sum what is not its accumulator
// LAST-COUNT: error: 'func.return' op gives as the label_count what is not its accumulator
// ALONE: error: 'func.return' op gives the gradient 'b1' of one micro-batch alone, but a step has 2; zero-insert-collectives adds them up
// ALONE: note: it comes from here
// KEPT: error: @update takes momentum 'b1' and gives none for the next step; zero-partition-state returns each state
// RANKS: error: 'zero.mesh' op has 2 ranks, but the module was partitioned for world_size 4

module attributes {zero.config = {gradient_accumulation_steps = 2 : i64, world_size = 2 : i64}} {
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"v", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}, %y: tensor<8xi64> {nn.role = #nn.role<label "y">}, %lacc: tensor<f32> {nn.role = #nn.role<loss_sum "">}, %cacc: tensor<i64> {nn.role = #nn.role<label_count "">}, %acc0: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %acc1: !zero.shard<@b1> {nn.role = #nn.role<gradient "b1">}) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, !zero.shard<@b1> {nn.role = #nn.role<gradient "b1">}) {
  %loss = nn.reduce sum %x axes [0] : tensor<8xf32> to tensor<f32>
  %losses = zero.accumulate %lacc, %loss : tensor<f32>
  %count = nn.reduce sum %y axes [0] : tensor<8xi64> to tensor<i64>
  %labels = zero.accumulate %cacc, %count : tensor<i64>
  %s0 = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  %f0 = zero.reduce_scatter_start %s0 : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %r0 = zero.wait %f0 : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  %a0 = zero.accumulate %acc0, %r0 : !zero.shard<@b0>
  %s1 = zero.pack @b1(%x) : (tensor<8xf32>) -> !zero.partial<@b1>
  %f1 = zero.reduce_scatter_start %s1 : !zero.partial<@b1> -> !zero.future<!zero.shard<@b1>>
  %r1 = zero.wait %f1 : !zero.future<!zero.shard<@b1>> -> !zero.shard<@b1>
  %a1 = zero.accumulate %acc1, %r1 : !zero.shard<@b1>
  return %losses, %labels, %a0, %a1 : tensor<f32>, tensor<i64>, !zero.shard<@b0>, !zero.shard<@b1>
}
func.func @update(%w0: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %w1: !zero.full<@b1> {nn.role = #nn.role<parameter "b1">}, %g0: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %g1: !zero.shard<@b1> {nn.role = #nn.role<gradient "b1">}, %m0: !zero.shard<@b0> {nn.role = #nn.role<exp_avg "b0">}, %v0: !zero.shard<@b0> {nn.role = #nn.role<exp_avg_sq "b0">}, %m1: !zero.shard<@b1> {nn.role = #nn.role<momentum "b1">}, %ls: tensor<f32> {nn.role = #nn.role<loss_sum "">}, %lc: tensor<i64> {nn.role = #nn.role<label_count "">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %k1: tensor<f32> {nn.role = #nn.role<bias_correction1 "">}, %k2: tensor<f32> {nn.role = #nn.role<bias_correction2 "">}) -> (!zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, !zero.shard<@b0> {nn.role = #nn.role<exp_avg "b0">}, !zero.shard<@b0> {nn.role = #nn.role<exp_avg_sq "b0">}, !zero.full<@b1> {nn.role = #nn.role<parameter "b1">}, !zero.shard<@b1> {nn.role = #nn.role<momentum "b1">}, tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}) {
  %squares = zero.sum_squares %g0, %g1 : !zero.shard<@b0>, !zero.shard<@b1> -> tensor<24xi64>
  %whole = zero.control_sum %squares on @dp : tensor<24xi64>
  %norm = zero.norm %whole : tensor<24xi64> -> tensor<f32>
  %sum = zero.control_sum %ls on @dp : tensor<f32>
  %all = zero.control_sum %lc on @dp : tensor<i64>
  %f:3 = nn.group(%g_norm = %norm : tensor<f32>, %g_sum = %sum : tensor<f32>, %g_all = %all : tensor<i64>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %labels = nn.cast %g_all : tensor<i64> to tensor<f32>
    %mean = nn.div %g_sum, %labels : tensor<f32>
    %norm1 = nn.div %g_norm, %labels : tensor<f32>
    %factor = nn.div %norm1, %labels : tensor<f32>
    nn.yield %norm1, %mean, %factor : tensor<f32>, tensor<f32>, tensor<f32>
  }
  %n0:3 = zero.update @b0(%w0, %g0, %m0, %v0 : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0>) scalars(%f#2, %lr, %k1, %k2 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %m: tensor<f32>, %v: tensor<f32>, %scale: tensor<f32>, %rate: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>):
    %np, %nm, %nv = nn.adam %w, %dw, %m, %v scale %scale lr %rate correction %c1, %c2 {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %np, %nm, %nv : tensor<f32>, tensor<f32>, tensor<f32>
  }
  %own = zero.shard_of %w1 : !zero.full<@b1> -> !zero.shard<@b1>
  %n1:2 = zero.update @b1(%own, %g1, %m1 : !zero.shard<@b1>, !zero.shard<@b1>, !zero.shard<@b1>) scalars(%f#2, %lr : tensor<f32>, tensor<f32>) -> !zero.shard<@b1>, !zero.shard<@b1> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %m: tensor<f32>, %scale: tensor<f32>, %rate: tensor<f32>):
    %np, %nm = nn.sgd %w, %dw momentum %m scale %scale lr %rate {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>, tensor<f32> -> tensor<f32>
    zero.yield %np, %nm : tensor<f32>, tensor<f32>
  }
  %g = zero.all_gather_start %n1#0 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %new = zero.wait %g : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  return %n0#0, %n0#1, %n0#2, %new, %n1#1, %f#1, %f#0 : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0>, !zero.full<@b1>, !zero.shard<@b1>, tensor<f32>, tensor<f32>
}
}

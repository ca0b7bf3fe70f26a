// Masters and moments of one bucket have one type, and so have the numbers of the loss scale: zero-verify-schedule knows which is
// which. The program below is right (bf16 parameters, stage 1, float16's loss scale); each line exchanges something in it.
// RUN: zero-opt %s --zero-verify-schedule -o /dev/null
// RUN: sed 's/g0, %w0, %m0, %v0 :/g0, %m0, %w0, %v0 :/; s/%n0#1, %n0#2, %n0#3/%n0#2, %n0#1, %n0#3/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=SWAPPED
// RUN: sed 's/%n0#1, %n0#2, %n0#3/%n0#2, %n0#1, %n0#3/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=RETURN
// RUN: sed 's/zero.yield %np, %nw, %nm/zero.yield %np, %nm, %nw/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=YIELD
// RUN: sed 's/^  %own = /  %gw = zero.all_gather_start %w0 : !zero.shard<@b0, f32> -> !zero.future<!zero.full<@b0, f32>>\n  %bw = zero.wait %gw : !zero.future<!zero.full<@b0, f32>> -> !zero.full<@b0, f32>\n  zero.release %bw : !zero.full<@b0, f32>\n&/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=GATHER
// RUN: sed 's/%factor = nn.div %mean, %g_scale/%factor = nn.div %mean, %labels/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: sed 's/%norm1 = nn.div %g_norm, %g_scale/%norm1 = nn.div %g_norm, %labels/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=NORM
// RUN: sed 's/nn.yield %norm1, %mean, %factor, %half/nn.yield %norm1, %mean, %factor, %mean/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: sed 's/%f#3, %wsteps, %hyst/%f#3, %hyst, %wsteps/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=NUMBERS
// RUN: sed 's/%%sum = zero.control_sum %ls on @dp : tensor<f32>/%%sum = nn.mul %ls, %%scale : tensor<f32>/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: sed 's/reduce_scatter_start %c0 : !zero.partial<@b0, f32>/reduce_scatter_start %%s0 : !zero.partial<@b0>/; /%c0 = /d; s/start %%s0 : \(.*\) -> .*/start %%s0 : \1 -> !zero.future<!zero.shard<@b0, f32>>/; s/%r0 = zero.wait .*/%r0 = zero.wait %f0 : !zero.future<!zero.shard<@b0, f32>> -> !zero.shard<@b0, f32>/; s/return %loss, %count, %r0 : \(.*\), !zero.shard<@b0>/return %loss, %count, %r0 : \1, !zero.shard<@b0, f32>/; s/!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {/!zero.shard<@b0, f32> {nn.role = #nn.role<gradient "b0">}) {/' %s > %t && not zero-opt %t --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=TYPE

// SWAPPED: error: 'zero.update' op of bucket @b0 takes the master 'b0' as its exp_avg; zero-partition-state gives each state its place
// SWAPPED: note: it comes from here
// RETURN: error: 'func.return' op gives the new exp_avg 'b0' as the master 'b0'; zero-partition-state returns each state as itself
// RETURN: note: it comes from here
// YIELD: error: 'func.return' op gives the exp_avg 'b0' as the master 'b0'; zero-partition-state returns each state as what it is
// GATHER: error: 'zero.all_gather_start' op gathers the master 'b0' where parameters are gathered; zero-insert-collectives gathers parameters
// GATHER: note: it comes from here
// SCALE: error: 'zero.update' op of bucket @b0 scales its gradient by what does not depend on the loss_scale; nn-append-optimizer divides by it
// SCALE: note: the loss_scale is here
// NORM: error: 'func.return' op gives as the grad_norm what does not depend on the loss_scale; nn-append-optimizer divides by it
// NORM: note: the loss_scale is here
// SAME: error: 'func.return' op gives as the loss_scale of the next step what does not depend on that of this one; nn-append-optimizer makes it of that
// SAME: note: the loss_scale is here
// NUMBERS: error: 'func.return' op gives as the scale_window_steps of the next step what does not depend on that of this one
// NUMBERS: note: the scale_window_steps is here
// RANK: error: {{.*}}this rank's part of a sum over the ranks
// TYPE: error: gradient 'b0' is '!zero.shard<@b0>' as an argument of @update, but '!zero.shard<@b0, f32>' elsewhere; zero-partition-state gives a state one type

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xbf16> {nn.role = #nn.role<input "x">}, %y: tensor<8xi64> {nn.role = #nn.role<label "y">}, %scale: tensor<f32> {nn.data = 1024.0 : f64, nn.role = #nn.role<loss_scale "">}) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
  %wide = nn.cast %x : tensor<8xbf16> to tensor<8xf32>
  %loss = nn.reduce sum %wide axes [0] : tensor<8xf32> to tensor<f32>
  %count = nn.reduce sum %y axes [0] : tensor<8xi64> to tensor<i64>
  %s = nn.broadcast %scale dims [] : tensor<f32> to tensor<8xf32>
  %dw = nn.mul %wide, %s : tensor<8xf32>
  %d = nn.cast %dw : tensor<8xf32> to tensor<8xbf16>
  %s0 = zero.pack @b0(%d) : (tensor<8xbf16>) -> !zero.partial<@b0>
  %c0 = zero.convert %s0 : !zero.partial<@b0> to !zero.partial<@b0, f32>
  %f0 = zero.reduce_scatter_start %c0 : !zero.partial<@b0, f32> -> !zero.future<!zero.shard<@b0>>
  %r0 = zero.wait %f0 : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  return %loss, %count, %r0 : tensor<f32>, tensor<i64>, !zero.shard<@b0>
}
func.func @update(%p0: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g0: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %w0: !zero.shard<@b0, f32> {nn.role = #nn.role<master "b0">}, %m0: !zero.shard<@b0, f32> {nn.role = #nn.role<exp_avg "b0">}, %v0: !zero.shard<@b0, f32> {nn.role = #nn.role<exp_avg_sq "b0">}, %ls: tensor<f32> {nn.role = #nn.role<loss_sum "">}, %lc: tensor<i64> {nn.role = #nn.role<label_count "">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %k1: tensor<f32> {nn.role = #nn.role<bias_correction1 "">}, %k2: tensor<f32> {nn.role = #nn.role<bias_correction2 "">}, %scale: tensor<f32> {nn.data = 1024.0 : f64, nn.role = #nn.role<loss_scale "">}, %window: tensor<i64> {nn.data = 0 : i64, nn.role = #nn.role<scale_window_steps "">}, %hysteresis: tensor<i64> {nn.data = 2 : i64, nn.role = #nn.role<scale_hysteresis "">}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, !zero.shard<@b0, f32> {nn.role = #nn.role<master "b0">}, !zero.shard<@b0, f32> {nn.role = #nn.role<exp_avg "b0">}, !zero.shard<@b0, f32> {nn.role = #nn.role<exp_avg_sq "b0">}, tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<loss_scale "">}, tensor<i64> {nn.role = #nn.role<scale_window_steps "">}, tensor<i64> {nn.role = #nn.role<scale_hysteresis "">}) {
  %squares = zero.sum_squares %g0 : !zero.shard<@b0> -> tensor<24xi64>
  %whole = zero.control_sum %squares on @dp : tensor<24xi64>
  %norm = zero.norm %whole : tensor<24xi64> -> tensor<f32>
  %sum = zero.control_sum %ls on @dp : tensor<f32>
  %all = zero.control_sum %lc on @dp : tensor<i64>
  %f:4 = nn.group(%g_norm = %norm : tensor<f32>, %g_sum = %sum : tensor<f32>, %g_all = %all : tensor<i64>, %g_scale = %scale : tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
    %labels = nn.cast %g_all : tensor<i64> to tensor<f32>
    %mean = nn.div %g_sum, %labels : tensor<f32>
    %norm1 = nn.div %g_norm, %g_scale : tensor<f32>
    %factor = nn.div %mean, %g_scale : tensor<f32>
    %half = nn.add %g_scale, %mean : tensor<f32>
    nn.yield %norm1, %mean, %factor, %half : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  %wsteps = nn.add %window, %window : tensor<i64>
  %hyst = nn.add %hysteresis, %hysteresis : tensor<i64>
  %own = zero.shard_of %p0 : !zero.full<@b0> -> !zero.shard<@b0>
  %n0:4 = zero.update @b0(%own, %g0, %w0, %m0, %v0 : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>) scalars(%f#2, %lr, %k1, %k2 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> !zero.shard<@b0>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32> {
  ^bb0(%p: tensor<bf16>, %dw: tensor<bf16>, %w: tensor<f32>, %m: tensor<f32>, %v: tensor<f32>, %gs: tensor<f32>, %rate: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>):
    %np, %nw, %nm, %nv = nn.adam %p, %dw master %w, %m, %v scale %gs lr %rate correction %c1, %c2 {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<bf16> master tensor<f32>, tensor<f32>
    zero.yield %np, %nw, %nm, %nv : tensor<bf16>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  %g = zero.all_gather_start %n0#0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %new = zero.wait %g : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %new, %n0#1, %n0#2, %n0#3, %f#1, %f#0, %f#3, %wsteps, %hyst : !zero.full<@b0>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i64>
}

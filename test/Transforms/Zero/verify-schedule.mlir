// RUN: split-file %s %t
// RUN: zero-opt %t/cases.mlir --split-input-file --verify-diagnostics --zero-verify-schedule
// RUN: zero-opt %t/live.mlir --zero-verify-schedule=max-live-elements=256
// RUN: not zero-opt %t/live.mlir --zero-verify-schedule=max-live-elements=255 2>&1 | FileCheck %s
// RUN: not zero-opt %t/live.mlir --zero-verify-schedule=max-live-elements=127 2>&1 | FileCheck %s --check-prefix=NEED

// RUN: zero-opt %t/live.mlir --zero-verify-schedule=prefetch-elements=256
// RUN: not zero-opt %t/live.mlir --zero-verify-schedule=prefetch-elements=255 2>&1 | FileCheck %s --check-prefix=FLIGHT

// FLIGHT: error: 'zero.all_gather_start' op of bucket @b1 of block 'h.1' brings the elements in flight to 256, but prefetch-elements is 255; zero-prefetch-gathers keeps gathers back

// Each needs 128 elements, but the second is gathered early.
// CHECK: error: 'zero.all_gather_start' op of bucket @b1 of block 'h.1' brings the elements of gathered parameters alive to 256, but max-live-elements (stage3_max_live_parameters) is 255; zero-prefetch-gathers keeps gathers back
// NEED:  error: 'zero.all_gather_start' op of bucket @b0 brings the elements that block 'h.0' needs at once to 128, but max-live-elements (stage3_max_live_parameters) is 127; the smallest legal value is 128

//--- live.mlir
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"v", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>, %s1: !zero.shard<@b1>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w"] : !zero.full<@b0> -> tensor<8xf32>
  %n = nn.neg %w0 : tensor<8xf32>
  zero.release %b0 : !zero.full<@b0>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %w1 = zero.view %b1["v"] : !zero.full<@b1> -> tensor<8xf32>
  %m = nn.add %n, %w1 : tensor<8xf32>
  zero.release %b1 : !zero.full<@b1>
  return %m : tensor<8xf32>
}

//--- cases.mlir
// A program that keeps the contract; new parameters are returned and have no release.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) -> (tensor<8xf32>, !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w"] : !zero.full<@b0> -> tensor<8xf32>
  %n = nn.neg %w0 : tensor<8xf32>
  zero.release %b0 : !zero.full<@b0>
  %p = zero.pack @b0(%n) : (tensor<8xf32>) -> !zero.partial<@b0>
  %r = zero.reduce_scatter_start %p : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %g = zero.wait %r : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  return %n, %g : tensor<8xf32>, !zero.shard<@b0>
}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) -> !zero.full<@b0> {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %b0 : !zero.full<@b0>
}

// -----

// A start without a wait.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) {
  // expected-error @below {{has no wait; zero-insert-collectives makes one, and zero-insert-release erases what is not used}}
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  return
}

// -----

// Two waits.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) -> (!zero.full<@b0>, !zero.full<@b0>) {
  // expected-error @below {{has more than one wait; zero-insert-collectives makes one}}
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  // expected-note @below {{a wait is here}}
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  // expected-note @below {{a wait is here}}
  %b1 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %b0, %b1 : !zero.full<@b0>, !zero.full<@b0>
}

// -----

// A future leaves the function.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) -> !zero.future<!zero.full<@b0>> {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  // expected-error @below {{takes a future, which only zero.wait may; zero-insert-collectives waits}}
  return %f0 : !zero.future<!zero.full<@b0>>
}

// -----

// A wait for nothing.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%f0: !zero.future<!zero.full<@b0>>) -> !zero.full<@b0> {
  // expected-error @below {{waits for what no collective of this function started; zero-insert-collectives makes both}}
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %b0 : !zero.full<@b0>
}

// -----

// No release.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  // expected-error @below {{of bucket @b0 of block 'h.0' has no release; run zero-insert-release last}}
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w"] : !zero.full<@b0> -> tensor<8xf32>
  %n = nn.neg %w0 : tensor<8xf32>
  return %n : tensor<8xf32>
}

// -----

// A use after the release.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w"] : !zero.full<@b0> -> tensor<8xf32>
  // expected-note @below {{it is released here}}
  zero.release %b0 : !zero.full<@b0>
  // expected-error @below {{reads bucket @b0 of block 'h.0' after its release; zero-insert-release puts it behind the last use}}
  %n = nn.neg %w0 : tensor<8xf32>
  return %n : tensor<8xf32>
}

// -----

// What is computed from the bucket alone may be a way to read it.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w"] : !zero.full<@b0> -> tensor<8xf32>
  %c = nn.reshape %w0 : tensor<8xf32> to tensor<2x4xf32>
  // expected-note @below {{it is released here}}
  zero.release %b0 : !zero.full<@b0>
  // expected-error @below {{reads bucket @b0 of block 'h.0' after its release; zero-insert-release puts it behind the last use}}
  %n = nn.neg %c : tensor<2x4xf32>
  %m = nn.reshape %n : tensor<2x4xf32> to tensor<8xf32>
  return %m : tensor<8xf32>
}

// -----

// Released twice.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) -> tensor<8xf32> {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w0 = zero.view %b0["w"] : !zero.full<@b0> -> tensor<8xf32>
  %n = nn.neg %w0 : tensor<8xf32>
  // expected-note @below {{it was released here}}
  zero.release %b0 : !zero.full<@b0>
  // expected-error @below {{gives a bucket back that was given back before; zero-insert-release does it once}}
  zero.release %b0 : !zero.full<@b0>
  return %n : tensor<8xf32>
}

// -----

// Released, but a state.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%b0: !zero.full<@b0>) {
  // expected-error @below {{gives a bucket back that was not gathered; zero-insert-release does not}}
  zero.release %b0 : !zero.full<@b0>
  return
}

// -----

// Released, but returned.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @update(%s: !zero.shard<@b0>) -> !zero.full<@b0> {
  %f0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  // expected-error @below {{gives bucket @b0 of block 'h.0' back, but the function returns it or what is computed from it alone; zero-insert-release keeps it, zero-insert-collectives clones chains}}
  zero.release %b0 : !zero.full<@b0>
  return %b0 : !zero.full<@b0>
}

// -----

// A cast is left.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) -> !zero.full<@b0> {
  // expected-error @below {{is left of '!zero.shard<@b0>'; zero-insert-collectives turns each change of hands into a collective}}
  %b0 = builtin.unrealized_conversion_cast %s : !zero.shard<@b0> to !zero.full<@b0>
  return %b0 : !zero.full<@b0>
}

// -----

// An unknown bucket.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b7>) {
  // expected-error @below {{gives '!zero.future<!zero.full<@b7>>', but there is no such bucket; zero-assign-buckets makes all}}
  %f0 = zero.all_gather_start %s : !zero.shard<@b7> -> !zero.future<!zero.full<@b7>>
  return
}

// -----

// Gradients that are never reduced.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32>) -> !zero.partial<@b0> {
  // expected-error @below {{has gradients of bucket @b0 that are never reduced; zero-insert-collectives reduces them}}
  %p0 = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  return %p0 : !zero.partial<@b0>
}

// -----

// Gradients that are reduced twice, in both functions.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32>) -> !zero.shard<@b0> {
  %p0 = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  // expected-note @below {{the first time is here}}
  %r0 = zero.reduce_scatter_start %p0 : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %g0 = zero.wait %r0 : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  return %g0 : !zero.shard<@b0>
}
func.func @update(%p1: !zero.partial<@b0>) -> !zero.shard<@b0> {
  // expected-error @below {{reduces the gradients of bucket @b0 a second time; zero-insert-collectives reduces them once}}
  %r1 = zero.reduce_scatter_start %p1 : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %g1 = zero.wait %r1 : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  return %g1 : !zero.shard<@b0>
}

// -----

// Gradients that are packed twice.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32>) -> (!zero.partial<@b0>, !zero.partial<@b0>) {
  // expected-note @below {{the first time is here}}
  %p0 = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  // expected-error @below {{packs the gradients of bucket @b0 a second time; zero-partition-state packs them once}}
  %p1 = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  return %p0, %p1 : !zero.partial<@b0>, !zero.partial<@b0>
}

// -----

// A state of two types.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32>) -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
  %p0 = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  %r0 = zero.reduce_scatter_start %p0 : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %g0 = zero.wait %r0 : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  return %g0 : !zero.shard<@b0>
}
// expected-error @below {{gradient 'b0' is '!zero.full<@b0>' as an argument of @update, but '!zero.shard<@b0>' elsewhere; zero-partition-state gives a state one type}}
func.func @update(%g: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">}) {

  return
}

// -----

// The same in results.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-error @below {{parameter 'b0' is '!zero.full<@b0>' as a result of @update, but '!zero.shard<@b0>' elsewhere; zero-partition-state gives a state one type}}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.full<@b0>) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {

  return %g : !zero.full<@b0>
}

// -----

// Where values are: the loss and the count are parts until they are summed, shards are counted once, and every scalar of an update is the same on all ranks.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}, %acc: tensor<f32> {nn.role = #nn.role<loss_sum "">}) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
  %l = nn.reduce sum %x axes [0] : tensor<8xf32> to tensor<f32>
  %a = zero.accumulate %acc, %l : tensor<f32>
  %p = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  %r = zero.reduce_scatter_start %p : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %g = zero.wait %r : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  return %a, %g : tensor<f32>, !zero.shard<@b0>
}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %l: tensor<f32> {nn.role = #nn.role<loss_sum "">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) -> (!zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}) {
  // A linear function of parts is a part.
  %half = nn.constant dense<5.000000e-01> : tensor<f32>
  %scaled = nn.group(%a = %l : tensor<f32>, %b = %half : tensor<f32>) -> (tensor<f32>) {
    %0 = nn.mul %a, %b : tensor<f32>
    %1 = nn.neg %0 : tensor<f32>
    nn.yield %1 : tensor<f32>
  }
  %loss = zero.control_sum %scaled on @dp : tensor<f32>
  %q = zero.sum_squares %g : !zero.shard<@b0> -> tensor<24xi64>
  %t = zero.control_sum %q on @dp : tensor<24xi64>
  %n = zero.norm %t : tensor<24xi64> -> tensor<f32>
  %s1 = zero.update @b0(%s, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %rate: tensor<f32>):
    %w1 = nn.sgd %w, %dw scale %rate lr %rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %w1 : tensor<f32>
  }
  return %s1, %loss, %n : !zero.shard<@b0>, tensor<f32>, tensor<f32>
}

// -----

// A loss of one rank alone.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it comes from here}}
func.func @update(%l: tensor<f32> {nn.role = #nn.role<loss_sum "">}) -> (tensor<f32> {nn.role = #nn.role<loss "">}) {
  %two = nn.add %l, %l : tensor<f32>
  // expected-error @below {{gives this rank's part of a sum over the ranks as the loss of all ranks; zero-insert-collectives sums over the ranks}}
  return %two : tensor<f32>
}

// -----

// A norm that follows this rank's data.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it comes from here}}
func.func @update(%x: tensor<f32> {nn.role = #nn.role<input "x">}) -> (tensor<f32> {nn.role = #nn.role<grad_norm "">}) {
  // expected-error @below {{gives a value of this rank alone as the grad_norm of all ranks; zero-insert-collectives sums over the ranks}}
  return %x : tensor<f32>
}

// -----

// The root of a part is no part of the root.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @update(%g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) -> tensor<f32> {
  // expected-note @below {{the part comes from here}}
  %q = zero.sum_squares %g : !zero.shard<@b0> -> tensor<24xi64>
  // expected-error @below {{'zero.norm' op takes this rank's part of a sum over the ranks, of which it gives no part of a sum; zero-insert-collectives sums it first}}
  %n = zero.norm %q : tensor<24xi64> -> tensor<f32>
  return %n : tensor<f32>
}

// -----

// Nor is a quotient by a part, in a group.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{the part comes from here}}
func.func @update(%l: tensor<f32> {nn.role = #nn.role<loss_sum "">}, %c: tensor<f32> {nn.role = #nn.role<label_count "">}) -> tensor<f32> {
  %loss = zero.control_sum %l on @dp : tensor<f32>
  %mean = nn.group(%a = %loss : tensor<f32>, %b = %c : tensor<f32>) -> (tensor<f32>) {
    // expected-error @below {{'nn.div' op takes this rank's part of a sum over the ranks, of which it gives no part of a sum}}
    %0 = nn.div %a, %b : tensor<f32>
    nn.yield %0 : tensor<f32>
  }
  return %mean : tensor<f32>
}

// -----

// What is the same on all ranks would count once for each.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{the part comes from here}}
func.func @update(%l: tensor<f32> {nn.role = #nn.role<loss_sum "">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) -> tensor<f32> {
  // expected-error @below {{'nn.add' op takes this rank's part of a sum over the ranks, of which it gives no part of a sum}}
  %a = nn.add %l, %lr : tensor<f32>
  return %a : tensor<f32>
}

// -----

// A norm that counts every shard twice: all ranks hold the whole.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @update(%g: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">}) -> tensor<24xi64> {
  // expected-note @below {{it is a sum over the ranks since here}}
  %q = zero.sum_squares %g : !zero.full<@b0> -> tensor<24xi64>
  // expected-error @below {{sums over the ranks what is the same on all of them: it would count 2 times; zero-insert-collectives sums parts, once}}
  %t = zero.control_sum %q on @dp : tensor<24xi64>
  return %t : tensor<24xi64>
}

// -----

// The same of a step input.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it is the same on all ranks since here}}
func.func @update(%lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) -> tensor<f32> {
  // expected-error @below {{sums over the ranks what is the same on all of them: it would count 2 times; zero-insert-collectives sums parts, once}}
  %t = zero.control_sum %lr on @dp : tensor<f32>
  return %t : tensor<f32>
}

// -----

// An update by a factor that each rank has its own of.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it comes from here}}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %lr: tensor<f32> {nn.role = #nn.role<loss_sum "">}) -> !zero.shard<@b0> {
  // expected-error @below {{takes scalar #0, which is this rank's part of a sum over the ranks; zero-insert-collectives sums over the ranks first}}
  %s1 = zero.update @b0(%s, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %rate: tensor<f32>):
    %w1 = nn.sgd %w, %dw scale %rate lr %rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %w1 : tensor<f32>
  }
  return %s1 : !zero.shard<@b0>
}

// -----

// The same of a number from the data.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it comes from here}}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %lr: tensor<f32> {nn.role = #nn.role<input "x">}) -> !zero.shard<@b0> {
  // expected-error @below {{takes scalar #0, which is not the same on all ranks; zero-insert-collectives sums over the ranks first}}
  %s1 = zero.update @b0(%s, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %rate: tensor<f32>):
    %w1 = nn.sgd %w, %dw scale %rate lr %rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %w1 : tensor<f32>
  }
  return %s1 : !zero.shard<@b0>
}

// -----

// An update by what no reduction gave.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it comes from here}}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<momentum "b0">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) -> !zero.shard<@b0> {
  // expected-error @below {{applies a gradient that is no sum over the ranks; zero-insert-collectives reduces gradients first}}
  %s1 = zero.update @b0(%s, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %rate: tensor<f32>):
    %w1 = nn.sgd %w, %dw scale %rate lr %rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %w1 : tensor<f32>
  }
  return %s1 : !zero.shard<@b0>
}

// -----

// Nor does a norm count it.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it comes from here}}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) -> tensor<24xi64> {
  // expected-error @below {{counts a gradient that is no sum over the ranks; zero-insert-collectives reduces gradients first}}
  %q = zero.sum_squares %s : !zero.shard<@b0> -> tensor<24xi64>
  return %q : tensor<24xi64>
}

// -----

// A gradient that the micro-batch did not reduce.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it comes from here}}
func.func @micro(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
  // expected-error @below {{gives a value as the gradient 'b0' that is no sum over the ranks; zero-insert-collectives reduces gradients}}
  return %s : !zero.shard<@b0>
}

// -----

// Nor may it be added to those that were.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{the value comes from here}}
func.func @micro(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
  // expected-error @below {{adds a value that is not summed over the ranks to a sum over them; zero-insert-collectives reduces it first}}
  %a = zero.accumulate %g, %s : !zero.shard<@b0>
  return %a : !zero.shard<@b0>
}

// -----

// A gradient of a sum, reduced again.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}) -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
  %l = nn.reduce sum %x axes [0] : tensor<8xf32> to tensor<f32>
  // expected-note @below {{it is a sum over the ranks since here}}
  %t = zero.control_sum %l on @dp : tensor<f32>
  %b = nn.broadcast %t dims [] : tensor<f32> to tensor<8xf32>
  // expected-error @below {{takes the gradient of 'w' as this rank's part of a sum, but it is summed over the ranks already; zero-insert-collectives reduces once}}
  %p = zero.pack @b0(%b) : (tensor<8xf32>) -> !zero.partial<@b0>
  %r = zero.reduce_scatter_start %p : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %g = zero.wait %r : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  return %g : !zero.shard<@b0>
}

// -----

// A loss that @micro sums and @update would sum again, through what was so far.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<f32> {nn.role = #nn.role<input "x">}, %acc: tensor<f32> {nn.role = #nn.role<loss_sum "">}) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  // expected-note @below {{it is a sum over the ranks since here}}
  %t = zero.control_sum %x on @dp : tensor<f32>
  // expected-error @below {{takes a value as this rank's part of a sum, but it is summed over the ranks already; zero-insert-collectives reduces once}}
  %a = zero.accumulate %acc, %t : tensor<f32>
  return %a : tensor<f32>
}

// -----

// The same at once.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<f32> {nn.role = #nn.role<input "x">}) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  // expected-note @below {{it is a sum over the ranks since here}}
  %t = zero.control_sum %x on @dp : tensor<f32>
  // expected-error @below {{takes the loss_sum as this rank's part of a sum, but it is summed over the ranks already; zero-insert-collectives reduces once}}
  return %t : tensor<f32>
}

// -----

// On one rank a part is the whole.
zero.mesh @dp {size = 1 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @update(%l: tensor<f32> {nn.role = #nn.role<loss_sum "">}) -> (tensor<f32> {nn.role = #nn.role<loss "">}) {
  %e = nn.exp %l : tensor<f32>
  return %e : tensor<f32>
}

// -----

// An update that happens twice.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) -> !zero.shard<@b0> {
  // expected-note @below {{the first time is here}}
  %s1 = zero.update @b0(%s, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %rate: tensor<f32>):
    %w1 = nn.sgd %w, %dw scale %rate lr %rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %w1 : tensor<f32>
  }
  // expected-error @below {{updates bucket @b0 a second time; zero-partition-state updates it once}}
  %s2 = zero.update @b0(%s1, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %rate: tensor<f32>):
    %w1 = nn.sgd %w, %dw scale %rate lr %rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %w1 : tensor<f32>
  }
  return %s2 : !zero.shard<@b0>
}

// -----

// A gradient that nobody computes.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{@micro is here}}
func.func @micro() {
  return
}
// expected-error @below {{@update takes gradient 'b0', which @micro does not give; zero-partition-state makes both alike}}
func.func @update(%g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}) {
  return
}

// -----

// New parameters that nobody gathered: those of the last step are returned.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
// expected-note @below {{it comes from here}}
func.func @update(%p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
  %s = zero.shard_of %p : !zero.full<@b0> -> !zero.shard<@b0>
  %s1 = zero.update @b0(%s, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %rate: tensor<f32>):
    %w1 = nn.sgd %w, %dw scale %rate lr %rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %w1 : tensor<f32>
  }
  // expected-error @below {{gives the parameter 'b0' of the next step, but no zero.update of this one gave it; zero-partition-state returns what an update gives}}
  return %p : !zero.full<@b0>
}

// -----

// States that come back in each other's places.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @update(%p: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %m: !zero.shard<@b0> {nn.role = #nn.role<momentum "b0">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, !zero.shard<@b0> {nn.role = #nn.role<momentum "b0">}) {
  %s = zero.shard_of %p : !zero.full<@b0> -> !zero.shard<@b0>
  // expected-note @below {{it comes from here}}
  %new:2 = zero.update @b0(%s, %g, %m : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0>, !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %v: tensor<f32>, %rate: tensor<f32>):
    %v1 = nn.add %v, %dw : tensor<f32>
    %w1 = nn.sub %w, %v1 : tensor<f32>
    zero.yield %w1, %v1 : tensor<f32>, tensor<f32>
  }
  %f = zero.all_gather_start %new#1 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  // expected-note @below {{it comes from here}}
  %full = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  // expected-error @below {{gives the new momentum 'b0' as the parameter 'b0'; zero-partition-state returns each state as itself}}
  // expected-error @below {{gives the new parameter 'b0' as the momentum 'b0'; zero-partition-state returns each state as itself}}
  return %full, %new#0 : !zero.full<@b0>, !zero.shard<@b0>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @spelled(%s: !zero.shard<@b0, f32>) {
  // expected-error @below {{gives '!zero.full<@b0, f32>', which is '!zero.full<@b0>'; zero-partition-state says an element only where it is not the bucket's}}
  %f = zero.all_gather_start %s : !zero.shard<@b0, f32> -> !zero.future<!zero.full<@b0, f32>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0, f32>> -> !zero.full<@b0, f32>
  zero.release %b : !zero.full<@b0, f32>
  return
}

// -----

// What @micro gathers is for this step.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0>) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  // expected-error @below {{is left to the next step, but is for no parameter that @update gathers and returns alone; zero-sink-waits leaves only such}}
  %b = zero.wait %f {next_step} : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %b : !zero.full<@b0>
}

// -----

// Nor is what @update reads, nor a sum.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @update(%s: !zero.shard<@b0>) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  // expected-error @below {{is left to the next step, but is for no parameter that @update gathers and returns alone}}
  %b = zero.wait %f {next_step} : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %own = zero.shard_of %b : !zero.full<@b0> -> !zero.shard<@b0>
  return %b : !zero.full<@b0>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @update(%p: !zero.partial<@b0> {nn.role = #nn.role<gradient "b0">}) -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}) {
  %f = zero.all_reduce_start %p : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
  // expected-error @below {{is left to the next step, but is for no parameter that @update gathers and returns alone}}
  %b = zero.wait %f {next_step} : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %b : !zero.full<@b0>
}

// -----

// One channel runs the gathers in order: all of @update are left to the next step, or none.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"v", offset = 0, shape = [8]>]}
func.func @update(%s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>)
    -> (!zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, !zero.full<@b1> {nn.role = #nn.role<parameter "b1">}) {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  // expected-note @below {{the other is waited for here}}
  %b0 = zero.wait %f0 {next_step} : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  // expected-error @below {{is for this step, but another gather is left to the next; zero-sink-waits leaves all or none}}
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  return %b0, %b1 : !zero.full<@b0>, !zero.full<@b1>
}

// -----

// Early is what @micro starts with.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}, %s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) -> (tensor<8xf32>) {
  %y = nn.neg %x : tensor<8xf32>
  // expected-error @below {{is early, but does not stand at the start of @micro, behind an @update that gathers nothing; zero-prefetch-gathers starts early what does}}
  %f = zero.all_gather_start %s {early} : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w = zero.view %b["w"] : !zero.full<@b0> -> tensor<8xf32>
  %z = nn.add %y, %w : tensor<8xf32>
  zero.release %b : !zero.full<@b0>
  return %z : tensor<8xf32>
}
func.func @update() {
  return
}

// -----

// The channel of an @update that gathers is not free.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) -> (tensor<8xf32>) {
  // expected-error @below {{is early, but does not stand at the start of @micro, behind an @update that gathers nothing}}
  %f = zero.all_gather_start %s {early} : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w = zero.view %b["w"] : !zero.full<@b0> -> tensor<8xf32>
  %z = nn.neg %w : tensor<8xf32>
  zero.release %b : !zero.full<@b0>
  return %z : tensor<8xf32>
}
func.func @update(%s: !zero.shard<@b0>) -> !zero.full<@b0> {
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %b : !zero.full<@b0>
}

// -----

// Sums over the ranks scale what is still to be summed: a part of a mean is a part.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}, %y: tensor<8xi64> {nn.role = #nn.role<label "y">}) -> (!zero.full<@b0> {nn.role = #nn.role<gradient "b0">}, tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  %c = nn.reduce sum %y axes [0] : tensor<8xi64> to tensor<i64>
  %t = zero.control_sum %c on @dp : tensor<i64>
  %m, %l = nn.group(%a = %x : tensor<8xf32>, %b = %t : tensor<i64>) -> (tensor<8xf32>, tensor<f32>) {
    %0 = nn.cast %b : tensor<i64> to tensor<f32>
    %1 = nn.broadcast %0 dims [] : tensor<f32> to tensor<8xf32>
    %2 = nn.div %a, %1 : tensor<8xf32>
    %3 = nn.reduce sum %2 axes [0] : tensor<8xf32> to tensor<f32>
    nn.yield %2, %3 : tensor<8xf32>, tensor<f32>
  }
  %p = zero.pack @b0(%m) : (tensor<8xf32>) -> !zero.partial<@b0>
  %f = zero.all_reduce_start %p : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
  %g = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %g, %l : !zero.full<@b0>, tensor<f32>
}
func.func @update(%l: tensor<f32> {nn.role = #nn.role<loss_sum "">}, %g: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">}) -> (tensor<f32> {nn.role = #nn.role<loss "">}) {
  %q = zero.sum_squares %g : !zero.full<@b0> -> tensor<24xi64>
  %t = zero.norm %q : tensor<24xi64> -> tensor<f32>
  %mean = nn.div %l, %t : tensor<f32>
  %loss = zero.control_sum %mean on @dp : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// What is scaled by a sum may be a sum already.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"v", offset = 0, shape = [8]>]}
func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}) -> !zero.full<@b1> {
  %p = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  // expected-note @below {{it is a sum over the ranks since here}}
  %f = zero.all_reduce_start %p : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
  %g = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %v = zero.view %g["w"] : !zero.full<@b0> -> tensor<8xf32>
  %two = nn.constant dense<2.0> : tensor<8xf32>
  %m = nn.mul %v, %two : tensor<8xf32>
  // expected-error @below {{takes the gradient of 'v' as this rank's part of a sum, but it is summed over the ranks already; zero-insert-collectives reduces once}}
  %p1 = zero.pack @b1(%m) : (tensor<8xf32>) -> !zero.partial<@b1>
  %f1 = zero.all_reduce_start %p1 : !zero.partial<@b1> -> !zero.future<!zero.full<@b1>>
  %g1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  return %g1 : !zero.full<@b1>
}

// -----

// An optimizer on whole tensors, without buckets: its gradient is a sum over the ranks, too.
zero.mesh @dp {size = 2 : i64}
// expected-note @below {{it comes from here}}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %g: tensor<8xf32> {nn.role = #nn.role<input "x">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}) {
  // expected-error @below {{'nn.sgd' op applies a gradient that is no sum over the ranks; zero-insert-collectives reduces gradients first}}
  %w1 = nn.sgd %w, %g scale %lr lr %lr {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{gives the parameter 'w' of the next step, which is not the same on all ranks; zero-insert-collectives reduces gradients first}}
  return %w1 : tensor<8xf32>
}

// -----

// Gradients that no update applies.
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"v", offset = 0, shape = [8]>]}
// expected-error @below {{@micro gives gradient 'b1', but @update does not update bucket @b1; zero-partition-state updates all}}
func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}) -> (!zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, !zero.shard<@b1> {nn.role = #nn.role<gradient "b1">}) {
  %p0 = zero.pack @b0(%x) : (tensor<8xf32>) -> !zero.partial<@b0>
  %r0 = zero.reduce_scatter_start %p0 : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %g0 = zero.wait %r0 : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  %p1 = zero.pack @b1(%x) : (tensor<8xf32>) -> !zero.partial<@b1>
  %r1 = zero.reduce_scatter_start %p1 : !zero.partial<@b1> -> !zero.future<!zero.shard<@b1>>
  %g1 = zero.wait %r1 : !zero.future<!zero.shard<@b1>> -> !zero.shard<@b1>
  return %g0, %g1 : !zero.shard<@b0>, !zero.shard<@b1>
}
// expected-note @below {{@update is here}}
func.func @update(%s: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %g: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) -> (!zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}) {
  %s1 = zero.update @b0(%s, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%w: tensor<f32>, %dw: tensor<f32>, %rate: tensor<f32>):
    %w1 = nn.sgd %w, %dw scale %rate lr %rate {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<f32>, tensor<f32>
    zero.yield %w1 : tensor<f32>
  }
  return %s1 : !zero.shard<@b0>
}

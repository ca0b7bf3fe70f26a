// RUN: zero-opt %s --split-input-file --verify-diagnostics

// Each part provokes the constraint of ZeroOps.td that its label names.

// mesh_c1
// expected-error @below {{'zero.mesh' op has size 0, but a mesh has at least 1 rank}}
zero.mesh @dp {size = 0 : i64}

// -----

// bucket_c1
// expected-error @below {{is on mesh @dp, but there is no such zero.mesh}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}

// -----

// bucket_c2
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{holds elements of type 'i32', but only floating-point parameters are trained}}
zero.bucket @b0 on @dp {block = "h", element = i32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}

// -----

// bucket_c3
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{has two slots 'w'}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"w", offset = 64, shape = [8]>]}

// -----

// bucket_c4
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{slot 'w' has a dimension of size -1}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, -1]>]}

// -----

// bucket_c5
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{slot 'w' starts at element 8, which is not a multiple of 64}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 8, shape = [8]>]}

// -----

// bucket_c6
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{slot 'b' starts at element 0, but slot 'w' before it ends at element 64}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 0, shape = [8]>]}

// -----

// bucket_c6, before the first element
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{slot 'w' starts at element -64, before the bucket does}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = -64, shape = [8]>]}

// -----

// bucket_c7
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{has 128 elements, but slot 'w' ends at element 256}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [16, 16]>]}

// -----

// bucket_c8
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{has 192 elements, which is not a positive multiple of 64 x 2 ranks of mesh @dp}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 192 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}

// -----

// bucket_c8, no element
zero.mesh @dp {size = 2 : i64}
// expected-error @below {{has 0 elements, which is not a positive multiple of 64 x 2 ranks of mesh @dp}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 0 : i64, slots = []}

// -----

// view_c1
func.func @f(%b: !zero.full<@b9>) {
  // expected-error @below {{names bucket @b9, but there is no such zero.bucket}}
  %0 = zero.view %b["w"] : !zero.full<@b9> -> tensor<8x8xf32>
  return
}

// -----

// view_c2
zero.mesh @dp {size = 2 : i64}
// expected-note @below {{bucket @b0 is declared here}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%b: !zero.full<@b0>) {
  // expected-error @below {{reads slot 'q', but the bucket has no such slot}}
  %0 = zero.view %b["q"] : !zero.full<@b0> -> tensor<8x8xf32>
  return
}

// -----

// view_c3
zero.mesh @dp {size = 2 : i64}
// expected-note @below {{bucket @b0 is declared here}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%b: !zero.full<@b0>) {
  // expected-error @below {{result has type 'tensor<64xf32>', but slot 'w' is 'tensor<8x8xf32>'}}
  %0 = zero.view %b["w"] : !zero.full<@b0> -> tensor<64xf32>
  return
}

// -----

// shard_of_c1
func.func @f(%b: !zero.full<@b0>) {
  // expected-error @below {{takes '!zero.full<@b0>' and gives '!zero.shard<@b1>': two different buckets}}
  %0 = zero.shard_of %b : !zero.full<@b0> -> !zero.shard<@b1>
  return
}

// -----

// shard_of_c1, elements
func.func @f(%b: !zero.full<@b0>) {
  // expected-error @below {{takes '!zero.full<@b0>' and gives '!zero.shard<@b0, f32>': two different elements}}
  %0 = zero.shard_of %b : !zero.full<@b0> -> !zero.shard<@b0, f32>
  return
}

// -----

// alias_c1
func.func @f(%b: !zero.full<@b0>) {
  // expected-error @below {{takes '!zero.full<@b0>' and gives '!zero.shard<@b1>': two different buckets}}
  %0 = zero.alias %b : !zero.full<@b0> to !zero.shard<@b1>
  return
}

// -----

// alias_c1, elements
func.func @f(%b: !zero.partial<@b0>) {
  // expected-error @below {{takes '!zero.partial<@b0>' and gives '!zero.shard<@b0, f32>': two different elements}}
  %0 = zero.alias %b : !zero.partial<@b0> to !zero.shard<@b0, f32>
  return
}

// -----

// alias_c2
func.func @f(%b: !zero.full<@b0>) {
  // expected-error @below {{names bucket @b0, but there is no such zero.bucket}}
  %0 = zero.alias %b : !zero.full<@b0> to !zero.shard<@b0>
  return
}

// -----

// alias_c3
// expected-note @below {{the mesh is declared here}}
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%b: !zero.full<@b0>) {
  // expected-error @below {{stands for a collective over 1 rank, but mesh @dp has 2 ranks}}
  %0 = zero.alias %b : !zero.full<@b0> to !zero.shard<@b0>
  return
}

// -----

// pack_c1
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%w: tensor<8x8xf32>, %b: tensor<7xf32>) {
  // expected-error @below {{fills bucket @b0, but gives '!zero.partial<@b1>'}}
  %0 = zero.pack @b0(%w, %b) : (tensor<8x8xf32>, tensor<7xf32>) -> !zero.partial<@b1>
  return
}

// -----

// pack_c1, element
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%w: tensor<8x8xbf16>, %b: tensor<7xbf16>) {
  // expected-error @below {{fills bucket @b0, but gives '!zero.partial<@b0, f32>'}}
  %0 = zero.pack @b0(%w, %b) : (tensor<8x8xbf16>, tensor<7xbf16>) -> !zero.partial<@b0, f32>
  return
}

// -----

// pack_c2
func.func @f(%w: tensor<8x8xf32>) {
  // expected-error @below {{names bucket @b0, but there is no such zero.bucket}}
  %0 = zero.pack @b0(%w) : (tensor<8x8xf32>) -> !zero.partial<@b0>
  return
}

// -----

// pack_c3
zero.mesh @dp {size = 2 : i64}
// expected-note @below {{the bucket is declared here}}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%w: tensor<8x8xf32>) {
  // expected-error @below {{has 1 operands, but bucket @b0 has 2 slots}}
  %0 = zero.pack @b0(%w) : (tensor<8x8xf32>) -> !zero.partial<@b0>
  return
}

// -----

// pack_c4
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%w: tensor<8x8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{operand of slot 'b' has type 'tensor<8xf32>', but the slot is 'tensor<7xf32>'}}
  %0 = zero.pack @b0(%w, %b) : (tensor<8x8xf32>, tensor<8xf32>) -> !zero.partial<@b0>
  return
}

// -----

// convert_c1
func.func @f(%p: !zero.partial<@b0>) {
  // expected-error @below {{takes '!zero.partial<@b0>' and gives '!zero.partial<@b1, f32>': two different buckets}}
  %0 = zero.convert %p : !zero.partial<@b0> to !zero.partial<@b1, f32>
  return
}

// -----

// convert_c2
func.func @f(%p: !zero.partial<@b0>) {
  // expected-error @below {{names bucket @b0, but there is no such zero.bucket}}
  %0 = zero.convert %p : !zero.partial<@b0> to !zero.partial<@b0, f32>
  return
}

// -----

// convert_c3
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.partial<@b0>) {
  // expected-error @below {{converts elements of type 'bf16' to 'bf16', but it is for two different floats}}
  %0 = zero.convert %p : !zero.partial<@b0> to !zero.partial<@b0, bf16>
  return
}

// -----

// convert_c3, no float
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.partial<@b0>) {
  // expected-error @below {{converts elements of type 'bf16' to 'i32', but it is for two different floats}}
  %0 = zero.convert %p : !zero.partial<@b0> to !zero.partial<@b0, i32>
  return
}

// -----

// all_gather_start_c1
func.func @f(%s: !zero.shard<@b0>) {
  // expected-error @below {{of '!zero.shard<@b0>' gives '!zero.future<!zero.full<@b0>>', but its result has type '!zero.future<!zero.full<@b1>>'}}
  %0 = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b1>>
  return
}

// -----

// all_gather_start_c1, element
func.func @f(%s: !zero.shard<@b0, f32>) {
  // expected-error @below {{of '!zero.shard<@b0, f32>' gives '!zero.future<!zero.full<@b0, f32>>', but its result has type '!zero.future<!zero.full<@b0>>'}}
  %0 = zero.all_gather_start %s : !zero.shard<@b0, f32> -> !zero.future<!zero.full<@b0>>
  return
}

// -----

// reduce_scatter_start_c1
func.func @f(%p: !zero.partial<@b0>) {
  // expected-error @below {{of '!zero.partial<@b0>' gives '!zero.future<!zero.shard<@b0>>', but its result has type '!zero.future<!zero.full<@b0>>'}}
  %0 = zero.reduce_scatter_start %p : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
  return
}

// -----

// reduce_scatter_start_c2
func.func @f(%p: !zero.partial<@b0>) {
  // expected-error @below {{rounds its sum to 'i32', but gradients are floats}}
  %0 = zero.reduce_scatter_start %p : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0, i32>>
  return
}

// -----

// all_reduce_start_c1
func.func @f(%p: !zero.partial<@b0>) {
  // expected-error @below {{of '!zero.partial<@b0>' gives '!zero.future<!zero.full<@b0>>', but its result has type '!zero.future<!zero.shard<@b0>>'}}
  %0 = zero.all_reduce_start %p : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  return
}

// -----

// all_reduce_start_c2
func.func @f(%p: !zero.partial<@b0>) {
  // expected-error @below {{rounds its sum to 'i32', but gradients are floats}}
  %0 = zero.all_reduce_start %p : !zero.partial<@b0> -> !zero.future<!zero.full<@b0, i32>>
  return
}

// -----

// wait_c1
func.func @f(%f: !zero.future<!zero.full<@b0>>) {
  // expected-error @below {{of '!zero.future<!zero.full<@b0>>' gives '!zero.full<@b0>', but its result has type '!zero.shard<@b0>'}}
  %0 = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.shard<@b0>
  return
}

// -----

// control_sum_c1
func.func @f(%c: tensor<i64>) {
  // expected-error @below {{is on mesh @dp, but there is no such zero.mesh}}
  %0 = zero.control_sum %c on @dp : tensor<i64>
  return
}

// -----

// control_sum_c2
zero.mesh @dp {size = 2 : i64}
func.func @f(%c: tensor<?xi64>) {
  // expected-error @below {{has type 'tensor<?xi64>', but only tensors of static shape are summed over ranks}}
  %0 = zero.control_sum %c on @dp : tensor<?xi64>
  return
}

// -----

// control_sum_c3
zero.mesh @dp {size = 2 : i64}
func.func @f(%c: tensor<i8>) {
  // expected-error @below {{has elements of type 'i8', but only f32, f64 and i64 are summed over ranks at once}}
  %0 = zero.control_sum %c on @dp : tensor<i8>
  return
}

// -----

// accumulate_c1
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{adds values of type 'tensor<4xf32>', but only buckets and 0-d tensors accumulate}}
  %0 = zero.accumulate %a, %a : tensor<4xf32>
  return
}

// -----

// accumulate_c2
func.func @f(%a: !zero.shard<@b0, f32>, %b: !zero.shard<@b1>) {
  // expected-error @below {{adds a value of type '!zero.shard<@b1>' to an accumulator of type '!zero.shard<@b0, f32>'}}
  %0 = zero.accumulate %a, %b : !zero.shard<@b0, f32>, !zero.shard<@b1>
  return
}

// -----

// accumulate_c2, held otherwise
func.func @f(%a: !zero.full<@b0>, %b: !zero.partial<@b0>) {
  // expected-error @below {{adds a value of type '!zero.partial<@b0>' to an accumulator of type '!zero.full<@b0>'}}
  %0 = zero.accumulate %a, %b : !zero.full<@b0>, !zero.partial<@b0>
  return
}

// -----

// accumulate_c2, tensors
func.func @f(%a: tensor<f32>, %b: tensor<bf16>) {
  // expected-error @below {{adds a value of type 'tensor<bf16>' to an accumulator of type 'tensor<f32>'}}
  %0 = zero.accumulate %a, %b : tensor<f32>, tensor<bf16>
  return
}

// -----

// sum_squares_c1
func.func @f() {
  // expected-error @below {{has no operand}}
  %0 = "zero.sum_squares"() : () -> tensor<24xi64>
  return
}

// -----

// sum_squares_c2
func.func @f(%a: !zero.shard<@b0>, %b: !zero.full<@b1>) {
  // expected-error @below {{mixes '!zero.shard<@b0>' and '!zero.full<@b1>': sums over shards are still to be added over ranks, sums over whole buckets are not}}
  %0 = zero.sum_squares %a, %b : !zero.shard<@b0>, !zero.full<@b1> -> tensor<24xi64>
  return
}

// -----

// sum_squares_c3
func.func @f(%a: !zero.shard<@b0>, %b: !zero.shard<@b0>) {
  // expected-error @below {{counts bucket @b0 twice}}
  %0 = zero.sum_squares %a, %b : !zero.shard<@b0>, !zero.shard<@b0> -> tensor<24xi64>
  return
}

// -----

// sum_squares_c4
func.func @f(%a: !zero.shard<@b0>) {
  // expected-error @below {{gives 'tensor<8xi64>', but an exact sum is 24 integers of 64 bits}}
  %0 = zero.sum_squares %a : !zero.shard<@b0> -> tensor<8xi64>
  return
}

// -----

// sum_squares_c5
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
zero.bucket @b1 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"v", offset = 0, shape = [8]>]}
func.func @f(%a: !zero.shard<@b0>, %b: !zero.shard<@b1>) {
  // expected-error @below {{counts elements of types 'bf16' and 'f32', but one kernel counts one type}}
  %0 = zero.sum_squares %a, %b : !zero.shard<@b0>, !zero.shard<@b1> -> tensor<24xi64>
  return
}

// -----

// update_c1
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>) {
  // expected-error @below {{has 1 states, but needs at least the parameter and its gradient}}
  %r0 = zero.update @b0(%p : !zero.shard<@b0>) scalars() -> !zero.shard<@b0> {
  ^bb0(%e0: tensor<f32>):
    zero.yield %e0 : tensor<f32>
  }
  return
}

// -----

// update_c2
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.full<@b0>) {
  // expected-error @below {{of bucket @b0 has states of type '!zero.shard<@b0>' and '!zero.full<@b0>', but all are its shards or all are whole}}
  %r0 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.full<@b0>) scalars() -> !zero.shard<@b0> {
  ^bb0(%e0: tensor<f32>, %e1: tensor<f32>):
    zero.yield %e0 : tensor<f32>
  }
  return
}

// -----

// update_c3
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>) {
  // expected-error @below {{has 2 results for 2 states, but gives each state but the gradient}}
  %r0, %r1 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars() -> !zero.shard<@b0>, !zero.shard<@b0> {
  ^bb0(%e0: tensor<f32>, %e1: tensor<f32>):
    zero.yield %e0, %e0 : tensor<f32>, tensor<f32>
  }
  return
}

// -----

// update_c4
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>) {
  // expected-error @below {{gives '!zero.full<@b0>' as result #0, but its state is '!zero.shard<@b0>'}}
  %r0 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars() -> !zero.full<@b0> {
  ^bb0(%e0: tensor<f32>, %e1: tensor<f32>):
    zero.yield %e0 : tensor<f32>
  }
  return
}

// -----

// update_c4, element
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>, %m: !zero.shard<@b0, f32>) {
  // expected-error @below {{gives '!zero.shard<@b0>' as result #1, but its state is '!zero.shard<@b0, f32>'}}
  %r:2 = zero.update @b0(%p, %g, %m : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0, f32>) scalars() -> !zero.shard<@b0>, !zero.shard<@b0> {
  ^bb0(%e0: tensor<bf16>, %e1: tensor<bf16>, %e2: tensor<f32>):
    zero.yield %e0, %e1 : tensor<bf16>, tensor<bf16>
  }
  return
}

// -----

// update_c5
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>) {
  // expected-error @below {{body has 3 arguments, but there are 2 states and 0 scalars}}
  %r0 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars() -> !zero.shard<@b0> {
  ^bb0(%e0: tensor<f32>, %e1: tensor<f32>, %e2: tensor<f32>):
    zero.yield %e0 : tensor<f32>
  }
  return
}

// -----

// update_c6
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>, %lr: tensor<f32>) {
  // expected-error @below {{body argument 2 has type 'tensor<f64>', but the scalar is 'tensor<f32>'}}
  %r0 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>) -> !zero.shard<@b0> {
  ^bb0(%e0: tensor<f32>, %e1: tensor<f32>, %e2: tensor<f64>):
    zero.yield %e0 : tensor<f32>
  }
  return
}

// -----

// update_c7
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>) {
  // expected-error @below {{body yields 2 values, but the update has 1 results}}
  %r0 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars() -> !zero.shard<@b0> {
  ^bb0(%e0: tensor<f32>, %e1: tensor<f32>):
    zero.yield %e0, %e1 : tensor<f32>, tensor<f32>
  }
  return
}

// -----

// update_c8
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>) {
  // expected-error @below {{names bucket @b0, but there is no such zero.bucket}}
  %r0 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars() -> !zero.shard<@b0> {
  ^bb0(%e0: tensor<f32>, %e1: tensor<f32>):
    zero.yield %e0 : tensor<f32>
  }
  return
}

// -----

// update_c9
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>) {
  // expected-error @below {{body argument 0 has type 'tensor<f64>', but an element of '!zero.shard<@b0>' is 'tensor<f32>'}}
  %r0 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars() -> !zero.shard<@b0> {
  ^bb0(%e0: tensor<f64>, %e1: tensor<f32>):
    zero.yield %e1 : tensor<f32>
  }
  return
}

// -----

// update_c9, an element of its own
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>, %m: !zero.shard<@b0, f32>) {
  // expected-error @below {{body argument 2 has type 'tensor<bf16>', but an element of '!zero.shard<@b0, f32>' is 'tensor<f32>'}}
  %r:2 = zero.update @b0(%p, %g, %m : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0, f32>) scalars() -> !zero.shard<@b0>, !zero.shard<@b0, f32> {
  ^bb0(%e0: tensor<bf16>, %e1: tensor<bf16>, %e2: tensor<bf16>):
    zero.yield %e0, %e2 : tensor<bf16>, tensor<bf16>
  }
  return
}

// -----

// update_c10
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>]}
func.func @f(%p: !zero.shard<@b0>, %g: !zero.shard<@b0>) {
  // expected-error @below {{body yields 'tensor<f64>', but an element of '!zero.shard<@b0>' is 'tensor<f32>'}}
  %r0 = zero.update @b0(%p, %g : !zero.shard<@b0>, !zero.shard<@b0>) scalars() -> !zero.shard<@b0> {
  ^bb0(%e0: tensor<f32>, %e1: tensor<f32>):
    %x = nn.cast %e0 : tensor<f32> to tensor<f64>
    zero.yield %x : tensor<f64>
  }
  return
}

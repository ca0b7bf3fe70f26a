// RUN: zero-opt %s | zero-opt | FileCheck %s
// RUN: zero-opt %s --mlir-print-op-generic | zero-opt | FileCheck %s
// RUN: zero-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK: zero.mesh @dp {size = 2 : i64}
zero.mesh @dp {size = 2 : i64}
zero.mesh @one {size = 1 : i64}

// Tied to one line: a slot of each kind (matrix, odd-sized vector, 0-d, no elements).
// CHECK: zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 256 : i64,
// CHECK-SAME: slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>,
// CHECK-SAME: #zero.slot<"s", offset = 128, shape = []>, #zero.slot<"e", offset = 192, shape = [0, 3]>]}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 256 : i64, slots = [
  #zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [7]>,
  #zero.slot<"s", offset = 128, shape = []>, #zero.slot<"e", offset = 192, shape = [0, 3]>]}
zero.bucket @b1 on @one {block = "h.0", element = f32, elements = 64 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}

// CHECK-LABEL: func.func @gather
func.func @gather(%s: !zero.shard<@b0>) -> (tensor<8x8xf32>, tensor<f32>) {
  // CHECK: zero.all_gather_start %{{.*}} : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  // CHECK: zero.wait %{{.*}} : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  // CHECK: zero.view %{{.*}}["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  %w = zero.view %b["w"] : !zero.full<@b0> -> tensor<8x8xf32>
  // CHECK: zero.view %{{.*}}["s"] : !zero.full<@b0> -> tensor<f32>
  %v = zero.view %b["s"] : !zero.full<@b0> -> tensor<f32>
  // CHECK: zero.release %{{.*}} : !zero.full<@b0>
  zero.release %b : !zero.full<@b0>
  return %w, %v : tensor<8x8xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%w: tensor<8x8xf32>, %b: tensor<7xf32>, %s: tensor<f32>, %e: tensor<0x3xf32>)
    -> (!zero.shard<@b0>, !zero.full<@b0>) {
  // CHECK: zero.pack @b0(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<8x8xf32>, tensor<7xf32>, tensor<f32>, tensor<0x3xf32>) -> !zero.partial<@b0>
  %p = zero.pack @b0(%w, %b, %s, %e) : (tensor<8x8xf32>, tensor<7xf32>, tensor<f32>, tensor<0x3xf32>) -> !zero.partial<@b0>
  // CHECK: zero.reduce_scatter_start %{{.*}} : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %f = zero.reduce_scatter_start %p : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %r = zero.wait %f : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  // CHECK: zero.all_reduce_start %{{.*}} : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
  %g = zero.all_reduce_start %p : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
  %a = zero.wait %g : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  return %r, %a : !zero.shard<@b0>, !zero.full<@b0>
}

// CHECK-LABEL: func.func @update
func.func @update(%f: !zero.full<@b0>, %g: !zero.shard<@b0>, %m: !zero.shard<@b0>, %lr: tensor<f32>, %acc: !zero.shard<@b0>)
    -> (!zero.shard<@b0>, !zero.shard<@b0>, tensor<f32>) {
  // CHECK: zero.accumulate %{{.*}}, %{{.*}} : !zero.shard<@b0>
  %a = zero.accumulate %acc, %g : !zero.shard<@b0>
  // CHECK: zero.shard_of %{{.*}} : !zero.full<@b0> -> !zero.shard<@b0>
  %s = zero.shard_of %f : !zero.full<@b0> -> !zero.shard<@b0>
  // CHECK: zero.sum_squares %{{.*}} : !zero.shard<@b0> -> tensor<24xi64>
  %q = zero.sum_squares %a : !zero.shard<@b0> -> tensor<24xi64>
  // CHECK: zero.control_sum %{{.*}} on @dp : tensor<24xi64>
  %c = zero.control_sum %q on @dp : tensor<24xi64>
  // CHECK: zero.norm %{{.*}} : tensor<24xi64> -> tensor<f32>
  %n = zero.norm %c : tensor<24xi64> -> tensor<f32>
  // CHECK: zero.update @b0(%{{.*}}, %{{.*}}, %{{.*}} : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0>) scalars(%{{.*}} : tensor<f32>) -> !zero.shard<@b0>, !zero.shard<@b0> {
  // CHECK: zero.yield %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
  %p, %k = zero.update @b0(%s, %a, %m : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0>) scalars(%lr : tensor<f32>)
      -> !zero.shard<@b0>, !zero.shard<@b0> {
  ^bb0(%pe: tensor<f32>, %ge: tensor<f32>, %me: tensor<f32>, %le: tensor<f32>):
    zero.yield %pe, %me : tensor<f32>, tensor<f32>
  }
  return %p, %k, %n : !zero.shard<@b0>, !zero.shard<@b0>, tensor<f32>
}

zero.bucket @b2 on @dp {block = "h.0", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}

// States, sums and contributions may have another element than the parameters.
// CHECK-LABEL: func.func @elements
func.func @elements(%p: !zero.partial<@b2>, %w: !zero.shard<@b2>, %m: !zero.shard<@b2, f32>, %acc: !zero.partial<@b2, f32>)
    -> (!zero.shard<@b2>, !zero.shard<@b2, f32>, !zero.full<@b2, f32>, !zero.partial<@b2, f32>) {
  // CHECK: zero.accumulate %{{.*}}, %{{.*}} : !zero.partial<@b2, f32>, !zero.partial<@b2>
  %a = zero.accumulate %acc, %p : !zero.partial<@b2, f32>, !zero.partial<@b2>
  // CHECK: zero.convert %{{.*}} : !zero.partial<@b2> to !zero.partial<@b2, f32>
  %c = zero.convert %p : !zero.partial<@b2> to !zero.partial<@b2, f32>
  // CHECK: zero.reduce_scatter_start %{{.*}} : !zero.partial<@b2, f32> -> !zero.future<!zero.shard<@b2>>
  %f = zero.reduce_scatter_start %c : !zero.partial<@b2, f32> -> !zero.future<!zero.shard<@b2>>
  %g = zero.wait %f : !zero.future<!zero.shard<@b2>> -> !zero.shard<@b2>
  // CHECK: zero.all_reduce_start %{{.*}} : !zero.partial<@b2> -> !zero.future<!zero.full<@b2, f32>>
  %h = zero.all_reduce_start %p : !zero.partial<@b2> -> !zero.future<!zero.full<@b2, f32>>
  %s = zero.wait %h : !zero.future<!zero.full<@b2, f32>> -> !zero.full<@b2, f32>
  // CHECK: zero.update @b2(%{{.*}}, %{{.*}}, %{{.*}} : !zero.shard<@b2>, !zero.shard<@b2>, !zero.shard<@b2, f32>) scalars() -> !zero.shard<@b2>, !zero.shard<@b2, f32> {
  %r:2 = zero.update @b2(%w, %g, %m : !zero.shard<@b2>, !zero.shard<@b2>, !zero.shard<@b2, f32>) scalars() -> !zero.shard<@b2>, !zero.shard<@b2, f32> {
  ^bb0(%we: tensor<bf16>, %ge: tensor<bf16>, %me: tensor<f32>):
    %n = nn.cast %me : tensor<f32> to tensor<bf16>
    zero.yield %n, %me : tensor<bf16>, tensor<f32>
  }
  return %r#0, %r#1, %s, %a : !zero.shard<@b2>, !zero.shard<@b2, f32>, !zero.full<@b2, f32>, !zero.partial<@b2, f32>
}

// Chains of aliases fold to one; an alias back to the operand's type goes.
// FOLD-LABEL: func.func @alias
// FOLD-SAME: (%[[S:.*]]: !zero.shard<@b1>)
func.func @alias(%s: !zero.shard<@b1>) -> (!zero.shard<@b1>, !zero.partial<@b1>) {
  // CHECK: zero.alias %{{.*}} : !zero.shard<@b1> to !zero.full<@b1>
  %f = zero.alias %s : !zero.shard<@b1> to !zero.full<@b1>
  %t = zero.alias %f : !zero.full<@b1> to !zero.shard<@b1>
  %p = zero.alias %f : !zero.full<@b1> to !zero.partial<@b1>
  // FOLD-NEXT: %[[P:.*]] = zero.alias %[[S]] : !zero.shard<@b1> to !zero.partial<@b1>
  // FOLD-NEXT: return %[[S]], %[[P]]
  return %t, %p : !zero.shard<@b1>, !zero.partial<@b1>
}

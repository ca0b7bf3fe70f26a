// RUN: zero-opt %s --zero-sink-waits=report=true 2>&1 | FileCheck %s
// RUN: zero-opt %s --zero-sink-waits=prefetch-elements=255 | FileCheck %s --check-prefix=LIMIT
// RUN: zero-opt %s --zero-sink-waits=prefetch-elements=256 | FileCheck %s --check-prefix=ROOM
// RUN: zero-opt %s --zero-sink-waits --zero-sink-waits=report=true 2>&1 | FileCheck %s --check-prefix=AGAIN

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64, slots = [#zero.slot<"w0", offset = 0, shape = [8, 8]>, #zero.slot<"v0", offset = 64, shape = [8, 8]>]}
zero.bucket @b1 on @dp {block = "h.1", element = f32, elements = 128 : i64, slots = [#zero.slot<"w1", offset = 0, shape = [8, 8]>]}

// CHECK: remark: moved 6 waits down
// What has sunk leaves itself alone.
// AGAIN: remark: moved 0 waits down

// A wait goes to the first use of any view; views that are used later stay behind it.
// CHECK-LABEL: func.func @gather
// CHECK-NEXT: %[[F:.*]] = zero.all_gather_start
// CHECK-NEXT: %[[Y:.*]] = nn.neg
// CHECK-NEXT: %[[B:.*]] = zero.wait %[[F]]
// CHECK-NEXT: %[[W:.*]] = zero.view %[[B]]["w0"]
// CHECK-NEXT: nn.matmul %[[Y]], %[[W]]
// CHECK-NEXT: %[[V:.*]] = zero.view %[[B]]["v0"]
// CHECK-NEXT: nn.matmul %{{.*}}, %[[V]]
func.func @gather(%x: tensor<4x8xf32>, %s: !zero.shard<@b0>) -> tensor<4x8xf32> {
  %f = zero.all_gather_start %s : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %w = zero.view %b["w0"] : !zero.full<@b0> -> tensor<8x8xf32>
  %y = nn.neg %x : tensor<4x8xf32>
  %z = nn.matmul %y, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %v = zero.view %b["v0"] : !zero.full<@b0> -> tensor<8x8xf32>
  %u = nn.matmul %z, %v : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %u : tensor<4x8xf32>
}

// A transpose is a use: it computes.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: zero.all_gather_start
// CHECK-NEXT: zero.wait
// CHECK-NEXT: zero.view
// CHECK-NEXT: nn.transpose
func.func @chain(%s: !zero.shard<@b1>) -> tensor<8x8xf32> {
  %f = zero.all_gather_start %s : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b = zero.wait %f : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %w = zero.view %b["w1"] : !zero.full<@b1> -> tensor<8x8xf32>
  %t = nn.transpose %w [1, 0] : tensor<8x8xf32> to tensor<8x8xf32>
  %y = nn.neg %t : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// The first reduction is waited for before the next one starts, with what it is added to; the last one at the end.
// CHECK-LABEL: func.func @reductions
// CHECK:      %[[F0:.*]] = zero.reduce_scatter_start %{{.*}} : !zero.partial<@b1>
// CHECK-NEXT: nn.neg
// CHECK-NEXT: zero.pack @b0
// CHECK-NEXT: %[[R0:.*]] = zero.wait %[[F0]]
// CHECK-NEXT: zero.accumulate %{{.*}}, %[[R0]]
// CHECK-NEXT: %[[F1:.*]] = zero.reduce_scatter_start %{{.*}} : !zero.partial<@b0>
// CHECK-NEXT: nn.exp
// CHECK-NEXT: %[[R1:.*]] = zero.wait %[[F1]]
// CHECK-NEXT: return
func.func @reductions(%g: tensor<8x8xf32>, %acc: !zero.shard<@b1>) -> (!zero.shard<@b1>, !zero.shard<@b0>, tensor<8x8xf32>) {
  %p0 = zero.pack @b1(%g) : (tensor<8x8xf32>) -> !zero.partial<@b1>
  %f0 = zero.reduce_scatter_start %p0 : !zero.partial<@b1> -> !zero.future<!zero.shard<@b1>>
  %r0 = zero.wait %f0 : !zero.future<!zero.shard<@b1>> -> !zero.shard<@b1>
  %a0 = zero.accumulate %acc, %r0 : !zero.shard<@b1>
  %h = nn.neg %g : tensor<8x8xf32>
  %p1 = zero.pack @b0(%g, %h) : (tensor<8x8xf32>, tensor<8x8xf32>) -> !zero.partial<@b0>
  %f1 = zero.reduce_scatter_start %p1 : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
  %r1 = zero.wait %f1 : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
  %e = nn.exp %h : tensor<8x8xf32>
  return %a0, %r1, %e : !zero.shard<@b1>, !zero.shard<@b0>, tensor<8x8xf32>
}

// Contributions that are a state need no memory of their own: all reductions may be in flight.
// CHECK-LABEL: func.func @states
// CHECK-NEXT: zero.all_reduce_start
// CHECK-NEXT: zero.all_reduce_start
// CHECK-NEXT: zero.wait
// CHECK-NEXT: zero.wait
// CHECK-NEXT: zero.sum_squares
func.func @states(%p0: !zero.partial<@b0>, %p1: !zero.partial<@b1>) -> tensor<24xi64> {
  %f0 = zero.all_reduce_start %p0 : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
  %r0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %f1 = zero.all_reduce_start %p1 : !zero.partial<@b1> -> !zero.future<!zero.full<@b1>>
  %r1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %s = zero.sum_squares %r0, %r1 : !zero.full<@b0>, !zero.full<@b1> -> tensor<24xi64>
  return %s : tensor<24xi64>
}

// Gathers of new parameters end with the function.
// CHECK-LABEL: func.func @update
// CHECK-NEXT: zero.all_gather_start
// CHECK-NEXT: zero.all_gather_start
// CHECK-NEXT: zero.wait
// CHECK-NEXT: zero.wait
// CHECK-NEXT: return
func.func @update(%s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>) -> (!zero.full<@b0>, !zero.full<@b1>) {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  return %b0, %b1 : !zero.full<@b0>, !zero.full<@b1>
}

// Where nothing runs in between there is nothing to hide: the wait stays before the next start.
// CHECK-LABEL: func.func @together
// CHECK-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b0>
// CHECK-NEXT: zero.wait
// CHECK-NEXT: zero.all_gather_start %{{.*}} : !zero.shard<@b1>
// CHECK-NEXT: zero.wait
func.func @together(%s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>) -> tensor<8x8xf32> {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %w0 = zero.view %b0["w0"] : !zero.full<@b0> -> tensor<8x8xf32>
  %w1 = zero.view %b1["w1"] : !zero.full<@b1> -> tensor<8x8xf32>
  %y = nn.add %w0, %w1 : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// A wait passes the start of another gather where both may be in flight.
// LIMIT-LABEL: func.func @limit
// LIMIT-NEXT: %[[F0:.*]] = zero.all_gather_start
// LIMIT-NEXT: %[[E:.*]] = nn.exp
// LIMIT-NEXT: zero.wait %[[F0]]
// LIMIT-NEXT: %[[F1:.*]] = zero.all_gather_start
// LIMIT:      nn.neg %[[E]]
// ROOM-LABEL: func.func @limit
// ROOM-NEXT: %[[F0:.*]] = zero.all_gather_start
// ROOM-NEXT: nn.exp
// ROOM-NEXT: %[[F1:.*]] = zero.all_gather_start
// ROOM-NEXT: nn.neg
// ROOM-NEXT: zero.wait %[[F0]]
// ROOM:      nn.matmul
// ROOM-NEXT: zero.wait %[[F1]]
func.func @limit(%x: tensor<4x8xf32>, %s0: !zero.shard<@b0>, %s1: !zero.shard<@b1>) -> tensor<4x8xf32> {
  %f0 = zero.all_gather_start %s0 : !zero.shard<@b0> -> !zero.future<!zero.full<@b0>>
  %b0 = zero.wait %f0 : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
  %e = nn.exp %x : tensor<4x8xf32>
  %f1 = zero.all_gather_start %s1 : !zero.shard<@b1> -> !zero.future<!zero.full<@b1>>
  %n = nn.neg %e : tensor<4x8xf32>
  %w0 = zero.view %b0["w0"] : !zero.full<@b0> -> tensor<8x8xf32>
  %y = nn.matmul %n, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %b1 = zero.wait %f1 : !zero.future<!zero.full<@b1>> -> !zero.full<@b1>
  %w1 = zero.view %b1["w1"] : !zero.full<@b1> -> tensor<8x8xf32>
  %z = nn.matmul %y, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

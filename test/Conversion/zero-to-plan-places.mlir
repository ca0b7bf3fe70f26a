// RUN: zero-opt %s --split-input-file --zero-to-plan | FileCheck %s
// RUN: zero-opt %s --split-input-file --zero-to-plan --plan-assign-offsets --plan-insert-events --plan-verify

// What copies, and what does not. A gradient that is read after its bucket is reduced in place (%late) and one that is packed
// twice (%both) are copied; one that is read before, or through a reshape, is computed in its slot.
// CHECK-LABEL: module @copies
// CHECK:       plan.section @micro_first
// CHECK-NEXT: plan.dispatch "matmul" {{.*}} writes [#plan.slice<@micro_first.0.matmul, 0, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" {{.*}} writes [#plan.slice<@gradient.b0, 256, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "matmul" {{.*}} writes [#plan.slice<@gradient.b0, 768, 256>, #plan.slice<@{{.*}}.matmul.workspace, 0, {{[0-9]+}}>]
// CHECK-NEXT: plan.dispatch "group_0" on compute reads [#plan.slice<@gradient.b0, 768, 256>]
// CHECK-NEXT: plan.copy on compute <@micro_first.0.matmul, 0, 256> to <@gradient.b0, 0, 256> {{.*}} {reason = "gradient 'late' cannot be computed in its bucket"}
// CHECK-NEXT: plan.copy on compute <@gradient.b0, 256, 256> to <@gradient.b0, 512, 256> {{.*}} {reason = "gradient 'both again' cannot be computed in its bucket"}
// CHECK-NEXT: plan.collective reduce_scatter
// CHECK-NEXT: plan.collective all_gather
// CHECK-NEXT: plan.dispatch "group_0" on compute reads [#plan.slice<@micro_first.0.matmul, 0, 256>]
module @copies {
  zero.mesh @dp {size = 2 : i64}
  zero.bucket @b0 on @dp {block = "", element = f32, elements = 256 : i64, slots = [
    #zero.slot<"late", offset = 0, shape = [8, 8]>, #zero.slot<"both", offset = 64, shape = [8, 8]>,
    #zero.slot<"both again", offset = 128, shape = [8, 8]>, #zero.slot<"reshaped", offset = 192, shape = [64]>]}
  func.func @micro(%x: tensor<8x8xf32> {nn.role = #nn.role<input "x">})
      -> (!zero.full<@b0> {nn.role = #nn.role<gradient "b0">}, tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
    %late = nn.matmul %x, %x : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %both = nn.matmul %x, %x transpose_lhs : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %matrix = nn.matmul %x, %x transpose_rhs : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %vector = nn.reshape %matrix : tensor<8x8xf32> to tensor<64xf32>
    %early = nn.group(%a = %matrix : tensor<8x8xf32>) -> (tensor<f32>) {
      %s = nn.reduce sum %a axes [0, 1] : tensor<8x8xf32> to tensor<f32>
      nn.yield %s : tensor<f32>
    }
    %g = zero.pack @b0(%late, %both, %both, %vector) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<64xf32>) -> !zero.partial<@b0>
    %f = zero.all_reduce_start %g : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
    %loss = nn.group(%a = %late : tensor<8x8xf32>) -> (tensor<f32>) {
      %s = nn.reduce sum %a axes [0, 1] : tensor<8x8xf32> to tensor<f32>
      nn.yield %s : tensor<f32>
    }
    %r = zero.wait %f : !zero.future<!zero.full<@b0>> -> !zero.full<@b0>
    return %r, %loss : !zero.full<@b0>, tensor<f32>
  }
  func.func @update(%g: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">}) {
    return
  }
}

// -----

// States (here: frozen ones, which need no bucket) that change places are saved first; one that is read after its new value is there gets that by a copy.
// CHECK-LABEL: module @swapped
// CHECK:       plan.section @update
// CHECK-NEXT: plan.dispatch "group_0" {{.*}} writes [#plan.slice<@update.0.group, 0, 32>]
// CHECK-NEXT: plan.dispatch "group_1" on compute reads [#plan.slice<@update.0.group, 0, 32>, #plan.slice<@frozen.w, 0, 32>]
// CHECK-NEXT: plan.copy on compute <@frozen.b, 0, 32> to <@[[B:.*]], 0, 32>
// CHECK-NEXT: plan.copy on compute <@frozen.a, 0, 32> to <@[[A:.*]], 0, 32>
// CHECK-NEXT: plan.copy on compute <@update.0.group, 0, 32> to <@frozen.w, 0, 32> {{.*}} {reason = "the new frozen 'w' cannot be computed in its state"}
// CHECK-NEXT: plan.copy on compute <@[[B]], 0, 32> to <@frozen.a, 0, 32> {{.*}} {reason = "the new frozen 'a' cannot be computed in its state"}
// CHECK-NEXT: plan.copy on compute <@[[A]], 0, 32> to <@frozen.b, 0, 32>
module @swapped {
  func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}) {
    return
  }
  func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<frozen "w">}, %a: tensor<8xf32> {nn.role = #nn.role<frozen "a">},
                    %b: tensor<8xf32> {nn.role = #nn.role<frozen "b">})
      -> (tensor<8xf32> {nn.role = #nn.role<frozen "w">}, tensor<8xf32> {nn.role = #nn.role<frozen "a">},
          tensor<8xf32> {nn.role = #nn.role<frozen "b">}, tensor<f32> {nn.role = #nn.role<loss "">}) {
    %new = nn.group(%p = %w : tensor<8xf32>) -> (tensor<8xf32>) {
      %0 = nn.add %p, %p : tensor<8xf32>
      nn.yield %0 : tensor<8xf32>
    }
    %loss = nn.group(%n = %new : tensor<8xf32>, %p = %w : tensor<8xf32>) -> (tensor<f32>) {
      %0 = nn.mul %n, %p : tensor<8xf32>
      %1 = nn.reduce sum %0 axes [0] : tensor<8xf32> to tensor<f32>
      nn.yield %1 : tensor<f32>
    }
    return %new, %b, %a, %loss : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>
  }
}

// -----

// Attention reads its operands inside one tensor and writes its gradients into one; matmul reads columns of a tensor.
// CHECK-LABEL: module @strided
// CHECK:       plan.section @micro_first
// CHECK-NEXT: plan.dispatch "attention" on compute reads [#plan.slice<@input.x, 0, 704>, #plan.slice<@input.x, 32, 704>, #plan.slice<@input.x, 64, 704>]
// CHECK-SAME: integers = array<i64: 0, 2, 4, 4, 2, 2, 4, 1, 0, 0, 0, 96, 24, 4, 96, 24, 4, 96, 24, 4, 32, 8, 4>
// CHECK-NEXT: plan.dispatch "attention_grad" {{.*}} writes [#plan.slice<@micro_first.[[C:.*]].concat, 0, 704>, #plan.slice<@micro_first.[[C]].concat, 32, 704>, #plan.slice<@micro_first.[[C]].concat, 64, 704>, #plan.slice<@{{.*}}.workspace, 0,
// CHECK-NEXT: plan.dispatch "matmul" on compute reads [#plan.slice<@micro_first.[[C]].concat, 64, 704>, #plan.slice<@micro_first.[[C]].concat, 64, 704>]
// CHECK-SAME: integers = array<i64: 0, 1, 8, 8, 8, 0, 1, 0, 24, 0, 24, 0, 8>
module @strided {
  func.func @micro(%x: tensor<2x4x24xf32> {nn.role = #nn.role<input "x">}) -> (tensor<8x8xf32> {nn.role = #nn.role<gradient "g">}) {
    %q3 = nn.slice %x starts [0, 0, 0] strides [1, 1, 1] : tensor<2x4x24xf32> to tensor<2x4x8xf32>
    %k3 = nn.slice %x starts [0, 0, 8] strides [1, 1, 1] : tensor<2x4x24xf32> to tensor<2x4x8xf32>
    %v3 = nn.slice %x starts [0, 0, 16] strides [1, 1, 1] : tensor<2x4x24xf32> to tensor<2x4x8xf32>
    %q = nn.reshape %q3 : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
    %k = nn.reshape %k3 : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
    %v = nn.reshape %v3 : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
    %o, %l = nn.attention %q, %k, %v scale 0.5 causal : tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32> -> tensor<2x4x2x4xf32>, tensor<2x2x4xf32>
    %dq, %dk, %dv = nn.attention_grad %q, %k, %v result %o, %l gradient %o scale 0.5 causal : tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2x2x4xf32>
    %dq3 = nn.reshape %dq : tensor<2x4x2x4xf32> to tensor<2x4x8xf32>
    %dk3 = nn.reshape %dk : tensor<2x4x2x4xf32> to tensor<2x4x8xf32>
    %dv3 = nn.reshape %dv : tensor<2x4x2x4xf32> to tensor<2x4x8xf32>
    %d = nn.concat %dq3, %dk3, %dv3 axis 2 : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x4x24xf32>
    %rows = nn.reshape %d : tensor<2x4x24xf32> to tensor<8x24xf32>
    %last = nn.slice %rows starts [0, 16] strides [1, 1] : tensor<8x24xf32> to tensor<8x8xf32>
    %g = nn.matmul %last, %last transpose_rhs : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    return %g : tensor<8x8xf32>
  }
  func.func @update(%g: tensor<8x8xf32> {nn.role = #nn.role<gradient "g">}) {
    return
  }
}

// -----

// Elements that have to move; dimensions that lie as one are one. Matmul reads a transposed matrix as it is, everybody reads
// rows of a tensor, and a concatenation along the first axis is a matter of places. A copy's slices are what it touches.
// CHECK-LABEL: module @moved
// CHECK: plan.input "i" : tensor<3xi64> at <@input.i, 0, 24> {limit = 4 : i64}
// CHECK: plan.state "frozen" "constant.0" at <@constant.0, 0, 24> {data = dense<[1, 2, 3]> : tensor<3xi64>}
// CHECK:       plan.section @micro_first
// CHECK-NEXT: plan.dispatch "strided_copy" {{.*}}integers = array<i64: 4, 2, 8, 4, 0, 1, 8, 0, 4, 1>
// CHECK-NEXT: plan.dispatch "strided_copy" on compute reads [#plan.slice<@input.x, 4, 124>] {{.*}}integers = array<i64: 4, 1, 16, 30, -2, 0, 1>
// CHECK-NEXT: plan.dispatch "fill" on compute reads [] {{.*}}integers = array<i64: 4, 72, 0>
// CHECK-NEXT: plan.dispatch "strided_copy" on compute reads [#plan.slice<@input.x, 0, 128>] writes [#plan.slice<@gradient.padded, 32, 224>] {{.*}}integers = array<i64: 4, 2, 4, 8, 0, 8, 1, 0, 16, 1>
// CHECK-NEXT: plan.dispatch "matmul" {{.*}}integers = array<i64: 0, 1, 8, 8, 4, 1, 0, 0, 8, 0, 8, 0, 8>
// CHECK-NEXT: plan.dispatch "gather" on compute reads [#plan.slice<@input.x, 0, 128>, #plan.slice<@input.i, 0, 24>] writes [#plan.slice<@micro_first.[[C:.*]].concat, 0, 96>] {{.*}}integers = array<i64: 4, 4, 1, 4, 8, 3>
// CHECK-NEXT: plan.dispatch "scatter_add" on compute reads [#plan.slice<@micro_first.[[C]].concat, 0, 96>, #plan.slice<@constant.0, 0, 24>] writes [#plan.slice<@micro_first.[[C]].concat, 96, 128>] {{.*}}integers = array<i64: 0, 4, 1, 4, 8, 3>
// CHECK-NEXT: plan.dispatch "group_0" on compute reads [#plan.slice<@micro_first.[[C]].concat, 32, 64>] writes [#plan.slice<@gradient.rows, 0, 64>]
// CHECK-NEXT: plan.dispatch "strided_copy" {{.*}} writes [#plan.slice<@gradient.columns, 0, 224>] {{.*}}integers = array<i64: 4, 2, 4, 8, 0, 8, 1, 0, 16, 1>
// CHECK-NEXT: plan.dispatch "strided_copy" {{.*}} writes [#plan.slice<@gradient.columns, 32, 224>] {{.*}}integers = array<i64: 4, 2, 4, 8, 0, 8, 1, 0, 16, 1>
module @moved {
  func.func @micro(%x: tensor<4x8xf32> {nn.role = #nn.role<input "x">}, %i: tensor<3xi64> {nn.role = #nn.role<input "i">})
      -> (tensor<8x4xf32> {nn.role = #nn.role<gradient "transposed">}, tensor<16xf32> {nn.role = #nn.role<gradient "reversed">},
          tensor<9x8xf32> {nn.role = #nn.role<gradient "padded">}, tensor<8x8xf32> {nn.role = #nn.role<gradient "product">},
          tensor<2x8xf32> {nn.role = #nn.role<gradient "rows">}, tensor<4x16xf32> {nn.role = #nn.role<gradient "columns">}) {
    %t = nn.transpose %x [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
    %flat = nn.reshape %x : tensor<4x8xf32> to tensor<32xf32>
    %reversed = nn.slice %flat starts [31] strides [-2] : tensor<32xf32> to tensor<16xf32>
    %padded = nn.pad %x low [1, 0] high [1, 0] interior [1, 0] : tensor<4x8xf32> to tensor<9x8xf32>
    %t2 = nn.transpose %x [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
    %product = nn.matmul %t2, %x : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    %c = nn.constant dense<[1, 2, 3]> : tensor<3xi64>
    %gathered = nn.gather %x[%i] axis 0 : tensor<4x8xf32>, tensor<3xi64> -> tensor<3x8xf32>
    %scattered = nn.scatter_add %gathered[%c] axis 0 : tensor<3x8xf32>, tensor<3xi64> -> tensor<4x8xf32>
    %both = nn.concat %gathered, %scattered axis 0 : tensor<3x8xf32>, tensor<4x8xf32> -> tensor<7x8xf32>
    %front = nn.slice %both starts [1, 0] strides [1, 1] : tensor<7x8xf32> to tensor<2x8xf32>
    %rows = nn.group(%a = %front : tensor<2x8xf32>) -> (tensor<2x8xf32>) {
      %0 = nn.add %a, %a : tensor<2x8xf32>
      nn.yield %0 : tensor<2x8xf32>
    }
    %left = nn.slice %x starts [0, 0] strides [1, 1] : tensor<4x8xf32> to tensor<4x8xf32>
    %columns = nn.concat %left, %x axis 1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
    return %t, %reversed, %padded, %product, %rows, %columns
        : tensor<8x4xf32>, tensor<16xf32>, tensor<9x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>, tensor<4x16xf32>
  }
  func.func @update() {
    return
  }
}

// -----

// Constants: large splats are filled in, and so are new values of a state; others are stored, equal ones once. Groups that do
// the same share a kernel; a group's result takes the bytes of an operand that dies there and that it may overwrite.
// CHECK-LABEL: module @constants
// CHECK-COUNT-1: plan.state "frozen"
// CHECK-NOT: plan.state "frozen"
// CHECK-COUNT-1: plan.kernel @group_0
// CHECK-NOT: plan.kernel
// CHECK:       plan.section @micro_first
// CHECK-NEXT: plan.dispatch "fill" on compute reads [] writes [#plan.slice<@label_count, 0, 8>] {{.*}} {integers = array<i64: 8, 1, 8>, reals = array<f64>}
// CHECK-NEXT: plan.dispatch "fill" on compute reads [] writes [#plan.slice<@micro_first.2.constant, 0, 1088>] {{.*}} {integers = array<i64: 4, 272, 1056964608>, reals = array<f64>}
// CHECK-NEXT: plan.dispatch "group_0" on compute reads [#plan.slice<@micro_first.2.constant, 0, 1088>, #plan.slice<@constant.0, 0, 1088>] writes [#plan.slice<@micro_first.2.constant, 0, 1088>]
// CHECK-NEXT: plan.dispatch "group_0" on compute reads [#plan.slice<@micro_first.2.constant, 0, 1088>, #plan.slice<@input.x, 0, 1088>] writes [#plan.slice<@gradient.g, 0, 1088>]
module @constants {
  func.func @micro(%x: tensor<272xf32> {nn.role = #nn.role<input "x">})
      -> (tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<272xf32> {nn.role = #nn.role<gradient "g">}) {
    %count = nn.constant dense<8> : tensor<i64>
    %stored = nn.constant dense_resource<numbers> : tensor<272xf32>
    %half = nn.constant dense<0.5> : tensor<272xf32>
    %a = nn.group(%l = %half : tensor<272xf32>, %r = %stored : tensor<272xf32>) -> (tensor<272xf32>) {
      %0 = nn.add %l, %r : tensor<272xf32>
      nn.yield %0 : tensor<272xf32>
    }
    %b = nn.group(%l = %a : tensor<272xf32>, %r = %x : tensor<272xf32>) -> (tensor<272xf32>) {
      %0 = nn.add %l, %r : tensor<272xf32>
      nn.yield %0 : tensor<272xf32>
    }
    return %count, %b : tensor<i64>, tensor<272xf32>
  }
  func.func @update(%count: tensor<i64> {nn.role = #nn.role<label_count "">}) {
    return
  }
}

{-#
  dialect_resources: {
    builtin: {
      numbers: "0x040000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F"
    }
  }
#-}

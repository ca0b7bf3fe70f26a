// RUN: zero-opt %s --split-input-file --verify-diagnostics --plan-verify

// In place where that is right: elements that are read before they are written, a rank's part of a gather and of a sum, small sums; parts of one
// buffer that a kernel of the library goes through in strides.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @scale {body_function = @scale_body, items = 1 : i64}
  func.func private @scale_body(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.mul %x, %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64: 4, 16, 0>, reals = array<f64>}
    plan.dispatch "scale" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "scale" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    plan.collective all_gather f32 on compute <@bucket, 0, 64, rank_stride = 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
    plan.collective control_sum f32 on compute <@b, 0, 4> to <@b, 0, 4> staging <@scratch, 0, 4> waits [] {label = "loss_sum", sequence = 1 : i64, wire_bytes = 4 : i64}
    plan.dispatch "strided_copy" on compute reads [#plan.slice<@a, 0, 60>] writes [#plan.slice<@a, 4, 60>] waits [] {integers = array<i64: 4, 1, 8, 0, 2, 0, 2>, reals = array<f64>}
  }
}

// -----

// The workspace lies where the result does: the library keeps pointers there.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9472 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  // expected-note @+1 {{@b is here, from byte 256 of @device}}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  // expected-note @+1 {{@scratch is here, from byte 256 of @device}}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 256 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 0..32 of @b and writes bytes 0..9216 of @scratch, which overlap; plan-assign-offsets keeps apart what lives at once}}
    plan.dispatch "matmul" on compute reads [#plan.slice<@bucket, 0, 32>, #plan.slice<@bucket, 32, 16>] writes [#plan.slice<@b, 0, 32>, #plan.slice<@scratch, 0, 9216>] waits [] {integers = array<i64: 0, 1, 4, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2>, reals = array<f64>}
  }
}

// -----

// The same within one buffer.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  // expected-note @+1 {{@scratch is here}}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 64..96 of @scratch and writes bytes 0..9216 of @scratch, and cannot do so in place; zero-to-plan gives each its own bytes}}
    plan.dispatch "matmul" on compute reads [#plan.slice<@bucket, 0, 32>, #plan.slice<@bucket, 32, 16>] writes [#plan.slice<@scratch, 64, 32>, #plan.slice<@scratch, 0, 9216>] waits [] {integers = array<i64: 0, 1, 4, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2>, reals = array<f64>}
  }
}

// -----

// A kernel reads one buffer and writes another that overlaps it.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 256 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  // expected-note @+1 {{@a is here}}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  // expected-note @+1 {{@b is here}}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @scale {body_function = @scale_body, items = 1 : i64}
  func.func private @scale_body(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.mul %x, %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64: 4, 16, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 0..64 of @b and reads bytes 0..64 of @a, which overlap; plan-assign-offsets keeps apart what lives at once}}
    plan.dispatch "scale" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Shifted: elements are read after they were written.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  // expected-note @+1 {{@bucket is here}}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @scale {body_function = @scale_body, items = 1 : i64}
  func.func private @scale_body(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.mul %x, %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 4..68 of @bucket and reads bytes 0..64 of @bucket, and cannot do so in place; zero-to-plan gives each its own bytes}}
    plan.dispatch "scale" on compute reads [#plan.slice<@bucket, 0, 64>] writes [#plan.slice<@bucket, 4, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Transposed in place.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  // expected-note @+1 {{@a is here}}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @turn {body_function = @turn_body, items = 1 : i64}
  func.func private @turn_body(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = nn.transpose %x [1, 0] : tensor<4x4xf32> to tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64: 4, 16, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 0..64 of @a and reads bytes 0..64 of @a, and cannot do so in place}}
    plan.dispatch "turn" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// The last result of a kernel that walks its rows three times.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @row {body_function = @row_body, items = 4 : i64}
  func.func private @row_body(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %sum = nn.reduce sum %x axes [1] : tensor<4x4xf32> to tensor<4xf32>
    %sums = nn.broadcast %sum dims [0] : tensor<4xf32> to tensor<4x4xf32>
    %share = nn.mul %x, %sums : tensor<4x4xf32>
    %most = nn.reduce max %share axes [1] : tensor<4x4xf32> to tensor<4xf32>
    %mosts = nn.broadcast %most dims [0] : tensor<4xf32> to tensor<4x4xf32>
    %rest = nn.sub %x, %mosts : tensor<4x4xf32>
    return %share, %rest : tensor<4x4xf32>, tensor<4x4xf32>
  }
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64: 4, 16, 0>, reals = array<f64>}
    plan.dispatch "row" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>, #plan.slice<@a, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Its first result: rows are read again after it is written.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  // expected-note @+1 {{@a is here}}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.kernel @row {body_function = @row_body, items = 4 : i64}
  func.func private @row_body(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %sum = nn.reduce sum %x axes [1] : tensor<4x4xf32> to tensor<4xf32>
    %sums = nn.broadcast %sum dims [0] : tensor<4xf32> to tensor<4x4xf32>
    %share = nn.mul %x, %sums : tensor<4x4xf32>
    %most = nn.reduce max %share axes [1] : tensor<4x4xf32> to tensor<4xf32>
    %mosts = nn.broadcast %most dims [0] : tensor<4xf32> to tensor<4x4xf32>
    %rest = nn.sub %x, %mosts : tensor<4x4xf32>
    return %share, %rest : tensor<4x4xf32>, tensor<4x4xf32>
  }
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64: 4, 16, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 0..64 of @a and reads bytes 0..64 of @a, and cannot do so in place}}
    plan.dispatch "row" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@a, 0, 64>, #plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// A product in the place of its first matrix.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  // expected-note @+1 {{@bucket is here}}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 0..32 of @bucket and reads bytes 0..32 of @bucket, and cannot do so in place}}
    plan.dispatch "matmul" on compute reads [#plan.slice<@bucket, 0, 32>, #plan.slice<@bucket, 32, 16>] writes [#plan.slice<@bucket, 0, 32>, #plan.slice<@scratch, 0, 9216>] waits [] {integers = array<i64: 0, 1, 4, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2>, reals = array<f64>}
  }
}

// -----

// Gathered into another place than its own.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  // expected-note @+1 {{@bucket is here}}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 0..128 of @bucket and reads bytes 32..96 of @bucket, and cannot do so in place}}
    plan.collective all_gather f32 on compute <@bucket, 32, 64> to <@bucket, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// What the peers send arrives where this rank's own is.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  // expected-note @+1 {{@bucket is here}}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 64..128 of @bucket and reads bytes 0..128 of @bucket, and cannot do so in place}}
    plan.collective reduce_scatter f32 on compute <@bucket, 0, 128> to <@a, 0, 64> staging <@bucket, 64, 64> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
  }
}

// -----

// A copy onto a part of itself.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  // expected-note @+1 {{@bucket is here}}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 32..96 of @bucket and reads bytes 0..64 of @bucket, and cannot do so in place}}
    plan.copy on compute <@bucket, 0, 64> to <@bucket, 32, 64> waits [] {reason = "test"}
  }
}

// -----

// On one rank the parts are apart, on the next they are not.
module {
  zero.mesh @dp {size = 2 : i64}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 9536 : i64}
  plan.buffer @w in @device {content = #plan<content parameters>, label = "", offset = 0 : i64, size_bytes = 64 : i64, state}
  // expected-note @+1 {{@bucket is here}}
  plan.buffer @bucket in @device {content = #plan<content buckets>, label = "", offset = 64 : i64, size_bytes = 128 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @scratch in @device {content = #plan<content workspace>, label = "", offset = 320 : i64, size_bytes = 9216 : i64}
  plan.state "parameter" "b0" at <@w, 0, 64> {sharded}
  plan.section @micro_first {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@bucket, 0, 128>] waits [] {integers = array<i64: 4, 32, 0>, reals = array<f64>}
    // expected-error @+1 {{writes bytes 64..96 of @bucket and reads bytes 0..32 of @bucket, and cannot do so in place}}
    plan.copy on compute <@bucket, 0, 32, rank_stride = 64> to <@bucket, 64, 32> waits [] {reason = "test"}
  }
}

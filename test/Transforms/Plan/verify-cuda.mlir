// RUN: zero-opt %s --split-input-file --verify-diagnostics --plan-verify --plan-verify-kernels

// A kernel for GPUs is launched as its shape says: 16 elements, 4 a thread.
module attributes {plan.target = "cuda"} {
  plan.kernel @k {body_function = @body, items = 1 : i64, launch = #plan.launch<1, 32, 0>}
  func.func private @body(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.neg %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

module attributes {plan.target = "cuda"} {
  // expected-error @+1 {{kernel @k is launched as #plan.launch<1, 64, 0>, but its code is written for #plan.launch<1, 32, 0>}}
  plan.kernel @k {body_function = @body, items = 1 : i64, launch = #plan.launch<1, 64, 0>}
  func.func private @body(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.neg %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

module attributes {plan.target = "cuda"} {
  // expected-error @+1 {{kernel @k of target cuda does not say how it is launched}}
  plan.kernel @k {body_function = @body, items = 1 : i64}
  func.func private @body(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.neg %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

module {
  // expected-error @+1 {{kernel @k is launched as #plan.launch<1, 32, 0>, but the plan is for target cpu}}
  plan.kernel @k {body_function = @body, items = 1 : i64, launch = #plan.launch<1, 32, 0>}
  func.func private @body(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.neg %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// A product has the scratch that the plan promises it, as its last write.
module attributes {plan.cuda_workspace_bytes = 1024 : i64, plan.target = "cuda"} {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 768 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", offset = 512 : i64, size_bytes = 64 : i64}
  plan.section @predict {
    // expected-error @+1 {{gives kernel 'matmul' 3 slices, but it takes 4}}
    plan.dispatch "matmul" on compute reads [#plan.slice<@a, 0, 64>, #plan.slice<@b, 0, 64>] writes [#plan.slice<@c, 0, 64>] waits [] {integers = array<i64: 0, 1, 4, 4, 4, 0, 0, 16, 4, 16, 4, 16, 4>, reals = array<f64>}
  }
}

// -----

module attributes {plan.cuda_workspace_bytes = 1024 : i64, plan.target = "cuda"} {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 768 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", offset = 512 : i64, size_bytes = 64 : i64}
  plan.section @predict {
    // expected-error @+1 {{gives kernel 'matmul' slice #3 of 64 bytes, but it reaches over 1024}}
    plan.dispatch "matmul" on compute reads [#plan.slice<@a, 0, 64>, #plan.slice<@b, 0, 64>] writes [#plan.slice<@c, 0, 64>, #plan.slice<@b, 0, 64>] waits [] {integers = array<i64: 0, 1, 4, 4, 4, 0, 0, 16, 4, 16, 4, 16, 4>, reals = array<f64>}
  }
}

// -----

// So has a convolution where it is cuDNN's to compute; a generated one has none.
module attributes {plan.cuda_workspace_bytes = 1024 : i64, plan.cudnn_convolutions, plan.target = "cuda"} {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 768 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", offset = 512 : i64, size_bytes = 64 : i64}
  plan.section @predict {
    // expected-error @+1 {{gives kernel 'conv' 3 slices, but it takes 4}}
    plan.dispatch "conv" on compute reads [#plan.slice<@a, 0, 64>, #plan.slice<@b, 0, 4>] writes [#plan.slice<@c, 0, 64>] waits [] {integers = array<i64: 0, 1, 1, 1, 1, 1, 16, 1, 1, 0, 0, 1>, reals = array<f64>}
  }
}

// -----

module attributes {plan.cuda_workspace_bytes = 1024 : i64, plan.target = "cuda"} {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 768 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 64 : i64}
  plan.buffer @b in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
  plan.buffer @c in @device {content = #plan<content activations>, label = "", offset = 512 : i64, size_bytes = 64 : i64}
  plan.section @predict {
    // expected-error @+1 {{gives kernel 'conv' 4 slices, but it takes 3}}
    plan.dispatch "conv" on compute reads [#plan.slice<@a, 0, 64>, #plan.slice<@b, 0, 4>] writes [#plan.slice<@c, 0, 64>, #plan.slice<@b, 0, 64>] waits [] {integers = array<i64: 0, 1, 1, 1, 1, 1, 16, 1, 1, 0, 0, 1>, reals = array<f64>}
  }
}

// -----

// The library for GPUs says what it takes.
module attributes {plan.target = "cuda"} {
  plan.section @update {
    // expected-error @+1 {{there is no kernel 'fil'; the nearest known one is 'fill'}}
    plan.dispatch "fil" on compute reads [] writes [] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// Buffers start where cuBLASLt wants its workspaces.
module attributes {plan.target = "cuda"} {
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 512 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 0 : i64, size_bytes = 64 : i64}
  // expected-error @+1 {{buffer @b starts at byte 192, but buffers of target cuda start at multiples of 256}}
  plan.buffer @b in @device {content = #plan<content workspace>, label = "", offset = 192 : i64, size_bytes = 64 : i64}
}

// -----

// So an arena ends at a multiple of that, too.
module attributes {plan.target = "cuda"} {
  // expected-error @+1 {{arena @device has 320 bytes, but its buffers end at 512}}
  plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 320 : i64}
  plan.buffer @a in @device {content = #plan<content activations>, label = "", offset = 256 : i64, size_bytes = 64 : i64}
}

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

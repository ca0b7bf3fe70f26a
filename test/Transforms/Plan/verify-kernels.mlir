// RUN: zero-opt %s --split-input-file --verify-diagnostics --plan-verify-kernels

// Of the library with its parameters, and generated: nothing to say.
module {
  plan.kernel @group_0 {body_function = @group_0_body, items = 1 : i64}
  func.func private @group_0_body(%a: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.neg %a : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  plan.section @update {
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64: 4, 16, 0>, reals = array<f64>}
    plan.dispatch "group_0" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

module {
  plan.section @update {
    // expected-error @+1 {{there is no kernel 'fil'; the nearest known one is 'fill'}}
    plan.dispatch "fil" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64: 4, 16, 0>, reals = array<f64>}
  }
}

// -----

// A generated one may be meant, too.
module {
  plan.kernel @group_10 {body_function = @group_10_body, items = 1 : i64}
  func.func private @group_10_body(%a: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.neg %a : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  plan.section @update {
    // expected-error @+1 {{there is no kernel 'group_11'; the nearest known one is 'group_10'}}
    plan.dispatch "group_11" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// The library says what is wrong with its parameters.
module {
  plan.section @update {
    // expected-error @+1 {{kernel 'fill': }}
    plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits [] {integers = array<i64: 3, 16, 0>, reals = array<f64>}
  }
}

// -----

module {
  plan.kernel @group_0 {body_function = @group_0_body, items = 1 : i64}
  func.func private @group_0_body(%a: tensor<16xf32>) -> tensor<16xf32> {
    %0 = nn.neg %a : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  plan.section @update {
    // expected-error @+1 {{gives generated kernel 'group_0' parameters, of which it takes none}}
    plan.dispatch "group_0" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [] {integers = array<i64: 4>, reals = array<f64>}
  }
}

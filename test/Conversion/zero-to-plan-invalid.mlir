// RUN: zero-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --zero-to-plan

// expected-error @+1 {{module has no function @update; zero-to-plan takes a module of phase schedule}}
module {
  func.func @micro() {
    return
  }
}

// -----

module {
  // expected-error @+1 {{argument #0 of @micro has no role}}
  func.func @micro(%x: tensor<8xf32>) {
    return
  }
  func.func @update() {
    return
  }
}

// -----

module {
  // expected-error @+1 {{result #0 of @micro has no role}}
  func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
  func.func @update() {
    return
  }
}

// -----

module {
  // expected-error @+1 {{input 'x' has type 'tensor<?xf32>', neither a static tensor nor a bucket}}
  func.func @micro(%x: tensor<?xf32> {nn.role = #nn.role<input "x">}) {
    return
  }
  func.func @update() {
    return
  }
}

// -----

module {
  func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}) {
    return
  }
  // expected-error @+1 {{parameter 'w' has type 'tensor<4xf32>' in @update but 'tensor<8xf32>' elsewhere}}
  func.func @update(%w: tensor<4xf32> {nn.role = #nn.role<parameter "w">}) {
    return
  }
}

// -----

module {
  func.func @micro() {
    return
  }
  // expected-error @+1 {{argument 'learning_rate' of @update has no number in 'nn.data'}}
  func.func @update(%lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}) {
    return
  }
}

// -----

module {
  func.func @micro(%x: tensor<8xf32> {nn.role = #nn.role<input "x">}) {
    %at = nn.iota axis 0 : tensor<3x1xi64>
    // expected-error @+1 {{no kernel for 'nn.gather_nd' on target cpu}}
    %0 = nn.gather_nd %x[%at] : tensor<8xf32>, tensor<3x1xi64> -> tensor<3xf32>
    return
  }
  func.func @update() {
    return
  }
}

// -----

module {
  func.func @micro(%x: tensor<8x8xf32> {nn.role = #nn.role<input "x">}) {
    // expected-error @+1 {{no kernel for 'nn.group' on target cpu}}
    %0 = nn.group(%a = %x : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
      %1 = nn.transpose %a [1, 0] : tensor<8x8xf32> to tensor<8x8xf32>
      nn.yield %1 : tensor<8x8xf32>
    }
    return
  }
  func.func @update() {
    return
  }
}

// -----

module {
  // expected-error @+1 {{@micro has 2 blocks, a section is made of one}}
  func.func @micro() {
    "test.br"() [^next] : () -> ()
  ^next:
    return
  }
  func.func @update() {
    return
  }
}

// -----

// The rank's own count is read after the sum over ranks, so the sum cannot lie in the state that the executor reads.
module {
  zero.mesh @dp {size = 2 : i64}
  func.func @micro() {
    return
  }
  func.func @update(%c: tensor<i64> {nn.role = #nn.role<label_count "">}) -> (tensor<i64> {nn.role = #nn.role<momentum "own">}) {
    // expected-error @+1 {{the labels of all ranks are counted elsewhere than in their state: the rank's own count is read later}}
    %all = zero.control_sum %c on @dp : tensor<i64>
    return %c : tensor<i64>
  }
}

// -----

zero.mesh @dp {size = 2 : i64}
// expected-error @+1 {{parameter 'w' has elements of type 'f64', but gradients are summed over the 2 ranks as f32, f16 or bf16 only}}
zero.bucket @b0 on @dp {block = "", element = f64, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [64]>]}
func.func @micro() {
  return
}
func.func @update() {
  return
}

// RUN: zero-opt %s --split-input-file --verify-diagnostics --nn-verify-kernels

// Generated code is not asked.
func.func @passes(%x: tensor<4x4xf64>, %i: tensor<2xi32>) -> tensor<2x4xf64> {
  %0 = nn.matmul %x, %x : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  %1 = nn.gather %0[%i] axis 0 : tensor<4x4xf64>, tensor<2xi32> -> tensor<2x4xf64>
  return %1 : tensor<2x4xf64>
}

// -----

func.func @refuses(%x: tensor<4x4xf16>, %i: tensor<2xui8>, %b: tensor<2x4xi8>, %j: tensor<2xi64>, %q: tensor<1x2x2x4xf64>)
    -> (tensor<4x4xf16>, tensor<2x4xf16>, tensor<4x4xi8>, tensor<1x2x2x4xf64>) {
  %0 = nn.matmul %x, %x : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  // expected-error @below {{nn.gather: no kernel for indices of type ui8, only for i64 or i32}}
  %1 = nn.gather %x[%i] axis 0 : tensor<4x4xf16>, tensor<2xui8> -> tensor<2x4xf16>
  // expected-error @below {{nn.scatter_add: no kernel for elements of type i8, only for f32, f64, f16, bf16, i64 or i32}}
  %2 = nn.scatter_add %b[%j] axis 0 : tensor<2x4xi8>, tensor<2xi64> -> tensor<4x4xi8>
  // expected-error @below {{nn.attention: no kernel for elements of type f64, only for f32, f16 or bf16}}
  %3, %4 = nn.attention %q, %q, %q scale 0.5 causal
    : tensor<1x2x2x4xf64>, tensor<1x2x2x4xf64>, tensor<1x2x2x4xf64> -> tensor<1x2x2x4xf64>, tensor<1x2x2xf64>
  return %0, %1, %2, %3 : tensor<4x4xf16>, tensor<2x4xf16>, tensor<4x4xi8>, tensor<1x2x2x4xf64>
}

// -----

func.func @product_of_cpus(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{nn.group: holds a product, which programs for GPUs alone compute with what follows}}
  %0 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = nn.add %1, %a : tensor<4x4xf32>
    nn.yield %2 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

module attributes {plan.target = "cuda"} {
func.func @products(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %z: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = nn.add %1, %a : tensor<4x4xf32>
    nn.yield %2 : tensor<4x4xf32>
  }
  // expected-error @below {{nn.group: no kernel for its product: result #0 is none that a product's epilogue gives}}
  %3 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = nn.mul %1, %a : tensor<4x4xf32>
    nn.yield %2 : tensor<4x4xf32>
  }
  // expected-error @below {{nn.group: no kernel for its product: it does not hold one product}}
  %4 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = nn.matmul %1, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    nn.yield %2 : tensor<4x4xf32>
  }
  // expected-error @below {{nn.group: no kernel for its product: its product takes what the group computes}}
  %5 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = nn.relu %a : tensor<4x4xf32>
    %2 = nn.matmul %1, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    nn.yield %2 : tensor<4x4xf32>
  }
  // expected-error @below {{nn.group: no kernel for its product: several results are the same sum}}
  %6:2 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    nn.yield %1, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  // expected-error @below {{nn.group: no kernel for its product: what it sums over rows is neither an operand of its product nor the gradient of a GELU}}
  %7:2 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = nn.reduce sum %a axes [0] : tensor<4x4xf32> to tensor<4xf32>
    nn.yield %1, %2 : tensor<4x4xf32>, tensor<4xf32>
  }
  // expected-error @below {{nn.group: no kernel for its product: it sums rows of an operand and does more to the product}}
  %8:2 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>, %c = %z : tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %v = nn.broadcast %c dims [1] : tensor<4xf32> to tensor<4x4xf32>
    %s = nn.add %1, %v : tensor<4x4xf32>
    %2 = nn.reduce sum %b axes [0] : tensor<4x4xf32> to tensor<4xf32>
    nn.yield %s, %2 : tensor<4x4xf32>, tensor<4xf32>
  }
  // expected-error @below {{nn.group: no kernel for its product: no result is its product}}
  %9 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = nn.reduce sum %b axes [0] : tensor<4x4xf32> to tensor<4xf32>
    nn.yield %2 : tensor<4xf32>
  }
  return %0, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}
}

// -----

module attributes {plan.target = "cuda"} {
func.func @product_of_doubles(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
  // expected-error @below {{nn.group: no kernel for its product: its product is not one of matrices of f32, f16 or bf16}}
  %0 = nn.group(%a = %x : tensor<4x4xf64>) -> (tensor<4x4xf64>) {
    %1 = nn.matmul %a, %a : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
    %2 = nn.add %1, %a : tensor<4x4xf64>
    nn.yield %2 : tensor<4x4xf64>
  }
  return %0 : tensor<4x4xf64>
}
}

// -----

module attributes {plan.target = "cuda"} {
func.func @stored_beside_a_gelu(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{nn.group: no kernel for its product: what its GELU is applied to has rows of 4 elements, no multiple of 8}}
  %0:2 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %half = nn.constant dense<5.000000e-01> : tensor<4x4xf32>
    %one = nn.constant dense<1.000000e+00> : tensor<4x4xf32>
    %root = nn.constant dense<0.797884583> : tensor<4x4xf32>
    %cubic = nn.constant dense<4.471500e-02> : tensor<4x4xf32>
    %square = nn.mul %1, %1 : tensor<4x4xf32>
    %cube = nn.mul %square, %1 : tensor<4x4xf32>
    %term = nn.mul %cube, %cubic : tensor<4x4xf32>
    %sum = nn.add %1, %term : tensor<4x4xf32>
    %inner = nn.mul %sum, %root : tensor<4x4xf32>
    %tanh = nn.tanh %inner : tensor<4x4xf32>
    %first = nn.mul %1, %half : tensor<4x4xf32>
    %gate = nn.add %tanh, %one : tensor<4x4xf32>
    %gelu = nn.mul %first, %gate : tensor<4x4xf32>
    nn.yield %gelu, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  return %0#0 : tensor<4x4xf32>
}
}

// -----

module attributes {plan.target = "cuda"} {
func.func @matrix_below_a_gelu(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{nn.group: no kernel for its product: result #0 is none that a product's epilogue gives}}
  %0 = nn.group(%a = %x : tensor<4x4xf32>, %b = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = nn.matmul %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = nn.add %1, %a : tensor<4x4xf32>
    %half = nn.constant dense<5.000000e-01> : tensor<4x4xf32>
    %one = nn.constant dense<1.000000e+00> : tensor<4x4xf32>
    %root = nn.constant dense<0.797884583> : tensor<4x4xf32>
    %cubic = nn.constant dense<4.471500e-02> : tensor<4x4xf32>
    %square = nn.mul %2, %2 : tensor<4x4xf32>
    %cube = nn.mul %square, %2 : tensor<4x4xf32>
    %term = nn.mul %cube, %cubic : tensor<4x4xf32>
    %sum = nn.add %2, %term : tensor<4x4xf32>
    %inner = nn.mul %sum, %root : tensor<4x4xf32>
    %tanh = nn.tanh %inner : tensor<4x4xf32>
    %first = nn.mul %2, %half : tensor<4x4xf32>
    %gate = nn.add %tanh, %one : tensor<4x4xf32>
    %gelu = nn.mul %first, %gate : tensor<4x4xf32>
    nn.yield %gelu : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}
}

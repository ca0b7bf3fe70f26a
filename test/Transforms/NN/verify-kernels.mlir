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

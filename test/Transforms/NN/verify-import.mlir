// RUN: zero-opt %s --nn-verify-import --split-input-file --verify-diagnostics | FileCheck %s

// A module that keeps the contract is left as it is.
// CHECK-LABEL: func @forward(
// CHECK-NEXT:    nn.matmul
// CHECK-NEXT:    nn.cross_entropy
// CHECK-NEXT:    return
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %y: tensor<8xi64> {nn.role = #nn.role<label "y">},
                   %w: tensor<4x6xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<4x6xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %s, %c, %l = nn.cross_entropy %0, %y : tensor<8x6xf32>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<8xf32>
  return %s, %c : tensor<f32>, tensor<i64>
}

// -----

// expected-error @+1 {{phase import holds nothing but @forward and a zero.mesh}}
func.func @backward() {
  return
}

// -----

// expected-error @+1 {{phase import needs a function @forward}}
module {
}

// -----

// expected-error @+1 {{argument 0 of @forward has no nn.role}}
func.func @forward(%x: tensor<8x4xf32>) {
  return
}

// -----

// expected-error @+1 {{argument 0 of @forward has role 'gradient', which is not of phase import}}
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<gradient "w">}) {
  return
}

// -----

// expected-error @+1 {{input 'x' has type 'tensor<?x4xf32>'; nn-bind-batch should have made it static}}
func.func @forward(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) {
  return
}

// -----

// expected-note @+1 {{the first is here}}
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">},
                   // expected-error @+1 {{label 'x' is argument 1 and argument 0}}
                   %y: tensor<8xi64> {nn.role = #nn.role<label "x">}) {
  return
}

// -----

// expected-error @+1 {{parameter 'w' has no nn.data}}
func.func @forward(%w: tensor<4xf32> {nn.role = #nn.role<parameter "w">}) {
  return
}

// -----

// expected-error @+1 {{parameter 'w' has type 'tensor<1xi64>'; only floats are trained}}
func.func @forward(%w: tensor<1xi64> {nn.role = #nn.role<parameter "w">, nn.data = dense<1> : tensor<1xi64>}) {
  return
}

// -----

// expected-error @+1 {{@forward has no parameter to train}}
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}) {
  return
}

// -----

func.func @forward(%x: tensor<8xf32> {nn.role = #nn.role<input "x">},
                   %w: tensor<8xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<8xf32>}) {
  // expected-error @+1 {{'func.call' is not an op of the nn dialect}}
  func.call @forward(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> ()
  return
}

// -----

func.func @forward(%x: tensor<8xf32> {nn.role = #nn.role<input "x">},
                   %w: tensor<8xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<8xf32>}) {
  // expected-error @+1 {{computes with shapes; nn-bind-batch should have removed it}}
  %0 = nn.shape_of %x : tensor<8xf32> -> tensor<1xi64>
  return
}

// -----

func.func @forward(%x: tensor<8xf32> {nn.role = #nn.role<input "x">},
                   %w: tensor<8xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<8xf32>}) {
  // expected-error @+1 {{has a result of type 'tensor<?x4xf32>'; nn-bind-batch should have made it static}}
  %0 = nn.reshape %x : tensor<8xf32> to tensor<?x4xf32>
  return
}

// -----

// expected-error @+1 {{@forward returns 0 values, not the loss's 2}}
func.func @forward(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<8xf32>}) {
  return
}

// -----

// expected-error @+1 {{result 1 of @forward must have role 'label_count'}}
func.func @forward(%w: tensor<1xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<1xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64>) {
  %s, %c = nn.output_loss %w : tensor<1xf32> -> tensor<f32>, tensor<i64>
  return %s, %c : tensor<f32>, tensor<i64>
}

// -----

// A loss that another op reads is part of one that the model computes: this is one loss.
func.func @forward(%l: tensor<4xi64> {nn.role = #nn.role<label "l">},
                   %x: tensor<4x3xf32> {nn.role = #nn.role<parameter "x">, nn.data = dense<1.0> : tensor<4x3xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %n, %lse = nn.cross_entropy %x, %l : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>, tensor<i64>, tensor<4xf32>
  %neg = nn.neg %sum : tensor<f32>
  %s, %c = nn.output_loss %neg : tensor<f32> -> tensor<f32>, tensor<i64>
  return %s, %c : tensor<f32>, tensor<i64>
}

// -----

// expected-error @+1 {{@forward has 2 losses, not 1}}
func.func @forward(%w: tensor<1xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<1xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %s, %c = nn.output_loss %w : tensor<1xf32> -> tensor<f32>, tensor<i64>
  %t, %d = nn.output_loss %w : tensor<1xf32> -> tensor<f32>, tensor<i64>
  return %s, %d : tensor<f32>, tensor<i64>
}

// -----

func.func @forward(%w: tensor<1xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<1xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  // expected-note @+1 {{the loss is here}}
  %s, %c = nn.output_loss %w : tensor<1xf32> -> tensor<f32>, tensor<i64>
  %n = nn.neg %s : tensor<f32>
  // expected-error @+1 {{result 0 of @forward is not result 0 of its loss}}
  return %n, %c : tensor<f32>, tensor<i64>
}

// -----

// Outputs follow the loss's two, each once.
func.func @forward(%x: tensor<8xf32> {nn.role = #nn.role<input "x">},
                   %w: tensor<1xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<1xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<8xf32> {nn.batched, nn.role = #nn.role<output "x">}) {
  %s, %c = nn.output_loss %w : tensor<1xf32> -> tensor<f32>, tensor<i64>
  return %s, %c, %x : tensor<f32>, tensor<i64>, tensor<8xf32>
}

// -----

// Outputs alone need no parameter.
func.func @forward(%x: tensor<f32> {nn.role = #nn.role<input "x">}) -> (tensor<f32> {nn.role = #nn.role<output "y">}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{output 'y' is result 0 and result 1 of @forward}}
func.func @forward(%x: tensor<f32> {nn.role = #nn.role<input "x">})
    -> (tensor<f32> {nn.role = #nn.role<output "y">}, tensor<f32> {nn.role = #nn.role<output "y">}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{result 1 of @forward must have role 'output'}}
func.func @forward(%x: tensor<f32> {nn.role = #nn.role<input "x">}) -> (tensor<f32> {nn.role = #nn.role<output "y">}, tensor<f32>) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// RUN: zero-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// What a loss says of its labels, for those who read them.
// CHECK: nn.ignore_index = -100 : i64, nn.limit = 10 : i64
func.func @labels(%y: tensor<8xi64> {nn.role = #nn.role<label "y">, nn.limit = 10 : i64, nn.ignore_index = -100 : i64}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has nn.limit but is neither an input nor a label}}
func.func @parameter(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">, nn.limit = 10 : i64}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has nn.limit 1.000000e+01 : f64, not an i64}}
func.func @number(%y: tensor<8xi64> {nn.role = #nn.role<label "y">, nn.limit = 10.0 : f64}) {
  return
}

// -----

// A bucket has data for each slot.
// expected-error @+1 {{argument #0 has nn.data that is neither #nn.external, #nn.initial, #nn.missing nor elements}}
func.func @slots(%w: !zero.shard<@b> {nn.role = #nn.role<parameter "b">, nn.data = [#nn.external<"m.onnx", 0, 8, 1>, "w"]}) {
  return
}

// RUN: zero-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{argument #0 has nn.role "parameter", which is no #nn.role}}
func.func @role_kind(%x: tensor<4xf32> {nn.role = "parameter"}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has role learning_rate but 1 dimensions, not 0}}
func.func @role_scalar(%x: tensor<1xf32> {nn.role = #nn.role<learning_rate "">}) {
  return
}

// -----

// expected-error @+1 {{result #0 has role loss_sum but 1 dimensions, not 0}}
func.func @result_scalar(%x: tensor<1xf32>) -> (tensor<1xf32> {nn.role = #nn.role<loss_sum "">}) {
  return %x : tensor<1xf32>
}

// -----

// expected-error @+1 {{argument #0 has nn.data but is neither a parameter nor frozen}}
func.func @data_without_role(%x: tensor<1xf32> {nn.data = dense<1.0> : tensor<1xf32>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 holds 16 bytes but nn.data names 15 of file 'w.onnx'}}
func.func @data_length(%x: tensor<4xf32> {nn.role = #nn.role<parameter "w">, nn.data = #nn.external<"w.onnx", 0, 15, 7>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has type 'tensor<4xf32>' but its nn.data has 'tensor<5xf32>'}}
func.func @data_type(%x: tensor<4xf32> {nn.role = #nn.role<frozen "w">, nn.data = dense<1.0> : tensor<5xf32>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has nn.data that is neither #nn.external, #nn.initial, #nn.missing nor elements}}
func.func @data_kind(%x: tensor<4xf32> {nn.role = #nn.role<frozen "w">, nn.data = "w.onnx"}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has type 'tensor<4xf64>' but its nn.data makes 'f32'}}
func.func @initial_type(%x: tensor<4xf64> {nn.role = #nn.role<frozen "w">, nn.data = #nn.initial<normal 1.0 seed 7 : f32>}) {
  return
}

// -----

// expected-error @+1 {{starting values have a number of type 'f32', not f64}}
func.func @initial_number(%x: tensor<4xf32> {nn.role = #nn.role<frozen "w">, nn.data = #nn.initial<normal 1.0 : f32 seed 7 : f32>}) {
  return
}

// -----

// expected-error @+1 {{starting values are floats, not 'i32'}}
func.func @initial_integers(%x: tensor<4xi32> {nn.role = #nn.role<frozen "w">, nn.data = #nn.initial<normal 1.0 seed 7 : i32>}) {
  return
}

// -----

// expected-error @+1 {{starting values have the spread -1.000000e+00}}
func.func @initial_spread(%x: tensor<4xf32> {nn.role = #nn.role<frozen "w">, nn.data = #nn.initial<normal -1.0 seed 7 : f32>}) {
  return
}

// -----

// expected-error @+1 {{has nn.model "m.onnx"; it is a module's #nn.external}}
module attributes {nn.model = "m.onnx"} {
}

// -----

// expected-error @+1 {{argument #0 has unknown attribute 'nn.rol'}}
func.func @argument_unknown(%x: tensor<4xf32> {nn.rol = #nn.role<frozen "w">}) {
  return
}

// -----

// expected-error @+1 {{result #0 has unknown attribute 'nn.data'}}
func.func @result_unknown(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.data = dense<1.0> : tensor<4xf32>}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has attribute 'nn.role', which belongs on arguments and results of functions}}
func.func @misplaced() attributes {nn.role = #nn.role<frozen "w">} {
  return
}

// -----

// expected-error @+1 {{argument #0 is a step input but nn.data is dense<1.000000e+00> : tensor<f32>, not a number}}
func.func @step_input_data(%x: tensor<f32> {nn.role = #nn.role<learning_rate "">, nn.data = dense<1.0> : tensor<f32>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has nn.limit but is neither an input nor a label}}
func.func @limit_role(%x: tensor<4xi64> {nn.role = #nn.role<frozen "w">, nn.limit = 8 : i64}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has nn.limit 8 : i32, not an i64}}
func.func @limit_type(%x: tensor<4xi64> {nn.role = #nn.role<label "y">, nn.limit = 8 : i32}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has nn.batched but is no input}}
func.func @batched_label(%x: tensor<4xf32> {nn.batched, nn.role = #nn.role<label "y">}) {
  return
}

// -----

// expected-error @+1 {{result #0 has nn.batched but is no output}}
func.func @batched_result(%x: tensor<f32>) -> (tensor<f32> {nn.batched, nn.role = #nn.role<loss "">}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{argument #0 has nn.batched true, not a unit}}
func.func @batched_value(%x: tensor<4xf32> {nn.batched = true, nn.role = #nn.role<input "x">}) {
  return
}

// -----

// expected-error @+1 {{result #0 has nn.batched but no dimension}}
func.func @batched_scalar(%x: tensor<f32>) -> (tensor<f32> {nn.batched, nn.role = #nn.role<output "y">}) {
  return %x : tensor<f32>
}

// -----

// What is narrower than the argument, or no float, is not rounded to it.
// expected-error @+1 {{argument #0 holds 16 bytes but nn.data names 8 of file 'w.onnx'}}
func.func @data_widened(%x: tensor<4xf32> {nn.role = #nn.role<parameter "w">, nn.data = #nn.external<"w.onnx", 0, 8, 7>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 holds 8 bytes but nn.data names 16 of file 'w.onnx'}}
func.func @data_integers(%x: tensor<4xi16> {nn.role = #nn.role<frozen "w">, nn.data = #nn.external<"w.onnx", 0, 16, 7>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has type 'tensor<4xbf16>' but its nn.data has 'tensor<4xf16>'}}
func.func @data_other(%x: tensor<4xbf16> {nn.role = #nn.role<frozen "w">, nn.data = dense<1.0> : tensor<4xf16>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has type 'tensor<4xbf16>' but its nn.data makes 'f16'}}
func.func @initial_other(%x: tensor<4xbf16> {nn.role = #nn.role<frozen "w">, nn.data = #nn.initial<normal 1.0 seed 7 : f16>}) {
  return
}

// -----

// expected-error @+1 {{argument #0 is a state of type 'tensor<i64>' but nn.data is 2.000000e+00 : f64, not a number of its kind}}
func.func @state_number(%x: tensor<i64> {nn.role = #nn.role<scale_hysteresis "">, nn.data = 2.0}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has role loss_scale but 1 dimensions, not 0}}
func.func @state_shape(%x: tensor<1xf32> {nn.role = #nn.role<loss_scale "">, nn.data = 2.0}) {
  return
}

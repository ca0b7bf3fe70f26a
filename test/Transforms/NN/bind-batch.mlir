// RUN: zero-opt %s --nn-bind-batch=micro-batch=8 --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not zero-opt %s --nn-bind-batch=micro-batch=0 --split-input-file 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: micro-batch is 0, not 1 or more

// The batch is the first dimension of inputs and labels; shapes follow, broadcast_to and shape_of go.
// CHECK-LABEL: func @linear(
// CHECK-SAME:    %[[X:.*]]: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %{{.*}}: tensor<8xi64>
// CHECK-NEXT:    %[[M:.*]] = nn.matmul %[[X]], %{{.*}} : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT:    %[[B:.*]] = nn.broadcast %{{.*}} dims [1] : tensor<6xf32> to tensor<8x6xf32>
// CHECK-NEXT:    %[[L:.*]] = nn.add %[[M]], %[[B]] : tensor<8x6xf32>
// CHECK-NEXT:    nn.cross_entropy %[[L]]
// CHECK-SAME:      -> tensor<f32>, tensor<i64>, tensor<8xf32>
func.func @linear(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}, %y: tensor<?xi64> {nn.role = #nn.role<label "y">},
                  %w: tensor<4x6xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<4x6xf32>},
                  %b: tensor<6xf32> {nn.role = #nn.role<parameter "b">, nn.data = dense<1.0> : tensor<6xf32>})
    -> (tensor<f32>, tensor<i64>) {
  %0 = nn.matmul %x, %w : tensor<?x4xf32>, tensor<4x6xf32> -> tensor<?x6xf32>
  %1 = nn.shape_of %0 : tensor<?x6xf32> -> tensor<2xi64>
  %2 = nn.broadcast_to %b shape %1 : tensor<2xi64>, : tensor<6xf32> to tensor<?x6xf32>
  %3 = nn.add %0, %2 : tensor<?x6xf32>
  %s, %c, %l = nn.cross_entropy %3, %y : tensor<?x6xf32>, tensor<?xi64> -> tensor<f32>, tensor<i64>, tensor<?xf32>
  return %s, %c : tensor<f32>, tensor<i64>
}

// -----

// Every op's shape follows its operands'; a size may be what remains of a reshape, and a shape may be computed.
// CHECK-LABEL: func @shapes(
// CHECK:         nn.reshape %{{.*}} : tensor<8x6x4xf32> to tensor<48x4xf32>
// CHECK:         nn.slice %{{.*}} : tensor<8x6x4xf32> to tensor<8x3x4xf32>
// CHECK:         nn.transpose %{{.*}} [1, 0, 2] : tensor<8x3x4xf32> to tensor<3x8x4xf32>
// CHECK:         nn.pad {{.*}} : tensor<3x8x4xf32> to tensor<4x10x4xf32>
// CHECK:         nn.concat {{.*}} -> tensor<16x6x4xf32>
// CHECK:         nn.reduce sum {{.*}} : tensor<16x6x4xf32> to tensor<16x4xf32>
// CHECK:         nn.gather {{.*}} -> tensor<5x8x2xf32>
// CHECK:         nn.gather_nd {{.*}} -> tensor<8x4xf32>
// CHECK:         nn.broadcast {{.*}} : tensor<8x1xf32> to tensor<8x3xf32>
// CHECK:         nn.layer_norm {{.*}} -> tensor<8x6x4xf32>, tensor<8x6xf32>, tensor<8x6xf32>
// CHECK:         nn.attention {{.*}} -> tensor<8x6x2x2xf32>, tensor<8x2x6xf32>
// CHECK:         nn.reshape %{{.*}} : tensor<8x6x4xf32> to tensor<16x12xf32>
// CHECK-NOT:     nn.shape_of
func.func @shapes(%x: tensor<?x6x4xf32> {nn.role = #nn.role<input "x">}, %i: tensor<?x2xi64> {nn.role = #nn.role<input "i">},
                  %t: tensor<5x9xf32>, %w: tensor<4xf32>)
    -> (tensor<?x4xf32>, tensor<4x?x4xf32>, tensor<?x4xf32>, tensor<5x?x2xf32>, tensor<?x3xf32>, tensor<?x6x2x2xf32>, tensor<?x12xf32>) {
  %0 = nn.reshape %x : tensor<?x6x4xf32> to tensor<?x4xf32>
  %1 = nn.slice %x starts [0, 1, 0] strides [1, 2, 1] : tensor<?x6x4xf32> to tensor<?x3x4xf32>
  %2 = nn.transpose %1 [1, 0, 2] : tensor<?x3x4xf32> to tensor<3x?x4xf32>
  %3 = nn.pad %2 low [0, 1, 0] high [1, 1, 0] interior [0, 0, 0] : tensor<3x?x4xf32> to tensor<4x?x4xf32>
  %4 = nn.concat %x, %x axis 0 : tensor<?x6x4xf32>, tensor<?x6x4xf32> -> tensor<?x6x4xf32>
  %5 = nn.reduce sum %4 axes [1] : tensor<?x6x4xf32> to tensor<?x4xf32>
  %6 = nn.gather %t[%i] axis 1 : tensor<5x9xf32>, tensor<?x2xi64> -> tensor<5x?x2xf32>
  %7 = nn.gather_nd %x[%i] : tensor<?x6x4xf32>, tensor<?x2xi64> -> tensor<?x4xf32>
  %8 = nn.slice %7 starts [0, 0] strides [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %9 = nn.broadcast %8 dims [0, 1] : tensor<?x1xf32> to tensor<?x3xf32>
  %n, %m, %r = nn.layer_norm %x scale %w epsilon 1.0e-5 : tensor<?x6x4xf32>, tensor<4xf32> -> tensor<?x6x4xf32>, tensor<?x6xf32>, tensor<?x6xf32>
  %q = nn.reshape %n : tensor<?x6x4xf32> to tensor<?x6x2x2xf32>
  %a, %l = nn.attention %q, %q, %q scale 1.0 : tensor<?x6x2x2xf32>, tensor<?x6x2x2xf32>, tensor<?x6x2x2xf32> -> tensor<?x6x2x2xf32>, tensor<?x2x6xf32>
  %s = nn.shape_of %x : tensor<?x6x4xf32> -> tensor<3xi64>
  %s0 = nn.slice %s starts [0] strides [1] : tensor<3xi64> to tensor<1xi64>
  %two = nn.constant dense<2> : tensor<1xi64>
  %rows = nn.mul %s0, %two : tensor<1xi64>
  %rest = nn.constant dense<-1> : tensor<1xi64>
  %shape = nn.concat %rows, %rest axis 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
  %10 = nn.reshape %x shape %shape : tensor<2xi64>, : tensor<?x6x4xf32> to tensor<?x12xf32>
  return %0, %3, %5, %6, %9, %a, %10 : tensor<?x4xf32>, tensor<4x?x4xf32>, tensor<?x4xf32>, tensor<5x?x2xf32>, tensor<?x3xf32>, tensor<?x6x2x2xf32>, tensor<?x12xf32>
}

// -----

// Batch of a convolution and pooling; the spatial sizes of a transposed convolution are its type's.
// CHECK-LABEL: func @windows(
// CHECK:         nn.conv {{.*}} -> tensor<8x6x4xf32>
// CHECK:         nn.conv_transpose {{.*}} -> tensor<8x2x8xf32>
// CHECK:         nn.max_pool {{.*}} -> tensor<8x6x3xf32>, tensor<8x6x3xi64>
// CHECK:         nn.sum_pool {{.*}} to tensor<8x6x3xf32>
func.func @windows(%x: tensor<?x2x9xf32> {nn.role = #nn.role<input "x">}, %w: tensor<6x2x3xf32>)
    -> (tensor<?x2x8xf32>, tensor<?x6x3xf32>, tensor<?x6x3xf32>) {
  %0 = nn.conv %x, %w strides [2] low [0] high [1] dilations [1] : tensor<?x2x9xf32>, tensor<6x2x3xf32> -> tensor<?x6x4xf32>
  %1 = nn.conv_transpose %0, %w strides [2] low [0] high [1] dilations [1] : tensor<?x6x4xf32>, tensor<6x2x3xf32> -> tensor<?x2x8xf32>
  %2:2 = nn.max_pool %0 window [2] strides [1] low [0] high [0] dilations [1] : tensor<?x6x4xf32> -> tensor<?x6x3xf32>, tensor<?x6x3xi64>
  %3 = nn.sum_pool %0 window [2] strides [1] low [0] high [0] dilations [1] : tensor<?x6x4xf32> to tensor<?x6x3xf32>
  return %1, %2#0, %3 : tensor<?x2x8xf32>, tensor<?x6x3xf32>, tensor<?x6x3xf32>
}

// -----

// CHECK-LABEL: func @scatters(
// CHECK:         nn.scatter add {{.*}} : tensor<8x6x4xf32>, tensor<8x2x4xf32>, tensor<2xi64>
// CHECK:         nn.top_k {{.*}} : tensor<8x6x4xf32> -> tensor<8x3x4xi64>
func.func @scatters(%x: tensor<?x6x4xf32> {nn.role = #nn.role<input "x">}, %i: tensor<2xi64>) -> tensor<?x3x4xi64> {
  %0 = nn.slice %x starts [0, 1, 0] strides [1, 1, 1] : tensor<?x6x4xf32> to tensor<?x2x4xf32>
  %1 = nn.scatter add %x, %0[%i] axis 1 : tensor<?x6x4xf32>, tensor<?x2x4xf32>, tensor<2xi64>
  %2 = nn.top_k %1 axis 1 : tensor<?x6x4xf32> -> tensor<?x3x4xi64>
  return %2 : tensor<?x3x4xi64>
}

// -----

// A shape that is read as data is a constant; broadcast_to repeats both ways.
// CHECK-LABEL: func @both_ways(
// CHECK-DAG:     nn.constant dense<[8, 1]> : tensor<2xi64>
// CHECK-DAG:     nn.broadcast %{{.*}} dims [0, 1] : tensor<8x1xf32> to tensor<8x5xf32>
func.func @both_ways(%x: tensor<?x1xf32> {nn.role = #nn.role<input "x">}) -> (tensor<2xi64>, tensor<?x5xf32>) {
  %0 = nn.shape_of %x : tensor<?x1xf32> -> tensor<2xi64>
  %1 = nn.constant dense<[1, 5]> : tensor<2xi64>
  %2 = nn.broadcast_to %x shape %1 : tensor<2xi64>, : tensor<?x1xf32> to tensor<?x5xf32>
  return %0, %2 : tensor<2xi64>, tensor<?x5xf32>
}

// -----

// What is static already stays.
// CHECK-LABEL: func @static(
// CHECK-SAME:    tensor<8x4xf32>
// CHECK-NEXT:    nn.relu %{{.*}} : tensor<8x4xf32>
func.func @static(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<8x4xf32> {
  %0 = nn.relu %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// expected-error @+1 {{input 'x' has the fixed first dimension 12 but the micro-batch is 8}}
func.func @fixed(%x: tensor<12x4xf32> {nn.role = #nn.role<input "x">}) {
  return
}

// -----

// expected-error @+1 {{label 'y' has no first dimension to be the batch}}
func.func @scalar(%x: tensor<i64> {nn.role = #nn.role<label "y">}) {
  return
}

// -----

// expected-error @+1 {{dimension 1 of input 'x' is an unbound symbol}}
func.func @unbound(%x: tensor<?x?xf32> {nn.role = #nn.role<input "x">}) {
  return
}

// -----

func.func @data(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">},
                // expected-note @+1 {{it is computed from this argument}}
                %n: tensor<?xi64> {nn.role = #nn.role<input "n">}) -> tensor<?x?x?x?x?x?x?x?xf32> {
  // expected-error @+1 {{has a shape that depends on data}}
  %0 = nn.reshape %x shape %n : tensor<?xi64>, : tensor<?x4xf32> to tensor<?x?x?x?x?x?x?x?xf32>
  return %0 : tensor<?x?x?x?x?x?x?x?xf32>
}

// -----

func.func @large(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<?xf32> {
  %0 = nn.iota axis 0 : tensor<5000xi64>
  %1 = nn.reduce max %0 axes [0] : tensor<5000xi64> to tensor<i64>
  %2 = nn.reshape %1 : tensor<i64> to tensor<1xi64>
  // expected-error @+1 {{has a shape that depends on 'nn.reduce', which is not arithmetic of small constants}}
  %3 = nn.reshape %x shape %2 : tensor<1xi64>, : tensor<?x4xf32> to tensor<?xf32>
  return %3 : tensor<?xf32>
}

// -----

func.func @elements(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<?x5xf32> {
  // expected-error @+1 {{cannot give the 32 elements of shape [8, 4] the shape [?, 5]}}
  %0 = nn.reshape %x : tensor<?x4xf32> to tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// -----

func.func @two_unknown(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<?x?xf32> {
  // expected-error @+1 {{has two sizes that nothing says: [?, ?]}}
  %0 = nn.reshape %x : tensor<?x4xf32> to tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

func.func @negative(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<?x?xf32> {
  %0 = nn.constant dense<[4, -2]> : tensor<2xi64>
  // expected-error @+1 {{has the size -2 in its shape}}
  %1 = nn.reshape %x shape %0 : tensor<2xi64>, : tensor<?x4xf32> to tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// -----

func.func @copied(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<?x?x?xf32> {
  %0 = nn.constant dense<[4, -1, 0]> : tensor<3xi64>
  // expected-error @+1 {{copies dimension 2 of an operand of shape [8, 4]}}
  %1 = nn.reshape %x shape %0 : tensor<3xi64>, : tensor<?x4xf32> to tensor<?x?x?xf32>
  return %1 : tensor<?x?x?xf32>
}

// -----

func.func @broadcast(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<?x?xf32> {
  %0 = nn.constant dense<[3, 4]> : tensor<2xi64>
  // expected-error @+1 {{cannot broadcast an operand of shape [8, 4] to the shape [3, 4]}}
  %1 = nn.broadcast_to %x shape %0 : tensor<2xi64>, : tensor<?x4xf32> to tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// -----

func.func @differ(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<?x4xf32> {
  %0 = nn.reshape %x : tensor<?x4xf32> to tensor<?x2xf32>
  %1 = nn.concat %0, %0 axis 1 : tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x4xf32>
  // expected-error @+1 {{operand 0 has shape [8, 4] and operand 1 has shape [16, 4] once the batch is bound}}
  %2 = nn.add %x, %1 : tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}

// -----

func.func @cut(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<?x4xf32> {
  // expected-error @+1 {{has an unknown size at dimension 0, which it does not keep whole}}
  %0 = nn.slice %x starts [1, 0] strides [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @iota() -> tensor<?xi64> {
  // expected-error @+1 {{result has type 'tensor<?xi64>', whose unknown sizes its operands do not say}}
  %0 = nn.iota axis 0 : tensor<?xi64>
  return %0 : tensor<?xi64>
}

// -----

// Without a loss an input is batched where its first dimension is symbolic; others keep their shapes, 0-d ones too.
// CHECK-LABEL: func @predicts(
// CHECK-SAME:    %{{.*}}: tensor<8x4xf32> {nn.batched, nn.role = #nn.role<input "x">}
// CHECK-SAME:    %{{.*}}: tensor<3x4xf32> {nn.role = #nn.role<input "table">}
// CHECK-SAME:    %{{.*}}: tensor<f32> {nn.role = #nn.role<input "scale">}
// CHECK-SAME:    -> (tensor<8x4xf32> {nn.batched, nn.role = #nn.role<output "y">}, tensor<3x4xf32> {nn.role = #nn.role<output "z">})
func.func @predicts(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}, %table: tensor<3x4xf32> {nn.role = #nn.role<input "table">},
                    %scale: tensor<f32> {nn.role = #nn.role<input "scale">})
    -> (tensor<?x4xf32> {nn.batched, nn.role = #nn.role<output "y">}, tensor<3x4xf32> {nn.role = #nn.role<output "z">}) {
  %0 = nn.neg %x : tensor<?x4xf32>
  %1 = nn.broadcast %scale dims [] : tensor<f32> to tensor<3x4xf32>
  %2 = nn.mul %table, %1 : tensor<3x4xf32>
  return %0, %2 : tensor<?x4xf32>, tensor<3x4xf32>
}

// -----

func.func @too_many(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}) -> tensor<9x4xi64> {
  // expected-error @+1 {{takes 9 elements of dimension 0, which has 8 once the batch is bound}}
  %0 = nn.top_k %x axis 0 : tensor<?x4xf32> -> tensor<9x4xi64>
  return %0 : tensor<9x4xi64>
}

// -----

// What the loss does not need and cannot be bound is left out, with what depends on it; other outputs stay.
// CHECK-LABEL: func @left_out(
// CHECK-SAME:    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<8x1xf32> {nn.batched, nn.role = #nn.role<output "x">})
// CHECK-NOT:     nn.reshape
// CHECK:         return
func.func @left_out(%x: tensor<?x1xf32> {nn.role = #nn.role<input "x">}, %n: tensor<?xi64> {nn.role = #nn.role<input "n">},
                    %w: tensor<1xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<1.0> : tensor<1xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<?x?xf32> {nn.role = #nn.role<output "late">}, tensor<?x1xf32> {nn.batched, nn.role = #nn.role<output "x">}) {
  %s, %c = nn.output_loss %w : tensor<1xf32> -> tensor<f32>, tensor<i64>
  %0 = nn.slice %n starts [0] strides [1] : tensor<?xi64> to tensor<2xi64>
  %1 = nn.reshape %x shape %0 : tensor<2xi64>, : tensor<?x1xf32> to tensor<?x?xf32>
  // expected-remark @below {{output 'late' is left out of predictions: 'nn.reshape' op has a shape that depends on data}}
  %2 = nn.neg %1 : tensor<?x?xf32>
  return %s, %c, %2, %x : tensor<f32>, tensor<i64>, tensor<?x?xf32>, tensor<?x1xf32>
}

// -----

func.func @updates(%x: tensor<?x4xf32> {nn.role = #nn.role<input "x">}, %u: tensor<7x2xf32>, %i: tensor<2xi64>) -> tensor<?x4xf32> {
  // expected-error @+1 {{has updates of shape [7, 2] where data and indices give [8, 2] once the batch is bound}}
  %0 = nn.scatter assign %x, %u[%i] axis 1 : tensor<?x4xf32>, tensor<7x2xf32>, tensor<2xi64>
  return %0 : tensor<?x4xf32>
}

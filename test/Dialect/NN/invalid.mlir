// RUN: zero-opt %s -split-input-file -verify-diagnostics

// Every message of the verifiers, one function each.

func.func @broadcast_dims_count(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{dims has 1 entries but the operand has 2 dimensions}}
  %0 = nn.broadcast %x dims [1] : tensor<3x4xf32> to tensor<2x3x4xf32>
  return
}

// -----

func.func @broadcast_dims_range(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{dims[1] is 3, outside [0, 3)}}
  %0 = nn.broadcast %x dims [1, 3] : tensor<3x4xf32> to tensor<2x3x4xf32>
  return
}

// -----

func.func @broadcast_dims_order(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{dims must increase but 2 stands before 1}}
  %0 = nn.broadcast %x dims [2, 1] : tensor<3x4xf32> to tensor<2x4x3xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{operand dimension 1 has size 4 but result dimension 2 has size 5}}
  %0 = nn.broadcast %x dims [1, 2] : tensor<3x4xf32> to tensor<2x3x5xf32>
  return
}

// -----

func.func @broadcast_element(%x: tensor<3xf32>) {
  // expected-error @+1 {{result has element type 'f16' but the operand has 'f32'}}
  %0 = nn.broadcast %x dims [0] : tensor<3xf32> to tensor<3x2xf16>
  return
}

// -----

func.func @reshape_elements(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{operand has 12 elements but the result has 10}}
  %0 = nn.reshape %x : tensor<3x4xf32> to tensor<10xf32>
  return
}

// -----

func.func @reshape_shape_entries(%x: tensor<3x4xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{shape operand has 2 entries but the result has 1 dimensions}}
  %0 = nn.reshape %x shape %s : tensor<2xi64>, : tensor<3x4xf32> to tensor<?xf32>
  return
}

// -----

func.func @reshape_allow_zero(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{has allow_zero but no shape operand}}
  %0 = nn.reshape %x {allow_zero} : tensor<3x4xf32> to tensor<12xf32>
  return
}

// -----

func.func @shape_of_entries(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{result has shape [3] but the operand's dimensions give [2]}}
  %0 = nn.shape_of %x : tensor<3x4xf32> -> tensor<3xi64>
  return
}

// -----

func.func @broadcast_to_rank(%x: tensor<3x4xf32>, %s: tensor<3xi64>) {
  // expected-error @+1 {{result has 2 dimensions but operand and shape give 3}}
  %0 = nn.broadcast_to %x shape %s : tensor<3xi64>, : tensor<3x4xf32> to tensor<?x?xf32>
  return
}

// -----

func.func @broadcast_to_element(%x: tensor<3x4xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{result has element type 'f64' but the operand has 'f32'}}
  %0 = nn.broadcast_to %x shape %s : tensor<2xi64>, : tensor<3x4xf32> to tensor<?x?xf64>
  return
}

// -----

func.func @transpose_count(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{permutation has 3 entries but the operand has 2 dimensions}}
  %0 = nn.transpose %x [0, 1, 2] : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @transpose_range(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{permutation[1] is 2, outside [0, 2)}}
  %0 = nn.transpose %x [0, 2] : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @transpose_twice(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{permutation names dimension 0 twice}}
  %0 = nn.transpose %x [0, 0] : tensor<3x4xf32> to tensor<3x3xf32>
  return
}

// -----

func.func @transpose_shape(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{result has shape [3, 4] but the permuted operand has [4, 3]}}
  %0 = nn.transpose %x [1, 0] : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{result has 1 dimensions but the operand has 2}}
  %0 = nn.slice %x starts [0, 0] strides [1, 1] : tensor<3x4xf32> to tensor<3xf32>
  return
}

// -----

func.func @slice_entries(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{starts has 2 entries and strides 1 but the operand has 2 dimensions}}
  %0 = nn.slice %x starts [0, 0] strides [1] : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<3xf32>) {
  // expected-error @+1 {{strides[0] is 0}}
  %0 = nn.slice %x starts [0] strides [0] : tensor<3xf32> to tensor<1xf32>
  return
}

// -----

func.func @slice_start(%x: tensor<3xf32>) {
  // expected-error @+1 {{starts[0] is -1, below 0}}
  %0 = nn.slice %x starts [-1] strides [1] : tensor<3xf32> to tensor<1xf32>
  return
}

// -----

func.func @slice_bounds(%x: tensor<8xf32>) {
  // expected-error @+1 {{dimension 0: 3 elements from 4 by stride 2 leave the operand's 8}}
  %0 = nn.slice %x starts [4] strides [2] : tensor<8xf32> to tensor<3xf32>
  return
}

// -----

func.func @slice_overflow(%x: tensor<8xf32>) {
  // expected-error @+1 {{dimension 0: 3 elements from 4 by stride 9223372036854775807 leave the operand's 8}}
  %0 = nn.slice %x starts [4] strides [9223372036854775807] : tensor<8xf32> to tensor<3xf32>
  return
}

// -----

func.func @pad_entries(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{high has 1 entries but the operand has 2 dimensions}}
  %0 = nn.pad %x low [0, 0] high [0] interior [0, 0] : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<3xf32>) {
  // expected-error @+1 {{low[0] is -1, below 0}}
  %0 = nn.pad %x low [-1] high [0] interior [0] : tensor<3xf32> to tensor<2xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<3xi8>) {
  // expected-error @+1 {{value 3.000000e+02 is no 'i8'}}
  %0 = nn.pad %x low [1] high [0] interior [0] {value = 300.0 : f64} : tensor<3xi8> to tensor<4xi8>
  return
}

// -----

func.func @pad_shape(%x: tensor<3xf32>) {
  // expected-error @+1 {{result has shape [9] but the padded operand has [8]}}
  %0 = nn.pad %x low [1] high [2] interior [1] : tensor<3xf32> to tensor<9xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error @+1 {{needs at least 1 operand but has 0}}
  %0 = "nn.concat"() {axis = 0 : i64} : () -> tensor<0xf32>
  return
}

// -----

func.func @concat_axis(%x: tensor<3xf32>) {
  // expected-error @+1 {{axis 1 is outside [0, 1)}}
  %0 = nn.concat %x axis 1 : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @concat_element(%x: tensor<3xf32>, %y: tensor<3xf64>) {
  // expected-error @+1 {{operand #1 has element type 'f64' but the result has 'f32'}}
  %0 = nn.concat %x, %y axis 0 : tensor<3xf32>, tensor<3xf64> -> tensor<6xf32>
  return
}

// -----

func.func @concat_rank(%x: tensor<3xf32>, %y: tensor<3x1xf32>) {
  // expected-error @+1 {{operand #1 has 2 dimensions but the result has 1}}
  %0 = nn.concat %x, %y axis 0 : tensor<3xf32>, tensor<3x1xf32> -> tensor<6xf32>
  return
}

// -----

func.func @concat_shape(%x: tensor<3x2xf32>, %y: tensor<3x1xf32>) {
  // expected-error @+1 {{operand #1 has shape [3, 1] but the result gives [3, 2]}}
  %0 = nn.concat %x, %y axis 0 : tensor<3x2xf32>, tensor<3x1xf32> -> tensor<6x2xf32>
  return
}

// -----

func.func @concat_size(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{operands have 6 elements along axis 0 but the result has 7}}
  %0 = nn.concat %x, %x axis 0 : tensor<3x2xf32>, tensor<3x2xf32> -> tensor<7x2xf32>
  return
}

// -----

func.func @gather_shape(%x: tensor<5x7xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{result has shape [7, 2] but data and indices give [2, 7]}}
  %0 = nn.gather %x[%i] axis 0 : tensor<5x7xf32>, tensor<2xi64> -> tensor<7x2xf32>
  return
}

// -----

func.func @gather_axis(%x: tensor<5x7xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{axis -1 is outside [0, 2)}}
  %0 = nn.gather %x[%i] axis -1 : tensor<5x7xf32>, tensor<2xi64> -> tensor<5x2xf32>
  return
}

// -----

func.func @scatter_shape(%x: tensor<3x7xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{updates has shape [3, 7] but result and indices give [2, 7]}}
  %0 = nn.scatter_add %x[%i] axis 0 : tensor<3x7xf32>, tensor<2xi64> -> tensor<5x7xf32>
  return
}

// -----

func.func @gather_nd_batch(%x: tensor<5x7xf32>, %i: tensor<5x1xi64>) {
  // expected-error @+1 {{batch_dims is 2, outside [0, 1]}}
  %0 = nn.gather_nd %x[%i] {batch_dims = 2 : i64} : tensor<5x7xf32>, tensor<5x1xi64> -> tensor<5xf32>
  return
}

// -----

func.func @gather_nd_unknown(%x: tensor<5x7xf32>, %i: tensor<5x?xi64>) {
  // expected-error @+1 {{indices have a last dimension of unknown size}}
  %0 = nn.gather_nd %x[%i] : tensor<5x7xf32>, tensor<5x?xi64> -> tensor<5xf32>
  return
}

// -----

func.func @gather_nd_tuple(%x: tensor<5x7xf32>, %i: tensor<5x3xi64>) {
  // expected-error @+1 {{index tuples have 3 entries but data has 2 dimensions to index}}
  %0 = nn.gather_nd %x[%i] : tensor<5x7xf32>, tensor<5x3xi64> -> tensor<5xf32>
  return
}

// -----

func.func @gather_nd_batch_shape(%x: tensor<5x7xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+1 {{indices' batch has shape [4] but data's batch is [5]}}
  %0 = nn.gather_nd %x[%i] {batch_dims = 1 : i64} : tensor<5x7xf32>, tensor<4x1xi64> -> tensor<4xf32>
  return
}

// -----

func.func @gather_nd_shape(%x: tensor<5x7xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+1 {{result has shape [4] but data and indices give [4, 7]}}
  %0 = nn.gather_nd %x[%i] : tensor<5x7xf32>, tensor<4x1xi64> -> tensor<4xf32>
  return
}

// -----

func.func @scatter_axis(%x: tensor<5x7xf32>, %u: tensor<2x7xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{axis 2 is outside [0, 2)}}
  %0 = nn.scatter add %x, %u[%i] axis 2 : tensor<5x7xf32>, tensor<2x7xf32>, tensor<2xi64>
  return
}

// -----

func.func @scatter_element(%x: tensor<5x7xf32>, %u: tensor<2x7xf64>, %i: tensor<2xi64>) {
  // expected-error @+1 {{updates has element type 'f64' but data has 'f32'}}
  %0 = nn.scatter add %x, %u[%i] axis 0 : tensor<5x7xf32>, tensor<2x7xf64>, tensor<2xi64>
  return
}

// -----

func.func @scatter_updates(%x: tensor<5x7xf32>, %u: tensor<3x7xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{updates has shape [3, 7] but data and indices give [2, 7]}}
  %0 = nn.scatter assign %x, %u[%i] axis 0 : tensor<5x7xf32>, tensor<3x7xf32>, tensor<2xi64>
  return
}

// -----

func.func @scatter_bits(%x: tensor<5xi1>, %u: tensor<2xi1>, %i: tensor<2xi64>) {
  // expected-error @+1 {{kind mul has no meaning for i1}}
  %0 = nn.scatter mul %x, %u[%i] axis 0 : tensor<5xi1>, tensor<2xi1>, tensor<2xi64>
  return
}

// -----

func.func @top_k_axis(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{axis -1 is outside [0, 2)}}
  %0 = nn.top_k %x axis -1 : tensor<5x7xf32> -> tensor<5x3xi64>
  return
}

// -----

func.func @top_k_rank(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{result has 1 dimensions but the operand has 2}}
  %0 = nn.top_k %x axis 0 : tensor<5x7xf32> -> tensor<3xi64>
  return
}

// -----

func.func @top_k_many(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{result has 8 elements along axis 1 but the operand only 7}}
  %0 = nn.top_k %x axis 1 : tensor<5x7xf32> -> tensor<5x8xi64>
  return
}

// -----

func.func @top_k_shape(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{result has shape [4, 3] but the operand gives [5, 3]}}
  %0 = nn.top_k %x axis 1 : tensor<5x7xf32> -> tensor<4x3xi64>
  return
}

// -----

func.func @reduce_axes(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{axes[0] is 2, outside [0, 2)}}
  %0 = nn.reduce sum %x axes [2] : tensor<5x7xf32> to tensor<5xf32>
  return
}

// -----

func.func @reduce_shape(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{result has shape [7] but the reduced operand has [5]}}
  %0 = nn.reduce sum %x axes [1] : tensor<5x7xf32> to tensor<7xf32>
  return
}

// -----

func.func @cumsum_axis(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{axis 2 is outside [0, 2)}}
  %0 = nn.cumsum %x axis 2 : tensor<5x7xf32>
  return
}

// -----

func.func @softmax_axis(%x: tensor<5x7xf32>) {
  // expected-error @+1 {{axis 2 is outside [0, 2)}}
  %0 = nn.softmax %x axis 2 : tensor<5x7xf32>
  return
}

// -----

func.func @iota_axis() {
  // expected-error @+1 {{axis 0 is outside [0, 0)}}
  %0 = nn.iota axis 0 : tensor<i64>
  return
}

// -----

func.func @matmul_rank(%x: tensor<5x7xf32>, %y: tensor<1x7x3xf32>) {
  // expected-error @+1 {{lhs has 2 dimensions and rhs 3; they must have equally many, 2 or more}}
  %0 = nn.matmul %x, %y : tensor<5x7xf32>, tensor<1x7x3xf32> -> tensor<5x3xf32>
  return
}

// -----

func.func @matmul_contracted(%x: tensor<5x7xf32>, %y: tensor<6x3xf32>) {
  // expected-error @+1 {{lhs contracts 7 elements but rhs 6}}
  %0 = nn.matmul %x, %y : tensor<5x7xf32>, tensor<6x3xf32> -> tensor<5x3xf32>
  return
}

// -----

func.func @matmul_batch(%x: tensor<2x5x7xf32>, %y: tensor<3x7x3xf32>) {
  // expected-error @+1 {{rhs's batch has shape [3] but lhs's is [2]}}
  %0 = nn.matmul %x, %y : tensor<2x5x7xf32>, tensor<3x7x3xf32> -> tensor<2x5x3xf32>
  return
}

// -----

func.func @matmul_shape(%x: tensor<5x7xf32>, %y: tensor<3x7xf32>) {
  // expected-error @+1 {{result has shape [5, 7] but the operands give [5, 3]}}
  %0 = nn.matmul %x, %y transpose_rhs : tensor<5x7xf32>, tensor<3x7xf32> -> tensor<5x7xf32>
  return
}

// -----

func.func @matmul_element(%x: tensor<5x7xf32>, %y: tensor<7x3xf32>) {
  // expected-error @+1 {{result has element type 'bf16' but lhs has 'f32'}}
  %0 = nn.matmul %x, %y : tensor<5x7xf32>, tensor<7x3xf32> -> tensor<5x3xbf16>
  return
}

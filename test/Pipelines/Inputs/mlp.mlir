// Two layers as zero-import writes them: the batch is symbolic.
func.func @forward(%x: tensor<?x8xf32> {nn.role = #nn.role<input "x">},
                   %y: tensor<?xi64> {nn.role = #nn.role<label "y">},
                   %w0: tensor<8x16xf32> {nn.role = #nn.role<parameter "h.0.weight">, nn.data = dense<0.125> : tensor<8x16xf32>},
                   %b0: tensor<16xf32> {nn.role = #nn.role<parameter "h.0.bias">, nn.data = dense<0.0> : tensor<16xf32>},
                   %w1: tensor<16x4xf32> {nn.role = #nn.role<parameter "h.1.weight">, nn.data = dense<0.25> : tensor<16x4xf32>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.matmul %x, %w0 : tensor<?x8xf32>, tensor<8x16xf32> -> tensor<?x16xf32>
  %shape = nn.shape_of %0 : tensor<?x16xf32> -> tensor<2xi64>
  %1 = nn.broadcast_to %b0 shape %shape : tensor<2xi64>, : tensor<16xf32> to tensor<?x16xf32>
  %2 = nn.add %0, %1 : tensor<?x16xf32>
  %3 = nn.tanh %2 : tensor<?x16xf32>
  %4 = nn.matmul %3, %w1 : tensor<?x16xf32>, tensor<16x4xf32> -> tensor<?x4xf32>
  %sum, %count, %lse = nn.cross_entropy %4, %y : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>, tensor<i64>, tensor<?xf32>
  return %sum, %count : tensor<f32>, tensor<i64>
}

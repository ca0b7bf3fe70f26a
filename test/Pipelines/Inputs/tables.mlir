// Rows of two tables of one block are added, in phase import: what is taken first is added last.
module {
  func.func @forward(%x: tensor<1x6x8xf32> {nn.role = #nn.role<input "x">},
      %y: tensor<1x6xi64> {nn.role = #nn.role<label "y">},
      %p: tensor<16x8xf32> {nn.role = #nn.role<parameter "h.0.position">, nn.data = dense<0.125> : tensor<16x8xf32>},
      %t: tensor<16x8xf32> {nn.role = #nn.role<parameter "h.0.type">, nn.data = dense<0.125> : tensor<16x8xf32>})
      -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
    %xr = nn.reshape %x : tensor<1x6x8xf32> to tensor<6x8xf32>
    %ps = nn.slice %p starts [0, 0] strides [1, 1] : tensor<16x8xf32> to tensor<6x8xf32>
    %ts = nn.slice %t starts [2, 0] strides [1, 1] : tensor<16x8xf32> to tensor<6x8xf32>
    %a = nn.add %xr, %ts : tensor<6x8xf32>
    %b = nn.add %a, %ps : tensor<6x8xf32>
    %yr = nn.reshape %y : tensor<1x6xi64> to tensor<6xi64>
    %sum, %count, %lse = nn.cross_entropy %b, %yr : tensor<6x8xf32>, tensor<6xi64> -> tensor<f32>, tensor<i64>, tensor<6xf32>
    return %sum, %count : tensor<f32>, tensor<i64>
  }
}

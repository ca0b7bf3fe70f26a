// Two branches with weights of one shape behind a first layer, multiplied with each other; a head. In phase import.
module {
  func.func @forward(%x: tensor<1x6x8xf32> {nn.role = #nn.role<input "x">},
      %y: tensor<1x6xi64> {nn.role = #nn.role<label "y">},
      %f: tensor<8x8xf32> {nn.role = #nn.role<parameter "h.0.first">, nn.data = dense<0.125> : tensor<8x8xf32>},
      %l: tensor<8x8xf32> {nn.role = #nn.role<parameter "h.0.left">, nn.data = dense<0.125> : tensor<8x8xf32>},
      %r: tensor<8x8xf32> {nn.role = #nn.role<parameter "h.0.right">, nn.data = dense<0.125> : tensor<8x8xf32>},
      %h: tensor<8x8xf32> {nn.role = #nn.role<parameter "h.0.head">, nn.data = dense<0.125> : tensor<8x8xf32>})
      -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
    %xr = nn.reshape %x : tensor<1x6x8xf32> to tensor<6x8xf32>
    %a = nn.matmul %xr, %f : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %ar = nn.relu %a : tensor<6x8xf32>
    %b = nn.matmul %ar, %l : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %c = nn.matmul %ar, %r : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %d = nn.mul %b, %c : tensor<6x8xf32>
    %e = nn.matmul %d, %h : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %yr = nn.reshape %y : tensor<1x6xi64> to tensor<6xi64>
    %sum, %count, %lse = nn.cross_entropy %e, %yr : tensor<6x8xf32>, tensor<6xi64> -> tensor<f32>, tensor<i64>, tensor<6xf32>
    return %sum, %count : tensor<f32>, tensor<i64>
  }
}

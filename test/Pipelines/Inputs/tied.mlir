// A tied embedding, two residual blocks and a scale between the last one and the head, in phase import.
module {
  func.func @forward(%x: tensor<1x6xi64> {nn.role = #nn.role<input "x">},
      %y: tensor<1x6xi64> {nn.role = #nn.role<label "y">},
      %wte: tensor<16x8xf32> {nn.role = #nn.role<parameter "m.wte">, nn.data = dense<0.125> : tensor<16x8xf32>},
      %w0: tensor<8x8xf32> {nn.role = #nn.role<parameter "m.h.0.fc.weight">, nn.data = dense<0.125> : tensor<8x8xf32>},
      %b0: tensor<8xf32> {nn.role = #nn.role<parameter "m.h.0.fc.bias">, nn.data = dense<0.125> : tensor<8xf32>},
      %w1: tensor<8x8xf32> {nn.role = #nn.role<parameter "m.h.1.fc.weight">, nn.data = dense<0.125> : tensor<8x8xf32>},
      %b1: tensor<8xf32> {nn.role = #nn.role<parameter "m.h.1.fc.bias">, nn.data = dense<0.125> : tensor<8xf32>},
      %g: tensor<8xf32> {nn.role = #nn.role<parameter "m.ln_f.weight">, nn.data = dense<0.125> : tensor<8xf32>})
      -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
    %e = nn.gather %wte[%x] axis 0 : tensor<16x8xf32>, tensor<1x6xi64> -> tensor<1x6x8xf32>
    %er = nn.reshape %e : tensor<1x6x8xf32> to tensor<6x8xf32>
    %w0t = nn.transpose %w0 [1, 0] : tensor<8x8xf32> to tensor<8x8xf32>
    %a0 = nn.matmul %er, %w0t : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %b0b = nn.broadcast %b0 dims [1] : tensor<8xf32> to tensor<6x8xf32>
    %c0 = nn.add %a0, %b0b : tensor<6x8xf32>
    %d0 = nn.relu %c0 : tensor<6x8xf32>
    %r0 = nn.add %er, %d0 : tensor<6x8xf32>
    %w1t = nn.transpose %w1 [1, 0] : tensor<8x8xf32> to tensor<8x8xf32>
    %a1 = nn.matmul %r0, %w1t : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %b1b = nn.broadcast %b1 dims [1] : tensor<8xf32> to tensor<6x8xf32>
    %c1 = nn.add %a1, %b1b : tensor<6x8xf32>
    %d1 = nn.relu %c1 : tensor<6x8xf32>
    %r1 = nn.add %r0, %d1 : tensor<6x8xf32>
    %gb = nn.broadcast %g dims [1] : tensor<8xf32> to tensor<6x8xf32>
    %n = nn.mul %r1, %gb : tensor<6x8xf32>
    %wt = nn.transpose %wte [1, 0] : tensor<16x8xf32> to tensor<8x16xf32>
    %l = nn.matmul %n, %wt : tensor<6x8xf32>, tensor<8x16xf32> -> tensor<6x16xf32>
    %yr = nn.reshape %y : tensor<1x6xi64> to tensor<6xi64>
    %sum, %count, %lse = nn.cross_entropy %l, %yr : tensor<6x16xf32>, tensor<6xi64> -> tensor<f32>, tensor<i64>, tensor<6xf32>
    return %sum, %count : tensor<f32>, tensor<i64>
  }
}

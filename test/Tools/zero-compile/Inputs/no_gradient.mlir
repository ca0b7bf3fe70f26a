// A model in phase import: two ops between its parameter and the loss have no gradient rule.
module attributes {zero.phase = "import"} {
  func.func @forward(%x: tensor<1x4xf32> {nn.role = #nn.role<input "x">}, %at: tensor<1x1xi64> {nn.role = #nn.role<input "at">},
                     %w: tensor<4xf32> {nn.role = #nn.role<parameter "w">, nn.data = dense<0.5> : tensor<4xf32>})
      -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
    %wide = nn.broadcast %w dims [1] : tensor<4xf32> to tensor<1x4xf32>
    %product = nn.mul %x, %wide : tensor<1x4xf32>
    %0 = nn.gather_nd %product[%at] : tensor<1x4xf32>, tensor<1x1xi64> -> tensor<1x4xf32> loc("pick")
    %1 = nn.gather_nd %0[%at] : tensor<1x4xf32>, tensor<1x1xi64> -> tensor<1x4xf32> loc("pick_again")
    %2 = nn.gather_nd %x[%at] : tensor<1x4xf32>, tensor<1x1xi64> -> tensor<1x4xf32> loc("off_the_path")
    %both = nn.add %1, %2 : tensor<1x4xf32>
    %total = nn.reduce sum %both axes [0, 1] : tensor<1x4xf32> to tensor<f32>
    %sum, %count = nn.output_loss %total : tensor<f32> -> tensor<f32>, tensor<i64>
    return %sum, %count : tensor<f32>, tensor<i64>
  }
}

// A network without a loss.
func.func @forward(%x: tensor<?x8xf32> {nn.role = #nn.role<input "x">, nn.batched},
                   %w: tensor<8x16xf32> {nn.role = #nn.role<frozen "w">, nn.data = dense<1.0> : tensor<8x16xf32>})
    -> (tensor<?x16xf32> {nn.role = #nn.role<output "z">, nn.batched}) {
  %0 = nn.matmul %x, %w : tensor<?x8xf32>, tensor<8x16xf32> -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}

// RUN: zero-opt %s --split-input-file --verify-diagnostics

func.func @conv_rank(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{data has 2 dimensions, outside [3, 5]}}
  %0 = nn.conv %x, %w strides [] low [] high [] dilations [] : tensor<2x3xf32>, tensor<4x3xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @conv_ranks(%x: tensor<2x3x5xf32>, %w: tensor<4x3x1x1xf32>) {
  // expected-error @+1 {{data has 3 dimensions, kernel 4 and result 3; they must have equally many}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x3x5xf32>, tensor<4x3x1x1xf32> -> tensor<2x4x5xf32>
  return
}

// -----

func.func @conv_kernel_element(%x: tensor<2x3x5xf32>, %w: tensor<4x3x1xf64>) {
  // expected-error @+1 {{kernel has element type 'f64' but data has 'f32'}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x3x5xf32>, tensor<4x3x1xf64> -> tensor<2x4x5xf32>
  return
}

// -----

func.func @conv_result_element(%x: tensor<2x3x5xf32>, %w: tensor<4x3x1xf32>) {
  // expected-error @+1 {{result has element type 'f64' but data has 'f32'}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x3x5xf32>, tensor<4x3x1xf32> -> tensor<2x4x5xf64>
  return
}

// -----

func.func @conv_no_groups(%x: tensor<2x3x5xf32>, %w: tensor<4x3x1xf32>) {
  // expected-error @+1 {{groups is 0, below 1}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] groups 0 : tensor<2x3x5xf32>, tensor<4x3x1xf32> -> tensor<2x4x5xf32>
  return
}

// -----

func.func @conv_channels_of_groups(%x: tensor<2x3x5xf32>, %w: tensor<4x3x1xf32>) {
  // expected-error @+1 {{3 channels do not divide into 2 groups}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] groups 2 : tensor<2x3x5xf32>, tensor<4x3x1xf32> -> tensor<2x4x5xf32>
  return
}

// -----

func.func @conv_filters_of_groups(%x: tensor<2x4x5xf32>, %w: tensor<3x2x1xf32>) {
  // expected-error @+1 {{3 filters do not divide into 2 groups}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] groups 2 : tensor<2x4x5xf32>, tensor<3x2x1xf32> -> tensor<2x3x5xf32>
  return
}

// -----

func.func @conv_kernel_channels(%x: tensor<2x4x5xf32>, %w: tensor<6x4x1xf32>) {
  // expected-error @+1 {{kernel has 4 channels but data has 4 in 2 groups}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] groups 2 : tensor<2x4x5xf32>, tensor<6x4x1xf32> -> tensor<2x6x5xf32>
  return
}

// -----

func.func @conv_result_channels(%x: tensor<2x4x5xf32>, %w: tensor<6x4x1xf32>) {
  // expected-error @+1 {{result has 5 channels but the kernel has 6 filters}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32>, tensor<6x4x1xf32> -> tensor<2x5x5xf32>
  return
}

// -----

func.func @conv_batch(%x: tensor<2x4x5xf32>, %w: tensor<6x4x1xf32>) {
  // expected-error @+1 {{result has batch 3 but data has 2}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32>, tensor<6x4x1xf32> -> tensor<3x6x5xf32>
  return
}

// -----

func.func @conv_strides(%x: tensor<2x4x5xf32>, %w: tensor<6x4x1xf32>) {
  // expected-error @+1 {{strides has 2 entries but data has 1 spatial dimensions}}
  %0 = nn.conv %x, %w strides [1, 1] low [0] high [0] dilations [1] : tensor<2x4x5xf32>, tensor<6x4x1xf32> -> tensor<2x6x5xf32>
  return
}

// -----

func.func @conv_dilation(%x: tensor<2x4x5xf32>, %w: tensor<6x4x1xf32>) {
  // expected-error @+1 {{dilations[0] is 0, below 1}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [0] : tensor<2x4x5xf32>, tensor<6x4x1xf32> -> tensor<2x6x5xf32>
  return
}

// -----

func.func @conv_no_window(%x: tensor<2x4x5xf32>, %w: tensor<6x4x0xf32>) {
  // expected-error @+1 {{window[0] is 0, below 1}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32>, tensor<6x4x0xf32> -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_low(%x: tensor<2x4x5xf32>, %w: tensor<6x4x1xf32>) {
  // expected-error @+1 {{low[0] is -1, below 0}}
  %0 = nn.conv %x, %w strides [1] low [-1] high [0] dilations [1] : tensor<2x4x5xf32>, tensor<6x4x1xf32> -> tensor<2x6x4xf32>
  return
}

// -----

func.func @conv_spatial(%x: tensor<2x4x5xf32>, %w: tensor<6x4x2xf32>) {
  // expected-error @+1 {{result's spatial part has shape [5] but data and window give [4]}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32>, tensor<6x4x2xf32> -> tensor<2x6x5xf32>
  return
}

// -----

func.func @conv_overflow(%x: tensor<2x4x5xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{spatial dimension 0 overflows}}
  %0 = nn.conv %x, %w strides [1] low [0] high [0] dilations [9223372036854775807] : tensor<2x4x5xf32>, tensor<6x4x3xf32> -> tensor<2x6x5xf32>
  return
}

// -----

// The data of a transposed convolution is its result.
func.func @conv_transpose_spatial(%y: tensor<2x6x4xf32>, %w: tensor<6x4x2xf32>) {
  // expected-error @+1 {{result's spatial part has shape [4] but data and window give [5]}}
  %0 = nn.conv_transpose %y, %w strides [1] low [0] high [0] dilations [1] : tensor<2x6x4xf32>, tensor<6x4x2xf32> -> tensor<2x4x6xf32>
  return
}

// -----

func.func @conv_weight_grad_spatial(%x: tensor<2x4x5xf32>, %g: tensor<2x6x4xf32>) {
  // expected-error @+1 {{result's spatial part has shape [4] but data and window give [3]}}
  %0 = nn.conv_weight_grad %x, %g strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32>, tensor<2x6x4xf32> -> tensor<6x4x3xf32>
  return
}

// -----

func.func @pool_element(%x: tensor<2x4x5xf32>) {
  // expected-error @+1 {{result has element type 'f64' but the operand has 'f32'}}
  %0 = nn.sum_pool %x window [2] strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32> to tensor<2x4x4xf64>
  return
}

// -----

func.func @pool_rank(%x: tensor<2x4x5xf32>) {
  // expected-error @+1 {{result has 4 dimensions but data has 3}}
  %0 = nn.sum_pool %x window [2] strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32> to tensor<2x4x4x1xf32>
  return
}

// -----

func.func @pool_channels(%x: tensor<2x4x5xf32>) {
  // expected-error @+1 {{result's batch and channels has shape [2, 3] but the operand has [2, 4]}}
  %0 = nn.sum_pool %x window [2] strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32> to tensor<2x3x4xf32>
  return
}

// -----

func.func @max_pool_indices(%x: tensor<2x4x5xf32>) {
  // expected-error @+1 {{indices has shape [2, 4, 3] but the result has [2, 4, 4]}}
  %0:2 = nn.max_pool %x window [2] strides [1] low [0] high [0] dilations [1] : tensor<2x4x5xf32> -> tensor<2x4x4xf32>, tensor<2x4x3xi64>
  return
}

// -----

func.func @max_pool_low(%x: tensor<2x4x5xf32>) {
  // expected-error @+1 {{low[0] is -1, below 0}}
  %0:2 = nn.max_pool %x window [2] strides [1] low [-1] high [0] dilations [1] : tensor<2x4x5xf32> -> tensor<2x4x3xf32>, tensor<2x4x3xi64>
  return
}

// -----

func.func @max_pool_before(%x: tensor<2x4x5xf32>) {
  // expected-error @+1 {{window 0 of spatial dimension 0 lies outside the data's 5 positions}}
  %0:2 = nn.max_pool %x window [2] strides [1] low [2] high [0] dilations [1] : tensor<2x4x5xf32> -> tensor<2x4x6xf32>, tensor<2x4x6xi64>
  return
}

// -----

func.func @max_pool_behind(%x: tensor<2x4x5xf32>) {
  // expected-error @+1 {{window 5 of spatial dimension 0 lies outside the data's 5 positions}}
  %0:2 = nn.max_pool %x window [2] strides [1] low [0] high [2] dilations [1] : tensor<2x4x5xf32> -> tensor<2x4x6xf32>, tensor<2x4x6xi64>
  return
}

// -----

// Steps over both positions.
func.func @max_pool_dilated(%x: tensor<2x4x2xf32>) {
  // expected-error @+1 {{window 0 of spatial dimension 0 lies outside the data's 2 positions}}
  %0:2 = nn.max_pool %x window [2] strides [1] low [1] high [1] dilations [3] : tensor<2x4x2xf32> -> tensor<2x4x1xf32>, tensor<2x4x1xi64>
  return
}

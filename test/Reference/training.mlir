// RUN: nn-eval %s | FileCheck %s

func.func @cross_entropy() -> (tensor<f32>, tensor<i64>, tensor<3xf32>) {
  %x = nn.constant dense<[[1.0, 2.0, 3.0], [-1.0, 0.0, 4.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %y = nn.constant dense<[2, -100, 1]> : tensor<3xi64>
  // CHECK: @cross_entropy: tensor<f32> [1.50622]
  // CHECK-NEXT: tensor<i64> [2]
  // CHECK-NEXT: tensor<3xf32> [3.40761, 4.02474, 1.09861]
  %0:3 = nn.cross_entropy %x, %y : tensor<3x3xf32>, tensor<3xi64> -> tensor<f32>, tensor<i64>, tensor<3xf32>
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<i64>, tensor<3xf32>
}

func.func @other_losses() -> (tensor<f32>, tensor<i64>, tensor<f32>, tensor<i64>) {
  %x = nn.constant dense<[[1.0, 2.0], [-1.0, 0.5]]> : tensor<2x2xf32>
  %y = nn.constant dense<[[0.0, 4.0], [-1.0, 1.0]]> : tensor<2x2xf32>
  // CHECK: @other_losses: tensor<f32> [5.25]
  // CHECK-NEXT: tensor<i64> [4]
  %0:2 = nn.mse_loss %x, %y : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<f32>, tensor<i64>
  %l = nn.constant dense<2.5> : tensor<1x1xf32>
  // CHECK-NEXT: tensor<f32> [2.5]
  // CHECK-NEXT: tensor<i64> [1]
  %1:2 = nn.output_loss %l : tensor<1x1xf32> -> tensor<f32>, tensor<i64>
  return %0#0, %0#1, %1#0, %1#1 : tensor<f32>, tensor<i64>, tensor<f32>, tensor<i64>
}

func.func @adam() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %p = nn.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %g = nn.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %m = nn.constant dense<[0.1, 0.0]> : tensor<2xf32>
  %v = nn.constant dense<[0.01, 0.04]> : tensor<2xf32>
  %s = nn.constant dense<2.0> : tensor<f32>
  %lr = nn.constant dense<0.1> : tensor<f32>
  %c1 = nn.constant dense<0.19> : tensor<f32>
  %c2 = nn.constant dense<0.002> : tensor<f32>
  // CHECK: @adam: tensor<2xf32> [0.955518, -2.00353]
  // CHECK-NEXT: [0.2, 0.03]
  // CHECK-NEXT: [0.0112, 0.04005]
  %0:3 = nn.adam %p, %g, %m, %v scale %s lr %lr correction %c1, %c2 {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : tensor<2xf32>, tensor<f32>
  // CHECK-NEXT: [0.94734, -1.98587]
  // CHECK-NEXT: [0.19, 0.05]
  // CHECK-NEXT: [0.01099, 0.04021]
  %1:3 = nn.adam %p, %g, %m, %v scale %s lr %lr correction %c1, %c2 {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64, decoupled} : tensor<2xf32>, tensor<f32>
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @sgd() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>) {
  %p = nn.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %g = nn.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %m = nn.constant dense<[0.1, 0.0]> : tensor<2xf32>
  %s = nn.constant dense<2.0> : tensor<f32>
  %lr = nn.constant dense<0.1> : tensor<f32>
  // CHECK: @sgd: tensor<2xf32> [0.89, -2.03]
  %0 = nn.sgd %p, %g scale %s lr %lr {momentum = 0.0 : f64, weight_decay = 0.1 : f64} : tensor<2xf32>, tensor<f32>
  // CHECK-NEXT: [0.881, -2.03]
  // CHECK-NEXT: [1.19, 0.3]
  %1:2 = nn.sgd %p, %g momentum %m scale %s lr %lr {momentum = 0.9 : f64, weight_decay = 0.1 : f64} : tensor<2xf32>, tensor<f32>, tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: [0.7829, -2.057]
  %2:2 = nn.sgd %p, %g momentum %m scale %s lr %lr {momentum = 0.9 : f64, weight_decay = 0.1 : f64, nesterov} : tensor<2xf32>, tensor<f32>, tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: tensor<f32> [2.30489]
  %3 = nn.global_norm %p, %g : tensor<2xf32>, tensor<2xf32> -> tensor<f32>
  return %0, %1#0, %1#1, %2#0, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>
}

// Held back, an update gives its states as they were, whatever the gradient is.
func.func @skip() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %p = nn.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %g = nn.constant dense<[0x7FC00000, 0.25]> : tensor<2xf32>
  %m = nn.constant dense<[0.1, 0.0]> : tensor<2xf32>
  %v = nn.constant dense<[0.01, 0.04]> : tensor<2xf32>
  %s = nn.constant dense<0.5> : tensor<f32>
  %yes = nn.constant dense<1.0> : tensor<f32>
  %no = nn.constant dense<0.0> : tensor<f32>
  // CHECK: @skip: tensor<2xf32> [1, -2]
  // CHECK-NEXT: [0.1, 0]
  // CHECK-NEXT: [0.01, 0.04]
  %0:3 = nn.adam %p, %g, %m, %v scale %s lr %s correction %s, %s skip %yes : tensor<f32> {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : tensor<2xf32>, tensor<f32>
  // CHECK-NEXT: [1, -2]
  // CHECK-NEXT: [0.1, 0]
  %1:2 = nn.sgd %p, %g momentum %m scale %s lr %s skip %yes : tensor<f32> {momentum = 0.5 : f64, weight_decay = 0.0 : f64} : tensor<2xf32>, tensor<f32>, tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: [nan, -2.0625]
  %2 = nn.sgd %p, %g scale %s lr %s skip %no : tensor<f32> {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<2xf32>, tensor<f32>
  return %0#0, %0#1, %0#2, %1#0, %1#1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// With a master the update is the master's, and the parameter is the new master, rounded: the old parameter (3, 3) is
// read by nothing. Held back, the master and so the parameter stay.
func.func @master() -> (tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>) {
  %p = nn.constant dense<3.0> : tensor<2xbf16>
  %g = nn.constant dense<[0.5, 0.25]> : tensor<2xbf16>
  %w = nn.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %m = nn.constant dense<[0.1, 0.0]> : tensor<2xf32>
  %v = nn.constant dense<[0.01, 0.04]> : tensor<2xf32>
  %s = nn.constant dense<2.0> : tensor<f32>
  %lr = nn.constant dense<0.1> : tensor<f32>
  %c1 = nn.constant dense<0.19> : tensor<f32>
  %c2 = nn.constant dense<0.002> : tensor<f32>
  %yes = nn.constant dense<1.0> : tensor<f32>
  // CHECK: @master: tensor<2xbf16> [0.957031, -2]
  // CHECK-NEXT: tensor<2xf32> [0.955518, -2.00353]
  // CHECK-NEXT: [0.2, 0.03]
  // CHECK-NEXT: [0.0112, 0.04005]
  %0:4 = nn.adam %p, %g master %w, %m, %v scale %s lr %lr correction %c1, %c2 {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : tensor<2xbf16> master tensor<2xf32>, tensor<f32>
  // CHECK-NEXT: tensor<2xbf16> [0.882812, -2.03125]
  // CHECK-NEXT: tensor<2xf32> [0.881, -2.03]
  // CHECK-NEXT: tensor<2xf32> [1.19, 0.3]
  %1:3 = nn.sgd %p, %g master %w momentum %m scale %s lr %lr {momentum = 0.9 : f64, weight_decay = 0.1 : f64} : tensor<2xbf16> master tensor<2xf32>, tensor<f32>, tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: tensor<2xbf16> [1, -2]
  // CHECK-NEXT: tensor<2xf32> [1, -2]
  %2:2 = nn.sgd %p, %g master %w scale %s lr %lr skip %yes : tensor<f32> {momentum = 0.0 : f64, weight_decay = 0.1 : f64} : tensor<2xbf16> master tensor<2xf32>, tensor<f32>
  return %0#0, %0#1, %0#2, %0#3, %1#0, %1#1, %1#2, %2#0, %2#1 : tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>
}

// A group computes what its body computes.
func.func @group() -> (tensor<2xf32>, tensor<2xf32>) {
  %p = nn.constant dense<[1.0, -2.0]> : tensor<2xf32>
  // CHECK: @group: tensor<2xf32> [2, -4]
  // CHECK-NEXT: @group: tensor<2xf32> [1, -2]
  %0:2 = nn.group(%a = %p : tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %1 = nn.add %a, %a : tensor<2xf32>
    nn.yield %1, %a : tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}

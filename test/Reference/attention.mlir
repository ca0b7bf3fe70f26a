// RUN: nn-eval %s | FileCheck %s

// Two query heads read one group of keys; 2 queries see 3 keys.
// log_sum_exp is relative to the largest number of each row's mask. The gradients were computed by finite differences.

func.func @masked() -> (tensor<1x2x2x2xf32>, tensor<1x2x2xf32>) {
  %q = nn.constant dense<[[[[1.0, 0.0], [0.5, -1.0]], [[2.0, 1.0], [0.0, 1.0]]]]> : tensor<1x2x2x2xf32>
  %k = nn.constant dense<[[[[1.0, 1.0]], [[0.0, 2.0]], [[-1.0, 0.5]]]]> : tensor<1x3x1x2xf32>
  %v = nn.constant dense<[[[[1.0, 0.0]], [[0.0, 1.0]], [[2.0, -1.0]]]]> : tensor<1x3x1x2xf32>
  %m = nn.constant dense<[[[[0.0, 1.0, 0.0], [-1.0, 0.0, 0.5]]]]> : tensor<1x1x2x3xf32>
  // CHECK: @masked: tensor<1x2x2x2xf32> [0.575402, 0.424598, 0.835046, 0.164954, 0.623095, 0.376905, 0.889507, 0.110493]
  // CHECK-NEXT: @masked: tensor<1x2x2xf32> [0.604131, 1.13818, -0.130662, 1.19411]
  %0:2 = nn.attention %q, %k, %v mask %m scale 0.5 : tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x1x2x3xf32> -> tensor<1x2x2x2xf32>, tensor<1x2x2xf32>
  return %0#0, %0#1 : tensor<1x2x2x2xf32>, tensor<1x2x2xf32>
}

// A row that the mask hides whole has its softmax of equal numbers, and its gradients; without a key it is NaN.
func.func @hidden() -> (tensor<1x1x1x2xf32>, tensor<1x1x1xf32>, tensor<1x2x1x2xf32>, tensor<1x1x1x2xf32>) {
  %q = nn.constant dense<[[[[1.0, 0.0]]]]> : tensor<1x1x1x2xf32>
  %k = nn.constant dense<[[[[1.0, 1.0]], [[0.0, 2.0]]]]> : tensor<1x2x1x2xf32>
  %low = nn.constant dense<-3.40282347E+38> : tensor<1x1x1x2xf32>
  %none = nn.constant dense<0xFF800000> : tensor<1x1x1x2xf32>
  // CHECK: @hidden: tensor<1x1x1x2xf32> [0.5, 1.5]
  // CHECK-NEXT: @hidden: tensor<1x1x1xf32> [0.693147]
  // CHECK-NEXT: @hidden: tensor<1x2x1x2xf32> [0.75, 0, 0.25, 0]
  // CHECK-NEXT: @hidden: tensor<1x1x1x2xf32> [{{-?}}nan, {{-?}}nan]
  %0:2 = nn.attention %q, %k, %k mask %low scale 1.0 : tensor<1x1x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x1x2xf32> -> tensor<1x1x1x2xf32>, tensor<1x1x1xf32>
  %1:3 = nn.attention_grad %q, %k, %k mask %low result %0#0, %0#1 gradient %q scale 1.0 : tensor<1x1x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x1xf32>, tensor<1x1x1x2xf32>
  %sum = nn.add %1#1, %1#2 : tensor<1x2x1x2xf32>
  %2:2 = nn.attention %q, %k, %k mask %none scale 1.0 : tensor<1x1x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x1x2xf32> -> tensor<1x1x1x2xf32>, tensor<1x1x1xf32>
  return %0#0, %0#1, %sum, %2#0 : tensor<1x1x1x2xf32>, tensor<1x1x1xf32>, tensor<1x2x1x2xf32>, tensor<1x1x1x2xf32>
}

func.func @causal() -> (tensor<1x2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2x2x2xf64>, tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64>) {
  %q = nn.constant dense<[[[[1.0, 0.0], [0.5, -1.0]], [[2.0, 1.0], [0.0, 1.0]]]]> : tensor<1x2x2x2xf64>
  %k = nn.constant dense<[[[[1.0, 1.0]], [[0.0, 2.0]], [[-1.0, 0.5]]]]> : tensor<1x3x1x2xf64>
  %v = nn.constant dense<[[[[1.0, 0.0]], [[0.0, 1.0]], [[2.0, -1.0]]]]> : tensor<1x3x1x2xf64>
  %g = nn.constant dense<[[[[1.0, -1.0], [0.5, 2.0]], [[0.0, 1.0], [1.0, 1.0]]]]> : tensor<1x2x2x2xf64>
  // CHECK: @causal: tensor<1x2x2x2xf64> [0.622459, 0.377541, 0.679179, 0.320821, 0.707271, 0.292729, 0.746196, 0.253804]
  // CHECK-NEXT: @causal: tensor<1x2x2xf64> [0.974077, 2.03762, 0.136871, 1.73184]
  %0:2 = nn.attention %q, %k, %v scale 0.5 causal : tensor<1x2x2x2xf64>, tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64> -> tensor<1x2x2x2xf64>, tensor<1x2x2xf64>
  // CHECK-NEXT: tensor<1x2x2x2xf64> [0.235004, -0.235004, -0.163421, 0.163421, -0.0457017, 0.145189, {{.*}}]
  // CHECK-NEXT: tensor<1x3x1x2xf64> [-0.0177004, 0.0779245, 0.0972905, -0.0381294, -0.0795901, -0.039795]
  // CHECK-NEXT: tensor<1x3x1x2xf64> [1.2538, 1.61179, 1.01898, 1.09942, 0.22722, 0.288787]
  %1:3 = nn.attention_grad %q, %k, %v result %0#0, %0#1 gradient %g scale 0.5 causal : tensor<1x2x2x2xf64>, tensor<1x3x1x2xf64>, tensor<1x2x2xf64>
  return %0#0, %0#1, %1#0, %1#1, %1#2 : tensor<1x2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2x2x2xf64>, tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64>
}

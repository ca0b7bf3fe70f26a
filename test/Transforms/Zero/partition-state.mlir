// RUN: split-file %s %t
// RUN: zero-opt %t/adam.mlir --zero-partition-state=stage=0 | FileCheck %s --check-prefixes=CHECK,S0
// RUN: zero-opt %t/adam.mlir --zero-partition-state=stage=1 | FileCheck %s --check-prefixes=CHECK,S1
// RUN: zero-opt %t/adam.mlir --zero-partition-state=stage=2 | FileCheck %s --check-prefixes=CHECK,S2
// RUN: zero-opt %t/adam.mlir --zero-partition-state=stage=3 | FileCheck %s --check-prefixes=CHECK,S3
// RUN: zero-opt %t/adam.mlir --zero-partition-state='stage=3 persistence-threshold=65' | FileCheck %s --check-prefixes=CHECK,S2
// RUN: sed 's/size = 2/size = 1/' %t/adam.mlir > %t/one-rank.mlir
// RUN: zero-opt %t/one-rank.mlir --zero-partition-state=stage=3 | FileCheck %s --check-prefixes=CHECK,S0
// RUN: zero-opt %t/momentum.mlir --zero-partition-state=stage=3 | FileCheck %s --check-prefix=MOMENTUM
// RUN: zero-opt %t/refuses.mlir --split-input-file --verify-diagnostics --zero-partition-state=stage=2
// RUN: not zero-opt %t/adam.mlir --zero-partition-state=stage=4 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: zero-opt %t/predict.mlir --zero-partition-state=stage=3 | FileCheck %s --check-prefix=ALONE
// RUN: cat %t/adam.mlir %t/predict-too.mlir > %t/both.mlir
// RUN: zero-opt %t/both.mlir --zero-partition-state=stage=0 | FileCheck %s --check-prefixes=TOO,TOO0
// RUN: zero-opt %t/both.mlir --zero-partition-state=stage=3 | FileCheck %s --check-prefixes=TOO,TOO3

// STAGE: error: stage is 4, expected 0 to 3

//--- adam.mlir
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64,
                        slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>, #zero.slot<"b", offset = 64, shape = [8]>]}

// CHECK-LABEL: func.func @micro
// S0-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0> {nn.data = [dense<0.000000e+00> : tensor<8x8xf32>, #nn.external<"m.onnx", 0, 32, 7>], nn.role = #nn.role<parameter "b0">})
// S1-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0> {{{.*}}nn.role = #nn.role<parameter "b0">})
// S2-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0> {{{.*}}nn.role = #nn.role<parameter "b0">})
// S3-SAME: %[[P:[a-z0-9]+]]: !zero.shard<@b0> {{{.*}}nn.role = #nn.role<parameter "b0">})
// S0-SAME: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">})
// S1-SAME: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">, zero.whole_buffer})
// S2-SAME: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">})
// S3-SAME: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">})
// S0-NEXT: zero.view %[[P]]["w"] : !zero.full<@b0> -> tensor<8x8xf32>
// S3-NEXT: %[[F:.*]] = builtin.unrealized_conversion_cast %[[P]] : !zero.shard<@b0> to !zero.full<@b0>
// S3-NEXT: zero.view %[[F]]["w"] : !zero.full<@b0> -> tensor<8x8xf32>
// CHECK:      nn.matmul
// The bias is not read, so it has no view.
// CHECK-NOT:  zero.view
// CHECK:      %[[G:.*]] = zero.pack @b0(%{{.*}}, %{{.*}}) : (tensor<8x8xf32>, tensor<8xf32>) -> !zero.partial<@b0>
// S0-NEXT:    %[[R:.*]] = builtin.unrealized_conversion_cast %[[G]] : !zero.partial<@b0> to !zero.full<@b0>
// S1-NEXT:    %[[R:.*]] = builtin.unrealized_conversion_cast %[[G]] : !zero.partial<@b0> to !zero.shard<@b0>
// S2-NEXT:    %[[R:.*]] = builtin.unrealized_conversion_cast %[[G]] : !zero.partial<@b0> to !zero.shard<@b0>
// S3-NEXT:    %[[R:.*]] = builtin.unrealized_conversion_cast %[[G]] : !zero.partial<@b0> to !zero.shard<@b0>
// CHECK-NEXT: return %{{.*}}, %{{.*}}, %[[R]]
func.func @micro(%x: tensor<4x8xf32> {nn.role = #nn.role<input "x">},
                 %w: tensor<8x8xf32> {nn.data = dense<0.0> : tensor<8x8xf32>, nn.role = #nn.role<parameter "w">},
                 %b: tensor<8xf32> {nn.data = #nn.external<"m.onnx", 0, 32, 7>, nn.role = #nn.role<parameter "b">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<8x8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "b">}) {
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %s = nn.reduce sum %y axes [0, 1] : tensor<4x8xf32> to tensor<f32>
  %c = nn.constant dense<32> : tensor<i64>
  %dw = nn.matmul %x, %y transpose_lhs : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %db = nn.reduce sum %y axes [0] : tensor<4x8xf32> to tensor<8xf32>
  return %s, %c, %dw, %db : tensor<f32>, tensor<i64>, tensor<8x8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @update
// S0-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %[[G:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">},
// S0-SAME: %[[M:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<exp_avg "b0">}, %[[V:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<exp_avg_sq "b0">}, %[[LR:[a-z0-9]+]]: tensor<f32>
// S1-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %[[G:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
// S1-SAME: %[[M:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<exp_avg "b0">}, %[[V:[a-z0-9]+]]: !zero.shard<@b0>
// S2-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0>
// S3-SAME: %[[P:[a-z0-9]+]]: !zero.shard<@b0>
// CHECK:   %[[SUM:.*]] = zero.sum_squares %{{.*}} -> tensor<24xi64>
// CHECK:   zero.norm %[[SUM]] : tensor<24xi64> -> tensor<f32>
// S1:      %[[S:.*]] = zero.shard_of %[[P]] : !zero.full<@b0> -> !zero.shard<@b0>
// S0:      %[[U:.*]]:3 = zero.update @b0(%[[P]], %[[G]], %[[M]], %[[V]] : !zero.full<@b0>, !zero.full<@b0>, !zero.full<@b0>, !zero.full<@b0>) scalars(%{{.*}}, %[[LR]], %[[LR]], %[[LR]] : {{.*}}) -> !zero.full<@b0>, !zero.full<@b0>, !zero.full<@b0> {
// S1:      %[[U:.*]]:3 = zero.update @b0(%[[S]], %[[G]], %[[M]], %[[V]] : !zero.shard<@b0>,
// S3:      %[[U:.*]]:3 = zero.update @b0(%[[P]], %{{.*}} : !zero.shard<@b0>,
// CHECK:      ^bb0(%[[PE:.*]]: tensor<f32>, %[[GE:.*]]: tensor<f32>, %[[ME:.*]]: tensor<f32>, %[[VE:.*]]: tensor<f32>, %[[SE:.*]]: tensor<f32>, %[[LE:.*]]: tensor<f32>, %[[C1:.*]]: tensor<f32>, %[[C2:.*]]: tensor<f32>):
// CHECK-NEXT:   nn.adam %[[PE]], %[[GE]], %[[ME]], %[[VE]] scale %[[SE]] lr %[[LE]] correction %[[C1]], %[[C2]] {{{.*}}decoupled, epsilon = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : tensor<f32>, tensor<f32>
// CHECK-NEXT:   zero.yield
// S1:      %[[N:.*]] = builtin.unrealized_conversion_cast %[[U]]#0 : !zero.shard<@b0> to !zero.full<@b0>
// S0:      return %[[U]]#0, %[[U]]#1, %[[U]]#2, %{{.*}} : !zero.full<@b0>, !zero.full<@b0>, !zero.full<@b0>, tensor<f32>
// S1:      return %[[N]], %[[U]]#1, %[[U]]#2, %{{.*}} : !zero.full<@b0>, !zero.shard<@b0>, !zero.shard<@b0>, tensor<f32>
// S3:      return %[[U]]#0, %[[U]]#1, %[[U]]#2, %{{.*}} : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0>, tensor<f32>
func.func @update(%w: tensor<8x8xf32> {nn.role = #nn.role<parameter "w">}, %b: tensor<8xf32> {nn.role = #nn.role<parameter "b">},
                  %dw: tensor<8x8xf32> {nn.role = #nn.role<gradient "w">}, %db: tensor<8xf32> {nn.role = #nn.role<gradient "b">},
                  %mw: tensor<8x8xf32> {nn.role = #nn.role<exp_avg "w">}, %mb: tensor<8xf32> {nn.role = #nn.role<exp_avg "b">},
                  %vw: tensor<8x8xf32> {nn.role = #nn.role<exp_avg_sq "w">}, %vb: tensor<8xf32> {nn.role = #nn.role<exp_avg_sq "b">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<8x8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "b">},
        tensor<8x8xf32> {nn.role = #nn.role<exp_avg "w">}, tensor<8xf32> {nn.role = #nn.role<exp_avg "b">},
        tensor<8x8xf32> {nn.role = #nn.role<exp_avg_sq "w">}, tensor<8xf32> {nn.role = #nn.role<exp_avg_sq "b">},
        tensor<f32> {nn.role = #nn.role<grad_norm "">}) {
  %norm = nn.global_norm %dw, %db : tensor<8x8xf32>, tensor<8xf32> -> tensor<f32>
  %w1, %mw1, %vw1 = nn.adam %w, %dw, %mw, %vw scale %norm lr %lr correction %lr, %lr {beta1 = 0.9, beta2 = 0.99, epsilon = 1.0e-8, weight_decay = 0.0, decoupled} : tensor<8x8xf32>, tensor<f32>
  %b1, %mb1, %vb1 = nn.adam %b, %db, %mb, %vb scale %norm lr %lr correction %lr, %lr {beta1 = 0.9, beta2 = 0.99, epsilon = 1.0e-8, weight_decay = 0.0, decoupled} : tensor<8xf32>, tensor<f32>
  return %w1, %b1, %mw1, %mb1, %vw1, %vb1, %norm : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
}

//--- momentum.mlir
zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}) {
  %0 = nn.neg %w : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// MOMENTUM-LABEL: func.func @update
// MOMENTUM-SAME: %[[P:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}, %[[G:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}, %[[M:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<momentum "b0">}, %[[LR:[a-z0-9]+]]: tensor<f32>
// MOMENTUM:      %[[U:.*]]:2 = zero.update @b0(%[[P]], %[[G]], %[[M]] : {{.*}}) scalars(%[[LR]], %[[LR]]
// MOMENTUM:        %[[A:.*]], %[[B:.*]] = nn.sgd %{{.*}} momentum
// MOMENTUM:        zero.yield %[[A]], %[[B]]
// MOMENTUM:      return %[[U]]#0, %[[U]]#1
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %g: tensor<8xf32> {nn.role = #nn.role<gradient "w">},
                  %m: tensor<8xf32> {nn.role = #nn.role<momentum "w">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<momentum "w">}) {
  %w1, %m1 = nn.sgd %w, %g momentum %m scale %lr lr %lr {momentum = 0.9, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>, tensor<8xf32> -> tensor<8xf32>
  return %w1, %m1 : tensor<8xf32>, tensor<8xf32>
}

//--- refuses.mlir
// expected-error @below {{module has no function @micro; run nn-build-backward first}}
module {}

// -----

// expected-error @below {{module has no function @update; run nn-append-optimizer first}}
module {
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
}

// -----

// expected-error @below {{module has no zero.mesh; run zero-assign-buckets first}}
module {
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}
}

// -----

// expected-error @below {{module has no zero.bucket; run zero-assign-buckets first}}
module {
zero.mesh @dp {size = 2 : i64}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
// expected-error @below {{has a slot 'w', as bucket @b0 has}}
zero.bucket @b1 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">},
    // expected-error @below {{parameter 'v' is in no bucket; zero-assign-buckets lays all out}}
    %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
// expected-error @below {{has a slot 'v', but @micro has no such parameter}}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}) {
  return %w : tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.data = dense<0.0> : tensor<8xf32>, nn.role = #nn.role<parameter "w">},
    // expected-error @below {{parameter 'v' has no nn.data, but others of bucket @b0 have}}
    %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
// expected-error @below {{@micro returns no gradient; run nn-build-backward first}}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  return
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
// expected-error @below {{@micro returns no gradient of parameter 'v'; nn-build-backward returns all}}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}) {
  return %w : tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
// expected-error @below {{gradient 'v' has type 'tensor<4xf32>', but the parameter is 'tensor<8xf32>'}}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %x: tensor<4xf32>) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<4xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %x : tensor<8xf32>, tensor<4xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %n = nn.neg %v : tensor<8xf32>
  // expected-error @below {{updates a value that is no parameter of @update; only the parameters themselves can be partitioned}}
  %v1 = nn.sgd %n, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %l = nn.reshape %lr : tensor<f32> to tensor<1xf32>
  %m = nn.neg %dv : tensor<8xf32>
  // expected-error @below {{of parameter 'v' takes a value of type 'tensor<8xf32>' that is no state; expected states and 0-d f32 tensors}}
  %v1 = nn.sgd %v, %m scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{of parameter 'v' takes the gradient of 'w'}}
  %v1 = nn.sgd %v, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %u: tensor<8xf32> {nn.role = #nn.role<parameter "u">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">}, %du: tensor<8xf32> {nn.role = #nn.role<gradient "u">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{updates parameter 'u', which is in no bucket}}
  %u1 = nn.sgd %u, %du scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  // expected-note @below {{the first update is here}}
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{updates parameter 'w' a second time}}
  %v1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
// expected-error @below {{@update has no nn.adam or nn.sgd of parameter 'v'; nn-append-optimizer makes one}}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  // expected-note @below {{'w' is updated here}}
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{updates parameter 'v' with another weight_decay (0.1 and 0) than 'w', but both are in bucket @b0}}
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.1} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">}, %mw: tensor<8xf32> {nn.role = #nn.role<exp_avg "w">}, %mv: tensor<8xf32> {nn.role = #nn.role<exp_avg "v">}, %qw: tensor<8xf32> {nn.role = #nn.role<exp_avg_sq "w">}, %qv: tensor<8xf32> {nn.role = #nn.role<exp_avg_sq "v">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  // expected-note @below {{'w' is updated here}}
  %w1, %mw1, %qw1 = nn.adam %w, %dw, %mw, %qw scale %lr lr %lr correction %lr, %lr {beta1 = 0.9, beta2 = 0.99, epsilon = 1.0e-8, weight_decay = 0.0, decoupled} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{updates parameter 'v' with another decoupled (absent and set) than 'w', but both are in bucket @b0}}
  %v1, %mv1, %qv1 = nn.adam %v, %dv, %mv, %qv scale %lr lr %lr correction %lr, %lr {beta1 = 0.9, beta2 = 0.99, epsilon = 1.0e-8, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  // expected-note @below {{'w' is updated here}}
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{updates parameter 'v' with another scalar than 'w', but both are in bucket @b0}}
  %v1 = nn.sgd %v, %dv scale %lr lr %s {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %m: tensor<8xf32> {nn.role = #nn.role<exp_avg "v">}, %q: tensor<8xf32> {nn.role = #nn.role<exp_avg_sq "v">}, %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  // expected-note @below {{'w' is updated here}}
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{updates parameter 'v' by another optimizer than 'w', but both are in bucket @b0}}
  %v1, %m1, %q1 = nn.adam %v, %dv, %m, %q scale %lr lr %lr correction %lr, %lr {beta1 = 0.9, beta2 = 0.99, epsilon = 1.0e-8, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{reads parameter 'w' in @update, where only nn.adam, nn.sgd and, of gradients, nn.global_norm can be partitioned}}
  %n = nn.neg %w : tensor<8xf32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{is of a value that is no gradient of @update}}
  %n = nn.global_norm %w1 : tensor<8xf32> -> tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{leaves gradient 'v' out; the norm of buckets is of all gradients}}
  %n = nn.global_norm %dw : tensor<8xf32> -> tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{counts gradient 'w' twice}}
  %n = nn.global_norm %dw, %dw, %dv : tensor<8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<f32>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  // expected-error @below {{has type 'tensor<f64>', but the exact norm is f32}}
  %n = nn.global_norm %dw, %dv : tensor<8xf32>, tensor<8xf32> -> tensor<f64>
  return %w1, %v1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
// expected-error @below {{result #1 of @update, the new parameter 'v', is not what updates that state}}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<8xf32> {nn.role = #nn.role<parameter "w">}, tensor<8xf32> {nn.role = #nn.role<parameter "v">}) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %w1, %w1 : tensor<8xf32>, tensor<8xf32>
}

// -----

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8]>, #zero.slot<"v", offset = 64, shape = [8]>]}
func.func @micro(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}) -> (tensor<8xf32> {nn.role = #nn.role<gradient "w">}, tensor<8xf32> {nn.role = #nn.role<gradient "v">}) {
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}
// expected-error @below {{@update returns no new parameter of parameter 'w'}}
func.func @update(%w: tensor<8xf32> {nn.role = #nn.role<parameter "w">}, %v: tensor<8xf32> {nn.role = #nn.role<parameter "v">}, %dw: tensor<8xf32> {nn.role = #nn.role<gradient "w">}, %dv: tensor<8xf32> {nn.role = #nn.role<gradient "v">},
                  %lr: tensor<f32> {nn.role = #nn.role<learning_rate "">}, %s: tensor<f32> {nn.role = #nn.role<loss_sum "">})
    -> (tensor<f32>) {
  %w1 = nn.sgd %w, %dw scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  %v1 = nn.sgd %v, %dv scale %lr lr %lr {momentum = 0.0, weight_decay = 0.0} : tensor<8xf32>, tensor<f32>
  return %lr : tensor<f32>
}

//--- predict.mlir
// Nothing is trained: nothing is laid out, shared or gathered.
// ALONE: zero.mesh @dp {size = 2 : i64}
// ALONE-NOT: zero.
// ALONE-LABEL: func.func @predict
// ALONE-NOT: zero.
zero.mesh @dp {size = 2 : i64}
func.func @predict(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}, %w: tensor<4xf32> {nn.role = #nn.role<frozen "w">, nn.data = dense<1.0> : tensor<4xf32>})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.add %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- predict-too.mlir
// @predict sees its parameters as @micro does.
// TOO-LABEL: func.func @predict
// TOO0-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0> {{{.*}}nn.role = #nn.role<parameter "b0">})
// TOO3-SAME: %[[P:[a-z0-9]+]]: !zero.shard<@b0> {{{.*}}nn.role = #nn.role<parameter "b0">})
// TOO3-NEXT: %[[F:.*]] = builtin.unrealized_conversion_cast %[[P]] : !zero.shard<@b0> to !zero.full<@b0>
// TOO0-NEXT: %[[B:.*]] = zero.view %[[P]]["b"]
// TOO3-NEXT: %[[B:.*]] = zero.view %[[F]]["b"]
// TOO-NEXT:  nn.neg %[[B]]
func.func @predict(%x: tensor<4x8xf32> {nn.role = #nn.role<input "x">},
                   %w: tensor<8x8xf32> {nn.data = dense<0.0> : tensor<8x8xf32>, nn.role = #nn.role<parameter "w">},
                   %b: tensor<8xf32> {nn.data = #nn.external<"m.onnx", 0, 32, 7>, nn.role = #nn.role<parameter "b">})
    -> (tensor<8xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.neg %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// States of 16-bit parameters: masters and moments of float32, gradients in the element that @update takes, contributions
// sent in the element of the wire.
// RUN: zero-opt %s --zero-partition-state=stage=0 | FileCheck %s --check-prefixes=CHECK,S0
// RUN: zero-opt %s --zero-partition-state=stage=1 | FileCheck %s --check-prefixes=CHECK,S1
// RUN: zero-opt %s --zero-partition-state=stage=3 | FileCheck %s --check-prefixes=CHECK,S3
// RUN: zero-opt %s --zero-partition-state=stage=0 --zero-insert-collectives | FileCheck %s --check-prefix=REDUCE0
// RUN: zero-opt %s --zero-partition-state=stage=1 --zero-insert-collectives='stage=1 accumulation-steps=2' | FileCheck %s --check-prefix=STEP
// RUN: zero-opt %s --zero-partition-state=stage=2 --zero-insert-collectives='stage=2 wire-element=f32' | FileCheck %s --check-prefix=WIRE
// Kept in float32 (grad_accum_dtype).
// RUN: sed 's/%%dw: tensor<8x8xbf16>/%%dw: tensor<8x8xf32>/; s/tensor<8x8xbf16> master/tensor<8x8xbf16> gradient tensor<8x8xf32> master/; s/global_norm %%dw : tensor<8x8xbf16>/global_norm %%dw : tensor<8x8xf32>/' %s > %t.f32.mlir
// RUN: zero-opt %t.f32.mlir --zero-partition-state=stage=1 --zero-insert-collectives='stage=1 accumulation-steps=2' | FileCheck %s --check-prefix=KEPT
// RUN: zero-opt %t.f32.mlir --zero-partition-state=stage=3 --zero-insert-collectives='stage=3' | FileCheck %s --check-prefix=KEPT3
// RUN: sed 's/size = 2/size = 1/' %t.f32.mlir | zero-opt - --zero-partition-state=stage=3 --zero-insert-collectives='stage=3 wire-element=f16' | FileCheck %s --check-prefix=ONE
// RUN: not zero-opt %s --zero-partition-state --zero-insert-collectives=wire-element=fp8 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: wire-element is 'fp8', expected f32, f16 or bf16

zero.mesh @dp {size = 2 : i64}
zero.bucket @b0 on @dp {block = "w", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [8, 8]>]}

// CHECK-LABEL: func.func @micro
// S0-SAME: -> (tensor<f32> {{.*}}, !zero.full<@b0> {nn.role = #nn.role<gradient "b0">})
// S1-SAME: -> (tensor<f32> {{.*}}, !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">, zero.whole_buffer})
// S3-SAME: %[[P:[a-z0-9]+]]: !zero.shard<@b0>
// CHECK:   zero.view %{{.*}}["w"] : !zero.full<@b0> -> tensor<8x8xbf16>
// REDUCE0: zero.all_reduce_start %{{.*}} : !zero.partial<@b0> -> !zero.future<!zero.full<@b0>>
// WIRE:      %[[P:.*]] = zero.pack @b0
// WIRE-NEXT: %[[W:.*]] = zero.convert %[[P]] : !zero.partial<@b0> to !zero.partial<@b0, f32>
// WIRE-NEXT: zero.reduce_scatter_start %[[W]] : !zero.partial<@b0, f32> -> !zero.future<!zero.shard<@b0>>
// STEP:  zero.accumulate %{{.*}}, %{{.*}} : !zero.partial<@b0>
// A sum over micro-batches is kept as the sum over ranks will be.
// KEPT:  zero.accumulate %{{.*}}, %{{.*}} : !zero.partial<@b0, f32>, !zero.partial<@b0>
// KEPT3: zero.reduce_scatter_start %{{.*}} : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0, f32>>
// ONE:      %[[P:.*]] = zero.pack @b0
// ONE-NEXT: %[[W:.*]] = zero.convert %[[P]] : !zero.partial<@b0> to !zero.partial<@b0, f32>
// ONE-NEXT: zero.alias %[[W]] : !zero.partial<@b0, f32> to !zero.full<@b0, f32>
func.func @micro(%x: tensor<8x8xbf16> {nn.role = #nn.role<input "x">},
                 %w: tensor<8x8xbf16> {nn.data = #nn.external<"m.onnx", 0, 256, 7>, nn.role = #nn.role<parameter "w">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<8x8xbf16> {nn.role = #nn.role<gradient "w">}) {
  %y = nn.mul %x, %w : tensor<8x8xbf16>
  %z = nn.cast %y : tensor<8x8xbf16> to tensor<8x8xf32>
  %s = nn.reduce sum %z axes [0, 1] : tensor<8x8xf32> to tensor<f32>
  %c = nn.constant dense<32> : tensor<i64>
  %dw = nn.mul %x, %y : tensor<8x8xbf16>
  return %s, %c, %dw : tensor<f32>, tensor<i64>, tensor<8x8xbf16>
}

// CHECK-LABEL: func.func @update
// S0-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %[[G:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<gradient "b0">},
// S0-SAME: %[[W:[a-z0-9]+]]: !zero.full<@b0, f32> {nn.role = #nn.role<master "b0">}, %[[M:[a-z0-9]+]]: !zero.full<@b0, f32> {nn.role = #nn.role<exp_avg "b0">}, %[[V:[a-z0-9]+]]: !zero.full<@b0, f32> {nn.role = #nn.role<exp_avg_sq "b0">},
// S1-SAME: %[[P:[a-z0-9]+]]: !zero.full<@b0> {nn.role = #nn.role<parameter "b0">}, %[[G:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">},
// S1-SAME: %[[W:[a-z0-9]+]]: !zero.shard<@b0, f32> {nn.role = #nn.role<master "b0">}, %[[M:[a-z0-9]+]]: !zero.shard<@b0, f32>
// S3-SAME: %[[P:[a-z0-9]+]]: !zero.shard<@b0> {nn.role = #nn.role<parameter "b0">}
// S3-SAME: %[[W:[a-z0-9]+]]: !zero.shard<@b0, f32> {nn.role = #nn.role<master "b0">}
// CHECK:   zero.sum_squares
// S0:      %[[U:.*]]:4 = zero.update @b0(%[[P]], %[[G]], %[[W]], %[[M]], %[[V]] : !zero.full<@b0>, !zero.full<@b0>, !zero.full<@b0, f32>, !zero.full<@b0, f32>, !zero.full<@b0, f32>) scalars({{.*}}) -> !zero.full<@b0>, !zero.full<@b0, f32>, !zero.full<@b0, f32>, !zero.full<@b0, f32> {
// S1:      %[[S:.*]] = zero.shard_of %[[P]] : !zero.full<@b0> -> !zero.shard<@b0>
// S1:      %[[U:.*]]:4 = zero.update @b0(%[[S]], %[[G]], %[[W]], %[[M]], %{{.*}} : !zero.shard<@b0>, !zero.shard<@b0>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>)
// S3:      %[[U:.*]]:4 = zero.update @b0(%[[P]],
// CHECK-NEXT: ^bb0(%[[PE:[a-z0-9]+]]: tensor<bf16>, %[[GE:[a-z0-9]+]]: tensor<bf16>, %[[WE:[a-z0-9]+]]: tensor<f32>, %[[ME:[a-z0-9]+]]: tensor<f32>, %[[VE:[a-z0-9]+]]: tensor<f32>, {{.*}}):
// CHECK-NEXT:   nn.adam %[[PE]], %[[GE]] master %[[WE]], %[[ME]], %[[VE]] scale {{.*}} : tensor<bf16> master tensor<f32>, tensor<f32>
// S1:      %[[N:.*]] = builtin.unrealized_conversion_cast %[[U]]#0 : !zero.shard<@b0> to !zero.full<@b0>
// S1:      return %[[N]], %[[U]]#1, %[[U]]#2, %[[U]]#3, %{{.*}} : !zero.full<@b0>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>,
// With a reduction in each step @update takes what the micro-batches gave.
// STEP:      zero.reduce_scatter_start %{{.*}} : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0>>
// KEPT-LABEL: func.func @update
// KEPT-SAME: %[[G:[a-z0-9]+]]: !zero.partial<@b0, f32> {nn.role = #nn.role<gradient "b0">}
// KEPT:      %[[C:.*]] = zero.convert %[[G]] : !zero.partial<@b0, f32> to !zero.partial<@b0>
// KEPT-NEXT: %[[F:.*]] = zero.reduce_scatter_start %[[C]] : !zero.partial<@b0> -> !zero.future<!zero.shard<@b0, f32>>
// KEPT-NEXT: %[[R:.*]] = zero.wait %[[F]]
// KEPT-NEXT: zero.sum_squares %[[R]] : !zero.shard<@b0, f32>
// KEPT:      zero.update @b0(%{{.*}}, %[[R]], %{{.*}} : !zero.shard<@b0>, !zero.shard<@b0, f32>, !zero.shard<@b0, f32>,
func.func @update(%w: tensor<8x8xbf16> {nn.role = #nn.role<parameter "w">}, %dw: tensor<8x8xbf16> {nn.role = #nn.role<gradient "w">},
                  %master: tensor<8x8xf32> {nn.role = #nn.role<master "w">}, %m: tensor<8x8xf32> {nn.role = #nn.role<exp_avg "w">},
                  %v: tensor<8x8xf32> {nn.role = #nn.role<exp_avg_sq "w">}, %lr: tensor<f32> {nn.data = 0.5 : f64, nn.role = #nn.role<learning_rate "">},
                  %c1: tensor<f32> {nn.data = 0.9 : f64, nn.role = #nn.role<bias_correction1 "">}, %c2: tensor<f32> {nn.data = 0.999 : f64, nn.role = #nn.role<bias_correction2 "">},
                  %scale: tensor<f32> {nn.data = 1024.0 : f64, nn.role = #nn.role<loss_scale "">})
    -> (tensor<8x8xbf16> {nn.role = #nn.role<parameter "w">}, tensor<8x8xf32> {nn.role = #nn.role<master "w">},
        tensor<8x8xf32> {nn.role = #nn.role<exp_avg "w">}, tensor<8x8xf32> {nn.role = #nn.role<exp_avg_sq "w">},
        tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<loss_scale "">}) {
  %norm = nn.global_norm %dw : tensor<8x8xbf16> -> tensor<f32>
  %factor = nn.mul %norm, %scale : tensor<f32>
  %0:4 = nn.adam %w, %dw master %master, %m, %v scale %factor lr %lr correction %c1, %c2
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : tensor<8x8xbf16> master tensor<8x8xf32>, tensor<f32>
  return %0#0, %0#1, %0#2, %0#3, %norm, %scale : tensor<8x8xbf16>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>
}

// RUN: split-file %s %t
// RUN: zero-opt %t/micro.mlir --nn-append-optimizer=loss-divisor=4 | FileCheck %s --check-prefix=ADAMW
// RUN: zero-opt %t/micro.mlir --nn-append-optimizer='optimizer=adam gradient-clipping=0.5 weight-decay=0.1 learning-rate=0.01 beta1=0.8 beta2=0.9 epsilon=1e-6' | FileCheck %s --check-prefix=ADAM
// RUN: zero-opt %t/micro.mlir --nn-append-optimizer='optimizer=sgd' | FileCheck %s --check-prefix=SGD
// RUN: zero-opt %t/micro.mlir --nn-append-optimizer='optimizer=sgd momentum=0.9 nesterov=true' | FileCheck %s --check-prefix=MOMENTUM
// RUN: zero-opt %t/refuses.mlir --split-input-file --verify-diagnostics --nn-append-optimizer
// RUN: not zero-opt %t/micro.mlir --nn-append-optimizer=optimizer=lion 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not zero-opt %t/micro.mlir --nn-append-optimizer='optimizer=sgd nesterov=true' 2>&1 | FileCheck %s --check-prefix=NESTEROV
// RUN: not zero-opt %t/micro.mlir --nn-append-optimizer=gradient-clipping=-1 2>&1 | FileCheck %s --check-prefix=CLIPPING
// RUN: not zero-opt %t/micro.mlir --nn-append-optimizer=loss-divisor=0 2>&1 | FileCheck %s --check-prefix=DIVISOR
// RUN: zero-opt %t/half.mlir --nn-append-optimizer='masters=true loss-scale=256 loss-scale-window=100 hysteresis=3 min-loss-scale=2' | FileCheck %s --check-prefix=DYNAMIC
// RUN: zero-opt %t/half.mlir --nn-append-optimizer='masters=true loss-scale=256 loss-scale-window=100 hysteresis=3 consecutive-hysteresis=true' | FileCheck %s --check-prefix=CONSECUTIVE
// RUN: zero-opt %t/half.mlir --nn-append-optimizer='optimizer=sgd masters=true gradient-element=f32 loss-scale=8 gradient-clipping=1' | FileCheck %s --check-prefix=STATIC
// RUN: not zero-opt %t/micro.mlir --nn-append-optimizer=gradient-element=f8 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not zero-opt %t/micro.mlir --nn-append-optimizer=min-loss-scale=0 2>&1 | FileCheck %s --check-prefix=MINIMUM
// RUN: not zero-opt %t/micro.mlir --nn-append-optimizer=loss-scale=8 2>&1 | FileCheck %s --check-prefix=NO-SCALE
// RUN: not zero-opt %t/half.mlir --nn-append-optimizer 2>&1 | FileCheck %s --check-prefix=A-SCALE
// RUN: zero-opt %t/predict.mlir --nn-append-optimizer | FileCheck %s --check-prefix=PREDICT
// RUN: zero-opt %t/narrow.mlir --verify-diagnostics --nn-append-optimizer=optimizer=adam
// RUN: zero-opt %t/narrow.mlir --nn-append-optimizer=epsilon=2.5e-4 2>&1 | FileCheck %s --check-prefix=NO-WARNING
// RUN: zero-opt %t/narrow.mlir --nn-append-optimizer=masters=true 2>&1 | FileCheck %s --check-prefix=NO-WARNING
// RUN: zero-opt %t/narrow.mlir --nn-append-optimizer=optimizer=sgd 2>&1 | FileCheck %s --check-prefix=NO-WARNING

// NO-WARNING-NOT: warning: parameter
// NO-WARNING:     func.func @update

// UNKNOWN:  error: unknown optimizer 'lion'; expected adamw, adam or sgd
// NESTEROV: error: nesterov needs the optimizer sgd with momentum; got sgd with momentum 0
// CLIPPING: error: gradient-clipping is -1, expected 0 (off) or more
// DIVISOR:  error: loss-divisor is 0, expected at least 1

// ELEMENT:  error: gradient-element is 'f8', expected f32, f16 or bf16
// MINIMUM:  error: loss-scale is 0, loss-scale-window 0, hysteresis 1, min-loss-scale 0; expected 0 or more, 0 or more, at least 1, more than 0
// NO-SCALE: error: loss-scale is 8 but @micro takes none; nn-build-backward has scale-loss
// A-SCALE:  error: loss-scale is 0 but @micro takes one; nn-build-backward has scale-loss

// It leaves @micro alone.
// ADAMW-LABEL: func.func @micro
// ADAMW:         nn.output_loss
// ADAMW-NEXT:    nn.constant
// ADAMW-NEXT:    return

// The factor is 4 x 1 position / count; without clipping it is the scale.
// ADAMW-LABEL: func.func @update
// ADAMW-SAME:    %[[P:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<parameter "p">}, %[[W:[a-z0-9]+]]: tensor<2x3xf32> {nn.role = #nn.role<parameter "w">}
// ADAMW-SAME:    %[[DP:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<gradient "p">}, %[[DW:[a-z0-9]+]]: tensor<2x3xf32> {nn.role = #nn.role<gradient "w">}
// ADAMW-SAME:    %[[MP:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<exp_avg "p">}, %[[MW:[a-z0-9]+]]: tensor<2x3xf32> {nn.role = #nn.role<exp_avg "w">}
// ADAMW-SAME:    %[[VP:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<exp_avg_sq "p">}, %[[VW:[a-z0-9]+]]: tensor<2x3xf32> {nn.role = #nn.role<exp_avg_sq "w">}
// ADAMW-SAME:    %[[SUM:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<loss_sum "">}, %[[COUNT:[a-z0-9]+]]: tensor<i64> {nn.role = #nn.role<label_count "">}
// ADAMW-SAME:    %[[LR:[a-z0-9]+]]: tensor<f32> {nn.data = 1.000000e-03 : f64, nn.role = #nn.role<learning_rate "">}
// ADAMW-SAME:    %[[C1:[a-z0-9]+]]: tensor<f32> {nn.data = 9.000000e-01 : f64, nn.role = #nn.role<bias_correction1 "">}
// ADAMW-SAME:    %[[C2:[a-z0-9]+]]: tensor<f32> {nn.data = 0.99{{[0-9]*}} : f64, nn.role = #nn.role<bias_correction2 "">}
// ADAMW-SAME:    %[[ON:[a-z0-9]+]]: tensor<f32> {nn.data = 1.000000e+00 : f64, nn.role = #nn.role<skip_non_finite "">}
// ADAMW-SAME:    -> (tensor<f32> {nn.role = #nn.role<parameter "p">}, tensor<2x3xf32> {nn.role = #nn.role<parameter "w">}, tensor<f32> {nn.role = #nn.role<exp_avg "p">}, tensor<2x3xf32> {nn.role = #nn.role<exp_avg "w">}, tensor<f32> {nn.role = #nn.role<exp_avg_sq "p">}, tensor<2x3xf32> {nn.role = #nn.role<exp_avg_sq "w">}, tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<skipped "">})
// ADAMW:         %[[POSITIONS:.*]] = nn.constant dense<4.000000e+00> : tensor<f32>
// ADAMW:         %[[COUNTED:.*]] = nn.cast %[[COUNT]] : tensor<i64> to tensor<f32>
// ADAMW:         %[[FACTOR:.*]] = nn.div %[[POSITIONS]], %[[COUNTED]]
// ADAMW:         %[[RAW:.*]] = nn.global_norm %[[DP]], %[[DW]]
// ADAMW:         %[[NORM:.*]] = nn.mul %[[RAW]], %[[FACTOR]]
// ADAMW:         %[[LOSS:.*]] = nn.mul %[[SUM]], %[[FACTOR]]
// ADAMW-NOT:     nn.min
// A loss or norm that is NaN or infinite sets the flag, where it is on.
// ADAMW:         %[[ABS:.*]] = nn.abs %[[LOSS]]
// ADAMW:         %[[INF:.*]] = nn.constant dense<0x7F800000> : tensor<f32>
// ADAMW:         %[[FINITE1:.*]] = nn.compare lt %[[ABS]], %[[INF]]
// ADAMW:         %[[FINITE2:.*]] = nn.compare lt
// ADAMW:         %[[FINITE:.*]] = nn.and
// ADAMW:         %[[SKIP:.*]] = nn.select %[[FINITE]], %{{.*}}, %[[ON]]
// ADAMW:         %[[NP:.*]], %[[NMP:.*]], %[[NVP:.*]] = nn.adam %[[P]], %[[DP]], %[[MP]], %[[VP]] scale %[[FACTOR]] lr %[[LR]] correction %[[C1]], %[[C2]] skip %[[SKIP]] : tensor<f32>
// ADAMW-SAME:      {beta1 = 9.000000e-01 : f64, beta2 = {{.*}} : f64, decoupled, epsilon = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64}
// ADAMW:         %[[NW:.*]], %[[NMW:.*]], %[[NVW:.*]] = nn.adam %[[W]], %[[DW]], %[[MW]], %[[VW]]
// ADAMW:         return %[[NP]], %[[NW]], %[[NMP]], %[[NMW]], %[[NVP]], %[[NVW]], %[[LOSS]], %[[NORM]], %[[SKIP]]

// Clipping: factor * min(1, 0.5 / (norm + 1e-6)).
// ADAM-LABEL: func.func @update
// ADAM-SAME:    nn.data = 1.000000e-02 : f64, nn.role = #nn.role<learning_rate "">
// ADAM-SAME:    nn.data = 8.000000e-01 : f64, nn.role = #nn.role<bias_correction1 "">
// ADAM-SAME:    nn.data = 9.000000e-01 : f64, nn.role = #nn.role<bias_correction2 "">
// ADAM:         %[[FACTOR:.*]] = nn.div
// ADAM:         %[[NORM:.*]] = nn.mul %{{.*}}, %[[FACTOR]]
// ADAM:         %[[CLIP:.*]] = nn.constant dense<5.000000e-01> : tensor<f32>
// ADAM:         %[[EPSILON:.*]] = nn.constant dense<9.99999997E-7> : tensor<f32>
// ADAM:         %[[SAFE:.*]] = nn.add %[[NORM]], %[[EPSILON]]
// ADAM:         %[[RATIO:.*]] = nn.div %[[CLIP]], %[[SAFE]]
// ADAM:         %[[ONE:.*]] = nn.constant dense<1.000000e+00> : tensor<f32>
// ADAM:         %[[MIN:.*]] = nn.min %[[RATIO]], %[[ONE]]
// ADAM:         %[[SCALE:.*]] = nn.mul %[[FACTOR]], %[[MIN]]
// ADAM:         nn.adam {{.*}} scale %[[SCALE]] {{.*}} {beta1 = 8.000000e-01 : f64, beta2 = 9.000000e-01 : f64, epsilon = {{.*}} : f64, weight_decay = 1.000000e-01 : f64}
// ADAM:         return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NORM]], %{{.*}}

// SGD-LABEL: func.func @update
// SGD-NOT:     momentum
// SGD-NOT:     bias_correction
// SGD:         %[[NP:.*]] = nn.sgd %arg0, %arg2 scale %{{.*}} lr %arg6 skip %{{.*}} : tensor<f32> {momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64}
// SGD:         %[[NW:.*]] = nn.sgd %arg1, %arg3
// SGD:         return %[[NP]], %[[NW]], %{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>

// MOMENTUM-LABEL: func.func @update
// MOMENTUM-SAME:    %[[BP:[a-z0-9]+]]: tensor<f32> {nn.role = #nn.role<momentum "p">}, %[[BW:[a-z0-9]+]]: tensor<2x3xf32> {nn.role = #nn.role<momentum "w">}
// MOMENTUM:         %[[NP:.*]], %[[NBP:.*]] = nn.sgd %arg0, %arg2 momentum %[[BP]] {{.*}} {momentum = 9.000000e-01 : f64, nesterov, weight_decay = 0.000000e+00 : f64}
// MOMENTUM:         %[[NW:.*]], %[[NBW:.*]] = nn.sgd %arg1, %arg3 momentum %[[BW]]
// MOMENTUM:         return %[[NP]], %[[NW]], %[[NBP]], %[[NBW]], %{{.*}}, %{{.*}}, %{{.*}}

// A parameter of 16 bits has a master, one of 32 has none. What it takes and gives: the master, moments of f32, the scale
// and its counters, each with the number that it starts with.
// DYNAMIC-LABEL: func.func @update
// DYNAMIC-SAME:    %[[P:[a-z0-9]+]]: tensor<2xf16> {nn.role = #nn.role<parameter "p">}, %[[W:[a-z0-9]+]]: tensor<2xf32> {nn.role = #nn.role<parameter "w">}
// DYNAMIC-SAME:    %[[DP:[a-z0-9]+]]: tensor<2xf16> {nn.role = #nn.role<gradient "p">}, %[[DW:[a-z0-9]+]]: tensor<2xf32> {nn.role = #nn.role<gradient "w">}
// DYNAMIC-SAME:    %[[MASTER:[a-z0-9]+]]: tensor<2xf32> {nn.role = #nn.role<master "p">}, %[[MP:[a-z0-9]+]]: tensor<2xf32> {nn.role = #nn.role<exp_avg "p">}
// DYNAMIC-SAME:    %[[VP:[a-z0-9]+]]: tensor<2xf32> {nn.role = #nn.role<exp_avg_sq "p">}
// DYNAMIC-SAME:    %[[S:[a-z0-9]+]]: tensor<f32> {nn.data = 2.560000e+02 : f64, nn.role = #nn.role<loss_scale "">}
// DYNAMIC-SAME:    %[[N:[a-z0-9]+]]: tensor<i64> {nn.data = 0 : i64, nn.role = #nn.role<scale_window_steps "">}
// DYNAMIC-SAME:    %[[H:[a-z0-9]+]]: tensor<i64> {nn.data = 3 : i64, nn.role = #nn.role<scale_hysteresis "">}
// DYNAMIC-SAME:    tensor<2xf32> {nn.role = #nn.role<parameter "w">}, tensor<2xf32> {nn.role = #nn.role<master "p">}, tensor<2xf32> {nn.role = #nn.role<exp_avg "p">}
// DYNAMIC-SAME:    tensor<f32> {nn.role = #nn.role<skipped "">}, tensor<f32> {nn.role = #nn.role<loss_scale "">}, tensor<i64> {nn.role = #nn.role<scale_window_steps "">}, tensor<i64> {nn.role = #nn.role<scale_hysteresis "">})
// Gradients and their norm are divided by the scale, the loss is not.
// DYNAMIC:         %[[FACTOR:.*]] = nn.div
// DYNAMIC:         %[[UNSCALED:.*]] = nn.div %[[FACTOR]], %[[S]]
// DYNAMIC:         %[[RAW:.*]] = nn.global_norm %[[DP]], %[[DW]] : tensor<2xf16>, tensor<2xf32> -> tensor<f32>
// DYNAMIC:         %[[NORM:.*]] = nn.mul %[[RAW]], %[[UNSCALED]]
// DYNAMIC:         %[[LOSS:.*]] = nn.mul %{{.*}}, %[[FACTOR]]
// DYNAMIC:         %[[FINITE:.*]] = nn.and
// DYNAMIC:         %[[NP:.*]], %[[NMASTER:.*]], %[[NMP:.*]], %[[NVP:.*]] = nn.adam %[[P]], %[[DP]] master %[[MASTER]], %[[MP]], %[[VP]] scale %[[UNSCALED]] {{.*}} : tensor<2xf16> master tensor<2xf32>, tensor<f32>
// DYNAMIC:         nn.adam %[[W]], %[[DW]], {{.*}} : tensor<2xf32>, tensor<f32>
// The rule of the scale; test/Unit/Gradients/LossScaleTests.cpp runs it.
// DYNAMIC:         %[[FULL:.*]] = nn.compare eq %[[N]], %{{.*}}
// DYNAMIC:         %[[LAST:.*]] = nn.compare eq %[[H]], %{{.*}}
// DYNAMIC:         %[[THREE:.*]] = nn.constant dense<3> : tensor<i64>
// DYNAMIC:         %[[NS:.*]] = nn.select %[[FINITE]], {{.*}} : tensor<i1>, tensor<f32>
// DYNAMIC:         %[[NN:.*]] = nn.select %[[FINITE]], {{.*}} : tensor<i1>, tensor<i64>
// DYNAMIC:         %[[REFILL:.*]] = nn.select %[[FULL]], %[[THREE]], %[[H]]
// DYNAMIC:         %[[NH:.*]] = nn.select %[[FINITE]], %[[REFILL]], {{.*}} : tensor<i1>, tensor<i64>
// DYNAMIC:         return %[[NP]], %{{.*}}, %[[NMASTER]], %[[NMP]], %{{.*}}, %[[NVP]], %{{.*}}, %[[LOSS]], %[[NORM]], %{{.*}}, %[[NS]], %[[NN]], %[[NH]]

// CONSECUTIVE-LABEL: func.func @update
// CONSECUTIVE:         %[[THREE:.*]] = nn.constant dense<3> : tensor<i64>
// CONSECUTIVE:         nn.select %{{.*}}, %[[THREE]], %{{.*}} : tensor<i1>, tensor<i64>

// A static scale is read and not written; accumulated gradients have a type of their own.
// STATIC-LABEL: func.func @update
// STATIC-SAME:    tensor<2xf32> {nn.role = #nn.role<gradient "p">}
// STATIC-SAME:    %[[S:[a-z0-9]+]]: tensor<f32> {nn.data = 8.000000e+00 : f64, nn.role = #nn.role<loss_scale "">})
// STATIC-SAME:    -> (tensor<2xf16> {nn.role = #nn.role<parameter "p">}, tensor<2xf32> {nn.role = #nn.role<parameter "w">}, tensor<2xf32> {nn.role = #nn.role<master "p">}, tensor<f32> {nn.role = #nn.role<loss "">}, tensor<f32> {nn.role = #nn.role<grad_norm "">}, tensor<f32> {nn.role = #nn.role<skipped "">})
// STATIC:         %[[UNSCALED:.*]] = nn.div %{{.*}}, %[[S]]
// STATIC:         %[[CLIP:.*]] = nn.min
// STATIC:         %[[SCALE:.*]] = nn.mul %[[UNSCALED]], %[[CLIP]]
// STATIC:         nn.sgd %{{.*}}, %{{.*}} master %{{.*}} scale %[[SCALE]] {{.*}} : tensor<2xf16> gradient tensor<2xf32> master tensor<2xf32>, tensor<f32>

//--- half.mlir
func.func @micro(%p: tensor<2xf16> {nn.role = #nn.role<parameter "p">}, %w: tensor<2xf32> {nn.role = #nn.role<parameter "w">},
                 %s: tensor<f32> {nn.role = #nn.role<loss_scale "">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<2xf16> {nn.role = #nn.role<gradient "p">}, tensor<2xf32> {nn.role = #nn.role<gradient "w">}) {
  %sum, %count = nn.output_loss %s : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count, %p, %w : tensor<f32>, tensor<i64>, tensor<2xf16>, tensor<2xf32>
}

//--- micro.mlir
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}, %w: tensor<2x3xf32> {nn.role = #nn.role<parameter "w">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<f32> {nn.role = #nn.role<gradient "p">}, tensor<2x3xf32> {nn.role = #nn.role<gradient "w">}) {
  %sum, %count = nn.output_loss %p : tensor<f32> -> tensor<f32>, tensor<i64>
  %seed = nn.constant dense<1.0> : tensor<f32>
  return %sum, %count, %seed, %w : tensor<f32>, tensor<i64>, tensor<f32>, tensor<2x3xf32>
}

//--- refuses.mlir
// expected-error @+1 {{module has no function @micro; run nn-build-backward first}}
module {
}

// -----

func.func @micro() {
  return
}
// expected-error @+1 {{module has a function @update already}}
func.func @update() {
  return
}

// -----

// expected-error @+1 {{result #0 of @micro has no role}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}) -> tensor<f32> {
  return %p : tensor<f32>
}

// -----

// expected-error @+1 {{@micro has no result with the role label_count}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">}) -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}) {
  return %p : tensor<f32>
}

// -----

// expected-error @+1 {{label_count of @micro is not the result of a loss op with positions; run this pass before nn-decompose-composites}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %count = nn.constant dense<1> : tensor<i64>
  return %p, %count : tensor<f32>, tensor<i64>
}

// -----

// expected-error @+1 {{parameter 'p' has type 'tensor<f32>' but @micro returns no gradient for it}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %count = nn.output_loss %p : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// expected-error @+1 {{parameter 'p' has type 'tensor<1xf32>' but its gradient has type 'tensor<f32>'}}
func.func @micro(%p: tensor<1xf32> {nn.role = #nn.role<parameter "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<f32> {nn.role = #nn.role<gradient "p">}) {
  %sum, %count = nn.output_loss %p : tensor<1xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count, %sum : tensor<f32>, tensor<i64>, tensor<f32>
}

// -----

// expected-error @+1 {{@micro has no parameter to train}}
func.func @micro(%p: tensor<f32> {nn.role = #nn.role<frozen "p">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %sum, %count = nn.output_loss %p : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

//--- narrow.mlir
// Squares of small gradients are 0 in f16, but neither in bf16 nor in f32.
func.func @micro(%a: tensor<bf16> {nn.role = #nn.role<parameter "a">}, %b: tensor<f32> {nn.role = #nn.role<parameter "b">},
    // expected-warning @+1 {{parameter 'p' and 1 more have type 'f16', and so has exp_avg_sq, which is 0 below 5.96e-08: there 'optimizer.params.eps' 1.00e-08 alone divides, and the parameters are soon not finite; take an eps of at least 2.44e-04, SGD, or a model of f32 with 'fp16.enabled'}}
    %p: tensor<f16> {nn.role = #nn.role<parameter "p">}, %q: tensor<f16> {nn.role = #nn.role<parameter "q">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<bf16> {nn.role = #nn.role<gradient "a">}, tensor<f32> {nn.role = #nn.role<gradient "b">},
        tensor<f16> {nn.role = #nn.role<gradient "p">}, tensor<f16> {nn.role = #nn.role<gradient "q">}) {
  %sum, %count = nn.output_loss %b : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count, %a, %b, %p, %q : tensor<f32>, tensor<i64>, tensor<bf16>, tensor<f32>, tensor<f16>, tensor<f16>
}

//--- predict.mlir
// Nothing is trained: nothing is updated.
// PREDICT-LABEL: func.func @predict
// PREDICT-NOT:   func.func @update
func.func @predict(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}) -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  return %x : tensor<4xf32>
}

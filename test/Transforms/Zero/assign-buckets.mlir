// RUN: split-file %s %t
// RUN: zero-opt %t/numbered.mlir --zero-assign-buckets=world-size=2 | FileCheck %s
// RUN: zero-opt %t/numbered.mlir --zero-assign-buckets='world-size=2 bucket-elements=70' | FileCheck %s --check-prefix=SMALL
// RUN: zero-opt %t/numbered.mlir --zero-assign-buckets='world-size=2 persistence-threshold=8' | FileCheck %s --check-prefix=PERSIST
// RUN: zero-opt %t/modules.mlir --zero-assign-buckets | FileCheck %s --check-prefix=MODULES
// RUN: zero-opt %t/plain.mlir --zero-assign-buckets | FileCheck %s --check-prefix=PLAIN
// RUN: zero-opt %t/shapes.mlir --zero-assign-buckets=world-size=3 | FileCheck %s --check-prefix=SHAPES
// RUN: zero-opt %t/mesh.mlir --zero-assign-buckets=world-size=4 | FileCheck %s --check-prefix=MESH
// RUN: zero-opt %t/refuses.mlir --split-input-file --verify-diagnostics --zero-assign-buckets
// RUN: not zero-opt %t/plain.mlir --zero-assign-buckets=world-size=0 2>&1 | FileCheck %s --check-prefix=WORLD
// RUN: not zero-opt %t/plain.mlir --zero-assign-buckets=bucket-elements=0 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not zero-opt %t/mesh.mlir --zero-assign-buckets=world-size=2 2>&1 | FileCheck %s --check-prefix=DISAGREE
// RUN: zero-opt %t/predict.mlir --zero-assign-buckets=world-size=2 | FileCheck %s --check-prefix=PREDICT

// WORLD: error: world-size is 0, expected at least 1
// LIMIT: error: bucket-elements is 0, expected at least 1
// DISAGREE: error: 'zero.mesh' op has size 4, but world-size is 2

//--- numbered.mlir
// Order of first use, not of arguments; blocks from numbers; a tied parameter is one slot; what nothing reads comes last.
// CHECK:      zero.mesh @dp {size = 2 : i64}
// CHECK-NEXT: zero.bucket @b0 on @dp {block = "m.wte", element = f32, elements = 128 : i64,
// CHECK-SAME:   slots = [#zero.slot<"m.wte", offset = 0, shape = [16]>, #zero.slot<"m.wpe", offset = 64, shape = [4]>]}
// CHECK-NEXT: zero.bucket @b1 on @dp {block = "m.h.0", element = f32, elements = 256 : i64,
// CHECK-SAME:   slots = [#zero.slot<"m.h.0.w", offset = 0, shape = [8, 9]>, #zero.slot<"m.h.0.b", offset = 128, shape = [9]>]}
// CHECK-NEXT: zero.bucket @b2 on @dp {block = "m.h.10", element = f32, elements = 128 : i64,
// CHECK-SAME:   slots = [#zero.slot<"m.h.10.w.3", offset = 0, shape = [64]>]}
// CHECK-NEXT: zero.bucket @b3 on @dp {block = "m.ln_f", element = f32, elements = 128 : i64,
// CHECK-SAME:   slots = [#zero.slot<"m.ln_f", offset = 0, shape = [4]>, #zero.slot<"unread", offset = 64, shape = [2]>]}
// CHECK-NOT:  zero.bucket
// The function stays as it is.
// CHECK:      func.func @micro(%{{.*}}: tensor<2xf32> {nn.role = #nn.role<parameter "unread">}

// At most 70 elements, one parameter at least: m.h.0.b would start at 128.
// SMALL:      slots = [#zero.slot<"m.wte", offset = 0, shape = [16]>, #zero.slot<"m.wpe", offset = 64, shape = [4]>]
// SMALL-NEXT: zero.bucket @b1 {{.*}}block = "m.h.0", {{.*}}elements = 128 : i64, slots = [#zero.slot<"m.h.0.w", offset = 0, shape = [8, 9]>]
// SMALL-NEXT: zero.bucket @b2 {{.*}}block = "m.h.0", {{.*}}elements = 128 : i64, slots = [#zero.slot<"m.h.0.b", offset = 0, shape = [9]>]
// SMALL-NEXT: zero.bucket @b3

// Parameters of fewer than 8 elements stay whole at stage 3, so they cannot share a bucket with others.
// PERSIST:      zero.bucket @b0 {{.*}}slots = [#zero.slot<"m.wte", offset = 0, shape = [16]>]
// PERSIST-NEXT: zero.bucket @b1 {{.*}}slots = [#zero.slot<"m.wpe", offset = 0, shape = [4]>]
// PERSIST-NEXT: zero.bucket @b2 {{.*}}slots = [#zero.slot<"m.h.0.w", offset = 0, shape = [8, 9]>, #zero.slot<"m.h.0.b"
func.func @micro(%u: tensor<2xf32> {nn.role = #nn.role<parameter "unread">},
                 %b: tensor<9xf32> {nn.role = #nn.role<parameter "m.h.0.b">},
                 %w: tensor<8x9xf32> {nn.role = #nn.role<parameter "m.h.0.w">},
                 %w1: tensor<64xf32> {nn.role = #nn.role<parameter "m.h.10.w.3">},
                 %lnf: tensor<4xf32> {nn.role = #nn.role<parameter "m.ln_f">},
                 %wpe: tensor<4xf32> {nn.role = #nn.role<parameter "m.wpe">},
                 %wte: tensor<16xf32> {nn.role = #nn.role<parameter "m.wte">}) {
  %0 = nn.neg %wte : tensor<16xf32>
  %1 = nn.neg %wpe : tensor<4xf32>
  %2 = nn.neg %w : tensor<8x9xf32>
  %3 = nn.neg %b : tensor<9xf32>
  %4 = nn.neg %w1 : tensor<64xf32>
  %5 = nn.neg %lnf : tensor<4xf32>
  %6 = nn.exp %wte : tensor<16xf32>
  return
}

//--- modules.mlir
// Without numbers a block is a module.
// MODULES:      zero.mesh @dp {size = 1 : i64}
// MODULES-NEXT: zero.bucket @b0 on @dp {block = "net.fc1.weight", {{.*}}slots = [#zero.slot<"net.fc1.weight", {{.*}}, #zero.slot<"net.fc1.bias", {{.*}}]}
// MODULES-NEXT: zero.bucket @b1 on @dp {block = "net.fc2.weight", {{.*}}slots = [#zero.slot<"net.fc2.weight", {{.*}}]}
// MODULES-NOT:  zero.bucket
func.func @micro(%w1: tensor<4x4xf32> {nn.role = #nn.role<parameter "net.fc1.weight">}, %b1: tensor<4xf32> {nn.role = #nn.role<parameter "net.fc1.bias">},
                 %w2: tensor<4x4xf32> {nn.role = #nn.role<parameter "net.fc2.weight">}) {
  return
}

//--- plain.mlir
// Names of one component: a matrix, and the vectors up to the next one. Parameters of another element type have a bucket of their own.
// PLAIN:      zero.bucket @b0 on @dp {block = "W1", element = f32, elements = 128 : i64, slots = [#zero.slot<"W1", {{.*}}, #zero.slot<"b1", {{.*}}]}
// PLAIN-NEXT: zero.bucket @b1 on @dp {block = "W2", element = f32, {{.*}}slots = [#zero.slot<"W2", {{.*}}]}
// PLAIN-NEXT: zero.bucket @b2 on @dp {block = "W2", element = bf16, {{.*}}slots = [#zero.slot<"b2", {{.*}}]}
// PLAIN-NOT:  zero.bucket
func.func @micro(%w1: tensor<4x4xf32> {nn.role = #nn.role<parameter "W1">}, %b1: tensor<4xf32> {nn.role = #nn.role<parameter "b1">},
                 %w2: tensor<4x4xf32> {nn.role = #nn.role<parameter "W2">}, %b2: tensor<4xbf16> {nn.role = #nn.role<parameter "b2">}) {
  return
}

//--- shapes.mlir
// No element, one element, fewer elements than ranks, an odd number: each has a slot; 129 elements are padded to 3 x 64.
// SHAPES:      zero.bucket @b0 {{.*}}elements = 384 : i64, slots = [#zero.slot<"h.0.empty", offset = 0, shape = [0, 3]>,
// SHAPES-SAME:   #zero.slot<"h.0.scalar", offset = 0, shape = []>, #zero.slot<"h.0.two", offset = 64, shape = [2]>,
// SHAPES-SAME:   #zero.slot<"h.0.odd", offset = 128, shape = [129]>]}
// SHAPES-NEXT: zero.bucket @b1 {{.*}}elements = 192 : i64, slots = [#zero.slot<"h.1.empty", offset = 0, shape = [0]>]}
func.func @micro(%e: tensor<0x3xf32> {nn.role = #nn.role<parameter "h.0.empty">}, %s: tensor<f32> {nn.role = #nn.role<parameter "h.0.scalar">},
                 %t: tensor<2xf32> {nn.role = #nn.role<parameter "h.0.two">}, %o: tensor<129xf32> {nn.role = #nn.role<parameter "h.0.odd">},
                 %n: tensor<0xf32> {nn.role = #nn.role<parameter "h.1.empty">}) {
  return
}

//--- mesh.mlir
// MESH:      zero.mesh @data {size = 4 : i64}
// MESH-NEXT: zero.bucket @b0 on @data {block = "w", element = f32, elements = 256 : i64
zero.mesh @data {size = 4 : i64}
func.func @micro(%w: tensor<4xf32> {nn.role = #nn.role<parameter "w">}) {
  return
}

//--- refuses.mlir
// expected-error @below {{module has no function @micro; run nn-build-backward first}}
module {}

// -----

// expected-error @below {{@micro has no parameter to lay out}}
func.func @micro(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}) {
  return
}

// -----

// expected-error @below {{parameter 'w' has type 'tensor<?xf32>', expected a float tensor of static shape}}
func.func @micro(%w: tensor<?xf32> {nn.role = #nn.role<parameter "w">}) {
  return
}

// -----

func.func @micro(
    // expected-note @below {{the first is here}}
    %w: tensor<4xf32> {nn.role = #nn.role<parameter "w">},
    // expected-error @below {{two arguments of @micro are parameter 'w'}}
    %v: tensor<4xf32> {nn.role = #nn.role<parameter "w">}) {
  return
}

// -----

zero.mesh @dp {size = 1 : i64}
// expected-error @below {{is there already; zero-assign-buckets decides the layout once}}
zero.bucket @b0 on @dp {block = "w", element = f32, elements = 64 : i64, slots = []}
func.func @micro(%w: tensor<4xf32> {nn.role = #nn.role<parameter "w">}) {
  return
}

// -----

// expected-note @below {{the first mesh is here}}
zero.mesh @dp {size = 1 : i64}
// expected-error @below {{is a second mesh; one is supported}}
zero.mesh @tp {size = 1 : i64}
func.func @micro(%w: tensor<4xf32> {nn.role = #nn.role<parameter "w">}) {
  return
}

// -----

// expected-error @below {{@micro has 2 blocks, expected 1}}
func.func @micro(%w: tensor<4xf32> {nn.role = #nn.role<parameter "w">}) {
  return
^unreachable:
  return
}

//--- predict.mlir
// Nothing is trained: nothing is laid out, shared or gathered.
// PREDICT: zero.mesh @dp {size = 2 : i64}
// PREDICT-NOT: zero.
// PREDICT-LABEL: func.func @predict
// PREDICT-NOT: zero.
func.func @predict(%x: tensor<4xf32> {nn.role = #nn.role<input "x">}, %w: tensor<4xf32> {nn.role = #nn.role<frozen "w">, nn.data = dense<1.0> : tensor<4xf32>})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.add %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// RUN: split-file %s %t
// RUN: zero-opt %t/does.mlir --split-input-file --nn-mix-precision | FileCheck %t/does.mlir
// RUN: zero-opt %t/half.mlir --split-input-file --nn-mix-precision=element=f16 | FileCheck %t/half.mlir
// RUN: zero-opt %t/leaves.mlir --nn-mix-precision | FileCheck %t/leaves.mlir
// RUN: zero-opt %t/refuses.mlir --split-input-file --verify-diagnostics --nn-mix-precision
// RUN: not zero-opt %t/leaves.mlir --nn-mix-precision=element=f8 2>&1 | FileCheck %s --check-prefix=ELEMENT

// ELEMENT: error: element is 'f8', expected bf16 or f16

//--- does.mlir
// Products and what moves elements are of 16 bits, the rest is f32 and rounds once; the parameter keeps the data of its
// file. A value that two ops read in f32 is widened once.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x4xf32> {nn.role = #nn.role<input "x">}
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x10xbf16> {nn.data = #nn.external<"w.onnx", 0, 160, 7>, nn.role = #nn.role<parameter "w">}
// CHECK-SAME:    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}, tensor<8x10xf32> {nn.role = #nn.role<output "z">})
// CHECK-NEXT:    %[[XN:.*]] = nn.cast %[[X]] : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK-NEXT:    %[[P:.*]] = nn.matmul %[[XN]], %[[W]] : tensor<8x4xbf16>, tensor<4x10xbf16> -> tensor<8x10xbf16>
// CHECK-NEXT:    %[[PW:.*]] = nn.cast %[[P]] : tensor<8x10xbf16> to tensor<8x10xf32>
// CHECK-NEXT:    %[[G:.*]] = nn.gelu none %[[PW]] : tensor<8x10xf32>
// CHECK-NEXT:    %[[GN:.*]] = nn.cast %[[G]] : tensor<8x10xf32> to tensor<8x10xbf16>
// CHECK-NEXT:    %[[T:.*]] = nn.transpose %[[GN]] [1, 0] : tensor<8x10xbf16> to tensor<10x8xbf16>
// CHECK-NEXT:    %[[B:.*]] = nn.transpose %[[T]] [1, 0] : tensor<10x8xbf16> to tensor<8x10xbf16>
// CHECK-NEXT:    %[[BW:.*]] = nn.cast %[[B]] : tensor<8x10xbf16> to tensor<8x10xf32>
// CHECK-NEXT:    %[[S:.*]] = nn.add %[[BW]], %[[PW]] : tensor<8x10xf32>
// CHECK-NEXT:    %[[SN:.*]] = nn.cast %[[S]] : tensor<8x10xf32> to tensor<8x10xbf16>
// CHECK-NEXT:    %[[Z:.*]] = nn.cast %[[SN]] : tensor<8x10xbf16> to tensor<8x10xf32>
// CHECK-NEXT:    %[[SUM:.*]], %[[COUNT:.*]], %{{.*}} = nn.cross_entropy %[[Z]], %{{.*}} : tensor<8x10xf32>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<8xf32>
// CHECK-NEXT:    return %[[SUM]], %[[COUNT]], %[[Z]]
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %y: tensor<8xi64> {nn.role = #nn.role<label "y">},
                   %w: tensor<4x10xf32> {nn.role = #nn.role<parameter "w">, nn.data = #nn.external<"w.onnx", 0, 160, 7>})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<8x10xf32> {nn.role = #nn.role<output "z">}) {
  %0 = nn.matmul %x, %w : tensor<8x4xf32>, tensor<4x10xf32> -> tensor<8x10xf32>
  %1 = nn.gelu none %0 : tensor<8x10xf32>
  %2 = nn.transpose %1 [1, 0] : tensor<8x10xf32> to tensor<10x8xf32>
  %3 = nn.transpose %2 [1, 0] : tensor<10x8xf32> to tensor<8x10xf32>
  %4 = nn.add %3, %0 : tensor<8x10xf32>
  %sum, %count, %lse = nn.cross_entropy %4, %y : tensor<8x10xf32>, tensor<8xi64> -> tensor<f32>, tensor<i64>, tensor<8xf32>
  return %sum, %count, %4 : tensor<f32>, tensor<i64>, tensor<8x10xf32>
}

// -----

// What one operator was imported as rounds at its end: the distance and the factor of a batch normalization stay f32, its result and what
// another operator reads do not.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<4xbf16> {nn.role = #nn.role<parameter "s">}
// CHECK:         %[[XN:.*]] = nn.cast %{{.*}} : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK:         %[[XW:.*]] = nn.cast %{{.*}} : tensor<8x4xbf16> to tensor<8x4xf32>
// CHECK:         %[[D:.*]] = nn.sub %[[XW]], %{{.*}} : tensor<8x4xf32>
// CHECK-NEXT:    %[[F:.*]] = nn.mul %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK-NEXT:    %[[FB:.*]] = nn.broadcast %[[F]] dims [1] : tensor<4xf32> to tensor<8x4xf32>
// CHECK-NEXT:    %[[N:.*]] = nn.mul %[[D]], %[[FB]] : tensor<8x4xf32>
// CHECK-NEXT:    %[[NN:.*]] = nn.cast %[[N]] : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK-NEXT:    %[[NW:.*]] = nn.cast %[[NN]] : tensor<8x4xbf16> to tensor<8x4xf32>
// CHECK-NEXT:    %[[R:.*]] = nn.exp %[[NW]] : tensor<8x4xf32>
// CHECK-NEXT:    %[[RN:.*]] = nn.cast %[[R]] : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK-NEXT:    %[[RW:.*]] = nn.cast %[[RN]] : tensor<8x4xbf16> to tensor<8x4xf32>
// CHECK-NEXT:    %[[Q:.*]] = nn.mul %[[RW]], %[[NW]] : tensor<8x4xf32>
#bn = loc("bn")
#exp = loc("exp")
#mul = loc("mul")
func.func @forward(%x: tensor<8x4xf32> {nn.role = #nn.role<input "x">}, %s: tensor<4xf32> {nn.role = #nn.role<parameter "s">},
                   %m: tensor<4xf32> {nn.role = #nn.role<frozen "m">}, %r: tensor<4xf32> {nn.role = #nn.role<frozen "r">})
    -> (tensor<8x4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.transpose %x [1, 0] : tensor<8x4xf32> to tensor<4x8xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
  %2 = nn.broadcast %m dims [1] : tensor<4xf32> to tensor<8x4xf32> loc(#bn)
  %3 = nn.sub %1, %2 : tensor<8x4xf32> loc(#bn)
  %4 = nn.mul %s, %r : tensor<4xf32> loc(#bn)
  %5 = nn.broadcast %4 dims [1] : tensor<4xf32> to tensor<8x4xf32> loc(#bn)
  %6 = nn.mul %3, %5 : tensor<8x4xf32> loc(#bn)
  %7 = nn.exp %6 : tensor<8x4xf32> loc(#exp)
  %8 = nn.mul %7, %6 : tensor<8x4xf32> loc(#mul)
  return %8 : tensor<8x4xf32>
}

// -----

// Statistics that the gradient reads stay f32; a layer norm reads its weights in f32.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<16xbf16> {nn.role = #nn.role<parameter "s">}
// CHECK:         %[[SW:.*]] = nn.cast %[[S]] : tensor<16xbf16> to tensor<16xf32>
// CHECK:         %[[Y:.*]], %{{.*}}, %{{.*}} = nn.layer_norm %{{.*}} scale %[[SW]] {{.*}} -> tensor<1x2x16xf32>, tensor<1x2xf32>, tensor<1x2xf32>
// CHECK:         %[[Q:.*]] = nn.reshape %{{.*}} : tensor<1x2x16xbf16> to tensor<1x2x2x8xbf16>
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]] scale {{.*}} -> tensor<1x2x2x8xbf16>, tensor<1x2x2xf32>
func.func @forward(%x: tensor<1x2x16xf32> {nn.role = #nn.role<input "x">}, %s: tensor<16xf32> {nn.role = #nn.role<parameter "s">})
    -> (tensor<1x2x2x8xf32> {nn.role = #nn.role<output "y">}) {
  %y, %mean, %rstd = nn.layer_norm %x scale %s epsilon 1.0e-5 : tensor<1x2x16xf32>, tensor<16xf32> -> tensor<1x2x16xf32>, tensor<1x2xf32>, tensor<1x2xf32>
  %q = nn.reshape %y : tensor<1x2x16xf32> to tensor<1x2x2x8xf32>
  %a, %lse = nn.attention %q, %q, %q scale 0.5 : tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32> -> tensor<1x2x2x8xf32>, tensor<1x2x2xf32>
  return %a : tensor<1x2x2x8xf32>
}

// -----

// Positions and tables are f32 until they meet a 16-bit value; there they are used as they are by arithmetic, and
// rounded by what takes 16 bits. A comparison of 16-bit values is made of their f32 values.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[F:[a-z0-9]+]]: tensor<4xf32> {nn.role = #nn.role<frozen "inv_freq">}
// CHECK:         %[[WW:.*]] = nn.cast %{{.*}} : tensor<4xbf16> to tensor<4xf32>
// CHECK:         %[[P:.*]] = nn.iota axis 0 : tensor<4xf32>
// CHECK:         %[[A:.*]] = nn.mul %[[P]], %[[F]] : tensor<4xf32>
// CHECK:         %[[C:.*]] = nn.cos %[[A]] : tensor<4xf32>
// CHECK:         %[[CN:.*]] = nn.cast %[[C]] : tensor<4xf32> to tensor<4xbf16>
// CHECK:         %[[M:.*]] = nn.mul %[[WW]], %[[C]] : tensor<4xf32>
// CHECK:         %[[MN:.*]] = nn.cast %[[M]] : tensor<4xf32> to tensor<4xbf16>
// CHECK:         %[[MW:.*]] = nn.cast %[[MN]] : tensor<4xbf16> to tensor<4xf32>
// CHECK:         %[[L:.*]] = nn.compare lt %[[MW]], %[[C]] : tensor<4xf32>
// CHECK:         nn.select %[[L]], %[[MN]], %[[CN]] : tensor<4xi1>, tensor<4xbf16>
func.func @forward(%f: tensor<4xf32> {nn.role = #nn.role<frozen "inv_freq">}, %w: tensor<4xf32> {nn.role = #nn.role<parameter "w">})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %p = nn.iota axis 0 : tensor<4xf32>
  %a = nn.mul %p, %f : tensor<4xf32>
  %c = nn.cos %a : tensor<4xf32>
  %m = nn.mul %w, %c : tensor<4xf32>
  %l = nn.compare lt %m, %c : tensor<4xf32> -> tensor<4xi1>
  %y = nn.select %l, %m, %c : tensor<4xi1>, tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Frozen weights that only 16-bit ops read become 16-bit; one that f32 arithmetic reads stays. What an input looks up in a
// weight is 16-bit, in a network without parameters, too.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[E:[a-z0-9]+]]: tensor<9x4xbf16> {nn.role = #nn.role<frozen "embedding">}
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x4xbf16> {nn.role = #nn.role<frozen "w">}
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<6x4xf32> {nn.role = #nn.role<frozen "b">}
// CHECK:         %[[G:.*]] = nn.gather %[[E]][%{{.*}}] axis 0 : tensor<9x4xbf16>, tensor<6xi64> -> tensor<6x4xbf16>
// CHECK:         %[[P:.*]] = nn.matmul %[[G]], %[[W]]
// CHECK:         %[[PW:.*]] = nn.cast %[[P]]
// CHECK:         nn.add %[[PW]], %[[B]] : tensor<6x4xf32>
func.func @forward(%ids: tensor<6xi64> {nn.role = #nn.role<input "ids">}, %e: tensor<9x4xf32> {nn.role = #nn.role<frozen "embedding">},
                   %w: tensor<4x4xf32> {nn.role = #nn.role<frozen "w">}, %b: tensor<6x4xf32> {nn.role = #nn.role<frozen "b">})
    -> (tensor<6x4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.gather %e[%ids] axis 0 : tensor<9x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
  %1 = nn.matmul %0, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
  %2 = nn.add %1, %b : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// -----

// A loss that the model computes is one number: it is not rounded.
// CHECK-LABEL: func.func @forward
// CHECK:         %[[W:.*]] = nn.cast %{{.*}} : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = nn.reduce sum %[[W]] axes [0] : tensor<4xf32> to tensor<f32>
// CHECK-NEXT:    %[[S:.*]] = nn.reshape %[[R]] : tensor<f32> to tensor<1xf32>
// CHECK-NEXT:    nn.output_loss %[[S]] : tensor<1xf32>
func.func @forward(%w: tensor<4xf32> {nn.role = #nn.role<parameter "w">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">}) {
  %0 = nn.reduce sum %w axes [0] : tensor<4xf32> to tensor<f32>
  %1 = nn.reshape %0 : tensor<f32> to tensor<1xf32>
  %sum, %count = nn.output_loss %1 : tensor<1xf32> -> tensor<f32>, tensor<i64>
  return %sum, %count : tensor<f32>, tensor<i64>
}

// -----

// A spelled-out norm: squares, their mean and its root are f32, the normalised tensor is rounded.
// CHECK-LABEL: func.func @forward
// CHECK:         %[[X:.*]] = nn.cast %{{.*}} : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-NEXT:    %[[Q:.*]] = nn.mul %[[X]], %[[X]] : tensor<4x8xf32>
// CHECK-NEXT:    %[[S:.*]] = nn.reduce sum %[[Q]] axes [1] : tensor<4x8xf32> to tensor<4xf32>
// CHECK-NEXT:    %[[N:.*]] = nn.constant
// CHECK-NEXT:    %[[M:.*]] = nn.div %[[S]], %[[N]] : tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = nn.rsqrt %[[M]] : tensor<4xf32>
// CHECK-NEXT:    %[[K:.*]] = nn.reshape %[[R]] : tensor<4xf32> to tensor<4x1xf32>
// CHECK-NEXT:    %[[B:.*]] = nn.broadcast %[[K]] dims [0, 1] : tensor<4x1xf32> to tensor<4x8xf32>
// CHECK-NEXT:    %[[Y:.*]] = nn.mul %[[X]], %[[B]] : tensor<4x8xf32>
// CHECK-NEXT:    %[[YN:.*]] = nn.cast %[[Y]] : tensor<4x8xf32> to tensor<4x8xbf16>
func.func @forward(%x: tensor<4x8xf32> {nn.role = #nn.role<parameter "x">}) -> (tensor<4x8xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.mul %x, %x : tensor<4x8xf32>
  %1 = nn.reduce sum %0 axes [1] : tensor<4x8xf32> to tensor<4xf32>
  %n = nn.constant dense<8.0> : tensor<4xf32>
  %2 = nn.div %1, %n : tensor<4xf32>
  %3 = nn.rsqrt %2 : tensor<4xf32>
  %4 = nn.reshape %3 : tensor<4xf32> to tensor<4x1xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<4x1xf32> to tensor<4x8xf32>
  %6 = nn.mul %x, %5 : tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

// -----

// What a gradient stops at is 16-bit like what it is of: rows of a table, chosen by index.
// CHECK-LABEL: func.func @forward
// CHECK:         %[[ROWS:.*]] = nn.gather {{.*}} -> tensor<4x2xbf16>
// CHECK:         %[[S:.*]] = nn.stop_gradient %[[ROWS]] : tensor<4x2xbf16>
// CHECK:         nn.select %{{.*}}, %[[S]], %[[ROWS]] : tensor<4x2xi1>, tensor<4x2xbf16>
func.func @forward(%i: tensor<4xi64> {nn.role = #nn.role<input "i">}, %m: tensor<4x2xi1> {nn.role = #nn.role<input "m">},
                   %w: tensor<3x2xf32> {nn.role = #nn.role<parameter "w">}) -> (tensor<4x2xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.gather %w[%i] axis 0 : tensor<3x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
  %1 = nn.stop_gradient %0 : tensor<4x2xf32>
  %2 = nn.select %m, %1, %0 : tensor<4x2xi1>, tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// The largest f32 would round to an infinity.
// CHECK-LABEL: func.func @forward
// CHECK:         nn.constant dense<-3.389530e+38> : tensor<4xbf16>
func.func @forward(%m: tensor<4xi1> {nn.role = #nn.role<input "m">}, %w: tensor<4xf32> {nn.role = #nn.role<parameter "w">})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %c = nn.constant dense<-3.40282347E+38> : tensor<4xf32>
  %0 = nn.select %m, %c, %w : tensor<4xi1>, tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A model of these 16 bits is mixed as one of f32: its norm's statistics are f32, the sum behind its own cast too; parameters, inputs and outputs keep
// their types.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xbf16> {nn.role = #nn.role<input "x">}, %[[W:[a-z0-9]+]]: tensor<8xbf16> {nn.role = #nn.role<parameter "w">}
// CHECK-SAME:    -> (tensor<4x8xbf16> {nn.role = #nn.role<output "y">}, tensor<4xf32> {nn.role = #nn.role<output "s">})
// CHECK-DAG:     %[[XW:.*]] = nn.cast %[[X]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-DAG:     %[[WW:.*]] = nn.cast %[[W]] : tensor<8xbf16> to tensor<8xf32>
// CHECK:         nn.layer_norm %[[XW]] scale %[[WW]] {{.*}} -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK:         nn.reduce sum %{{.*}} axes [1] : tensor<4x8xf32> to tensor<4xf32>
// CHECK:         return %{{.*}}, %{{.*}} : tensor<4x8xbf16>, tensor<4xf32>
func.func @forward(%x: tensor<4x8xbf16> {nn.role = #nn.role<input "x">}, %w: tensor<8xbf16> {nn.role = #nn.role<parameter "w">})
    -> (tensor<4x8xbf16> {nn.role = #nn.role<output "y">}, tensor<4xf32> {nn.role = #nn.role<output "s">}) {
  %c = nn.constant dense<3.0> : tensor<4x8xbf16>
  %r, %mean, %rstd = nn.layer_norm %x scale %w epsilon 1.0e-5 : tensor<4x8xbf16>, tensor<8xbf16> -> tensor<4x8xbf16>, tensor<4xbf16>, tensor<4xbf16>
  %0 = nn.mul %r, %c : tensor<4x8xbf16>
  %1 = nn.cast %0 : tensor<4x8xbf16> to tensor<4x8xf32>
  %2 = nn.reduce sum %1 axes [1] : tensor<4x8xf32> to tensor<4xf32>
  return %0, %2 : tensor<4x8xbf16>, tensor<4xf32>
}

//--- half.mlir
// Finite numbers beyond 65504 that go into a mask become 65504, infinities stay; a factor of arithmetic stays.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[M:[a-z0-9]+]]: tensor<4xi1>
// CHECK:         %[[C:.*]] = nn.constant dense<[-1.000000e+09, 0xFF800000, 1.000000e+00, 7.000000e+04]> : tensor<4xf32>
// CHECK:         %[[CN:.*]] = nn.constant dense<[-6.550400e+04, 0xFC00, 1.000000e+00, 6.550400e+04]> : tensor<4xf16>
// CHECK:         %[[S:.*]] = nn.select %[[M]], %[[CN]], %{{.*}} : tensor<4xi1>, tensor<4xf16>
// CHECK:         nn.mul %{{.*}}, %[[C]] : tensor<4xf32>
// CHECK:         nn.pad {{.*}} {value = -6.550400e+04 : f64} : tensor<4xf16> to tensor<5xf16>
func.func @forward(%m: tensor<4xi1> {nn.role = #nn.role<input "m">}, %w: tensor<4xf32> {nn.role = #nn.role<parameter "w">})
    -> (tensor<5xf32> {nn.role = #nn.role<output "y">}) {
  %c = nn.constant dense<[-1.0e9, 0xFF800000, 1.0, 7.0e4]> : tensor<4xf32>
  %0 = nn.select %m, %c, %w : tensor<4xi1>, tensor<4xf32>
  %1 = nn.mul %0, %c : tensor<4xf32>
  %2 = nn.pad %1 low [0] high [1] interior [0] {value = -1.0e9 : f64} : tensor<4xf32> to tensor<5xf32>
  return %2 : tensor<5xf32>
}

// -----

// The same of a mask that is computed, where it is added.
// CHECK-LABEL: func.func @forward
// CHECK:         %[[MASK:.*]] = nn.mul %{{.*}} : tensor<4xf32>
// CHECK:         %[[LOW:.*]] = nn.constant dense<-6.550400e+04> : tensor<4xf32>
// CHECK:         %[[MAX:.*]] = nn.max %[[MASK]], %[[LOW]] : tensor<4xf32>
// CHECK:         %[[HIGH:.*]] = nn.constant dense<6.550400e+04> : tensor<4xf32>
// CHECK:         %[[IN:.*]] = nn.min %[[MAX]], %[[HIGH]] : tensor<4xf32>
// CHECK:         %[[ABS:.*]] = nn.abs %[[MASK]] : tensor<4xf32>
// CHECK:         %[[INF:.*]] = nn.constant dense<0x7F800000> : tensor<4xf32>
// CHECK:         %[[IS:.*]] = nn.compare eq %[[ABS]], %[[INF]] : tensor<4xf32>
// CHECK:         %[[L:.*]] = nn.select %[[IS]], %[[MASK]], %[[IN]] : tensor<4xi1>, tensor<4xf32>
// CHECK:         nn.add %{{.*}}, %[[L]] : tensor<4xf32>
func.func @forward(%m: tensor<4xi64> {nn.role = #nn.role<input "m">}, %w: tensor<4xf32> {nn.role = #nn.role<parameter "w">})
    -> (tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.cast %m : tensor<4xi64> to tensor<4xf32>
  %c = nn.constant dense<-3.40282347E+38> : tensor<4xf32>
  %1 = nn.mul %0, %c : tensor<4xf32>
  %2 = nn.add %w, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- leaves.mlir
// Integers, other floats and what no parameter and no float input reaches.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    tensor<4xf64> {nn.role = #nn.role<input "d">}
// CHECK-NOT:     bf16
// CHECK:         return
func.func @forward(%d: tensor<4xf64> {nn.role = #nn.role<input "d">}, %i: tensor<4xi64> {nn.role = #nn.role<input "i">},
                   %f: tensor<4xf32> {nn.role = #nn.role<frozen "f">})
    -> (tensor<4xf64> {nn.role = #nn.role<output "x">}, tensor<4xf32> {nn.role = #nn.role<output "y">}) {
  %0 = nn.exp %d : tensor<4xf64>
  %1 = nn.cast %i : tensor<4xi64> to tensor<4xf32>
  %2 = nn.mul %1, %f : tensor<4xf32>
  return %0, %2 : tensor<4xf64>, tensor<4xf32>
}

//--- refuses.mlir
// expected-error @+1 {{module has no function @forward; mixed precision comes before nn-build-backward}}
module {
}

// -----

// expected-error @+1 {{parameter 'w' has type 'tensor<4xf64>'; mixed precision takes parameters of f32 or bf16, to which it keeps masters of f32; without 'bf16.enabled' it is trained in the type that it has}}
func.func @forward(%w: tensor<4xf64> {nn.role = #nn.role<parameter "w">}) -> (tensor<4xf64> {nn.role = #nn.role<output "y">}) {
  return %w : tensor<4xf64>
}

// -----

// expected-error @+1 {{parameter 'w' has type 'tensor<4xf16>'; mixed precision takes parameters of f32 or bf16, to which it keeps masters of f32}}
func.func @forward(%w: tensor<4xf16> {nn.role = #nn.role<parameter "w">}) -> (tensor<4xf16> {nn.role = #nn.role<output "y">}) {
  return %w : tensor<4xf16>
}

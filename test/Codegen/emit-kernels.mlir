// RUN: zero-opt %s --plan-emit-kernels --split-input-file --verify-diagnostics | FileCheck %s

// A flat kernel: cells of 64 elements between begin and end, then the last 6 elements if the range ends with them.
// CHECK-LABEL: module @generated
// CHECK:         func.func @scale(%[[P:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) {
// CHECK:           scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} : i64 {
// CHECK:             %[[X:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK:             %[[Y:.*]] = arith.mulf %[[X]], %{{.*}} : vector<16xf32>
// CHECK:             llvm.store %[[Y]], %{{.*}} {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
// CHECK:           }
// CHECK:           scf.if
// CHECK:             llvm.load %{{.*}} -> vector<6xf32>
// CHECK:             vector.shuffle
// CHECK:             arith.mulf %{{.*}} : vector<16xf32>
// CHECK:             llvm.store %{{.*}} : vector<6xf32>, !llvm.ptr
module {
  func.func private @body(%x: tensor<10x7xf32>) -> tensor<10x7xf32> {
    %0 = nn.constant dense<2.0> : tensor<10x7xf32>
    %1 = nn.mul %x, %0 : tensor<10x7xf32>
    return %1 : tensor<10x7xf32>
  }
  plan.kernel @scale {body_function = @body, items = 2 : i64}
}

// -----

// Rows: one pass for the sum, in four accumulators, one that reads it.
// CHECK-LABEL: module @generated
// CHECK:         func.func @normalize
// CHECK:           scf.for %{{.*}} = %arg1 to %arg2 step
// CHECK:             %[[S:.*]]:4 = scf.for
// CHECK-COUNT-4:       arith.addf %{{.*}} : vector<16xf32>
// CHECK:               scf.yield
// CHECK:             vector.extract
// CHECK:             scf.for
// CHECK:               arith.divf
// CHECK:               llvm.store
module {
  func.func private @body(%x: tensor<3x128xf32>) -> tensor<3x128xf32> {
    %0 = nn.reduce sum %x axes [1] : tensor<3x128xf32> to tensor<3xf32>
    %1 = nn.broadcast %0 dims [0] : tensor<3xf32> to tensor<3x128xf32>
    %2 = nn.div %x, %1 : tensor<3x128xf32>
    return %2 : tensor<3x128xf32>
  }
  plan.kernel @normalize {body_function = @body, items = 3 : i64}
}

// -----

// Columns: down the rows, along each row the tiles of 64 columns; their partial sums are in stack memory.
// CHECK-LABEL: module @generated
// CHECK:         func.func @add_rows
// CHECK:           llvm.alloca %{{.*}} x i8 {alignment = 64 : i64}
// CHECK:           %[[BLOCK:.*]] = arith.constant 32 : i64
// CHECK:           scf.for %[[FIRST:.*]] = %{{.*}} to %{{.*}} step %[[BLOCK]] : i64 {
// CHECK:             scf.for %{{.*}} = %[[FIRST]] to
// CHECK:               scf.for
// CHECK-COUNT-4:         arith.addf %{{.*}} : vector<16xf32>
// CHECK-COUNT-4:         llvm.store %{{.*}} : vector<16xf32>, !llvm.ptr
// CHECK-NEXT:          }
// CHECK-NEXT:        }
module {
  func.func private @body(%x: tensor<100x128xf32>) -> tensor<128xf32> {
    %0 = nn.reduce sum %x axes [0] : tensor<100x128xf32> to tensor<128xf32>
    return %0 : tensor<128xf32>
  }
  plan.kernel @add_rows {body_function = @body, items = 2 : i64}
}

// -----

// One tile: its partial sums are carried from row to row.
// CHECK-LABEL: module @generated
// CHECK:         func.func @add_short_rows
// CHECK:           scf.for %[[FIRST:.*]] = %{{.*}} to %{{.*}} step %{{.*}} : i64 {
// CHECK:             %[[S:.*]]:3 = scf.for %{{.*}} = %{{.*}} iter_args
// CHECK:               scf.yield
module {
  func.func private @body(%x: tensor<100x40xf32>) -> tensor<40xf32> {
    %0 = nn.reduce sum %x axes [0] : tensor<100x40xf32> to tensor<40xf32>
    return %0 : tensor<40xf32>
  }
  plan.kernel @add_short_rows {body_function = @body, items = 1 : i64}
}

// -----

// What a row was rounded to bf16 is kept for the passes after the first, not rounded again.
// CHECK-LABEL: module @generated
// CHECK:         func.func @normalize_rounded
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK-COUNT-4:       arith.cmpf uno
// CHECK:             scf.for
// CHECK-NOT:         arith.cmpf uno
// CHECK:             return
module {
  func.func private @body(%x: tensor<3x128xf32>, %z: tensor<3x128xf32>) -> tensor<3x128xf32> {
    %h = nn.cast %x : tensor<3x128xf32> to tensor<3x128xbf16>
    %w = nn.cast %h : tensor<3x128xbf16> to tensor<3x128xf32>
    %0 = nn.reduce max %w axes [1] : tensor<3x128xf32> to tensor<3xf32>
    %1 = nn.broadcast %0 dims [0] : tensor<3xf32> to tensor<3x128xf32>
    %2 = nn.mul %w, %1 : tensor<3x128xf32>
    return %2 : tensor<3x128xf32>
  }
  plan.kernel @normalize_rounded {body_function = @body, items = 3 : i64}
}

// -----

// expected-error@+1 {{kernel k: nn.matmul: is not elementwise, a broadcast or a reduction}}
module {
  func.func private @body(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = nn.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  plan.kernel @k {body_function = @body, items = 1 : i64}
}

// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=2 --world-size=2 2>/dev/null | FileCheck %s
// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=1 --world-size=2 -o %t.1.mlir 2>/dev/null
// RUN: zero-opt %S/Inputs/tied.mlir --zero-stage=2 --world-size=2 -o %t.2.mlir 2>/dev/null
// RUN: sed 's/, zero.whole_buffer//g; 1d' %t.1.mlir > %t.1.stripped
// RUN: sed '1d' %t.2.mlir > %t.2.stripped
// RUN: diff %t.1.stripped %t.2.stripped

// Optimizer state and gradients are sharded: the state of a gradient is this rank's range. With one micro-batch that is all
// that differs from stage 1.
// CHECK-LABEL: func.func @micro
// CHECK-SAME:    !zero.shard<@b0> {nn.role = #nn.role<gradient "b0">}
// CHECK-NOT:     zero.whole_buffer
// CHECK-COUNT-4: zero.reduce_scatter_start
// CHECK-LABEL: func.func @update
// CHECK-COUNT-4: zero.all_gather_start

// RUN: zero-opt %s --plan-emit-cuda-kernels --split-input-file --verify-diagnostics -o /dev/null | FileCheck %s

// A flat kernel: vectors of four, the last one shorter.
// CHECK:      extern "C" __global__ void __launch_bounds__(32) scale(const float *p0, float *p1) {
// CHECK-NEXT:   const u32 unit = blockIdx.x * 32 + threadIdx.x;
// CHECK-NEXT:   if (unit >= 18)
// CHECK-NEXT:     return;
// CHECK-NEXT:   const u32 position = unit * 4;
// CHECK-NEXT:   const bool whole = position + 4 <= 70;
// CHECK:        if (whole) {
// CHECK-NEXT:     loadVector<16>(a0, p0 + position);
// CHECK-NEXT:   } else {
// CHECK-NEXT:     loadPart(a0, p0 + position, 70 - position);
// CHECK:      #pragma unroll
// CHECK-NEXT:   for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:     const float v0 = a0[j] * 2.0f;
// CHECK-NEXT:     r0[j] = v0;
// CHECK:        storeVector<16>(p1 + position, r0);
// CHECK:        storePart(p1 + position, r0, 70 - position);
module {
  func.func private @body(%x: tensor<10x7xf32>) -> tensor<10x7xf32> {
    %0 = nn.constant dense<2.0> : tensor<10x7xf32>
    %1 = nn.mul %x, %0 : tensor<10x7xf32>
    return %1 : tensor<10x7xf32>
  }
  plan.kernel @scale {body_function = @body, items = 2 : i64}
}

// -----

// A row for each warp: read once, summed by shuffles. Dispatches say how pointers are aligned, and that none overlap.
// CHECK:      extern "C" __global__ void __launch_bounds__(96) normalize(const bf16 *__restrict__ p0, bf16 *__restrict__ p1) {
// CHECK-NEXT:   const u32 lane = threadIdx.x % 32;
// CHECK-NEXT:   const u32 row = blockIdx.x * 3 + threadIdx.x / 32;
// CHECK:        bf16 a0[2][8];
// CHECK:        loadVector<8>(a0[c], p0 + offset0 + position);
// CHECK:        total0 = total0 + shuffleXor(0xffffffffu, total0, s);
// CHECK:        const float v{{[0-9]+}} = roundTo<bf16>(total0);
// CHECK-NOT:    p0
// CHECK:        storeVector<16>(p1 + offset0 + position, r0);
module {
  func.func private @body(%x: tensor<3x512xbf16>) -> tensor<3x512xbf16> {
    %0 = nn.reduce sum %x axes [1] : tensor<3x512xbf16> to tensor<3xbf16>
    %1 = nn.broadcast %0 dims [0] : tensor<3xbf16> to tensor<3x512xbf16>
    %2 = nn.div %x, %1 : tensor<3x512xbf16>
    return %2 : tensor<3x512xbf16>
  }
  plan.kernel @normalize {body_function = @body, items = 3 : i64}
  plan.section @predict {
    plan.dispatch "normalize" on compute reads [#plan.slice<@x, 8, 3072>] writes [#plan.slice<@y, 0, 3072>] waits [] {integers = array<i64>, reals = array<f64>}
  }
}

// -----

// A long row: the warps of a block meet in shared memory; what passes share is read again.
// CHECK:      extern "C" __global__ void __launch_bounds__(1024) long_rows(const float *__restrict__ p0, float *__restrict__ p1) {
// CHECK-NEXT:   extern __shared__ uint4 shared[];
// CHECK-NEXT:   float *const partial0 = reinterpret_cast<float *>(shared + 0);
// CHECK:        for (u32 position = lane; position < 20001; position += 1024) {
// CHECK:        partial0[threadIdx.x / 32] = total0;
// CHECK:        __syncthreads();
// CHECK-NEXT:   total0 = partial0[threadIdx.x % 32];
// CHECK:        if (lane == 0) {
// CHECK-NEXT:     p1[row] = total0;
module {
  func.func private @body(%x: tensor<3x20001xf32>) -> tensor<3xf32> {
    %0 = nn.reduce max %x axes [1] : tensor<3x20001xf32> to tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  plan.kernel @long_rows {body_function = @body, items = 3 : i64}
}

// -----

// Columns: groups of lanes add rows, then each other's sums.
// CHECK:      extern "C" __global__ void __launch_bounds__(512) bias(const float *__restrict__ p0, float *__restrict__ p1) {
// CHECK:        const u32 lane = threadIdx.x % 2, group = threadIdx.x / 2;
// CHECK-NEXT:   const u32 tile = blockIdx.x;
// CHECK-NEXT:   const u32 position = (tile * 2 + lane) * 4;
// CHECK-NEXT:   float sum0[4] = {0.0f, 0.0f, 0.0f, 0.0f};
// CHECK-NEXT: #pragma unroll 4
// CHECK-NEXT:   for (u32 row = group; row < 4096; row += 256) {
// CHECK:        if (group >= s && group < 2 * s) {
// CHECK:        partial[j * 512 + threadIdx.x] = sum0[j];
// CHECK:        __syncthreads();
// CHECK:        sum0[j] = sum0[j] + partial[j * 512 + threadIdx.x + s * 2];
// CHECK:        if (group == 0) {
// CHECK:        storeVector<16>(p1 + position, r0);
module {
  func.func private @body(%x: tensor<4096x768xf32>) -> tensor<768xf32> {
    %0 = nn.reduce sum %x axes [0] : tensor<4096x768xf32> to tensor<768xf32>
    return %0 : tensor<768xf32>
  }
  plan.kernel @bias {body_function = @body, items = 12 : i64}
}

// -----

// Places that do not fit 32 bits: of elements, of rows, and in one row.
// CHECK:      extern "C" __global__ void __launch_bounds__(256) large(
// CHECK-NEXT:   for (u64 unit = static_cast<u64>(blockIdx.x) * 256 + threadIdx.x; unit < 2147549184ull; unit += 1048576ull) {
// CHECK-NEXT:     const u64 row = unit / 32769ull, position = unit % 32769ull;
// CHECK-NEXT:     const u64 offset0 = row * 32769ull;
// CHECK:      extern "C" __global__ void __launch_bounds__(256) many_rows(
// CHECK:        for (u64 row = static_cast<u64>(blockIdx.x) * 8 + threadIdx.x / 32; row < 4194304ull; row += 524280ull) {
// CHECK-NEXT:     const u64 offset0 = row * 512ull;
// CHECK:      extern "C" __global__ void __launch_bounds__(1024) one_row(
// CHECK:        for (u64 position = lane * 4; position < 2147483648ull; position += 4096ull) {
// CHECK:      extern "C" __global__ void __launch_bounds__(512) tall(
// CHECK:        for (u64 row = group; row < 4194304ull; row += 256) {
// CHECK-NEXT:     const u64 offset0 = row * 512ull;
module {
  func.func private @of_large(%x: tensor<65536x32769xf32>, %y: tensor<32769xf32>) -> tensor<65536x32769xf32> {
    %0 = nn.broadcast %y dims [1] : tensor<32769xf32> to tensor<65536x32769xf32>
    %1 = nn.mul %x, %0 : tensor<65536x32769xf32>
    return %1 : tensor<65536x32769xf32>
  }
  func.func private @of_many_rows(%x: tensor<4194304x512xf32>) -> tensor<4194304x512xf32> {
    %0 = nn.reduce sum %x axes [1] : tensor<4194304x512xf32> to tensor<4194304xf32>
    %1 = nn.broadcast %0 dims [0] : tensor<4194304xf32> to tensor<4194304x512xf32>
    %2 = nn.div %x, %1 : tensor<4194304x512xf32>
    return %2 : tensor<4194304x512xf32>
  }
  func.func private @of_one_row(%x: tensor<2147483648xf32>) -> tensor<f32> {
    %0 = nn.reduce sum %x axes [0] : tensor<2147483648xf32> to tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @of_tall(%x: tensor<4194304x512xf32>) -> tensor<512xf32> {
    %0 = nn.reduce sum %x axes [0] : tensor<4194304x512xf32> to tensor<512xf32>
    return %0 : tensor<512xf32>
  }
  plan.kernel @large {body_function = @of_large, items = 2 : i64}
  plan.kernel @many_rows {body_function = @of_many_rows, items = 2 : i64}
  plan.kernel @one_row {body_function = @of_one_row, items = 2 : i64}
  plan.kernel @tall {body_function = @of_tall, items = 2 : i64}
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

// -----

// expected-error@+1 {{kernel k: it is not launched as its code is written}}
module {
  func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = nn.neg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  plan.kernel @k {body_function = @body, items = 1 : i64, launch = #plan.launch<2, 32, 0>}
}

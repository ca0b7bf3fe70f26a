//===- ScatterAtomic.cuh - Scattered sums in any order --------------------===//
//
// What programs that are compiled with --fast take in the place of Scatter.cuh for sums of f32 and f64: `out` holds what is added to, each
// thread adds updates where they belong. Which comes first is chance, and so are the last bits.
//
//===----------------------------------------------------------------------===//

namespace zero {

/// `kKernel`: the number that an index out of range is told with.
template <typename T, typename Index, u32 kKernel, u64 kOuter, i64 kAxis, u64 kInner, u64 kCount>
__device__ void addAtomically(const T *updates, const Index *indices, T *out, CudaStatus *status, u32 command) {
  u64 threads = u64(gridDim.x) * blockDim.x;
  for (u64 item = u64(blockIdx.x) * blockDim.x + threadIdx.x; item < kOuter * kCount * kInner; item += threads) {
    u64 row = item / kInner, column = item % kInner, outer = row / kCount, position = row % kCount;
    i64 index = i64(indices[position]);
    if (index >= 0 && index < kAxis)
      atomicAdd(out + (outer * u64(kAxis) + u64(index)) * kInner + column, updates[item]);
    else if (outer == 0 && column == 0)
      raiseStatus(status, kKernel, command, i64(position), index, kAxis);
  }
}

} // namespace zero

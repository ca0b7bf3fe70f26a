//===- Gather.cuh - gather: out[o, c, i] = data[o, indices[c], i] ---------===//
//
// Rows are moved in units; rows of an index that is out of range are zeros, and the status names it.
//
//===----------------------------------------------------------------------===//

namespace zero {

template <typename Unit, typename Index, u64 kOuter, i64 kAxis, u64 kUnits, u64 kCount>
__device__ void gatherRows(const void *data, const Index *indices, void *out, CudaStatus *status, u32 command) {
  const Unit *source = static_cast<const Unit *>(data);
  Unit *target = static_cast<Unit *>(out);
  u64 threads = u64(gridDim.x) * blockDim.x;
  for (u64 item = u64(blockIdx.x) * blockDim.x + threadIdx.x; item < kOuter * kCount * kUnits; item += threads) {
    u64 row = item / kUnits, unit = item % kUnits, outer = row / kCount, position = row % kCount;
    i64 index = i64(indices[position]);
    if (index >= 0 && index < kAxis) {
      target[item] = source[(outer * u64(kAxis) + u64(index)) * kUnits + unit];
      continue;
    }
    target[item] = Unit();
    if (outer == 0 && unit == 0)
      raiseStatus(status, 1, command, i64(position), index, kAxis);
  }
}

} // namespace zero

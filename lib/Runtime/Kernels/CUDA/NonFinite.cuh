//===- NonFinite.cuh - Which gradients of a step are not finite -----------===//
//
// Runs behind each update and reads nothing but two numbers of the step where they are finite. Where one is not, it looks before the next
// step, which may be on its way, writes other gradients there (NonFiniteKernel.h).
//
//===----------------------------------------------------------------------===//

/// As GradientRange.
struct GradientRange {
  u64 offset, elements, elementBytes, exponent;
};

/// All bits of the exponent are set.
ZERO_DEVICE bool isNonFinite(u64 bits, u64 exponent) { return (bits & exponent) == exponent; }

/// A block for each range; `found` is a byte for each.
extern "C" __global__ void zero_non_finite(const float *loss, const float *norm, const u8 *base, const GradientRange *ranges, u8 *found) {
  constexpr u32 kExponent = 0x7f800000;
  if (!isNonFinite(asBits(*loss), kExponent) && !isNonFinite(asBits(*norm), kExponent))
    return;
  const GradientRange range = ranges[blockIdx.x];
  const u8 *first = base + range.offset;
  int any = 0;
  for (u64 i = threadIdx.x; i < range.elements && !any; i += blockDim.x) {
    const u64 bits = range.elementBytes == 2   ? reinterpret_cast<const u16 *>(first)[i]
                     : range.elementBytes == 4 ? reinterpret_cast<const u32 *>(first)[i]
                                               : reinterpret_cast<const u64 *>(first)[i];
    any = isNonFinite(bits, range.exponent);
  }
  const int here = __syncthreads_or(any);
  if (threadIdx.x == 0)
    found[blockIdx.x] = here != 0;
}

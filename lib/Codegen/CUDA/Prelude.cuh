//===- Prelude.cuh - What CUDA kernels of a program are written with ------===//
//
// Stands first in the source that NVRTC compiles; no other header is there. The same text compiles for the host where the tests
// run kernels on a simulated device (ZERO_HOST_EMULATION): only conversions of 16-bit floats, one instruction on the device, are
// written twice there, to the same bits but those of NaN.
//
// Sources are compiled without contraction of a * b + c: what is fused says fmaf or fma, so that an element's bits do not depend
// on what stands around it.
//
//===----------------------------------------------------------------------===//
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using f32 = float;

/// Floats of 16 bits as memory has them; in registers they are float.
struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};

#define ZERO_DEVICE __device__ __forceinline__

ZERO_DEVICE float asFloat(u32 bits) { return __builtin_bit_cast(float, bits); }
ZERO_DEVICE u32 asBits(float x) { return __builtin_bit_cast(u32, x); }
ZERO_DEVICE double asDouble(u64 bits) { return __builtin_bit_cast(double, bits); }

//===----------------------------------------------------------------------===//
// Floats of 16 bits
//===----------------------------------------------------------------------===//

ZERO_DEVICE float toFloat(float x) { return x; }
ZERO_DEVICE float toFloat(bf16 x) { return asFloat(static_cast<u32>(x.bits) << 16); }

template <typename T> ZERO_DEVICE T fromFloat(float x);
template <> ZERO_DEVICE float fromFloat<float>(float x) { return x; }

#ifdef ZERO_HOST_EMULATION
ZERO_DEVICE float toFloat(f16 x) { return static_cast<float>(__builtin_bit_cast(_Float16, x.bits)); }
template <> ZERO_DEVICE f16 fromFloat<f16>(float x) { return {__builtin_bit_cast(u16, static_cast<_Float16>(x))}; }
template <> ZERO_DEVICE bf16 fromFloat<bf16>(float x) {
  if (x != x)
    return {0x7fff};
  const u32 bits = asBits(x);
  return {static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
#else
ZERO_DEVICE float toFloat(f16 x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
}
template <> ZERO_DEVICE f16 fromFloat<f16>(float x) {
  f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}
template <> ZERO_DEVICE bf16 fromFloat<bf16>(float x) {
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}
#endif

/// The float nearest to x that a T holds; of two the even one.
template <typename T> ZERO_DEVICE float roundTo(float x) { return toFloat(fromFloat<T>(x)); }

/// A double as the float whose last bit is 1 where bits are lost: rounding that once more to 16 bits gives what rounding the
/// double once gives.
ZERO_DEVICE float narrowToOdd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  if (back == x || x != x)
    return nearest;
  const u32 bits = asBits(nearest) - (fabs(back) > fabs(x) ? 1 : 0);
  return asFloat(bits | 1);
}

/// An integer of 64 bits as a double that another rounding to few bits does not tell from it.
ZERO_DEVICE double widenToOdd(i64 x) {
  const bool large = x > (1ll << 53) || x < -(1ll << 53);
  return static_cast<double>(large ? (x & ~0x7ffll) | (x & 0x7ff ? 0x800 : 0) : x);
}
ZERO_DEVICE double widenToOdd(u64 x) {
  const bool large = x > (1ull << 53);
  return static_cast<double>(large ? (x & ~0x7ffull) | (x & 0x7ff ? 0x800 : 0) : x);
}

//===----------------------------------------------------------------------===//
// Memory: V neighbours at once
//===----------------------------------------------------------------------===//

/// What one access moves.
template <typename T, int N> struct alignas(N * sizeof(T)) Pack {
  T values[N];
};

/// Reads V neighbours; `pointer` is a multiple of `Bytes` bytes (a power of two, at most 16).
template <int Bytes, typename T, int V> ZERO_DEVICE void loadVector(T (&values)[V], const T *pointer) {
  constexpr int kBytes = Bytes < V * static_cast<int>(sizeof(T)) ? Bytes : V * static_cast<int>(sizeof(T));
  constexpr int kCount = kBytes < static_cast<int>(sizeof(T)) ? 1 : kBytes / static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < V / kCount; ++i) {
    const Pack<T, kCount> pack = reinterpret_cast<const Pack<T, kCount> *>(pointer)[i];
#pragma unroll
    for (int j = 0; j < kCount; ++j)
      values[i * kCount + j] = pack.values[j];
  }
}
template <int Bytes, typename T, int V> ZERO_DEVICE void storeVector(T *pointer, const T (&values)[V]) {
  constexpr int kBytes = Bytes < V * static_cast<int>(sizeof(T)) ? Bytes : V * static_cast<int>(sizeof(T));
  constexpr int kCount = kBytes < static_cast<int>(sizeof(T)) ? 1 : kBytes / static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < V / kCount; ++i) {
    Pack<T, kCount> pack;
#pragma unroll
    for (int j = 0; j < kCount; ++j)
      pack.values[j] = values[i * kCount + j];
    reinterpret_cast<Pack<T, kCount> *>(pointer)[i] = pack;
  }
}
/// The first `count` of V neighbours; the others are zeros.
template <typename T, int V> ZERO_DEVICE void loadPart(T (&values)[V], const T *pointer, u64 count) {
#pragma unroll
  for (int i = 0; i < V; ++i)
    values[i] = i < count ? pointer[i] : T();
}
template <typename T, int V> ZERO_DEVICE void storePart(T *pointer, const T (&values)[V], u64 count) {
#pragma unroll
  for (int i = 0; i < V; ++i)
    if (i < count)
      pointer[i] = values[i];
}

/// The value of the lane whose number differs in the bits of `lanes`; `mask`: the lanes that ask.
template <typename T> ZERO_DEVICE T shuffleXor(u32 mask, T value, int lanes) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = __builtin_bit_cast(u64, value);
    const u32 low = __shfl_xor_sync(mask, static_cast<u32>(bits), lanes), high = __shfl_xor_sync(mask, static_cast<u32>(bits >> 32), lanes);
    return __builtin_bit_cast(T, static_cast<u64>(high) << 32 | low);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, __shfl_xor_sync(mask, __builtin_bit_cast(u32, value), lanes));
  } else {
    return static_cast<T>(__shfl_xor_sync(mask, static_cast<i32>(value), lanes));
  }
}

//===----------------------------------------------------------------------===//
// Arithmetic as nn says
//===----------------------------------------------------------------------===//

/// NaN where an operand is NaN.
template <typename T> ZERO_DEVICE T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> ZERO_DEVICE T minimum(T a, T b) { return a < b || a != a ? a : b; }

ZERO_DEVICE float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
ZERO_DEVICE double sigmoid(double x) {
  const double e = exp(-fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

template <typename T> ZERO_DEVICE T signOf(T x) { return x > T(0) ? T(1) : x < T(0) ? static_cast<T>(-1) : T(0); }

/// The integers of that size without a sign, in which arithmetic wraps.
template <int Size> struct UnsignedOf;
template <> struct UnsignedOf<1> { using type = u8; };
template <> struct UnsignedOf<2> { using type = u16; };
template <> struct UnsignedOf<4> { using type = u32; };
template <> struct UnsignedOf<8> { using type = u64; };
template <typename T> using Unsigned = typename UnsignedOf<sizeof(T)>::type;
template <typename T> constexpr bool isSigned = static_cast<T>(-1) < T(0);
template <typename T> constexpr T largestInteger = isSigned<T> ? static_cast<T>(static_cast<Unsigned<T>>(~Unsigned<T>(0)) >> 1) : static_cast<T>(~Unsigned<T>(0));
template <typename T> constexpr T smallestInteger = isSigned<T> ? static_cast<T>(-largestInteger<T> - 1) : T(0);

template <typename T> ZERO_DEVICE T wrappingAdd(T a, T b) { return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b)); }
template <typename T> ZERO_DEVICE T wrappingSubtract(T a, T b) { return static_cast<T>(static_cast<u64>(a) - static_cast<u64>(b)); }
template <typename T> ZERO_DEVICE T wrappingMultiply(T a, T b) { return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b)); }

/// Towards zero; a division by 0 gives 0, the quotient of the smallest by -1 wraps.
template <typename T> ZERO_DEVICE T integerQuotient(T x, T y) {
  if (y == 0)
    return 0;
  if (isSigned<T> && y == static_cast<T>(-1))
    return wrappingSubtract<T>(0, x);
  return static_cast<T>(x / y);
}
template <typename T> ZERO_DEVICE T integerRemainder(T x, T y) {
  if (y == 0 || (isSigned<T> && y == static_cast<T>(-1)))
    return 0;
  return static_cast<T>(x % y);
}
/// x * 2^y, or x / 2^y rounded down. A shift by the width or more leaves nothing, or the sign.
template <typename T> ZERO_DEVICE T shiftLeft(T x, T y) {
  constexpr u32 kBits = 8 * sizeof(T);
  return static_cast<Unsigned<T>>(y) < kBits ? static_cast<T>(static_cast<u64>(x) << static_cast<u32>(y)) : T(0);
}
template <typename T> ZERO_DEVICE T shiftRight(T x, T y) {
  constexpr u32 kBits = 8 * sizeof(T);
  const bool inside = static_cast<Unsigned<T>>(y) < kBits;
  if (isSigned<T>)
    return static_cast<T>(x >> (inside ? static_cast<u32>(y) : kBits - 1));
  return inside ? static_cast<T>(x >> static_cast<u32>(y)) : T(0);
}
/// By squaring; a negative exponent leaves 1 and -1 what their powers are, of other numbers 0.
template <typename T> ZERO_DEVICE T integerPower(T x, T y) {
  if (isSigned<T> && y < 0 && x != 1 && x != static_cast<T>(-1))
    return 0;
  T result = 1;
  for (Unsigned<T> rest = static_cast<Unsigned<T>>(y); rest != 0; rest >>= 1) {
    if (rest & 1)
      result = wrappingMultiply(result, x);
    x = wrappingMultiply(x, x);
  }
  return result;
}
/// The nearest integer below or at x in magnitude that a T holds; NaN gives 0.
template <typename T, typename Float> ZERO_DEVICE T saturatingCast(Float x) {
  // The largest integer itself may be no float: the next power of two is.
  constexpr Float kEnd = static_cast<Float>(Unsigned<T>(1) << (8 * sizeof(T) - 1)) * (isSigned<T> ? 1 : 2);
  if (x != x)
    return 0;
  if (x >= kEnd)
    return largestInteger<T>;
  if (x <= static_cast<Float>(smallestInteger<T>))
    return smallestInteger<T>;
  return static_cast<T>(x);
}

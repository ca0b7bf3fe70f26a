//===- EmulationMath.h - Mathematical functions of CUDA C++ ---------------===//
//
// The host's C library computes them: results differ from a GPU's in the last bits.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_EMULATIONMATH_H
#define ZERO_TEST_CUDA_SHIM_EMULATIONMATH_H

// NAMEf(float) and NAME(double) of the C library, and NAME(float).
#define ZERO_SHIM_UNARY(name)                                                                                \
  extern "C" double name(double) noexcept;                                                                   \
  extern "C" float name##f(float) noexcept;                                                                  \
  ZERO_SHIM_INLINE float name(float x) { return __builtin_##name##f(x); }
#define ZERO_SHIM_BINARY(name)                                                                               \
  extern "C" double name(double, double) noexcept;                                                           \
  extern "C" float name##f(float, float) noexcept;                                                           \
  ZERO_SHIM_INLINE float name(float x, float y) { return __builtin_##name##f(x, y); }

ZERO_SHIM_UNARY(sqrt)
ZERO_SHIM_UNARY(cbrt)
ZERO_SHIM_UNARY(exp)
ZERO_SHIM_UNARY(exp2)
ZERO_SHIM_UNARY(expm1)
ZERO_SHIM_UNARY(log)
ZERO_SHIM_UNARY(log2)
ZERO_SHIM_UNARY(log10)
ZERO_SHIM_UNARY(log1p)
ZERO_SHIM_UNARY(logb)
ZERO_SHIM_UNARY(sin)
ZERO_SHIM_UNARY(cos)
ZERO_SHIM_UNARY(tan)
ZERO_SHIM_UNARY(asin)
ZERO_SHIM_UNARY(acos)
ZERO_SHIM_UNARY(atan)
ZERO_SHIM_UNARY(sinh)
ZERO_SHIM_UNARY(cosh)
ZERO_SHIM_UNARY(tanh)
ZERO_SHIM_UNARY(asinh)
ZERO_SHIM_UNARY(acosh)
ZERO_SHIM_UNARY(atanh)
ZERO_SHIM_UNARY(erf)
ZERO_SHIM_UNARY(erfc)
ZERO_SHIM_UNARY(lgamma)
ZERO_SHIM_UNARY(tgamma)
ZERO_SHIM_UNARY(floor)
ZERO_SHIM_UNARY(ceil)
ZERO_SHIM_UNARY(trunc)
ZERO_SHIM_UNARY(round)
ZERO_SHIM_UNARY(rint)
ZERO_SHIM_UNARY(nearbyint)
ZERO_SHIM_UNARY(fabs)
ZERO_SHIM_BINARY(pow)
ZERO_SHIM_BINARY(atan2)
ZERO_SHIM_BINARY(fmod)
ZERO_SHIM_BINARY(remainder)
ZERO_SHIM_BINARY(fmin)
ZERO_SHIM_BINARY(fmax)
ZERO_SHIM_BINARY(fdim)
ZERO_SHIM_BINARY(hypot)
ZERO_SHIM_BINARY(copysign)
ZERO_SHIM_BINARY(nextafter)
#undef ZERO_SHIM_UNARY
#undef ZERO_SHIM_BINARY

extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double frexp(double, int *) noexcept;
float frexpf(float, int *) noexcept;
double modf(double, double *) noexcept;
float modff(float, float *) noexcept;
void sincos(double, double *, double *) noexcept;
void sincosf(float, float *, float *) noexcept;
double exp10(double) noexcept;
float exp10f(float) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
int printf(const char *, ...);
}

ZERO_SHIM_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
ZERO_SHIM_INLINE float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
ZERO_SHIM_INLINE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
ZERO_SHIM_INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
ZERO_SHIM_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
ZERO_SHIM_INLINE long abs(long x) { return x < 0 ? -x : x; }
ZERO_SHIM_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
ZERO_SHIM_INLINE float abs(float x) { return __builtin_fabsf(x); }
ZERO_SHIM_INLINE double abs(double x) { return __builtin_fabs(x); }

#define ZERO_SHIM_CLASSIFY(type)                                                                             \
  ZERO_SHIM_INLINE bool isnan(type x) { return __builtin_isnan(x); }                                         \
  ZERO_SHIM_INLINE bool isinf(type x) { return __builtin_isinf(x); }                                         \
  ZERO_SHIM_INLINE bool isfinite(type x) { return __builtin_isfinite(x); }                                   \
  ZERO_SHIM_INLINE bool signbit(type x) { return __builtin_signbit(x); }
ZERO_SHIM_CLASSIFY(float)
ZERO_SHIM_CLASSIFY(double)
#undef ZERO_SHIM_CLASSIFY

#define ZERO_SHIM_EXTREMES(type)                                                                             \
  ZERO_SHIM_INLINE type min(type x, type y) { return y < x ? y : x; }                                        \
  ZERO_SHIM_INLINE type max(type x, type y) { return x < y ? y : x; }
ZERO_SHIM_EXTREMES(int)
ZERO_SHIM_EXTREMES(unsigned)
ZERO_SHIM_EXTREMES(long)
ZERO_SHIM_EXTREMES(unsigned long)
ZERO_SHIM_EXTREMES(long long)
ZERO_SHIM_EXTREMES(unsigned long long)
#undef ZERO_SHIM_EXTREMES
ZERO_SHIM_INLINE float min(float x, float y) { return __builtin_fminf(x, y); }
ZERO_SHIM_INLINE float max(float x, float y) { return __builtin_fmaxf(x, y); }
ZERO_SHIM_INLINE double min(double x, double y) { return __builtin_fmin(x, y); }
ZERO_SHIM_INLINE double max(double x, double y) { return __builtin_fmax(x, y); }

// One rounding, never fused with what follows: the host's compiler is told not to fuse at all.
ZERO_SHIM_INLINE float __fadd_rn(float x, float y) { return x + y; }
ZERO_SHIM_INLINE float __fsub_rn(float x, float y) { return x - y; }
ZERO_SHIM_INLINE float __fmul_rn(float x, float y) { return x * y; }
ZERO_SHIM_INLINE float __fdiv_rn(float x, float y) { return x / y; }
ZERO_SHIM_INLINE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
ZERO_SHIM_INLINE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
ZERO_SHIM_INLINE float __frcp_rn(float x) { return 1.0f / x; }
ZERO_SHIM_INLINE double __dadd_rn(double x, double y) { return x + y; }
ZERO_SHIM_INLINE double __dsub_rn(double x, double y) { return x - y; }
ZERO_SHIM_INLINE double __dmul_rn(double x, double y) { return x * y; }
ZERO_SHIM_INLINE double __ddiv_rn(double x, double y) { return x / y; }
ZERO_SHIM_INLINE double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
ZERO_SHIM_INLINE double __dsqrt_rn(double x) { return __builtin_sqrt(x); }

// Approximations of a GPU.
ZERO_SHIM_INLINE float __expf(float x) { return __builtin_expf(x); }
ZERO_SHIM_INLINE float __exp10f(float x) { return exp10f(x); }
ZERO_SHIM_INLINE float __logf(float x) { return __builtin_logf(x); }
ZERO_SHIM_INLINE float __log2f(float x) { return __builtin_log2f(x); }
ZERO_SHIM_INLINE float __sinf(float x) { return __builtin_sinf(x); }
ZERO_SHIM_INLINE float __cosf(float x) { return __builtin_cosf(x); }
ZERO_SHIM_INLINE float __tanhf(float x) { return __builtin_tanhf(x); }
ZERO_SHIM_INLINE float __powf(float x, float y) { return __builtin_powf(x, y); }
ZERO_SHIM_INLINE float __fdividef(float x, float y) { return x / y; }
ZERO_SHIM_INLINE float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }

// Bits.
ZERO_SHIM_INLINE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
ZERO_SHIM_INLINE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
ZERO_SHIM_INLINE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
ZERO_SHIM_INLINE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
ZERO_SHIM_INLINE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
ZERO_SHIM_INLINE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
ZERO_SHIM_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
ZERO_SHIM_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
ZERO_SHIM_INLINE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
ZERO_SHIM_INLINE int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
ZERO_SHIM_INLINE int __ffs(int x) { return __builtin_ffs(x); }
ZERO_SHIM_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
ZERO_SHIM_INLINE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
ZERO_SHIM_INLINE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
ZERO_SHIM_INLINE unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32); }
ZERO_SHIM_INLINE int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
ZERO_SHIM_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
ZERO_SHIM_INLINE long long __mul64hi(long long x, long long y) { return static_cast<long long>(static_cast<__int128>(x) * y >> 64); }
ZERO_SHIM_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (by & 31) >> 32);
}
ZERO_SHIM_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31));
}
ZERO_SHIM_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> (selector >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
  return result;
}

// A GPU's conversions to integers give the nearest that there is, and 0 for NaN.
namespace zero_shim {
template <typename To, typename From> static inline To nearest(From x) {
  if (!(x == x))
    return 0;
  constexpr bool isSigned = To(-1) < To(0);
  constexpr To least = isSigned ? To(1ULL << (sizeof(To) * 8 - 1)) : To(0), most = To(~least);
  return x < static_cast<From>(least) ? least : x >= static_cast<From>(most) ? most : static_cast<To>(x);
}
} // namespace zero_shim
#define ZERO_SHIM_TO_INTEGER(from, fromName, suffix, to, toName)                                             \
  ZERO_SHIM_INLINE to __##fromName##2##toName##_rn(from x) { return zero_shim::nearest<to>(__builtin_rint##suffix(x)); }   \
  ZERO_SHIM_INLINE to __##fromName##2##toName##_rz(from x) { return zero_shim::nearest<to>(__builtin_trunc##suffix(x)); }  \
  ZERO_SHIM_INLINE to __##fromName##2##toName##_rd(from x) { return zero_shim::nearest<to>(__builtin_floor##suffix(x)); }  \
  ZERO_SHIM_INLINE to __##fromName##2##toName##_ru(from x) { return zero_shim::nearest<to>(__builtin_ceil##suffix(x)); }
ZERO_SHIM_TO_INTEGER(float, float, f, int, int)
ZERO_SHIM_TO_INTEGER(float, float, f, unsigned, uint)
ZERO_SHIM_TO_INTEGER(float, float, f, long long, ll)
ZERO_SHIM_TO_INTEGER(float, float, f, unsigned long long, ull)
ZERO_SHIM_TO_INTEGER(double, double, , int, int)
ZERO_SHIM_TO_INTEGER(double, double, , unsigned, uint)
ZERO_SHIM_TO_INTEGER(double, double, , long long, ll)
ZERO_SHIM_TO_INTEGER(double, double, , unsigned long long, ull)
#undef ZERO_SHIM_TO_INTEGER
ZERO_SHIM_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }
ZERO_SHIM_INLINE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
ZERO_SHIM_INLINE float __ll2float_rn(long long x) { return static_cast<float>(x); }
ZERO_SHIM_INLINE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
ZERO_SHIM_INLINE double __ll2double_rn(long long x) { return static_cast<double>(x); }
ZERO_SHIM_INLINE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
ZERO_SHIM_INLINE float __double2float_rn(double x) { return static_cast<float>(x); }

#endif

//===- EmulationTypes.h - Vector types of CUDA C++ ------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_EMULATIONTYPES_H
#define ZERO_TEST_CUDA_SHIM_EMULATIONTYPES_H

typedef decltype(sizeof 0) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;

// Sizes and alignments as the programming guide gives them: vectors of 3 are aligned as their elements.
#define ZERO_SHIM_VECTORS(type, name, align2, align4)                                                        \
  struct name##1 {                                                                                           \
    type x;                                                                                                  \
  };                                                                                                         \
  struct alignas(align2) name##2 {                                                                           \
    type x, y;                                                                                               \
  };                                                                                                         \
  struct alignas(align4) name##4 {                                                                           \
    type x, y, z, w;                                                                                         \
  };                                                                                                         \
  ZERO_SHIM_INLINE name##1 make_##name##1(type x) { return {x}; }                                            \
  ZERO_SHIM_INLINE name##2 make_##name##2(type x, type y) { return {x, y}; }                                 \
  ZERO_SHIM_INLINE name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define ZERO_SHIM_VECTOR_OF_3(type, name)                                                                    \
  struct name##3 {                                                                                           \
    type x, y, z;                                                                                            \
  };                                                                                                         \
  ZERO_SHIM_INLINE name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }

ZERO_SHIM_VECTORS(signed char, char, 2, 4)
ZERO_SHIM_VECTORS(unsigned char, uchar, 2, 4)
ZERO_SHIM_VECTORS(short, short, 4, 8)
ZERO_SHIM_VECTORS(unsigned short, ushort, 4, 8)
ZERO_SHIM_VECTORS(int, int, 8, 16)
ZERO_SHIM_VECTORS(unsigned int, uint, 8, 16)
ZERO_SHIM_VECTORS(long, long, 16, 16)
ZERO_SHIM_VECTORS(unsigned long, ulong, 16, 16)
ZERO_SHIM_VECTORS(long long, longlong, 16, 16)
ZERO_SHIM_VECTORS(unsigned long long, ulonglong, 16, 16)
ZERO_SHIM_VECTORS(float, float, 8, 16)
ZERO_SHIM_VECTORS(double, double, 16, 16)
ZERO_SHIM_VECTOR_OF_3(int, int)
ZERO_SHIM_VECTOR_OF_3(long long, longlong)
ZERO_SHIM_VECTOR_OF_3(unsigned long long, ulonglong)
ZERO_SHIM_VECTOR_OF_3(float, float)
ZERO_SHIM_VECTOR_OF_3(double, double)
#undef ZERO_SHIM_VECTORS
#undef ZERO_SHIM_VECTOR_OF_3

typedef zero_shim::Coordinates uint3;
ZERO_SHIM_INLINE uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(const uint3 &v) : x(v.x), y(v.y), z(v.z) {}
};

#endif

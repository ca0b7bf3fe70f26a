//===- EmulationThreads.h - Barriers, warps and atomics of CUDA C++ -------===//
#ifndef ZERO_TEST_CUDA_SHIM_EMULATIONTHREADS_H
#define ZERO_TEST_CUDA_SHIM_EMULATIONTHREADS_H

// Barriers know their line: threads that meet at different ones are an error.
#define __syncthreads() ((void)zero_shim_barrier(0, "__syncthreads", __LINE__))
#define __syncthreads_count(predicate) (static_cast<int>(zero_shim_barrier(!!(predicate), "__syncthreads_count", __LINE__)))
#define __syncthreads_or(predicate) (static_cast<int>(zero_shim_barrier(!!(predicate), "__syncthreads_or", __LINE__) != 0))
#define __syncthreads_and(predicate) (static_cast<int>(zero_shim_barrier(!(predicate), "__syncthreads_and", __LINE__) == 0))

namespace zero_shim {

ZERO_SHIM_INLINE unsigned lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }

template <typename T>
static inline T exchange(unsigned mask, T value, unsigned source, const char *operation, int line) {
  static_assert(sizeof(T) <= 8, "shuffles take at most 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = zero_shim_exchange(mask, bits, source, operation, line);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

// The lane that each kind of shuffle reads, within a segment of `width` lanes.
ZERO_SHIM_INLINE unsigned shuffled(unsigned source, unsigned width) { return (lane() & ~(width - 1)) | (source & (width - 1)); }
ZERO_SHIM_INLINE unsigned above(unsigned delta, unsigned width) {
  return (lane() & (width - 1)) < delta ? lane() : lane() - delta;
}
ZERO_SHIM_INLINE unsigned below(unsigned delta, unsigned width) {
  return (lane() & (width - 1)) + delta >= width ? lane() : lane() + delta;
}
ZERO_SHIM_INLINE unsigned across(unsigned mask, unsigned width) {
  unsigned source = lane() ^ mask;
  return source > (lane() | (width - 1)) || source >= 32 ? lane() : source;
}

// The line at which a shuffle stands in the text is the default argument's.
#define ZERO_SHIM_SHUFFLE(name, Argument, choose)                                                            \
  template <typename T>                                                                                      \
  static inline T name(unsigned mask, T value, Argument by, int width = 32, int line = __builtin_LINE()) {   \
    return zero_shim::exchange(mask, value, zero_shim::choose(static_cast<unsigned>(by), static_cast<unsigned>(width)), #name, line); \
  }
} // namespace zero_shim

ZERO_SHIM_SHUFFLE(__shfl_sync, int, shuffled)
ZERO_SHIM_SHUFFLE(__shfl_up_sync, unsigned, above)
ZERO_SHIM_SHUFFLE(__shfl_down_sync, unsigned, below)
ZERO_SHIM_SHUFFLE(__shfl_xor_sync, int, across)
#undef ZERO_SHIM_SHUFFLE

ZERO_SHIM_INLINE void __syncwarp(unsigned mask = 0xFFFFFFFF, int line = __builtin_LINE()) { zero_shim_vote(mask, 0, "__syncwarp", line); }
ZERO_SHIM_INLINE unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return zero_shim_vote(mask, predicate, "__ballot_sync", line);
}
ZERO_SHIM_INLINE int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return zero_shim_vote(mask, predicate, "__any_sync", line) != 0;
}
ZERO_SHIM_INLINE int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return zero_shim_vote(mask, !predicate, "__all_sync", line) == 0;
}

ZERO_SHIM_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
ZERO_SHIM_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
ZERO_SHIM_INLINE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#define __trap() zero_shim_trap("__trap()", __LINE__)
#define assert(condition) ((condition) ? (void)0 : zero_shim_trap("assert(" #condition ")", __LINE__))

#define ZERO_SHIM_ATOMICS(type)                                                                              \
  ZERO_SHIM_INLINE type atomicAdd(type *at, type by) { return __atomic_fetch_add(at, by, __ATOMIC_SEQ_CST); }             \
  ZERO_SHIM_INLINE type atomicExch(type *at, type to) { return __atomic_exchange_n(at, to, __ATOMIC_SEQ_CST); }           \
  ZERO_SHIM_INLINE type atomicMin(type *at, type by) { return __atomic_fetch_min(at, by, __ATOMIC_SEQ_CST); }             \
  ZERO_SHIM_INLINE type atomicMax(type *at, type by) { return __atomic_fetch_max(at, by, __ATOMIC_SEQ_CST); }             \
  ZERO_SHIM_INLINE type atomicAnd(type *at, type by) { return __atomic_fetch_and(at, by, __ATOMIC_SEQ_CST); }             \
  ZERO_SHIM_INLINE type atomicOr(type *at, type by) { return __atomic_fetch_or(at, by, __ATOMIC_SEQ_CST); }               \
  ZERO_SHIM_INLINE type atomicXor(type *at, type by) { return __atomic_fetch_xor(at, by, __ATOMIC_SEQ_CST); }             \
  ZERO_SHIM_INLINE type atomicCAS(type *at, type expected, type to) {                                        \
    __atomic_compare_exchange_n(at, &expected, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);               \
    return expected;                                                                                         \
  }
ZERO_SHIM_ATOMICS(int)
ZERO_SHIM_ATOMICS(unsigned)
ZERO_SHIM_ATOMICS(unsigned long long)
#undef ZERO_SHIM_ATOMICS
ZERO_SHIM_INLINE int atomicSub(int *at, int by) { return __atomic_fetch_sub(at, by, __ATOMIC_SEQ_CST); }
ZERO_SHIM_INLINE unsigned atomicSub(unsigned *at, unsigned by) { return __atomic_fetch_sub(at, by, __ATOMIC_SEQ_CST); }
ZERO_SHIM_INLINE float atomicAdd(float *at, float by) {
  unsigned *bits = reinterpret_cast<unsigned *>(at), old = __atomic_load_n(bits, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(bits, &old, __float_as_uint(__uint_as_float(old) + by), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return __uint_as_float(old);
}
ZERO_SHIM_INLINE double atomicAdd(double *at, double by) {
  long long *bits = reinterpret_cast<long long *>(at), old = __atomic_load_n(bits, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(bits, &old, __double_as_longlong(__longlong_as_double(old) + by), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return __longlong_as_double(old);
}
ZERO_SHIM_INLINE float atomicExch(float *at, float to) {
  return __uint_as_float(__atomic_exchange_n(reinterpret_cast<unsigned *>(at), __float_as_uint(to), __ATOMIC_SEQ_CST));
}

template <typename T> static inline T __ldg(const T *from) { return *from; }
template <typename T> static inline T __ldca(const T *from) { return *from; }
template <typename T> static inline T __ldcg(const T *from) { return *from; }
template <typename T> static inline T __ldcs(const T *from) { return *from; }
template <typename T> static inline void __stcg(T *to, T value) { *to = value; }
template <typename T> static inline void __stcs(T *to, T value) { *to = value; }
template <typename T> static inline void __stwt(T *to, T value) { *to = value; }

namespace zero_shim {

// The parameters of a kernel, and how to call it.
template <typename T> struct IsPointer {
  static constexpr bool value = false;
};
template <typename T> struct IsPointer<T *> {
  static constexpr bool value = true;
};
template <typename Integer, Integer... I> struct Numbers {};

template <auto function> struct Entry;
template <typename... P, void (*function)(P...)> struct Entry<function> {
  static constexpr unsigned count = sizeof...(P);
  static constexpr Parameter parameters[count + 1] = {{sizeof(P), IsPointer<P>::value}..., {0, false}};
  template <unsigned... I> static void runAll(void *const *arguments, Numbers<unsigned, I...>) {
    do
      function(*static_cast<P *>(arguments[I])...);
    while (zero_shim_next());
  }
  static void run(void *const *arguments) { runAll(arguments, __make_integer_seq<Numbers, unsigned, count>{}); }
};

template <typename T> static inline T *dynamicShared() { return static_cast<T *>(zero_shim_thread.dynamicShared); }

} // namespace zero_shim

#endif

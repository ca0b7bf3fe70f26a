//===- EmulationChecks.h - What instrumented kernels call -----------------===//
//
// For ZERO_SHIM_CHECK=shared: the compiler calls these before each access, as it would ThreadSanitizer's runtime, which is not there.
// Defined in every object, so that the calls stay inside of it also in a process that is checked by ThreadSanitizer itself.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_EMULATIONCHECKS_H
#define ZERO_TEST_CUDA_SHIM_EMULATIONCHECKS_H

#define ZERO_SHIM_HOOK extern "C" __attribute__((used, disable_sanitizer_instrumentation))
#define ZERO_SHIM_ACCESSES(size)                                                                             \
  ZERO_SHIM_HOOK void __tsan_read##size(void *at) { zero_shim_access(at, size, false); }                     \
  ZERO_SHIM_HOOK void __tsan_write##size(void *at) { zero_shim_access(at, size, true); }                     \
  ZERO_SHIM_HOOK void __tsan_unaligned_read##size(void *at) { zero_shim_access(at, size, false); }           \
  ZERO_SHIM_HOOK void __tsan_unaligned_write##size(void *at) { zero_shim_access(at, size, true); }           \
  ZERO_SHIM_HOOK void __tsan_read_write##size(void *at) { zero_shim_access(at, size, true); }                \
  ZERO_SHIM_HOOK void __tsan_unaligned_read_write##size(void *at) { zero_shim_access(at, size, true); }
ZERO_SHIM_ACCESSES(1)
ZERO_SHIM_ACCESSES(2)
ZERO_SHIM_ACCESSES(4)
ZERO_SHIM_ACCESSES(8)
ZERO_SHIM_ACCESSES(16)
#undef ZERO_SHIM_ACCESSES

ZERO_SHIM_HOOK void __tsan_func_entry(void *) {}
ZERO_SHIM_HOOK void __tsan_func_exit() {}
ZERO_SHIM_HOOK void __tsan_init() {}
ZERO_SHIM_HOOK void *__tsan_memcpy(void *to, const void *from, unsigned long size) {
  zero_shim_access(from, static_cast<unsigned>(size), false);
  zero_shim_access(to, static_cast<unsigned>(size), true);
  return __builtin_memcpy(to, from, size);
}
ZERO_SHIM_HOOK void *__tsan_memset(void *to, int value, unsigned long size) {
  zero_shim_access(to, static_cast<unsigned>(size), true);
  return __builtin_memset(to, value, size);
}

// Atomic accesses order nothing here and race with nothing: done as they are.
#define ZERO_SHIM_ATOMIC(bits, type)                                                                         \
  ZERO_SHIM_HOOK type __tsan_atomic##bits##_load(const type *at, int) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }          \
  ZERO_SHIM_HOOK void __tsan_atomic##bits##_store(type *at, type value, int) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }  \
  ZERO_SHIM_HOOK type __tsan_atomic##bits##_exchange(type *at, type value, int) { return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); } \
  ZERO_SHIM_HOOK type __tsan_atomic##bits##_fetch_add(type *at, type by, int) { return __atomic_fetch_add(at, by, __ATOMIC_SEQ_CST); } \
  ZERO_SHIM_HOOK type __tsan_atomic##bits##_fetch_sub(type *at, type by, int) { return __atomic_fetch_sub(at, by, __ATOMIC_SEQ_CST); } \
  ZERO_SHIM_HOOK type __tsan_atomic##bits##_fetch_and(type *at, type by, int) { return __atomic_fetch_and(at, by, __ATOMIC_SEQ_CST); } \
  ZERO_SHIM_HOOK type __tsan_atomic##bits##_fetch_or(type *at, type by, int) { return __atomic_fetch_or(at, by, __ATOMIC_SEQ_CST); }   \
  ZERO_SHIM_HOOK type __tsan_atomic##bits##_fetch_xor(type *at, type by, int) { return __atomic_fetch_xor(at, by, __ATOMIC_SEQ_CST); } \
  ZERO_SHIM_HOOK int __tsan_atomic##bits##_compare_exchange_strong(type *at, type *expected, type to, int, int) {                 \
    return __atomic_compare_exchange_n(at, expected, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);         \
  }                                                                                                          \
  ZERO_SHIM_HOOK int __tsan_atomic##bits##_compare_exchange_weak(type *at, type *expected, type to, int, int) {                   \
    return __atomic_compare_exchange_n(at, expected, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);         \
  }                                                                                                          \
  ZERO_SHIM_HOOK type __tsan_atomic##bits##_compare_exchange_val(type *at, type expected, type to, int, int) {                    \
    __atomic_compare_exchange_n(at, &expected, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);               \
    return expected;                                                                                         \
  }
ZERO_SHIM_ATOMIC(32, unsigned)
ZERO_SHIM_ATOMIC(64, unsigned long long)
#undef ZERO_SHIM_ATOMIC
ZERO_SHIM_HOOK void __tsan_atomic_thread_fence(int) {}

#endif

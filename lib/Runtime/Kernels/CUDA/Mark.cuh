//===- Mark.cuh - A stream says what it has come to -----------------------===//
//
// Stands behind the prelude of generated sources. Numbers grow in the order of the stream, also where
// it is captured and replayed, which a value that is captured could not. The host reads while the stream goes on (MarkKernel.h).
//
//===----------------------------------------------------------------------===//

/// As MarkSlot.
struct MarkSlot {
  u64 number, what, nanoseconds, padding;
};

#ifdef ZERO_HOST_EMULATION
ZERO_DEVICE u64 deviceNanoseconds() { return zero_shim_nanoseconds(); }
ZERO_DEVICE void storeForHost(u64 *word, u64 value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
#else
ZERO_DEVICE u64 deviceNanoseconds() {
  u64 nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}
/// The host sees it after what was written before.
ZERO_DEVICE void storeForHost(u64 *word, u64 value) { asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory"); }
#endif

extern "C" __global__ void zero_mark(u64 *last, MarkSlot *slots, u64 count, u64 what) {
  const u64 number = *last + 1;
  *last = number;
  MarkSlot *slot = slots + number % count;
  storeForHost(&slot->number, 0);
  __threadfence_system();
  storeForHost(&slot->what, what);
  storeForHost(&slot->nanoseconds, deviceNanoseconds());
  storeForHost(&slot->number, number);
}

//===- Fiber.cpp - Stacks that one thread switches between ----------------===//
#include "test/CUDA/Shim/Fiber.h"
#include "test/CUDA/Shim/Report.h"
#include <sys/mman.h>

#ifdef ZERO_SHIM_TSAN
extern "C" {
void *__tsan_get_current_fiber();
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
}
#endif

namespace zero::shim {

Fiber::Fiber() {
#ifdef ZERO_SHIM_TSAN
  annotation = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(void (*function)(), unsigned number) : function(function), number(number) {
  void *at = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED || mprotect(at, kGuardBytes, PROT_NONE) != 0)
    endProcess("kernel", "there is no memory for the stacks of its threads");
  stack = static_cast<char *>(at);
#ifdef ZERO_SHIM_TSAN
  annotation = __tsan_create_fiber(0);
#endif
  restart();
}

Fiber::~Fiber() {
  if (!stack)
    return;
  munmap(stack, kGuardBytes + kStackBytes);
#ifdef ZERO_SHIM_TSAN
  __tsan_destroy_fiber(annotation);
#endif
}

void Fiber::restart() {
  // Where to go, and an address to return to that is none.
  constexpr unsigned kLine = 64, kLinesOfPage = 4096 / kLine, kStride = 5;
  auto *top = reinterpret_cast<uint64_t *>(stack + kGuardBytes + kStackBytes - number * kStride % kLinesOfPage * kLine);
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(function);
  stackPointer = top;
}

bool Fiber::guards(const void *address) const {
  return address >= stack && address < stack + kGuardBytes;
}

} // namespace zero::shim

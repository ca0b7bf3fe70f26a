//===- Fiber.cpp - Stacks that one thread switches between ----------------===//
#include "test/CUDA/Shim/Fiber.h"
#include "test/CUDA/Shim/Report.h"
#include <sys/mman.h>

#ifndef __x86_64__
#error "fibers are written for x86-64, as the host's kernels are"
#endif

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if __has_feature(thread_sanitizer) || defined(__SANITIZE_THREAD__)
#define ZERO_SHIM_TSAN 1
extern "C" {
void *__tsan_get_current_fiber();
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
}
#endif

// Saves what a called function must keep, changes the stack, and takes it up again there. The control words of floating point are the
// same for all.
extern "C" void zero_shim_change_stack(void **from, void *to);
asm(R"(
  .text
  .p2align 4
  .hidden zero_shim_change_stack
  .globl zero_shim_change_stack
  .type zero_shim_change_stack, @function
zero_shim_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size zero_shim_change_stack, .-zero_shim_change_stack
)");

namespace zero::shim {

Fiber::Fiber() {
#ifdef ZERO_SHIM_TSAN
  annotation = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(void (*function)()) : function(function) {
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
  // What change_stack takes up: six registers, where to go, and an address to return to that is none.
  auto *top = reinterpret_cast<uint64_t *>(stack + kGuardBytes + kStackBytes);
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(function);
  for (int registers = 0; registers < 6; ++registers)
    *--top = 0;
  stackPointer = top;
}

bool Fiber::guards(const void *address) const {
  return address >= stack && address < stack + kGuardBytes;
}

#ifdef ZERO_SHIM_TSAN
__attribute__((disable_sanitizer_instrumentation))
#endif
void Fiber::change(Fiber &from, Fiber &to) {
#ifdef ZERO_SHIM_TSAN
  // What one thread of a block did, the next one sees: they are one thread of the host. Races between them are found otherwise
  // (SharedCheck.h).
  __tsan_switch_to_fiber(to.annotation, 0);
#endif
  zero_shim_change_stack(&from.stackPointer, to.stackPointer);
}

} // namespace zero::shim

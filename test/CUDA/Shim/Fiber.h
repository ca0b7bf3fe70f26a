//===- Fiber.h - Stacks that one thread switches between ------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_FIBER_H
#define ZERO_TEST_CUDA_SHIM_FIBER_H

#include <cstdint>

#ifndef __x86_64__
#error "fibers are written for x86-64, as the host's kernels are"
#endif
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if __has_feature(thread_sanitizer) || defined(__SANITIZE_THREAD__)
#define ZERO_SHIM_TSAN 1
extern "C" void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

namespace zero::shim {

/// The default one stands for the stack of the thread itself.
class Fiber {
public:
  static constexpr uint64_t kStackBytes = 256 << 10, kGuardBytes = 4096;

  Fiber();
  /// `number`: among those that are switched between. Their stacks begin at different lines of a page, or they would lie in few sets
  /// of a cache.
  Fiber(void (*function)(), unsigned number);
  Fiber(const Fiber &) = delete;
  ~Fiber();

  /// The next switch to it begins `function` anew, which must never return.
  void restart();
  bool guards(const void *address) const;

  /// `from` is what runs now.
  __attribute__((always_inline)) static void change(Fiber &from, Fiber &to) {
#ifdef ZERO_SHIM_TSAN
    // What one thread of a block did, the next one sees: they are one thread of the host. Races between them are found otherwise
    // (SharedCheck.h).
    __tsan_switch_to_fiber(to.annotation, 0);
#endif
    changeStack(&from.stackPointer, to.stackPointer);
  }

private:
  /// Keeps what the caller has in registers on its stack, and goes on where `to` was left. In line, and a jump: every return that
  /// follows a change of stacks is one that the processor predicts wrongly.
  __attribute__((always_inline)) static void changeStack(void **from, void *to) {
    asm volatile("leaq -128(%%rsp), %%rsp\n\t" // the red zone
                 "pushq %%rbp\n\t"
                 "pushq %%rbx\n\t"
                 "leaq 1f(%%rip), %%rax\n\t"
                 "pushq %%rax\n\t"
                 "movq %%rsp, (%0)\n\t"
                 "movq %1, %%rsp\n\t"
                 "popq %%rax\n\t"
                 "jmpq *%%rax\n"
                 "1:\n\t"
                 "popq %%rbx\n\t"
                 "popq %%rbp\n\t"
                 "leaq 128(%%rsp), %%rsp"
                 : "+D"(from), "+S"(to)
                 :
                 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                   "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
  }

  void *stackPointer = nullptr;
  char *stack = nullptr;
  void (*function)() = nullptr;
  unsigned number = 0;
  [[maybe_unused]] void *annotation = nullptr; ///< ThreadSanitizer's
};

} // namespace zero::shim

#endif

//===- Fiber.h - Stacks that one thread switches between ------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_FIBER_H
#define ZERO_TEST_CUDA_SHIM_FIBER_H

#include <cstdint>

namespace zero::shim {

/// The default one stands for the stack of the thread itself.
class Fiber {
public:
  static constexpr uint64_t kStackBytes = 256 << 10, kGuardBytes = 4096;

  Fiber();
  explicit Fiber(void (*function)());
  Fiber(const Fiber &) = delete;
  ~Fiber();

  /// The next switch to it begins `function` anew, which must never return.
  void restart();
  bool guards(const void *address) const;

  /// `from` is what runs now.
  static void change(Fiber &from, Fiber &to);

private:
  void *stackPointer = nullptr;
  char *stack = nullptr;
  void (*function)() = nullptr;
  [[maybe_unused]] void *annotation = nullptr; ///< ThreadSanitizer's
};

} // namespace zero::shim

#endif

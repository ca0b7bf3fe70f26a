//===- Kernel.h - Kernels of the library: prepared once, run each step ----===//
#ifndef ZERO_RUNTIME_KERNELS_KERNEL_H
#define ZERO_RUNTIME_KERNELS_KERNEL_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace zero {

/// Instruction-set variants that all ranks agree on at start; the order is the order of preference.
enum class CpuVariant { X86_64_V3, X86_64_V4 };

/// The label of a variant's section in compiled.bin, and what messages call it.
constexpr const char *variantName(CpuVariant variant) {
  return variant == CpuVariant::X86_64_V3 ? "x86-64-v3" : "x86-64-v4";
}

/// Runs `body(begin, end)` over disjoint ranges that cover [0, items). How it is split changes no result: kernels give it
/// independent outputs only.
class ParallelFor {
public:
  virtual ~ParallelFor() = default;
  virtual void run(int64_t items, void (*body)(void *context, int64_t begin, int64_t end), void *context) = 0;
};

/// What a kernel may depend on besides its pointers.
struct KernelOptions {
  CpuVariant variant = CpuVariant::X86_64_V3;
  /// Products of bf16 by AVX512_BF16 (with X86_64_V4 only). Their bits differ from those of widened products: like the
  /// variant, the same on all ranks.
  bool bf16Products = false;
  bool operator==(const KernelOptions &) const = default;
};

/// A kernel with its parameters bound. `run` allocates nothing; it may be called by one thread at a time.
class Kernel {
public:
  virtual ~Kernel() = default;
  /// `pointers`: reads, then writes, as KernelTable.inc lists them.
  virtual Status run(void *const *pointers, ParallelFor &parallel) = 0;
};

/// Prepares the kernel of that name (KernelTable.inc). Unknown names and parameters that do not fit are BadInput.
Expected<std::unique_ptr<Kernel>> prepareKernel(std::string_view name, std::span<const int64_t> integers,
                                                std::span<const double> reals, const KernelOptions &options);

} // namespace zero

#endif

//===- GeneratedKernels.h - Kernels that came with the program ------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_GENERATEDKERNELS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_GENERATEDKERNELS_H

#include "zero/Container/Container.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include <memory>
#include <optional>
#include <string>

namespace zero::schema {
struct Kernel;
}

namespace zero {

/// `pointers`: reads, then writes; [begin, end): a range of the independent outputs.
using GeneratedKernel = void (*)(void *const *pointers, int64_t begin, int64_t end);

/// The most that every rank can run and that the container has kernels for, or what is `asked` for, all of it and no more; agreed on by
/// all ranks.
Expected<KernelOptions> agreeOnInstructionSet(const Container &container, Bootstrap &bootstrap, bool hasGeneratedKernels,
                                              const std::optional<KernelOptions> &asked);

/// The shared object of one variant, loaded from memory. Its code may go only when nothing runs it any more.
class KernelLibrary {
public:
  static Expected<std::unique_ptr<KernelLibrary>> load(const Container &container, CpuVariant variant);
  ~KernelLibrary();
  /// The kernel of that name. The object says in NAME_takes (its items, its slices, bytes of each) what it takes; a record that says
  /// otherwise is BadInput.
  Expected<GeneratedKernel> find(const schema::Kernel &record) const;

private:
  explicit KernelLibrary(void *handle) : handle(handle) {}
  void *handle;
};

} // namespace zero

#endif

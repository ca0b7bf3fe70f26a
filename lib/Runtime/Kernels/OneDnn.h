//===- OneDnn.h - oneDNN as we use it: one thread, one instruction set ----===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_ONEDNN_H
#define ZERO_LIB_RUNTIME_KERNELS_ONEDNN_H

#include "zero/Runtime/Kernels/Kernel.h"
#include <dnnl.hpp>

namespace zero::kernels::onednn {

/// The CPU engine of this process.
const dnnl::engine &engine();

/// The calling thread's stream. The first call in a thread also keeps OpenMP at one thread there.
dnnl_stream_t threadStream();

/// Bounds oneDNN's instruction set for the whole process. The first call decides; a later one with another
/// variant is an error.
Status limitInstructionSet(const KernelOptions &options);

/// Scratch memory for one primitive at a time, on loan from a pool of the process. `reserve`, called while
/// kernels are prepared, sets the size; the pool holds one buffer then and grows to the number of threads in
/// the first step.
class Scratch {
public:
  static void reserve(size_t bytes);
  Scratch();
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  void *data() const { return buffer; }

private:
  void *buffer;
  size_t size;
};

} // namespace zero::kernels::onednn

#endif

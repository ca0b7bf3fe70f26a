//===- MatmulWidened.h - Products of 16-bit floats as those of f32 --------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_MATMULWIDENED_H
#define ZERO_LIB_RUNTIME_KERNELS_MATMULWIDENED_H

#include "lib/Runtime/Kernels/Element.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include "zero/Runtime/Kernels/MatmulShape.h"

namespace zero::kernels {

/// `element` is f16 or bf16. Throws dnnl::error.
Expected<std::unique_ptr<Kernel>> makeWidenedMatmul(const MatmulShape &shape, Element element, CpuVariant variant);

} // namespace zero::kernels

#endif

//===- KernelText.h - CUDA C++ as the host's compiler takes it ------------===//
#ifndef ZERO_TEST_CUDA_SHIM_KERNELTEXT_H
#define ZERO_TEST_CUDA_SHIM_KERNELTEXT_H

#include <string>
#include <string_view>

namespace zero::shim {

/// `preprocessed` without the words that only a device's compiler knows, and with what the driver needs to find its kernels (those that
/// are extern "C"). Shared memory becomes memory of the host's thread, which runs one block at a time.
std::string hostText(std::string_view preprocessed, std::string_view architecture, bool checksShared);

} // namespace zero::shim

#endif

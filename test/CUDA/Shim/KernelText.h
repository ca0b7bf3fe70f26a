//===- KernelText.h - CUDA C++ as the host's compiler takes it ------------===//
#ifndef ZERO_TEST_CUDA_SHIM_KERNELTEXT_H
#define ZERO_TEST_CUDA_SHIM_KERNELTEXT_H

#include <string>
#include <string_view>

namespace zero::shim {

/// `preprocessed` without the words that only a device's compiler knows, and with what the driver needs to find its kernels (those that
/// are extern "C"). Shared memory becomes memory of the host's thread, which runs one block at a time. The object that is compiled from
/// it is for no architecture yet (setArchitecture).
std::string hostText(std::string_view preprocessed, bool checksShared);

/// Writes into a compiled object what it is for, "sm_90" or "compute_90": these differ in nothing else, and are compiled once.
void setArchitecture(std::string &object, std::string_view architecture);

} // namespace zero::shim

#endif

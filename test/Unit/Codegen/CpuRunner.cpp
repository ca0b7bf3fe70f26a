//===- CpuRunner.cpp - Kernels as objects on this machine -----------------===//
#include "KernelHarness.h"
#include "gtest/gtest.h"
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace zero::test {
namespace {

/// A shared object in memory.
class CpuRunner : public KernelRunner {
public:
  explicit CpuRunner(const std::string &bytes) {
    file = memfd_create("kernels", MFD_CLOEXEC);
    EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      ADD_FAILURE() << dlerror();
  }
  ~CpuRunner() override {
    if (handle)
      dlclose(handle);
    close(file);
  }

  void run(const std::string &name, int64_t items, int64_t piece, std::span<char> memory, const std::vector<int64_t> &offsets) override {
    auto kernel = reinterpret_cast<void (*)(void *const *pointers, int64_t begin, int64_t end)>(dlsym(handle, name.c_str()));
    ASSERT_NE(kernel, nullptr) << name;
    std::vector<void *> pointers;
    for (int64_t offset : offsets)
      pointers.push_back(memory.data() + offset);
    for (int64_t begin = 0; begin < items; begin += piece)
      kernel(pointers.data(), begin, std::min(begin + piece, items));
  }

private:
  int file = -1;
  void *handle = nullptr;
};

} // namespace

std::vector<CpuVariant> getVariants() {
  std::vector<CpuVariant> variants = {CpuVariant::X86_64_V3};
  if (__builtin_cpu_supports("x86-64-v4"))
    variants.push_back(CpuVariant::X86_64_V4);
  return variants;
}

std::vector<std::pair<int64_t, int64_t>> getWays() { return {{int64_t(1) << 40, 0}, {1, 8}, {3, 24}}; }

std::unique_ptr<KernelRunner> makeRunner(mlir::ModuleOp kernels, CpuVariant variant, int64_t) {
  Expected<std::string> bytes = compileKernels(kernels, variant);
  if (bytes.ok())
    return std::make_unique<CpuRunner>(*bytes);
  ADD_FAILURE() << bytes.status().message();
  return nullptr;
}

} // namespace zero::test

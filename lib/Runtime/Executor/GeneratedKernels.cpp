//===- GeneratedKernels.cpp - Kernels that came with the program ----------===//
#include "lib/Runtime/Executor/GeneratedKernels.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/Executor/Executor.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace zero {

static constexpr CpuVariant kVariants[] = {CpuVariant::X86_64_V3, CpuVariant::X86_64_V4};

const char *variantName(CpuVariant variant) {
  switch (variant) {
  case CpuVariant::X86_64_V3:
    return "x86-64-v3";
  case CpuVariant::X86_64_V4:
    return "x86-64-v4";
  }
  return "";
}

static bool machineSupports(CpuVariant variant) {
  switch (variant) {
  case CpuVariant::X86_64_V3:
    return __builtin_cpu_supports("x86-64-v3");
  case CpuVariant::X86_64_V4:
    return __builtin_cpu_supports("x86-64-v4");
  }
  return false;
}

Expected<KernelOptions> agreeOnVariant(const Container &container, Bootstrap &bootstrap, bool hasGeneratedKernels) {
  std::string supported;
  for (CpuVariant variant : kVariants)
    supported += machineSupports(variant) ? '1' : '0';
  supported += __builtin_cpu_supports("avx512bf16") ? '1' : '0';
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> ranks, bootstrap.allGather(supported));

  std::optional<CpuVariant> best;
  std::string inFile;
  for (size_t i = 0; i < std::size(kVariants); ++i) {
    bool everywhere = true, compiled = !hasGeneratedKernels || container.find(SectionKind::KernelObject, variantName(kVariants[i]));
    for (const std::string &rank : ranks)
      everywhere = everywhere && rank[i] == '1';
    if (compiled)
      inFile += (inFile.empty() ? "" : ", ") + std::string(variantName(kVariants[i]));
    if (everywhere && compiled)
      best = kVariants[i];
  }
  if (best) {
    bool bf16 = *best == CpuVariant::X86_64_V4;
    for (const std::string &rank : ranks)
      bf16 = bf16 && rank.back() == '1';
    return KernelOptions{*best, bf16};
  }
  std::string poor;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].find('0') < std::size(kVariants))
      poor += (poor.empty() ? "" : ", ") + std::to_string(rank);
  Status missing = Status::badInput(
      inFile.empty() ? "'" + container.path() + "' has no kernels for this kind of CPU; recompile with: " +
                           recompileCommand(container, bootstrap.size())
                     : "the CPUs of ranks " + poor + " lack features of " + inFile + ", for which '" + container.path() +
                           "' has kernels; recompile with: " + recompileCommand(container, bootstrap.size()));
  return bootstrap.agree(missing);
}

Expected<std::unique_ptr<KernelLibrary>> KernelLibrary::load(const Container &container, CpuVariant variant) {
  const Container::Section *section = container.find(SectionKind::KernelObject, variantName(variant));
  ZERO_ASSIGN_OR_RETURN(std::string bytes, container.read(*section));
  int fd = ::memfd_create("zero-kernels", MFD_CLOEXEC);
  if (fd < 0)
    return Status::programFailed(std::string("cannot make a file in memory for the kernels: ") + std::strerror(errno));
  Status status;
  for (size_t done = 0; done < bytes.size() && status.ok();) {
    ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written > 0)
      done += static_cast<size_t>(written);
    else if (written == 0 || errno != EINTR)
      status = Status::programFailed(std::string("cannot write the kernels to memory: ") + std::strerror(errno));
  }
  void *handle = nullptr;
  if (status.ok()) {
    handle = ::dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      status = Status::badInput("the kernels of '" + container.path() + "' do not load: " + ::dlerror());
  }
  ::close(fd);
  if (!status.ok())
    return status;
  return std::unique_ptr<KernelLibrary>(new KernelLibrary(handle));
}

KernelLibrary::~KernelLibrary() { ::dlclose(handle); }

Expected<GeneratedKernel> KernelLibrary::find(const std::string &name) const {
  void *symbol = ::dlsym(handle, name.c_str());
  if (!symbol)
    return Status::badInput("the kernel objects have no kernel '" + name + "'");
  return reinterpret_cast<GeneratedKernel>(symbol);
}

} // namespace zero

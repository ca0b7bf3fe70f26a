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

/// From the least to the most; each is part of those behind it.
static constexpr KernelOptions kInstructionSets[] = {
    {CpuVariant::X86_64_V3, false}, {CpuVariant::X86_64_V4, false}, {CpuVariant::X86_64_V4, true}};

std::string instructionSetName(const KernelOptions &options) {
  return variantName(options.variant) + std::string(options.bf16Products ? "-bf16" : "");
}

static bool machineSupports(const KernelOptions &options) {
  switch (options.variant) {
  case CpuVariant::X86_64_V3:
    return __builtin_cpu_supports("x86-64-v3");
  case CpuVariant::X86_64_V4:
    return __builtin_cpu_supports("x86-64-v4") && (!options.bf16Products || __builtin_cpu_supports("avx512bf16"));
  }
  return false;
}

Expected<KernelOptions> agreeOnInstructionSet(const Container &container, Bootstrap &bootstrap, bool hasGeneratedKernels,
                                              const std::optional<KernelOptions> &asked) {
  std::string supported;
  for (const KernelOptions &set : kInstructionSets)
    supported += machineSupports(set) ? '1' : '0';
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> ranks, bootstrap.allGather(supported));

  const KernelOptions *best = nullptr;
  std::string inFile, poor; // of the sets that may be taken
  for (size_t i = 0; i < std::size(kInstructionSets); ++i) {
    const KernelOptions &set = kInstructionSets[i];
    const bool compiled = !hasGeneratedKernels || container.find(SectionKind::KernelObject, variantName(set.variant));
    if (compiled && !set.bf16Products)
      inFile += (inFile.empty() ? "" : ", ") + std::string(variantName(set.variant));
    if (!compiled || (asked && set != *asked))
      continue;
    std::string lacking;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (ranks[rank][i] != '1')
        lacking += (lacking.empty() ? "" : ", ") + std::to_string(rank);
    if (lacking.empty())
      best = &set;
    else if (poor.empty())
      poor = lacking;
  }
  if (best)
    return *best;
  const std::string recompile = "; recompile with: " + recompileCommand(container, bootstrap.size());
  std::string missing;
  if (inFile.empty())
    missing = "'" + container.path() + "' has no kernels for this kind of CPU" + recompile;
  else if (asked && poor.empty())
    missing = "--isa=" + instructionSetName(*asked) + ", but '" + container.path() + "' has kernels for " + inFile + recompile;
  else if (asked)
    missing = "--isa=" + instructionSetName(*asked) + ", but the CPUs of ranks " + poor + " lack features of it";
  else
    missing = "the CPUs of ranks " + poor + " lack features of " + inFile + ", for which '" + container.path() + "' has kernels" + recompile;
  return bootstrap.agree(Status::badInput(missing));
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

Expected<GeneratedKernel> KernelLibrary::find(const schema::Kernel &record) const {
  std::string name(text(record.name()));
  void *symbol = ::dlsym(handle, name.c_str());
  auto *takes = static_cast<const int64_t *>(::dlsym(handle, (name + "_takes").c_str()));
  if (!symbol || !takes)
    return Status::badInput("the kernel objects have no kernel '" + name + "'");
  auto describe = [](uint64_t items, auto bytes, size_t slices) {
    std::string words = std::to_string(items) + " items in slices of";
    for (size_t i = 0; i < slices; ++i)
      words += (i ? ", " : " ") + std::to_string(bytes[static_cast<uint32_t>(i)]);
    return words + " bytes";
  };
  auto bytes = records(record.slice_bytes());
  std::string has = describe(static_cast<uint64_t>(takes[0]), takes + 2, static_cast<size_t>(takes[1])), given = describe(record.items(), bytes, bytes.size());
  if (has != given)
    return Status::badInput("kernel '" + name + "' takes " + has + ", the plan says " + given);
  return reinterpret_cast<GeneratedKernel>(symbol);
}

} // namespace zero

//===- Faults.cpp - Accesses to memory that are refused -------------------===//
//
// A fault is synchronous: the faulting thread ran a kernel's or the host's code, and holds no lock of ours. So the handler may look
// things up and allocate.
//
//===----------------------------------------------------------------------===//
#include "test/CUDA/Shim/Faults.h"
#include "test/CUDA/Shim/Block.h"
#include "test/CUDA/Shim/KernelObject.h"
#include "test/CUDA/Shim/Memory.h"
#include <csignal>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>

namespace zero::shim {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
struct sigaction previous[NSIG];

/// What a check of the compiler found: its number stands in the trap, ud1 NUMBER(%eax), %eax.
std::string describeTrap(const void *instruction) {
  auto *bytes = static_cast<const unsigned char *>(instruction);
  const int check = bytes[0] == 0x67 && bytes[1] == 0x0F && bytes[2] == 0xB9 && bytes[3] == 0x40 ? bytes[4] : -1;
  switch (check) {
  case 3:
    return "an integer is divided by 0";
  case 18:
    return "an access out of the bounds of an array";
  case 22:
    return "an access that is not aligned";
  default:
    return "an instruction that cannot be";
  }
}

std::string describe(int signal, const siginfo_t &info, bool isKernel) {
  if (signal == SIGILL)
    return isKernel ? describeTrap(info.si_addr) : "";
  if (signal == SIGFPE)
    return isKernel ? "an integer division that has no result" : "";
  const void *at = info.si_addr;
  DeviceMemory::Fault fault = DeviceMemory::get().explain(at);
  if (!isKernel)
    return fault.known && !fault.isAlias ? "the host touches device memory at " + hex(at) + ": " + fault.text : "";
  if (fault.known && !fault.isAlias)
    return "an access to " + hex(at) + ", a device address that was no parameter: " + fault.text;
  if (fault.known)
    return "an access out of bounds: " + fault.text;
  if (isKernelStackOverflow(at))
    return "the thread's stack is used up";
  if (isDynamicSharedOverrun(at))
    return "an access out of the bounds of dynamic shared memory";
  // A general protection fault has no address.
  if (!at && signal == SIGSEGV && info.si_code == SI_KERNEL)
    return "an access that is not aligned, or to an address that cannot be";
  return "an access to " + hex(at) + ", which is not device memory";
}

void onFault(int signal, siginfo_t *info, void *context) {
  const char *kernel = zero_shim_thread.kernel;
  std::string what = describe(signal, *info, kernel != nullptr);
  if (!what.empty() && !kernel)
    endProcess("memory", what);
  if (kernel) {
    std::string where = "kernel " + std::string(kernel) + ", " + currentThreadText();
    if (exitsOnMisuse())
      endProcess(where, what);
    say(where, what);
    // Leaves the kernel on the thread's own stack, with the error that a GPU would give.
    abandonKernel(CUDA_ERROR_ILLEGAL_ADDRESS, static_cast<ucontext_t *>(context));
    return;
  }
  // Not ours: as it was before.
  sigaction(signal, &previous[signal], nullptr);
}

} // namespace

void nameFaults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int signal : kSignals)
      sigaction(signal, &action, &previous[signal]);
  });
}

void prepareThreadForFaults() {
  constexpr size_t kBytes = 128 << 10;
  stack_t stack = {};
  stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = kBytes;
  if (stack.ss_sp != MAP_FAILED)
    sigaltstack(&stack, nullptr);
}

} // namespace zero::shim

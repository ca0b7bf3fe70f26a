//===- Faults.cpp - Accesses to memory that are refused -------------------===//
//
// The handler only looks whose fault it is. What there is to say is said by a function that the thread is made to call when the handler
// has returned: by then it is an ordinary thread again, that may allocate.
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

/// The last fault of this thread.
struct Fault {
  int signal = 0, code = 0;
  const void *address = nullptr;
};
thread_local Fault lastFault;
/// Where a thread that runs kernels reports: its own stack may be used up.
thread_local char *reportStackTop = nullptr;

std::string describeKernelFault(const Fault &fault) {
  if (fault.signal == SIGILL)
    return describeTrap(fault.address);
  if (fault.signal == SIGFPE)
    return "an integer division that has no result";
  DeviceMemory::Fault place = DeviceMemory::get().explain(fault.address);
  if (place.known && !place.isAlias)
    return "an access to " + hex(fault.address) + ", a device address that was no parameter: " + place.text;
  if (place.known)
    return "an access out of bounds: " + place.text;
  if (isKernelStackOverflow(fault.address))
    return "the thread's stack is used up";
  if (isDynamicSharedOverrun(fault.address))
    return "an access out of the bounds of dynamic shared memory";
  // A general protection fault has no address.
  if (!fault.address && fault.signal == SIGSEGV && fault.code == SI_KERNEL)
    return "an access that is not aligned, or to an address that cannot be";
  return "an access to " + hex(fault.address) + ", which is not device memory";
}

[[noreturn]] void reportKernelFault() {
  std::string where = text("kernel ", zero_shim_thread.kernel, ", ", currentThreadText()), what = describeKernelFault(lastFault);
  if (exitsOnMisuse())
    endProcess(where, what);
  say(where, what);
  abandonKernel(CUDA_ERROR_ILLEGAL_ADDRESS);
}

[[noreturn]] void reportHostFault() {
  endProcess("memory", text("the host touches device memory at ", hex(lastFault.address), ": ", DeviceMemory::get().explain(lastFault.address).text));
}

void onFault(int signal, siginfo_t *info, void *context) {
  auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  lastFault = {signal, info->si_code, info->si_addr};
  // Aligned as where a function begins.
  if (zero_shim_thread.kernel && reportStackTop) {
    registers[REG_RIP] = reinterpret_cast<greg_t>(&reportKernelFault);
    registers[REG_RSP] = reinterpret_cast<greg_t>(reportStackTop) - 8;
  } else if ((signal == SIGSEGV || signal == SIGBUS) && DeviceMemory::get().reserves(info->si_addr)) {
    constexpr greg_t kRedZone = 128;
    registers[REG_RIP] = reinterpret_cast<greg_t>(&reportHostFault);
    registers[REG_RSP] = ((registers[REG_RSP] - kRedZone) & ~greg_t(15)) - 8;
  } else {
    // Not ours: as it was before.
    sigaction(signal, &previous[signal], nullptr);
  }
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
  // One for the handler, one to report on afterwards.
  constexpr size_t kBytes = 128 << 10;
  void *stacks = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED)
    return;
  stack_t stack = {};
  stack.ss_sp = stacks;
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
  reportStackTop = static_cast<char *>(stacks) + 2 * kBytes;
}

} // namespace zero::shim

//===- Machine.cpp - Processes of the same machine ------------------------===//
#include "lib/Runtime/HAL/Comm/Machine.h"
#include <fcntl.h>
#include <fstream>
#include <sys/utsname.h>
#include <unistd.h>

namespace zero {

std::string machineName() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = "";
  ssize_t size = ::readlink("/proc/self/ns/pid", space, sizeof space - 1);
  utsname host = {};
  ::uname(&host);
  return boot + "/" + std::string(space, size > 0 ? static_cast<size_t>(size) : 0) + "/" + host.nodename;
}

int openFileOf(int id, int file) {
  return ::open(("/proc/" + std::to_string(id) + "/fd/" + std::to_string(file)).c_str(), O_RDWR | O_CLOEXEC);
}

} // namespace zero

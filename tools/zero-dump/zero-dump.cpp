//===- zero-dump.cpp - Prints a compiled program --------------------------===//
#include "zero/Container/Dump.h"
#include <cstdio>
#include <string_view>

using namespace zero;

int main(int argc, char **argv) {
  constexpr const char *kUsage = "usage: zero-dump compiled.bin\n"
                                 "Prints the sections, memory, parameters and commands of a compiled program.\n";
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (argc != 2 || argv[1][0] == '-') {
    std::fputs(kUsage, stderr);
    return static_cast<int>(ErrorCode::WrongUsage);
  }
  auto container = Container::open(argv[1]);
  if (!container.ok()) {
    std::fprintf(stderr, "zero-dump: %s\n", container.status().message().c_str());
    return container.status().exitCode();
  }
  std::fputs(dumpContainer(*container).c_str(), stdout);
  return 0;
}

//===- AssemblerLog.cpp - What kernels take, in the assembler's words -----===//
#include "AssemblerLog.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace zero {

/// The number before `unit` in a line such as "16 bytes stack frame, 8 bytes spill stores"; 0 where there is none.
static int64_t numberBefore(StringRef line, StringRef unit) {
  const size_t at = line.find(unit);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.take_front(at).rtrim();
  int64_t number = 0;
  before.take_back(before.size() - (before.find_last_not_of("0123456789") + 1)).getAsInteger(10, number);
  return number;
}

std::vector<CudaKernelUse> parseAssemblerLog(StringRef log, StringRef architecture) {
  std::vector<CudaKernelUse> uses;
  for (StringRef rest = log; !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (size_t at = line.find("Compiling entry function '"); at != StringRef::npos) {
      StringRef name = line.drop_front(at).split('\'').second.split('\'').first;
      uses.push_back({name.str(), architecture.str()});
      continue;
    }
    if (uses.empty())
      continue;
    CudaKernelUse &use = uses.back();
    if (line.contains("spill stores")) {
      use.localBytes = numberBefore(line, " bytes stack frame");
      use.spillBytes = numberBefore(line, " bytes spill stores") + numberBefore(line, " bytes spill loads");
    } else if (line.contains("Used ") && line.contains(" registers")) {
      use.registers = numberBefore(line, " registers");
      use.sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  return uses;
}

void writeCudaReport(const CudaCode &code, raw_ostream &os) {
  json::Array kernels;
  for (const CudaKernelUse &use : code.uses)
    kernels.push_back(json::Object{{"kernel", use.kernel},
                                   {"architecture", use.architecture},
                                   {"registers", use.registers},
                                   {"spill_bytes", use.spillBytes},
                                   {"local_bytes", use.localBytes},
                                   {"shared_bytes", use.sharedBytes}});
  json::Value known = code.uses.empty() ? json::Value(nullptr) : json::Value(std::move(kernels));
  os << formatv("{0:2}\n", json::Value(json::Object{{"kernels", std::move(known)}}));
}

} // namespace zero

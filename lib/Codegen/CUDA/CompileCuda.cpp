//===- CompileCuda.cpp - From CUDA C++ to machine code by NVRTC -----------===//
#include "AssemblerLog.h"
#include "NvrtcTable.h"
#include "zero/Codegen/CudaCodegen.h"
#include <future>

using namespace llvm;

namespace zero {
namespace {

/// A program of NVRTC's.
class Program {
public:
  explicit Program(const NvrtcTable &nvrtc) : nvrtc(nvrtc) {}
  Program(const Program &) = delete;
  ~Program() {
    if (program)
      nvrtc.nvrtcDestroyProgram(&program);
  }

  Status compile(const std::string &source, const std::string &architecture) {
    ZERO_RETURN_IF_ERROR(check("nvrtcCreateProgram", nvrtc.nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr)));
    const std::string target = "--gpu-architecture=" + architecture;
    // What is fused is written so (Prelude.cuh). The assembler is asked what kernels take.
    const char *options[] = {target.c_str(), "--std=c++20", "--fmad=false", "--ptxas-options=-v"};
    nvrtcResult result = nvrtc.nvrtcCompileProgram(program, std::size(options), options);
    size_t size = 0;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size > 1) {
      log.resize(size);
      nvrtc.nvrtcGetProgramLog(program, log.data());
      log.resize(size - 1);
    }
    if (result == NVRTC_ERROR_INVALID_OPTION)
      return Status::badInput("NVRTC does not compile for '" + architecture + "': " + StringRef(log).rtrim().str());
    if (result != NVRTC_SUCCESS)
      return Status::programFailed("compiling CUDA kernels for " + architecture + " failed: " + nvrtc.nvrtcGetErrorString(result) + "\n" +
                                   StringRef(log).rtrim().str());
    return {};
  }

  Expected<std::string> getBytes(bool isPtx) const {
    size_t size = 0;
    ZERO_RETURN_IF_ERROR(isPtx ? check("nvrtcGetPTXSize", nvrtc.nvrtcGetPTXSize(program, &size))
                               : check("nvrtcGetCUBINSize", nvrtc.nvrtcGetCUBINSize(program, &size)));
    std::string bytes(size, '\0');
    ZERO_RETURN_IF_ERROR(isPtx ? check("nvrtcGetPTX", nvrtc.nvrtcGetPTX(program, bytes.data()))
                               : check("nvrtcGetCUBIN", nvrtc.nvrtcGetCUBIN(program, bytes.data())));
    return bytes;
  }

  std::string log;

private:
  Status check(const char *function, nvrtcResult result) const {
    if (result == NVRTC_SUCCESS)
      return {};
    return Status::programFailed(std::string(function) + " failed: " + nvrtc.nvrtcGetErrorString(result));
  }

  const NvrtcTable &nvrtc;
  nvrtcProgram program = nullptr;
};

struct Compiled {
  CudaImage image;
  std::vector<CudaKernelUse> uses;
};

Expected<Compiled> compileFor(const NvrtcTable &nvrtc, const std::string &source, const std::string &label, bool isPtx) {
  Program program(nvrtc);
  ZERO_RETURN_IF_ERROR(program.compile(source, label));
  ZERO_ASSIGN_OR_RETURN(std::string bytes, program.getBytes(isPtx));
  Compiled compiled{{label, std::move(bytes), isPtx}, {}};
  if (!isPtx)
    compiled.uses = parseAssemblerLog(program.log, label);
  return compiled;
}

} // namespace

Expected<CudaCode> compileCuda(std::string source, ArrayRef<std::string> architectures) {
  ZERO_ASSIGN_OR_RETURN(const NvrtcTable *nvrtc, NvrtcTable::get());
  // NVRTC takes several programs at a time.
  std::vector<std::future<Expected<Compiled>>> pending;
  auto start = [&](const std::string &label, bool isPtx) {
    pending.push_back(std::async(std::launch::async, [&source, nvrtc, label, isPtx] { return compileFor(*nvrtc, source, label, isPtx); }));
  };
  for (const std::string &architecture : architectures)
    start(architecture, /*isPtx=*/false);
  if (!architectures.empty())
    start("compute_" + architectures.back().substr(std::string("sm_").size()), /*isPtx=*/true);
  CudaCode code;
  Status failed;
  for (auto &one : pending) {
    Expected<Compiled> compiled = one.get();
    if (!compiled.ok()) {
      if (failed.ok())
        failed = compiled.status();
      continue;
    }
    code.images.push_back(std::move(compiled->image));
    code.uses.insert(code.uses.end(), compiled->uses.begin(), compiled->uses.end());
  }
  if (!failed.ok())
    return failed;
  code.source = std::move(source);
  return code;
}

} // namespace zero

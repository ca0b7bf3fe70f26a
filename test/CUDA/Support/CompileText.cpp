//===- CompileText.cpp - Kernels for a test, from their text --------------===//
#include "test/CUDA/Support/CompileText.h"
#include "zero/Runtime/Base/LoadedLibrary.h"
#include <fstream>
#include <iterator>
#include <nvrtc.h>

namespace zero::test {
namespace {

Expected<std::string> readText(const std::string &path) {
  std::ifstream file(std::string(ZERO_SOURCE_DIR "/") + path);
  if (!file)
    return Status::badInput("no file '" + path + "'");
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

} // namespace

Expected<std::unique_ptr<DeviceModule>> compileText(StreamDevice &device, const std::vector<std::string> &texts, const std::vector<std::string> &lines) {
  ZERO_ASSIGN_OR_RETURN(std::string source, readText("lib/Codegen/CUDA/Prelude.cuh"));
  for (const std::string &path : texts) {
    ZERO_ASSIGN_OR_RETURN(std::string text, readText(path));
    source += text;
  }
  for (const std::string &line : lines)
    source += line + "\n";

  ZERO_ASSIGN_OR_RETURN(LoadedLibrary library, LoadedLibrary::open("libnvrtc.so.13"));
#define ZERO_FIND(name)                                                                                      \
  ZERO_ASSIGN_OR_RETURN(void *name##Found, library.find(#name));                                             \
  auto name##Call = reinterpret_cast<decltype(&::name)>(name##Found)
  ZERO_FIND(nvrtcCreateProgram);
  ZERO_FIND(nvrtcCompileProgram);
  ZERO_FIND(nvrtcGetProgramLogSize);
  ZERO_FIND(nvrtcGetProgramLog);
  ZERO_FIND(nvrtcGetCUBINSize);
  ZERO_FIND(nvrtcGetCUBIN);
  ZERO_FIND(nvrtcDestroyProgram);
#undef ZERO_FIND

  nvrtcProgram program = nullptr;
  const std::string architecture = "--gpu-architecture=" + device.architecture();
  const char *options[] = {architecture.c_str(), "--std=c++20", "--fmad=false", "--device-int128"};
  if (nvrtcCreateProgramCall(&program, source.c_str(), "test.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    return Status::programFailed("nvrtcCreateProgram failed");
  nvrtcResult result = nvrtcCompileProgramCall(program, std::size(options), options);
  std::string log, code;
  size_t size = 0;
  if (nvrtcGetProgramLogSizeCall(program, &size) == NVRTC_SUCCESS) {
    log.resize(size);
    (void)nvrtcGetProgramLogCall(program, log.data());
  }
  if (result == NVRTC_SUCCESS && (result = nvrtcGetCUBINSizeCall(program, &size)) == NVRTC_SUCCESS) {
    code.resize(size);
    result = nvrtcGetCUBINCall(program, code.data());
  }
  (void)nvrtcDestroyProgramCall(&program);
  if (result != NVRTC_SUCCESS)
    return Status::programFailed("NVRTC fails with code " + std::to_string(result) + ": " + log);
  return device.loadModule(code);
}

} // namespace zero::test

//===- LaunchText.cpp - Writes launches of the library's CUDA kernels -----===//
#include "lib/Runtime/Kernels/CUDA/LaunchText.h"
#include "lib/Runtime/Kernels/Element.h"
#include <algorithm>
#include <cstdio>

using namespace zero;
using namespace zero::kernels;

const char *kernels::cudaType(int64_t element) {
  constexpr const char *names[] = {"float", "double", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "u8", "u16", "u32", "u64"};
  return element >= 0 && element < 13 ? names[element] : "void";
}

const char *kernels::cudaUnit(int64_t bytes) {
  switch (bytes) {
  case 1:
    return "u8";
  case 2:
    return "u16";
  case 4:
    return "u32";
  case 8:
    return "u64";
  default:
    return "uint4";
  }
}

/// FNV-1a.
static std::string hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

CudaLaunch LaunchText::finish() const {
  CudaLaunch launch;
  std::string parameters;
  for (const auto &[type, index] : pointers) {
    parameters += (parameters.empty() ? "" : ", ") + type + " *p" + std::to_string(launch.arguments.size());
    launch.arguments.push_back({CudaArgument::Kind::Pointer, index});
  }
  if (hasStatus) {
    parameters += ", zero::CudaStatus *status, u32 command";
    launch.arguments.push_back({CudaArgument::Kind::Status});
    launch.arguments.push_back({CudaArgument::Kind::Command});
  }
  uint32_t perBlock = threads * threadRows;
  std::string text = "(" + parameters + ") { " + body + " }";
  launch.symbol = "zero_" + name + "_" + hashOf(std::to_string(perBlock) + declarations + text);
  if (!declarations.empty()) {
    launch.instantiation = "namespace of_" + launch.symbol + " { " + declarations + " } ";
    text.insert(text.find('{') + 1, " using namespace of_" + launch.symbol + ";");
  }
  // With the 1 the assembler takes the registers it needs: left alone it may spill some for more blocks at a time.
  launch.instantiation += "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(perBlock) + ", 1) " + launch.symbol + text;
  launch.sources = sources;
  launch.grid = {static_cast<uint32_t>(std::min<uint64_t>(blocks, UINT32_MAX)), 1, 1}; // too many are refused
  launch.block = {threads, threadRows, 1};
  launch.sharedBytes = sharedBytes;
  return launch;
}

uint64_t kernels::loopBlocks(uint64_t items, uint64_t threads) {
  constexpr uint64_t kMost = 16384;
  return std::clamp<uint64_t>((items + threads - 1) / threads, 1, kMost);
}

void ShapeText::add(const char *name, int64_t value) {
  text += std::string("static constexpr i64 ") + name + " = " + std::to_string(value) + "; ";
}
void ShapeText::add(const char *name, bool value) {
  text += std::string("static constexpr bool ") + name + " = " + (value ? "true" : "false") + "; ";
}
void ShapeText::add(const char *name, float value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%af", static_cast<double>(value));
  text += std::string("static constexpr float ") + name + " = " + digits + "; ";
}

//===- OneDnn.cpp - oneDNN as we use it: one thread, one instruction set --===//
#include "lib/Runtime/Kernels/OneDnn.h"
#include <mutex>
#include <string>

extern "C" void omp_set_num_threads(int);

using namespace zero;
using namespace zero::kernels;

const dnnl::engine &onednn::engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl_stream_t onednn::threadStream() {
  struct ThreadState {
    ThreadState() : stream((omp_set_num_threads(1), engine())) {}
    dnnl::stream stream;
  };
  thread_local ThreadState state;
  return state.stream.get();
}

Status onednn::limitInstructionSet(const KernelOptions &options) {
  static std::mutex mutex;
  static bool decided = false;
  static dnnl::cpu_isa chosen;
  dnnl::cpu_isa isa = options.variant == CpuVariant::X86_64_V3 ? dnnl::cpu_isa::avx2
                      : options.bf16Products                  ? dnnl::cpu_isa::avx512_core_bf16
                                                              : dnnl::cpu_isa::avx512_core;
  std::lock_guard lock(mutex);
  if (decided)
    return chosen == isa
               ? Status()
               : Status::wrongUsage("oneDNN runs one instruction-set variant in a process, asked for two");
  if (dnnl::set_max_cpu_isa(isa) != dnnl::status::success)
    return Status::programFailed("oneDNN was used before its instruction set could be bounded");
  decided = true;
  chosen = isa;
  return {};
}

dnnl::primitive_attr onednn::userScratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Status onednn::checkScratch(std::string_view kernel, int64_t neededBytes, int64_t plannedBytes) {
  if (neededBytes <= plannedBytes)
    return {};
  return Status::badInput("kernel '" + std::string(kernel) + "': oneDNN takes " + std::to_string(neededBytes) + " bytes of scratch, the plan has " +
                          std::to_string(plannedBytes));
}

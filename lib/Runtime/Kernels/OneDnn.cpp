//===- OneDnn.cpp - oneDNN as we use it: one thread, one instruction set --===//
#include "lib/Runtime/Kernels/OneDnn.h"
#include <algorithm>
#include <mutex>
#include <new>
#include <tuple>
#include <vector>

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

namespace {

constexpr std::align_val_t kAlignment{4096};

/// Free buffers and the size that new ones get.
struct Pool {
  std::mutex mutex;
  size_t bytes = 64;
  std::vector<std::pair<void *, size_t>> free;

  ~Pool() {
    for (auto &[buffer, size] : free)
      operator delete(buffer, kAlignment);
  }
  static Pool &get() {
    static Pool instance;
    return instance;
  }
};

} // namespace

void onednn::Scratch::reserve(size_t bytes) {
  Pool &pool = Pool::get();
  {
    std::lock_guard lock(pool.mutex);
    pool.bytes = std::max(pool.bytes, bytes);
  }
  Scratch grown; // the buffer that the first thread will find
}

onednn::Scratch::Scratch() {
  Pool &pool = Pool::get();
  std::lock_guard lock(pool.mutex);
  if (!pool.free.empty()) {
    std::tie(buffer, size) = pool.free.back();
    pool.free.pop_back();
    if (size >= pool.bytes)
      return;
    operator delete(buffer, kAlignment);
  }
  size = pool.bytes;
  buffer = operator new(size, kAlignment);
}

onednn::Scratch::~Scratch() {
  Pool &pool = Pool::get();
  std::lock_guard lock(pool.mutex);
  pool.free.emplace_back(buffer, size);
}

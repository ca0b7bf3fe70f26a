//===- kernels.cpp - Speed of the library's kernels, one thread -----------===//
//
// ninja zero-bench-kernels && bin/zero-bench-kernels [x86-64-v3|x86-64-v4|x86-64-v4-bf16] [FILTER]: best of several runs,
// GFLOP/s and GB/s (bytes of operands and results, each counted once). With the last, bf16 is multiplied by the CPU.
//
//===----------------------------------------------------------------------===//
#include "zero/Runtime/Base/NarrowFloats.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include "zero/Runtime/Kernels/Workspace.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <vector>

using namespace zero;

namespace {

class OneThread : public ParallelFor {
public:
  void run(int64_t items, void (*body)(void *, int64_t, int64_t), void *context) override {
    body(context, 0, items);
  }
};

/// CPU time of this thread: a busy machine disturbs it less than the clock on the wall.
double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

struct Benchmark {
  std::string title, kernel;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<int64_t> bytes; // of each pointer
  double flops = 0;
  std::vector<int64_t> indices; // contents of pointer 1, where it holds indices
};

constexpr int64_t kF32 = 0, kBF16 = 3; // ElementType of lib/Container/plan.fbs
int64_t bytesOf(int64_t element) { return element == kF32 ? 4 : 2; }

void measure(const Benchmark &b, const KernelOptions &options) {
  auto kernel = prepareKernel(b.kernel, b.integers, b.reals, options);
  if (!kernel.ok()) {
    std::printf("%-44s %s\n", b.title.c_str(), kernel.status().message().c_str());
    return;
  }
  std::vector<void *> pointers;
  double moved = 0;
  std::vector<int64_t> sizes = b.bytes;
  if (int64_t workspace = kernelWorkspaceBytes(b.kernel, b.integers))
    sizes.push_back(workspace);
  for (int64_t bytes : sizes) {
    pointers.push_back(operator new(bytes + 64, std::align_val_t(4096)));
    bool isNarrow = b.integers[0] == kBF16 && b.title.find("bf16") != std::string::npos;
    for (int64_t i = 0; i < bytes / (isNarrow ? 2 : 4); ++i) {
      auto value = static_cast<float>(std::sin(static_cast<double>(i)));
      if (isNarrow)
        static_cast<uint16_t *>(pointers.back())[i] = roundToBFloat16(value);
      else
        static_cast<float *>(pointers.back())[i] = value;
    }
    if (pointers.size() <= b.bytes.size()) // the workspace is no traffic
      moved += bytes;
  }
  if (!b.indices.empty())
    std::memcpy(pointers[1], b.indices.data(), b.indices.size() * 8);
  OneThread parallel;
  double best = 1e30, spent = 0;
  for (int i = 0; i < 3 || (spent < 0.3 && i < 1000); ++i) {
    double start = cpuSeconds();
    Status status = (*kernel)->run(pointers.data(), parallel);
    double seconds = cpuSeconds() - start;
    if (!status.ok()) {
      std::printf("%-44s %s\n", b.title.c_str(), status.message().c_str());
      break;
    }
    best = std::min(best, seconds);
    spent += seconds;
  }
  std::printf("%-44s %10.1f us %8.1f GB/s", b.title.c_str(), best * 1e6, moved / best * 1e-9);
  if (b.flops)
    std::printf(" %8.1f GFLOP/s", b.flops / best * 1e-9);
  std::printf("\n");
  for (void *pointer : pointers)
    operator delete(pointer, std::align_val_t(4096));
}

Benchmark matmul(int64_t batch, int64_t m, int64_t n, int64_t k, bool tl, bool tr, int64_t element = kF32) {
  std::string title = "matmul " + (batch > 1 ? std::to_string(batch) + " x " : std::string()) +
                      std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k) +
                      (tl ? " T" : " N") + (tr ? "T" : "N") + (element == kBF16 ? " bf16" : "");
  int64_t size = bytesOf(element);
  return {title,
          "matmul",
          {element, batch, m, n, k, tl, tr, m * k, tl ? m : k, k * n, tr ? k : n, m * n, n},
          {},
          {size * batch * m * k, size * batch * k * n, size * batch * m * n},
          2.0 * batch * m * n * k,
          {}};
}

Benchmark attention(bool gradient, int64_t b, int64_t t, int64_t h, int64_t d, bool causal, int64_t element = kF32) {
  std::vector<int64_t> integers{element, b, t, t, h, h, d, causal, 0, 0, 0};
  for (int i = 0; i < (gradient ? 8 : 4); ++i)
    integers.insert(integers.end(), {t * h * d, h * d, d});
  int64_t tensor = bytesOf(element) * b * t * h * d, rows = 4 * b * h * t;
  std::string kernel = gradient ? "attention_grad" : "attention";
  std::vector<int64_t> bytes{tensor, tensor, tensor, tensor, rows};
  if (gradient)
    bytes.insert(bytes.end(), 4, tensor);
  double flops = (gradient ? 10.0 : 4.0) * b * h * t * t * d * (causal ? 0.5 : 1);
  std::string title = kernel + " " + std::to_string(b) + " x " + std::to_string(t) + " x " +
                      std::to_string(h) + " x " + std::to_string(d) + (causal ? " causal" : "") +
                      (element == kBF16 ? " bf16" : "");
  return {title, kernel, integers, {1 / std::sqrt(double(d))}, bytes, flops, {}};
}

Benchmark copy(const char *what, std::vector<int64_t> sizes, std::vector<int64_t> from,
               std::vector<int64_t> to) {
  std::vector<int64_t> integers{4, static_cast<int64_t>(sizes.size())};
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  integers.insert(integers.end(), sizes.begin(), sizes.end());
  integers.push_back(0);
  integers.insert(integers.end(), from.begin(), from.end());
  integers.push_back(0);
  integers.insert(integers.end(), to.begin(), to.end());
  return {std::string("strided_copy ") + what, "strided_copy", integers, {}, {4 * count, 4 * count}, 0, {}};
}

std::vector<Benchmark> benchmarks() {
  std::vector<int64_t> tokens(8192);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int64_t>(i * 2654435761u % 4096);
  std::vector<Benchmark> made;
  // A layer of width 512 over 4 x 256 tokens and the head over 8192 classes, each product with its two gradients.
  for (int64_t element : {kF32, kBF16}) {
    for (auto [n, k] : {std::pair<int64_t, int64_t>{1536, 512}, {512, 512}, {2048, 512}, {512, 2048}, {8192, 512}}) {
      made.push_back(matmul(1, 1024, n, k, false, false, element));
      made.push_back(matmul(1, 1024, k, n, false, true, element));
      made.push_back(matmul(1, k, n, 1024, true, false, element));
    }
    for (bool gradient : {false, true})
      made.push_back(attention(gradient, 4, 256, 8, 64, true, element));
  }
  std::vector<Benchmark> others = {
      matmul(1, 1024, 512, 2048, false, false),
      matmul(1, 1024, 768, 256, false,
             true), // a layer of width 256 over 8 x 128 tokens: qkv, its two gradients
      matmul(1, 1024, 256, 768, false, false),
      matmul(1, 256, 768, 1024, true, false),
      matmul(1, 1024, 1024, 256, false, true),
      matmul(1, 1024, 256, 1024, false, true),
      matmul(1, 1024, 4096, 256, false, true), // the head over 4096 classes and its two gradients
      matmul(1, 1024, 256, 4096, false, false),
      matmul(1, 4096, 256, 1024, true, false),
      matmul(32, 128, 128, 64, false, true),
      matmul(1, 12, 32, 64, false, true),
      matmul(1, 512, 64, 64, false, true),
      attention(false, 8, 128, 4, 64, true),
      attention(true, 8, 128, 4, 64, true),
      attention(false, 2, 1024, 8, 64, true),
      attention(true, 2, 1024, 8, 64, true),
      attention(false, 1, 4096, 4, 64, false),
      attention(true, 1, 4096, 4, 64, false),
      attention(false, 4, 256, 8, 32, true),
      attention(true, 4, 256, 8, 32, true),
      copy("contiguous 16 MiB", {1 << 22}, {1}, {1}),
      copy("transpose 1024 x 1024", {1024, 1024}, {1, 1024}, {1024, 1}),
      copy("transpose 300 x 700", {300, 700}, {1, 300}, {700, 1}),
      copy("heads 8 x 128 x 4 x 64", {8, 4, 128, 64}, {32768, 64, 256, 1}, {32768, 8192, 64, 1}),
      copy("rows of 3 x 256, one third", {1024, 256}, {768, 1}, {256, 1}),
      {"fill 16 MiB", "fill", {4, 1 << 22, 0}, {}, {4 << 22}, 0, {}},
      {"gather 8192 rows of 256",
       "gather",
       {4, 4, 1, 4096, 256, 8192},
       {},
       {4096 * 1024, 8192 * 8, 8192 * 1024},
       0,
       tokens},
      {"scatter_add 8192 rows of 256",
       "scatter_add",
       {0, 4, 1, 4096, 256, 8192},
       {},
       {8192 * 1024, 8192 * 8, 4096 * 1024},
       0,
       tokens},
      {"sum_squares 4 Mi", "sum_squares", {0, 1 << 22}, {}, {4 << 22, 192}, 2.0 * (1 << 22), {}},
      {"sum_squares 4 Mi bf16", "sum_squares", {kBF16, 1 << 22}, {}, {2 << 22, 192}, 2.0 * (1 << 22), {}},
  };
  made.insert(made.end(), others.begin(), others.end());
  return made;
}

} // namespace

int main(int argc, char **argv) {
  KernelOptions options;
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "x86-64-v4") || !std::strcmp(argv[i], "x86-64-v4-bf16"))
      options = {CpuVariant::X86_64_V4, !std::strcmp(argv[i], "x86-64-v4-bf16")};
    else if (std::strcmp(argv[i], "x86-64-v3"))
      filter = argv[i];
  }
  for (const Benchmark &b : benchmarks())
    if (b.title.find(filter) != std::string::npos)
      measure(b, options);
}

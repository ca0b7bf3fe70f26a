//===- generated_kernels.cpp - Speed of generated kernels, one thread -----===//
//
// ninja zero-bench-codegen && bin/zero-bench-codegen [LIMIT]: for each kernel and instruction set the best of
// several runs beside that of a plain loop (hand_written.inc) measured in turn with it, and its best where its operands are in
// memory (`cold`), as those of a step mostly are. Exit code 1 where generated code takes more than LIMIT times as long as the loop.
// Kernels named after bf16 read and write half the bytes of their twins, whose f32 loop they are measured by.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "zero/Codegen/Codegen.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace mlir;
using namespace zero;

using Loop = void (*)(void *const *pointers, int64_t rows, int64_t columns);
#define LOOPS(name)                                                                                          \
  extern "C" void name##_v3(void *const *, int64_t, int64_t), name##_v4(void *const *, int64_t, int64_t);
LOOPS(gelu)
LOOPS(softmax)
LOOPS(layer_norm)
LOOPS(bias_gradient)
LOOPS(activation_gradient)
LOOPS(norm_gradient)
LOOPS(adam)
LOOPS(cross_entropy)

namespace {

struct Benchmark {
  const char *name;
  int64_t rows, columns;
  Loop loops[2];
  const char *body;                   // {0}: rows, {1}: columns
  std::vector<unsigned> inPlace = {}; // operands that results overwrite
};

const Benchmark kBenchmarks[] = {
    {"gelu",
     512,
     1024,
     {gelu_v3, gelu_v4},
     R"((%x: tensor<{0}x{1}xf32>, %b: tensor<{1}xf32>) -> tensor<{0}x{1}xf32> {{
      %0 = nn.broadcast %b dims [1] : tensor<{1}xf32> to tensor<{0}x{1}xf32>
      %1 = nn.add %x, %0 : tensor<{0}x{1}xf32>
      %2 = nn.gelu tanh %1 : tensor<{0}x{1}xf32>
      return %2 : tensor<{0}x{1}xf32>
    })"},
    {"softmax", 512, 1024, {softmax_v3, softmax_v4}, R"((%x: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
      %0 = nn.softmax %x axis 1 : tensor<{0}x{1}xf32>
      return %0 : tensor<{0}x{1}xf32>
    })"},
    {"layer_norm",
     512,
     1024,
     {layer_norm_v3, layer_norm_v4},
     R"((%x: tensor<{0}x{1}xf32>, %s: tensor<{1}xf32>, %b: tensor<{1}xf32>)
        -> (tensor<{0}x{1}xf32>, tensor<{0}xf32>, tensor<{0}xf32>) {{
      %0:3 = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5
        : tensor<{0}x{1}xf32>, tensor<{1}xf32>, tensor<{1}xf32> -> tensor<{0}x{1}xf32>, tensor<{0}xf32>, tensor<{0}xf32>
      return %0#0, %0#1, %0#2 : tensor<{0}x{1}xf32>, tensor<{0}xf32>, tensor<{0}xf32>
    })"},
    {"bias_gradient",
     2048,
     768,
     {bias_gradient_v3, bias_gradient_v4},
     R"((%x: tensor<{0}x{1}xf32>) -> tensor<{1}xf32> {{
      %0 = nn.reduce sum %x axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
      return %0 : tensor<{1}xf32>
    })"},
    {"bias_gradient_bf16",
     2048,
     768,
     {bias_gradient_v3, bias_gradient_v4},
     R"((%x: tensor<{0}x{1}xbf16>) -> tensor<{1}xf32> {{
      %w = nn.cast %x : tensor<{0}x{1}xbf16> to tensor<{0}x{1}xf32>
      %0 = nn.reduce sum %w axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
      return %0 : tensor<{1}xf32>
    })"},
    {"activation_gradient",
     1024,
     2048,
     {activation_gradient_v3, activation_gradient_v4},
     R"((%dy: tensor<{0}x{1}xf32>, %slope: tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{1}xf32>) {{
      %0 = nn.mul %dy, %slope : tensor<{0}x{1}xf32>
      %1 = nn.reduce sum %0 axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
      return %0, %1 : tensor<{0}x{1}xf32>, tensor<{1}xf32>
    })",
     /*inPlace=*/{0}},
    {"activation_gradient_bf16",
     1024,
     2048,
     {activation_gradient_v3, activation_gradient_v4},
     R"((%dy: tensor<{0}x{1}xbf16>, %slope: tensor<{0}x{1}xbf16>) -> (tensor<{0}x{1}xbf16>, tensor<{1}xbf16>) {{
      %0 = nn.mul %dy, %slope : tensor<{0}x{1}xbf16>
      %w = nn.cast %0 : tensor<{0}x{1}xbf16> to tensor<{0}x{1}xf32>
      %s = nn.reduce sum %w axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
      %1 = nn.cast %s : tensor<{1}xf32> to tensor<{1}xbf16>
      return %0, %1 : tensor<{0}x{1}xbf16>, tensor<{1}xbf16>
    })",
     /*inPlace=*/{0}},
    {"norm_gradient",
     1024,
     512,
     {norm_gradient_v3, norm_gradient_v4},
     R"((%dy: tensor<{0}x{1}xf32>, %x: tensor<{0}x{1}xf32>, %mean: tensor<{0}xf32>, %rstd: tensor<{0}xf32>) -> (tensor<{1}xf32>, tensor<{1}xf32>) {{
      %m = nn.broadcast %mean dims [0] : tensor<{0}xf32> to tensor<{0}x{1}xf32>
      %r = nn.broadcast %rstd dims [0] : tensor<{0}xf32> to tensor<{0}x{1}xf32>
      %d = nn.sub %x, %m : tensor<{0}x{1}xf32>
      %n = nn.mul %d, %r : tensor<{0}x{1}xf32>
      %p = nn.mul %dy, %n : tensor<{0}x{1}xf32>
      %0 = nn.reduce sum %p axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
      %1 = nn.reduce sum %dy axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
      return %0, %1 : tensor<{1}xf32>, tensor<{1}xf32>
    })"},
    {"norm_gradient_bf16",
     1024,
     512,
     {norm_gradient_v3, norm_gradient_v4},
     R"((%dy: tensor<{0}x{1}xbf16>, %x: tensor<{0}x{1}xbf16>, %mean: tensor<{0}xf32>, %rstd: tensor<{0}xf32>) -> (tensor<{1}xf32>, tensor<{1}xf32>) {{
      %wy = nn.cast %dy : tensor<{0}x{1}xbf16> to tensor<{0}x{1}xf32>
      %wx = nn.cast %x : tensor<{0}x{1}xbf16> to tensor<{0}x{1}xf32>
      %m = nn.broadcast %mean dims [0] : tensor<{0}xf32> to tensor<{0}x{1}xf32>
      %r = nn.broadcast %rstd dims [0] : tensor<{0}xf32> to tensor<{0}x{1}xf32>
      %d = nn.sub %wx, %m : tensor<{0}x{1}xf32>
      %n = nn.mul %d, %r : tensor<{0}x{1}xf32>
      %p = nn.mul %wy, %n : tensor<{0}x{1}xf32>
      %0 = nn.reduce sum %p axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
      %1 = nn.reduce sum %wy axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
      return %0, %1 : tensor<{1}xf32>, tensor<{1}xf32>
    })"},
    {"gelu_large",
     4096,
     2048,
     {gelu_v3, gelu_v4},
     R"((%x: tensor<{0}x{1}xf32>, %b: tensor<{1}xf32>) -> tensor<{0}x{1}xf32> {{
      %0 = nn.broadcast %b dims [1] : tensor<{1}xf32> to tensor<{0}x{1}xf32>
      %1 = nn.add %x, %0 : tensor<{0}x{1}xf32>
      %2 = nn.gelu tanh %1 : tensor<{0}x{1}xf32>
      return %2 : tensor<{0}x{1}xf32>
    })"},
    {"gelu_large_bf16",
     4096,
     2048,
     {gelu_v3, gelu_v4},
     R"((%x: tensor<{0}x{1}xbf16>, %b: tensor<{1}xf32>) -> tensor<{0}x{1}xbf16> {{
      %0 = nn.broadcast %b dims [1] : tensor<{1}xf32> to tensor<{0}x{1}xf32>
      %w = nn.cast %x : tensor<{0}x{1}xbf16> to tensor<{0}x{1}xf32>
      %1 = nn.add %w, %0 : tensor<{0}x{1}xf32>
      %2 = nn.gelu tanh %1 : tensor<{0}x{1}xf32>
      %y = nn.cast %2 : tensor<{0}x{1}xf32> to tensor<{0}x{1}xbf16>
      return %y : tensor<{0}x{1}xbf16>
    })"},
    {"layer_norm_large",
     8192,
     1024,
     {layer_norm_v3, layer_norm_v4},
     R"((%x: tensor<{0}x{1}xf32>, %s: tensor<{1}xf32>, %b: tensor<{1}xf32>)
        -> (tensor<{0}x{1}xf32>, tensor<{0}xf32>, tensor<{0}xf32>) {{
      %0:3 = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5
        : tensor<{0}x{1}xf32>, tensor<{1}xf32>, tensor<{1}xf32> -> tensor<{0}x{1}xf32>, tensor<{0}xf32>, tensor<{0}xf32>
      return %0#0, %0#1, %0#2 : tensor<{0}x{1}xf32>, tensor<{0}xf32>, tensor<{0}xf32>
    })"},
    {"layer_norm_large_bf16",
     8192,
     1024,
     {layer_norm_v3, layer_norm_v4},
     R"((%h: tensor<{0}x{1}xbf16>, %s: tensor<{1}xf32>, %b: tensor<{1}xf32>)
        -> (tensor<{0}x{1}xbf16>, tensor<{0}xf32>, tensor<{0}xf32>) {{
      %x = nn.cast %h : tensor<{0}x{1}xbf16> to tensor<{0}x{1}xf32>
      %0:3 = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5
        : tensor<{0}x{1}xf32>, tensor<{1}xf32>, tensor<{1}xf32> -> tensor<{0}x{1}xf32>, tensor<{0}xf32>, tensor<{0}xf32>
      %y = nn.cast %0#0 : tensor<{0}x{1}xf32> to tensor<{0}x{1}xbf16>
      return %y, %0#1, %0#2 : tensor<{0}x{1}xbf16>, tensor<{0}xf32>, tensor<{0}xf32>
    })"},
    {"adam",
     1024,
     1024,
     {adam_v3, adam_v4},
     R"((%p: tensor<{0}x{1}xf32>, %g: tensor<{0}x{1}xf32>, %m: tensor<{0}x{1}xf32>, %v: tensor<{0}x{1}xf32>,
         %s: tensor<f32>, %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>) -> (tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>) {{
      %0:3 = nn.adam %p, %g, %m, %v scale %s lr %lr correction %c1, %c2
        {{beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64, decoupled} : tensor<{0}x{1}xf32>, tensor<f32>
      return %0#0, %0#1, %0#2 : tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>, tensor<{0}x{1}xf32>
    })",
     /*inPlace=*/{0, 2, 3}},
    {"cross_entropy",
     256,
     4096,
     {cross_entropy_v3, cross_entropy_v4},
     R"((%x: tensor<{0}x{1}xf32>, %y: tensor<{0}xi64>)
        -> (tensor<{0}xf32>, tensor<{0}xf32>) {{
      %m = nn.reduce max %x axes [1] : tensor<{0}x{1}xf32> to tensor<{0}xf32>
      %mb = nn.broadcast %m dims [0] : tensor<{0}xf32> to tensor<{0}x{1}xf32>
      %d = nn.sub %x, %mb : tensor<{0}x{1}xf32>
      %e = nn.exp %d : tensor<{0}x{1}xf32>
      %s = nn.reduce sum %e axes [1] : tensor<{0}x{1}xf32> to tensor<{0}xf32>
      %l = nn.log %s : tensor<{0}xf32>
      %yb = nn.broadcast %y dims [0] : tensor<{0}xi64> to tensor<{0}x{1}xi64>
      %i = nn.iota axis 1 : tensor<{0}x{1}xi64>
      %c = nn.compare eq %i, %yb : tensor<{0}x{1}xi64> -> tensor<{0}x{1}xi1>
      %z = nn.constant dense<0.0> : tensor<{0}x{1}xf32>
      %p = nn.select %c, %d, %z : tensor<{0}x{1}xi1>, tensor<{0}x{1}xf32>
      %q = nn.reduce sum %p axes [1] : tensor<{0}x{1}xf32> to tensor<{0}xf32>
      %loss = nn.sub %l, %q : tensor<{0}xf32>
      %n = nn.constant dense<-100> : tensor<{0}xi64>
      %counted = nn.compare ne %y, %n : tensor<{0}xi64> -> tensor<{0}xi1>
      %zero = nn.constant dense<0.0> : tensor<{0}xf32>
      %r = nn.select %counted, %loss, %zero : tensor<{0}xi1>, tensor<{0}xf32>
      %lse = nn.add %m, %l : tensor<{0}xf32>
      return %r, %lse : tensor<{0}xf32>, tensor<{0}xf32>
    })"},
};

/// CPU time of this thread: a busy machine disturbs it less than the clock on the wall.
double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

/// Writes more than caches hold.
void emptyCaches() {
  static std::vector<char> other(size_t{96} << 20);
  static char value = 0;
  std::fill(other.begin(), other.end(), ++value);
}

void *allocate(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t bytes = tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  auto value = [](int64_t i) { return 0.6f + 0.4f * std::sin(static_cast<float>(i)); };
  void *memory = operator new(bytes + 64, std::align_val_t(4096));
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (tensor.getElementType().isF32())
      static_cast<float *>(memory)[i] = value(i);
    else if (tensor.getElementType().isBF16())
      static_cast<uint16_t *>(memory)[i] = roundToBFloat16(value(i));
    else
      static_cast<int64_t *>(memory)[i] = i % 11;
  }
  return memory;
}

} // namespace

int main(int argc, char **argv) {
  double limit = argc > 1 ? std::atof(argv[1]) : 0.0;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, nn::NNDialect, plan::PlanDialect>();
  std::string text;
  for (const Benchmark &b : kBenchmarks) {
    text += llvm::formatv("func.func private @{0}_body{1}\n", b.name,
                          llvm::formatv(b.body, b.rows, b.columns).str())
                .str();
    text += llvm::formatv("plan.kernel @{0} {{body_function = @{0}_body, items = 0 : i64}\n", b.name).str();
  }
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return 1;
  int exitCode = 0;
  for (CpuVariant variant : {CpuVariant::X86_64_V3, CpuVariant::X86_64_V4}) {
    const char *variantName = variant == CpuVariant::X86_64_V3 ? "x86-64-v3" : "x86-64-v4";
    auto start = std::chrono::steady_clock::now();
    Expected<std::string> object = compileKernels(*module, variant);
    double compileMs =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (!object.ok()) {
      std::fprintf(stderr, "%s\n", object.status().message().c_str());
      return 1;
    }
    std::printf("%s: %zu kernels compiled in %.0f ms, %zu bytes\n", variantName, std::size(kBenchmarks),
                compileMs, object->size());
    if (variant == CpuVariant::X86_64_V4 && !__builtin_cpu_supports("x86-64-v4"))
      continue;
    int file = memfd_create("kernels", 0);
    if (write(file, object->data(), object->size()) != static_cast<ssize_t>(object->size()))
      return 1;
    void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW);
    for (const Benchmark &b : kBenchmarks) {
      auto function = module->lookupSymbol<func::FuncOp>(std::string(b.name) + "_body");
      int64_t items = getKernelItems(function);
      SmallVector<void *> pointers, wide;
      double bytes = 0;
      for (TypeRange types : {TypeRange(function.getArgumentTypes()), TypeRange(function.getResultTypes())})
        for (Type type : types) {
          auto tensor = cast<RankedTensorType>(type);
          pointers.push_back(allocate(type));
          wide.push_back(tensor.getElementType().isBF16() ? allocate(tensor.clone(Float32Type::get(&context)))
                                                          : pointers.back());
          bytes += tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8.0;
        }
      // As in a plan, where that is allowed.
      for (auto [result, operand] : llvm::enumerate(b.inPlace))
        if (canComputeInPlace(function, operand, result))
          pointers[function.getNumArguments() + result] = wide[function.getNumArguments() + result] = pointers[operand];
      auto kernel = reinterpret_cast<void (*)(void *const *, int64_t, int64_t)>(dlsym(handle, b.name));
      double generated = 1e9, plain = 1e9;
      for (int i = 0; i < (b.rows > 2048 ? 5 : 40); ++i) {
        double t0 = cpuSeconds();
        kernel(pointers.data(), 0, items);
        double t1 = cpuSeconds();
        b.loops[static_cast<int>(variant)](wide.data(), b.rows, b.columns);
        double t2 = cpuSeconds();
        generated = std::min(generated, t1 - t0), plain = std::min(plain, t2 - t1);
      }
      double cold = 1e9, plainCold = 1e9;
      for (int i = 0; i < 5; ++i) {
        emptyCaches();
        double t0 = cpuSeconds();
        kernel(pointers.data(), 0, items);
        cold = std::min(cold, cpuSeconds() - t0);
        emptyCaches();
        t0 = cpuSeconds();
        b.loops[static_cast<int>(variant)](wide.data(), b.rows, b.columns);
        plainCold = std::min(plainCold, cpuSeconds() - t0);
      }
      double ratio = generated / plain;
      std::printf("  %-24s %5lld x %-5lld generated %8.1f us, loop %8.1f us, ratio %.2f, %5.1f GB/s; cold %8.1f us, loop %8.1f us, %5.1f GB/s\n",
                  b.name, (long long)b.rows, (long long)b.columns, generated * 1e6, plain * 1e6, ratio, bytes / generated * 1e-9, cold * 1e6,
                  plainCold * 1e6, bytes / cold * 1e-9);
      if (limit > 0 && ratio > limit) {
        std::fprintf(stderr, "%s on %s takes %.2f times as long as a plain loop, more than %.2f\n", b.name,
                     variantName, ratio, limit);
        exitCode = 1;
      }
    }
  }
  return exitCode;
}

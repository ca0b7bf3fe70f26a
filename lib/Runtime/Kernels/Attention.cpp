//===- Attention.cpp - attention and attention_grad -----------------------===//
//
// Parameters, pointers and the split over threads; the loops stand in AttentionLoops.inc, once per
// instruction set.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/AttentionTypes.h"
#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include "zero/Runtime/Kernels/Workspace.h"

using namespace zero;
using namespace zero::kernels;

namespace {

/// Items are cut into as many ranges as the workspace has parts; threads split the ranges. Without items there is no workspace, and no
/// pointer to it: `last` is behind the others then.
void runParts(ParallelFor &parallel, const AttentionArguments &arguments, int64_t items,
              AttentionRange *range, void *const *last, int64_t partFloats) {
  if (items == 0)
    return;
  auto *workspace = static_cast<float *>(*last);
  int64_t parts = std::min(kAttentionParts, items);
  parallelFor(parallel, parts, [&](int64_t begin, int64_t end) {
    range(arguments, items * begin / parts, items * end / parts, workspace + begin * partFloats);
  });
}

const AttentionRanges &rangesOf(int64_t element, const KernelOptions &options) {
  if (options.bf16Products && element == static_cast<int64_t>(Element::BF16))
    return attentionBf16;
  return options.variant == CpuVariant::X86_64_V4 ? attentionV4 : attentionV3;
}

/// Of an element type's functions in AttentionRanges.
int64_t indexOf(int64_t element) { return element == 0 ? 0 : element - static_cast<int64_t>(Element::F16) + 1; }

class Attention : public Kernel {
public:
  Attention(const AttentionArguments &arguments, bool mask, int64_t element, const KernelOptions &options)
      : arguments(arguments), mask(mask), range(rangesOf(element, options).forward[indexOf(element)]) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto next = [&] { return *pointers++; };
    AttentionArguments x = arguments;
    x.query.data = next();
    x.key.data = next();
    x.value.data = next();
    x.mask = mask ? next() : nullptr;
    x.out.data = next();
    x.logSumExp = static_cast<float *>(next());
    runParts(parallel, x, x.batch * x.heads, range, pointers, attentionPartFloats(x.queries, x.headSize));
    return {};
  }

private:
  AttentionArguments arguments;
  bool mask;
  AttentionRange *range;
};

class AttentionGrad : public Kernel {
public:
  AttentionGrad(const AttentionArguments &arguments, bool mask, int64_t element, const KernelOptions &options)
      : arguments(arguments), mask(mask), partFloats(partFloatsOf(arguments, mask, element)),
        range(rangesOf(element, options).backward[indexOf(element)]) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto next = [&] { return *pointers++; };
    AttentionArguments x = arguments;
    x.query.data = next();
    x.key.data = next();
    x.value.data = next();
    x.mask = mask ? next() : nullptr;
    x.out.data = next();
    x.logSumExp = static_cast<float *>(next());
    x.outGradient.data = next();
    x.queryGradient.data = next();
    x.keyGradient.data = next();
    x.valueGradient.data = next();
    runParts(parallel, x, x.batch * x.groups, range, pointers, partFloats);
    return {};
  }

private:
  static int64_t partFloatsOf(const AttentionArguments &x, bool mask, int64_t element) {
    return attentionGradPartFloats(element, x.queries, x.keys, x.heads, x.groups, x.headSize, mask);
  }

  AttentionArguments arguments;
  bool mask;
  int64_t partFloats;
  AttentionRange *range;
};

/// The integers that both kernels begin with, then the strides of `views`.
template <typename Made>
Expected<std::unique_ptr<Kernel>> make(const char *kernel, std::span<const int64_t> integers,
                                       std::span<const double> reals, const KernelOptions &options,
                                       std::initializer_list<HeadView AttentionArguments::*> views) {
  Parameters parameters(kernel, integers);
  int64_t element = parameters.next();
  if (element != static_cast<int64_t>(Element::F32) && element != static_cast<int64_t>(Element::F16) &&
      element != static_cast<int64_t>(Element::BF16))
    parameters.fail("element type " + std::string(elementName(element)) + " is not supported, must be f32, f16 or bf16");
  AttentionArguments x;
  x.batch = parameters.size("B");
  x.queries = parameters.size("T");
  x.keys = parameters.size("S");
  x.heads = parameters.size("H");
  x.groups = parameters.size("G");
  x.headSize = parameters.size("D");
  x.causal = parameters.next() != 0;
  bool mask = parameters.next() != 0;
  x.maskBatch = parameters.next();
  x.maskHeads = parameters.next();
  for (HeadView AttentionArguments::*view : views) {
    (x.*view).batch = parameters.size("batch stride");
    (x.*view).position = parameters.size("position stride");
    (x.*view).head = parameters.size("head stride");
  }
  if (x.groups == 0 ? x.heads != 0 : x.heads % x.groups != 0)
    parameters.fail("H = " + std::to_string(x.heads) +
                    " is not a multiple of G = " + std::to_string(x.groups));
  if (mask && ((x.maskBatch != 1 && x.maskBatch != x.batch) || (x.maskHeads != 1 && x.maskHeads != x.heads)))
    parameters.fail("mask of " + std::to_string(x.maskBatch) + " x " + std::to_string(x.maskHeads) +
                    " matrices does not fit " + std::to_string(x.batch) + " x " + std::to_string(x.heads));
  if (reals.size() != 1)
    parameters.fail("takes 1 real, got " + std::to_string(reals.size()));
  ZERO_RETURN_IF_ERROR(parameters.finish());
  x.scale = static_cast<float>(reals[0]);
  return std::unique_ptr<Kernel>(std::make_unique<Made>(x, mask, element, options));
}

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeAttention(std::span<const int64_t> integers,
                                                         std::span<const double> reals,
                                                         const KernelOptions &options) {
  using A = AttentionArguments;
  return make<Attention>("attention", integers, reals, options, {&A::query, &A::key, &A::value, &A::out});
}

Expected<std::unique_ptr<Kernel>> kernels::makeAttentionGrad(std::span<const int64_t> integers,
                                                             std::span<const double> reals,
                                                             const KernelOptions &options) {
  using A = AttentionArguments;
  return make<AttentionGrad>("attention_grad", integers, reals, options,
                             {&A::query, &A::key, &A::value, &A::out, &A::outGradient, &A::queryGradient,
                              &A::keyGradient, &A::valueGradient});
}

//===- Convolution.cpp - Convolutions through oneDNN ----------------------===//
//
// One class for the three kernels: a convolution, its transpose in the data and its transpose in the kernel.
// oneDNN chooses the layouts it is fast in. Blocks of images go through copies in the workspace that stay in
// the cache (ConvolutionSizes.h); the kernel is reordered once for all blocks. Which thread computes a part
// changes no bit, and neither do the other images: each is a sum in an order of its own. The gradient of a
// kernel is a sum over blocks in their order within each part, then over parts.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/ConvolutionLoops.h"
#include "lib/Runtime/Kernels/DepthwiseTypes.h"
#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/OneDnn.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include "lib/Runtime/Kernels/WorkspaceParts.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

using namespace zero;
using namespace zero::kernels;

namespace {

using dnnl::memory;

/// A memory object and where it points. Setting the pointer of a padded layout writes its padding, so it is
/// set only where it changes.
class Pointed {
public:
  explicit Pointed(const memory::desc &desc) : object(desc, onednn::engine(), DNNL_MEMORY_NONE) {}
  dnnl_status_t set(void *pointer, dnnl_stream_t stream) {
    if (pointer == current)
      return dnnl_success;
    current = pointer;
    return dnnl_memory_set_data_handle_v2(object.get(), pointer, stream);
  }
  dnnl_memory_t get() const { return object.get(); }

private:
  memory object;
  void *current = nullptr;
};

/// A primitive with its scratch.
struct Prepared {
  dnnl::primitive primitive;
  memory::desc scratch;

  template <typename Description> static Prepared make(const Description &description) {
    return {dnnl::primitive(description.get()), description.scratchpad_desc()};
  }
};

/// Runs a primitive on one thread's scratch.
class Execution {
public:
  Execution(dnnl_stream_t stream, void *scratch) : stream(stream), scratch(scratch) {}

  void run(const dnnl::primitive &primitive, Pointed &scratchMemory,
           std::initializer_list<dnnl_exec_arg_t> arguments) {
    dnnl_exec_arg_t all[4];
    int count = 0;
    for (const dnnl_exec_arg_t &argument : arguments)
      all[count++] = argument;
    set(scratchMemory, scratch);
    all[count++] = {DNNL_ARG_SCRATCHPAD, scratchMemory.get()};
    if (status == dnnl_success)
      status = dnnl_primitive_execute(primitive.get(), stream, count, all);
  }
  void set(Pointed &memory, void *pointer) {
    if (status == dnnl_success)
      status = memory.set(pointer, stream);
  }

  dnnl_status_t status = dnnl_success;

private:
  dnnl_stream_t stream;
  void *scratch;
};

/// One tensor of the primitive: as the program has it, and as oneDNN wants it.
struct Layout {
  memory::desc plain, inner;
  bool same() const { return plain == inner; }
};

/// Copies between the two layouts, where they differ.
class Copy {
public:
  Copy(const memory::desc &from, const memory::desc &to)
      : Copy(from, to, Prepared::make(dnnl::reorder::primitive_desc(onednn::engine(), from, onednn::engine(), to, onednn::userScratch()))) {}

  void run(Execution &execution, void *source, void *target) {
    execution.set(from, source);
    execution.set(to, target);
    execution.run(primitive, scratch, {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}});
  }
  int64_t scratchBytes() const { return static_cast<int64_t>(bytes); }

private:
  Copy(const memory::desc &from, const memory::desc &to, const Prepared &prepared)
      : from(from), to(to), primitive(prepared.primitive), scratch(prepared.scratch), bytes(prepared.scratch.get_size()) {}

  Pointed from, to;
  dnnl::primitive primitive;
  Pointed scratch;
  size_t bytes; ///< of scratch
};

using Result = ConvolutionResult;

/// The primitive for one number of images. Descriptions are large, so it is kept only while the kernel is prepared.
struct Primitive {
  Layout data, kernel, out;
  std::optional<Prepared> prepared;
};

/// The memory objects that one part needs for one number of images: parts run at the same time, and a memory
/// object holds one pointer.
class Block {
public:
  Block(const Primitive &primitive, Result result)
      : primitive(primitive.prepared->primitive), result(result), data(primitive.data.inner), kernel(primitive.kernel.inner),
        out(primitive.out.inner), scratch(primitive.prepared->scratch), ownScratchBytes(static_cast<int64_t>(primitive.prepared->scratch.get_size())) {
    makeCopy(dataCopy, primitive.data, result == Result::Data);
    makeCopy(outCopy, primitive.out, result == Result::Out);
  }

  /// Runs the primitive on plain data and results, and a kernel in the primitive's layout.
  void run(Execution &execution, float *plainData, float *innerKernel, float *plainOut, float *dataSpace,
           float *outSpace) {
    float *innerData = dataCopy ? dataSpace : plainData, *innerOut = outCopy ? outSpace : plainOut;
    if (dataCopy && result != Result::Data)
      dataCopy->run(execution, plainData, innerData);
    if (outCopy && result != Result::Out)
      outCopy->run(execution, plainOut, innerOut);
    execution.set(data, innerData);
    execution.set(kernel, innerKernel);
    execution.set(out, innerOut);
    switch (result) {
    case Result::Out:
      execution.run(primitive, scratch,
                    {{DNNL_ARG_SRC, data.get()}, {DNNL_ARG_WEIGHTS, kernel.get()}, {DNNL_ARG_DST, out.get()}});
      break;
    case Result::Data:
      execution.run(primitive, scratch,
                    {{DNNL_ARG_DIFF_SRC, data.get()},
                     {DNNL_ARG_WEIGHTS, kernel.get()},
                     {DNNL_ARG_DIFF_DST, out.get()}});
      break;
    case Result::Kernel:
      execution.run(primitive, scratch,
                    {{DNNL_ARG_SRC, data.get()},
                     {DNNL_ARG_DIFF_WEIGHTS, kernel.get()},
                     {DNNL_ARG_DIFF_DST, out.get()}});
      break;
    }
    if (dataCopy && result == Result::Data)
      dataCopy->run(execution, innerData, plainData);
    if (outCopy && result == Result::Out)
      outCopy->run(execution, innerOut, plainOut);
  }

  int64_t scratchBytes() const {
    return std::max({ownScratchBytes, dataCopy ? dataCopy->scratchBytes() : 0, outCopy ? outCopy->scratchBytes() : 0});
  }

private:
  static void makeCopy(std::optional<Copy> &copy, const Layout &layout, bool written) {
    if (!layout.same())
      copy.emplace(written ? layout.inner : layout.plain, written ? layout.plain : layout.inner);
  }

  dnnl::primitive primitive;
  Result result;
  Pointed data, kernel, out, scratch;
  int64_t ownScratchBytes; ///< of the primitive without the copies
  std::optional<Copy> dataCopy, outCopy;
};

class Convolution : public Kernel {
public:
  Convolution(ConvolutionShape given, Result result, CpuVariant variant)
      : shape(std::move(given)), result(result), variant(variant), plan(shape, result),
        scratch(plan.scratchSlots, scratchBytes()) {
    // A line is a plane of one row: oneDNN knows planes best.
    if (shape.spatial.size() == 1) {
      for (auto *list : {&shape.spatial, &shape.window, &shape.strides, &shape.dilations, &shape.positions})
        list->insert(list->begin(), 1);
      for (auto *list : {&shape.low, &shape.high})
        list->insert(list->begin(), 0);
    }
  }

  /// Creates the primitives; throws dnnl::error. False where oneDNN has nothing but its reference loops, an error where it needs more
  /// scratch than is planned.
  Expected<bool> prepare(const char *name) {
    Primitive body, tail;
    int64_t rest = shape.batch % plan.images;
    if (plan.blocks > 1 || rest == 0)
      if (!make(body, plan.images, nullptr))
        return false;
    if (rest != 0 && !make(tail, rest, body.prepared ? &body : nullptr))
      return false;
    const Layout &kernel = body.prepared ? body.kernel : tail.kernel;
    kernelFloats = static_cast<int64_t>(kernel.inner.get_size() / sizeof(float));
    if (!kernel.same()) {
      bool written = result == Result::Kernel;
      kernelCopy.emplace(written ? kernel.inner : kernel.plain, written ? kernel.plain : kernel.inner);
    }
    for (int64_t part = 0; part < plan.parts; ++part) {
      bodies.emplace_back();
      tails.emplace_back();
      if (body.prepared)
        bodies.back().emplace(body, result);
      if (tail.prepared && part == plan.parts - 1)
        tails.back().emplace(tail, result);
    }
    int64_t most = kernelCopy ? kernelCopy->scratchBytes() : 0;
    for (const std::optional<Block> *block : {&bodies.back(), &tails.back()})
      most = std::max(most, *block ? (*block)->scratchBytes() : 0);
    ZERO_RETURN_IF_ERROR(onednn::checkScratch(name, most, scratchBytes()));
    return true;
  }

  /// Whether oneDNN unfolds each channel by itself, which is slow.
  bool unfoldsDepthwise() const { return isGemm && shape.isDepthwise(); }

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *space = static_cast<float *>(pointers[3]);
    std::atomic<int> failed = 0;
    auto finish = [&](const Execution &execution) {
      if (execution.status != dnnl_success)
        failed.store(execution.status, std::memory_order_relaxed);
    };
    if (result == Result::Kernel)
      runForKernel(static_cast<float *>(pointers[0]), static_cast<float *>(pointers[1]),
                   static_cast<float *>(pointers[2]), space, parallel, finish);
    else
      runForImages(pointers, space, parallel, finish);
    if (int status = failed.load())
      return Status::programFailed("convolution: oneDNN failed with status " + std::to_string(status));
    return {};
  }

private:
  /// Who chooses the layout of a tensor: the program, channels in whole vectors, or oneDNN.
  enum class Choice { Plain, Blocked, Any };

  memory::format_tag getTag(Choice choice) const {
    if (choice == Choice::Any)
      return memory::format_tag::any;
    bool wide = variant == CpuVariant::X86_64_V4, volume = shape.spatial.size() == 3;
    if (volume)
      return wide ? memory::format_tag::nCdhw16c : memory::format_tag::nCdhw8c;
    return wide ? memory::format_tag::nChw16c : memory::format_tag::nChw8c;
  }

  Layout layout(const memory::dims &dims, Choice choice) const {
    memory::dims strides(dims.size());
    int64_t next = 1;
    for (size_t i = dims.size(); i-- > 0; next *= dims[i])
      strides[i] = next;
    memory::desc plain(dims, memory::data_type::f32, strides);
    return {plain, choice == Choice::Plain ? plain : memory::desc(dims, memory::data_type::f32, getTag(choice))};
  }

  /// Layouts of data and results, the fastest first (measured). A window of one element is a product of
  /// matrices as the data lie; few channels would be padded to a vector of them.
  std::vector<std::pair<Choice, Choice>> choices() const {
    using enum Choice;
    int64_t depth = shape.channels / shape.groups;
    auto all = [](const std::vector<int64_t> &list, int64_t value) {
      return std::all_of(list.begin(), list.end(), [value](int64_t entry) { return entry == value; });
    };
    bool isProduct = shape.groups == 1 && all(shape.window, 1) && all(shape.strides, 1) && all(shape.low, 0) &&
                     all(shape.high, 0);
    std::vector<std::pair<Choice, Choice>> list;
    if (result != Result::Kernel && isProduct)
      list.push_back({Plain, Plain});
    if (result == Result::Out) {
      list.push_back({Plain, Blocked}); // for at most a few channels
      list.push_back({Blocked, Blocked});
    } else if (result == Result::Data && shape.groups == 1 && depth < 4) {
      list.push_back({Plain, Plain});
    }
    list.push_back({Any, Any});
    list.push_back({Plain, Plain});
    return list;
  }

  /// The primitive for `images`, whose kernel has the layout of `like`'s.
  bool make(Primitive &primitive, int64_t images, const Primitive *like) {
    auto dims = [](std::initializer_list<int64_t> leading, const std::vector<int64_t> &sizes) {
      memory::dims dims(leading);
      dims.insert(dims.end(), sizes.begin(), sizes.end());
      return dims;
    };
    int64_t depth = shape.channels / shape.groups, filters = shape.filters / shape.groups;
    std::vector<std::pair<Choice, Choice>> list = choices();
    if (like) // the other images as these: their bits must not depend on where they stand
      list = {chosen};
    for (auto [data, out] : list) {
      primitive.data = layout(dims({images, shape.channels}, shape.spatial), data);
      primitive.out = layout(dims({images, shape.filters}, shape.positions), out);
      primitive.kernel = layout(shape.groups > 1 ? dims({shape.groups, filters, depth}, shape.window)
                                                 : dims({filters, depth}, shape.window),
                                Choice::Any);
      if (like)
        primitive.kernel.inner = like->kernel.inner;
      chosen = {data, out};
      try {
        if (describe(primitive) && fits(primitive, images))
          return true;
      } catch (const dnnl::error &error) {
        if (error.status != dnnl_unimplemented)
          throw;
      }
    }
    return false;
  }

  bool fits(const Primitive &primitive, int64_t images) const {
    auto holds = [](const Layout &layout, int64_t floats) {
      return layout.same() || layout.inner.get_size() <= floats * sizeof(float);
    };
    return holds(primitive.data, plan.dataFloats / plan.images * images) &&
           holds(primitive.out, plan.outFloats / plan.images * images) &&
           primitive.kernel.inner.get_size() <= plan.kernelFloats * sizeof(float);
  }
  int64_t scratchBytes() const { return plan.scratchFloats * static_cast<int64_t>(sizeof(float)); }

  /// Chooses the implementation and with it the inner layouts; false for oneDNN's reference.
  bool describe(Primitive &primitive) {
    memory::dims strides(shape.strides), low(shape.low), high(shape.high), dilations;
    for (int64_t dilation : shape.dilations)
      dilations.push_back(dilation - 1);
    auto algorithm = dnnl::algorithm::convolution_direct;
    const memory::desc &data = primitive.data.inner, &kernel = primitive.kernel.inner,
                       &out = primitive.out.inner;
    dnnl::convolution_forward::primitive_desc forward(
        {result == Result::Out ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training,
         algorithm, data, kernel, out, strides, dilations, low, high},
        onednn::userScratch(), onednn::engine());
    auto take = [&](const auto &description, const memory::desc &data, const memory::desc &kernel,
                    const memory::desc &out) {
      isGemm = std::strstr(description.impl_info_str(), "gemm");
      // Unfolding windows is the last resort where layouts are ours to choose.
      bool isLast = chosen == std::pair(Choice::Plain, Choice::Plain);
      if (std::strstr(description.impl_info_str(), "ref") || (isGemm && !isLast))
        return false;
      primitive.data.inner = data;
      primitive.kernel.inner = kernel;
      primitive.out.inner = out;
      primitive.prepared = Prepared::make(description);
      return true;
    };
    switch (result) {
    case Result::Out:
      return take(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc());
    case Result::Data: {
      dnnl::convolution_backward_data::primitive_desc backward(
          {algorithm, data, kernel, out, strides, dilations, low, high}, onednn::userScratch(), onednn::engine(),
          forward);
      return take(backward, backward.diff_src_desc(), backward.weights_desc(), backward.diff_dst_desc());
    }
    case Result::Kernel: {
      dnnl::convolution_backward_weights::primitive_desc backward(
          {algorithm, data, kernel, out, strides, dilations, low, high}, onednn::userScratch(), onednn::engine(),
          forward);
      return take(backward, backward.src_desc(), backward.diff_weights_desc(), backward.diff_dst_desc());
    }
    }
    return false;
  }

  /// Calls run(block, plain data, plain results, their copies, number of the block within its part).
  template <typename Run> void forEachBlock(int64_t part, float *data, float *out, float *space, Run run) {
    int64_t imageData = shape.dataElements() / shape.batch, imageOut = shape.outElements() / shape.batch;
    float *dataSpace =
        space + plan.kernelCopies * plan.kernelFloats + part * (plan.dataFloats + plan.outFloats);
    int64_t begin = plan.blocks * part / plan.parts, end = plan.blocks * (part + 1) / plan.parts;
    for (int64_t i = begin; i < end; ++i) {
      bool whole = (i + 1) * plan.images <= shape.batch;
      Block &block = whole ? *bodies[part] : *tails[part];
      run(block, data + i * plan.images * imageData, out + i * plan.images * imageOut, dataSpace,
          dataSpace + plan.dataFloats, i - begin);
    }
  }

  template <typename Finish>
  void runForImages(void *const *pointers, float *space, ParallelFor &parallel, Finish finish) {
    auto *given = static_cast<float *>(pointers[0]), *kernel = static_cast<float *>(pointers[1]),
         *made = static_cast<float *>(pointers[2]);
    float *data = result == Result::Data ? made : given, *out = result == Result::Data ? given : made;
    if (kernelCopy) {
      WorkspaceParts::Loan slot(scratch, space + plan.scratchOffset());
      Execution execution(onednn::threadStream(), slot.data());
      kernelCopy->run(execution, kernel, space);
      finish(execution);
      kernel = space;
    }
    parallelFor(parallel, plan.parts, [&](int64_t begin, int64_t end) {
      WorkspaceParts::Loan slot(scratch, space + plan.scratchOffset());
      Execution execution(onednn::threadStream(), slot.data());
      for (int64_t part = begin; part < end; ++part)
        forEachBlock(part, data, out, space,
                     [&](Block &block, float *blockData, float *blockOut, float *dataSpace, float *outSpace,
                         int64_t) { block.run(execution, blockData, kernel, blockOut, dataSpace, outSpace); });
      finish(execution);
    });
  }

  template <typename Finish>
  void runForKernel(float *data, float *out, float *kernel, float *space, ParallelFor &parallel,
                    Finish finish) {
    auto add = [floats = kernelFloats](float *sum, const float *addend) {
      for (int64_t i = 0; i < floats; ++i)
        sum[i] += addend[i];
    };
    // The sum of part 0 is the result's own memory where it has the same layout.
    auto sumOf = [&](int64_t part) {
      return part == 0 && !kernelCopy ? kernel : space + 2 * part * plan.kernelFloats;
    };
    parallelFor(parallel, plan.parts, [&](int64_t begin, int64_t end) {
      WorkspaceParts::Loan slot(scratch, space + plan.scratchOffset());
      Execution execution(onednn::threadStream(), slot.data());
      for (int64_t part = begin; part < end; ++part)
        forEachBlock(part, data, out, space,
                     [&](Block &block, float *blockData, float *blockOut, float *dataSpace, float *outSpace,
                         int64_t number) {
                       float *sum = sumOf(part), *addend = space + (2 * part + 1) * plan.kernelFloats;
                       block.run(execution, blockData, number == 0 ? sum : addend, blockOut, dataSpace,
                                 outSpace);
                       if (number != 0)
                         add(sum, addend);
                     });
      finish(execution);
    });
    for (int64_t part = 1; part < plan.parts; ++part)
      add(sumOf(0), sumOf(part));
    if (kernelCopy) {
      WorkspaceParts::Loan slot(scratch, space + plan.scratchOffset());
      Execution execution(onednn::threadStream(), slot.data());
      kernelCopy->run(execution, sumOf(0), kernel);
      finish(execution);
    }
  }

  ConvolutionShape shape;
  Result result;
  CpuVariant variant;
  ConvolutionPlan plan;
  WorkspaceParts scratch;
  std::pair<Choice, Choice> chosen;
  bool isGemm = false;
  int64_t kernelFloats = 0; // of the kernel in the primitives' layout
  std::optional<Copy> kernelCopy;
  std::vector<std::optional<Block>> bodies, tails; // one for each part
};

/// The gradient of a depthwise kernel in our own loops, for windows that oneDNN has no kernel for.
class DepthwiseGradient : public Kernel {
public:
  DepthwiseGradient(const ConvolutionShape &shape, CpuVariant variant)
      : range(variant == CpuVariant::X86_64_V4 ? depthwiseV4 : depthwiseV3),
        partFloats(shape.depthwiseFloats()) {
    size_t rank = shape.spatial.size();
    auto get = [rank](const std::vector<int64_t> &list, size_t i, int64_t otherwise) {
      return i + rank < 2 ? otherwise : list[i + rank - 2];
    };
    x = {};
    x.batch = shape.batch;
    x.channels = shape.channels;
    for (size_t i = 0; i < 2; ++i) {
      x.spatial[i] = get(shape.spatial, i, 1);
      x.window[i] = get(shape.window, i, 1);
      x.low[i] = get(shape.low, i, 0);
      x.dilations[i] = get(shape.dilations, i, 1);
      x.positions[i] = get(shape.positions, i, 1);
    }
    x.strideY = get(shape.strides, 0, 1);
    x.dataRow = shape.paddedDataRow();
    x.outRow = shape.paddedOutRow();
  }
  static bool takes(const ConvolutionShape &shape) {
    return shape.isDepthwise() && shape.spatial.size() <= 2 && shape.strides.back() == 1;
  }

  Status run(void *const *pointers, ParallelFor &parallel) override {
    DepthwiseArguments arguments = x;
    arguments.data = static_cast<const float *>(pointers[0]);
    arguments.out = static_cast<const float *>(pointers[1]);
    arguments.kernel = static_cast<float *>(pointers[2]);
    auto *space = static_cast<float *>(pointers[3]);
    int64_t parts = std::min(ConvolutionPlan::kParts, x.channels);
    parallelFor(parallel, parts, [&](int64_t begin, int64_t end) {
      range(arguments, x.channels * begin / parts, x.channels * end / parts, space + begin * partFloats);
    });
    return {};
  }

private:
  DepthwiseArguments x;
  DepthwiseRange *range;
  int64_t partFloats;
};

/// A sum of no products.
class Zeros : public Kernel {
public:
  explicit Zeros(int64_t bytes) : bytes(bytes) {}
  Status run(void *const *pointers, ParallelFor &) override {
    std::memset(pointers[2], 0, bytes);
    return {};
  }

private:
  int64_t bytes;
};

Expected<std::unique_ptr<Kernel>> make(const char *name, Result result, ConvolutionLoops loops,
                                       std::span<const int64_t> integers, const KernelOptions &options) {
  Parameters parameters(name, integers);
  int64_t element = parameters.next();
  if (element < static_cast<int64_t>(Element::F32) || element > static_cast<int64_t>(Element::BF16))
    parameters.fail("element type " + std::string(elementName(element)) + " is not supported, must be a float");
  for (const char *what : {"batch", "channels", "filters"})
    parameters.size(what);
  int64_t groups = parameters.next(), rank = parameters.next();
  if (groups < 1)
    parameters.fail("groups is " + std::to_string(groups) + ", must be at least 1");
  if (rank < 1 || rank > 3)
    parameters.fail("rank is " + std::to_string(rank) + ", outside [1, 3]");
  const char *lists[] = {"spatial size", "window", "stride", "low", "high", "dilation"};
  for (int list = 0; list < 6; ++list)
    for (int64_t i = 0; i < rank && i < 3; ++i) {
      int64_t value = parameters.size(lists[list]);
      if (value < 1 && (list == 1 || list == 2 || list == 5))
        parameters.fail(std::string(lists[list]) + " is " + std::to_string(value) + ", must be at least 1");
    }
  ZERO_RETURN_IF_ERROR(parameters.finish());
  ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
  if (shape.channels % groups || shape.filters % groups)
    return Status::badInput("kernel '" + std::string(name) + "': " + std::to_string(shape.channels) +
                            " channels and " + std::to_string(shape.filters) + " filters do not divide into " +
                            std::to_string(groups) + " groups");
  int64_t data = shape.dataElements(), kernel = shape.kernelElements(), out = shape.outElements();
  if (data == 0 || kernel == 0 || out == 0) {
    int64_t count = result == Result::Out ? out : result == Result::Data ? data : kernel;
    return std::unique_ptr<Kernel>(std::make_unique<Zeros>(count * elementBytes(element)));
  }
  if (element == static_cast<int64_t>(Element::F32)) {
    ZERO_RETURN_IF_ERROR(onednn::limitInstructionSet(options));
    try {
      onednn::threadStream(); // oneDNN on one thread, before it looks at the number of threads
      auto convolution = std::make_unique<Convolution>(shape, result, options.variant);
      ZERO_ASSIGN_OR_RETURN(bool prepared, convolution->prepare(name));
      if (result == Result::Kernel && DepthwiseGradient::takes(shape) &&
          (!prepared || convolution->unfoldsDepthwise()))
        return std::unique_ptr<Kernel>(std::make_unique<DepthwiseGradient>(shape, options.variant));
      if (prepared)
        return std::unique_ptr<Kernel>(std::move(convolution));
    } catch (const dnnl::error &error) {
      // Paddings wider than the window and the like: our own loops take them all.
      if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments)
        return Status::badInput("kernel '" + std::string(name) + "': oneDNN: " + error.what());
    }
  }
  return loops(shape);
}

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeConv(std::span<const int64_t> integers, std::span<const double>,
                                                    const KernelOptions &options) {
  return make("conv", Result::Out, convolutionLoops, integers, options);
}

Expected<std::unique_ptr<Kernel>> kernels::makeConvTranspose(std::span<const int64_t> integers,
                                                             std::span<const double>,
                                                             const KernelOptions &options) {
  return make("conv_transpose", Result::Data, convolutionTransposeLoops, integers, options);
}

Expected<std::unique_ptr<Kernel>> kernels::makeConvWeightGrad(std::span<const int64_t> integers,
                                                              std::span<const double>,
                                                              const KernelOptions &options) {
  return make("conv_weight_grad", Result::Kernel, convolutionKernelLoops, integers, options);
}

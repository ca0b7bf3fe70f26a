//===- IndexLaunches.cpp - gather, the scatters, top_k and cumsum ---------===//
#include "lib/Runtime/Kernels/CUDA/LaunchText.h"
#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Indices.h"
#include <algorithm>

using namespace zero;
using namespace zero::kernels;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

bool isFloat(int64_t element) { return element >= 0 && element <= static_cast<int64_t>(Element::BF16); }

void checkElement(Parameters &parameters, int64_t element) {
  if (!elementBytes(element))
    parameters.fail("element type " + number(element) + " is not supported");
}

const char *indexType(const IndexReader &indices) { return cudaType(static_cast<int64_t>(indices.element)); }

/// Whether sums of that type may be made by atomics: floats of 16 bits would be rounded by each.
bool addsAtomically(int64_t element, const CudaOptions &options) {
  return options.fast && (element == static_cast<int64_t>(Element::F32) || element == static_cast<int64_t>(Element::F64));
}

/// What is added to, then the additions in any order. `fromZero`: scatter_add, which has no data.
Launches scatterAtomically(int64_t element, const IndexedAxis &axis, bool fromZero) {
  const char *name = fromZero ? "scatter_add" : "scatter";
  const auto &[indices, outer, inner] = axis;
  const uint32_t out = fromZero ? 2 : 3;
  std::string type = cudaType(element), elements = number(outer * indices.axisSize * inner) + "ull";
  LaunchText start{name, {"Copy.cuh"}};
  start.blocks = loopBlocks(static_cast<uint64_t>(outer * indices.axisSize * inner));
  if (fromZero) {
    start.pointers = {{type, out}};
    start.body = "zero::fillElements<" + type + ", " + elements + ">(p0, " + type + "(0));";
  } else {
    start.pointers = {{"const " + type, 0}, {type, out}};
    start.body = "zero::copyItems<" + type + ", u64, " + elements + ", zero::Dimension<" + number(outer * indices.axisSize * inner) + ", 1, 1>>(p0, p1);";
  }
  LaunchText add{name, {"Status.cuh", "ScatterAtomic.cuh"}, {{"const " + type, out - 2}, {std::string("const ") + indexType(indices), out - 1}, {type, out}}};
  add.hasStatus = true;
  add.blocks = loopBlocks(static_cast<uint64_t>(outer * indices.count * inner));
  add.body = "zero::addAtomically<" + type + ", " + indexType(indices) + ", " + (fromZero ? "2" : "3") + ", " + number(outer) + ", " + number(indices.axisSize) + ", " +
             number(inner) + ", " + number(indices.count) + ">(p0, p1, p2, status, command);";
  std::vector<CudaLaunch> launches = {start.finish()};
  if (indices.count)
    launches.push_back(add.finish());
  return launches;
}

/// `fromZero`: scatter_add, which has no data.
Launches scatter(Parameters &parameters, bool fromZero, const CudaOptions &options) {
  int64_t kind = fromZero ? 1 : parameters.next(), element = parameters.next();
  const IndexedAxis axis = IndexedAxis::read(parameters);
  const auto &[indices, outer, inner] = axis;
  if (kind < 0 || kind > 4)
    parameters.fail("kind is " + number(kind) + ", outside [0, 5)");
  checkElement(parameters, element);
  if (element == static_cast<int64_t>(Element::I1) && kind != 0)
    parameters.fail("element type i1 is not supported");
  ZERO_RETURN_IF_ERROR(parameters.finish());
  if (outer == 0 || inner == 0 || indices.axisSize == 0)
    return std::vector<CudaLaunch>();
  if (kind == 1 && addsAtomically(element, options))
    return scatterAtomically(element, axis, fromZero);
  constexpr const char *kinds[] = {"Assign", "Add", "Multiply", "Maximum", "Minimum"};
  bool isNarrow = elementBytes(element) == 2 && isFloat(element);
  std::string type = cudaType(element), sum = fromZero && isNarrow ? "float" : type;
  // 32 KiB of columns in a block, fewer where there would be too few blocks to fill a device.
  constexpr int64_t kSumBytes = 32768, kBlocks = 528;
  int64_t columns = std::min<int64_t>(inner, 256), columnTiles = (inner + columns - 1) / columns;
  int64_t most = kSumBytes / (sum == "float" ? 4 : elementBytes(element)) / columns;
  int64_t rows = std::clamp<int64_t>((indices.axisSize * columnTiles * outer + kBlocks - 1) / kBlocks, 1, most);
  rows = std::min(rows, indices.axisSize);
  LaunchText text{fromZero ? "scatter_add" : "scatter", {"Status.cuh", "Scatter.cuh"}};
  if (!fromZero)
    text.pointers.push_back({"const " + type, 0});
  uint32_t first = fromZero ? 0 : 1;
  text.pointers.push_back({"const " + type, first});
  text.pointers.push_back({std::string("const ") + indexType(indices), first + 1});
  text.pointers.push_back({type, first + 2});
  text.hasStatus = true;
  text.blocks = static_cast<uint64_t>((indices.axisSize + rows - 1) / rows * columnTiles * outer);
  text.body = "zero::scatterTile<" + type + ", " + sum + ", " + indexType(indices) + ", zero::Combine::" + kinds[kind] + ", " +
              (fromZero ? "true" : "false") + ", " + number(outer) + ", " + number(indices.axisSize) + ", " + number(inner) + ", " +
              number(indices.count) + ", " + number(rows) + ", " + number(columns) + ">(" +
              (fromZero ? "nullptr, p0, p1, p2" : "p0, p1, p2, p3") + ", status, command);";
  return std::vector<CudaLaunch>{text.finish()};
}

} // namespace

Launches kernels::planGather(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  int64_t bytes = parameters.size("element_bytes");
  auto [indices, outer, inner] = IndexedAxis::read(parameters);
  ZERO_RETURN_IF_ERROR(parameters.finish());
  int64_t rowBytes = bytes * inner;
  if (outer == 0 || indices.count == 0 || rowBytes == 0)
    return std::vector<CudaLaunch>();
  int64_t single = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1, wide = 16;
  while (rowBytes % wide)
    wide /= 2;
  auto call = [&](int64_t unit) {
    return std::string("zero::gatherRows<") + cudaUnit(unit) + ", " + indexType(indices) + ", " + number(outer) + ", " +
           number(indices.axisSize) + ", " + number(rowBytes / unit) + ", " + number(indices.count) + ">(p0, p1, p2, status, command);";
  };
  LaunchText text{"gather",
                  {"Status.cuh", "Copy.cuh", "Gather.cuh"},
                  {{"const void", 0}, {std::string("const ") + indexType(indices), 1}, {"void", 2}}};
  text.hasStatus = true;
  text.blocks = loopBlocks(static_cast<uint64_t>(outer * indices.count * (rowBytes / wide)));
  std::string unit = cudaUnit(wide);
  if (wide > single)
    text.body = "if (zero::isAligned<" + unit + ">(p0) && zero::isAligned<" + unit + ">(p2)) " + call(wide) + " else ";
  text.body += call(single);
  return std::vector<CudaLaunch>{text.finish()};
}

Launches kernels::planScatterAdd(Parameters &parameters, std::span<const double>, const CudaOptions &options) {
  return scatter(parameters, true, options);
}
Launches kernels::planScatter(Parameters &parameters, std::span<const double>, const CudaOptions &options) {
  return scatter(parameters, false, options);
}

Launches kernels::planTopK(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  int64_t element = parameters.next(), outer = parameters.size("outer"), axisSize = parameters.size("axis_size"),
          inner = parameters.size("inner"), k = parameters.size("k");
  bool smallest = parameters.next() != 0;
  if (k > axisSize)
    parameters.fail("k is " + number(k) + " and axis_size only " + number(axisSize));
  checkElement(parameters, element);
  ZERO_RETURN_IF_ERROR(parameters.finish());
  if (outer == 0 || inner == 0 || k == 0)
    return std::vector<CudaLaunch>();
  std::string type = cudaType(element);
  LaunchText text{"top_k", {"TopK.cuh"}, {{"const " + type, 0}, {"i64", 1}}};
  // A round reads a line once; ranks read it once for each of 256 elements.
  bool byRank = k > 16;
  text.blocks = static_cast<uint64_t>(outer * inner * (byRank ? (axisSize + 255) / 256 : 1));
  text.body = std::string("zero::") + (byRank ? "rankElements<" : "takeBest<") + type + ", " + number(outer) + ", " + number(axisSize) +
              ", " + number(inner) + ", " + number(k) + ", " + (smallest ? "true" : "false") + ">(p0, p1);";
  return std::vector<CudaLaunch>{text.finish()};
}

Launches kernels::planCumSum(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  int64_t element = parameters.next(), outer = parameters.size("outer"), axisSize = parameters.size("axis_size"),
          inner = parameters.size("inner");
  bool exclusive = parameters.next() != 0, reverse = parameters.next() != 0;
  checkElement(parameters, element);
  if (element == static_cast<int64_t>(Element::I1))
    parameters.fail("element type i1 is not supported");
  ZERO_RETURN_IF_ERROR(parameters.finish());
  if (outer == 0 || axisSize == 0 || inner == 0)
    return std::vector<CudaLaunch>();
  std::string type = cudaType(element);
  LaunchText text{"cumsum", {"CumSum.cuh"}, {{"const " + type, 0}, {type, 1}}};
  int64_t columns = outer * inner;
  bool byBlocks = axisSize >= 512 && columns < 8192;
  text.threads = byBlocks ? 256 : 64;
  text.blocks = static_cast<uint64_t>(byBlocks ? columns : (columns + 63) / 64);
  text.body = std::string("zero::") + (byBlocks ? "scanColumn<" : "sumColumns<") + type + ", " + (isFloat(element) ? "double" : "u64") +
              ", " + number(outer) + ", " + number(axisSize) + ", " + number(inner) + ", " + (exclusive ? "true" : "false") + ", " +
              (reverse ? "true" : "false") + ">(p0, p1);";
  return std::vector<CudaLaunch>{text.finish()};
}

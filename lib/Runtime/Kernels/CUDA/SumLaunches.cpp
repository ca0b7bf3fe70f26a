//===- SumLaunches.cpp - sum_squares and norm -----------------------------===//
#include "lib/Runtime/Kernels/CUDA/LaunchText.h"
#include "lib/Runtime/Kernels/Element.h"
#include "zero/Runtime/Kernels/ExactSum.h"
#include <algorithm>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Operands of one launch: their pointers are its parameters.
constexpr size_t kOperands = 32;
/// Cells that a block takes at a time, and most blocks: each adds its limbs to the sum once.
constexpr int64_t kBlockCells = 32;
constexpr uint64_t kMostBlocks = 1024;

} // namespace

Launches kernels::planSumSquares(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  int64_t element = parameters.next();
  std::vector<int64_t> counts;
  while (parameters.remaining())
    counts.push_back(parameters.size("element count"));
  if (element < 0 || element > static_cast<int64_t>(Element::BF16))
    parameters.fail("element type " + (elementBytes(element) ? elementName(element) : std::to_string(element)) +
                    " is not supported, must be a float");
  ZERO_RETURN_IF_ERROR(parameters.finish());
  std::string type = cudaType(element);
  auto sum = static_cast<uint32_t>(counts.size());
  LaunchText clear{"sum_squares", {"Sums.cuh"}, {{"i64", sum}}};
  clear.threads = 32;
  LaunchText carry = clear;
  clear.body = "zero::clearSum(p0);";
  carry.body = "zero::carrySum(p0);";
  std::vector<CudaLaunch> launches = {clear.finish()};
  for (size_t begin = 0; begin < counts.size(); begin += kOperands) {
    LaunchText text{"sum_squares", {"Sums.cuh"}};
    text.body = "__shared__ i64 limbs[zero::kSumUsed * zero::kSumAdders]; zero::startSums(limbs); ";
    int64_t most = 0;
    for (size_t i = begin; i < std::min(begin + kOperands, counts.size()); ++i) {
      if (counts[i] == 0)
        continue;
      text.body += "zero::addSquares<" + type + ", " + std::to_string(counts[i]) + "ull>(p" + std::to_string(text.pointers.size()) + ", limbs); ";
      text.pointers.push_back({"const " + type, static_cast<uint32_t>(i)});
      most = std::max(most, counts[i]);
    }
    if (most == 0)
      continue;
    text.body += "zero::finishSums(limbs, p" + std::to_string(text.pointers.size()) + ");";
    text.pointers.push_back({"i64", sum});
    int64_t cells = (most + kExactSumCell - 1) / kExactSumCell;
    text.blocks = std::clamp<uint64_t>(static_cast<uint64_t>((cells + kBlockCells - 1) / kBlockCells), 1, kMostBlocks);
    launches.push_back(text.finish());
  }
  launches.push_back(carry.finish());
  return launches;
}

Launches kernels::planNorm(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  ZERO_RETURN_IF_ERROR(parameters.finish());
  LaunchText text{"norm", {"Sums.cuh"}, {{"const i64", 0}, {"float", 1}}};
  text.threads = 32;
  text.body = "if (threadIdx.x == 0) *p1 = zero::squareRootOfSum(p0);";
  return std::vector<CudaLaunch>{text.finish()};
}

//===- MatmulPacked.cpp - Products of f32 matrices by packed blocks -------===//
#include "lib/Runtime/Kernels/MatmulPacked.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/WorkspaceParts.h"
#include "zero/Runtime/Kernels/MatmulSizes.h"
#include <algorithm>

using namespace zero;
using namespace zero::kernels;

namespace {

class PackedMatmul : public Kernel {
public:
  explicit PackedMatmul(const MatmulShape &shape)
      : shape(shape), plan(shape, MatmulMethod::Packed, sizeof(float)), parts(plan.parts, plan.partBytes) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *lhs = static_cast<const float *>(pointers[0]), *rhs = static_cast<const float *>(pointers[1]);
    auto *out = static_cast<float *>(pointers[2]);
    void *workspace = plan.partBytes ? pointers[3] : nullptr;
    parallelFor(parallel, plan.blocks, [&](int64_t begin, int64_t end) {
      WorkspaceParts::Loan loan(parts, workspace);
      for (int64_t item = begin; item < end; ++item)
        block(item, lhs, rhs, out, reinterpret_cast<float *>(loan.data()));
    });
    return {};
  }

private:
  void block(int64_t item, const float *lhs, const float *rhs, float *out, float *space) const {
    const int64_t down = plan.blocksDown(), across = plan.blocksAcross();
    int64_t row = item % down * plan.blockRows, column = item / down % across * plan.blockColumns, b = item / down / across;
    lhs += b * shape.lhsBatchStride + row * (shape.transposeLhs ? 1 : shape.lhsLd);
    rhs += b * shape.rhsBatchStride + column * (shape.transposeRhs ? shape.rhsLd : 1);
    out += b * shape.outBatchStride + row * shape.outLd + column;
    multiplyPackedV3(shape, lhs, rhs, out, std::min(plan.blockRows, shape.m - row), std::min(plan.blockColumns, shape.n - column), space);
  }

  MatmulShape shape;
  MatmulPlan plan;
  WorkspaceParts parts;
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makePackedMatmul(const MatmulShape &shape) {
  return std::unique_ptr<Kernel>(std::make_unique<PackedMatmul>(shape));
}

//===- OneDnnProduct.h - A matrix product of oneDNN, ready to run ---------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_ONEDNNPRODUCT_H
#define ZERO_LIB_RUNTIME_KERNELS_ONEDNNPRODUCT_H

#include "lib/Runtime/Kernels/OneDnn.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/WorkspaceParts.h"
#include <atomic>
#include <string>

namespace zero::kernels::onednn {

/// A product of matrices that lie in a certain way. Its scratch is memory that the caller gives.
struct Product {
  using Desc = dnnl::memory::desc;
  Desc lhs, rhs, out, scratch;
  dnnl::matmul primitive;

  int64_t scratchBytes() const { return static_cast<int64_t>(scratch.get_size()); }
  /// Throws dnnl::error.
  static Product make(const Desc &lhs, const Desc &rhs, const Desc &out) {
    dnnl::matmul::primitive_desc description({lhs, rhs, out}, userScratch(), engine());
    return {lhs, rhs, out, description.scratchpad_desc(), dnnl::matmul(description)};
  }
};

/// The memory objects of a product for one thread at a time: each holds one pointer.
class BoundProduct {
public:
  explicit BoundProduct(const Product &product)
      : product(&product), lhs(bind(product.lhs)), rhs(bind(product.rhs)), out(bind(product.out)), scratch(bind(product.scratch)) {}

  dnnl_status_t run(void *lhsData, void *rhsData, void *outData, void *scratchData) const {
    dnnl_stream_t stream = threadStream();
    for (auto [memory, data] : {std::pair{&lhs, lhsData}, {&rhs, rhsData}, {&out, outData}, {&scratch, scratchData}})
      if (dnnl_status_t status = dnnl_memory_set_data_handle_v2(memory->get(), data, stream))
        return status;
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, lhs.get()}, {DNNL_ARG_WEIGHTS, rhs.get()}, {DNNL_ARG_DST, out.get()}, {DNNL_ARG_SCRATCHPAD, scratch.get()}};
    return dnnl_primitive_execute(product->primitive.get(), stream, std::size(arguments), arguments);
  }

private:
  static dnnl::memory bind(const dnnl::memory::desc &desc) { return {desc, engine(), DNNL_MEMORY_NONE}; }

  const Product *product;
  dnnl::memory lhs, rhs, out, scratch;
};

/// Calls `run(item, loan)` for all items, each with a part of the workspace that no other thread has; it returns oneDNN's status.
template <typename Run>
Status runItems(ParallelFor &parallel, int64_t items, WorkspaceParts &parts, void *workspace, Run run) {
  std::atomic<int> failed = 0;
  parallelFor(parallel, items, [&](int64_t begin, int64_t end) {
    WorkspaceParts::Loan loan(parts, workspace);
    for (int64_t item = begin; item < end; ++item)
      if (dnnl_status_t status = run(item, loan))
        failed.store(status, std::memory_order_relaxed);
  });
  if (int status = failed.load())
    return Status::programFailed("matmul: oneDNN failed with status " + std::to_string(status));
  return {};
}

} // namespace zero::kernels::onednn

#endif

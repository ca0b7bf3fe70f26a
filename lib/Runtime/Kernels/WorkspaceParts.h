//===- WorkspaceParts.h - Threads share the workspace of a kernel ---------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_WORKSPACEPARTS_H
#define ZERO_LIB_RUNTIME_KERNELS_WORKSPACEPARTS_H

#include <atomic>
#include <bit>
#include <cstdint>

namespace zero::kernels {

/// A workspace of equal parts. A thread that runs some of the kernel's items borrows one; where all are lent, it waits for one.
class WorkspaceParts {
public:
  /// At most 64 parts.
  WorkspaceParts(int64_t parts, int64_t partBytes) : free(parts < 64 ? (uint64_t{1} << parts) - 1 : ~uint64_t{0}), partBytes(partBytes) {}

  /// A part, as long as this lives.
  class Loan {
  public:
    Loan(WorkspaceParts &lender, void *workspace)
        : lender(lender), part(lender.take()), begin(static_cast<char *>(workspace) + part * lender.partBytes) {}
    ~Loan() { lender.giveBack(part); }
    Loan(const Loan &) = delete;
    Loan &operator=(const Loan &) = delete;
    int64_t index() const { return part; }
    char *data() const { return begin; }

  private:
    WorkspaceParts &lender;
    int64_t part;
    char *begin;
  };

private:
  int64_t take() {
    for (uint64_t seen = free.load(std::memory_order_relaxed);;)
      if (seen == 0) {
        free.wait(0, std::memory_order_relaxed);
        seen = free.load(std::memory_order_relaxed);
      } else if (free.compare_exchange_weak(seen, seen & (seen - 1), std::memory_order_acquire, std::memory_order_relaxed)) {
        return std::countr_zero(seen);
      }
  }
  void giveBack(int64_t part) {
    free.fetch_or(uint64_t{1} << part, std::memory_order_release);
    free.notify_one();
  }

  std::atomic<uint64_t> free; ///< a bit for each part
  int64_t partBytes;
};

} // namespace zero::kernels

#endif

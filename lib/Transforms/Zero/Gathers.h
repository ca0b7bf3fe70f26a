//===- Gathers.h - The gathers of a function and how long they live -------===//
#ifndef ZERO_LIB_TRANSFORMS_ZERO_GATHERS_H
#define ZERO_LIB_TRANSFORMS_ZERO_GATHERS_H

#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace zero::sharding {

struct Gather {
  AllGatherStartOp start;
  WaitOp wait; ///< null where nothing or more than one op waits
  int64_t elements = 0;
  mlir::Operation *firstUse =
      nullptr; ///< of the bucket, of a view or of a chain of it; releases and views are none
  mlir::Operation *lastUse = nullptr;
  bool returned = false;               ///< it is a state and stays: a parameter of the next step, or a gradient of this one
  llvm::SetVector<mlir::Value> chains; ///< the bucket and what is computed from gathered parameters alone

  /// "bucket @b0 of block 'h.0'"
  std::string describe() const;
};

/// In program order.
llvm::SmallVector<Gather> collectGathers(mlir::func::FuncOp function);

/// Whether it gathers the gradient that @update is given the owned range of.
bool isOfGradient(AllGatherStartOp start);

/// Whether `update` returns what is waited for as the parameter of its bucket, and does nothing else with it.
bool isNewParameter(mlir::func::FuncOp update, WaitOp wait);

/// Whether gathers at the start of `function`, @micro, may start in the @update before: there is one, and its channel is free.
bool mayStartEarly(mlir::func::FuncOp function);

/// The largest sum of elements of gathered buckets alive at once if each is gathered at its first use: the
/// smallest limit. `at` becomes the gather that brings the sum there.
int64_t getLargestNeed(llvm::ArrayRef<Gather> gathers, AllGatherStartOp *at = nullptr);

/// An error where `maxLiveElements` is below what `gathers` need at once.
mlir::LogicalResult checkLiveLimit(llvm::ArrayRef<Gather> gathers, int64_t maxLiveElements);

} // namespace zero::sharding

#endif

//===- SectionCommands.h - The commands of a section ----------------------===//
#ifndef ZERO_LIB_CONVERSION_SECTIONCOMMANDS_H
#define ZERO_LIB_CONVERSION_SECTIONCOMMANDS_H

#include "SectionPlacement.h"

namespace zero::conversion {

/// Emits section `name` of the placed function at the end of the module.
class SectionCommands {
public:
  SectionCommands(PlanBuilder &plan, SectionPlacement &placement, mlir::func::FuncOp function,
                  llvm::StringRef name);
  mlir::LogicalResult run();

private:
  // Kernels of the library (LibraryCommands.cpp).
  void emit(nn::MatmulOp op);
  void emit(nn::GroupOp op, const FusedProduct &product);
  void emit(nn::GatherOp op);
  void emit(nn::ScatterAddOp op);
  void emit(nn::ScatterOp op);
  void emit(nn::TopKOp op);
  void emit(nn::CumSumOp op);
  void emit(nn::AttentionOp op);
  void emit(nn::AttentionGradOp op);
  void emit(nn::ConvOp op);
  void emit(nn::ConvTransposeOp op);
  void emit(nn::ConvWeightGradOp op);
  void emit(nn::MaxPoolOp op);
  void emit(nn::SumPoolOp op);
  void emit(nn::SliceOp op);
  void emit(nn::TransposeOp op);
  void emit(nn::PadOp op);
  void emit(nn::ConcatOp op);
  void emit(nn::ConstantOp op);
  void emit(sharding::SumSquaresOp op);
  void emitStridedCopy(mlir::Operation *op, Shape sizes, int64_t elementBytes, const Place &source,
                       int64_t sourceOffset, Strides sourceStrides, const Place &target, int64_t targetOffset,
                       Strides targetStrides);
  void emitFill(mlir::Operation *op, mlir::RankedTensorType type, mlir::Attribute element);
  /// element, batch, m, n, k and how the matrices lie.
  llvm::SmallVector<int64_t> getProductIntegers(mlir::Value lhs, mlir::Value rhs, mlir::Value out, bool transposeLhs, bool transposeRhs) const;
  void addHeadStrides(llvm::SmallVectorImpl<int64_t> &integers, mlir::Value value) const;

  // Buckets and collectives.
  void emit(sharding::PackOp op);
  void emitAllGather(mlir::Operation *op, plan::QueueKind queue, const Place &source, const Place &target);
  void emitReduceScatter(mlir::Operation *op, const Place &source, const Place &target);
  void emit(sharding::ControlSumOp op);
  void emitCollective(mlir::Operation *op, plan::CollectiveKind kind, plan::QueueKind queue,
                      mlir::Type element, mlir::Type targetElement, const Place &source, const Place &target,
                      std::optional<Place> staging, int64_t wireBytes, llvm::StringRef label);
  void emitReturn(mlir::func::ReturnOp op);

  mlir::LogicalResult emitOp(mlir::Operation *op);
  void dispatch(mlir::Operation *op, llvm::StringRef kernel, mlir::ArrayRef<mlir::Attribute> reads,
                mlir::ArrayRef<mlir::Attribute> writes, mlir::ArrayRef<int64_t> integers = {},
                mlir::ArrayRef<double> reals = {});
  /// What the op reads, all results as writes and, where the kernel has one, its workspace.
  void dispatch(mlir::Operation *op, llvm::StringRef kernel, mlir::ArrayRef<int64_t> integers = {},
                mlir::ArrayRef<double> reals = {});
  void copy(mlir::Location loc, const Place &source, const Place &target, const llvm::Twine &reason);
  mlir::Attribute getSlice(mlir::Value value) const { return plan.getSlice(placement.getPlace(value)); }

  PlanBuilder &plan;
  SectionPlacement &placement;
  mlir::func::FuncOp function;
  std::string name;
  mlir::OpBuilder builder;
  bool missesKernel = false; ///< the library has none for a dispatch, which an error says
  int64_t commands = 0;
  llvm::SmallVector<std::pair<plan::CollectiveOp, mlir::Operation *>> collectives;
  int64_t sequences[3] = {}; // of each queue's channel
};

/// The number of the element type in the container.
int64_t getElementCode(mlir::Type type);

} // namespace zero::conversion

#endif

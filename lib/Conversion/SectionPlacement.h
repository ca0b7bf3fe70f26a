//===- SectionPlacement.h - Where each value of a section lies ------------===//
//
// Values share bytes in trees. A *root* is a value whose bytes a command writes (or a state brings along);
// views of it (slots of a bucket, this rank's range, reshapes, slices that their readers read by strides) lie
// inside. Roots are placed in three rounds:
//
//   1. arguments lie in their states;
//   2. backwards from where values have to go (states, buckets, concatenations): the producer gets that place, if
//      no value that lies there is read later and the producer can write so;
//   3. forwards: a result takes the place of an operand that dies there and may be overwritten, or fresh storage.
//
// One rule decides all of it: two roots may share bytes if the one made earlier is not read after the later
// one is written. Time is the index of the op; a collective reads and writes from its start to its wait.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CONVERSION_SECTIONPLACEMENT_H
#define ZERO_LIB_CONVERSION_SECTIONPLACEMENT_H

#include "PlanBuilder.h"
#include "zero/Analysis/FusedProduct.h"

namespace zero::conversion {

/// Which instance of a function a section is: accumulators are written in the first, added to in the next.
enum class SectionKind { Single, First, Next };

class SectionPlacement {
public:
  SectionPlacement(PlanBuilder &plan, mlir::func::FuncOp function, SectionKind kind, llvm::StringRef name);

  /// Places everything. Fails with an error where an op has no kernel.
  mlir::LogicalResult run();

  Place getPlace(mlir::Value value) const;
  /// The place's strides, or dense ones.
  Strides getStrides(mlir::Value value) const;
  /// Whether the result of the op is only another way to see its operand.
  bool isView(mlir::Operation *op) const { return views.contains(op); }
  /// The generated kernel of a group, update, accumulation or lone op.
  const GeneratedKernel &getKernel(mlir::Operation *op) const { return kernels.find(op)->second; }
  /// What the library computes of a group that holds a product; null for other ops.
  const FusedProduct *findProduct(mlir::Operation *op) const {
    auto it = products.find(op);
    return it == products.end() ? nullptr : &it->second;
  }
  /// The index of the op before which the program waits for a collective.
  int getWaitIndex(mlir::Operation *start) const { return waits.lookup(start); }
  /// The operands that the command of the op reads.
  mlir::OperandRange getReads(mlir::Operation *op) const;
  /// Where operand `index` of a pack, concat or return has to be.
  Place getDestination(mlir::Operation *op, unsigned index) const;
  /// A fresh storage of this section.
  Place makePlace(int64_t bytes, plan::ContentClass content, mlir::Operation *op,
                  llvm::StringRef suffix = "");
  /// One for a result of `op`.
  Place makePlace(mlir::OpResult result, plan::ContentClass content);

private:
  struct View {
    unsigned root = 0;
    int64_t offset = 0, bytes = 0, rankStride = 0;
    Strides strides;    // empty: dense
    bool whole = false; // all bytes of the root, in order
  };
  struct Use {
    int op, end;
  };
  struct Root {
    mlir::Value value;
    int def = -1;
    llvm::SmallVector<Use, 4> uses;
    std::optional<Place> place;
    std::optional<unsigned> partOf;
  };

  // Round 0: roots, views, uses (SectionViews.cpp).
  mlir::LogicalResult analyze();
  mlir::LogicalResult analyzeOp(mlir::Operation *op, int index);
  void addArgument(mlir::BlockArgument argument, bool overwritten);
  unsigned addRoot(mlir::Value value, int def);
  void addView(mlir::Value value, mlir::Value of, int64_t offset, int64_t bytes, int64_t rankStride = 0);
  bool tryStridedView(mlir::Operation *op, llvm::ArrayRef<int64_t> operandSteps, int64_t elementOffset);
  bool usesReadStrided(mlir::Value value, Shape shape, llvm::ArrayRef<int64_t> strides) const;
  bool readsStrided(mlir::OpOperand &use, Shape shape, llvm::ArrayRef<int64_t> strides) const;
  bool isFilledIn(nn::ConstantOp constant) const;
  void addUses(mlir::Operation *op, int index);
  mlir::RankedTensorType getFlatType(mlir::Value value) const;
  mlir::LogicalResult makeKernel(mlir::Operation *op);
  Strides getViewStrides(mlir::Value value) const;

  // Rounds 2 and 3.
  void placeBackwards();
  void placeForwards();
  bool tryPlace(mlir::Value value, const Place &place);
  bool canPlace(unsigned root, const Place &place);
  void setPlace(unsigned root, const Place &place);
  bool conflicts(const Root &a, const Root &b) const;
  bool mayOverwrite(const Root &earlier, const Root &later) const;
  bool mayOverwrite(mlir::OpOperand &operand, mlir::OpResult result, const Place &target) const;
  bool sumsInItsElement(mlir::Operation *start) const;
  bool isPartOf(const Root &part, const Root &whole) const;
  bool writesStrided(mlir::Value value, llvm::ArrayRef<int64_t> strides) const;
  bool hasOneUser(mlir::Value value, const Root &root) const;
  std::optional<Place> getPlaceIfPlaced(mlir::Value value) const;
  void placeInOperandOrFresh(mlir::OpResult result);

  PlanBuilder &plan;
  mlir::func::FuncOp function;
  SectionKind kind;
  std::string name;
  mlir::Block *block;
  llvm::DenseMap<mlir::Operation *, int> indices;
  std::vector<Root> roots;
  llvm::DenseMap<mlir::Value, View> values;
  llvm::DenseSet<mlir::Operation *> views;
  llvm::DenseMap<mlir::Operation *, int> waits;
  llvm::DenseMap<mlir::Operation *, GeneratedKernel> kernels;
  llvm::DenseMap<mlir::Operation *, FusedProduct> products;
  llvm::DenseMap<unsigned, llvm::SmallVector<unsigned>> rootsOfStorage;
};

} // namespace zero::conversion

#endif

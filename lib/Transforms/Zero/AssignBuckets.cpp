//===- AssignBuckets.cpp - zero-assign-buckets ----------------------------===//
//
//   func.func @micro(%w: tensor<8x8xf32> {parameter "h.0.w"}, %b: tensor<7xf32> {parameter "h.0.b"}) {..}
// becomes, for 2 ranks,
//   zero.mesh @dp {size = 2 : i64}
//   zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64,
//                           slots = [#zero.slot<"h.0.w", offset = 0, shape = [8, 8]>,
//                                    #zero.slot<"h.0.b", offset = 64, shape = [7]>]}
//   func.func @micro(..) {..}                                                     // as it was
// Test: test/Transforms/Zero/assign-buckets.mlir
//
//===----------------------------------------------------------------------===//
#include "StepFunctions.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Analysis/ParameterBlocks.h"
#include "zero/Transforms/Zero/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROASSIGNBUCKETS
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

RankedTensorType getType(const ParameterBlock &parameter) {
  return cast<RankedTensorType>(parameter.parameter.getType());
}

class ZeroAssignBuckets : public impl::ZeroAssignBucketsBase<ZeroAssignBuckets> {
public:
  using ZeroAssignBucketsBase::ZeroAssignBucketsBase;
  void runOnOperation() override {
    if (isForwardOnly(getOperation())) {
      if (failed(check()) || failed(getOrMakeMesh()))
        signalPassFailure();
      return;
    }
    FailureOr<func::FuncOp> micro = getStepFunction(getOperation(), "micro");
    if (failed(micro) || failed(check()))
      return signalPassFailure();
    SmallVector<ParameterBlock> parameters = findParameterBlocks(*micro);
    if (failed(checkParameters(*micro, parameters)))
      return signalPassFailure();
    FailureOr<MeshOp> mesh = getOrMakeMesh();
    if (failed(mesh))
      return signalPassFailure();
    makeBuckets(parameters, *mesh);
  }

private:
  LogicalResult check() {
    ModuleOp module = getOperation();
    if (worldSize < 1)
      return emitError(module.getLoc()) << "world-size is " << int64_t(worldSize) << ", expected at least 1";
    if (bucketElements < 1)
      return emitError(module.getLoc())
             << "bucket-elements is " << int64_t(bucketElements) << ", expected at least 1";
    if (auto buckets = module.getOps<BucketOp>(); !buckets.empty())
      return (*buckets.begin()).emitOpError("is there already; zero-assign-buckets decides the layout once");
    return success();
  }

  LogicalResult checkParameters(func::FuncOp micro, ArrayRef<ParameterBlock> parameters) {
    if (parameters.empty())
      return emitError(micro.getLoc(), "@micro has no parameter to lay out");
    llvm::StringMap<Location> names;
    for (BlockArgument argument : micro.getArguments()) {
      nn::RoleAttr role = getArgumentRole(micro, argument.getArgNumber());
      if (!role || role.getKind() != nn::RoleKind::Parameter)
        continue;
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || !type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
        return emitError(argument.getLoc())
               << "parameter '" << role.getName() << "' has type " << argument.getType()
               << ", expected a float tensor of static shape";
      auto [known, inserted] = names.try_emplace(role.getName(), argument.getLoc());
      if (!inserted) {
        InFlightDiagnostic error = emitError(argument.getLoc())
                                   << "two arguments of @micro are parameter '" << role.getName() << "'";
        error.attachNote(known->second) << "the first is here";
        return error;
      }
    }
    return success();
  }

  FailureOr<MeshOp> getOrMakeMesh() {
    ModuleOp module = getOperation();
    if (module.getOps<MeshOp>().empty()) {
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      return MeshOp::create(builder, module.getLoc(), "dp", worldSize);
    }
    FailureOr<MeshOp> mesh = getMesh(module);
    if (succeeded(mesh) && static_cast<int64_t>(mesh->getSize()) != worldSize) {
      mesh->emitOpError() << "has size " << mesh->getSize() << ", but world-size is " << int64_t(worldSize);
      return failure();
    }
    return mesh;
  }

  static Type getDataElement(const ParameterBlock &parameter) {
    auto argument = cast<BlockArgument>(parameter.parameter);
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return nn::getDataElement(function.getArgAttr(argument.getArgNumber(), nn::kDataAttrName), getType(parameter));
  }

  void makeBuckets(ArrayRef<ParameterBlock> parameters, MeshOp mesh) {
    // A block's parameters may stand apart (a module used late): its buckets are filled in order of first use
    // all the same.
    llvm::MapVector<StringRef, SmallVector<const ParameterBlock *>> blocks;
    for (const ParameterBlock &parameter : parameters)
      blocks[parameter.block].push_back(&parameter);
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(mesh);
    for (auto &[block, members] : blocks) {
      // Within a block, what differs in type, here or in the model's file, or stays whole at stage 3 cannot share a bucket.
      llvm::MapVector<std::tuple<Type, Type, int>, SmallVector<const ParameterBlock *>> kinds;
      for (const ParameterBlock *parameter : members) {
        RankedTensorType type = getType(*parameter);
        kinds[{type.getElementType(), getDataElement(*parameter), type.getNumElements() < persistenceThreshold}]
            .push_back(parameter);
      }
      for (auto &[kind, kindMembers] : kinds)
        fillBuckets(kindMembers, mesh, builder);
    }
  }

  void fillBuckets(ArrayRef<const ParameterBlock *> parameters, MeshOp mesh, OpBuilder &builder) {
    SmallVector<Attribute> slots;
    int64_t end = 0;
    const ParameterBlock *first = nullptr;
    auto close = [&]() {
      int64_t unit = kCellElements * worldSize;
      int64_t elements = std::max<int64_t>(llvm::alignTo(end, unit), unit);
      BucketOp::create(builder, first->parameter.getLoc(), "b" + std::to_string(count++), mesh.getSymName(),
                       getType(*first).getElementType(), elements, builder.getArrayAttr(slots), first->block);
      slots.clear();
    };
    for (const ParameterBlock *parameter : parameters) {
      RankedTensorType type = getType(*parameter);
      int64_t begin = llvm::alignTo(end, kCellElements), elements = type.getNumElements();
      if (!slots.empty() && begin + elements > bucketElements)
        close();
      if (slots.empty()) {
        first = parameter;
        begin = 0;
      }
      slots.push_back(SlotAttr::get(&getContext(), parameter->name, begin, type.getShape()));
      end = begin + elements;
    }
    close();
  }

  int64_t count = 0;
};

} // namespace
} // namespace zero

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
#include "zero/Transforms/Zero/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROASSIGNBUCKETS
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

struct TrainedParameter {
  StringRef name;
  BlockArgument value;
  RankedTensorType type;
  std::string block;
};

/// The name up to and including its first component that is a number ("m.h.0" of "m.h.0.attn.weight"); empty
/// without one.
StringRef getNumberedPrefix(StringRef name) {
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find_first_of("./", begin), name.size());
    StringRef component = name.slice(begin, end);
    if (!component.empty() && llvm::all_of(component, llvm::isDigit))
      return name.take_front(end);
    begin = end + 1;
  }
  return {};
}

/// The name without its last component: the module that a parameter belongs to.
StringRef getModulePath(StringRef name) {
  return name.take_front(name.find_last_of("./") == StringRef::npos ? 0 : name.find_last_of("./"));
}

class ZeroAssignBuckets : public impl::ZeroAssignBucketsBase<ZeroAssignBuckets> {
public:
  using ZeroAssignBucketsBase::ZeroAssignBucketsBase;
  void runOnOperation() override {
    SmallVector<TrainedParameter> parameters;
    if (isForwardOnly(getOperation())) {
      if (failed(check()) || failed(getOrMakeMesh()))
        signalPassFailure();
      return;
    }
    FailureOr<func::FuncOp> micro = getStepFunction(getOperation(), "micro");
    if (failed(micro) || failed(check()) || failed(collect(*micro, parameters)))
      return signalPassFailure();
    nameBlocks(parameters);
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

  /// The parameters in order of first use.
  LogicalResult collect(func::FuncOp micro, SmallVectorImpl<TrainedParameter> &parameters) {
    llvm::SmallMapVector<Value, TrainedParameter, 16> unused;
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
      unused.insert({argument, {role.getName(), argument, type, ""}});
    }
    if (unused.empty())
      return emitError(micro.getLoc(), "@micro has no parameter to lay out");
    auto take = [&](Value value) {
      auto found = unused.find(value);
      if (found == unused.end())
        return;
      parameters.push_back(found->second);
      unused.erase(found);
    };
    for (Operation &op : micro.front())
      llvm::for_each(op.getOperands(), take);
    // Nothing reads the rest; it is trained (by weight decay, say) all the same.
    for (auto &[value, parameter] : unused)
      parameters.push_back(parameter);
    return success();
  }

  void nameBlocks(MutableArrayRef<TrainedParameter> parameters) {
    bool numbered = false;
    for (TrainedParameter &parameter : parameters) {
      parameter.block = getNumberedPrefix(parameter.name).str();
      numbered |= !parameter.block.empty();
    }
    TrainedParameter *previous = nullptr;
    bool previousNumbered = false;
    for (TrainedParameter &parameter : parameters) {
      bool isNumbered = !parameter.block.empty();
      if (!isNumbered) {
        bool joins = previous && !previousNumbered;
        // Without numbers a block is a module of the model; without modules, what follows a matrix up to the
        // next one.
        if (joins && !numbered) {
          StringRef module = getModulePath(parameter.name);
          joins = module.empty() ? parameter.type.getRank() < 2 : module == getModulePath(previous->name);
        }
        parameter.block = joins ? previous->block : parameter.name.str();
      }
      previous = &parameter;
      previousNumbered = isNumbered;
    }
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

  void makeBuckets(ArrayRef<TrainedParameter> parameters, MeshOp mesh) {
    // A block's parameters may stand apart (a module used late): its buckets are filled in order of first use
    // all the same.
    llvm::MapVector<StringRef, SmallVector<const TrainedParameter *>> blocks;
    for (const TrainedParameter &parameter : parameters)
      blocks[parameter.block].push_back(&parameter);
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(mesh);
    for (auto &[block, members] : blocks) {
      // Within a block, what differs in type or stays whole at stage 3 cannot share a bucket.
      llvm::MapVector<std::pair<Type, int>, SmallVector<const TrainedParameter *>> kinds;
      for (const TrainedParameter *parameter : members)
        kinds[{parameter->type.getElementType(), parameter->type.getNumElements() < persistenceThreshold}]
            .push_back(parameter);
      for (auto &[kind, kindMembers] : kinds)
        fillBuckets(kindMembers, mesh, builder);
    }
  }

  void fillBuckets(ArrayRef<const TrainedParameter *> parameters, MeshOp mesh, OpBuilder &builder) {
    SmallVector<Attribute> slots;
    int64_t end = 0;
    const TrainedParameter *first = nullptr;
    auto close = [&]() {
      int64_t unit = kCellElements * worldSize;
      int64_t elements = std::max<int64_t>(llvm::alignTo(end, unit), unit);
      BucketOp::create(builder, first->value.getLoc(), "b" + std::to_string(count++), mesh.getSymName(),
                       first->type.getElementType(), elements, builder.getArrayAttr(slots), first->block);
      slots.clear();
    };
    for (const TrainedParameter *parameter : parameters) {
      int64_t begin = llvm::alignTo(end, kCellElements), elements = parameter->type.getNumElements();
      if (!slots.empty() && begin + elements > bucketElements)
        close();
      if (slots.empty()) {
        first = parameter;
        begin = 0;
      }
      slots.push_back(SlotAttr::get(&getContext(), parameter->name, begin, parameter->type.getShape()));
      end = begin + elements;
    }
    close();
  }

  int64_t count = 0;
};

} // namespace
} // namespace zero

//===- StepFunctions.cpp - @micro and @update by the roles of their values ===//
#include "StepFunctions.h"

using namespace mlir;

namespace zero::sharding {

FailureOr<func::FuncOp> getStepFunction(ModuleOp module, StringRef name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    emitError(module.getLoc()) << "module has no function @" << name << "; run "
                               << (name == "micro" ? "nn-build-backward" : "nn-append-optimizer") << " first";
    return failure();
  }
  if (!function.getBody().hasOneBlock()) {
    emitError(function.getLoc()) << "@" << name << " has " << function.getBody().getBlocks().size()
                                 << " blocks, expected 1";
    return failure();
  }
  return function;
}

func::FuncOp getPredict(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("predict"); }

SmallVector<func::FuncOp> getFunctionsOfOneBlock(ModuleOp module) {
  return llvm::to_vector(llvm::make_filter_range(module.getOps<func::FuncOp>(),
                                                 [](func::FuncOp f) { return f.getBody().hasOneBlock(); }));
}

nn::RoleAttr getArgumentRole(func::FuncOp function, unsigned index) {
  return function.getArgAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
}

nn::RoleAttr getResultRole(func::FuncOp function, unsigned index) {
  return function.getResultAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
}

BlockArgument findArgument(func::FuncOp function, nn::RoleKind kind, StringRef name) {
  for (BlockArgument argument : function.getArguments())
    if (nn::RoleAttr role = getArgumentRole(function, argument.getArgNumber());
        role && role.getKind() == kind && role.getName() == name)
      return argument;
  return {};
}

bool isBucketRole(nn::RoleKind kind) {
  switch (kind) {
  case nn::RoleKind::Parameter:
  case nn::RoleKind::Gradient:
  case nn::RoleKind::Master:
  case nn::RoleKind::ExpAvg:
  case nn::RoleKind::ExpAvgSq:
  case nn::RoleKind::Momentum:
    return true;
  default:
    return false;
  }
}

FailureOr<Type> parseElement(ModuleOp module, StringRef option, StringRef name) {
  Builder builder(module.getContext());
  if (name.empty())
    return Type();
  if (name == "f32")
    return Type(builder.getF32Type());
  if (name == "f16")
    return Type(builder.getF16Type());
  if (name == "bf16")
    return Type(builder.getBF16Type());
  return emitError(module.getLoc()) << option << " is '" << name << "', expected f32, f16 or bf16";
}

ResultList::ResultList(func::FuncOp function) {
  for (auto [index, value] : llvm::enumerate(function.front().getTerminator()->getOperands()))
    add(value, function.getResultAttrDict(index));
}

void ResultList::add(Value value, DictionaryAttr attributes) {
  values.push_back(value);
  attrs.push_back(attributes ? attributes : DictionaryAttr::get(value.getContext()));
}

void ResultList::assignTo(func::FuncOp function) const {
  function.front().getTerminator()->setOperands(values);
  function.setType(FunctionType::get(function.getContext(), function.front().getArgumentTypes(),
                                     TypeRange(ValueRange(values))));
  function.setAllResultAttrs(attrs);
}

void ArgumentList::add(Type type, DictionaryAttr attributes, Location loc) {
  types.push_back(type);
  attrs.push_back(attributes);
  locs.push_back(loc);
}

Block::BlockArgListType ArgumentList::insertInto(func::FuncOp function, unsigned index) const {
  SmallVector<unsigned> indices(types.size(), index);
  LogicalResult inserted = function.insertArguments(indices, types, attrs, locs);
  assert(succeeded(inserted) && "a function of builtin type takes any arguments");
  (void)inserted;
  return function.getArguments().slice(index, types.size());
}

DictionaryAttr makeRole(MLIRContext *context, nn::RoleKind kind, StringRef name) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      builder.getNamedAttr(nn::kRoleAttrName, nn::RoleAttr::get(context, kind, name)));
}

FailureOr<MeshOp> getMesh(ModuleOp module) {
  auto meshes = llvm::to_vector(module.getOps<MeshOp>());
  if (meshes.size() == 1)
    return meshes.front();
  if (meshes.empty())
    emitError(module.getLoc(), "module has no zero.mesh; run zero-assign-buckets first");
  else
    meshes[1].emitOpError("is a second mesh; one is supported").attachNote(meshes[0].getLoc())
        << "the first mesh is here";
  return failure();
}

} // namespace zero::sharding

//===- Outputs.cpp - Graph outputs as results of @forward -----------------===//
//
// An output that the loss does not need and that cannot be computed is left out with a remark: it must not keep
// anybody from training. Without a loss the outputs are all there is: each must be computed.
//
//===----------------------------------------------------------------------===//
#include "Graph.h"
#include "dialects/NN/Batched.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

void Importer::addResult(Value value, nn::RoleKind role, StringRef name, bool batched) {
  NamedAttrList attributes;
  attributes.set(nn::kRoleAttrName, nn::RoleAttr::get(context, role, name));
  if (batched)
    attributes.set(nn::kBatchedAttrName, UnitAttr::get(context));
  results.push_back(value);
  resultAttributes.push_back(attributes.getDictionary(context));
}

/// Whether a first dimension counts samples, or rows of samples.
bool Importer::isBatch(const Dim &dim) const {
  std::optional<Dim> rows = Dim::divide(dim, batch);
  return (rows && rows->isStatic() && rows->value() > 0) || (fixedBatch && dim.is(*fixedBatch));
}

FailureOr<const Binding *> Importer::lookUpOutput(const std::string &name) {
  onnx::NodeProto output; // it is looked up as an input of this
  output.set_name(name);
  output.set_op_type("output");
  node.node = &output;
  FailureOr<const Binding *> binding = lookUp(name);
  node.node = nullptr;
  return binding;
}

LogicalResult Importer::addOutput(const std::string &name) {
  Location at = NameLoc::get(StringAttr::get(context, name));
  auto leaveOut = [&](const Twine &reason) -> LogicalResult {
    if (!hasLoss())
      return emitError(at) << "output '" << name << "' " << reason;
    emitRemark(at) << "output '" << name << "' is left out of predictions: " << reason;
    return success();
  };
  if (auto found = missing.find(name); found != missing.end())
    return leaveOut(found->second);
  FailureOr<const Binding *> binding = lookUpOutput(name);
  if (failed(binding))
    return failure();
  if ((*binding)->isSequence)
    return leaveOut("is a sequence; only tensors can be predicted");
  if ((*binding)->isNone)
    return leaveOut("is an optional without element; only tensors can be predicted");
  const Tensor &tensor = (*binding)->tensors.front();
  if (failed(checkDeclared(tensor, name)))
    return failure();
  addResult(tensor.value, nn::RoleKind::Output, name, tensor.rank() > 0 && isBatch(tensor.shape.front()));
  return success();
}

LogicalResult Importer::addOutputs() {
  if (model.graph().output().empty())
    return emitError(location) << "the model has no output";
  llvm::StringSet<> seen; // one result is enough for an output that is listed twice
  for (const onnx::ValueInfoProto &output : model.graph().output())
    if (seen.insert(output.name()).second && failed(addOutput(output.name())))
      return failure();
  return success();
}

//===- WeightInputs.cpp - Graph inputs that are weights -------------------===//
#include "WeightInputs.h"
#include "ParameterRules.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

LogicalResult zero::onnx_import::adoptWeightInputs(Model &model, const ImportOptions &options, Location location) {
  llvm::StringSet<> initializers;
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    initializers.insert(tensor.name());
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    const std::string &name = input.name();
    const onnx::TypeProto::Tensor &type = input.type().tensor_type();
    // Not by --train: --train=.* says all weights, and means no data.
    bool isNamed =
        llvm::any_of(options.init, [&](const InitRule &rule) { return matchesWhole(rule.regex, name); });
    if (!isNamed || initializers.contains(name) || name == options.labels || !isFloatType(type.elem_type()))
      continue;
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(type.elem_type());
    for (const onnx::TensorShapeProto::Dimension &dim : type.shape().dim()) {
      if (!dim.has_dim_value() || dim.dim_value() < 0)
        return emitError(NameLoc::get(StringAttr::get(location.getContext(), name)))
               << "input '" << name << "' is named as a weight, and its dimension " << tensor.dims_size()
               << " has no size";
      tensor.add_dims(dim.dim_value());
    }
    if (!type.has_shape())
      return emitError(NameLoc::get(StringAttr::get(location.getContext(), name)))
             << "input '" << name << "' is named as a weight and has no shape";
    model.addInitializer(std::move(tensor));
  }
  return success();
}

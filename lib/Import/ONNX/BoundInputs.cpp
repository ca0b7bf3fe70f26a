//===- BoundInputs.cpp - Graph inputs that become constants ---------------===//
//
// `--bind-input=NAME=FILE.npy` turns a graph input into an initializer before anything looks at the graph, so
// that the arithmetic of shapes reads it like any other constant. Its bytes stay in the user's file.
//
//===----------------------------------------------------------------------===//
#include "BoundInputs.h"

#include "lib/Runtime/Data/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// NumPy's spellings of an ONNX element type.
struct NumpyType {
  int onnxType;
  StringRef code;
  StringRef name;
};
constexpr NumpyType kTypes[] = {
    {onnx::TensorProto::FLOAT, "<f4", "float32"},     {onnx::TensorProto::DOUBLE, "<f8", "float64"},
    {onnx::TensorProto::FLOAT16, "<f2", "float16"},   {onnx::TensorProto::BFLOAT16, "|V2", "bfloat16"},
    {onnx::TensorProto::BFLOAT16, "<V2", "bfloat16"}, {onnx::TensorProto::INT8, "|i1", "int8"},
    {onnx::TensorProto::INT16, "<i2", "int16"},       {onnx::TensorProto::INT32, "<i4", "int32"},
    {onnx::TensorProto::INT64, "<i8", "int64"},       {onnx::TensorProto::UINT8, "|u1", "uint8"},
    {onnx::TensorProto::UINT16, "<u2", "uint16"},     {onnx::TensorProto::UINT32, "<u4", "uint32"},
    {onnx::TensorProto::UINT64, "<u8", "uint64"},     {onnx::TensorProto::BOOL, "|b1", "bool"},
};

std::string typeName(StringRef code) {
  for (const NumpyType &type : kTypes)
    if (type.code == code)
      return type.name.str();
  return ("'" + code + "'").str();
}

std::string typeName(int onnxType) {
  for (const NumpyType &type : kTypes)
    if (type.onnxType == onnxType)
      return type.name.str();
  return onnx::TensorProto::DataType_IsValid(onnxType)
             ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnxType))
             : std::to_string(onnxType);
}

/// What the user may have meant, and all there is.
std::string candidates(const onnx::GraphProto &graph, StringRef name) {
  SmallVector<std::string> all;
  StringRef nearest;
  unsigned best = std::max<unsigned>(2, name.size() / 2) + 1;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    all.push_back("'" + input.name() + "'");
    unsigned distance = name.edit_distance(input.name());
    if (distance < best) {
      best = distance;
      nearest = input.name();
    }
  }
  std::string text = nearest.empty() ? "" : "; did you mean '" + nearest.str() + "'?";
  return text + (all.empty() ? "; it has none" : "; its inputs are " + llvm::join(all, ", "));
}

LogicalResult checkShape(const onnx::ValueInfoProto &input, const NpyArray &array, StringRef flag,
                         const llvm::StringMap<int64_t> &given, llvm::StringMap<int64_t> &bound,
                         Location location) {
  auto text = [](const auto &sizes) {
    std::string list;
    for (const auto &size : sizes)
      list += (list.empty() ? "" : " x ") + std::to_string(size);
    return list.empty() ? std::string("one number") : list;
  };
  if (!input.type().tensor_type().has_shape())
    return success();
  const onnx::TensorShapeProto &shape = input.type().tensor_type().shape();
  if (static_cast<size_t>(shape.dim_size()) != array.shape.size())
    return emitError(location) << flag << " has the shape " << text(array.shape) << " and input '"
                               << input.name() << "' is declared with " << shape.dim_size() << " dimensions";
  for (auto [index, dim, size] : llvm::enumerate(shape.dim(), array.shape)) {
    auto have = static_cast<int64_t>(size);
    // A size of 0 or -1 in front is a way to spell the batch.
    bool isNumber = dim.has_dim_value() && (dim.dim_value() > 0 || (index > 0 && dim.dim_value() == 0));
    if (isNumber && dim.dim_value() != have)
      return emitError(location) << flag << " has " << have << " in dimension " << index << " and input '"
                                 << input.name() << "' is declared with " << dim.dim_value();
    if (!dim.has_dim_param() || dim.dim_param().empty() || have < 1)
      continue;
    for (const llvm::StringMap<int64_t> *known :
         {&given, const_cast<const llvm::StringMap<int64_t> *>(&bound)})
      if (auto found = known->find(dim.dim_param()); found != known->end() && found->getValue() != have)
        return emitError(location) << flag << " has " << have << " in dimension " << index << " of input '"
                                   << input.name() << "', whose symbol '" << dim.dim_param() << "' is "
                                   << found->getValue()
                                   << (known == &given ? " by --dim" : " by another input");
    bound[dim.dim_param()] = have;
  }
  return success();
}

} // namespace

LogicalResult zero::onnx_import::bindInputs(Model &model, const ImportOptions &options,
                                            llvm::StringMap<int64_t> &dims, Location location) {
  for (const auto &[name, path] : options.boundInputs) {
    std::string flag = "--bind-input=" + name + "=" + path;
    const onnx::ValueInfoProto *input = nullptr;
    for (const onnx::ValueInfoProto &each : model.graph().input())
      if (each.name() == name)
        input = &each;
    if (!input)
      return emitError(location) << flag << ": the model has no input '" << name << "'"
                                 << candidates(model.graph(), name);
    if (llvm::any_of(model.graph().initializer(),
                     [&](const onnx::TensorProto &tensor) { return tensor.name() == name; }))
      return emitError(location) << flag << ": input '" << name
                                 << "' has an initializer: it is a constant already";
    if (name == options.labels)
      return emitError(location) << flag << ": input '" << name << "' is named as the labels";
    if (!input->type().has_tensor_type())
      return emitError(location) << flag << ": input '" << name << "' is not a tensor";
    Expected<MappedFile *> file = model.map(path);
    if (!file.ok())
      return emitError(location) << flag << ": " << file.status().message();
    Expected<NpyArray> array = parseNpy((*file)->bytes());
    if (!array.ok())
      return emitError(location) << flag << ": cannot read '" << path << "': " << array.status().message();
    int declared = input->type().tensor_type().elem_type();
    if (llvm::none_of(kTypes, [&](const NumpyType &type) {
          return type.onnxType == declared && type.code == array->type;
        }))
      return emitError(location) << flag << " holds " << typeName(array->type) << " and input '" << name
                                 << "' is declared as " << typeName(declared);
    if (failed(checkShape(*input, *array, flag, options.dims, dims, location)))
      return failure();
    if (declared == onnx::TensorProto::BOOL)
      for (char byte : array->data)
        if (byte != 0 && byte != 1)
          return emitError(location) << flag << " holds the byte "
                                     << static_cast<int>(static_cast<uint8_t>(byte))
                                     << " where a bool is 0 or 1";
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(declared);
    for (uint64_t size : array->shape)
      tensor.add_dims(static_cast<int64_t>(size));
    model.addInitializer(std::move(tensor),
                         FileBytes{path, static_cast<uint64_t>(array->data.data() - (*file)->bytes().data()),
                                   ArrayRef<char>(array->data.data(), array->data.size())});
  }
  return success();
}

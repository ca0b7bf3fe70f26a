//===- Weights.cpp - Weights stay in files: pointers with checksums -------===//
#include "Weights.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

std::optional<int64_t> zero::onnx_import::elementCount(const onnx::TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims())
    if (dim < 0 || llvm::MulOverflow(count, dim, count))
      return std::nullopt;
  return count;
}

/// Bytes of one element as ONNX stores it raw.
static int64_t storedBytes(Type element) { return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8); }

template <typename Stored, typename Field> static std::vector<char> pack(const Field &field) {
  std::vector<char> bytes(field.size() * sizeof(Stored));
  for (int i = 0; i < field.size(); ++i) {
    Stored value = static_cast<Stored>(field.Get(i));
    memcpy(bytes.data() + i * sizeof(Stored), &value, sizeof(Stored));
  }
  return bytes;
}

std::string Weights::whyMissing(const onnx::TensorProto &tensor) const {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return model.whyExternalMissing(tensor);
  if (elementCount(tensor).value_or(1) == 0 || model.hasRawBytes(tensor) || tensor.float_data_size() ||
      tensor.double_data_size() || tensor.int32_data_size() || tensor.int64_data_size() ||
      tensor.uint64_data_size() || tensor.string_data_size())
    return "";
  return "the model holds its shape alone";
}

FailureOr<std::vector<char>> Weights::decode(const onnx::TensorProto &tensor, Location location) {
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    return pack<float>(tensor.float_data());
  case onnx::TensorProto::DOUBLE:
    return pack<double>(tensor.double_data());
  case onnx::TensorProto::INT64:
    return pack<int64_t>(tensor.int64_data());
  case onnx::TensorProto::INT32:
    return pack<int32_t>(tensor.int32_data());
  case onnx::TensorProto::UINT64:
    return pack<uint64_t>(tensor.uint64_data());
  case onnx::TensorProto::UINT32:
    return pack<uint32_t>(tensor.uint64_data());
  case onnx::TensorProto::INT16:
  case onnx::TensorProto::UINT16:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return pack<uint16_t>(tensor.int32_data());
  case onnx::TensorProto::INT8:
  case onnx::TensorProto::UINT8:
    return pack<uint8_t>(tensor.int32_data());
  case onnx::TensorProto::BOOL: {
    std::vector<char> bytes;
    for (int32_t element : tensor.int32_data())
      bytes.push_back(element != 0);
    return bytes;
  }
  default:
    return emitError(location) << "tensor '" << tensor.name() << "': element type " << tensor.data_type()
                               << " is not supported";
  }
}

FailureOr<ArrayRef<char>> Weights::bytes(const onnx::TensorProto &tensor, RankedTensorType type,
                                         Location location) {
  ArrayRef<char> result;
  FailureOr<std::optional<FileBytes>> raw = model.rawBytes(tensor, location);
  if (failed(raw))
    return failure();
  if (*raw) {
    result = (*raw)->bytes;
  } else {
    auto [entry, isNew] = decoded.try_emplace(&tensor);
    if (isNew) {
      FailureOr<std::vector<char>> numbers = decode(tensor, location);
      if (failed(numbers))
        return failure();
      entry->second = std::move(*numbers);
    }
    result = entry->second;
  }
  uint64_t expected = type.getNumElements() * storedBytes(type.getElementType());
  if (result.size() != expected)
    return emitError(location) << "tensor '" << tensor.name() << "' has " << result.size()
                               << " bytes and its type " << type << " needs " << expected;
  return result;
}

FailureOr<DenseElementsAttr> Weights::inlined(const onnx::TensorProto &tensor, RankedTensorType type,
                                              Location location) {
  FailureOr<ArrayRef<char>> data = bytes(tensor, type, location);
  if (failed(data))
    return failure();
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> elements(llvm::map_range(*data, [](char byte) { return byte != 0; }));
    return DenseElementsAttr::get(type, elements);
  }
  return DenseElementsAttr::getFromRawBuffer(type, *data);
}

std::string Weights::relativePath(StringRef path) const {
  SmallString<256> target(path), base(options.baseFolder);
  // Links are not followed: the user's own names stay.
  llvm::sys::fs::make_absolute(target);
  llvm::sys::fs::make_absolute(base);
  llvm::sys::path::remove_dots(target, /*remove_dot_dot=*/true);
  llvm::sys::path::remove_dots(base, /*remove_dot_dot=*/true);
  auto t = llvm::sys::path::begin(target), tEnd = llvm::sys::path::end(target);
  auto b = llvm::sys::path::begin(base), bEnd = llvm::sys::path::end(base);
  while (t != tEnd && b != bEnd && *t == *b)
    ++t, ++b;
  SmallString<256> result;
  for (; b != bEnd; ++b)
    llvm::sys::path::append(result, "..");
  for (; t != tEnd; ++t)
    llvm::sys::path::append(result, *t);
  return std::string(result);
}

FailureOr<Attribute> Weights::stored(const onnx::TensorProto &tensor, StringRef name, RankedTensorType type,
                                     Location location) {
  FailureOr<ArrayRef<char>> data = bytes(tensor, type, location);
  if (failed(data))
    return failure();
  MLIRContext *context = type.getContext();
  uint64_t checksum = XXH3_64bits(data->data(), data->size());
  FailureOr<std::optional<FileBytes>> raw = model.rawBytes(tensor, location);
  if (failed(raw))
    return failure();
  if (*raw)
    return Attribute(
        nn::ExternalAttr::get(context, relativePath((*raw)->path), (*raw)->offset, data->size(), checksum));
  if (options.sideFile.empty()) {
    AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(*data, 64);
    return Attribute(DenseResourceElementsAttr::get(type, name, std::move(blob)));
  }
  side.resize(llvm::alignTo(side.size(), 64));
  uint64_t offset = side.size();
  side.insert(side.end(), data->begin(), data->end());
  return Attribute(
      nn::ExternalAttr::get(context, relativePath(options.sideFile), offset, data->size(), checksum));
}

Attribute Weights::wholeModel(MLIRContext *context) const {
  StringRef bytes = model.fileContents();
  return nn::ExternalAttr::get(context, relativePath(model.path()), 0, bytes.size(),
                               XXH3_64bits(bytes.data(), bytes.size()));
}

LogicalResult Weights::writeSideFile(Location location) {
  if (side.empty())
    return success();
  llvm::Error error = llvm::writeToOutput(options.sideFile, [&](raw_ostream &os) {
    os.write(side.data(), side.size());
    return llvm::Error::success();
  });
  if (error)
    return emitError(location) << "cannot write '" << options.sideFile
                               << "': " << llvm::toString(std::move(error));
  return success();
}

//===- ExternalData.cpp - Tensors whose bytes lie beside the model --------===//
#include "ExternalData.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace zero;
using namespace zero::onnx_import;
using llvm::StringRef;

/// The bytes that the tensor's type needs; the largest number where they cannot be counted.
static uint64_t tensorBytes(const onnx::TensorProto &tensor) {
  uint64_t width = 0;
  switch (tensor.data_type()) {
  case onnx::TensorProto::DOUBLE:
  case onnx::TensorProto::INT64:
  case onnx::TensorProto::UINT64:
    width = 8;
    break;
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::INT32:
  case onnx::TensorProto::UINT32:
    width = 4;
    break;
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
  case onnx::TensorProto::INT16:
  case onnx::TensorProto::UINT16:
    width = 2;
    break;
  case onnx::TensorProto::BOOL:
  case onnx::TensorProto::INT8:
  case onnx::TensorProto::UINT8:
    width = 1;
    break;
  default:
    return std::numeric_limits<uint64_t>::max();
  }
  for (int64_t dim : tensor.dims())
    width = dim < 0 ? std::numeric_limits<uint64_t>::max() : llvm::SaturatingMultiply<uint64_t>(width, dim);
  return width;
}

/// Whether a path is anywhere but in the model's folder or below, by its name.
static bool leadsOut(StringRef path) {
  return path.empty() || llvm::sys::path::is_absolute(path) ||
         llvm::is_contained(llvm::make_range(llvm::sys::path::begin(path), llvm::sys::path::end(path)), "..");
}

namespace {

/// Where a tensor's `external_data` says that its bytes are.
struct Place {
  std::string where;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Expected<Place> placeOf(const onnx::TensorProto &tensor) {
  Place place;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    uint64_t number = 0;
    if (entry.key() == "location") {
      place.where = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (StringRef(entry.value()).getAsInteger(10, number))
        return Status::badInput("tensor '" + tensor.name() + "': external " + entry.key() + " '" + entry.value() +
                                "' is not a number");
      if (entry.key() == "offset")
        place.offset = number;
      else
        place.length = number;
    }
  }
  return place;
}

} // namespace

ExternalData::ExternalData(StringRef modelPath) : folder(llvm::sys::path::parent_path(modelPath)) {}

std::string ExternalData::whyMissing(const onnx::TensorProto &tensor) const {
  Expected<Place> place = placeOf(tensor);
  if (!place.ok() || leadsOut(place->where)) // which is an error and no lack
    return "";
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, place->where);
  return llvm::sys::fs::exists(path) ? "" : "there is no file '" + std::string(path) + "'";
}

Expected<FileBytes> ExternalData::find(const onnx::TensorProto &tensor) {
  ZERO_ASSIGN_OR_RETURN(Place place, placeOf(tensor));
  auto fail = [&](const std::string &text) { return Status::badInput("tensor '" + tensor.name() + "': " + text); };
  llvm::SmallString<256> path(folder), realPath, realFolder;
  llvm::sys::path::append(path, place.where);
  if (leadsOut(place.where))
    return fail("external file '" + place.where + "' is not inside the model's folder");
  if (std::error_code error = llvm::sys::fs::real_path(path, realPath))
    return fail("cannot read external file '" + place.where + "': " + error.message());
  if (std::error_code error = llvm::sys::fs::real_path(folder.empty() ? "." : folder, realFolder))
    return fail("cannot read the model's folder '" + folder + "': " + error.message());
  StringRef below = realPath;
  if (!below.consume_front(realFolder) || !(realFolder == "/" || below.starts_with("/")))
    return fail("external file '" + place.where + "' is not inside the model's folder");
  std::shared_ptr<MappedFile> &file = mapped[std::string(path)];
  if (!file) {
    if (!llvm::sys::fs::is_regular_file(path)) // a pipe would wait for its writer
      return fail("external file '" + place.where + "' is not a file");
    Expected<std::unique_ptr<MappedFile>> opened = MappedFile::open(std::string(path));
    if (!opened.ok())
      return fail("external file: " + opened.status().message());
    file = std::move(*opened);
  }
  uint64_t size = file->bytes().size();
  // Without a length: as much as the type needs, if it is there.
  uint64_t length = place.length ? *place.length : std::min(tensorBytes(tensor), size - std::min(place.offset, size));
  if (place.offset > size || length > size - place.offset)
    return fail("bytes " + std::to_string(place.offset) + " to " +
                std::to_string(llvm::SaturatingAdd(place.offset, length)) + " lie outside external file '" + place.where +
                "' of " + std::to_string(size) + " bytes");
  return FileBytes{std::string(path), place.offset,
                   llvm::ArrayRef<char>(file->bytes().data() + place.offset, static_cast<size_t>(length))};
}

std::vector<std::shared_ptr<const void>> ExternalData::files() const {
  return std::vector<std::shared_ptr<const void>>(llvm::make_second_range(mapped).begin(),
                                                  llvm::make_second_range(mapped).end());
}

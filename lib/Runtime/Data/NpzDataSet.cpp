//===- NpzDataSet.cpp - Samples from an .npz archive ----------------------===//
//
// One array per input of the model; the first dimension counts samples, which are used in the order of the file.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Data/MappedFile.h"
#include "lib/Runtime/Data/Npy.h"
#include "lib/Runtime/Data/Openers.h"
#include "lib/Runtime/Data/Values.h"
#include "lib/Runtime/Data/Zip.h"
#include <algorithm>

namespace zero {
namespace {

/// NumPy's spelling of an element type, and its long name; null where NumPy has none.
struct NumpyType {
  const char *code;
  const char *name;
};
NumpyType numpyType(schema::ElementType type) {
  switch (type) {
  case schema::ElementType::f32:
    return {"<f4", "float32"};
  case schema::ElementType::f64:
    return {"<f8", "float64"};
  case schema::ElementType::f16:
    return {"<f2", "float16"};
  case schema::ElementType::bf16:
    return {nullptr, "bfloat16"};
  case schema::ElementType::i64:
    return {"<i8", "int64"};
  case schema::ElementType::i32:
    return {"<i4", "int32"};
  case schema::ElementType::i16:
    return {"<i2", "int16"};
  case schema::ElementType::i8:
    return {"|i1", "int8"};
  case schema::ElementType::u8:
    return {"|u1", "uint8"};
  case schema::ElementType::i1:
    return {"|b1", "bool"};
  case schema::ElementType::u16:
    return {"<u2", "uint16"};
  case schema::ElementType::u32:
    return {"<u4", "uint32"};
  case schema::ElementType::u64:
    return {"<u8", "uint64"};
  }
  return {nullptr, "unknown"};
}

std::string nameOfNumpyCode(const std::string &code) {
  for (int i = 0; i <= static_cast<int>(schema::ElementType::MAX); ++i)
    if (NumpyType type = numpyType(static_cast<schema::ElementType>(i)); type.code && code == type.code)
      return type.name;
  return "'" + code + "'";
}

template <typename Dimensions> std::string shapeText(const Dimensions &shape, size_t from = 0) {
  std::string text;
  for (size_t i = from; i < shape.size(); ++i)
    text += (i > from ? " x " : "") + std::to_string(shape[i]);
  return text.empty() ? "one number" : text;
}

class NpzDataSet final : public DataSet {
public:
  static Expected<std::unique_ptr<DataSet>> open(const DataOptions &options, const schema::Plan &plan) {
    auto data = std::make_unique<NpzDataSet>();
    ZERO_ASSIGN_OR_RETURN(data->file, MappedFile::open(options.path));
    if (Status status = data->load(plan); !status.ok())
      return status.annotate("'" + options.path + "'");
    return std::unique_ptr<DataSet>(std::move(data));
  }

  uint64_t samples() const override { return count; }

  void read(size_t input, uint64_t, uint64_t first, uint64_t number, void *target) const override {
    const Array &array = arrays[input];
    std::memcpy(target, array.data.data() + first * array.sampleBytes, number * array.sampleBytes);
  }

private:
  struct Array {
    std::string storage; ///< of an array that was deflated
    std::string_view data;
    uint64_t sampleBytes = 0;
  };

  Status load(const schema::Plan &plan) {
    ZERO_ASSIGN_OR_RETURN(std::vector<ZipMember> members, listZip(file->bytes()));
    auto inputs = records(plan.inputs());
    arrays.resize(inputs.size());
    std::vector<bool> used(members.size());
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      std::string name(text(inputs[i]->name()));
      auto member = std::find_if(members.begin(), members.end(),
                                 [&](const ZipMember &m) { return m.name == name + ".npy" || m.name == name; });
      if (member == members.end())
        return Status::badInput("has no array '" + name + "'; it has" + arrayNames(members));
      used[member - members.begin()] = true;
      if (Status status = loadArray(*member, *inputs[i], arrays[i], /*first=*/i == 0); !status.ok())
        return status.annotate("array '" + name + "'");
    }
    for (size_t i = 0; i < members.size(); ++i)
      if (!used[i])
        notes.push_back("array '" + arrayName(members[i]) + "' of the data is not used");
    return {};
  }

  Status loadArray(const ZipMember &member, const schema::Input &input, Array &array, bool first) {
    ZERO_ASSIGN_OR_RETURN(std::string_view bytes, readZipMember(file->bytes(), member, array.storage));
    ZERO_ASSIGN_OR_RETURN(NpyArray npy, parseNpy(bytes));
    NumpyType type = numpyType(input.element());
    // NumPy has no bfloat16: an array of ml_dtypes' is written as two bytes of anything.
    bool isBFloat16 = input.element() == schema::ElementType::bf16 && (npy.type == "<V2" || npy.type == "|V2");
    if (!isBFloat16 && (!type.code || npy.type != type.code))
      return Status::badInput("is of type " + nameOfNumpyCode(npy.type) + ", the model takes " + type.name);
    auto shape = records(input.shape()); // of one micro-batch
    bool fits = npy.shape.size() == shape.size();
    for (uint32_t i = 1; fits && i < shape.size(); ++i)
      fits = npy.shape[i] == static_cast<uint64_t>(shape[i]);
    if (!fits)
      return Status::badInput("has samples of shape " + shapeText(npy.shape, 1) + ", the model takes " + shapeText(shape, 1));
    if (first)
      count = npy.shape[0];
    else if (count != npy.shape[0])
      return Status::badInput("has " + std::to_string(npy.shape[0]) + " samples, the others have " + std::to_string(count));
    array.data = npy.data;
    array.sampleBytes = count ? npy.data.size() / count : 0;
    return checkValues(input, npy.data.data(), npy.shape);
  }

  static std::string arrayName(const ZipMember &member) {
    return member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4) : member.name;
  }
  static std::string arrayNames(const std::vector<ZipMember> &members) {
    std::string names;
    for (const ZipMember &member : members)
      names += (names.empty() ? " '" : ", '") + arrayName(member) + "'";
    return names.empty() ? " none" : names;
  }

  std::unique_ptr<MappedFile> file;
  std::vector<Array> arrays;
  uint64_t count = 0;
};

} // namespace

Expected<std::unique_ptr<DataSet>> openNpz(const DataOptions &options, const schema::Plan &plan) {
  return NpzDataSet::open(options, plan);
}

} // namespace zero

//===- NpzDataSet.cpp - Samples from an .npz archive ----------------------===//
//
// One array per input of the model; the first dimension counts samples, which are used in the order of the file. An
// input that is the same for all samples is an array of just its shape.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Data/DataFile.h"
#include "lib/Runtime/Data/Npy.h"
#include "lib/Runtime/Data/NumpyType.h"
#include "lib/Runtime/Data/Openers.h"
#include "lib/Runtime/Data/Values.h"
#include "lib/Runtime/Data/Zip.h"
#include <algorithm>
#include <optional>

namespace zero {
namespace {

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
    ZERO_ASSIGN_OR_RETURN(data->file, DataFile::open(options.path));
    if (Status status = data->load(plan, options.trains); !status.ok())
      return status.annotate("'" + options.path + "'");
    return std::unique_ptr<DataSet>(std::move(data));
  }

  uint64_t samples() const override { return count; }

  Status read(size_t input, uint64_t, uint64_t first, uint64_t number, void *target) const override {
    return readInOrder(input, first, number, target);
  }

  Status readInOrder(size_t input, uint64_t first, uint64_t number, void *target) const override {
    const Array &array = arrays[input];
    uint64_t offset = array.unbatched ? 0 : first * array.sampleBytes;
    uint64_t size = array.unbatched ? array.size : number * array.sampleBytes;
    if (!array.inFile)
      std::memcpy(target, array.storage.data() + array.offset + offset, size);
    return array.inFile ? file->read(array.offset + offset, target, size) : Status();
  }

private:
  struct Array {
    std::string storage; ///< of an array that was deflated
    bool inFile = true;
    uint64_t offset = 0, size = 0; ///< in the file or in `storage`
    uint64_t sampleBytes = 0;
    bool unbatched = false;
  };

  Status load(const schema::Plan &plan, bool trains) {
    ZERO_ASSIGN_OR_RETURN(std::vector<ZipMember> members, listZip(*file));
    auto inputs = records(plan.inputs());
    arrays.resize(inputs.size());
    std::vector<bool> used(members.size());
    std::optional<uint64_t> samples;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      std::string name(text(inputs[i]->name()));
      auto member = std::find_if(members.begin(), members.end(),
                                 [&](const ZipMember &m) { return m.name == name + ".npy" || m.name == name; });
      const bool needed = trains || inputs[i]->predict();
      if (member == members.end() && !needed)
        continue;
      if (member == members.end())
        return Status::badInput("has no array '" + name + "'; it has" + arrayNames(members));
      used[member - members.begin()] = true;
      if (!needed)
        continue;
      if (Status status = loadArray(*member, *inputs[i], arrays[i], samples); !status.ok())
        return status.annotate("array '" + name + "'");
    }
    count = samples.value_or(1);
    uint64_t inflated = 0;
    for (const Array &array : arrays)
      inflated += array.storage.size();
    // No part of the plan, and of arrays that are stored as they are nothing stays in memory.
    constexpr uint64_t kWorthSaying = 16 << 20;
    if (inflated > kWorthSaying)
      notes.push_back("the data are compressed and take " + std::to_string(inflated) +
                      " bytes of each process; numpy.savez writes them uncompressed");
    for (size_t i = 0; i < members.size(); ++i)
      if (!used[i])
        notes.push_back("array '" + arrayName(members[i]) + "' of the data is not used");
    return {};
  }

  Status loadArray(const ZipMember &member, const schema::Input &input, Array &array, std::optional<uint64_t> &samples) {
    array.inFile = member.method == 0;
    if (array.inFile) {
      ZERO_RETURN_IF_ERROR(checkStoredZipMember(*file, member));
    } else {
      ZERO_ASSIGN_OR_RETURN(array.storage, readZipMember(*file, member));
    }
    ZERO_ASSIGN_OR_RETURN(NpyHeader npy, readHeader(member, array));
    if (!isNumpyCodeOf(npy.type, input.element()))
      return Status::badInput("is of type " + nameOfNumpyCode(npy.type) + ", the model takes " +
                              numpyType(input.element()).name);
    auto shape = records(input.shape()); // of one micro-batch
    array.unbatched = input.unbatched();
    const uint32_t first = array.unbatched ? 0 : 1;
    bool fits = npy.shape.size() == shape.size();
    for (uint32_t i = first; fits && i < shape.size(); ++i)
      fits = npy.shape[i] == static_cast<uint64_t>(shape[i]);
    if (!fits)
      return Status::badInput((array.unbatched ? "has the shape " : "has samples of shape ") + shapeText(npy.shape, first) +
                              ", the model takes " + shapeText(shape, first));
    array.offset = (array.inFile ? member.dataOffset : 0) + npy.dataOffset;
    array.size = npy.dataBytes;
    if (!array.unbatched) {
      if (!samples)
        samples = npy.shape[0];
      if (*samples != npy.shape[0])
        return Status::badInput("has " + std::to_string(npy.shape[0]) + " samples, the others have " +
                                std::to_string(*samples));
      array.sampleBytes = npy.shape[0] ? npy.dataBytes / npy.shape[0] : 0;
    }
    if (!array.inFile)
      return checkValues(input, std::string_view(array.storage).substr(array.offset), npy.shape);
    if (input.limit() == 0)
      return {};
    const uint64_t elementBytes = zero::elementBytes(input.element());
    return file->forEachPiece(array.offset, array.size, [&](std::string_view bytes, uint64_t place) {
      return checkValues(input, bytes, npy.shape, place / elementBytes);
    });
  }

  Expected<NpyHeader> readHeader(const ZipMember &member, const Array &array) const {
    if (!array.inFile)
      return parseNpyHeader(array.storage, array.storage.size());
    constexpr uint64_t kAtLeast = 12;
    ZERO_ASSIGN_OR_RETURN(std::string beginning, file->piece(member.dataOffset, std::min(member.size, kAtLeast)));
    ZERO_ASSIGN_OR_RETURN(beginning, file->piece(member.dataOffset, std::min(member.size, sizeOfNpyHeader(beginning))));
    return parseNpyHeader(beginning, member.size);
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

  std::unique_ptr<DataFile> file;
  std::vector<Array> arrays;
  uint64_t count = 0;
};

} // namespace

Expected<std::unique_ptr<DataSet>> openNpz(const DataOptions &options, const schema::Plan &plan) {
  return NpzDataSet::open(options, plan);
}

} // namespace zero

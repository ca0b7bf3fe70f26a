//===- NpzWriter.cpp - Arrays as numpy.savez writes them ------------------===//
//
// A zip archive of stored members, each a .npy file. Sizes are known from the start, so every member has its place and
// arrays may be filled in turn; what is known last (checksums) is written last.
//
//===----------------------------------------------------------------------===//
#include "zero/Runtime/Data/NpzWriter.h"
#include "lib/Runtime/Data/NumpyType.h"
#include <zlib.h>

namespace zero {
namespace {

constexpr uint64_t kSmall = 0xffffffff; ///< sizes and offsets from here on need the fields of zip64
constexpr uint16_t kUtf8 = 1 << 11, kVersion = 20, kVersionOfZip64 = 45;
constexpr uint16_t kFirstDay = 1 << 5 | 1; ///< 1980-01-01: equal arrays give equal files

class Record {
public:
  template <typename T> Record &add(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Record &add(const std::string &text) {
    bytes += text;
    return *this;
  }
  std::string bytes;
};

/// "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", padded so that the elements start aligned.
std::string npyHeader(schema::ElementType element, const std::vector<uint64_t> &shape) {
  std::string text = std::string("{'descr': '") + numpyType(element).code + "', 'fortran_order': False, 'shape': (";
  for (uint64_t dimension : shape)
    text += std::to_string(dimension) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1)
    text.resize(text.size() - 2);
  text += "), }";
  constexpr size_t kPrefix = 10, kAlignment = 64;
  text.append((kAlignment - (kPrefix + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text += '\n';
  Record record;
  record.add(std::string("\x93NUMPY\x01\x00", 8)).add(static_cast<uint16_t>(text.size())).add(text);
  return record.bytes;
}

} // namespace

struct NpzWriter::Member {
  std::string name, header;
  uint64_t size = 0;   ///< of the .npy
  uint64_t offset = 0; ///< of the local header
  uint64_t written = 0;
  uint32_t checksum = 0;

  bool isLarge() const { return size >= kSmall; }
  uint64_t dataOffset() const { return offset + 30 + name.size() + (isLarge() ? 20 : 0); }

  std::string localHeader() const {
    uint32_t shortSize = isLarge() ? kSmall : static_cast<uint32_t>(size);
    Record record;
    record.add(uint32_t(0x04034b50)).add(isLarge() ? kVersionOfZip64 : kVersion).add(kUtf8).add(uint16_t(0)).add(uint16_t(0));
    record.add(kFirstDay).add(checksum).add(shortSize).add(shortSize);
    record.add(static_cast<uint16_t>(name.size())).add(uint16_t(isLarge() ? 20 : 0)).add(name);
    if (isLarge())
      record.add(uint16_t(1)).add(uint16_t(16)).add(size).add(size);
    return record.bytes;
  }

  std::string centralHeader() const {
    bool far = offset >= kSmall;
    uint32_t shortSize = isLarge() ? kSmall : static_cast<uint32_t>(size);
    Record extra;
    if (isLarge())
      extra.add(size).add(size);
    if (far)
      extra.add(offset);
    uint16_t version = isLarge() || far ? kVersionOfZip64 : kVersion;
    Record record;
    record.add(uint32_t(0x02014b50)).add(version).add(version).add(kUtf8).add(uint16_t(0)).add(uint16_t(0)).add(kFirstDay);
    record.add(checksum).add(shortSize).add(shortSize).add(static_cast<uint16_t>(name.size()));
    record.add(static_cast<uint16_t>(extra.bytes.empty() ? 0 : extra.bytes.size() + 4));
    record.add(uint16_t(0)).add(uint16_t(0)).add(uint16_t(0)).add(uint32_t(0));
    record.add(far ? uint32_t(kSmall) : static_cast<uint32_t>(offset)).add(name);
    if (!extra.bytes.empty())
      record.add(uint16_t(1)).add(static_cast<uint16_t>(extra.bytes.size())).add(extra.bytes);
    return record.bytes;
  }
};

NpzWriter::NpzWriter() = default;
NpzWriter::~NpzWriter() = default;

Expected<std::unique_ptr<NpzWriter>> NpzWriter::create(const std::string &path, const std::vector<Array> &arrays) {
  std::unique_ptr<NpzWriter> writer(new NpzWriter());
  ZERO_ASSIGN_OR_RETURN(writer->file, OutputFile::create(path));
  uint64_t offset = 0;
  for (const Array &array : arrays) {
    Member member;
    member.name = array.name + ".npy";
    if (member.name.size() > 0xffff)
      return Status::badInput("array name '" + array.name.substr(0, 40) + "...' has " + std::to_string(array.name.size()) +
                              " bytes, an archive holds names of up to 65531");
    member.header = npyHeader(array.element, array.shape);
    member.size = elementBytes(array.element);
    for (uint64_t dimension : array.shape)
      member.size *= dimension;
    member.size += member.header.size();
    member.offset = offset;
    offset = member.dataOffset() + member.size;
    writer->members.push_back(std::move(member));
  }
  for (size_t i = 0; i < arrays.size(); ++i)
    ZERO_RETURN_IF_ERROR(writer->append(i, writer->members[i].header.data(), writer->members[i].header.size()));
  writer->end = offset;
  return writer;
}

Status NpzWriter::append(size_t array, const void *data, uint64_t size) {
  if (size == 0) // an array without elements may have no address
    return {};
  Member &member = members[array];
  member.checksum = static_cast<uint32_t>(crc32_z(member.checksum, static_cast<const Bytef *>(data), size));
  uint64_t at = member.dataOffset() + member.written;
  member.written += size;
  return file->writeAt(at, data, size);
}

Status NpzWriter::commit() {
  std::string central;
  for (const Member &member : members) {
    if (member.written != member.size)
      return Status::programFailed("array '" + member.name + "' has " + std::to_string(member.written) + " of its " +
                                   std::to_string(member.size) + " bytes");
    std::string header = member.localHeader();
    ZERO_RETURN_IF_ERROR(file->writeAt(member.offset, header.data(), header.size()));
    central += member.centralHeader();
  }
  Record tail;
  uint64_t count = members.size(), size = central.size();
  bool large = count >= 0xffff || size >= kSmall || end >= kSmall;
  if (large) {
    tail.add(uint32_t(0x06064b50)).add(uint64_t(44)).add(kVersionOfZip64).add(kVersionOfZip64).add(uint32_t(0)).add(uint32_t(0));
    tail.add(count).add(count).add(size).add(end);
    tail.add(uint32_t(0x07064b50)).add(uint32_t(0)).add(end + size).add(uint32_t(1));
  }
  uint16_t shortCount = large ? 0xffff : static_cast<uint16_t>(count);
  tail.add(uint32_t(0x06054b50)).add(uint16_t(0)).add(uint16_t(0)).add(shortCount).add(shortCount);
  tail.add(large ? uint32_t(kSmall) : static_cast<uint32_t>(size)).add(large ? uint32_t(kSmall) : static_cast<uint32_t>(end));
  tail.add(uint16_t(0));
  central += tail.bytes;
  ZERO_RETURN_IF_ERROR(file->writeAt(end, central.data(), central.size()));
  return file->commit();
}

} // namespace zero

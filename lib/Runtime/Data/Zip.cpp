//===- Zip.cpp - Members of a zip archive ---------------------------------===//
#include "lib/Runtime/Data/Zip.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <zlib.h>

namespace zero {
namespace {

/// Little-endian numbers of a range of bytes; reading past its end is remembered, and gives 0.
class Reader {
public:
  Reader(std::string_view bytes, uint64_t offset) : bytes(bytes), offset(offset) {}
  template <typename T> T take() {
    T value = 0;
    if (std::string_view part = take(sizeof(T)); part.size() == sizeof(T))
      std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }
  std::string_view take(uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) {
      failed = true;
      return {};
    }
    std::string_view part = bytes.substr(offset, size);
    offset += size;
    return part;
  }
  void skip(uint64_t size) { (void)take(size); }
  bool ok() const { return !failed; }

private:
  std::string_view bytes;
  uint64_t offset;
  bool failed = false;
};

Status damaged(const std::string &what) { return Status::badInput("the archive is damaged: " + what); }

constexpr uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50,
                   kCentralSignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr uint32_t kSee64 = 0xffffffff; // the number stands in the zip64 record

struct Directory {
  uint64_t offset, size, entries;
};

Expected<Directory> findDirectory(const ByteSource &archive) {
  constexpr uint64_t kEndBytes = 22, kLongestComment = 65535, kLocatorBytes = 20, kEnd64Bytes = 56;
  if (archive.size() < kEndBytes)
    return Status::badInput("it is no zip archive: it has " + std::to_string(archive.size()) + " bytes");
  constexpr uint64_t kTailBytes = kLocatorBytes + kEndBytes + kLongestComment;
  ZERO_ASSIGN_OR_RETURN(std::string tail, archive.piece(archive.size() - std::min(archive.size(), kTailBytes), kTailBytes));
  uint64_t last = tail.size() - kEndBytes, first = last - std::min(last, kLongestComment);
  for (uint64_t at = last + 1; at-- > first;) {
    Reader end(tail, at);
    if (end.take<uint32_t>() != kEndSignature)
      continue;
    end.skip(6);
    Directory directory;
    directory.entries = end.take<uint16_t>();
    directory.size = end.take<uint32_t>();
    directory.offset = end.take<uint32_t>();
    if (directory.entries != 0xffff && directory.size != kSee64 && directory.offset != kSee64)
      return directory;
    if (at < kLocatorBytes)
      return damaged("its zip64 locator is missing");
    Reader locator(tail, at - kLocatorBytes);
    if (locator.take<uint32_t>() != kLocator64Signature)
      return damaged("its zip64 locator is missing");
    locator.skip(4);
    ZERO_ASSIGN_OR_RETURN(std::string record64, archive.piece(locator.take<uint64_t>(), kEnd64Bytes));
    Reader end64(record64, 0);
    if (end64.take<uint32_t>() != kEnd64Signature)
      return damaged("its zip64 record is missing");
    end64.skip(28);
    directory.entries = end64.take<uint64_t>();
    directory.size = end64.take<uint64_t>();
    directory.offset = end64.take<uint64_t>();
    if (!end64.ok())
      return damaged("its zip64 record is cut off");
    return directory;
  }
  return Status::badInput("it is no zip archive, or cut off: its directory is missing");
}

/// Fills in the numbers of a directory entry that stand in its zip64 extra field.
Status readExtra64(std::string_view extra, ZipMember &member, uint64_t &localOffset) {
  constexpr uint16_t kZip64 = 1;
  Reader fields(extra, 0);
  for (size_t left = extra.size(); left >= 4;) {
    uint16_t id = fields.take<uint16_t>(), size = fields.take<uint16_t>();
    std::string_view body = fields.take(size);
    if (!fields.ok())
      return damaged("an extra field of '" + member.name + "' is cut off");
    left -= 4 + size;
    if (id != kZip64)
      continue;
    Reader numbers(body, 0);
    for (uint64_t *number : {&member.size, &member.compressedSize, &localOffset})
      if (*number == kSee64)
        *number = numbers.take<uint64_t>();
    if (!numbers.ok())
      return damaged("the zip64 field of '" + member.name + "' is cut off");
  }
  return {};
}

} // namespace

Expected<std::vector<ZipMember>> listZip(const ByteSource &archive) {
  ZERO_ASSIGN_OR_RETURN(Directory directory, findDirectory(archive));
  if (directory.offset > archive.size() || directory.size > archive.size() - directory.offset)
    return damaged("its directory lies outside the file");
  std::vector<ZipMember> members;
  ZERO_ASSIGN_OR_RETURN(std::string entries, archive.piece(directory.offset, directory.size));
  Reader entry(entries, 0);
  for (uint64_t i = 0; i < directory.entries; ++i) {
    ZipMember member;
    if (entry.take<uint32_t>() != kCentralSignature)
      return damaged("entry " + std::to_string(i) + " of its directory is missing");
    entry.skip(4);
    uint16_t flags = entry.take<uint16_t>();
    member.method = entry.take<uint16_t>();
    entry.skip(4);
    member.checksum = entry.take<uint32_t>();
    member.compressedSize = entry.take<uint32_t>();
    member.size = entry.take<uint32_t>();
    uint16_t nameSize = entry.take<uint16_t>(), extraSize = entry.take<uint16_t>(), commentSize = entry.take<uint16_t>();
    entry.skip(8);
    uint64_t localOffset = entry.take<uint32_t>();
    member.name = entry.take(nameSize);
    std::string_view extra = entry.take(extraSize);
    entry.skip(commentSize);
    if (!entry.ok())
      return damaged("its directory is cut off");
    ZERO_RETURN_IF_ERROR(readExtra64(extra, member, localOffset));
    constexpr uint16_t kEncrypted = 1;
    if (flags & kEncrypted)
      return Status::badInput("member '" + member.name + "' is encrypted");
    if (member.method != 0 && member.method != 8)
      return Status::badInput("member '" + member.name + "' uses compression method " + std::to_string(member.method) +
                              "; stored and deflated ones can be read");

    constexpr uint64_t kLocalBytes = 30;
    ZERO_ASSIGN_OR_RETURN(std::string header, archive.piece(localOffset, kLocalBytes));
    Reader local(header, 0);
    if (local.take<uint32_t>() != kLocalSignature)
      return damaged("the header of '" + member.name + "' is missing");
    local.skip(22);
    uint16_t localName = local.take<uint16_t>(), localExtra = local.take<uint16_t>();
    if (!local.ok())
      return damaged("the header of '" + member.name + "' is cut off");
    member.dataOffset = localOffset + kLocalBytes + localName + localExtra;
    if (member.dataOffset > archive.size() || member.compressedSize > archive.size() - member.dataOffset)
      return damaged("'" + member.name + "' is cut off");
    if (member.method == 0 && member.compressedSize != member.size)
      return damaged("'" + member.name + "' is stored with two sizes");
    members.push_back(std::move(member));
  }
  return members;
}

static Expected<std::string> inflateAll(std::string_view packed, const ZipMember &member) {
  // Deflate packs at most 1032 to 1: a larger claim would only take memory.
  if (member.size / 1032 > packed.size())
    return damaged("'" + member.name + "' claims " + std::to_string(member.size) + " bytes from " +
                   std::to_string(packed.size()));
  std::string bytes(member.size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return Status::programFailed("zlib does not start");
  constexpr uint64_t kMost = std::numeric_limits<uInt>::max();
  uint64_t read = 0, written = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    uInt in = static_cast<uInt>(std::min(packed.size() - read, kMost));
    uInt out = static_cast<uInt>(std::min(bytes.size() - written, kMost));
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + read));
    stream.next_out = reinterpret_cast<Bytef *>(bytes.data() + written);
    stream.avail_in = in;
    stream.avail_out = out;
    code = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
    if (code == Z_OK && in == stream.avail_in && out == stream.avail_out)
      code = Z_BUF_ERROR; // no progress
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || written != bytes.size())
    return damaged("'" + member.name + "' does not inflate to its " + std::to_string(member.size) + " bytes");
  return bytes;
}

static Status checkChecksum(uint32_t checksum, const ZipMember &member) {
  return checksum == member.checksum ? Status() : damaged("the checksum of '" + member.name + "' does not fit");
}

static uint32_t extendChecksum(uint32_t checksum, std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(checksum, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

Expected<std::string> readZipMember(const ByteSource &archive, const ZipMember &member) {
  ZERO_ASSIGN_OR_RETURN(std::string bytes, archive.piece(member.dataOffset, member.compressedSize));
  if (member.method != 0) {
    ZERO_ASSIGN_OR_RETURN(bytes, inflateAll(bytes, member));
  }
  ZERO_RETURN_IF_ERROR(checkChecksum(extendChecksum(0, bytes), member));
  return bytes;
}

Status checkStoredZipMember(const ByteSource &archive, const ZipMember &member) {
  uint32_t checksum = 0;
  ZERO_RETURN_IF_ERROR(archive.forEachPiece(member.dataOffset, member.size, [&](std::string_view bytes, uint64_t) {
    checksum = extendChecksum(checksum, bytes);
    return Status();
  }));
  return checkChecksum(checksum, member);
}

} // namespace zero

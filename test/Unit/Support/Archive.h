//===- Archive.h - Zip archives for tests ---------------------------------===//
#ifndef ZERO_TEST_UNIT_SUPPORT_ARCHIVE_H
#define ZERO_TEST_UNIT_SUPPORT_ARCHIVE_H

#include <cstring>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

namespace zero::test {

template <typename T> void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

inline std::string deflated(const std::string &bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// An archive of (name, bytes), deflated or stored.
inline std::string zip(const std::vector<std::pair<std::string, std::string>> &members, bool deflate = false) {
  std::string archive, directory;
  for (const auto &[name, bytes] : members) {
    std::string packed = deflate ? deflated(bytes) : bytes;
    uint32_t offset = static_cast<uint32_t>(archive.size());
    std::string fields; // the fields that both headers share
    append<uint16_t>(fields, 20);
    append<uint16_t>(fields, 0);
    append<uint16_t>(fields, deflate ? 8 : 0);
    append<uint32_t>(fields, 0);
    append(fields, static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(bytes.size()))));
    append(fields, static_cast<uint32_t>(packed.size()));
    append(fields, static_cast<uint32_t>(bytes.size()));
    append(fields, static_cast<uint16_t>(name.size()));
    append<uint16_t>(fields, 0);
    append<uint32_t>(archive, 0x04034b50);
    archive += fields + name + packed;
    append<uint32_t>(directory, 0x02014b50);
    append<uint16_t>(directory, 20);
    directory += fields;
    directory.append(10, '\0');
    append(directory, offset);
    directory += name;
  }
  uint32_t offset = static_cast<uint32_t>(archive.size());
  archive += directory;
  append<uint32_t>(archive, 0x06054b50);
  append<uint32_t>(archive, 0);
  append(archive, static_cast<uint16_t>(members.size()));
  append(archive, static_cast<uint16_t>(members.size()));
  append(archive, static_cast<uint32_t>(directory.size()));
  append(archive, offset);
  append<uint16_t>(archive, 0);
  return archive;
}

} // namespace zero::test

#endif

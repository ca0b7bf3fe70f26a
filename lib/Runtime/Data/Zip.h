//===- Zip.h - Members of a zip archive -----------------------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_ZIP_H
#define ZERO_LIB_RUNTIME_DATA_ZIP_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

struct ZipMember {
  std::string name;
  uint16_t method; ///< 0 stored, 8 deflated
  uint32_t checksum;
  uint64_t compressedSize;
  uint64_t size;
  uint64_t dataOffset; ///< in the archive
};

/// Reads the central directory of `archive`; every range is inside it afterwards.
Expected<std::vector<ZipMember>> listZip(std::string_view archive);

/// The bytes of a member, checked against its checksum: a part of `archive` where it is stored, else inflated into `storage`.
Expected<std::string_view> readZipMember(std::string_view archive, const ZipMember &member, std::string &storage);

} // namespace zero

#endif

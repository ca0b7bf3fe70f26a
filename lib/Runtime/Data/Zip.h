//===- Zip.h - Members of a zip archive -----------------------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_ZIP_H
#define ZERO_LIB_RUNTIME_DATA_ZIP_H

#include "lib/Runtime/Data/ByteSource.h"
#include <cstdint>
#include <string>
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
Expected<std::vector<ZipMember>> listZip(const ByteSource &archive);

/// The bytes of a member, inflated where it is deflated and checked against its checksum.
Expected<std::string> readZipMember(const ByteSource &archive, const ZipMember &member);

/// Checks a stored member against its checksum, without keeping its bytes.
Status checkStoredZipMember(const ByteSource &archive, const ZipMember &member);

} // namespace zero

#endif

//===- Format.h - The bytes of a container's header and section table -----===//
#ifndef ZERO_LIB_CONTAINER_FORMAT_H
#define ZERO_LIB_CONTAINER_FORMAT_H

#include "zero/Container/Container.h"
#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace zero::format {

static_assert(std::endian::native == std::endian::little, "containers are little-endian");

inline constexpr char kMagic[8] = {'Z', 'E', 'R', 'O', 'B', 'I', 'N', '\0'};
inline constexpr uint32_t kMaxSections = 4096;
inline constexpr size_t kLabelBytes = 32;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t sectionCount;
  uint64_t fileSize;
  uint64_t indexChecksum; ///< of header (with this field zero), section table and block checksums
  uint64_t reserved[4];
};
static_assert(sizeof(Header) == 64);

struct Entry {
  uint32_t kind;
  uint32_t alignment;
  uint64_t offset;
  uint64_t size;
  uint64_t checksum; ///< of the section's block checksums
  char label[kLabelBytes];
};
static_assert(sizeof(Entry) == 64);

inline uint64_t checksum(const void *data, size_t size) { return XXH3_64bits(data, size); }
inline uint64_t blocksOf(uint64_t size) { return size / kChecksumBlock + (size % kChecksumBlock != 0); }
inline uint64_t alignUp(uint64_t value) { return (value + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment; }

} // namespace zero::format

#endif

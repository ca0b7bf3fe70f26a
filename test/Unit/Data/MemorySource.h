//===- MemorySource.h - Bytes of a test as a file that may end early ------===//
#ifndef ZERO_TEST_UNIT_DATA_MEMORYSOURCE_H
#define ZERO_TEST_UNIT_DATA_MEMORYSOURCE_H

#include "lib/Runtime/Data/ByteSource.h"
#include <cstring>

namespace zero::test {

class MemorySource final : public ByteSource {
public:
  /// After `reads` reads it is as if the file had become shorter.
  explicit MemorySource(std::string_view bytes, uint64_t reads = UINT64_MAX) : bytes(bytes), left(reads) {}

  uint64_t size() const override { return bytes.size(); }
  Status read(uint64_t offset, void *target, uint64_t size) const override {
    if (offset > bytes.size() || size > bytes.size() - offset)
      return Status::badInput("a range outside");
    if (left == 0)
      return Status::badInput("became shorter");
    --left;
    std::memcpy(target, bytes.data() + offset, size);
    return {};
  }

private:
  std::string_view bytes;
  mutable uint64_t left;
};

} // namespace zero::test

#endif

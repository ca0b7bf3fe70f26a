//===- WireReader.h - The fields of a protobuf message, unparsed ----------===//
#ifndef ZERO_LIB_IMPORT_ONNX_WIREREADER_H
#define ZERO_LIB_IMPORT_ONNX_WIREREADER_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace zero::onnx_import {

struct Field {
  uint32_t number = 0;
  bool isDelimited = false;
  llvm::StringRef payload; // of a length-delimited field; empty for others
  uint64_t value = 0;      // of a varint
  llvm::StringRef bytes;   // the field with its tag
};

/// Walks the fields of one message.
class WireReader {
public:
  explicit WireReader(llvm::StringRef message) : rest(message) {}

  /// False at the end, and at malformed bytes (then `ok()` is false).
  bool next(Field &field) {
    if (rest.empty() || !valid)
      return false;
    const char *begin = rest.begin();
    uint64_t tag = varint();
    field = {static_cast<uint32_t>(tag >> 3), (tag & 7) == 2, llvm::StringRef(), 0, llvm::StringRef()};
    switch (tag & 7) {
    case 0:
      field.value = varint();
      break;
    case 1:
      take(8);
      break;
    case 2:
      field.payload = take(varint());
      break;
    case 5:
      take(4);
      break;
    default:
      valid = false; // groups are not part of ONNX
    }
    if (valid)
      field.bytes = llvm::StringRef(begin, static_cast<size_t>(rest.begin() - begin));
    return valid;
  }
  bool ok() const { return valid; }

private:
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest.empty())
        break;
      uint8_t byte = rest.front();
      rest = rest.drop_front();
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    valid = false;
    return 0;
  }
  llvm::StringRef take(uint64_t count) {
    if (count > rest.size()) {
      valid = false;
      return llvm::StringRef();
    }
    llvm::StringRef taken = rest.take_front(count);
    rest = rest.drop_front(count);
    return taken;
  }
  llvm::StringRef rest;
  bool valid = true;
};

} // namespace zero::onnx_import

#endif

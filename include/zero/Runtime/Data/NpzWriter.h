//===- NpzWriter.h - Arrays as numpy.savez writes them --------------------===//
#ifndef ZERO_RUNTIME_DATA_NPZWRITER_H
#define ZERO_RUNTIME_DATA_NPZWRITER_H

#include "zero/Runtime/Base/OutputFile.h"
#include <string>
#include <vector>

namespace zero::schema {
enum class ElementType : uint8_t;
}

namespace zero {

/// Writes arrays of known shapes, each from front to back, in any turn.
class NpzWriter {
public:
  struct Array {
    std::string name;
    schema::ElementType element;
    std::vector<uint64_t> shape;
  };
  static Expected<std::unique_ptr<NpzWriter>> create(const std::string &path, const std::vector<Array> &arrays);
  ~NpzWriter();
  /// The next bytes of an array's elements.
  Status append(size_t array, const void *data, uint64_t size);
  /// Makes the file appear; an error where an array is not complete.
  Status commit();

private:
  struct Member;
  NpzWriter();
  std::unique_ptr<OutputFile> file;
  std::vector<Member> members;
  uint64_t end = 0;
};

} // namespace zero

#endif

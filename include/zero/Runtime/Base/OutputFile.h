//===- OutputFile.h - A file that appears whole or not at all -------------===//
#ifndef ZERO_RUNTIME_BASE_OUTPUTFILE_H
#define ZERO_RUNTIME_BASE_OUTPUTFILE_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <memory>
#include <string>

namespace zero {

/// Written beside its place under a temporary name; removed unless it was committed. What is there and is no regular file (a
/// device) is written in place and never replaced.
class OutputFile {
public:
  static Expected<std::unique_ptr<OutputFile>> create(const std::string &path);
  ~OutputFile();
  Status writeAt(uint64_t offset, const void *data, uint64_t size);
  Status commit();

private:
  OutputFile(std::string path, std::string temporary, int fd);
  std::string path, temporary; ///< `temporary` is empty where the file is written in place
  int fd;
};

} // namespace zero

#endif

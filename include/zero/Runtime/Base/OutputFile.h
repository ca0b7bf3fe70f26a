//===- OutputFile.h - A file that appears whole or not at all -------------===//
#ifndef ZERO_RUNTIME_BASE_OUTPUTFILE_H
#define ZERO_RUNTIME_BASE_OUTPUTFILE_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace zero {

/// Written beside its place under a temporary name; removed unless it was committed. What is there and is no regular file (a
/// device) is written in place and never replaced.
class OutputFile {
public:
  static Expected<std::unique_ptr<OutputFile>> create(const std::string &path);
  ~OutputFile();
  Status writeAt(uint64_t offset, const void *data, uint64_t size);
  /// Some file systems say only when a file is closed that it was not written.
  Status commit();

private:
  OutputFile(std::string path, std::string temporary, int fd);
  std::string path, temporary; ///< `temporary` is empty where the file is written in place
  int fd;
  uint64_t end = 0; ///< of what was written, where it all was from the front on: what a pipe can do
};

/// A descriptor of the file, made empty or new; an error where it is a pipe that nobody reads, and not a wait for its reader.
Expected<int> openForWriting(const std::string &path);

/// Whether create() would succeed later. What is there stays as it is; of a pipe only whether it may be written.
Status checkWritable(const std::string &path);

/// Writes all bytes of a file, or leaves what was there before.
Status writeWholeFile(const std::string &path, std::string_view bytes);

/// The same; "-" is standard output.
Status writeOutput(const std::string &path, std::string_view bytes);

} // namespace zero

#endif

//===- DataFile.h - A file of samples that may change under the job -------===//
#ifndef ZERO_LIB_RUNTIME_DATA_DATAFILE_H
#define ZERO_LIB_RUNTIME_DATA_DATAFILE_H

#include "lib/Runtime/Data/MappedFile.h"

namespace zero {

/// Mapped while it is checked, then read: what was found right when it was opened must be what a step reads, and a file that
/// became shorter is an error, where a mapping would end the process.
class DataFile {
public:
  static Expected<std::unique_ptr<DataFile>> open(const std::string &path);
  DataFile() = default;
  DataFile(const DataFile &) = delete;
  DataFile &operator=(const DataFile &) = delete;
  ~DataFile();

  uint64_t size() const { return static_cast<uint64_t>(opened.st_size); }
  /// All bytes, until `unmap`.
  std::string_view bytes() const { return mapped->bytes(); }
  /// Where a part of `bytes` lies in the file.
  uint64_t offsetOf(std::string_view part) const { return static_cast<uint64_t>(part.data() - bytes().data()); }
  void unmap() { mapped.reset(); }

  /// BadInput where the file is not as it was when it was opened.
  Status read(uint64_t offset, void *target, uint64_t size) const;

private:
  std::string path;
  int fd = -1;
  struct stat opened = {};
  std::unique_ptr<MappedFile> mapped;
};

} // namespace zero

#endif

//===- DataFile.h - A file of samples that may change under the job -------===//
#ifndef ZERO_LIB_RUNTIME_DATA_DATAFILE_H
#define ZERO_LIB_RUNTIME_DATA_DATAFILE_H

#include "lib/Runtime/Data/ByteSource.h"
#include <memory>
#include <sys/stat.h>

namespace zero {

/// Read, never mapped: what was found right when it was opened must be what a step reads, and a file that became shorter is an
/// error, where a mapping would end the process.
class DataFile final : public ByteSource {
public:
  static Expected<std::unique_ptr<DataFile>> open(const std::string &path);
  DataFile() = default;
  DataFile(const DataFile &) = delete;
  DataFile &operator=(const DataFile &) = delete;
  ~DataFile() override;

  uint64_t size() const override { return static_cast<uint64_t>(opened.st_size); }
  /// BadInput where the file is not as it was when it was opened.
  Status read(uint64_t offset, void *target, uint64_t size) const override;

private:
  std::string path;
  int fd = -1;
  struct stat opened = {};
};

} // namespace zero

#endif

//===- MappedFile.h - A file as bytes -------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_MAPPEDFILE_H
#define ZERO_LIB_RUNTIME_DATA_MAPPEDFILE_H

#include "zero/Runtime/Base/Status.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace zero {

class MappedFile {
public:
  static Expected<std::unique_ptr<MappedFile>> open(const std::string &path) {
    // Of a pipe nobody may ever open the other end.
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
      return Status::badInput("cannot open '" + path + "': " + std::strerror(errno));
    struct stat info;
    Status status;
    auto file = std::make_unique<MappedFile>();
    if (::fstat(fd, &info) != 0)
      status = Status::badInput("cannot read '" + path + "': " + std::strerror(errno));
    else if (!S_ISREG(info.st_mode))
      status = Status::badInput("'" + path + "' is not a file");
    else if (info.st_size > 0) {
      void *base = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (base == MAP_FAILED)
        status = Status::badInput("cannot read '" + path + "': " + std::strerror(errno));
      else
        file->view = {static_cast<const char *>(base), static_cast<size_t>(info.st_size)};
    }
    ::close(fd);
    if (!status.ok())
      return status;
    return file;
  }

  MappedFile() = default;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile() {
    if (!view.empty())
      ::munmap(const_cast<char *>(view.data()), view.size());
  }
  std::string_view bytes() const { return view; }

private:
  std::string_view view;
};

} // namespace zero

#endif

//===- DataFile.cpp - A file of samples that may change under the job -----===//
#include "lib/Runtime/Data/DataFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace zero {

Expected<std::unique_ptr<DataFile>> DataFile::open(const std::string &path) {
  auto file = std::make_unique<DataFile>();
  file->path = path;
  file->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // of a pipe nobody may ever open the other end
  if (file->fd < 0)
    return Status::badInput("cannot open '" + path + "': " + std::strerror(errno));
  if (::fstat(file->fd, &file->opened) != 0)
    return Status::badInput("cannot read '" + path + "': " + std::strerror(errno));
  if (!S_ISREG(file->opened.st_mode))
    return Status::badInput("'" + path + "' is not a file");
  return file;
}

DataFile::~DataFile() {
  if (fd >= 0)
    ::close(fd);
}

Status DataFile::read(uint64_t offset, void *target, uint64_t size) const {
  char *bytes = static_cast<char *>(target);
  bool ends = false;
  while (size && !ends) {
    ssize_t count = ::pread(fd, bytes, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return Status::badInput("cannot read '" + path + "': " + std::strerror(errno));
    ends = count == 0;
    bytes += count, offset += static_cast<uint64_t>(count), size -= static_cast<uint64_t>(count);
  }
  struct stat now;
  if (::fstat(fd, &now) != 0)
    return Status::badInput("cannot read '" + path + "': " + std::strerror(errno));
  if (now.st_size != opened.st_size)
    return Status::badInput("'" + path + "' has changed since it was opened: it had " + std::to_string(opened.st_size) +
                            " bytes, now it has " + std::to_string(now.st_size));
  if (ends || now.st_mtim.tv_sec != opened.st_mtim.tv_sec || now.st_mtim.tv_nsec != opened.st_mtim.tv_nsec)
    return Status::badInput("'" + path + "' has changed since it was opened: its " + std::to_string(opened.st_size) +
                            " bytes were written anew");
  return {};
}

} // namespace zero

//===- OutputFile.cpp - A file that appears whole or not at all -----------===//
#include "zero/Runtime/Base/OutputFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace zero {

static Status cannotWrite(const std::string &path) {
  const std::string place = path == "-" ? "standard output" : "'" + path + "'";
  return Status::badInput("cannot write " + place + ": " + std::strerror(errno));
}

OutputFile::OutputFile(std::string path, std::string temporary, int fd)
    : path(std::move(path)), temporary(std::move(temporary)), fd(fd) {}

static bool isPipe(const std::string &path) {
  struct stat there;
  return ::stat(path.c_str(), &there) == 0 && S_ISFIFO(there.st_mode);
}

Expected<int> openForWriting(const std::string &path) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  if (!isPipe(path)) {
    int fd = ::open(path.c_str(), flags, 0666);
    if (fd < 0)
      return cannotWrite(path);
    return fd;
  }
  // Its reader may never come, and all ranks would wait for this one.
  int fd = ::open(path.c_str(), flags | O_NONBLOCK);
  if (fd < 0 && errno == ENXIO)
    return Status::badInput("cannot write '" + path + "': it is a pipe that nobody reads");
  if (fd < 0 || ::fcntl(fd, F_SETFL, O_WRONLY) != 0)
    return cannotWrite(path);
  return fd;
}

Status checkWritable(const std::string &path) {
  if (!isPipe(path))
    return OutputFile::create(path).status();
  // To open and close it would be its end for whoever reads it.
  return ::access(path.c_str(), W_OK) == 0 ? Status() : cannotWrite(path);
}

Expected<std::unique_ptr<OutputFile>> OutputFile::create(const std::string &path) {
  struct stat there;
  bool inPlace = ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);
  std::string temporary = inPlace ? "" : path + ".partial." + std::to_string(::getpid());
  auto opened = openForWriting(inPlace ? path : temporary);
  if (!opened.ok() && inPlace)
    return opened.status();
  if (!opened.ok())
    return cannotWrite(path);
  int fd = *opened;
  return std::unique_ptr<OutputFile>(new OutputFile(path, temporary, fd));
}

OutputFile::~OutputFile() {
  if (fd < 0)
    return;
  ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status OutputFile::writeAt(uint64_t offset, const void *data, uint64_t size) {
  const char *bytes = static_cast<const char *>(data);
  while (size) {
    ssize_t written = ::pwrite(fd, bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == ESPIPE && offset == end)
      written = ::write(fd, bytes, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return cannotWrite(path);
    bytes += written, offset += written, size -= written;
    end = offset;
  }
  return {};
}

Status OutputFile::commit() {
  int written = std::exchange(fd, -1);
  if (::close(written) == 0 && (temporary.empty() || ::rename(temporary.c_str(), path.c_str()) == 0))
    return {};
  Status status = cannotWrite(path);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
  return status;
}

Status writeWholeFile(const std::string &path, std::string_view bytes) {
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::create(path));
  ZERO_RETURN_IF_ERROR(file->writeAt(0, bytes.data(), bytes.size()));
  return file->commit();
}

Status writeOutput(const std::string &path, std::string_view bytes) {
  if (path != "-")
    return writeWholeFile(path, bytes);
  while (!bytes.empty()) {
    ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return cannotWrite(path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

} // namespace zero

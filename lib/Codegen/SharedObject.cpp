//===- SharedObject.cpp - Links an object file ----------------------------===//
#include "ObjectCode.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace zero {

static std::string findLinker() {
  // The quickest to start first: kernels are small, and lld loads all of LLVM.
  for (StringRef name : {"ld.bfd", "ld.lld-22", "ld.lld"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return {};
}

Expected<std::string> linkSharedObject(const std::string &object) {
  std::string linker = findLinker();
  if (linker.empty())
    return Status::programFailed(
        "generated kernels are linked by ld.bfd or ld.lld, neither of which is on the PATH; apt-get install binutils");
  SmallString<128> objectPath, outputPath, messagePath;
  if (sys::fs::createTemporaryFile("zero-kernels", "o", objectPath) ||
      sys::fs::createTemporaryFile("zero-kernels", "so", outputPath) ||
      sys::fs::createTemporaryFile("zero-kernels", "txt", messagePath))
    return Status::programFailed("no temporary file for generated kernels could be made");
  scope_exit removeFiles([&] {
    for (StringRef path : {StringRef(objectPath), StringRef(outputPath), StringRef(messagePath)})
      sys::fs::remove(path);
  });
  {
    std::error_code error;
    raw_fd_ostream file(objectPath, error);
    file << object;
    file.close();
    if (!error)
      error = file.error();
    file.clear_error();
    if (error)
      return Status::programFailed("writing " + objectPath.str().str() + " failed: " + error.message());
  }
  SmallVector<StringRef> arguments = {
      linker, "-shared", "-o",   outputPath,    objectPath,         "-z",
      "defs", "-z",      "text", "--strip-all", "--hash-style=gnu", "--build-id=none"};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(messagePath), StringRef(messagePath)};
  std::string error;
  int exitCode = sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects, 60, 0, &error);
  auto output = MemoryBuffer::getFile(outputPath, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (exitCode == 0 && output)
    return (*output)->getBuffer().str();
  if (exitCode == 0)
    error = output.getError().message();
  else if (auto messages = MemoryBuffer::getFile(messagePath); messages && error.empty())
    error = (*messages)->getBuffer().rtrim().str();
  return Status::programFailed("linking generated kernels with " + linker + " failed: " + error);
}

} // namespace zero

//===- MPIStatus.h - One way to call MPI ----------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_MPISTATUS_H
#define ZERO_LIB_RUNTIME_HAL_COMM_MPISTATUS_H

#include "zero/Runtime/Base/Status.h"
#include <mpi.h>
#include <mutex>

namespace zero {

/// Serializes calls where the library was not granted to several threads at once.
class MpiLock {
public:
  static void setRequired(bool required) { isRequired() = required; }
  MpiLock() : lock(theMutex(), std::defer_lock) {
    if (isRequired())
      lock.lock();
  }

private:
  static bool &isRequired() {
    static bool required = false;
    return required;
  }
  static std::mutex &theMutex() {
    static std::mutex mutex;
    return mutex;
  }
  std::unique_lock<std::mutex> lock;
};

/// The error of an MPI call: its name and MPI's own text.
inline Status mpiStatus(int code, const char *call) {
  if (code == MPI_SUCCESS)
    return {};
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::string name = call;
  return Status::communication(name.substr(0, name.find('(')) + " failed: " + std::string(text, length));
}

} // namespace zero

/// Calls MPI; returns its error from the enclosing function.
#define ZERO_MPI(call)                                                                                       \
  do {                                                                                                       \
    ::zero::Status mpiResult;                                                                                \
    {                                                                                                        \
      ::zero::MpiLock mpiLock;                                                                               \
      mpiResult = ::zero::mpiStatus(call, #call);                                                            \
    }                                                                                                        \
    if (!mpiResult.ok())                                                                                     \
      return mpiResult;                                                                                      \
  } while (false)

#endif

//===- Machine.h - Processes of the same machine --------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_MACHINE_H
#define ZERO_LIB_RUNTIME_HAL_COMM_MACHINE_H

#include <string>

namespace zero {

/// Names the machine, and the space in which numbers of processes mean something: without spaces, equal where processes can open
/// each other's files through /proc. Host names that differ count as machines that differ, as they do for MPI.
std::string machineName();

/// Opens what process `id` has open as `file`; -1 (and errno) where it cannot be seen. Equivalent to: passing a descriptor.
int openFileOf(int id, int file);

} // namespace zero

#endif

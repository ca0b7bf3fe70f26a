//===- ShowProgram.h - The stream of commands of a program, as text -------===//
#ifndef ZERO_RUNTIME_EXECUTOR_SHOWPROGRAM_H
#define ZERO_RUNTIME_EXECUTOR_SHOWPROGRAM_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <iosfwd>

namespace zero {

/// Walks `steps` steps of the program in file `path` as rank 0 does, on the trace device: no data, no peers, no memory. Of a program that cannot
/// train, `steps` predictions.
Status showProgram(const std::string &path, uint64_t steps, std::ostream &out);

} // namespace zero

#endif

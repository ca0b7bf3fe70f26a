//===- Env.h - Every environment variable that the runtime reads ----------===//
#ifndef ZERO_RUNTIME_BASE_ENV_H
#define ZERO_RUNTIME_BASE_ENV_H

namespace zero::env {

/// Whether mpirun (or another launcher of MPI programs) started this process.
bool startedByMpirun();

} // namespace zero::env

#endif

//===- Env.h - Every environment variable that the runtime reads ----------===//
#ifndef ZERO_RUNTIME_BASE_ENV_H
#define ZERO_RUNTIME_BASE_ENV_H

namespace zero::env {

/// Whether mpirun (or another launcher of MPI programs) started this process.
bool startedByMpirun();
/// The rank that the launcher gave this process; 0 where none did.
unsigned launchedRank();

} // namespace zero::env

#endif

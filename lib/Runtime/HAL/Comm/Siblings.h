//===- Siblings.h - Ranks that the same launcher started here -------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_SIBLINGS_H
#define ZERO_LIB_RUNTIME_HAL_COMM_SIBLINGS_H

#include <string>

namespace zero {

/// "rank 1 (process 4711 is stopped)": what can be found out about ranks of this machine before they have met; empty where
/// none is seen to be stopped.
std::string stoppedSiblings();

/// The lowest rank that the launcher started on this machine and that is not stopped; this rank's own where none is seen.
unsigned lowestSpeaker();

} // namespace zero

#endif

//===- Dump.h - A container as text ---------------------------------------===//
#ifndef ZERO_CONTAINER_DUMP_H
#define ZERO_CONTAINER_DUMP_H

#include "zero/Container/Container.h"
#include <string>

namespace zero {

/// The file's sections, what a rank takes, parameters by bucket, what the runtime fills and reads, and how many commands each section has.
std::string dumpSummary(const Container &container);
/// Every command in order: queue, kernel or collective, what it reads and writes, events, where it comes from.
std::string dumpCommands(const Container &container);
/// Arenas, every buffer, every parameter's place in its bucket, states.
std::string dumpBuffers(const Container &container);
/// Every collective: bytes, how often a step runs it, sums.
std::string dumpCollectives(const Container &container);
/// The effective configuration, JSON.
Expected<std::string> dumpConfig(const Container &container);
/// Where a parameter (or frozen tensor) lies: its bucket and place in it, the bytes of each state of it that the rank holds, its values.
/// BadInput, with the nearest name, where there is none of that name; where the rank is none of the program's.
Expected<std::string> dumpParameter(const Container &container, const std::string &name, unsigned rank);

} // namespace zero

#endif

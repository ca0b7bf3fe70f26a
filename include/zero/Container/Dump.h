//===- Dump.h - A container as text ---------------------------------------===//
#ifndef ZERO_CONTAINER_DUMP_H
#define ZERO_CONTAINER_DUMP_H

#include "zero/Container/Container.h"
#include <string>

namespace zero {

/// Sections, memory, parameters, what the runtime fills and reads, and every command in order.
std::string dumpContainer(const Container &container);

} // namespace zero

#endif

//===- Env.cpp - Every environment variable that the runtime reads --------===//
#include "zero/Runtime/Base/Env.h"
#include <cstdlib>
#include <initializer_list>

/// The rank as the launchers say it, or null.
static const char *rankVariable() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char *value = std::getenv(name))
      return value;
  return nullptr;
}

bool zero::env::startedByMpirun() { return rankVariable() != nullptr; }

uint64_t zero::env::testDelaySeed() {
  const char *value = std::getenv("ZERO_TEST_DELAY_SEED");
  return value ? std::strtoull(value, nullptr, 10) : 0;
}

unsigned zero::env::launchedRank() {
  const char *value = rankVariable();
  return value ? static_cast<unsigned>(std::strtoul(value, nullptr, 10)) : 0;
}

//===- Env.cpp - Every environment variable that the runtime reads or sets ===//
#include "zero/Runtime/Base/Env.h"
#include <cstdlib>
#include <string>

/// The rank as the launchers say it.
static constexpr const char *kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

static const char *rankVariable() {
  for (const char *name : kRankVariables)
    if (const char *value = std::getenv(name))
      return value;
  return nullptr;
}

bool zero::env::startedByMpirun() { return rankVariable() != nullptr; }

uint64_t zero::env::testDelaySeed() {
  const char *value = std::getenv("ZERO_TEST_DELAY_SEED");
  return value ? std::strtoull(value, nullptr, 10) : 0;
}

std::string zero::env::cudaLibraryPath() {
  const char *value = std::getenv("ZERO_CUDA_LIBRARY_PATH");
  return value ? value : "";
}

unsigned zero::env::launchedRank() {
  const char *value = rankVariable();
  return value ? static_cast<unsigned>(std::strtoul(value, nullptr, 10)) : 0;
}

void zero::env::chooseMessagesWithinMachine() {
  const char *here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), *all = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (here && all && std::string_view(here) == all)
    ::setenv("OMPI_MCA_pml", "ob1", /*overwrite=*/0);
}

bool zero::env::isFirstOfItsCommand() {
  const char *value = std::getenv("OMPI_APP_CTX_NUM_PROCS"); // "2 1" for mpirun -n 2 A : -n 1 B
  unsigned first = 0, rank = launchedRank();
  while (first < rank && value && *value) {
    char *end = nullptr;
    first += static_cast<unsigned>(std::strtoul(value, &end, 10));
    value = end == value ? nullptr : end;
  }
  return first == rank;
}

std::optional<unsigned> zero::env::launchedRank(std::string_view variables) {
  std::string all = '\0' + std::string(variables) + '\0';
  for (const char *name : kRankVariables)
    if (size_t at = all.find('\0' + std::string(name) + "="); at != std::string::npos)
      return static_cast<unsigned>(std::strtoul(all.c_str() + all.find('=', at) + 1, nullptr, 10));
  return std::nullopt;
}

//===- Env.cpp - Every environment variable that the runtime reads --------===//
#include "zero/Runtime/Base/Env.h"
#include <cstdlib>
#include <initializer_list>

bool zero::env::startedByMpirun() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (std::getenv(name))
      return true;
  return false;
}

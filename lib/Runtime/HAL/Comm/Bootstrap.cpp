//===- Bootstrap.cpp - What all bootstraps share --------------------------===//
#include "zero/Runtime/HAL/Bootstrap.h"
#include <algorithm>

namespace zero {

Status Bootstrap::agree(const Status &mine) {
  failedTogether = false;
  std::string packed(1, static_cast<char>(mine.exitCode()));
  if (!mine.ok())
    packed += mine.message();
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> all, allGather(packed));
  auto failed = std::find_if(all.begin(), all.end(), [](const std::string &other) { return other[0] != 0; });
  if (failed == all.end())
    return {};
  failedTogether = true;
  Status status(static_cast<ErrorCode>((*failed)[0]), failed->substr(1));
  bool same = std::all_of(all.begin(), all.end(), [&](const std::string &other) { return other == *failed; });
  return same ? status : status.annotate("rank " + std::to_string(failed - all.begin()));
}

} // namespace zero

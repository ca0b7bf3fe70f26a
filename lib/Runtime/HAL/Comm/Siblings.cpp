//===- Siblings.cpp - Ranks that the same launcher started here -----------===//
#include "lib/Runtime/HAL/Comm/Siblings.h"
#include "lib/Runtime/HAL/Comm/SharedJobView.h"
#include "zero/Runtime/Base/Env.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace zero {
namespace {

struct Sibling {
  unsigned rank;
  int process;
  bool stopped;
};

/// The parent of a process as /proc says it; 0 where there is none.
int parentOf(int process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  size_t name = text.rfind(") ");
  return name == std::string::npos || name + 4 >= text.size() ? 0 : std::atoi(text.c_str() + name + 4);
}

std::vector<Sibling> findSiblings() {
  std::vector<Sibling> found;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::string name = entry.path().filename();
    int process = 0;
    if (auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
        error != std::errc() || end != name.data() + name.size() || parentOf(process) != ::getppid())
      continue;
    std::ifstream environment(entry.path() / "environ");
    std::string variables((std::istreambuf_iterator<char>(environment)), {});
    if (std::optional<unsigned> rank = env::launchedRank(variables)) {
      char state = processState(process);
      found.push_back({*rank, process, state == 'T' || state == 't' || state == 'Z'});
    }
  }
  std::sort(found.begin(), found.end(), [](const Sibling &a, const Sibling &b) { return a.rank < b.rank; });
  return found;
}

} // namespace

std::string stoppedSiblings() {
  std::string text;
  for (const Sibling &sibling : findSiblings())
    if (sibling.stopped)
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(sibling.rank) + " (process " +
              std::to_string(sibling.process) + " is stopped)";
  return text;
}

unsigned lowestSpeaker() {
  for (const Sibling &sibling : findSiblings())
    if (!sibling.stopped)
      return sibling.rank;
  return env::launchedRank();
}

} // namespace zero

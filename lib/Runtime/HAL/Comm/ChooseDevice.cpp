//===- ChooseDevice.cpp - A device for each rank of a machine -------------===//
#include "lib/Runtime/HAL/Comm/Machine.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include <algorithm>
#include <map>
#include <sstream>

namespace zero {
namespace {

/// What a rank says of itself, in one line: its machine, then what it sees.
std::string introduction(const std::vector<std::string> &visible) {
  std::string text = machineName();
  for (const std::string &device : visible)
    text += " " + device;
  return text;
}

} // namespace

Expected<unsigned> chooseDevice(Bootstrap &bootstrap, const Expected<std::vector<std::string>> &visible, bool shared) {
  ZERO_RETURN_IF_ERROR(bootstrap.agree(visible.ok() && visible->empty() ? Status::badInput("there is no device to choose from") : visible.status()));
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> introductions, bootstrap.allGather(introduction(*visible)));
  // Every rank chooses for all.
  std::map<std::pair<std::string, std::string>, std::vector<unsigned>> ranksOf; // by machine and device
  unsigned mine = 0;
  for (unsigned rank = 0; rank < introductions.size(); ++rank) {
    std::istringstream words(introductions[rank]);
    std::string machine, device, best;
    words >> machine;
    unsigned number = 0, bestNumber = 0;
    for (; words >> device; ++number)
      if (best.empty() || ranksOf[{machine, device}].size() < ranksOf[{machine, best}].size()) {
        best = device;
        bestNumber = number;
      }
    std::vector<unsigned> &ranks = ranksOf[{machine, best}];
    if (!ranks.empty() && !shared)
      return bootstrap.agree(Status::badInput("ranks " + std::to_string(ranks.front()) + " and " + std::to_string(rank) + " of a machine would share " + best +
                                              ", and NCCL wants a GPU for each rank: rank " + std::to_string(rank) + " sees " + std::to_string(number) +
                                              ", all taken by lower ranks; with --comm=mpi ranks share them"));
    ranks.push_back(rank);
    if (rank == bootstrap.rank())
      mine = bestNumber;
  }
  return mine;
}

} // namespace zero

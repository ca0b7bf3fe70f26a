//===- Statistics.cpp - How a process used the simulated devices ----------===//
#include "test/CUDA/Shim/Statistics.h"
#include "test/CUDA/Shim/Report.h"
#include <fcntl.h>
#include <unistd.h>

namespace zero::shim {

Statistics &Statistics::get() {
  static auto *statistics = new Statistics;
  return *statistics;
}

void Statistics::write() const {
  const std::string path = setting("ZERO_SHIM_STATISTICS");
  if (path.empty())
    return;
  const std::string line = text("{\"graph_launches\": ", graphLaunches, ", \"graph_launches_behind_work\": ", graphLaunchesBehindWork,
                                ", \"host_functions\": ", hostFunctions, ", \"pageable_uploads\": ", pageableUploads,
                                ", \"pageable_downloads\": ", pageableDownloads, "}\n");
  // Processes of a job write into one file, each its line at once.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0 || ::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    endProcess("ZERO_SHIM_STATISTICS", text("'", path, "' cannot be written"));
  close(file);
}

} // namespace zero::shim

//===- Trace.cpp - What every command did, as a Chrome trace --------------===//
#include "lib/Runtime/Executor/Trace.h"
#include "lib/Runtime/Executor/JsonText.h"
#include "zero/Runtime/Base/OutputFile.h"
#include <ctime>

namespace zero {

static int64_t read(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return now.tv_sec * int64_t(1000000000) + now.tv_nsec;
}

int64_t traceClock() { return read(CLOCK_MONOTONIC); }
int64_t threadClock() { return read(CLOCK_THREAD_CPUTIME_ID); }

std::string Trace::eventsAsJson(unsigned rank) const {
  static constexpr const char *kNames[kQueueCount] = {"compute", "gather", "reduce"};
  std::string pid = std::to_string(rank), json;
  json += R"({"name":"process_name","ph":"M","pid":)" + pid + R"(,"args":{"name":"rank )" + pid + "\"}},\n";
  for (size_t queue = 0; queue < kQueueCount; ++queue) {
    std::string place = R"("pid":)" + pid + R"(,"tid":)" + std::to_string(queue);
    json += R"({"name":"thread_name","ph":"M",)" + place + R"(,"args":{"name":")" + kNames[queue] + "\"}},\n";
    for (const Entry &entry : entriesOf[queue]) {
      const TracedCommand &command = commands[entry.command];
      char times[80], predicted[80];
      std::snprintf(times, sizeof times, R"("ts":%.3f,"dur":%.3f)", entry.begin / 1e3, (entry.end - entry.begin) / 1e3);
      std::snprintf(predicted, sizeof predicted, R"("predicted_us":%.3f,"cpu_us":%.3f)", command.predictedNs / 1e3,
                    entry.computed / 1e3);
      json += R"({"name":)" + jsonString(command.title) + R"(,"cat":)" + jsonString(command.kernel) + R"(,"ph":"X",)" + place + "," + times +
              R"(,"args":{"section":)" + jsonString(command.section) + R"(,"command":)" + std::to_string(command.command) + "," + predicted +
              (command.algorithm.empty() ? "" : R"(,"algorithm":)" + jsonString(command.algorithm)) + "}},\n";
    }
  }
  return json;
}

Status Trace::write(const std::string &path, Bootstrap &bootstrap) const {
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> all, bootstrap.allGather(eventsAsJson(bootstrap.rank())));
  Status status;
  if (bootstrap.rank() == 0) {
    std::string json = "{\"traceEvents\":[\n";
    for (const std::string &events : all)
      json += events;
    json.erase(json.size() - 2); // the last comma
    json += "\n],\n\"otherData\":{\"prediction\":" + jsonString(calibration.empty() ? "uncalibrated" : "calibrated on " + calibration) + "}}\n";
    status = writeWholeFile(path, json);
  }
  return bootstrap.agree(status);
}

} // namespace zero

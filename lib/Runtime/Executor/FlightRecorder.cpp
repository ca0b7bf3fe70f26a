//===- FlightRecorder.cpp - The last collectives of each rank, as files ---===//
#include "zero/Runtime/Executor/FlightRecorder.h"
#include "lib/Runtime/Executor/JsonText.h"
#include "zero/Runtime/Base/OutputFile.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace zero {
namespace {

std::string recordAsJson(const JobView &view, const FlightRecord &record) {
  constexpr auto relaxed = std::memory_order_relaxed;
  const JobView::Name &name = view.name(record.name.load(relaxed));
  int64_t begin = record.begin.load(relaxed), end = record.end.load(relaxed);
  std::string json = "{\"number\": " + std::to_string(record.number.load(relaxed));
  auto add = [&](const char *key, const std::string &value) { json += std::string(", \"") + key + "\": " + value; };
  add("state", end ? "\"completed\"" : "\"started\"");
  add("kind", jsonString(name.kind));
  add("label", jsonString(name.label));
  add("parameter", name.parameter.empty() ? "null" : jsonString(name.parameter));
  add("bytes", std::to_string(record.bytes.load(relaxed)));
  add("step", std::to_string(record.step.load(relaxed)));
  add("section", jsonString(view.name(record.place.load(relaxed)).text));
  add("channel", std::to_string(record.channel.load(relaxed)));
  add("sequence", std::to_string(record.sequence.load(relaxed)));
  add("begin_unix_nanoseconds", std::to_string(begin));
  add("duration_nanoseconds", end ? std::to_string(end - begin) : "null");
  return json + "}";
}

std::string rankAsJson(const JobView &view, unsigned rank, const RankState &state) {
  std::vector<const FlightRecord *> records;
  for (const FlightRecord &record : state.records)
    if (record.number.load(std::memory_order_relaxed))
      records.push_back(&record);
  std::sort(records.begin(), records.end(), [](const FlightRecord *a, const FlightRecord *b) {
    return a->number.load(std::memory_order_relaxed) < b->number.load(std::memory_order_relaxed);
  });
  std::string json = "{\"version\": 1, \"rank\": " + std::to_string(rank) + ", \"world_size\": " + std::to_string(view.size()) +
                     ", \"where\": " + jsonString(view.whereabouts(rank)) +
                     ", \"collectives\": " + std::to_string(state.collectives.load(std::memory_order_relaxed)) +
                     ", \"entries\": [";
  for (const FlightRecord *record : records)
    json += (record == records.front() ? "\n" : ",\n") + recordAsJson(view, *record);
  return json + "\n]}\n";
}

} // namespace

std::string writeFlightRecords(const std::string &folder, const JobView &view, const std::vector<unsigned> &ranks) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  Status status = failed ? Status::badInput(failed.message()) : Status();
  for (unsigned rank : ranks) {
    const RankState *state = view.state(rank);
    if (!state || !status.ok())
      continue;
    status = writeWholeFile(folder + "/rank-" + std::to_string(rank) + ".json", rankAsJson(view, rank, *state));
  }
  if (!status.ok())
    return "; the last collectives cannot be written to '" + folder + "': " + status.message();
  return "; the last collectives of each rank are in '" + folder + "'";
}

Status checkFlightRecorder(const std::string &folder) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  fs::path place = fs::absolute(folder, unknown);
  if (place.filename().empty()) // "DIR/"
    place = place.parent_path();
  while (!fs::exists(fs::symlink_status(place, unknown)) && place.has_parent_path() && place != place.parent_path())
    place = place.parent_path();
  std::string why;
  if (!fs::is_directory(place, unknown))
    why = "'" + place.string() + "' is no folder";
  else if (::access(place.c_str(), W_OK | X_OK) != 0)
    why = "'" + place.string() + "': " + std::strerror(errno);
  return why.empty() ? Status() : Status::badInput("cannot write flight records to --flight-recorder=" + folder + ": " + why);
}

} // namespace zero

//===- Report.cpp - What rank 0 says while training -----------------------===//
#include "lib/Runtime/Executor/Report.h"
#include "lib/Runtime/Executor/JsonText.h"
#include "zero/Runtime/Base/Env.h"
#include "zero/Runtime/Base/OutputFile.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <unistd.h>

namespace zero {

MetricsFile::~MetricsFile() {
  if (file)
    std::fclose(file);
}

static Status cannotWrite(const std::string &path) {
  return Status::badInput("cannot write '" + path + "': " + std::strerror(errno));
}

Status MetricsFile::open(const std::string &name) {
  path = name;
  ZERO_ASSIGN_OR_RETURN(int descriptor, openForWriting(path));
  file = ::fdopen(descriptor, "w");
  return file ? Status() : cannotWrite(path);
}

Status MetricsFile::write(const StepReport &report) {
  constexpr int kFloat = 9, kDouble = 17, kTime = 6;
  std::string line = "{\"step\": " + std::to_string(report.step);
  auto add = [&](const char *key, const std::string &value) { line += std::string(", \"") + key + "\": " + value; };
  add("loss", jsonNumber(report.results.loss, kFloat));
  add("grad_norm", jsonNumber(report.results.gradNorm, kFloat));
  add("learning_rate", jsonNumber(report.learningRate, kDouble));
  add("step_seconds", jsonNumber(report.seconds, kTime));
  add("predicted_step_seconds", jsonNumber(report.predictedSeconds, kTime));
  add("samples_per_second", jsonNumber(report.samplesPerSecond, kTime));
  add("comm_bytes_all_gather", std::to_string(report.traffic.allGather));
  add("comm_bytes_reduce_scatter", std::to_string(report.traffic.reduceScatter));
  add("comm_bytes_control", std::to_string(report.traffic.control));
  add("comm_bytes_omitted", std::to_string(report.bytesOmitted));
  // Of what was not waited for, the computation saw nothing.
  const CommunicationTimes &times = report.communication;
  double hidden = std::max(times.total - times.exposed.value_or(0), 0.0);
  add("comm_seconds", jsonNumber(times.total, kTime));
  add("exposed_comm_seconds", times.exposed ? jsonNumber(*times.exposed, kTime) : "null");
  add("comm_overlap_efficiency", times.exposed && times.total > 0 ? jsonNumber(hidden / times.total, kTime) : "null");
  add("peak_device_bytes", std::to_string(report.deviceBytes));
  if (report.otherDeviceBytes)
    add("other_device_bytes", std::to_string(*report.otherDeviceBytes));
  add("peak_gathered_elements", std::to_string(report.peakGatheredElements));
  add("process_bytes", std::to_string(report.processBytes));
  add("peak_process_bytes", std::to_string(report.peakProcessBytes));
  add("peak_resident_bytes", std::to_string(report.peakResidentBytes));
  add("device", jsonString(report.device));
  add("skipped_steps", std::to_string(report.skippedSteps));
  if (report.results.lossScale > 0)
    add("loss_scale", jsonNumber(report.results.lossScale, kDouble)); // equal, not only near, to the power of 2 that it is
  std::string nonFinite;
  for (auto [key, value] : {std::pair("loss", report.results.loss), std::pair("grad_norm", report.results.gradNorm)})
    if (!std::isfinite(value))
      nonFinite += std::string(nonFinite.empty() ? "\"" : ", \"") + key + "\": \"" +
                   (std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf") + "\"";
  if (!nonFinite.empty())
    add("non_finite", "{" + nonFinite + "}");
  line += "}\n";
  for (size_t done = 0; done < line.size();) {
    ssize_t written = ::write(::fileno(file), line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      Status status = cannotWrite(path);
      // Whole lines stay. (A device cannot be cut: nothing is to be done about it.)
      [[maybe_unused]] int cut = ::ftruncate(::fileno(file), static_cast<off_t>(size));
      return status;
    }
    done += static_cast<size_t>(written);
  }
  size += line.size();
  return {};
}

bool outputIsTerminal() {
  if (!::isatty(STDOUT_FILENO))
    return false;
  if (!env::startedByMpirun())
    return true;
  // mpirun gives its ranks a pseudo-terminal in any case: what counts is where mpirun itself writes.
  char target[256];
  std::string link = "/proc/" + std::to_string(::getppid()) + "/fd/1";
  ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  std::string_view name(target, size > 0 ? static_cast<size_t>(size) : 0);
  return name.starts_with("/dev/pts/") || name.starts_with("/dev/tty");
}

Progress::Progress(uint64_t steps, uint64_t stepsPerLine)
    : steps(steps), stepsPerLine(stepsPerLine), terminal(outputIsTerminal()) {}

std::string lossScaleText(float scale) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", static_cast<double>(scale));
  return text;
}

/// A NaN has a sign, which printf shows and which says nothing: inf - inf is negative on x86.
static double shownNumber(double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; }

void Progress::show(const StepReport &report) {
  ++done;
  elapsed += report.seconds;
  const double loss = shownNumber(report.results.loss), gradNorm = shownNumber(report.results.gradNorm);
  char line[280], skipped[40] = "";
  std::string scale;
  if (report.skippedSteps)
    std::snprintf(skipped, sizeof skipped, "  skipped %llu", static_cast<unsigned long long>(report.skippedSteps));
  if (report.results.lossScale > 0)
    scale = "  loss_scale " + lossScaleText(report.results.lossScale);
  if (terminal) {
    // At most ten times a second; the last step always.
    if (done != steps && elapsed - shown < 0.1)
      return;
    shown = elapsed;
    uint64_t left = static_cast<uint64_t>(elapsed / static_cast<double>(done) * static_cast<double>(steps - done) + 0.5);
    std::snprintf(line, sizeof line, "\rstep %llu/%llu  loss %.5f%s%s  %.1f samples/s  %llu:%02llu left\033[K",
                  static_cast<unsigned long long>(report.step), static_cast<unsigned long long>(steps), loss, scale.c_str(), skipped,
                  report.samplesPerSecond, static_cast<unsigned long long>(left / 60),
                  static_cast<unsigned long long>(left % 60));
  } else {
    if (report.step != 1 && report.step != steps && report.step % stepsPerLine != 0)
      return;
    std::snprintf(line, sizeof line, "step %llu/%llu  loss %.5f  grad_norm %.5f%s%s  %.1f samples/s\n",
                  static_cast<unsigned long long>(report.step), static_cast<unsigned long long>(steps), loss, gradNorm, scale.c_str(), skipped,
                  report.samplesPerSecond);
  }
  std::fputs(line, stdout);
  std::fflush(stdout);
}

void Progress::finish() {
  if (terminal && done)
    std::fputs("\n", stdout);
  std::fflush(stdout);
}

} // namespace zero

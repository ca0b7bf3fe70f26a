//===- Report.cpp - Settings and reports of the simulated driver ----------===//
#include "test/CUDA/Shim/Report.h"
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unistd.h>

namespace zero::shim {

std::string setting(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

uint64_t numberSetting(const char *name, uint64_t absent) {
  std::string value = setting(name);
  if (value.empty())
    return absent;
  char *end = nullptr;
  uint64_t number = std::strtoull(value.c_str(), &end, 10);
  if (*end)
    endProcess(name, text("'", value, "' is no number"));
  return number;
}

bool exitsOnMisuse() {
  std::string value = setting("ZERO_SHIM_ON_ERROR");
  if (!value.empty() && value != "exit" && value != "return")
    endProcess("ZERO_SHIM_ON_ERROR", text("'", value, "' is neither exit nor return"));
  return value != "return";
}

void say(std::string_view call, std::string_view text) {
  std::string line = "simulated CUDA: " + std::string(call) + ": " + std::string(text) + "\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void endProcess(std::string_view call, std::string_view text) {
  say(call, text);
  std::fflush(nullptr);
  _exit(kMisuseExitCode);
}

CUresult misuse(CUresult code, std::string_view call, const std::string &text) {
  if (exitsOnMisuse())
    endProcess(call, text);
  say(call, text);
  return code;
}

bool injectedFailure(std::string_view call) {
  const char *wish = std::getenv("ZERO_SHIM_FAIL");
  if (!wish)
    return false;
  std::string_view wanted = wish;
  size_t colon = wanted.rfind(':');
  if (colon == std::string_view::npos)
    endProcess("ZERO_SHIM_FAIL", text("'", wanted, "' is not FUNCTION:NTH"));
  if (wanted.substr(0, colon) != call)
    return false;
  static std::mutex mutex;
  static auto *calls = new std::map<std::string, uint64_t, std::less<>>;
  std::lock_guard lock(mutex);
  return ++(*calls)[std::string(wanted)] == std::strtoull(std::string(wanted.substr(colon + 1)).c_str(), nullptr, 10);
}

std::string hex(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

} // namespace zero::shim

//===- Driver.cpp - The driver of CUDA, loaded at run time ----------------===//
#include "lib/Runtime/HAL/CUDA/Driver.h"
#include "zero/Runtime/Base/LoadedLibrary.h"
#include <string_view>

namespace zero {
namespace {

// The names of cuda.h are macros for versioned ones.
#define ZERO_TEXT(name) #name
#define ZERO_EXPANDED_TEXT(name) ZERO_TEXT(name)

std::string versionText(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

Expected<Driver> load() {
  ZERO_ASSIGN_OR_RETURN(LoadedLibrary library, LoadedLibrary::open("libcuda.so.1"));
  Driver driver;
  Status missing;
  auto find = [&](auto &function, const char *symbol) {
    auto found = library.find(symbol);
    if (found.ok())
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(*found);
    else if (missing.ok())
      missing = found.status();
  };
#define ZERO_DRIVER_FUNCTION(name) find(driver.name, ZERO_EXPANDED_TEXT(name));
#include "lib/Runtime/HAL/CUDA/DriverFunctions.inc"
  if (!missing.ok()) {
    int version = 0;
    if (driver.cuDriverGetVersion && driver.cuDriverGetVersion(&version) == CUDA_SUCCESS)
      return Status::badInput(missing.message() + " (the driver is for CUDA " + versionText(version) + ", this build for CUDA " +
                              versionText(CUDA_VERSION) + ")");
    return missing;
  }
  if (Status started = driver.check(driver.cuInit(0), "cuInit"); !started.ok())
    return Status::badInput("the driver of CUDA does not start: " + started.message());
  return driver;
}

} // namespace

Expected<const Driver *> Driver::get() {
  static const Expected<Driver> driver = load();
  if (!driver.ok())
    return driver.status();
  return &*driver;
}

Status Driver::check(CUresult result, const char *function) const {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *words = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = "an error that it has no name for";
  if (cuGetErrorString(result, &words) != CUDA_SUCCESS || !words)
    words = "";
  std::string_view call(function);
  return Status::programFailed(std::string(call.substr(0, call.find('('))) + ": " + (*words ? words + std::string(" (") + name + ")" : name));
}

} // namespace zero

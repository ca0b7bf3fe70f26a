//===- RunBody.h - One rank's work, with its exceptions as errors ---------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_RUNBODY_H
#define ZERO_LIB_RUNTIME_HAL_COMM_RUNBODY_H

#include "zero/Runtime/HAL/Bootstrap.h"
#include <new>

namespace zero {

/// Libraries throw, and so does an allocation that fails: an error of this rank as any other, so that all ranks end. Ranks
/// that succeed wait for each other, so that one that is lost after the last collective is missed as well.
inline Status runBody(const std::function<Status(Bootstrap &)> &body, Bootstrap &bootstrap) {
  try {
    ZERO_RETURN_IF_ERROR(body(bootstrap));
    return bootstrap.agree({});
  } catch (const std::bad_alloc &) {
    return Status::programFailed("out of host memory, " + bootstrap.view().whereabouts(bootstrap.rank()));
  } catch (const std::exception &error) {
    return Status::programFailed(error.what());
  }
}

/// The name of an exchange of the bootstrap itself.
inline uint32_t addExchange(JobView &view, const char *kind) {
  return view.addName({kind, "control", "", std::string(kind) + " of control data"});
}

} // namespace zero

#endif

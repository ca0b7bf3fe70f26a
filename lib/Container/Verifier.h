//===- Verifier.h - What holds of every plan that was opened --------------===//
#ifndef ZERO_LIB_CONTAINER_VERIFIER_H
#define ZERO_LIB_CONTAINER_VERIFIER_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <string_view>

namespace zero {

struct ContainerSizes {
  uint64_t weights = 0; ///< bytes of the weights section
  uint64_t frozen = 0;  ///< bytes of the frozen section
};

/// Checks the FlatBuffers structure, then every id, range and size of the plan: after it, the executor trusts them.
Status verifyPlan(std::string_view bytes, const ContainerSizes &sizes);

} // namespace zero

#endif

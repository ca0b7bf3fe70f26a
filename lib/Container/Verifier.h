//===- Verifier.h - What holds of every plan that was opened --------------===//
#ifndef ZERO_LIB_CONTAINER_VERIFIER_H
#define ZERO_LIB_CONTAINER_VERIFIER_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <string_view>

namespace zero::schema {
struct Plan;
}

namespace zero {

struct ContainerSizes {
  uint64_t weights = 0; ///< bytes of the weights section
  uint64_t frozen = 0;  ///< bytes of the frozen section
  uint64_t modelBytes = 0; ///< bytes of the section with the model's own bytes
};

/// Checks the FlatBuffers structure, then every id, range and size of the plan: after it, the executor trusts them.
Status verifyPlan(std::string_view bytes, const ContainerSizes &sizes);

/// Checks the model's skeleton against the verified plan: messages nest, ranges lie in their sections, parameters are the
/// plan's in size and type.
Status verifySkeleton(std::string_view bytes, const schema::Plan &plan, const ContainerSizes &sizes);

} // namespace zero

#endif

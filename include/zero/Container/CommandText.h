//===- CommandText.h - What a command of a plan is called -----------------===//
#ifndef ZERO_CONTAINER_COMMANDTEXT_H
#define ZERO_CONTAINER_COMMANDTEXT_H

#include "zero/Container/PlanView.h"
#include <string>

namespace zero {

/// "matmul node_addmm", "all_gather b0 (wte.weight and 1 more)": as the report of zero-compile calls it.
std::string commandTitle(const schema::Plan &plan, const schema::Command &command);
/// The first of these two words: the kernel, the kind of collective, "copy" or "zero".
std::string commandKind(const schema::Plan &plan, const schema::Command &command);
/// "%buffer[offset, size]", "%buffer[offset + rank * stride, size]".
std::string sliceText(const schema::Plan &plan, const schema::Slice &slice);

} // namespace zero

#endif

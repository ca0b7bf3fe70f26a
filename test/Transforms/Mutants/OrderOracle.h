//===- OrderOracle.h - Race freedom of a section, by brute force ----------===//
//
// What plan-verify is held against: the full happens-before relation by transitive closure, and every pair of commands. It shares
// no code and no idea with the verifier (no clocks, no last accesses) and takes O(n^2) time and memory.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_TRANSFORMS_MUTANTS_ORDERORACLE_H
#define ZERO_TEST_TRANSFORMS_MUTANTS_ORDERORACLE_H

#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace zero::test {

/// Empty where every event is recorded before it is waited for by another queue and awaited by somebody, every two conflicting
/// commands of different queues are ordered, and no wait could go without losing the order of the two commands that it joins and
/// that conflict; else the first reason why not.
std::string findDisorder(plan::SectionOp section);

} // namespace zero::test

#endif

//===- PlanNumbers.h - Where the numbers of a plan's records are ----------===//
#ifndef ZERO_TEST_RUNTIME_DAMAGE_PLANNUMBERS_H
#define ZERO_TEST_RUNTIME_DAMAGE_PLANNUMBERS_H

#include <cstdint>
#include <string>
#include <vector>

namespace zero::test {

/// A number of the records: an id, an offset, a size, a count (also of the elements of a list), an enum, a flag, a real.
struct PlanNumber {
  std::string path; ///< "sections[0].commands[3].action.reads[1].offset"
  uint64_t offset;  ///< of its bytes in the records
  uint32_t bytes;
  bool isReal, isFlag, isCount;
};

/// All numbers of `records`, a plan in which every one is written out (FlatBufferBuilder::ForceDefaults). `schema` is plan.fbs as flatc
/// writes it in binary: numbers that the schema gains are found, too.
std::vector<PlanNumber> findPlanNumbers(const std::string &schema, std::string &records);

} // namespace zero::test

#endif

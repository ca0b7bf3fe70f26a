//===- CalibrationPrograms.h - What zero-compile --calibrate runs ---------===//
#ifndef ZERO_TOOLS_ZERO_COMPILE_CALIBRATIONPROGRAMS_H
#define ZERO_TOOLS_ZERO_COMPILE_CALIBRATIONPROGRAMS_H

#include <cstdint>
#include <string>
#include <vector>

namespace zero {

/// A model of which some runs are measured. Its inputs are tokens of one byte.
struct CalibrationProgram {
  std::string name;
  std::string text;      ///< as an importer's module
  std::string config;    ///< JSON
  int64_t sequence;      ///< tokens of a sample
  int64_t samples;       ///< of a run
  int64_t ranks = 1;
  bool trains = true;
  bool isShared = false;      ///< measured a second time while all other cores do the same
  bool sendsMessages = false; ///< over TCP, as ranks of different machines do
};

/// Products of many shapes, forward and backward, with their optimizer, and attention of two lengths, in float32 and bf16; what stands
/// between the products of a transformer; convolutions; chains of each kind of arithmetic; collectives of two ranks in both types, and as
/// messages. `small`: sizes for tests, whose rates mean nothing.
std::vector<CalibrationProgram> makeCalibrationPrograms(bool small);

} // namespace zero

#endif

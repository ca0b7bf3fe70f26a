//===- FlightRecorder.h - The last collectives of each rank, as files -----===//
//
// Equivalent to: the dumps of PyTorch's NCCL flight recorder (one file a rank), as JSON.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_EXECUTOR_FLIGHTRECORDER_H
#define ZERO_RUNTIME_EXECUTOR_FLIGHTRECORDER_H

#include "zero/Runtime/HAL/JobView.h"

namespace zero {

/// Writes FOLDER/rank-R.json for each of `ranks`, as far as `view` sees them, and makes the folder. Gives what the message of
/// the failure ends with: where they are, or why they could not be written.
std::string writeFlightRecords(const std::string &folder, const JobView &view, const std::vector<unsigned> &ranks);

/// Whether they could be, found out before there is one to write: nothing is made.
Status checkFlightRecorder(const std::string &folder);

} // namespace zero

#endif

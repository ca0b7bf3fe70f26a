//===- GatherParameters.cpp - Parameters of all ranks into files ----------===//
#include "lib/Runtime/Executor/GatherParameters.h"
#include <algorithm>

namespace zero {

/// Writes bytes [begin, begin + size) of a bucket to where its parameters lie in the files.
static Status writeRange(const std::vector<ParameterPlace> &places, uint64_t begin, const char *data, uint64_t size) {
  for (const ParameterPlace &place : places) {
    uint64_t from = std::max(begin, place.bucketBegin), to = std::min(begin + size, place.bucketBegin + place.size);
    if (from < to)
      ZERO_RETURN_IF_ERROR(
          place.file->writeAt(place.fileBegin + (from - place.bucketBegin), data + (from - begin), to - from));
  }
  return {};
}

Status gatherParameters(const ParameterPlaces &places, const Executor &executor, Bootstrap &bootstrap, size_t buckets,
                        Status &written) {
  constexpr uint64_t kPiece = Executor::kReadBytes;
  const bool writes = bootstrap.rank() == 0 && !places.empty();
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const Executor::Parameters mine = executor.parameters(bucket);
    for (uint64_t offset = 0; offset < mine.bytes; offset += kPiece) {
      if (!mine.sharded && !(writes && written.ok()))
        break; // nobody waits for what this rank would read
      uint64_t size = std::min(kPiece, mine.bytes - offset);
      ZERO_ASSIGN_OR_RETURN(const std::byte *read, executor.readParameters(bucket, offset, size));
      const char *data = reinterpret_cast<const char *>(read);
      if (!mine.sharded) {
        written = writeRange(places[bucket], offset, data, size);
        continue;
      }
      ZERO_ASSIGN_OR_RETURN(std::vector<std::string> pieces, bootstrap.allGather(std::string(data, size)));
      for (unsigned rank = 0; rank < pieces.size() && writes && written.ok(); ++rank)
        written = writeRange(places[bucket], rank * mine.bytes + offset, pieces[rank].data(), size);
    }
  }
  return {};
}

} // namespace zero

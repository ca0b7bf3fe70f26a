//===- Npy.h - One array as NumPy writes it -------------------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_NPY_H
#define ZERO_LIB_RUNTIME_DATA_NPY_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

struct NpyHeader {
  std::string type; ///< NumPy's own spelling, "<f4"
  std::vector<uint64_t> shape;
  uint64_t dataOffset; ///< where the elements begin
  uint64_t dataBytes;  ///< as many as type and shape say
};

struct NpyArray : NpyHeader {
  std::string_view data;
};

/// The size of the header of an array that begins with `beginning`, of which at least 12 bytes should be there.
uint64_t sizeOfNpyHeader(std::string_view beginning);

/// Reads the header (format versions 1 to 3) of an array of `size` bytes that begins with `beginning`, in which the whole header
/// lies, and checks that the data are there.
Expected<NpyHeader> parseNpyHeader(std::string_view beginning, uint64_t size);

/// The same of an array in memory.
Expected<NpyArray> parseNpy(std::string_view bytes);

} // namespace zero

#endif

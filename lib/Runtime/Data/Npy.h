//===- Npy.h - One array as NumPy writes it -------------------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_NPY_H
#define ZERO_LIB_RUNTIME_DATA_NPY_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

struct NpyArray {
  std::string type; ///< NumPy's own spelling, "<f4"
  std::vector<uint64_t> shape;
  std::string_view data; ///< as many bytes as type and shape say
};

/// Reads the header of `bytes` (format versions 1 to 3) and checks that the data are there.
Expected<NpyArray> parseNpy(std::string_view bytes);

} // namespace zero

#endif

//===- NumpyType.h - Element types as NumPy spells them -------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_NUMPYTYPE_H
#define ZERO_LIB_RUNTIME_DATA_NUMPYTYPE_H

#include "zero/Container/PlanView.h"
#include <string>

namespace zero {

/// The code in the header of a .npy file, and the long name. bfloat16, which NumPy itself does not have, is stored as
/// ml_dtypes' arrays are: two raw bytes, which `array.view(ml_dtypes.bfloat16)` reads.
struct NumpyType {
  const char *code;
  const char *name;
};
NumpyType numpyType(schema::ElementType type);

/// Whether a file's code is the element type's.
bool isNumpyCodeOf(const std::string &code, schema::ElementType type);

/// The long name of the type with that code, or the code in quotes.
std::string nameOfNumpyCode(const std::string &code);

} // namespace zero

#endif

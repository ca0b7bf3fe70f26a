//===- ModelSkeleton.h - The imported model as a frame for trained weights ---===//
#ifndef ZERO_IMPORT_MODELSKELETON_H
#define ZERO_IMPORT_MODELSKELETON_H

#include "zero/Container/ModelSkeleton.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace zero {

/// The model of a file as pieces, with holes where the trained tensors belong, and references to the frozen tensors of the
/// program. A model that is not as it was imported (`size` and the XXH3-64 `checksum` of all its bytes), or in which a
/// trained tensor is not found, gives a skeleton that says so.
ModelSkeleton buildModelSkeleton(llvm::StringRef path, uint64_t size, uint64_t checksum,
                                 llvm::ArrayRef<ProgramTensor> tensors);

/// A skeleton that says why there is no model.
ModelSkeleton noModelSkeleton(const std::string &missing);

} // namespace zero

#endif

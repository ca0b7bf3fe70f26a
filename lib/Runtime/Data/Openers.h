//===- Openers.h - One function per data format ---------------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_OPENERS_H
#define ZERO_LIB_RUNTIME_DATA_OPENERS_H

#include "zero/Runtime/Data/DataSet.h"

namespace zero {

Expected<std::unique_ptr<DataSet>> openNpz(const DataOptions &options, const schema::Plan &plan);
Expected<std::unique_ptr<DataSet>> openTokens(const DataOptions &options, const schema::Plan &plan);

} // namespace zero

#endif

//===- Predict.h - Runs the forward pass over data ------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_PREDICT_H
#define ZERO_LIB_RUNTIME_EXECUTOR_PREDICT_H

#include "zero/Runtime/Data/DataSet.h"
#include "zero/Runtime/Executor/Executor.h"

namespace zero {

/// Runs section predict over all samples, in the order of the file, and writes an .npz with one array for each output on
/// rank 0; the outcome is agreed on. Batched outputs are joined over the samples: a last global batch that the data do not
/// fill repeats the last sample, and what comes of that is dropped. Others are those of rank 0's first run. `data` is null
/// where the section reads no input: then it runs once.
Status predict(const std::string &path, const Container &container, const DataSet *data, Executor &executor,
               Bootstrap &bootstrap);

/// Whether section predict reads an input.
bool readsData(const schema::Plan &plan);

} // namespace zero

#endif

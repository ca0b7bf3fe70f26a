//===- CudnnDescriptors.h - Descriptors of the simulated cuDNN ------------===//
//
// A descriptor is attributes until it is finalized; then it is what they say. What each kind takes is a table: types, numbers of elements,
// and what must be there.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_CUDNNDESCRIPTORS_H
#define ZERO_TEST_CUDA_SHIM_CUDNNDESCRIPTORS_H

#include "test/CUDA/Shim/CudnnEngines.h"
#include "test/CUDA/Shim/Handles.h"
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zero::shim {

/// An attribute that a kind of descriptor has.
struct CudnnAttribute {
  cudnnBackendDescriptorType_t descriptor;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t least, most; ///< elements; `least` 0: may be left out
  const char *text;    ///< its name in cudnn_graph.h
  bool isRead = false; ///< cuDNN gives it, nobody sets it
};
/// Null where the kind has none of that name.
const CudnnAttribute *findAttribute(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name);
/// What is to be set before one is finalized.
std::vector<const CudnnAttribute *> requiredAttributes(cudnnBackendDescriptorType_t descriptor);
uint64_t bytesOf(cudnnBackendAttributeType_t type);
const char *nameOf(cudnnBackendDescriptorType_t descriptor);

struct CudnnDescriptorState {
  struct Value {
    cudnnBackendAttributeType_t type;
    std::vector<std::byte> bytes;
    std::vector<std::shared_ptr<CudnnDescriptorState>> descriptors;
  };

  cudnnBackendDescriptorType_t type;
  bool isFinal = false, isDestroyed = false;
  std::map<cudnnBackendAttributeName_t, Value> values;
  // Of an operation graph, and what is made of it; of a configuration, and what is made of that.
  std::optional<ConvolutionProblem> problem;
  std::optional<CudnnEngine> engine;
  /// What it was made of, besides `values`.
  std::shared_ptr<CudnnDescriptorState> origin;

  template <typename T> std::vector<T> list(cudnnBackendAttributeName_t name) const {
    auto found = values.find(name);
    std::vector<T> elements(found == values.end() ? 0 : found->second.bytes.size() / sizeof(T));
    if (!elements.empty())
      std::memcpy(elements.data(), found->second.bytes.data(), elements.size() * sizeof(T));
    return elements;
  }
  template <typename T> T value(cudnnBackendAttributeName_t name) const { return list<T>(name).at(0); }
  const std::shared_ptr<CudnnDescriptorState> &child(cudnnBackendAttributeName_t name) const { return values.at(name).descriptors.at(0); }
  /// The first of those that it was made of that is no longer there; null where all are.
  const CudnnDescriptorState *findDestroyed() const;
};
using CudnnDescriptorPointer = std::shared_ptr<CudnnDescriptorState>;

/// Empty, or what does not fit together in what is about to be finalized; `refused`: cuDNN does not do it. Fills in what follows from the
/// attributes.
std::string completeDescriptor(CudnnDescriptorState &descriptor, cudnnStatus_t &refused);

} // namespace zero::shim

#endif

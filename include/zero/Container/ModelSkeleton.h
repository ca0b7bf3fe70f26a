//===- ModelSkeleton.h - The model without its weights, to be written -----===//
#ifndef ZERO_CONTAINER_MODELSKELETON_H
#define ZERO_CONTAINER_MODELSKELETON_H

#include "zero/Container/Container.h"
#include <memory>

namespace zero {

/// Element types that are trained, numbered as in plan.fbs.
enum class FloatElement : uint8_t { F32 = 0, F64, F16, BF16 };

/// A tensor of the program that a model may hold.
struct ProgramTensor {
  std::string name;
  bool trained = false;
  FloatElement element = FloatElement::F32; ///< where it is trained
  std::vector<uint64_t> shape;              ///< where it is trained
  uint64_t bytes = 0;
  uint64_t frozenOffset = 0; ///< in the frozen section, where it is not trained
  /// Where its starting values lie in the model's file; none where they come from elsewhere.
  bool inModel = false;
  uint64_t modelOffset = 0;
};

/// A part of the model's message, as skeleton.fbs says.
struct ModelPiece {
  enum class Kind : uint8_t { Bytes = 0, Message, Data };
  enum class Source : uint8_t { Bytes = 0, Frozen, Parameter };
  Kind kind = Kind::Bytes;
  Source source = Source::Bytes;
  uint32_t field = 0, pieces = 0;
  uint64_t offset = 0, size = 0;
  FloatElement element = FloatElement::F32;
  std::string name;
};

/// What the container's sections of kind Model hold.
struct ModelSkeleton {
  std::string missing; ///< why there is no model, where there is none
  std::vector<ModelPiece> pieces;
  std::vector<std::string_view> bytes;                ///< the model's own bytes, one after another
  std::vector<std::shared_ptr<const void>> keptAlive; ///< what `bytes` points into

  /// The writer must not outlive this object.
  void addTo(ContainerWriter &writer) const;
};

} // namespace zero

#endif

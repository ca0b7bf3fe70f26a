//===- PlanView.h - Short ways to read the records of a plan --------------===//
#ifndef ZERO_CONTAINER_PLANVIEW_H
#define ZERO_CONTAINER_PLANVIEW_H

#include "lib/Container/plan_generated.h"
#include <string_view>

namespace zero {

/// The elements of a vector of a plan; an absent vector is an empty one.
template <typename T> class RecordRange {
public:
  explicit RecordRange(const flatbuffers::Vector<T> *vector) : vector(vector) {}
  uint32_t size() const { return vector ? vector->size() : 0; }
  auto operator[](uint32_t i) const { return vector->Get(i); }

  class Iterator {
  public:
    Iterator(const flatbuffers::Vector<T> *vector, uint32_t i) : vector(vector), i(i) {}
    auto operator*() const { return vector->Get(i); }
    Iterator &operator++() { return ++i, *this; }
    bool operator!=(const Iterator &other) const { return i != other.i; }

  private:
    const flatbuffers::Vector<T> *vector;
    uint32_t i;
  };
  Iterator begin() const { return {vector, 0}; }
  Iterator end() const { return {vector, size()}; }

private:
  const flatbuffers::Vector<T> *vector;
};

template <typename T> RecordRange<T> records(const flatbuffers::Vector<T> *vector) { return RecordRange<T>(vector); }

/// The text of a plan's string; an absent string is an empty one.
inline std::string_view text(const flatbuffers::String *string) {
  return string ? std::string_view(string->data(), string->size()) : std::string_view();
}

/// What the plan's kernels are for: cpu or cuda.
inline std::string_view planTarget(const schema::Plan &plan) { return plan.target() ? text(plan.target()) : std::string_view("cpu"); }
inline bool isForCuda(const schema::Plan &plan) { return planTarget(plan) == "cuda"; }

/// The section of that name; null where the plan has none.
inline const schema::Section *findSection(const schema::Plan &plan, std::string_view name) {
  for (const schema::Section *section : records(plan.sections()))
    if (text(section->name()) == name)
      return section;
  return nullptr;
}
/// Whether the plan trains; one without a loss has section predict alone.
inline bool trains(const schema::Plan &plan) { return findSection(plan, "update") != nullptr; }

/// The element types of what is where it is not said: of a sum what is sent, of a bucket's weights and states the bucket's.
inline schema::ElementType targetElement(const schema::Collective &collective) {
  return collective.target_element().value_or(collective.element());
}
inline schema::ElementType weightsElement(const schema::Bucket &bucket) {
  return bucket.weights_element().value_or(bucket.element());
}
inline schema::ElementType stateElement(const schema::State &state, const schema::Bucket &bucket) {
  return state.element().value_or(bucket.element());
}
/// The state of that role of a bucket; null where it has none.
inline const schema::State *findState(const schema::Plan &plan, std::string_view role, size_t bucket) {
  for (const schema::State *state : records(plan.states()))
    if (text(state->role()) == role && state->bucket() == static_cast<int64_t>(bucket))
      return state;
  return nullptr;
}
/// Whether weights of one type can be read as another: floats up to 32 bits are rounded or widened.
inline bool canConvert(schema::ElementType from, schema::ElementType to) {
  auto isShort = [](schema::ElementType type) {
    return type == schema::ElementType::f32 || type == schema::ElementType::f16 || type == schema::ElementType::bf16;
  };
  return from == to || (isShort(from) && isShort(to));
}
/// The state that an export writes, in the type of the model: the parameter, or its master.
inline const schema::State *findExported(const schema::Plan &plan, size_t bucket) {
  const schema::Bucket &record = *records(plan.buckets())[static_cast<uint32_t>(bucket)];
  for (std::string_view role : {"parameter", "master"})
    if (const schema::State *state = findState(plan, role, bucket); state && stateElement(*state, record) == weightsElement(record))
      return state;
  return nullptr;
}

inline uint64_t elementBytes(schema::ElementType type) {
  switch (type) {
  case schema::ElementType::f64:
  case schema::ElementType::i64:
  case schema::ElementType::u64:
    return 8;
  case schema::ElementType::f32:
  case schema::ElementType::i32:
  case schema::ElementType::u32:
    return 4;
  case schema::ElementType::f16:
  case schema::ElementType::bf16:
  case schema::ElementType::i16:
  case schema::ElementType::u16:
    return 2;
  case schema::ElementType::i8:
  case schema::ElementType::u8:
  case schema::ElementType::i1:
    return 1;
  }
  return 0;
}

} // namespace zero

#endif

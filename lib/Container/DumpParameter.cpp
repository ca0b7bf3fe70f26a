//===- DumpParameter.cpp - Where one parameter lies, and its values -------===//
#include "zero/Container/Dump.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/Base/NearestName.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace zero {
namespace {

double halfToDouble(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = exponent == 31  ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double elementAt(const char *bytes, schema::ElementType type) {
  auto read = [&]<typename T>(T value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (type) {
  case schema::ElementType::f32: return read(0.0f);
  case schema::ElementType::f64: return read(0.0);
  case schema::ElementType::f16: return halfToDouble(read(uint16_t(0)));
  case schema::ElementType::bf16: {
    uint32_t bits = uint32_t(read(uint16_t(0))) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  case schema::ElementType::i64: return static_cast<double>(read(int64_t(0)));
  case schema::ElementType::u64: return static_cast<double>(read(uint64_t(0)));
  case schema::ElementType::i32: return read(int32_t(0));
  case schema::ElementType::u32: return read(uint32_t(0));
  case schema::ElementType::i16: return read(int16_t(0));
  case schema::ElementType::u16: return read(uint16_t(0));
  case schema::ElementType::i8: return read(int8_t(0));
  case schema::ElementType::u8: return read(uint8_t(0));
  case schema::ElementType::i1: return read(uint8_t(0)) != 0;
  }
  return 0;
}

/// Smallest, largest, mean and the first values; NaN are counted, not compared.
class ValueSummary {
public:
  explicit ValueSummary(schema::ElementType type) : type(type) {}

  void add(const std::string &bytes) {
    for (size_t at = 0; at < bytes.size(); at += elementBytes(type)) {
      double value = elementAt(bytes.data() + at, type);
      if (first.size() < 6)
        first.push_back(value);
      ++count;
      if (std::isnan(value)) {
        ++nans;
        continue;
      }
      low = std::min(low, value);
      high = std::max(high, value);
      sum += value;
    }
  }

  std::string text() const {
    if (count == 0)
      return "none";
    std::string result;
    if (count > nans)
      result = "min " + number(low) + ", max " + number(high) + ", mean " + number(sum / static_cast<double>(count - nans));
    if (nans)
      result += (result.empty() ? "" : ", ") + std::to_string(nans) + " NaN";
    result += "; first";
    for (double value : first)
      result += " " + number(value);
    return result + (count > first.size() ? " ..." : "");
  }

private:
  static std::string number(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.6g", value);
    return buffer;
  }

  schema::ElementType type;
  uint64_t count = 0, nans = 0;
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  std::vector<double> first;
};

class ParameterDumper {
public:
  ParameterDumper(const Container &container, unsigned rank) : container(container), plan(container.plan()), rank(rank) {}

  Expected<std::string> run(const std::string &name) {
    std::vector<std::string> known;
    for (const schema::Bucket *bucket : records(plan.buckets()))
      for (const schema::Slot *slot : records(bucket->slots())) {
        if (text(slot->name()) == name)
          return dump(*bucket, *slot);
        known.emplace_back(text(slot->name()));
      }
    for (const schema::State *state : records(plan.states()))
      if (text(state->role()) == "frozen") {
        if (text(state->name()) == name)
          return dumpFrozen(*state);
        known.emplace_back(text(state->name()));
      }
    std::string message = "'" + container.path() + "' has no parameter '" + name + "'";
    return Status::badInput(known.empty() ? message + ", nor any other" : message + "; the nearest is '" + nearestName(name, known) + "'");
  }

private:
  /// Elements [first, last) of a bucket.
  struct Range {
    uint64_t first, last;
    bool empty() const { return first >= last; }
    Range with(Range other) const { return {std::max(first, other.first), std::min(last, other.last)}; }
  };
  static std::string number(uint64_t value) { return std::to_string(value); }
  static std::string rangeText(uint64_t first, uint64_t last) { return "[" + number(first) + ", " + number(last) + ")"; }

  static std::string ownersText(uint64_t first, uint64_t last) {
    return first == last ? "owned by rank " + number(first) : "owned by ranks " + number(first) + " to " + number(last);
  }

  Expected<std::string> dump(const schema::Bucket &bucket, const schema::Slot &slot) {
    uint64_t elements = 1, chunk = bucket.elements() / plan.world_size();
    std::string shape;
    for (int64_t size : records(slot.shape())) {
      elements *= static_cast<uint64_t>(size);
      shape += number(static_cast<uint64_t>(size)) + "x";
    }
    const std::string type = schema::EnumNameElementType(bucket.element());
    Range whole = {slot.offset(), slot.offset() + elements}, owned = {rank * chunk, (rank + 1) * chunk};
    const std::string from = weightsElement(bucket) == bucket.element() ? "" : std::string(", from ") + schema::EnumNameElementType(weightsElement(bucket));
    std::string out = "parameter " + std::string(text(slot.name())) + ": " + shape + type + ", " + number(elements) + " elements" + from + "\n";
    out += "bucket " + std::string(text(bucket.name())) + " (" + std::string(text(bucket.block())) + "): elements " +
           rangeText(whole.first, whole.last) + " of " + number(bucket.elements()) + "\n";
    if (elements && chunk)
      out += ownersText(whole.first / chunk, (whole.last - 1) / chunk) + "; each rank owns " + number(chunk) + " elements of the bucket\n";
    out += "rank " + number(rank) + " holds\n";
    for (const schema::State *state : records(plan.states())) {
      if (state->bucket() < 0 || records(plan.buckets())[static_cast<uint32_t>(state->bucket())] != &bucket)
        continue;
      Range held = whole.with(state->sharded() ? owned : Range{0, bucket.elements()});
      out += "  " + std::string(text(state->role())) + (state->element() ? std::string(" (") + schema::EnumNameElementType(*state->element()) + ")" : "") + ": ";
      if (held.empty()) {
        out += "nothing of it\n";
        continue;
      }
      uint64_t size = elementBytes(stateElement(*state, bucket)), base = state->sharded() ? owned.first : 0;
      const schema::Buffer *buffer = records(plan.buffers())[state->slice()->buffer()];
      uint64_t at = buffer->offset() + state->slice()->offset() + rank * state->slice()->rank_stride() + (held.first - base) * size;
      out += "elements " + rangeText(held.first - whole.first, held.last - whole.first) + " in bytes " +
             rangeText(at, at + (held.last - held.first) * size) + " of arena " +
             std::string(text(records(plan.arenas())[buffer->arena()]->name())) + " (%" + std::string(text(buffer->name())) + ")\n";
    }
    ValueSummary all(weightsElement(bucket)), mine(weightsElement(bucket));
    ZERO_RETURN_IF_ERROR(readRange(bucket, whole, all));
    out += "values as compiled: " + all.text() + "\n";
    if (Range part = whole.with(owned); !part.empty() && part.last - part.first < elements) {
      ZERO_RETURN_IF_ERROR(readRange(bucket, part, mine));
      out += "values that rank " + number(rank) + " owns: " + mine.text() + "\n";
    }
    return out;
  }

  /// Weights are rank-major: the chunks that the range lies in, one after the other.
  Status readRange(const schema::Bucket &bucket, Range range, ValueSummary &summary) {
    constexpr uint64_t kAtOnce = 1 << 20; // elements: large parameters are never whole in memory
    const Container::Section *weights = container.find(SectionKind::Weights);
    uint64_t chunk = bucket.elements() / plan.world_size(), size = elementBytes(weightsElement(bucket));
    for (uint64_t at = range.first; at < range.last;) {
      uint64_t owner = at / chunk, end = std::min({range.last, (owner + 1) * chunk, at + kAtOnce});
      std::string bytes((end - at) * size, '\0');
      ZERO_RETURN_IF_ERROR(container.read(*weights, owner * plan.rank_part_bytes() + bucket.chunk_offset() + (at - owner * chunk) * size,
                                          bytes.data(), bytes.size()));
      summary.add(bytes);
      at = end;
    }
    return {};
  }

  Expected<std::string> dumpFrozen(const schema::State &state) {
    const schema::Buffer *buffer = records(plan.buffers())[state.slice()->buffer()];
    uint64_t at = buffer->offset() + state.slice()->offset();
    return "frozen tensor " + std::string(text(state.name())) + ": " + number(state.slice()->size()) + " bytes, whole on every rank\nrank " + number(rank) +
           " holds\n  frozen: bytes " + rangeText(at, at + state.slice()->size()) + " of arena " +
           std::string(text(records(plan.arenas())[buffer->arena()]->name())) + " (%" + std::string(text(buffer->name())) + ")\n";
  }

  const Container &container;
  const schema::Plan &plan;
  unsigned rank;
};

} // namespace

Expected<std::string> dumpParameter(const Container &container, const std::string &name, unsigned rank) {
  if (rank >= container.plan().world_size())
    return Status::badInput("--rank is " + std::to_string(rank) + " but '" + container.path() + "' is compiled for " +
                            std::to_string(container.plan().world_size()) + " ranks");
  return ParameterDumper(container, rank).run(name);
}

} // namespace zero

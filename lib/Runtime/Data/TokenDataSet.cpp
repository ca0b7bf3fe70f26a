//===- TokenDataSet.cpp - Samples from a file of tokens -------------------===//
//
// The file is cut into windows of T tokens; the labels of a window are its tokens one place on. The order of the windows is
// a pure function of seed and epoch.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Data/DataFile.h"
#include "lib/Runtime/Data/Openers.h"
#include "lib/Runtime/Data/Permutation.h"
#include "zero/Container/PlanView.h"

namespace zero {
namespace {

class TokenDataSet final : public DataSet {
public:
  static Expected<std::unique_ptr<DataSet>> open(const DataOptions &options, const schema::Plan &plan) {
    auto data = std::make_unique<TokenDataSet>();
    ZERO_ASSIGN_OR_RETURN(data->file, DataFile::open(options.path));
    if (Status status = data->check(options, plan); !status.ok())
      return status.annotate("'" + options.path + "'");
    return std::unique_ptr<DataSet>(std::move(data));
  }

  uint64_t samples() const override { return (tokens - labelsAhead) / length; }

  Status read(size_t input, uint64_t epoch, uint64_t first, uint64_t number, void *target) const override {
    Permutation order(samples(), seed, epoch);
    return copy(input, first, number, target, [&](uint64_t place) { return order(place); });
  }

  Status readInOrder(size_t input, uint64_t first, uint64_t number, void *target) const override {
    return copy(input, first, number, target, [](uint64_t place) { return place; });
  }

private:
  template <typename Order>
  Status copy(size_t input, uint64_t first, uint64_t number, void *target, Order order) const {
    for (uint64_t i = 0; i < number; ++i) {
      uint64_t begin = order(first + i) * length + (isLabel[input] ? 1 : 0);
      const uint64_t width = wide[input] ? 8 : 4;
      char *row = static_cast<char *>(target) + i * length * width;
      // The narrow tokens lie at the end of the row while they become wide from its start.
      char *narrow = row + length * (width - tokenBytes);
      ZERO_RETURN_IF_ERROR(file->read(begin * tokenBytes, narrow, length * tokenBytes));
      for (uint64_t t = 0; t < length; ++t) {
        if (wide[input])
          store<int64_t>(row, t, tokenAt(narrow, t));
        else
          store<int32_t>(row, t, tokenAt(narrow, t));
      }
    }
    return {};
  }

  template <typename T> static void store(char *row, uint64_t t, uint16_t token) {
    T value = token;
    std::memcpy(row + t * sizeof(T), &value, sizeof(T));
  }
  uint16_t tokenAt(const char *data, uint64_t i) const {
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(data);
    return tokenBytes == 1 ? bytes[i] : static_cast<uint16_t>(bytes[2 * i] | bytes[2 * i + 1] << 8);
  }

  Status check(const DataOptions &options, const schema::Plan &plan) {
    tokenBytes = options.format == DataFormat::Bytes ? 1 : 2;
    length = options.sequenceLength;
    seed = options.seed;
    if (file->size() % tokenBytes != 0)
      return Status::badInput("has " + std::to_string(file->size()) + " bytes, not a multiple of 2");
    tokens = file->size() / tokenBytes;
    labelsAhead = trains(plan) ? 1 : 0;
    if (tokens < length + labelsAhead)
      return Status::badInput("has " + std::to_string(tokens) + " tokens, one sample needs " +
                              std::to_string(length + labelsAhead));

    unsigned labels = 0, others = 0;
    for (const schema::Input *input : records(plan.inputs())) {
      std::string name = (input->label() ? "the labels '" : "input '") + std::string(text(input->name())) + "'";
      (input->label() ? labels : others) += 1;
      if (input->element() != schema::ElementType::i64 && input->element() != schema::ElementType::i32)
        return Status::badInput("holds tokens, but the type of " + name + " is " +
                                schema::EnumNameElementType(input->element()));
      auto shape = records(input->shape());
      if (input->unbatched())
        return Status::badInput("gives samples, " + name + " is the same for all of them");
      if (shape.size() != 2)
        return Status::badInput("gives samples of one dimension, " + name + " has " + std::to_string(shape.size() - 1));
      if (shape[1] != static_cast<int64_t>(length))
        return Status::badInput("--sequence-length is " + std::to_string(length) + ", " + name + " has sequences of " +
                                std::to_string(shape[1]));
      isLabel.push_back(input->label());
      wide.push_back(input->element() == schema::ElementType::i64);
      ZERO_RETURN_IF_ERROR(checkTokens(*input, name));
    }
    if (labels != labelsAhead || others != 1)
      return Status::badInput((labelsAhead ? "gives one input and its labels" : "gives one input") +
                              std::string(", the model takes ") + std::to_string(others) +
                              " inputs and " + std::to_string(labels) + " labels");
    return {};
  }

  Status checkTokens(const schema::Input &input, const std::string &name) const {
    if (input.limit() == 0 || input.limit() >= (tokenBytes == 1 ? 256 : 65536))
      return {};
    return file->forEachPiece(0, file->size(), [&](std::string_view bytes, uint64_t place) -> Status {
      for (uint64_t i = 0; i < bytes.size() / tokenBytes; ++i)
        if (uint16_t token = tokenAt(bytes.data(), i); token >= input.limit())
          return Status::badInput("holds token " + std::to_string(token) + " at " + std::to_string(place / tokenBytes + i) +
                                  ", outside [0, " + std::to_string(input.limit()) + ") of " + name);
      return {};
    });
  }

  std::unique_ptr<DataFile> file;
  unsigned tokenBytes = 1;
  uint64_t length = 0, tokens = 0, seed = 0, labelsAhead = 1;
  std::vector<bool> isLabel, wide;
};

} // namespace

Expected<std::unique_ptr<DataSet>> openTokens(const DataOptions &options, const schema::Plan &plan) {
  return TokenDataSet::open(options, plan);
}

} // namespace zero

//===- Predict.cpp - Runs the forward pass over data ----------------------===//
#include "lib/Runtime/Executor/Predict.h"
#include "lib/Runtime/Executor/ConvertElements.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/Data/NpzWriter.h"
#include <algorithm>
#include <cstdio>
#include <optional>

namespace zero {
namespace {

class Prediction {
public:
  Prediction(const Container &container, const DataSet *data, Executor &executor, Bootstrap &bootstrap)
      : plan(container.plan()), data(data), executor(executor), bootstrap(bootstrap), batch(plan.micro_batch()) {
    batched = false;
    for (const schema::Input *input : records(plan.inputs()))
      batched |= input->predict() && !input->unbatched();
    samples = data && batched ? data->samples() : 1;
    // Without a batched input one run gives everything.
    perRun = batched ? batch * bootstrap.size() : 1;
  }

  Status run(const std::string &path) {
    Status status;
    if (samples == 0)
      status = Status::badInput("the data have 0 samples: there is nothing to predict");
    else if (bootstrap.rank() == 0)
      status = open(path);
    ZERO_RETURN_IF_ERROR(bootstrap.agree(status));
    for (uint64_t first = 0; first < samples; first += perRun) {
      bootstrap.view().moveTo(JobView::kPredicting);
      ZERO_RETURN_IF_ERROR(read(first + (batched ? bootstrap.rank() * batch : 0)));
      ZERO_RETURN_IF_ERROR(executor.runPredict());
      bootstrap.view().moveTo(JobView::kPredicting);
      ZERO_RETURN_IF_ERROR(write(first));
    }
    return bootstrap.agree(writer ? writer->commit() : Status());
  }

private:
  Status open(const std::string &path) {
    std::vector<NpzWriter::Array> arrays;
    std::string widened;
    for (const schema::Output *output : records(plan.outputs())) {
      NpzWriter::Array array{std::string(text(output->name())), output->element(), {}};
      for (int64_t dimension : records(output->shape()))
        array.shape.push_back(static_cast<uint64_t>(dimension));
      if (output->batched())
        array.shape[0] = array.shape[0] / batch * samples;
      // NumPy has no bfloat16: as two raw bytes an element would be no number to whoever reads it.
      if (array.element == schema::ElementType::bf16) {
        array.element = schema::ElementType::f32;
        widened += (widened.empty() ? "'" : ", '") + array.name + "'";
      }
      arrays.push_back(std::move(array));
    }
    if (!widened.empty())
      std::printf("note: of outputs of bfloat16, which NumPy does not have, float32 is written, the same numbers: %s\n", widened.c_str());
    ZERO_ASSIGN_OR_RETURN(writer, NpzWriter::create(path, arrays));
    return {};
  }

  /// This rank's samples from place `first` on; the last sample stands in for those that are not there.
  Status read(uint64_t first) {
    auto inputs = records(plan.inputs());
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]->predict())
        continue;
      auto *target = static_cast<std::byte *>(executor.input(i));
      if (inputs[i]->unbatched()) {
        ZERO_RETURN_IF_ERROR(data->readInOrder(i, 0, 1, target));
        continue;
      }
      uint64_t there = std::min(batch, samples - std::min(samples, first)), bytes = inputs[i]->slice()->size() / batch;
      ZERO_RETURN_IF_ERROR(data->readInOrder(i, first, there, target));
      for (uint64_t place = there; place < batch; ++place)
        ZERO_RETURN_IF_ERROR(data->readInOrder(i, samples - 1, 1, target + place * bytes));
    }
    return {};
  }

  /// The samples of the run that began with sample `first`, from all ranks in order.
  Status write(uint64_t first) {
    auto outputs = records(plan.outputs());
    Status status;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      const auto *source = reinterpret_cast<const char *>(executor.output(i));
      uint64_t size = outputs[i]->slice()->size();
      if (!outputs[i]->batched()) {
        if (first == 0 && writer && status.ok())
          status = add(i, source, size);
        continue;
      }
      uint64_t ofSample = size / batch;
      for (unsigned rank = 0; rank < bootstrap.size(); ++rank) {
        uint64_t begin = first + rank * batch;
        uint64_t bytes = ofSample * std::min(batch, samples - std::min(samples, begin));
        ZERO_RETURN_IF_ERROR(append(i, rank, source, bytes, status));
      }
    }
    return bootstrap.agree(status);
  }

  /// The bytes of one rank to the end of the array. Writing goes on after an error: all ranks have to come to the end.
  Status append(size_t array, unsigned from, const char *source, uint64_t size, Status &status) {
    constexpr uint64_t kPiece = 4 << 20;
    for (uint64_t offset = 0; offset < size; offset += kPiece) {
      uint64_t bytes = std::min(kPiece, size - offset);
      const void *piece = source + offset;
      if (from != 0) {
        buffer.resize(bytes);
        if (from == bootstrap.rank())
          std::copy_n(source + offset, bytes, buffer.data());
        ZERO_RETURN_IF_ERROR(bootstrap.broadcast(buffer.data(), bytes, from));
        piece = buffer.data();
      }
      if (writer && status.ok())
        status = add(array, static_cast<const char *>(piece), bytes);
    }
    return {};
  }

  /// The next elements of an output, in the type that the array has.
  Status add(size_t array, const char *piece, uint64_t bytes) {
    constexpr auto kNarrow = schema::ElementType::bf16, kWide = schema::ElementType::f32;
    if (records(plan.outputs())[static_cast<uint32_t>(array)]->element() != kNarrow)
      return writer->append(array, piece, bytes);
    const uint64_t count = bytes / elementBytes(kNarrow);
    wide.resize(count * elementBytes(kWide));
    convertElements(reinterpret_cast<const std::byte *>(piece), kNarrow, wide.data(), kWide, count);
    return writer->append(array, wide.data(), wide.size());
  }

  const schema::Plan &plan;
  const DataSet *data;
  Executor &executor;
  Bootstrap &bootstrap;
  const uint64_t batch;
  bool batched;
  uint64_t samples, perRun;
  std::unique_ptr<NpzWriter> writer; // on rank 0
  std::string buffer;
  std::vector<std::byte> wide;
};

} // namespace

Status predict(const std::string &path, const Container &container, const DataSet *data, Executor &executor,
               Bootstrap &bootstrap) {
  return Prediction(container, data, executor, bootstrap).run(path);
}

bool readsData(const schema::Plan &plan) {
  for (const schema::Input *input : records(plan.inputs()))
    if (input->predict())
      return true;
  return false;
}

} // namespace zero

//===- TinyPlan.h - A hand-made training program for tests ----------------===//
//
// One parameter w of E elements (one bucket, sharded over N ranks), one input x [b, E], one label y [b].
//   micro_first: gather w on the gather queue; gradient = x[0] (a copy), loss_sum = w . x[0]; reduce-scatter the gradient
//   update:      grad_norm, loss = sum over ranks of loss_sum; skipped = skip_non_finite where one of them is not finite
//                (generated kernel `hold_back`), w = skipped ? w : w - learning_rate * gradient (`descend`)
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_UNIT_SUPPORT_TINYPLAN_H
#define ZERO_TEST_UNIT_SUPPORT_TINYPLAN_H

#include "zero/Container/PlanView.h"
#include "zero/Runtime/HAL/Staging.h"
#include "zero/Runtime/Kernels/Workspace.h"
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace zero::test {

inline std::string serialize(const schema::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishPlanBuffer(builder, schema::Plan::Pack(builder, &plan));
  return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
}

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline void writeFile(const std::string &path, const std::string &bytes) {
  std::filesystem::remove(path); // some file systems flush a file that is truncated and written again
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A folder that is removed at the end of the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "zero-test-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  std::string path;
};

/// Builds plans by hand: each buffer in an arena of its own range.
class PlanBuilder {
public:
  explicit PlanBuilder(uint32_t worldSize) {
    plan.model = "tiny.onnx";
    plan.world_size = worldSize;
    plan.micro_batch = 1;
    plan.accumulation_steps = 1;
    plan.arenas.push_back(std::make_unique<schema::ArenaT>());
    plan.arenas[0]->name = "device";
  }

  schema::Slice buffer(const std::string &name, uint64_t size) {
    auto record = std::make_unique<schema::BufferT>();
    record->name = record->label = name;
    record->offset = plan.arenas[0]->size_bytes;
    record->size_bytes = size;
    record->content = schema::ContentClass::activations;
    plan.arenas[0]->size_bytes += (size + 63) / 64 * 64;
    plan.buffers.push_back(std::move(record));
    return schema::Slice(static_cast<uint32_t>(plan.buffers.size() - 1), 0, size, 0);
  }

  uint32_t kernel(const std::string &name, bool generated = false, uint64_t items = 0) {
    auto record = std::make_unique<schema::KernelT>();
    record->name = name;
    record->generated = generated;
    record->items = items;
    plan.kernels.push_back(std::move(record));
    return static_cast<uint32_t>(plan.kernels.size() - 1);
  }

  void section(const std::string &name) {
    plan.sections.push_back(std::make_unique<schema::SectionT>());
    plan.sections.back()->name = name;
  }

  /// Adds a command; returns it to set waits and record.
  template <typename Record> schema::CommandT &command(schema::QueueKind queue, Record action) {
    auto record = std::make_unique<schema::CommandT>();
    record->queue = queue;
    record->action.Set(std::move(action));
    plan.sections.back()->commands.push_back(std::move(record));
    return *plan.sections.back()->commands.back();
  }

  schema::CommandT &dispatch(uint32_t kernel, std::vector<schema::Slice> reads,
                             std::vector<schema::Slice> writes, std::vector<int64_t> integers = {},
                             std::vector<double> reals = {}) {
    schema::DispatchT record;
    record.kernel = kernel;
    record.reads = std::move(reads);
    record.writes = std::move(writes);
    record.integers = std::move(integers);
    if (schema::KernelT &generated = *plan.kernels[kernel]; generated.generated && generated.slice_bytes.empty())
      for (const auto *slices : {&record.reads, &record.writes})
        for (const schema::Slice &slice : *slices)
          generated.slice_bytes.push_back(slice.size());
    record.reals = std::move(reals);
    return command(schema::QueueKind::compute, std::move(record));
  }

  schema::CommandT &collective(schema::QueueKind queue, schema::CollectiveKind kind,
                               schema::ElementType element, schema::Slice source, schema::Slice target,
                               schema::Slice staging, uint32_t sequence, const std::string &label) {
    schema::CollectiveT record;
    record.kind = kind;
    record.element = element;
    record.source = std::make_unique<schema::Slice>(source);
    record.target = std::make_unique<schema::Slice>(target);
    record.staging = std::make_unique<schema::Slice>(staging);
    record.sequence = sequence;
    uint64_t part = std::min(source.size(), target.size());
    record.wire_bytes = part * (plan.world_size - 1);
    record.label = label;
    return command(queue, std::move(record));
  }

  uint32_t event() { return plan.sections.back()->events++; }

  schema::PlanT plan;
};

/// This rank's range of a slice that holds all ranks' ranges.
inline schema::Slice rangeOf(schema::Slice whole, uint32_t worldSize) {
  uint64_t size = whole.size() / worldSize;
  return schema::Slice(whole.buffer(), whole.offset(), size, size);
}

struct TinyPlan {
  uint64_t elements;
  schema::PlanT plan;
};

inline TinyPlan makeTinyPlan(uint32_t worldSize) {
  using schema::CollectiveKind, schema::ElementType, schema::QueueKind;
  uint64_t elements = 64 * worldSize, bytes = elements * 4, shardBytes = bytes / worldSize;
  PlanBuilder b(worldSize);
  auto x = b.buffer("x", bytes), y = b.buffer("y", 8);
  auto shard = b.buffer("w.shard", shardBytes), full = b.buffer("w", bytes);
  auto gradient = b.buffer("gradient", bytes);
  auto lossSum = b.buffer("loss_sum", 4), loss = b.buffer("loss", 4), count = b.buffer("label_count", 8);
  auto squares = b.buffer("squares", 24 * 8), norm = b.buffer("grad_norm", 4),
       rate = b.buffer("learning_rate", 4), skips = b.buffer("skip_non_finite", 4), skipped = b.buffer("skipped", 4);
  auto staging = b.buffer("staging", std::max<uint64_t>(reduceScatterStagingBytes(shardBytes, worldSize),
                                                        controlSumStagingBytes(24 * 8, worldSize)));
  uint32_t copy = b.kernel("strided_copy"), matmul = b.kernel("matmul"), fill = b.kernel("fill"),
           sumSquares = b.kernel("sum_squares"), normKernel = b.kernel("norm"),
           descend = b.kernel("descend", /*generated=*/true, elements / worldSize),
           holdBack = b.kernel("hold_back", /*generated=*/true, 1);
  int64_t e = static_cast<int64_t>(elements);
  std::vector<int64_t> product{0, 1, 1, 1, e, 0, 0, 0, e, 0, 1, 0, 1};
  auto workspace = b.buffer("dot.workspace", static_cast<uint64_t>(kernelWorkspaceBytes("matmul", product)));

  b.section("micro_first");
  uint32_t gathered = b.event(), produced = b.event();
  schema::CommandT &gather =
      b.collective(QueueKind::gather, CollectiveKind::all_gather, ElementType::f32, shard, full, staging, 0, "b0");
  gather.record = static_cast<int>(gathered);
  gather.location = "w.first"; // as the compiler writes it
  b.dispatch(copy, {x}, {gradient}, {4, 1, e, 0, 1, 0, 1}).record = static_cast<int>(produced);
  schema::CommandT &reduce = b.collective(QueueKind::reduce, CollectiveKind::reduce_scatter, ElementType::f32, gradient,
                                          rangeOf(gradient, worldSize), staging, 0, "b0");
  reduce.waits = {produced};
  reduce.location = "w.first";
  // The gradient's own range is summed in place while x still holds what the dot product reads.
  b.dispatch(matmul, {full, x}, {lossSum, workspace}, product).waits = {gathered};
  b.dispatch(fill, {}, {count}, {8, 1, 1}, {});

  b.section("update");
  b.dispatch(sumSquares, {rangeOf(gradient, worldSize)}, {squares}, {0, e / worldSize});
  b.collective(QueueKind::compute, CollectiveKind::control_sum, ElementType::i64, squares, squares, staging,
               0, "sum_squares");
  b.dispatch(normKernel, {squares}, {norm});
  b.collective(QueueKind::compute, CollectiveKind::control_sum, ElementType::f32, lossSum, loss, staging, 1,
               "loss_sum");
  b.collective(QueueKind::compute, CollectiveKind::control_sum, ElementType::i64, count, count, staging, 2,
               "label_count");
  b.dispatch(holdBack, {loss, norm, skips}, {skipped});
  b.dispatch(descend, {shard, rangeOf(gradient, worldSize), rate, skipped}, {shard});

  auto bucket = std::make_unique<schema::BucketT>();
  bucket->name = "b0";
  bucket->elements = elements;
  for (uint64_t first : {uint64_t(0), elements / 2}) {
    bucket->slots.push_back(std::make_unique<schema::SlotT>());
    bucket->slots.back()->name = first ? "w.second" : "w.first";
    bucket->slots.back()->offset = first;
    bucket->slots.back()->shape = {2, e / 4 - (first ? 1 : 0)};
  }
  b.plan.buckets.push_back(std::move(bucket));
  auto input = [&](const char *name, ElementType element, std::vector<int64_t> shape, schema::Slice slice,
                   bool label) {
    auto record = std::make_unique<schema::InputT>();
    record->name = name;
    record->element = element;
    record->shape = std::move(shape);
    record->slice = std::make_unique<schema::Slice>(slice);
    record->label = label;
    if (label)
      record->limit = 10, record->has_ignore_index = true, record->ignore_index = -100;
    b.plan.inputs.push_back(std::move(record));
  };
  input("x", ElementType::f32, {1, e}, x, false);
  input("y", ElementType::i64, {1}, y, true);
  auto state = std::make_unique<schema::StateT>();
  state->role = "parameter";
  state->name = "b0";
  state->slice = std::make_unique<schema::Slice>(shard);
  state->sharded = true;
  state->bucket = 0;
  b.plan.states.push_back(std::move(state));
  b.plan.rank_part_bytes = shardBytes;
  auto scalar = [&](const char *kind, double value, schema::Slice slice) {
    auto record = std::make_unique<schema::StepScalarT>();
    record->kind = kind;
    record->value = value;
    record->slice = std::make_unique<schema::Slice>(slice);
    b.plan.step_scalars.push_back(std::move(record));
  };
  scalar("learning_rate", 0.5, rate);
  scalar("skip_non_finite", 1, skips);
  auto result = [&](const char *kind, ElementType element, schema::Slice slice) {
    auto record = std::make_unique<schema::StepResultT>();
    record->kind = kind;
    record->element = element;
    record->slice = std::make_unique<schema::Slice>(slice);
    b.plan.step_results.push_back(std::move(record));
  };
  result("loss", ElementType::f32, loss);
  result("grad_norm", ElementType::f32, norm);
  result("label_count", ElementType::i64, count);
  result("skipped", ElementType::f32, skipped);
  result("loss_sum", ElementType::f32, lossSum);
  return {elements, std::move(b.plan)};
}

} // namespace zero::test

#endif

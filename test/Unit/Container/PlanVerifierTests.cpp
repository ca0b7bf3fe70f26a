//===- PlanVerifierTests.cpp - Plans that must not be trusted -------------===//
#include "lib/Container/Verifier.h"
#include "test/Unit/Support/TinyPlan.h"
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace zero {
namespace {

using schema::PlanT;

Status verify(const PlanT &plan) {
  return verifyPlan(test::serialize(plan), {plan.rank_part_bytes * plan.world_size, 0});
}

/// Gives a plan to GPUs, with its buffers where they want them.
void moveToGpu(PlanT &plan) {
  plan.target = "cuda";
  for (auto &buffer : plan.buffers)
    buffer->offset *= 4;
  for (auto &arena : plan.arenas)
    arena->size_bytes *= 4;
  for (uint64_t &bytes : plan.peak_bytes_by_class)
    bytes *= 4;
}

TEST(PlanVerifier, AcceptsTheTinyPlan) {
  for (uint32_t ranks : {1u, 2u, 3u}) {
    Status status = verify(test::makeTinyPlan(ranks).plan);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(PlanVerifier, AcceptsLaunchesOfATargetThatLaunches) {
  test::TinyPlan tiny = test::makeTinyPlan(2);
  moveToGpu(tiny.plan);
  tiny.plan.deterministic = true;
  for (auto &kernel : tiny.plan.kernels)
    if (kernel->generated)
      kernel->grid_blocks = 1, kernel->block_threads = 32, kernel->shared_bytes = 128;
  Status status = verify(tiny.plan);
  EXPECT_TRUE(status.ok()) << status.message();
}

schema::CommandT &command(PlanT &plan, int section, int index) { return *plan.sections[section]->commands[index]; }
schema::CollectiveT &collective(PlanT &plan, int section, int index) {
  return *command(plan, section, index).action.AsCollective();
}

using schema::Slice;
void setBuffer(Slice &s, uint32_t to) { s = Slice(to, s.offset(), s.size(), s.rank_stride()); }
void setOffset(Slice &s, uint64_t to) { s = Slice(s.buffer(), to, s.size(), s.rank_stride()); }
void setSize(Slice &s, uint64_t to) { s = Slice(s.buffer(), s.offset(), to, s.rank_stride()); }
void setStride(Slice &s, uint64_t to) { s = Slice(s.buffer(), s.offset(), s.size(), to); }

/// A gather of the first half of the parameter's state that outlasts the section.
schema::CommandT &addGather(PlanT &plan, const char *section) {
  const schema::Slice state = *plan.states[0]->slice;
  schema::CollectiveT gather;
  gather.source = std::make_unique<Slice>(state.buffer(), 0, state.size() / 2, state.size() / 2);
  gather.target = std::make_unique<Slice>(state.buffer(), 0, state.size(), 0);
  gather.wire_bytes = state.size() / 2;
  gather.label = "b0";
  gather.outlasts = true;
  auto record = std::make_unique<schema::CommandT>();
  record->queue = schema::QueueKind::gather;
  record->action.Set(std::move(gather));
  for (auto &each : plan.sections)
    if (each->name == section) {
      each->events = 1;
      each->commands.push_back(std::move(record));
      return *each->commands.back();
    }
  std::abort();
}

/// An output of one float.
schema::OutputT &addOutput(PlanT &plan) {
  plan.outputs.push_back(std::make_unique<schema::OutputT>());
  schema::OutputT &output = *plan.outputs.back();
  output.name = "y";
  output.element = schema::ElementType::f32;
  output.shape = {1};
  output.slice = std::make_unique<Slice>(0, 0, 4, 0);
  return output;
}
schema::OutputT &addPredict(PlanT &plan) {
  plan.sections.push_back(std::make_unique<schema::SectionT>());
  plan.sections.back()->name = "predict";
  return addOutput(plan);
}

/// A state of no bucket in the first 4 bytes of the first buffer.
schema::StateT &addLone(PlanT &plan, const char *role) {
  plan.states.push_back(std::make_unique<schema::StateT>());
  plan.states.back()->role = role;
  plan.states.back()->slice = std::make_unique<Slice>(0, 0, 4, 0);
  return *plan.states.back();
}

/// A plan for GPUs whose generated kernels are one warp each.
void launchAll(PlanT &plan) {
  moveToGpu(plan);
  for (auto &kernel : plan.kernels)
    if (kernel->generated)
      kernel->grid_blocks = 1, kernel->block_threads = 32;
}

TEST(PlanVerifier, AcceptsEarlyGathers) {
  PlanT plan = test::makeTinyPlan(2).plan;
  plan.sections[1]->events = 1;
  plan.sections[1]->commands.back()->record = 0;
  command(plan, 0, 0).early = {0};
  EXPECT_TRUE(verify(plan).ok()) << verify(plan).message();
}

TEST(PlanVerifier, AcceptsWhatOutlastsTheUpdate) {
  PlanT plan = test::makeTinyPlan(2).plan;
  addGather(plan, "update").record = 0;
  command(plan, 0, 3).carried = {0};
  EXPECT_TRUE(verify(plan).ok()) << verify(plan).message();
}

struct Fault {
  const char *message;
  std::function<void(PlanT &)> damage;
};

// One fault each, with the words that name it.
const Fault faults[] = {
    {"world size 0", [](PlanT &p) { p.world_size = 0; }},
    {"must not be 0", [](PlanT &p) { p.micro_batch = 0; }},
    {"more than an address space", [](PlanT &p) { p.arenas[0]->size_bytes = uint64_t(1) << 60; }},
    {"arena 'device' has an unknown memory kind", [](PlanT &p) { p.arenas[0]->kind = static_cast<schema::MemoryKind>(9); }},
    {"buffer 'x' has an unknown content class", [](PlanT &p) { p.buffers[0]->content = static_cast<schema::ContentClass>(99); }},
    {"command 1 is on an unknown queue", [](PlanT &p) { command(p, 0, 1).queue = static_cast<schema::QueueKind>(9); }},
    {"'micro_first' command 3 waits for event 0 of 'update', which no command of another queue that outlasts it records",
     [](PlanT &p) { command(p, 0, 3).carried = {0}; }},
    {"'update' command 2 waits for event 0 of 'update', which no command of another queue that outlasts it records",
     [](PlanT &p) {
       addGather(p, "update").record = 0;
       command(p, 1, 2).carried = {0};
     }},
    {"'micro_first' command 0 outlasts its section, and is no gather of a parameter's state in 'update' on queue gather",
     [](PlanT &p) { collective(p, 0, 0).outlasts = true; }},
    {"'update' command 7 outlasts its section, and is no gather of a parameter's state in 'update' on queue gather",
     [](PlanT &p) { setBuffer(*addGather(p, "update").action.AsCollective()->target, 0); }},
    {"'update' command 8 is on one queue with another, and one of the two outlasts the section",
     [](PlanT &p) {
       addGather(p, "update");
       addGather(p, "update").action.AsCollective()->outlasts = false;
     }},
    {"'micro_first' command 1 is early, and is no gather at the start of 'micro_first' on queue gather that waits for nothing in it",
     [](PlanT &p) { command(p, 0, 1).early = {0}; }},
    {"'update' command 7 is early, and is no gather at the start of",
     [](PlanT &p) { addGather(p, "update").early = {0}; }},
    {"'micro_first' command 0 is early, and 'update' uses its queue",
     [](PlanT &p) {
       addGather(p, "update").record = 0;
       command(p, 0, 0).early = {0};
     }},
    {"'micro_first' command 0 is early and waits for event 0 of 'update', which no command records",
     [](PlanT &p) { command(p, 0, 0).early = {0}; }},
    {"command 1 copies 512 bytes to 8",
     [](PlanT &p) {
       schema::CopyT copy;
       copy.source = std::make_unique<Slice>(0, 0, 512, 0);
       copy.target = std::make_unique<Slice>(1, 0, 8, 0);
       command(p, 0, 1).action.Set(std::move(copy));
     }},
    {"is in arena 4 of 1", [](PlanT &p) { p.buffers[0]->arena = 4; }},
    {"buffer 'x' starts at 4, not a multiple of 64 as on target cpu", [](PlanT &p) { p.buffers[0]->offset = 4; }},
    {"buffer 'x' starts at 192, not a multiple of 256 as on target cuda", [](PlanT &p) { moveToGpu(p), p.buffers[0]->offset = 192; }},
    {"ends at 18446744073709551552, its arena at", [](PlanT &p) { p.buffers[0]->size_bytes = uint64_t(-64); }},
    {"more padding than bytes", [](PlanT &p) { p.buffers[1]->padding_bytes = 9; }},
    {"classes at the peak sum to 7 bytes", [](PlanT &p) { p.peak_bytes_by_class = {7}; }},
    {"a kernel has no name", [](PlanT &p) { p.kernels[0]->name.clear(); }},
    {"items", [](PlanT &p) { p.kernels[0]->items = uint64_t(1) << 63; }},
    {"it is for target 'tpu', which is neither cpu nor cuda", [](PlanT &p) { p.target = "tpu"; }},
    {"it is both deterministic and fast", [](PlanT &p) { p.target = "cuda", p.deterministic = p.fast = true; }},
    {"it is for target cpu and says how cuda kernels compute", [](PlanT &p) { p.deterministic = true; }},
    {"it is for target cpu and says how cuda kernels compute", [](PlanT &p) { p.tf32 = true; }},
    {"it is for target cpu and says how cuda kernels compute", [](PlanT &p) { p.cudnn_convolutions = true; }},
    {"it is for target cpu and says how cuda kernels compute", [](PlanT &p) { p.target = "cpu", p.cuda_workspace_bytes = 1; }},
    {"is launched as 1 blocks of 0 threads with 0 shared bytes, which only generated kernels of target cuda are",
     [](PlanT &p) { p.kernels[0]->grid_blocks = 1; }},
    {"is launched as 0 blocks of 0 threads with 0 shared bytes, which no device can", [](PlanT &p) { moveToGpu(p); }},
    {"is launched as 1 blocks of 2048 threads with 0 shared bytes, which no device can",
     [](PlanT &p) { launchAll(p), p.kernels.back()->block_threads = 2048; }},
    {"is launched as 2147483648 blocks of 32 threads with 0 shared bytes, which no device can",
     [](PlanT &p) { launchAll(p), p.kernels.back()->grid_blocks = uint64_t(1) << 31; }},
    {"is launched as 1 blocks of 32 threads with 65536 shared bytes, which no device can",
     [](PlanT &p) { launchAll(p), p.kernels.back()->shared_bytes = 65536; }},
    {"has 1 sections, accumulation 1 needs 2", [](PlanT &p) { p.sections.pop_back(); }},
    {"is 'upgrade', not 'update'", [](PlanT &p) { p.sections[1]->name = "upgrade"; }},
    {"has 99 events, more than its 5 commands", [](PlanT &p) { p.sections[0]->events = 99; }},
    {"waits for event 9 of 2", [](PlanT &p) { command(p, 0, 2).waits = {9}; }},
    {"which no earlier command records", [](PlanT &p) { command(p, 0, 0).waits = {1}; }},
    {"of its own queue", [](PlanT &p) { command(p, 0, 3).waits = {1}; }},
    {"records event 5 of 2", [](PlanT &p) { command(p, 0, 0).record = 5; }},
    {"records event -2 of 2", [](PlanT &p) { command(p, 0, 0).record = -2; }},
    {"records event 0 again", [](PlanT &p) { command(p, 0, 1).record = 0; command(p, 0, 2).waits = {}; }},
    {"has no action", [](PlanT &p) { command(p, 0, 1).action.Reset(); }},
    {"runs kernel 77 of 7", [](PlanT &p) { command(p, 0, 1).action.AsDispatch()->kernel = 77; }},
    {"command 6 gives kernel 'descend' 4 slices, and it takes 5", [](PlanT &p) { command(p, 1, 6).action.AsDispatch()->reads.pop_back(); }},
    {"gives kernel 'descend' slice 4 of 252 bytes, and it takes 256",
     [](PlanT &p) { setSize(command(p, 1, 6).action.AsDispatch()->writes[0], 252); }},
    {"section 'micro_first' command 3 writes bytes 0..4 of buffer 'loss_sum' and writes bytes 0..",
     [](PlanT &p) { p.buffers[14]->offset = p.buffers[5]->offset; p.arenas[0]->size_bytes += 16384; }},
    {"section 'micro_first' command 1 writes bytes 0..512 of buffer 'gradient' and reads bytes 0..512 of buffer 'x', which overlap",
     [](PlanT &p) { p.buffers[4]->offset = p.buffers[0]->offset + 64; }},
    {"section 'micro_first' command 2 writes bytes 0..256 of buffer 'gradient' and reads bytes 0..512 of buffer 'gradient', which overlap",
     [](PlanT &p) { setStride(*collective(p, 0, 2).target, 0); }},
    {"section 'micro_first' command 2 writes bytes 0..512 of buffer 'gradient' and reads bytes 0..512 of buffer 'gradient', which overlap",
     [](PlanT &p) { *collective(p, 0, 2).staging = *collective(p, 0, 2).source; }},
    {"section 'micro_first' command 0 writes bytes 0..512 of buffer 'w' and reads bytes 64..320 of buffer 'w', which overlap",
     [](PlanT &p) { *collective(p, 0, 0).source = schema::Slice(3, 64, 256, 0); }},
    {"section 'micro_first' command 1 writes bytes 32..288 of buffer 'w' and reads bytes 0..256 of buffer 'w', which overlap",
     [](PlanT &p) {
       schema::CopyT copy;
       copy.source = std::make_unique<Slice>(3, 0, 256, 0);
       copy.target = std::make_unique<Slice>(3, 32, 256, 0);
       command(p, 0, 1).action.Set(std::move(copy));
     }},
    {"is in buffer 50 of 15", [](PlanT &p) { setBuffer(command(p, 0, 1).action.AsDispatch()->reads[0], 50); }},
    {"of buffer 'x'", [](PlanT &p) { setOffset(command(p, 0, 1).action.AsDispatch()->reads[0], uint64_t(-1)); }},
    {"of buffer 'gradient'", [](PlanT &p) { setStride(*collective(p, 0, 2).target, uint64_t(1) << 63); }},
    {"has no slice", [](PlanT &p) { collective(p, 0, 0).source.reset(); }},
    {"has sequence number 3, its channel is at 0", [](PlanT &p) { collective(p, 0, 0).sequence = 3; }},
    {"goes from 128 to 512 bytes on 2 ranks", [](PlanT &p) { setSize(*collective(p, 0, 0).source, 128); }},
    {"reduces elements that are none of f32, f16, bf16", [](PlanT &p) { collective(p, 0, 2).element = schema::ElementType::f64; }},
    {"reduces elements that are none of f32, f16, bf16", [](PlanT &p) { collective(p, 0, 2).target_element = schema::ElementType::i32; }},
    {"goes from 512 to 256 bytes on 2 ranks", [](PlanT &p) { collective(p, 0, 2).target_element = schema::ElementType::bf16; }},
    {"changes elements, which a sum alone does", [](PlanT &p) { collective(p, 0, 0).target_element = schema::ElementType::bf16; }},
    {"an unknown kind or element type", [](PlanT &p) { collective(p, 0, 2).target_element = static_cast<schema::ElementType>(99); }},
    {"neither f32 nor i64", [](PlanT &p) { collective(p, 1, 1).element = schema::ElementType::i8; }},
    {"has 0 bytes of staging and needs 256", [](PlanT &p) { collective(p, 0, 2).staging.reset(); }},
    {"says that it sends 1 bytes and sends 256", [](PlanT &p) { collective(p, 0, 2).wire_bytes = 1; }},
    {"moves a part of an element",
     [](PlanT &p) {
       setSize(*collective(p, 1, 3).source, 2);
       setSize(*collective(p, 1, 3).target, 2);
     }},
    {"not a multiple of 2 ranks", [](PlanT &p) { p.buckets[0]->elements = 127; }},
    {"of a rank's 256 bytes of weights", [](PlanT &p) { p.buckets[0]->chunk_offset = 64; }},
    {"is too small for parameter 'w.first'", [](PlanT &p) { p.buckets[0]->slots[0]->shape = {int64_t(1) << 40, int64_t(1) << 40}; }},
    {"is too small for parameter 'w.second'", [](PlanT &p) { p.buckets[0]->slots[1]->shape = {-1}; }},
    {"does not have the micro-batch 1", [](PlanT &p) { p.inputs[0]->shape[0] = 2; }},
    {"its slice 512", [](PlanT &p) { p.inputs[0]->shape[1] = 3; }},
    {"bucket 'b0' has an unknown element type", [](PlanT &p) { p.buckets[0]->weights_element = static_cast<schema::ElementType>(99); }},
    {"bucket 'b0' of f32 starts from weights of f64, which cannot be rounded to it",
     [](PlanT &p) { p.buckets[0]->weights_element = schema::ElementType::f64; }},
    {"bucket 'b0' has no state in the type of its weights, bf16, to export",
     [](PlanT &p) { p.buckets[0]->weights_element = schema::ElementType::bf16; }},
    {"is of bucket 8 of 1", [](PlanT &p) { p.states[0]->bucket = 8; }},
    {"state parameter 'b0' has an unknown element type", [](PlanT &p) { p.states[0]->element = static_cast<schema::ElementType>(99); }},
    {"state parameter 'b0' has 256 bytes, its bucket's elements need 128", [](PlanT &p) { p.states[0]->element = schema::ElementType::bf16; }},
    {"state master 'b0' of i32 starts from weights of f32, which cannot be converted to it",
     [](PlanT &p) { p.states[0]->role = "master", p.states[0]->element = schema::ElementType::i32; }},
    {"state loss_scale 'b0' is of a bucket", [](PlanT &p) { p.states[0]->role = "loss_scale"; }},
    {"state loss_scale '' has 8 bytes, not 4", [](PlanT &p) { setSize(*addLone(p, "loss_scale").slice, 8); }},
    {"state scale_hysteresis '' has 4 bytes, not 8", [](PlanT &p) { addLone(p, "scale_hysteresis"); }},
    {"state loss_scale '' ends at 4 of the frozen section with 0", [](PlanT &p) { addLone(p, "loss_scale"); }},
    {"state frozen '' starts from f32, which cannot be rounded to an unknown type",
     [](PlanT &p) { addLone(p, "frozen").weights_element = schema::ElementType::f32; }},
    {"state frozen '' starts from i64, which cannot be rounded to bf16",
     [](PlanT &p) {
       schema::StateT &frozen = addLone(p, "frozen");
       frozen.element = schema::ElementType::bf16, frozen.weights_element = schema::ElementType::i64;
     }},
    {"state frozen '' has 3 bytes, no whole number of elements",
     [](PlanT &p) {
       schema::StateT &frozen = addLone(p, "frozen");
       setSize(*frozen.slice, 3);
       frozen.element = schema::ElementType::bf16, frozen.weights_element = schema::ElementType::f32;
     }},
    {"state frozen '' ends at 8 of the frozen section with 0",
     [](PlanT &p) {
       schema::StateT &frozen = addLone(p, "frozen");
       frozen.element = schema::ElementType::bf16, frozen.weights_element = schema::ElementType::f32;
     }},
    {"has no bucket", [](PlanT &p) { p.states[0]->bucket = -1; }},
    {"its bucket's elements need 512", [](PlanT &p) { p.states[0]->sharded = false; }},
    {"of the frozen section with 0", [](PlanT &p) { p.states[0]->role = "frozen", p.states[0]->bucket = -1; }},
    {"input 'x' of a training program must be batched", [](PlanT &p) { p.inputs[0]->unbatched = true; }},
    {"it has outputs and no section 'predict'", [](PlanT &p) { addOutput(p); }},
    {"accumulation 1 with predictions needs 3", [](PlanT &p) { addPredict(p); p.sections.push_back(std::make_unique<schema::SectionT>()); }},
    {"output 'y' has an unknown element type", [](PlanT &p) { addPredict(p).element = static_cast<schema::ElementType>(99); }},
    {"output 'y' has no slice", [](PlanT &p) { addPredict(p).slice.reset(); }},
    {"output 'y' has 8 bytes, its slice 4", [](PlanT &p) { addPredict(p).shape = {2}; }},
    {"output 'y' does not have a multiple of the micro-batch 1",
     [](PlanT &p) {
       addPredict(p).batched = true;
       p.outputs[0]->shape = {};
     }},
    {"step scalar 'temperature' is unknown", [](PlanT &p) { p.step_scalars[0]->kind = "temperature"; }},
    {"has 8 bytes, not 4", [](PlanT &p) { setSize(*p.step_scalars[0]->slice, 8); setBuffer(*p.step_scalars[0]->slice, 0); }},
    {"step result 'speed' is unknown", [](PlanT &p) { p.step_results[0]->kind = "speed"; }},
    {"has the wrong element type", [](PlanT &p) { p.step_results[0]->element = schema::ElementType::f64; }},
};

TEST(PlanVerifier, AcceptsPredictions) {
  PlanT plan = std::move(test::makeTinyPlan(2).plan);
  addPredict(plan).batched = true;
  EXPECT_EQ(verify(plan).message(), "");
  // Alone, where nothing is trained: inputs need no batch then, but someone to read them.
  plan.sections.erase(plan.sections.begin(), plan.sections.begin() + 2);
  EXPECT_NE(verify(plan).message().find("input 'x' is read by no section"), std::string::npos);
  plan.inputs.erase(plan.inputs.begin() + 1);
  plan.inputs[0]->predict = plan.inputs[0]->unbatched = true;
  EXPECT_EQ(verify(plan).message(), "");
}

TEST(PlanVerifier, NamesEachFault) {
  for (const Fault &fault : faults) {
    PlanT plan = std::move(test::makeTinyPlan(2).plan);
    fault.damage(plan);
    Status status = verify(plan);
    ASSERT_FALSE(status.ok()) << fault.message;
    EXPECT_EQ(status.code(), ErrorCode::BadInput);
    EXPECT_NE(status.message().find(fault.message), std::string::npos) << status.message();
  }
}

TEST(PlanVerifier, RefusesElementsThatAreNotAligned) {
  using flatbuffers::Table;
  PlanT plan = test::makeTinyPlan(2).plan;
  addOutput(plan).shape = {1};
  schema::DispatchT &fill = *command(plan, 0, 4).action.AsDispatch();
  fill.reads = {Slice(0, 0, 4, 0)};
  fill.reals = {1.0};
  command(plan, 0, 4).location = "node_fill";
  command(plan, 0, 0).location = "node_zero";
  schema::ZeroT zero;
  zero.targets = {Slice(0, 0, 4, 0)};
  command(plan, 0, 0).action.Set(std::move(zero));
  plan.peak_bytes_by_class = {0, 0};
  const std::string good = test::serialize(plan);
  const schema::Plan &records = *schema::GetPlan(good.data());
  auto at = [](const auto *record) { return reinterpret_cast<const Table *>(record); };
  const auto *commands = records.sections()->Get(0)->commands();
  const struct {
    const char *message;
    const Table *table;
    flatbuffers::voffset_t field;
  } faults[] = {
      {"the slices of 'descend' are", at(records.kernels()->Get(5)), schema::Kernel::VT_SLICE_BYTES},
      {"the dimensions of 'w.second' are", at(records.buckets()->Get(0)->slots()->Get(1)), schema::Slot::VT_SHAPE},
      {"the dimensions of 'x' are", at(records.inputs()->Get(0)), schema::Input::VT_SHAPE},
      {"the dimensions of 'y' are", at(records.outputs()->Get(0)), schema::Output::VT_SHAPE},
      {"the classes of 'tiny.onnx' are", at(&records), schema::Plan::VT_PEAK_BYTES_BY_CLASS},
      {"the slices of 'node_zero' are", at(commands->Get(0)->action_as_Zero()), schema::Zero::VT_TARGETS},
      {"the slices of 'node_fill' are", at(commands->Get(4)->action_as_Dispatch()), schema::Dispatch::VT_READS},
      {"the slices of 'node_fill' are", at(commands->Get(4)->action_as_Dispatch()), schema::Dispatch::VT_WRITES},
      {"the integers of 'node_fill' are", at(commands->Get(4)->action_as_Dispatch()), schema::Dispatch::VT_INTEGERS},
      {"the reals of 'node_fill' are", at(commands->Get(4)->action_as_Dispatch()), schema::Dispatch::VT_REALS},
  };
  for (const auto &fault : faults) {
    // The vector begins four bytes later, where it is empty.
    const uint8_t *field = fault.table->GetAddressOf(fault.field);
    ASSERT_NE(field, nullptr) << fault.message;
    const size_t place = reinterpret_cast<const char *>(field) - good.data();
    std::string bad = good;
    flatbuffers::uoffset_t offset;
    std::memcpy(&offset, bad.data() + place, sizeof offset);
    offset += 4;
    std::memcpy(bad.data() + place, &offset, sizeof offset);
    const uint32_t empty = 0;
    std::memcpy(bad.data() + place + offset, &empty, sizeof empty);
    Status status = verifyPlan(bad, {512, 0});
    EXPECT_EQ(status.exitCode(), 3) << fault.message;
    EXPECT_NE(status.message().find(fault.message), std::string::npos) << fault.message << ": " << status.message();
  }
}

TEST(PlanVerifier, SurvivesArbitraryBytes) {
  PlanT typed = std::move(test::makeTinyPlan(2).plan);
  typed.buckets[0]->weights_element = typed.states[0]->element = schema::ElementType::f32;
  collective(typed, 0, 2).target_element = schema::ElementType::f32;
  addLone(typed, "frozen").slice = std::make_unique<Slice>(0, 0, 0, 0);
  typed.states.back()->element = typed.states.back()->weights_element = schema::ElementType::bf16;
  ASSERT_EQ(verify(typed).message(), "");
  const std::string plans[] = {test::serialize(test::makeTinyPlan(2).plan), test::serialize(typed)};
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = plans[i % 2];
    for (uint32_t flips = 1 + random() % 4; flips; --flips)
      bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 8 == 0)
      bad.resize(random() % bad.size());
    (void)verifyPlan(bad, {512, 0}); // what is accepted is in range; nothing crashes
  }
}

} // namespace
} // namespace zero

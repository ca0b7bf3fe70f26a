//===- StreamGradients.cpp - Gradients of a step that are not finite ------===//
#include "lib/Runtime/Executor/StreamGradients.h"
#include "lib/Runtime/Executor/NonFinite.h"
#include "lib/Runtime/Executor/PinnedUpload.h"
#include "zero/Runtime/HAL/NonFiniteKernel.h"
#include <cstring>

namespace zero {

Expected<std::unique_ptr<StreamGradients>> StreamGradients::create(const schema::Plan &plan, const Memory &memory, StreamDevice &device,
                                                                   DeviceModule &program, unsigned rank) {
  std::unique_ptr<StreamGradients> gradients(new StreamGradients(device));
  for (const schema::StepResult *result : records(plan.step_results())) {
    if (text(result->kind()) == "loss")
      gradients->loss = memory.at(*result->slice());
    if (text(result->kind()) == "grad_norm")
      gradients->norm = memory.at(*result->slice());
  }
  if (!gradients->loss || !gradients->norm)
    return std::unique_ptr<StreamGradients>();
  auto kernel = program.find(kNonFiniteSymbol);
  if (!kernel.ok())
    return kernel.status().annotate("the program does not find gradients that are not finite; compile it again");
  gradients->kernel = *kernel;

  std::vector<GradientRange> ranges;
  for (const HeldGradient &gradient : findHeldGradients(plan, rank)) {
    GradientRange &range = ranges.emplace_back(GradientRange{0, gradient.elements, gradient.elementBytes, gradient.exponent});
    if (!gradient.elements)
      continue;
    std::byte *arena = memory.arenaOf(*gradient.slice);
    if (gradients->base && gradients->base != arena)
      return Status::badInput("gradients lie in several arenas, which programs for GPUs have not");
    gradients->base = arena;
    range.offset = static_cast<uint64_t>(memory.at(*gradient.slice) - arena) + gradient.offset;
  }
  gradients->count = static_cast<uint32_t>(ranges.size());
  if (!gradients->base)
    return std::unique_ptr<StreamGradients>();
  const uint64_t bytes = ranges.size() * sizeof(GradientRange);
  ZERO_ASSIGN_OR_RETURN(gradients->memory, device.allocate("gradients that are not finite", bytes + ranges.size()));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<PinnedUpload> upload, PinnedUpload::create(device, bytes));
  ZERO_ASSIGN_OR_RETURN(std::byte *piece, upload->next());
  std::memcpy(piece, ranges.data(), bytes);
  ZERO_RETURN_IF_ERROR(upload->send(gradients->memory->data(), bytes));
  ZERO_RETURN_IF_ERROR(upload->finish());
  return gradients;
}

Status StreamGradients::enqueue(void *stream) {
  std::byte *ranges = memory->data(), *found = ranges + count * sizeof(GradientRange);
  void *arguments[] = {&loss, &norm, &base, &ranges, &found};
  LaunchShape shape;
  shape.grid = {count, 1, 1};
  shape.block = {kNonFiniteThreads, 1, 1};
  return device.launch(*kernel, shape, arguments, stream);
}

Expected<std::string> StreamGradients::read() const {
  std::string found(count, 0);
  ZERO_RETURN_IF_ERROR(device.download(found.data(), memory->data() + count * sizeof(GradientRange), count));
  for (char &one : found)
    one = one ? '1' : '0';
  return found;
}

} // namespace zero

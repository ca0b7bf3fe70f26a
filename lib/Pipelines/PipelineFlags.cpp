//===- PipelineFlags.cpp - The flags that zero-opt and zero-compile share -===//
#include "zero/Pipelines/PipelineFlags.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace zero {

PipelineFlags::PipelineFlags(Phase defaultStop)
    : category("Compilation"),
      compileToHelp("Stop after a phase: import, backward, partition, schedule or plan (default " + getPhaseName(defaultStop).str() + ")"),
      stage("zero-stage", cl::desc("ZeRO stage, 0 to 3: shard nothing, the optimizer state, and gradients, and parameters "
                                   "(over zero_optimization.stage; default 0)"),
            cl::value_desc("N"), cl::cat(category)),
      prefetch("prefetch", cl::desc("Gather parameters ahead of their use: stage3_prefetch_bucket_size is 5e7 where the "
                                    "configuration has none (default off)"),
               cl::cat(category)),
      worldSize("world-size", cl::desc("Ranks of the job (default: the module's zero.mesh)"), cl::value_desc("N"), cl::cat(category)),
      compileTo("compile-to",
                cl::desc(compileToHelp),
                cl::value_desc("PHASE"), cl::init(getPhaseName(defaultStop).str()), cl::cat(category)),
      dumpPhases("dump-phases", cl::desc("Write DIR/1-import.mlir ... 5-plan.mlir (default none)"), cl::value_desc("DIR"), cl::cat(category)),
      configFile("config", cl::desc("Configuration file, JSON as DeepSpeed's (default none; zero-compile --help-config lists the keys)"),
                 cl::value_desc("FILE"), cl::cat(category)),
      target("target", cl::desc("What the program is for: cpu, or cuda for NVIDIA GPUs (default cpu)"), cl::value_desc("cpu|cuda"), cl::init("cpu"),
             cl::cat(category)),
      deterministic("deterministic",
                    cl::desc("Of target cuda: sums over ranks in rank order, the same bits at every stage and bucket size (default off: NCCL's order)"),
                    cl::cat(category)),
      fast("fast", cl::desc("Of target cuda: sums in any order: scattered ones by atomics, partial sums of products and convolutions rounded, convolutions by FFT or Winograd's method, NCCL's order; runs differ in their last bits (default off)"), cl::cat(category)),
      tf32("tf32", cl::desc("Of target cuda: products and convolutions of float32 may round their operands to TF32, 10 bits behind the first (key allow_tf32; default off)"),
           cl::cat(category)),
      epilogues("cuda-epilogues",
                cl::desc("Of target cuda: products add bias and residual, apply GELU or its gradient, and sum rows for biases before they are stored "
                         "(default true; false: other kernels do)"),
                cl::init(true), cl::cat(category)),
      convolutions("cuda-convolutions",
                   cl::desc("Of target cuda: convolutions are those of cuDNN, where the machine has it and it has an engine for them, or generated "
                            "kernels alone (default cudnn)"),
                   cl::value_desc("cudnn|generated"), cl::init("cudnn"), cl::cat(category)),
      cudaWorkspace("cuda-workspace-bytes", cl::desc("Of target cuda: scratch that each product, and each convolution of cuDNN, gets (default 33554432)"), cl::value_desc("N"),
                    cl::init(TargetRequest::kCudaWorkspaceBytes), cl::cat(category)),
      remarks("remarks", cl::desc("Say what phase import folds and which composites it recognises, with the node's name (default off)"),
              cl::cat(category)) {}

bool PipelineFlags::anyGiven() const {
  return any_of(cl::getRegisteredOptions(), [&](const auto &registered) {
    const cl::Option *option = registered.second;
    return is_contained(option->Categories, &category) && option->getNumOccurrences();
  });
}

Expected<PipelineRequest> PipelineFlags::getRequest() const {
  auto fail = [](const std::string &text) { return createStringError(std::make_error_code(std::errc::invalid_argument), text); };
  PipelineRequest request;
  std::optional<Phase> phase = parsePhase(compileTo);
  if (!phase)
    return fail(formatv("--compile-to is '{0}' but must be one of import, backward, partition, schedule, plan", compileTo.getValue()).str());
  request.stopAfter = *phase;
  if (dumpPhases.getNumOccurrences() && dumpPhases.empty())
    return fail("--dump-phases= names no folder to write to");
  request.dumpDirectory = dumpPhases;
  request.prefetch = prefetch;
  request.remarks = remarks;
  if (stage.getNumOccurrences()) {
    if (stage < 0 || stage > 3)
      return fail(formatv("--zero-stage is {0} but must lie in [0, 3]", stage.getValue()).str());
    request.stage = stage;
  }
  if (worldSize.getNumOccurrences()) {
    if (worldSize < 1)
      return fail(formatv("--world-size is {0} but must be at least 1", worldSize.getValue()).str());
    request.worldSize = worldSize;
  }
  if (target != "cpu" && target != "cuda")
    return fail(formatv("--target is '{0}' but must be cpu or cuda", target.getValue()).str());
  if (target.getNumOccurrences())
    request.target.target = target == "cuda" ? Target::Cuda : Target::Cpu;
  request.target.deterministic = deterministic;
  request.target.fast = fast;
  request.target.tf32 = tf32;
  if (epilogues.getNumOccurrences())
    request.target.epilogues = epilogues;
  if (convolutions != "cudnn" && convolutions != "generated")
    return fail(formatv("--cuda-convolutions is '{0}' but must be cudnn or generated", convolutions.getValue()).str());
  if (convolutions.getNumOccurrences())
    request.target.cudnnConvolutions = convolutions == "cudnn";
  if (deterministic && fast)
    return fail("--deterministic and --fast exclude each other");
  if (cudaWorkspace.getNumOccurrences()) {
    if (cudaWorkspace < 0)
      return fail(formatv("--cuda-workspace-bytes is {0} but must be at least 0", cudaWorkspace.getValue()).str());
    request.target.cudaWorkspaceBytes = cudaWorkspace;
  }
  if (request.target.target != Target::Cuda) {
    const std::pair<const cl::Option &, bool> asksForCuda[] = {{deterministic, deterministic},
                                                               {fast, fast},
                                                               {tf32, tf32},
                                                               {epilogues, request.target.epilogues.has_value()},
                                                               {convolutions, request.target.cudnnConvolutions.has_value()},
                                                               {cudaWorkspace, request.target.cudaWorkspaceBytes.has_value()}};
    for (const auto &[option, asks] : asksForCuda)
      if (asks)
        return fail(formatv("--{0} is of target cuda, but --target=cuda is not given", option.ArgStr).str());
  }
  if (configFile.getNumOccurrences()) {
    Expected<TrainingConfig> config = TrainingConfig::parseFile(configFile);
    if (!config)
      return config.takeError();
    request.config = std::move(*config);
  }
  return request;
}

} // namespace zero

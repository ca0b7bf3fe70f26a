//===- Pipelines.cpp - One function per phase: its passes and why ---------===//
#include "zero/Pipelines/Pipelines.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Codegen/Passes.h"
#include "zero/Conversion/Passes.h"
#include "zero/Transforms/NN/Passes.h"
#include "zero/Transforms/Plan/Passes.h"
#include "zero/Transforms/Zero/Passes.h"
#include "zero/Analysis/UserNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace zero {

/// --compile-to=import: the user's network, on one device, static shapes.
static void buildImportPhase(const TrainingConfig &config, OpPassManager &passes, bool remarks) {
  // Shapes first: nothing below looks at an unknown dimension.
  passes.addPass(createNNBindBatch({config.microBatch}));
  // Exporters compute masks and shapes at run time; once the batch is known they depend on nothing.
  NNFoldConstantsOptions fold;
  fold.remarks = remarks;
  passes.addPass(createNNFoldConstants(fold));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Composites are recognised before differentiation: their gradient rules are better than those of their parts.
  passes.addPass(createNNRaiseComposites({remarks}));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createNNVerifyImport());
}

/// --compile-to=backward: a whole training step, on one device.
static void buildBackwardPhase(const TrainingConfig &config, OpPassManager &passes) {
  const int64_t lossDivisor = config.accumulationSteps * config.worldSize;
  // Before differentiation: gradient rules see the casts, and each op rounds once.
  const std::string mixedElement = config.mixedElement();
  if (!mixedElement.empty())
    passes.addPass(createNNMixPrecision({mixedElement}));
  NNBuildBackwardOptions backward;
  backward.scaleLoss = config.fp16;
  backward.saveRounded = !mixedElement.empty();
  backward.lossDivisor = lossDivisor;
  passes.addPass(createNNBuildBackward(backward));
  NNAppendOptimizerOptions optimizer;
  optimizer.optimizer = config.optimizerName();
  optimizer.learningRate = config.learningRate;
  optimizer.beta1 = config.beta1;
  optimizer.beta2 = config.beta2;
  optimizer.epsilon = config.epsilon;
  optimizer.weightDecay = config.weightDecay;
  optimizer.momentum = config.momentum;
  optimizer.nesterov = config.nesterov;
  optimizer.gradientClipping = config.gradientClipping;
  optimizer.lossDivisor = lossDivisor;
  optimizer.masters = !mixedElement.empty();
  optimizer.gradientElement = config.gradientElement();
  if (config.fp16) {
    optimizer.lossScale = config.initialLossScale();
    optimizer.lossScaleWindow = config.lossScale == 0 ? config.lossScaleWindow : 0;
    optimizer.hysteresis = config.hysteresis;
    optimizer.consecutiveHysteresis = config.consecutiveHysteresis;
    optimizer.minLossScale = config.minLossScale;
  }
  passes.addPass(createNNAppendOptimizer(optimizer));
  // Gradient rules ask again for what the forward pass has computed.
  passes.addPass(createCSEPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createNNVerifyTrainingGraph());
  // Before groups are formed: the casts join them.
  passes.addPass(createNNWidenFloats());
  // What has no kernel of its own is written in primitives, so that it can join a group.
  NNDecomposeCompositesOptions decompose;
  decompose.keep = {"nn.attention", "nn.attention_grad", "nn.adam", "nn.sgd"};
  passes.addPass(createNNDecomposeComposites(decompose));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // An output that nobody trains by must not fail what follows.
  passes.addPass(createNNLeaveOutOutputs());
  // Before groups are formed: they would take what a product can do itself.
  passes.addPass(createNNFuseEpilogues());
  // Before sharding: groups, and so bits, must not depend on the stage.
  passes.addPass(createNNFormGroups());
  passes.addPass(createNNVerifyKernels());
}

/// --compile-to=partition: who holds what, and every collective, in order but not yet overlapped.
static void buildPartitionPhase(const TrainingConfig &config, OpPassManager &passes) {
  ZeroAssignBucketsOptions buckets;
  buckets.bucketElements = config.bucketElements();
  buckets.worldSize = config.worldSize;
  buckets.persistenceThreshold = config.persistenceThreshold;
  passes.addPass(createZeroAssignBuckets(buckets));
  ZeroPartitionStateOptions partition;
  partition.stage = config.stage;
  partition.persistenceThreshold = config.persistenceThreshold;
  passes.addPass(createZeroPartitionState(partition));
  ZeroInsertCollectivesOptions collectives;
  collectives.stage = config.stage;
  collectives.accumulationSteps = config.accumulationSteps;
  collectives.reduceAt = config.reduceAt;
  collectives.wireElement = config.wireElement();
  passes.addPass(createZeroInsertCollectives(collectives));
  // A gather that nobody reads dies here, before releases would keep it alive.
  passes.addPass(createCanonicalizerPass());
}

/// --compile-to=schedule: the same program, moved.
static void buildSchedulePhase(const TrainingConfig &config, OpPassManager &passes) {
  if (config.overlapComm) {
    // Before gathers move: they count what is alive at each op.
    passes.addPass(createZeroHoistGradients());
    ZeroPrefetchGathersOptions prefetch;
    prefetch.prefetchElements = config.prefetchElements;
    prefetch.maxLiveElements = config.maxLiveElements;
    passes.addPass(createZeroPrefetchGathers(prefetch));
    ZeroSinkWaitsOptions sink;
    sink.prefetchElements = config.prefetchElements;
    passes.addPass(createZeroSinkWaits(sink));
  }
  buildScheduleEnd(config, passes);
}

void buildScheduleEnd(const TrainingConfig &config, OpPassManager &passes) {
  // Last: any pass that moves a use would invalidate releases.
  passes.addPass(createZeroInsertRelease());
  ZeroVerifyScheduleOptions verify;
  verify.maxLiveElements = config.maxLiveElements;
  verify.prefetchElements = config.overlapComm ? config.prefetchElements : 0;
  passes.addPass(createZeroVerifySchedule(verify));
}

void buildPlanConversion(OpPassManager &passes) { passes.addPass(createZeroToPlan()); }

void buildPlanLayout(OpPassManager &passes) {
  // Offsets before events: which accesses conflict is known only when bytes have been given out.
  passes.addPass(createPlanAssignOffsets());
  passes.addPass(createPlanInsertEvents());
  passes.addPass(createPlanVerify());
  passes.addPass(createPlanVerifyKernels());
}

/// --compile-to=plan: commands, bytes, events.
static void buildPlanPhase(OpPassManager &passes) {
  buildPlanConversion(passes);
  buildPlanLayout(passes);
}

void buildReentry(Phase completed, const TrainingConfig &config, OpPassManager &passes) {
  switch (completed) {
  case Phase::Import:
    passes.addPass(createNNVerifyImport());
    break;
  case Phase::Backward:
    passes.addPass(createNNVerifyTrainingGraph());
    passes.addPass(createNNVerifyKernels());
    break;
  case Phase::Partition: // phase schedule, which follows, ends in a verifier of both
    break;
  case Phase::Schedule:
    buildScheduleEnd(config, passes);
    break;
  case Phase::Plan:
    passes.addPass(createPlanVerify());
    passes.addPass(createPlanVerifyKernels());
    break;
  }
}

void buildPhase(Phase phase, const TrainingConfig &config, OpPassManager &passes, bool remarks) {
  switch (phase) {
  case Phase::Import: return buildImportPhase(config, passes, remarks);
  case Phase::Backward: return buildBackwardPhase(config, passes);
  case Phase::Partition: return buildPartitionPhase(config, passes);
  case Phase::Schedule: return buildSchedulePhase(config, passes);
  case Phase::Plan: return buildPlanPhase(passes);
  }
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, nn::NNDialect, sharding::ZeroDialect, plan::PlanDialect>();
}

namespace {
/// A dialect is loaded when the input is read, behind the tool's own handler, so that this one is asked first.
class NamedRemarks : public DialectExtension<NamedRemarks, nn::NNDialect> {
public:
  explicit NamedRemarks(std::string tool) : tool(std::move(tool)) {}
  void apply(MLIRContext *context, nn::NNDialect *) const final {
    context->getDiagEngine().registerHandler([tool = tool](Diagnostic &diagnostic) {
      Location place = diagnostic.getLocation();
      if (diagnostic.getSeverity() != DiagnosticSeverity::Remark || isa<UnknownLoc>(place) || place->findInstanceOf<FileLineColLoc>())
        return failure();
      llvm::errs() << tool << ": remark: at '" << describeUserNames(place) << "': " << diagnostic.str() << "\n";
      return success();
    });
  }

private:
  std::string tool;
};
} // namespace

void nameRemarks(DialectRegistry &registry, StringRef tool) {
  registry.addExtension(TypeID::get<NamedRemarks>(), std::make_unique<NamedRemarks>(tool.str()));
}

void registerPasses() {
  registerTransformsPasses();
  registerNNPasses();
  registerZeroPasses();
  registerPlanPasses();
  registerConversionPasses();
  registerCodegenPasses();
}

} // namespace zero

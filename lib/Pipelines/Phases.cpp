//===- Phases.cpp - Runs, dumps and re-enters phases ----------------------===//
#include "zero/Pipelines/Pipelines.h"
#include "zero/Runtime/Base/OutputFile.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <filesystem>

using namespace mlir;

namespace zero {

StringRef getPhaseName(Phase phase) {
  switch (phase) {
  case Phase::Import: return "import";
  case Phase::Backward: return "backward";
  case Phase::Partition: return "partition";
  case Phase::Schedule: return "schedule";
  case Phase::Plan: return "plan";
  }
  return "";
}

std::optional<Phase> parsePhase(StringRef name) {
  for (Phase phase : kPhases)
    if (getPhaseName(phase) == name)
      return phase;
  return std::nullopt;
}

FailureOr<std::optional<Phase>> getCompletedPhase(ModuleOp module) {
  Attribute attribute = module->getAttr(kPhaseAttrName);
  if (!attribute)
    return std::optional<Phase>();
  auto name = dyn_cast<StringAttr>(attribute);
  std::optional<Phase> phase = name ? parsePhase(name) : std::nullopt;
  if (!phase)
    return module.emitError() << "'zero.phase' is " << attribute << " but must be one of import, backward, partition, schedule, plan";
  return phase;
}

namespace {

/// Runs the phases that a module still needs. Which these are depends on the module, so it is a pass with dynamic pipelines.
class RunPhases : public PassWrapper<RunPhases, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RunPhases)

  explicit RunPhases(PipelineRequest request) : request(std::move(request)) {}
  RunPhases(const RunPhases &other) : PassWrapper(other), request(other.request) {}
  StringRef getName() const override { return "RunPhases"; }
  void getDependentDialects(DialectRegistry &registry) const override { registerDialects(registry); }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    setExitCode(3);
    FailureOr<std::optional<Phase>> completed = getCompletedPhase(module);
    if (failed(completed))
      return signalPassFailure();
    if (*completed && **completed > request.stopAfter) {
      module.emitError() << "the module has completed phase " << getPhaseName(**completed) << ", which lies behind --compile-to="
                         << getPhaseName(request.stopAfter);
      return signalPassFailure();
    }
    FailureOr<TrainingConfig> config = resolveConfig(module, request);
    if (failed(config))
      return signalPassFailure();
    if (failed(resolveTarget(module, request.target, *config)))
      return signalPassFailure();
    recordConfig(module, *config);
    // Hand edits and other passes may have moved uses behind a release, or broken what the phase promised.
    if (*completed && failed(enterBehind(**completed, *config)))
      return signalPassFailure();
    for (Phase phase : kPhases) {
      if (*completed && phase <= **completed)
        continue;
      if (phase > request.stopAfter)
        break;
      if (failed(runWhole(phase, *config)) || failed(dump(phase)))
        return signalPassFailure();
    }
    if (!request.outputFolder.empty() && failed(rebaseExternalData(module, request.outputFolder)))
      signalPassFailure();
  }

private:
  void setExitCode(int code) {
    if (request.failureExitCode)
      *request.failureExitCode = code;
  }

  /// Nothing is trusted because this compiler once wrote it.
  LogicalResult enterBehind(Phase completed, const TrainingConfig &config) {
    setExitCode(completed < Phase::Schedule ? 3 : 1);
    return run(completed, [&](OpPassManager &passes) { buildReentry(completed, config, passes); });
  }

  /// Until phase backward what fails is the model or the configuration; later, an op that the target has no kernel for.
  LogicalResult runWhole(Phase phase, const TrainingConfig &config) {
    setExitCode(phase <= Phase::Backward || phase == Phase::Plan ? 3 : 1);
    if (phase != Phase::Plan)
      return run(phase, [&](OpPassManager &passes) { buildPhase(phase, config, passes, request.remarks); });
    if (failed(run(phase, buildPlanConversion)))
      return failure();
    setExitCode(1);
    return run(phase, buildPlanLayout);
  }

  LogicalResult run(Phase phase, llvm::function_ref<void(OpPassManager &)> build) {
    OpPassManager passes(ModuleOp::getOperationName());
    build(passes);
    if (failed(runPipeline(passes, getOperation())))
      return failure();
    getOperation()->setAttr(kPhaseAttrName, StringAttr::get(&getContext(), getPhaseName(phase)));
    return success();
  }

  /// Writes DIR/K-PHASE.mlir; files of weights are named relative to it.
  LogicalResult dump(Phase phase) {
    if (request.dumpDirectory.empty())
      return success();
    setExitCode(3);
    SmallString<128> path(request.dumpDirectory);
    if (std::error_code code = llvm::sys::fs::create_directories(path))
      return getOperation().emitError() << "cannot make the folder '" << path << "': " << code.message();
    llvm::sys::path::append(path, std::to_string(static_cast<int>(phase) + 1) + "-" + getPhaseName(phase).str() + ".mlir");
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    if (failed(rebaseExternalData(*copy, request.dumpDirectory)))
      return failure();
    std::string text;
    llvm::raw_string_ostream os(text);
    copy->print(os, OpPrintingFlags().enableDebugInfo());
    os << "\n";
    Status written = writeWholeFile(path.str().str(), text);
    return written.ok() ? success() : LogicalResult(getOperation().emitError() << written.message());
  }

  /// Rewrites the paths of weights, which are relative to `request.weightsFolder`, to be relative to `directory`.
  LogicalResult rebaseExternalData(ModuleOp module, StringRef directory) {
    AttrTypeReplacer replacer;
    bool ok = true;
    replacer.addReplacement([&](nn::ExternalAttr external) -> Attribute {
      SmallString<256> absolute(external.getFile());
      if (!llvm::sys::path::is_absolute(absolute)) {
        absolute = request.weightsFolder;
        llvm::sys::path::append(absolute, external.getFile());
        if (llvm::sys::fs::make_absolute(absolute))
          ok = false;
      }
      std::error_code code;
      std::filesystem::path relative = std::filesystem::relative(absolute.str().str(), directory.str(), code);
      ok &= !code;
      return nn::ExternalAttr::get(external.getContext(), relative.string(), external.getOffset(), external.getLength(), external.getChecksum());
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/false);
    if (!ok)
      return module.emitError() << "cannot find the files of weights relative to '" << directory << "'";
    return success();
  }

  PipelineRequest request;
};

} // namespace

std::unique_ptr<Pass> createRunPhasesPass(PipelineRequest request) { return std::make_unique<RunPhases>(std::move(request)); }

} // namespace zero

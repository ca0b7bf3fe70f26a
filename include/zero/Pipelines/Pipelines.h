//===- Pipelines.h - The phases of compilation, as lists of passes --------===//
#ifndef ZERO_PIPELINES_PIPELINES_H
#define ZERO_PIPELINES_PIPELINES_H

#include "zero/Config/TrainingConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <optional>

namespace zero {

/// The phases, in order. Each ends in its verifier, can be stopped at, dumped and re-entered.
enum class Phase { Import, Backward, Partition, Schedule, Plan };
inline constexpr Phase kPhases[] = {Phase::Import, Phase::Backward, Phase::Partition, Phase::Schedule, Phase::Plan};

llvm::StringRef getPhaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// The module attributes that say which phase is done and under which configuration.
inline constexpr llvm::StringLiteral kPhaseAttrName = "zero.phase";
inline constexpr llvm::StringLiteral kConfigAttrName = "zero.config";

/// The phase that `module` has completed (`zero.phase`); none for importer output. An unknown name is an error.
mlir::FailureOr<std::optional<Phase>> getCompletedPhase(mlir::ModuleOp module);

/// Adds the passes of one phase. `config` is resolved; `remarks`: folding and raising say what they found.
void buildPhase(Phase phase, const TrainingConfig &config, mlir::OpPassManager &passes, bool remarks = false);
/// The passes of phase plan in two parts: what finds out that the target cannot compute an op, which is the model's fault, and the rest.
void buildPlanConversion(mlir::OpPassManager &passes);
void buildPlanLayout(mlir::OpPassManager &passes);
/// What a module that has completed a phase goes through when it comes back from a file: that phase's verifiers.
void buildReentry(Phase completed, const TrainingConfig &config, mlir::OpPassManager &passes);
/// Adds the last passes of phase schedule, through which a schedule that other passes or hands have changed is entered again.
void buildScheduleEnd(const TrainingConfig &config, mlir::OpPassManager &passes);

/// What a program is compiled for.
enum class Target { Cpu, Cuda };

/// What flags say of the target; unset members leave the choice to the module or the default.
struct TargetRequest {
  std::optional<Target> target;
  bool deterministic = false, fast = false, tf32 = false;
  std::optional<bool> epilogues, cudnnConvolutions;
  std::optional<int64_t> cudaWorkspaceBytes;

  static constexpr int64_t kCudaWorkspaceBytes = 32 << 20; ///< of a product or convolution, where nothing else is asked
};

/// Records the target (`plan.target` and its companions, dialects/Plan) on a module that has none, with what `config` says of it; what
/// contradicts the recorded one is an error.
mlir::LogicalResult resolveTarget(mlir::ModuleOp module, const TargetRequest &request, const TrainingConfig &config);

/// What flags and a configuration file ask for; unset members leave the choice to the file, the module or the default.
struct PipelineRequest {
  TrainingConfig config;  ///< of `--config`, or defaults
  std::optional<int64_t> stage, worldSize;
  bool prefetch = false, remarks = false;
  TargetRequest target;
  Phase stopAfter = Phase::Schedule;
  std::string dumpDirectory;
  /// The folder that relative paths of weights start from (empty: the current one), and the one of the file that the module is
  /// printed to: the paths are rewritten for it (empty: they stay).
  std::string weightsFolder, outputFolder;
  /// Where to say why it failed: 3 for the user's model or configuration and for dumps that cannot be written, 1 for the program that was made of them.
  int *failureExitCode = nullptr;
};

/// The configuration for `module`: its recorded one, else flags over file over `zero.mesh` over defaults. Each assumed value is a remark;
/// what contradicts the recorded configuration, or itself, is an error.
mlir::FailureOr<TrainingConfig> resolveConfig(mlir::ModuleOp module, const PipelineRequest &request);

/// Records `config` as `zero.config`.
void recordConfig(mlir::ModuleOp module, const TrainingConfig &config);

/// A pass that resolves the configuration and runs the phases from where the module stands to `request.stopAfter`.
std::unique_ptr<mlir::Pass> createRunPhasesPass(PipelineRequest request);

/// Registers every dialect and pass that the pipelines use.
/// Remarks at places that have a name but no line ("h.0.q", as dumps print them) name it in words: SourceMgrDiagnosticHandler writes
/// `<unknown>:0: remark: loc("h.0.q")`. For tools whose handler is MLIR's: call it before their context is made.
void nameRemarks(mlir::DialectRegistry &registry, llvm::StringRef tool);
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

} // namespace zero

#endif

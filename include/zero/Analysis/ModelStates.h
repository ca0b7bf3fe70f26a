//===- ModelStates.h - What the states of a model take, by formula --------===//
#ifndef ZERO_ANALYSIS_MODELSTATES_H
#define ZERO_ANALYSIS_MODELSTATES_H

#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <iterator>
#include <optional>

namespace zero {

/// Bytes of states on one rank, by kind.
struct ModelStates {
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  int64_t total() const { return parameters + gradients + optimizer; }
};

/// Bytes that one parameter element has in each kind of state; optimizer states include float32 master weights.
struct ElementStates {
  int64_t parameter, gradient, optimizer;
};

/// A stage is the set of state kinds that are sharded.
struct ShardedKinds {
  bool optimizer, gradient, parameter;
};
inline constexpr ShardedKinds kShardedKindsOfStage[] = {
    {false, false, false}, {true, false, false}, {true, true, false}, {true, true, true}};
constexpr bool isStage(int64_t number) { return number >= 0 && number < int64_t(std::size(kShardedKindsOfStage)); }

/// Adam's states: float32 throughout; 16-bit parameters and gradients (K = 12 of arXiv 1910.02054); bfloat16
/// parameters with float32 gradients (Megatron's distributed optimizer).
enum class Precision { Float32, Mixed, BF16Grad32 };
inline constexpr Precision kPrecisions[] = {Precision::Float32, Precision::Mixed, Precision::BF16Grad32};
/// float32, mixed, bf16-grad32.
llvm::StringRef getPrecisionName(Precision precision);
std::optional<Precision> parsePrecision(llvm::StringRef name);
ElementStates getAdamStates(Precision precision);

/// The states of a model with `elements` parameter elements. A rank owns elements / worldSize of what is sharded,
/// rounded up.
/// With P elements, N ranks and precision Mixed: 16P, 4P + 12P/N, 2P + 14P/N, 16P/N bytes for stages 0 to 3.
ModelStates computeModelStates(int64_t elements, ElementStates states, unsigned stage, int64_t worldSize);

/// The formula for the program of a phase-`plan` module: its buckets, padding included, its optimizer, stage and
/// ranks. Equal to the declared states where no parameter is kept whole.
ModelStates computeModelStates(mlir::ModuleOp plan);

/// The elements of all parameters of a module of any phase, without padding: slots of buckets where there are any, else
/// arguments that are parameters, each once. None where the module has no parameter.
std::optional<int64_t> countParameterElements(mlir::ModuleOp module);

/// Where gradients of micro-batches are reduced.
enum class ReduceAt { Step, MicroBatch };

/// How often a step of A micro-batches reduces and gathers the whole model, where every bucket is read in both passes:
/// together 2, A + 1 or 3A times (stages 0 and 1 with gradients reduced once a step, stage 2, stage 3). Where nothing is
/// sharded gradients are all-reduced, which is a reduction and a gather of them.
struct TrafficFactors {
  int64_t reductions, gathers;
  int64_t total() const { return reductions + gathers; }
};
TrafficFactors getTrafficFactors(unsigned stage, int64_t microBatches, ReduceAt reduceAt);

/// Bytes that each rank sends in a step: (N-1)/N x elements x the factors. What is summed is sent in the parameters' type, as
/// zero-compile does by default, a whole sum that all ranks get in the gradients', new parameters in their own.
uint64_t computeModelTraffic(int64_t elements, ElementStates states, unsigned stage, int64_t worldSize,
                             int64_t microBatches, ReduceAt reduceAt);

} // namespace zero

#endif

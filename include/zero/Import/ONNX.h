//===- ONNX.h - From an ONNX model to a module of phase `import` ----------===//
#ifndef ZERO_IMPORT_ONNX_H
#define ZERO_IMPORT_ONNX_H

#include "zero/Import/InitRule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zero {

/// What the model's training loss is; `None`: the forward pass alone is compiled, no parameter is trained.
struct LossSpec {
  enum class Kind { CrossEntropy, MeanSquaredError, Output, None };
  Kind kind = Kind::CrossEntropy;
  /// The graph output that the loss reads; empty: the only float output.
  std::string output;

  /// Parses `cross-entropy[:OUTPUT]`, `mse[:OUTPUT]`, `output[:NAME]` or `none`.
  static std::optional<LossSpec> parse(llvm::StringRef text);
};

struct ImportOptions {
  LossSpec loss;
  /// False only for listParameters and countTrainedElements: then every output counts.
  bool lossGiven = true;
  /// The labels' name in the data; empty only for a loss that is an output.
  std::string labels;
  /// Which dimension of the output holds the classes: 1, or the last when absent.
  std::optional<int64_t> classAxis;
  /// Sizes of symbolic dimensions by name.
  llvm::StringMap<int64_t> dims;
  /// Files with the values of graph inputs that become constants, by the input's name.
  std::map<std::string, std::string> boundInputs;
  /// Rows of trained weights from whose look-up no gradient comes, by the weight's name; beside those that the exporter notes.
  std::map<std::string, int64_t> paddingRows;
  /// Regular expressions over whole names of initializers, and of outputs of Constant nodes; empty: none. Freezing
  /// wins.
  std::string trainRegex, freezeRegex, trainConstantsRegex;
  /// Of the rules that match a weight the last decides.
  std::vector<InitRule> init;
  /// With the name of a weight it decides the numbers that `init` draws.
  uint64_t initSeed = 0;
  /// Paths of weights are written relative to this folder: that of the module's file. Empty: the current
  /// folder.
  std::string baseFolder;
  /// Where weights go that the model does not store as raw bytes; written only if there are any. Empty: such
  /// weights become dense resources of the module.
  std::string sideFile;
};

/// Reads the model and builds `@forward(inputs, labels, parameters, frozen) -> (loss_sum, count, outputs)`;
/// without a loss, outputs alone. The first dimension of every input stays symbolic unless the model fixes it.
/// A mistake of the user's is a diagnostic that names the ONNX node; excluded, frozen and unused weights are
/// remarks, and so are outputs that cannot be computed and that the loss does not need.
mlir::OwningOpRef<mlir::ModuleOp> importONNX(llvm::StringRef path, const ImportOptions &options,
                                             mlir::MLIRContext *context);

/// Prints a table of the model's float weights: name, shape, type, elements, uses, trained or why not, and the
/// total.
mlir::LogicalResult listParameters(llvm::StringRef path, const ImportOptions &options, mlir::MLIRContext *context,
                                   llvm::raw_ostream &os);

/// The elements of all weights that would be trained, from shapes alone. Without a loss every output counts.
mlir::FailureOr<int64_t> countTrainedElements(llvm::StringRef path, const ImportOptions &options,
                                              mlir::MLIRContext *context);

} // namespace zero

#endif
